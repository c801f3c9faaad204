"""The application, and the process that serves it.

Operations are looked up by path and answered directly: Litestar's routing would cost each of them
as much again as the rest of the edge. Litestar has everything else: pages, and what is found
nowhere.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import signal
import socket
import threading
from collections.abc import Awaitable, Callable, Iterator
from typing import Any, Final

import uvicorn
import uvloop
from litestar import Litestar, Request, Response, asgi
from litestar.exceptions import HTTPException
from litestar.types import Receive, Scope, Send

from loom.app import ask
from loom.app.activity import FLUSH_SECONDS, Activity
from loom.app.ask import Asking
from loom.app.errors import INVALID_REQUEST, UNKNOWN_OPERATION, Refusal, internal
from loom.app.health import require_schema
from loom.app.looms import PREFIX as LOOMS
from loom.app.metrics import NO_OPERATION, Tally
from loom.app.model_calls import ModelCalls
from loom.app.operations import Operations
from loom.app.pages import Pages
from loom.app.protocol import Protocol
from loom.app.query_embeddings import QueryEmbeddings
from loom.app.respond import request_id
from loom.embedding import Embedder, configured_embedder
from loom.gateway import Pool
from loom.migrate import Expected, expected
from loom.model_client import ModelClient, configured_model
from loom.settings import Settings
from loom.types import OPERATIONS

log = logging.getLogger("loom.app")

AnyRequest = Request[Any, Any, Any]

# Longer than clients keep an idle connection, so that the client is always the one to close it and
# never sends into a connection that the server is just closing.
KEEP_ALIVE_SECONDS: Final = 75
# Longer than the longest statement, so that requests under way end in an answer.
SHUTDOWN_SECONDS: Final = 20
# For those that wait for a model even then: to record what it cost, and to say that it is over.
LAST_SECONDS: Final = 2


class App:
    """The ASGI application. `activity` is to be entered for as long as it is served."""

    def __init__(self, operations: Operations, others: Litestar, activity: Activity) -> None:
        self.activity = activity
        self._operations = operations
        self._paths = operations.paths
        self._others = others

    def __call__(self, scope: Any, receive: Any, send: Any) -> Awaitable[None]:
        """Answer one request. Not a coroutine itself, to save the operations one."""
        if scope["type"] == "http" and (
            scope["raw_path"] in self._paths or scope["raw_path"].startswith(LOOMS)
        ):
            return self._operations(scope, receive, send)
        return self._others(scope, receive, send)


def create_app(
    settings: Settings,
    pool: Pool,
    schema: Expected,
    *,
    embedder: Embedder | None = None,
    model: ModelClient | None = None,
    flush_seconds: float = FLUSH_SECONDS,
) -> App:
    """The application on an open `pool`. `schema` is what the database must be at to be ready,
    `embedder` and `model` what searches and `memory.ask` call, `flush_seconds` the time between two
    records of profile reads."""
    tally = Tally()
    activity = Activity(pool, seconds=flush_seconds)
    calls = ModelCalls(pool)
    queries = QueryEmbeddings(embedder, calls)
    asking = Asking(model, calls, settings.llm_max_tokens(ask.PURPOSE))
    operations = Operations(
        OPERATIONS, pool, tally, activity, queries, asking, open_mode=settings.auth == "open"
    )

    @asgi("/v1", is_mount=True, copy_scope=False)
    async def no_such_operation(scope: Scope, receive: Receive, send: Send) -> None:
        await operations(scope, receive, send)

    def on_http_exception(request: AnyRequest, failure: HTTPException) -> Response[bytes]:
        if failure.status_code == 404:
            refusal = Refusal(UNKNOWN_OPERATION, message="Nothing answers at this path.")
        else:
            refusal = Refusal(INVALID_REQUEST, {"field": None, "reason": "is not valid HTTP"})
        return respond(request, refusal)

    def on_exception(request: AnyRequest, failure: Exception) -> Response[bytes]:
        log.error("page failed", exc_info=failure)
        return respond(request, internal())

    def respond(request: AnyRequest, refusal: Refusal) -> Response[bytes]:
        tally.add(NO_OPERATION, refusal.error.code, 0.0)
        identifier = request_id(dict(request.scope["headers"]))
        return Response(
            refusal.body(identifier),
            status_code=refusal.error.status,
            media_type="application/json",
            headers={"x-request-id": identifier},
        )

    pages = Pages(settings, pool, schema, OPERATIONS, tally, activity, queries)
    others = Litestar(
        [*pages.routes(), no_such_operation],
        exception_handlers={HTTPException: on_http_exception, Exception: on_exception},
        openapi_config=None,
        logging_config=None,
    )
    return App(operations, others, activity)


def serve(
    settings: Settings,
    dsn: str,
    *,
    on_ready: Callable[[str], None] = lambda url: None,
) -> None:
    """Serve the API until SIGTERM or SIGINT, then finish the requests under way and return.

    `dsn` is the login `loom_gateway`. `on_ready` is told the URL once connections are accepted.
    Raises `OSError` when the address cannot be listened on, `SchemaMismatch` when the database is
    not at this version's schema, `DatabaseUnavailable` when it does not answer.
    """
    with listen(settings.host, settings.port) as listener:
        uvloop.run(run(settings, dsn, listener, on_ready))


async def run(
    settings: Settings, dsn: str, listener: socket.socket, on_ready: Callable[[str], None]
) -> None:
    """Serve on `listener` in the running event loop, as `serve` does."""
    asyncio.get_running_loop().set_exception_handler(_log_loop_failure)
    schema = expected()
    pool = Pool(
        dsn,
        read_connections=settings.read_connections,
        write_connections=settings.write_connections,
    )
    async with (
        configured_embedder(settings) as embedder,
        configured_model(settings) as model,
        pool,
    ):
        await require_schema(pool, schema)
        app = create_app(settings, pool, schema, embedder=embedder, model=model)
        async with app.activity:
            await make_server(app, on_ready).serve(sockets=[listener])


def make_server(app: App, on_ready: Callable[[str], None]) -> Server:
    """The HTTP server of an application. `serve` gives it its listening sockets."""
    config = uvicorn.Config(
        app,
        interface="asgi3",
        http=Protocol,
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=SHUTDOWN_SECONDS,
    )
    return Server(config, on_ready)


def listen(host: str, port: int) -> socket.socket:
    """A listening socket on `host` and `port`. Raises `OSError`."""
    family, kind, protocol, _, address = socket.getaddrinfo(
        host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
    )[0]
    listener = socket.socket(family, kind, protocol)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(2048)
        listener.set_inheritable(False)
    except BaseException:
        listener.close()
        raise
    return listener


class Server(uvicorn.Server):
    """uvicorn's server, which tells when it is up, and ends normally on a signal."""

    def __init__(self, config: uvicorn.Config, on_ready: Callable[[str], None]) -> None:
        super().__init__(config)
        self._on_ready = on_ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to accept connections."""
        await super().startup(sockets)
        for listener in sockets or ():
            host, port = listener.getsockname()[:2]
            url = f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
            log.info("serving", extra={"url": url})
            self._on_ready(url)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End the requests under way; those that were cancelled have a moment for a last word."""
        await super().shutdown(sockets)
        if self.server_state.tasks:
            await asyncio.wait(self.server_state.tasks, timeout=LAST_SECONDS)

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Stop on SIGINT and SIGTERM; uvicorn's own would raise the signal again at the end."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, self.handle_exit, number, None)
        try:
            yield
        finally:
            for number in (signal.SIGINT, signal.SIGTERM):
                loop.remove_signal_handler(number)


def _log_loop_failure(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    # The message may show the failed task's exception, and so a caller's text: leave it out.
    log.error("event loop failure", exc_info=context.get("exception"))

"""What answers to GET: health, readiness, metrics, the OpenAPI description and its page."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final, NamedTuple

import msgspec
from litestar import asgi
from litestar.handlers import ASGIRouteHandler
from litestar.types import Receive, Scope, Send

from loom.app import docs_page, health, metrics, openapi
from loom.app.activity import Activity
from loom.app.errors import METHOD_NOT_ALLOWED, UNAVAILABLE, Refusal
from loom.app.query_embeddings import QueryEmbeddings
from loom.app.respond import JSON, NO_STORE, Header, answer, refuse, request_id
from loom.app.work import Work
from loom.gateway import Pool
from loom.migrate import Expected
from loom.settings import Settings
from loom.types import Operation

ALLOW_GET: Final[Header] = (b"allow", b"GET, HEAD, OPTIONS")


class Page(NamedTuple):
    """What a page answers."""

    body: bytes
    headers: tuple[Header, ...] = (JSON, NO_STORE)


Make = Callable[[], Awaitable[Page]]


class Pages:
    """Makes the pages. None needs a token, and none shows anything of a user."""

    def __init__(
        self,
        settings: Settings,
        pool: Pool,
        expected: Expected,
        operations: Mapping[str, Operation],
        tally: metrics.Tally,
        activity: Activity,
        queries: QueryEmbeddings,
    ) -> None:
        self._pool = pool
        self._expected = expected
        self._poll_seconds = settings.worker_poll_seconds
        self._has_model = settings.has_model
        self._metrics = metrics.Metrics(tally, pool, activity, queries)
        description = openapi.description(operations)
        self._openapi = msgspec.json.encode(description)
        host = f"[{settings.host}]" if ":" in settings.host else settings.host
        self._docs = docs_page.page(description, f"http://{host}:{settings.port}")
        self._up = msgspec.json.encode({"status": "up", "version": openapi.product_version()})

    def routes(self) -> list[ASGIRouteHandler]:
        """The routes, for Litestar."""
        pages: dict[str, Make] = {
            "/v1/health": self._health,
            "/v1/ready": self._ready,
            "/v1/openapi.json": self._description,
            "/metrics": self._numbers,
            "/docs": self._page,
        }
        return [_route(path, make) for path, make in pages.items()]

    async def _health(self) -> Page:
        return Page(self._up)

    async def _ready(self) -> Page:
        state = await health.look(
            self._pool, self._expected, self._poll_seconds, has_model=self._has_model
        )
        if not state.ready:
            raise Refusal(UNAVAILABLE, {"reason": "not ready", "checks": state.checks()})
        return Page(msgspec.json.encode({"status": "ready", "checks": state.checks()}))

    async def _description(self) -> Page:
        return Page(self._openapi)

    async def _numbers(self) -> Page:
        kind = (b"content-type", metrics.CONTENT_TYPE)
        return Page(self._metrics.text(await Work.ask(self._pool)), (kind, NO_STORE))

    async def _page(self) -> Page:
        headers = (
            (b"content-type", b"text/html; charset=utf-8"),
            (b"content-security-policy", docs_page.SECURITY_POLICY),
        )
        return Page(self._docs, headers)


def _route(path: str, make: Make) -> ASGIRouteHandler:
    @asgi(path, copy_scope=False)
    async def route(scope: Scope, receive: Receive, send: Send) -> None:
        identifier = request_id(dict(scope["headers"]))
        method = str(scope.get("method"))
        out: Any = send
        if method == "OPTIONS":
            await answer(out, 204, b"", identifier, (ALLOW_GET,))
        elif method not in ("GET", "HEAD"):
            await refuse(out, Refusal(METHOD_NOT_ALLOWED), identifier, (ALLOW_GET,))
        else:
            try:
                page = await make()
            except Refusal as refusal:
                await refuse(out, refusal, identifier)
            else:
                await answer(out, 200, page.body, identifier, page.headers)

    return route

"""The API as clients meet it: a real server on a free loopback port, and real HTTP to it.

Every JSON answer is held to the OpenAPI description that the server itself publishes.
"""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import httpx2
import jsonschema
import uvloop

from loom.app.health import require_schema
from loom.app.main import create_app, listen, make_server
from loom.app.openapi import description
from loom.embedding import configured_embedder
from loom.gateway import Patience, Pool
from loom.migrate import expected
from loom.model_client import configured_model
from loom.settings import Settings
from loom.types import OPERATIONS
from tests.databases import Database

Json = dict[str, Any]


@dataclass
class Api:
    """A running server. `token` is sent with each request unless another is named."""

    url: str
    pool: Pool
    database: Database
    token: str | None = None
    client: httpx2.Client = field(default_factory=lambda: httpx2.Client(trust_env=False))

    def post(
        self,
        op: str,
        content: bytes,
        *,
        token: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> httpx2.Response:
        """Send a body as it is to an operation."""
        sent = dict(headers or {})
        text = self.token if token is None else token
        if text:
            sent["Authorization"] = f"Bearer {text}"
        path = OPERATIONS[op].path if op in OPERATIONS else f"/v1/{op}"
        response = self.client.post(self.url + path, content=content, headers=sent)
        check_answer(path, "post", response)
        return response

    def call(
        self,
        op: str,
        body: Json | None = None,
        *,
        token: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> httpx2.Response:
        """Send a JSON object to an operation."""
        content = httpx2.Request("POST", self.url, json=body or {}).content
        return self.post(op, content, token=token, headers=headers)

    def get(self, path: str, **options: Any) -> httpx2.Response:
        """GET a page."""
        response = self.client.get(self.url + path, **options)
        check_answer(path, "get", response)
        return response

    @contextmanager
    def socket(self) -> Iterator[socket.socket]:
        """A bare connection, for what a proper client does not send."""
        url = httpx2.URL(self.url)
        with socket.create_connection((url.host, url.port), timeout=10) as connection:
            yield connection


@cache
def published() -> Json:
    """The OpenAPI description."""
    return description(OPERATIONS)


def check_schema(schema: Json) -> None:
    """Fail unless `schema` is a valid JSON Schema."""
    jsonschema.Draft202012Validator.check_schema(schema)


def check_answer(path: str, method: str, response: httpx2.Response) -> None:
    """Fail unless the answer is one that the OpenAPI description allows."""
    assert response.headers["x-request-id"]
    operation = published()["paths"].get(path, {}).get(method)
    if operation is None or not response.headers["content-type"].startswith("application/json"):
        return
    answer = operation["responses"][str(response.status_code)]
    if "$ref" in answer:
        answer = published()["components"]["responses"][answer["$ref"].rpartition("/")[2]]
    schema = {
        **answer["content"]["application/json"]["schema"],
        "components": published()["components"],
    }
    jsonschema.Draft202012Validator(schema).validate(response.json())


def detail(response: httpx2.Response, status: int, code: str) -> Json:
    """The error's fields, after making sure of status, code and the common part."""
    assert response.status_code == status, response.text
    error: Json = response.json()["detail"]
    assert error.pop("code") == code
    assert error.pop("request_id") == response.headers["x-request-id"]
    assert isinstance(error.pop("message"), str)
    assert isinstance(error.pop("retryable"), bool)
    assert error.pop("category") in {
        "bad_request",
        "not_found",
        "conflict",
        "not_allowed",
        "limit",
        "world",
        "internal",
    }
    error.pop("hint", None)
    return error


def settings_for_tests(**changes: Any) -> Settings:
    """Settings of a server for tests; not those of the environment."""
    return Settings(port=0, **changes)


@contextmanager
def running(
    database: Database,
    *,
    settings: Settings | None = None,
    patience: Patience | None = None,
    flush_seconds: float = 3600.0,
) -> Iterator[Api]:
    """Serve `database` from a thread of its own."""
    settings = settings or settings_for_tests()
    started = threading.Event()
    state: dict[str, Any] = {}

    async def main(listener: socket.socket) -> None:
        pool = Pool(
            database.dsn("loom_gateway"),
            read_connections=settings.read_connections,
            write_connections=settings.write_connections,
            patience=patience,
        )

        def ready(url: str) -> None:
            state.update(url=url, pool=pool)
            started.set()

        async with (
            configured_embedder(settings) as embedder,
            configured_model(settings) as model,
            pool,
        ):
            await require_schema(pool, expected())
            app = create_app(
                settings,
                pool,
                expected(),
                embedder=embedder,
                model=model,
                flush_seconds=flush_seconds,
            )
            server = make_server(app, ready)
            state["server"] = server
            async with app.activity:
                await server.serve(sockets=[listener])

    def serve() -> None:
        with listen(settings.host, 0) as listener:
            uvloop.run(main(listener))

    executor = ThreadPoolExecutor(1, thread_name_prefix="api")
    serving = executor.submit(serve)
    serving.add_done_callback(lambda _: started.set())  # also when it failed
    executor.shutdown(wait=False)
    assert started.wait(30)
    if serving.done():
        serving.result()
    api = Api(state["url"], state["pool"], database)
    try:
        yield api
    finally:
        api.client.close()
        state["server"].should_exit = True
        serving.result(30)

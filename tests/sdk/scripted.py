"""A server that answers by script, for what a real one does too rarely to test against."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

import httpx2

from loom.client import Client
from loom.retry import RetryPolicy

Step = httpx2.Response | Exception
T = TypeVar("T")
Work = Callable[[Client], Coroutine[Any, Any, Any]]


def refusal(status: int, code: str, **detail: Any) -> httpx2.Response:
    """An error answer as the server gives it; `headers` are the answer's."""
    headers = detail.pop("headers", None)
    body = {"code": code, "message": "It is refused.", "category": "c", "request_id": "r-1"}
    return httpx2.Response(status, json={"detail": {**body, **detail}}, headers=headers)


class Script:
    """Gives its steps one after the other and keeps the requests and the waits in between."""

    def __init__(self, *steps: Step) -> None:
        self.steps = list(steps)
        self.requests: list[httpx2.Request] = []
        self.waits: list[float] = []

    def __call__(self, request: httpx2.Request) -> httpx2.Response:
        self.requests.append(request)
        step = self.steps.pop(0)
        if isinstance(step, Exception):
            raise step
        return step

    async def sleep(self, seconds: float) -> None:
        self.waits.append(seconds)

    def client(self, **options: Any) -> Client:
        options.setdefault("retry", RetryPolicy(tries=4))
        transport = httpx2.MockTransport(self)
        return Client("http://loom.test", transport=transport, sleep=self.sleep, **options)

    def body(self, number: int = 0) -> Any:
        return json.loads(self.requests[number].content)

    def keys(self) -> list[str | None]:
        return [request.headers.get("Idempotency-Key") for request in self.requests]


def run(script: Script, work: Callable[[Client], Coroutine[Any, Any, T]], **options: Any) -> T:
    """Do `work` with a client of the script."""

    async def whole() -> T:
        async with script.client(**options) as client:
            return await work(client)

    return asyncio.run(whole())


def call(op: str, body: dict[str, Any], **options: Any) -> Work:
    """One call, as the work of `run`."""

    async def work(client: Client) -> dict[str, Any]:
        return await client.call(op, body, **options)

    return work


OK = httpx2.Response(200, json={"found": False})

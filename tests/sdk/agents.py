"""Working with an agent in a test, also over a way that loses answers."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

import httpx2

from loom import Agent
from loom.client import Client
from loom.retry import RetryPolicy
from tests.http.api import Api

T = TypeVar("T")


def using(agent: Agent, work: Callable[[Agent], Awaitable[T]]) -> T:
    """Do `work` with an agent, and close it."""

    async def whole() -> T:
        async with agent:
            return await work(agent)

    return asyncio.run(whole())


class Losing(httpx2.AsyncBaseTransport):
    """Carries requests to the server, and loses the first answers on their way back."""

    def __init__(self, lose: int) -> None:
        self._lose = lose
        self._inner = httpx2.AsyncHTTPTransport()

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        response = await self._inner.handle_async_request(request)
        if self._lose:
            self._lose -= 1
            await response.aread()
            await response.aclose()
            raise httpx2.ReadError("the answer was lost", request=request)
        return response

    async def aclose(self) -> None:
        await self._inner.aclose()


def losing(api: Api, lose: int) -> Client:
    policy = RetryPolicy(first_wait=0.001)
    return Client(api.url, api.token, transport=Losing(lose), retry=policy)

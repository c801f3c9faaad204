"""The asynchronous client: one method per operation over HTTP.

    client = Client(api_key="loom_…")
    receipt = await client.working_memory.set({"content": "cursor: 4812"})

A method takes the request as a mapping and returns the answer as a dict; field names are those on
the wire, listed in ``loom.types``. A refusal is raised as the class of its code in ``loom.errors``.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Awaitable, Callable, Mapping
from types import TracebackType
from typing import Any, Protocol, Self
from uuid import uuid4

import httpx2
import msgspec

from loom.errors import LoomError, ServerFault, Unreachable, from_detail
from loom.retry import RetryPolicy, is_paid_for, needs_key, worth_repeating
from loom.types import OPERATIONS, path_of

DEFAULT_BASE_URL = "http://127.0.0.1:7777"

Body = Mapping[str, Any]
Answer = dict[str, Any]

# The code of an answer that no Loom server made: a proxy's, or another server's on this port.
NOT_LOOM = "NOT_LOOM"

# Looms say in camel case what the other operations say otherwise.
_ID_OF = {"userId": "user_id"}

# Raised before the request was on its way: nothing can have been carried out.
_NEVER_SENT = (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout)
_LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})


class Method(Protocol):
    """An operation as a method of its group."""

    async def __call__(
        self, body: Body | None = None, *, idempotency_key: str | None = None
    ) -> Answer: ...


class _Refusal(msgspec.Struct):
    detail: dict[str, Any]


class Client:
    """A connection to a Loom server.

    ``base_url`` and ``api_key`` fall back to ``LOOM_BASE_URL`` and ``LOOM_API_KEY``, then to the
    local server without a token. ``ids`` (org, namespace, agent, user_id, session_id) are added to
    each request that takes them and does not name them itself. ``timeout`` is seconds for one try.
    Use it as an async context manager, or call ``close``.
    """

    def __init__(
        self,
        base_url: str | None = None,
        api_key: str | None = None,
        *,
        ids: Mapping[str, str] | None = None,
        timeout: float = 30.0,
        retry: RetryPolicy | None = None,
        transport: httpx2.AsyncBaseTransport | None = None,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        url = httpx2.URL(base_url or os.environ.get("LOOM_BASE_URL") or DEFAULT_BASE_URL)
        if url.scheme not in ("http", "https"):
            raise ValueError(f"base_url must begin with http:// or https://, not {str(url)!r}")
        key = api_key or os.environ.get("LOOM_API_KEY")
        headers = {"Content-Type": "application/json", "Accept": "application/json"}
        if key:
            headers["Authorization"] = f"Bearer {key}"
        self.ids = dict(ids or {})
        self._retry = retry or RetryPolicy()
        self._sleep = sleep
        self._http = httpx2.AsyncClient(
            base_url=url,
            headers=headers,
            timeout=httpx2.Timeout(timeout, connect=min(timeout, 5.0)),
            transport=transport,
            # A proxy from the environment is for the outside; a local server refuses one in open
            # mode and could rarely be reached through one.
            trust_env=url.host not in _LOOPBACK,
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    def __getattr__(self, group: str) -> Group:
        return Group(self, group)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *(op.partition(".")[0] for op in OPERATIONS)})

    async def call(
        self, op: str, body: Body | None = None, *, idempotency_key: str | None = None
    ) -> Answer:
        """Run an operation by its name and return its answer.

        A write whose repetition would have an effect carries one ``Idempotency-Key`` over all
        tries, the caller's or a new one. Raises a ``LoomError``.
        """
        request = self._with_ids(op, body or {})
        if idempotency_key is None and needs_key(op, request):
            idempotency_key = uuid4().hex
        headers = {b"Idempotency-Key": idempotency_key.encode()} if idempotency_key else {}
        content = _encode(request)
        tries = 0
        while True:
            tries += 1
            retry_after = None
            try:
                response = await self._http.post(path_of(op), content=content, headers=headers)
            except httpx2.RequestError as lost:
                failure: LoomError = _unreachable(self._http.base_url, lost)
                if is_paid_for(op) and not isinstance(lost, _NEVER_SENT):
                    raise failure from None
            else:
                if response.is_success:
                    return _decode(response)
                failure = _failure(response)
                if not worth_repeating(op, response.status_code, failure.code):
                    raise failure
                retry_after = response.headers.get("Retry-After")
            wait = self._retry.wait(tries, retry_after)
            if wait is None:
                raise failure
            await self._sleep(wait)

    async def pause(self, seconds: float) -> None:
        """Wait, as between two tries of a request."""
        await self._sleep(seconds)

    async def batch(self, body: Body, *, idempotency_key: str | None = None) -> Answer:
        """Run up to 50 requests in one commit: ``{"requests": [{"op": …, …}], "atomic": …}``.

        Answers ``{"results": [{"status", "result" or "error"}]}`` in their order; an ``error`` is
        the detail that ``errors.from_detail`` makes an exception of.
        """
        return await self.call("batch", body, idempotency_key=idempotency_key)

    def _with_ids(self, op: str, request: Body) -> dict[str, Any]:
        if op == "batch":
            request = {**request, "requests": self._items_with_ids(request.get("requests"))}
        operation = OPERATIONS.get(op)
        taken = operation.identity if operation else ()
        ids = {name: self.ids.get(_ID_OF.get(name, name)) for name in taken}
        return {**{name: value for name, value in ids.items() if value is not None}, **request}

    def _items_with_ids(self, items: Any) -> Any:
        # What is no list, and an item that is no object, is for the server to refuse.
        if not isinstance(items, list | tuple):
            return items
        return [
            self._with_ids(str(item.get("op")), item) if isinstance(item, Mapping) else item
            for item in items
        ]


class Group:
    """The operations of one group as methods: ``client.working_memory.set({...})``."""

    def __init__(self, client: Client, name: str) -> None:
        self._client = client
        self._name = name
        if not self._verbs():
            raise AttributeError(f"there is no group of operations named {name!r}")

    def _verbs(self) -> list[str]:
        prefix = f"{self._name}."
        return [op.removeprefix(prefix) for op in OPERATIONS if op.startswith(prefix)]

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *self._verbs()})

    def __getattr__(self, verb: str) -> Method:
        op = f"{self._name}.{verb}"
        if op not in OPERATIONS:
            raise AttributeError(f"there is no operation named {op!r}")

        async def method(body: Body | None = None, *, idempotency_key: str | None = None) -> Answer:
            return await self._client.call(op, body, idempotency_key=idempotency_key)

        method.__name__ = verb
        method.__doc__ = OPERATIONS[op].summary
        return method


def _encode(request: Body) -> bytes:
    try:
        return msgspec.json.encode(request)
    except UnicodeEncodeError:
        # A lone surrogate has no UTF-8 form, but JSON can escape it: the server is the judge of
        # text, and says where in the request it stands.
        return json.dumps(request).encode("ascii")


def _decode(response: httpx2.Response) -> Answer:
    try:
        return msgspec.json.decode(response.content, type=dict[str, Any])
    except msgspec.DecodeError as unreadable:
        raise ServerFault(
            f"What {response.url} answered is not JSON from a Loom server.",
            code=NOT_LOOM,
            status=response.status_code,
        ) from unreadable


def _failure(response: httpx2.Response) -> LoomError:
    try:
        detail = msgspec.json.decode(response.content, type=_Refusal).detail
    except msgspec.DecodeError:
        detail = {"code": NOT_LOOM}
    return from_detail(response.status_code, detail)


def _unreachable(base_url: httpx2.URL, lost: httpx2.RequestError) -> Unreachable:
    why = str(lost) or type(lost).__name__
    unsure = "" if isinstance(lost, _NEVER_SENT) else " It may or may not have been carried out."
    return Unreachable(f"No answer from {base_url}: {why}.{unsure}", retryable=True)

"""`POST /v1/{operation}`: the body's bytes to `loom.call`, the answer's bytes back. The routes of
looms come the same way."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from time import perf_counter
from typing import Any, Final, NamedTuple

from loom.app import ask, looms, query_embeddings
from loom.app.activity import BATCH, RENDERS, Activity
from loom.app.ask import Asking
from loom.app.auth import Caller, caller_of_token, caller_without_token
from loom.app.body import examine
from loom.app.errors import (
    BODY_SQLSTATES,
    INVALID_REQUEST,
    METHOD_NOT_ALLOWED,
    PAYLOAD_TOO_LARGE,
    UNKNOWN_OPERATION,
    Refusal,
    from_database,
    from_unavailable,
    internal,
)
from loom.app.limits import Disconnected, Receive, linger, read_body
from loom.app.metrics import NO_OPERATION, Tally
from loom.app.query_embeddings import QueryEmbeddings
from loom.app.respond import Header, Send, answer, refuse, request_id
from loom.gateway import DatabaseRefusal, DatabaseUnavailable, Pool
from loom.types import Operation

log = logging.getLogger("loom.app")

ALLOW_POST: Final[Header] = (b"allow", b"POST, OPTIONS")
CLOSE: Final[Header] = (b"connection", b"close")


class Route(NamedTuple):
    """What the edge knows of an operation: its name, which lane it takes, whether its answer may
    hold profile sections, whose reads are counted, and whether it has a query to search for."""

    op: str
    write: bool
    counted: bool
    searches: bool


class Found(NamedTuple):
    """What a path leads to: an operation, unless it is none's; the methods it answers to; and for
    a route of looms, which one, and the fields in its path."""

    route: Route | None
    method: str = "POST"
    allow: Header = ALLOW_POST
    rest: looms.LoomRoute | None = None
    in_path: Mapping[str, str] = {}


NOTHING: Final = Found(None)


class Operations:
    """The ASGI endpoint of every operation; one look-up by path."""

    def __init__(
        self,
        operations: Mapping[str, Operation],
        pool: Pool,
        tally: Tally,
        activity: Activity,
        queries: QueryEmbeddings,
        asking: Asking,
        *,
        open_mode: bool,
    ) -> None:
        self._routes = {
            op: Route(
                op,
                operation.mode == "write",
                op in {*RENDERS, BATCH},
                op in query_embeddings.OPERATIONS,
            )
            for op, operation in operations.items()
        }
        self._paths = {
            operation.path.encode(): Found(self._routes[op]) for op, operation in operations.items()
        }
        self._pool = pool
        self._tally = tally
        self._activity = activity
        self._queries = queries
        self._asking = asking
        self._open_mode = open_mode

    @property
    def paths(self) -> frozenset[bytes]:
        """The paths of the operations."""
        return frozenset(self._paths)

    async def __call__(self, scope: Any, receive: Receive, send: Send) -> None:
        """Answer one request."""
        started = perf_counter()
        headers: dict[bytes, bytes] = dict(scope["headers"])
        identifier = request_id(headers)
        found = self._paths.get(scope["raw_path"]) or self._loom_route(scope)
        route = found.route
        op = NO_OPERATION if route is None else route.op
        try:
            if route is None:
                raise Refusal(UNKNOWN_OPERATION)
            if scope["method"] != found.method:
                if scope["method"] == "OPTIONS":
                    await answer(send, 204, b"", identifier, (found.allow,))
                    return
                raise Refusal(METHOD_NOT_ALLOWED)
            caller = self._caller(scope, headers)
            key = _idempotency_key(headers)
            body = await read_body(receive, headers)
            if found.rest is not None:
                query = scope["query_string"]
                request = looms.request_of(found.rest, found.in_path, query, body)
                result = await self._call(route, caller, request, key, body)
            else:
                result = await self._result(route, caller, body, key)
        except Disconnected:
            return
        except Refusal as refusal:
            await self._refuse(send, receive, refusal, identifier, op, started, found.allow)
        except Exception:
            log.exception("request failed", extra={"request_id": identifier, "op": op})
            await self._refuse(send, receive, internal(), identifier, op, started, found.allow)
        else:
            await answer(send, 200, result, identifier)
            self._tally.add(op, "OK", perf_counter() - started)
            if route.counted:
                self._activity.saw(op, caller, body, result)

    def _loom_route(self, scope: Any) -> Found:
        """What a path of looms leads to, by method; for another method any of its routes."""
        routes, in_path = looms.routes_at(scope["raw_path"])
        if not routes:
            return NOTHING
        rest = routes.get(scope["method"]) or next(iter(routes.values()))
        allow = (b"allow", looms.allowed(routes))
        return Found(self._routes[rest.op], rest.method, allow, rest, in_path)

    def _caller(self, scope: Any, headers: Mapping[bytes, bytes]) -> Caller:
        authorization = headers.get(b"authorization")
        if authorization is not None:
            return caller_of_token(authorization)
        client = scope["client"]
        return caller_without_token(
            self._open_mode, scope["headers"], None if client is None else client[0]
        )

    async def _result(self, route: Route, caller: Caller, body: bytes, key: str | None) -> bytes:
        if route.searches:
            return await self._search(route, caller, body, key)
        return await self._call(route, caller, body, key, body)

    async def _search(self, route: Route, caller: Caller, body: bytes, key: str | None) -> bytes:
        # Where no model could answer, the database still judges the request, but without a vector.
        answerable = route.op != ask.OPERATION or self._asking.possible
        sent = await self._queries.added(caller, body) if answerable else body
        try:
            found = await self._call(route, caller, sent, key, sent)
        except Refusal as refusal:
            if sent is body or not query_embeddings.refused(refusal):
                raise
            # The model's vectors are of another size than its stored ones: by text, then.
            self._queries.forget()
            found = await self._call(route, caller, body, key, body)
        if route.op == ask.OPERATION:
            return await self._asking.answer(caller, body, found)
        return found

    async def _call(
        self, route: Route, caller: Caller, request: bytes, key: str | None, body: bytes
    ) -> bytes:
        try:
            return await self._pool.call(
                caller.org, caller.token_hash, route.op, request, key, route.write
            )
        except DatabaseRefusal as refusal:
            if refusal.sqlstate in BODY_SQLSTATES:
                # The caller's own text first; then what stood in the path or the query.
                fault = (examine(body) if body.strip() else None) or examine(request)
                raise (fault or internal(refusal.sqlstate)) from None
            raise from_database(refusal) from None
        except DatabaseUnavailable as failure:
            raise from_unavailable(failure) from None

    async def _refuse(
        self,
        send: Send,
        receive: Receive,
        refusal: Refusal,
        identifier: str,
        op: str,
        started: float,
        allow: Header,
    ) -> None:
        code = refusal.error.code
        seconds = perf_counter() - started
        self._tally.add(op, code, seconds)
        log.log(
            _level(refusal),
            "request refused",
            extra={
                "request_id": identifier,
                "op": op,
                "code": code,
                "status": refusal.error.status,
                "sqlstate": refusal.sqlstate,
                "ms": round(seconds * 1000, 3),
            },
        )
        if refusal.error is PAYLOAD_TOO_LARGE:
            await refuse(send, refusal, identifier, (CLOSE,), before_end=lambda: linger(receive))
        elif refusal.error is METHOD_NOT_ALLOWED:
            await refuse(send, refusal, identifier, (allow,))
        else:
            await refuse(send, refusal, identifier)


def _level(refusal: Refusal) -> int:
    if refusal.unexpected:
        return logging.ERROR
    return logging.INFO if refusal.error.status < 500 else logging.WARNING


def _idempotency_key(headers: Mapping[bytes, bytes]) -> str | None:
    key = headers.get(b"idempotency-key")
    if key is None:
        return None
    try:
        return key.decode("utf-8")
    except UnicodeDecodeError:
        fields = {"field": "Idempotency-Key", "reason": "is not UTF-8"}
        raise Refusal(INVALID_REQUEST, fields) from None

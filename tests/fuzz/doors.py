"""The ways into an operation by SQL, each as a caller of some kind."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection
from dataclasses import dataclass

from psycopg import sql

from tests.calls import mint_token
from tests.fuzz.functions import NOT_PERMITTED, Caller
from tests.fuzz.requests import Request

SERVICES = ("loom_test_viewer", "loom_test_writer", "loom_test_admin")

_EXECUTE = sql.SQL("select loom.execute(%s, %s::jsonb, %s)::text")
_CALL = sql.SQL("select loom.call(%s, %s, %s, %s::jsonb, %s)::text")
_BOUNDS: tuple[dict[str, str], ...] = (
    {"role": "viewer"},
    {"role": "writer"},
    {"role": "admin"},
    {"role": "admin", "namespace": "main"},
    {"role": "writer", "read_user_id": "u", "session_id": "s"},
)

Statement = tuple[sql.SQL | sql.Composed, tuple[object, ...]]


@dataclass(frozen=True)
class Door:
    """Who calls, and what is sent for a request."""

    name: str
    client: str
    statement: Callable[[Request], Statement]
    allowed: frozenset[str] = frozenset()

    def send(
        self, caller: Caller, request: Request, *, allowed: Collection[str] = ()
    ) -> str | None:
        """Call; the answer, or None when refused."""
        what = f"{self.name}: {request.op.op} {request.what} {request.body[:200]}"
        return caller.attempt(
            self.client, what, *self.statement(request), allowed={*self.allowed, *allowed}
        )


def doors(caller: Caller, org: str) -> list[Door]:
    """Every door: the function itself, `loom.execute` and `loom.call`, with and without a key."""
    made = []
    for login in SERVICES:
        made.append(Door("function", login, _function, frozenset({NOT_PERMITTED})))
        made.append(Door("execute", login, _execute(keyed=False)))
        made.append(Door("execute with a key", login, _execute(keyed=True)))
    admin = caller.database.connect()
    tokens: list[tuple[str, object, object]] = [
        ("open mode", None, None),
        ("unknown token", None, b"x" * 32),
    ]
    for bounds in _BOUNDS:
        token = mint_token(admin, org=org, **bounds)
        tokens.append((str(bounds), token.org_id, token.secret_sha256))
    for name, org_id, secret in tokens:
        made.append(Door(f"call, {name}", "loom_gateway", _call(org_id, secret, keyed=False)))
        made.append(
            Door(f"call with a key, {name}", "loom_gateway", _call(org_id, secret, keyed=True))
        )
    return made


def _function(request: Request) -> Statement:
    function = sql.Identifier("loom", request.op.function)
    return sql.SQL("select {}(%s::jsonb)::text").format(function), (request.body,)


def _execute(*, keyed: bool) -> Callable[[Request], Statement]:
    return lambda request: (_EXECUTE, (request.op.op, request.body, _key(request, keyed)))


def _call(org: object, secret: object, *, keyed: bool) -> Callable[[Request], Statement]:
    return lambda request: (
        _CALL,
        (org, secret, request.op.op, request.body, _key(request, keyed)),
    )


def _key(request: Request, keyed: bool) -> str | None:
    """An idempotency key that other requests do not have."""
    return hashlib.sha256(request.body.encode()).hexdigest() if keyed else None

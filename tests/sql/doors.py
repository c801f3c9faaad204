"""The ways an operation is called, so that tests can say which one they mean."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from psycopg.types.json import Jsonb

from tests.calls import Answer, Connection, Token, acting_as, call, mint_token, operate

IDENTITY: Answer = {"org": "acme", "namespace": "main", "agent": "coder"}
"""Whose blocks `wm` means, where a test does not say otherwise."""


def wm(conn: Connection, verb: str, /, **request: Any) -> Answer:
    """Runs `working_memory.<verb>` directly, as the login of the connection."""
    return operate(conn, f"working_memory.{verb}", **{**IDENTITY, **request})


def as_service(conn: Connection, login: str, op: str, /, **request: Any) -> Answer:
    """Runs an operation directly as a service's login."""
    with acting_as(conn, login):
        return operate(conn, op, **request)


def through_api(
    conn: Connection, token: Token | None, op: str, /, *, key: str | None = None, **request: Any
) -> Answer:
    """Runs an operation as the API does, which logs in as loom_gateway."""
    with acting_as(conn, "loom_gateway"):
        return call(conn, token, op, key=key, **request)


def execute(conn: Connection, op: str, /, *, key: str | None = None, **request: Any) -> Answer:
    """Runs an operation by `loom.execute`, as the login of the connection."""
    row = conn.execute("select loom.execute(%s, %s, %s)", (op, Jsonb(request), key)).fetchone()
    assert row is not None
    return row[0]  # type: ignore[no-any-return]


def batch(conn: Connection, *requests: Answer, **fields: Any) -> list[Answer]:
    """Runs `loom.batch` directly; its results."""
    return operate(conn, "batch", requests=list(requests), **fields)["results"]  # type: ignore[no-any-return]


def pages_of(conn: Connection, op: str, /, **request: Any) -> Iterator[Answer]:
    """Every page of a list, following the cursors to the end."""
    cursors: set[str] = set()
    page = operate(conn, op, **request)
    yield page
    while page["next_cursor"] is not None:
        assert page["next_cursor"] not in cursors, "the pages go round in a circle"
        cursors.add(page["next_cursor"])
        page = operate(conn, op, **{**request, "cursor": page["next_cursor"]})
        yield page


Door = Callable[..., Answer]


def _by_api(conn: Connection, op: str, /, **request: Any) -> Answer:
    return through_api(conn, mint_token(conn, org="acme", role="admin"), op, **request)


def _in_batch(conn: Connection, op: str, /, **request: Any) -> Answer:
    results = batch(conn, {"op": op, **request}, atomic=True)
    return results[0]["result"]  # type: ignore[no-any-return]


DOORS: dict[str, Door] = {
    "function": operate,
    "execute": execute,
    "api": _by_api,
    "batch": _in_batch,
}
"""Every door of the database, all as an admin: `door(conn, op, **request)`."""

"""Schemas, facts and the steps of a worker, as the tests of structured profiles take them, and with
another `kind` those of the fold."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

from psycopg.rows import dict_row
from psycopg.types.json import Jsonb

from tests.calls import Answer, Connection, acting_as, operate
from tests.databases import Clock
from tests.sql.doors import IDENTITY

KIND = "structured_profile"
FOLD = "profile_consolidation"

NAME = {"name": {"type": "string", "description": "What to call them"}}
NAME_AND_CITY = {**NAME, "city": {"type": "string", "description": "Where they live"}}

# One fact for each of so many users, each in its own place on the way to be built.
_PEOPLE = """
select count(loom.memory_set(%(place)s || jsonb_build_object(
  'user_id', %(prefix)s || lpad(n::text, 4, '0'), 'memory_key', 'likes', 'value', 'tea ' || n)))
from generate_series(1, %(count)s) as n
"""


@dataclass(frozen=True)
class Lease:
    """What `work_claim` answers."""

    org: str
    namespace: str
    kind: str
    user_id: str
    lease_id: Any
    leased_until: Any


def set_schema(
    conn: Connection,
    properties: Answer | None = NAME,
    *,
    namespace: str = "main",
    org: str = "acme",
) -> str | None:
    """Sets a schema (None: clears it); its hash."""
    place = {"org": org, "namespace": namespace}
    if properties is None:
        operate(conn, "profile_schema.clear", **place)
        return None
    schema = {"type": "object", "properties": properties}
    answer = operate(conn, "profile_schema.set", **place, json_schema=schema)
    return answer["schema_sha256"]  # type: ignore[no-any-return]


def people(
    conn: Connection, count: int, *, prefix: str = "u", namespace: str = "main", org: str = "acme"
) -> None:
    """Writes one fact for each of so many users: u0001, u0002, ..."""
    place = {**IDENTITY, "org": org, "namespace": namespace}
    conn.execute(_PEOPLE, {"place": Jsonb(place), "prefix": prefix, "count": count})


@contextmanager
def as_worker(conn: Connection) -> Iterator[None]:
    """The connection as loom_worker, if it is not that already."""
    if conn.info.user == "loom_worker":
        yield
    else:
        with acting_as(conn, "loom_worker"):
            yield


def _answer(conn: Connection, statement: str, *arguments: Any) -> Any:
    with as_worker(conn):
        row = conn.execute(statement.encode(), arguments).fetchone()
    assert row is not None
    return row[0]


def settings(conn: Connection, kind: str = KIND, /, **wanted: Any) -> None:
    """Sets waits and bounds, as the applier does."""
    conn.execute("select loom.work_settings(%s, %s)", (kind, Jsonb(wanted)))


def due(conn: Connection, kind: str = KIND) -> dict[str, int]:
    """What `work_due` answers: "namespace" or "org/namespace" and what is left of its share."""
    with as_worker(conn), conn.cursor(row_factory=dict_row) as cursor:
        rows = cursor.execute("select * from loom.work_due(%s)", (kind,)).fetchall()
    return {
        row["namespace"] if row["org"] == "acme" else f"{row['org']}/{row['namespace']}": row[
            "share_left"
        ]
        for row in rows
    }


def claim(
    conn: Connection,
    limit: int = 1000,
    *,
    namespace: str = "main",
    org: str = "acme",
    kind: str = KIND,
) -> list[Lease]:
    """What `work_claim` answers."""
    with as_worker(conn):
        rows = conn.execute(
            "select * from loom.work_claim(%s, %s, %s, %s)", (org, namespace, kind, limit)
        ).fetchall()
    return [Lease(*row) for row in rows]


def users(leases: Sequence[Lease]) -> list[str]:
    return [lease.user_id for lease in leases]


def take(conn: Connection, limit: int = 1000, **place: Any) -> list[str]:
    """Opens or continues a pass, claims, and says whom; a pass's two steps in one."""
    due(conn, place.get("kind", KIND))
    return users(claim(conn, limit, **place))


def rest(conn: Connection, clock: Clock, seconds: float, kind: str = KIND) -> None:
    """A worker that finds nothing to do lets its pass end; then time goes by."""
    assert due(conn, kind) == {}
    clock.advance(seconds=seconds)


def lease(conn: Connection, user: str = "u1", **place: Any) -> Lease:
    """Claims the one user that is due."""
    due(conn, place.get("kind", KIND))
    (taken,) = claim(conn, **place)
    assert taken.user_id == user
    return taken


def read(conn: Connection, taken: Lease) -> Answer:
    return _answer(conn, "select loom.work_read(%s, %s)", taken.org, taken.lease_id)  # type: ignore[no-any-return]


def complete(conn: Connection, taken: Lease, answer: Any = None, sources: Any = None) -> Answer:
    return _answer(  # type: ignore[no-any-return]
        conn,
        "select loom.work_complete(%s, %s, %s, %s)",
        *(taken.org, taken.lease_id),
        *(None if answer is None else Jsonb(answer), None if sources is None else Jsonb(sources)),
    )


def fail(
    conn: Connection,
    taken: Lease,
    outcome: str = "failed",
    error: str = "PROVIDER_ERROR",
    seconds: int | None = None,
) -> Answer:
    return _answer(  # type: ignore[no-any-return]
        conn,
        "select loom.work_fail(%s, %s, %s, %s, %s)",
        *(taken.org, taken.lease_id, outcome, error, seconds),
    )


def fail_namespace(
    conn: Connection, digest: str | None, *, namespace: str = "main", org: str = "acme"
) -> None:
    _answer(
        conn,
        "select loom.work_fail_namespace(%s, %s, %s, %s)",
        *(org, namespace, KIND, digest),
    )


def model_call(
    prompt: int = 3, completion: int = 2, *, outcome: str = "OK", milliseconds: int = 70
) -> Answer:
    """A call of a model, as a worker tells of it."""
    return {
        "outcome": outcome,
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "milliseconds": milliseconds,
    }


def used(
    conn: Connection,
    *calls: int | Answer,
    taken: Lease | None = None,
    org: str = "acme",
    kind: str = KIND,
) -> None:
    """Records calls (a number: of so many tokens), under a lease or under one that is over."""
    told = [model_call(each, 0) if isinstance(each, int) else each for each in calls]
    _answer(
        conn,
        "select loom.work_used(%s, %s, %s, %s, 'gpt', %s)",
        *(taken.org, taken.namespace, taken.lease_id) if taken else (org, "main", uuid4()),
        *(kind, Jsonb(told)),
    )


def cap(conn: Connection, tokens: int | None) -> None:
    """Sets how many tokens an org may use in a day, as the applier does."""
    conn.execute("select loom.model_daily_token_cap(%s)", (tokens,))


def metrics(conn: Connection, kind: str = KIND) -> Answer:
    """What `work_metrics` tells of a kind of work."""
    with acting_as(conn, "loom_gateway"):
        row = conn.execute("select loom.work_metrics()").fetchone()
    assert row is not None
    return row[0]["kinds"][kind]  # type: ignore[no-any-return]


def finish(conn: Connection, taken: Lease, answer: Any = None, sources: Any = None) -> Answer:
    """Reads, and completes with what a model might have said."""
    read(conn, taken)
    return complete(conn, taken, answer, sources)


def build(conn: Connection, user: str = "u1", answer: Any = None, **place: Any) -> Answer:
    """Builds the one user that is due, as a worker does; what the completion answered."""
    return finish(conn, lease(conn, user, **place), {"name": "Sam"} if answer is None else answer)


def served(conn: Connection, user: str = "u1", **fields: Any) -> Answer:
    """What `profile.structured` answers."""
    place = {"org": "acme", "namespace": "main", "user_id": user}
    return operate(conn, "profile.structured", **{**place, **fields})


def explained(conn: Connection, user: str = "u1", **fields: Any) -> Answer:
    return served(conn, user, explain=True, **fields)["explain"]  # type: ignore[no-any-return]


def status(conn: Connection, user: str = "u1", **fields: Any) -> str:
    return served(conn, user, **fields)["status"]  # type: ignore[no-any-return]


def build_row(
    conn: Connection, user: str = "u1", *, namespace: str = "main", kind: str = KIND
) -> Answer:
    """The user's row of loom.build; empty where there is none."""
    with conn.cursor(row_factory=dict_row) as cursor:
        row = cursor.execute(
            "select * from loom.build"
            " where org = 'acme' and namespace = %s and user_id = %s and kind = %s",
            (namespace, user, kind),
        ).fetchone()
    return row or {}


def pass_row(conn: Connection, kind: str = KIND) -> Answer:
    with conn.cursor(row_factory=dict_row) as cursor:
        row = cursor.execute("select * from loom.pass where kind = %s", (kind,)).fetchone()
    return row or {}

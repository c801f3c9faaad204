"""loom.housekeeping: stored answers whose day is over go, across orgs."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import psycopg
import pytest

from tests.calls import Token, acting_as, mint_token, refused
from tests.databases import Clock, Database
from tests.sql.doors import through_api, wm

Connection = psycopg.Connection[Any]
Mint = Callable[..., Token]

NOON = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


def keep_house(db: Connection, most: int = 100) -> Any:
    with acting_as(db, "loom_worker"):
        row = db.execute("select loom.housekeeping(%s)", (most,)).fetchone()
    assert row is not None
    return row[0]


def write_keyed(db: Connection, token: Token, *keys: str) -> None:
    for key in keys:
        through_api(db, token, "working_memory.append", key=key, addition="x", user_id="u")


def stored(db: Connection, table: bytes = b"idempotency") -> list[str]:
    return [key for (key,) in db.execute(b"select key from loom." + table + b" order by key")]


def test_answers_go_when_their_day_is_over_and_not_before(
    db: Connection, mint: Mint, clock: Clock
) -> None:
    clock.set(NOON)
    write_keyed(db, mint(namespace="main"), "a")
    write_keyed(db, mint(namespace="main", org="other"), "b")
    clock.advance(hours=1)
    write_keyed(db, mint(namespace="main"), "c")
    clock.set(NOON)
    clock.advance(hours=24, microseconds=-1)
    assert keep_house(db) == 0
    clock.advance(microseconds=1)
    assert keep_house(db) == 2
    assert stored(db) == stored(db, b"idempotency_user") == ["c"]
    assert wm(db, "get", agent=None, user_id="u")["found"] is True


def test_a_call_removes_no_more_than_it_is_told(db: Connection, mint: Mint, clock: Clock) -> None:
    clock.set(NOON)
    write_keyed(db, mint(namespace="main"), *"abcde")
    clock.advance(days=2)
    assert [keep_house(db, 2) for _call in range(4)] == [2, 2, 1, 0]


def test_it_never_waits_for_a_row_that_is_locked(database: Database) -> None:
    conn, rival = database.connect(), database.connect()
    token = mint_token(conn, namespace="main")
    clock = Clock(conn)
    clock.set(NOON)
    write_keyed(conn, token, "a", "b")
    clock.advance(days=2)
    with rival.transaction():
        rival.execute("select from loom.idempotency where key = 'a' for update")
        assert keep_house(conn) == 1
    assert stored(conn) == ["a"]
    assert keep_house(conn) == 1


@pytest.mark.parametrize(
    "login",
    [
        "loom_gateway",
        "loom_test_viewer",
        "loom_test_writer",
        "loom_test_admin",
        "loom_test_operator",
    ],
)
def test_only_the_worker_keeps_house(db: Connection, login: str) -> None:
    with refused(db, "42501"), acting_as(db, login):
        db.execute("select loom.housekeeping(1)")

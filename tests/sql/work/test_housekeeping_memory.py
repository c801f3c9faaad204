"""loom.housekeeping_memory: tombstones after 14 days and expired rows go, one user at a time."""

from __future__ import annotations

from typing import Any

import pytest

from tests.calls import Connection, acting_as, operate, refused
from tests.databases import Clock, Database
from tests.races import Rival, wait_until_blocked
from tests.sql.erasure.rows_of import rows_of
from tests.sql.facts import NOON, fact, section
from tests.sql.worker_rows import worker_writes

USER = {"user_id": "u1"}


def keep_house(conn: Connection, most: int = 100) -> Any:
    with acting_as(conn, "loom_worker"):
        row = conn.execute("select loom.housekeeping_memory(%s)", (most,)).fetchone()
    assert row is not None
    return row[0]


def keep_all_house(conn: Connection) -> list[int]:
    """What each call removed, until one answers 0."""
    removed: list[int] = []
    while not removed or removed[-1] > 0:
        removed.append(keep_house(conn))
    return removed


def keys(conn: Connection) -> list[str]:
    """Users and keys of the rows that are left."""
    rows = conn.execute("select user_id || ' ' || memory_key from loom.memory order by 1")
    return [key for (key,) in rows]


def test_a_tombstone_goes_at_14_days_and_not_before(db: Connection, clock: Clock) -> None:
    clock.set(NOON)
    for key in ("gone", "kept", "restored"):
        fact(db, "set", **USER, memory_key=key, value=key)
    clock.advance(seconds=10)
    fact(db, "delete", **USER, memory_key="gone")
    fact(db, "delete", **USER, memory_key="restored")
    clock.advance(days=14, microseconds=-1)
    assert keep_house(db) == 0
    assert fact(db, "restore", **USER, memory_key="restored")["restored"] is True
    clock.advance(microseconds=1)
    with refused(db, "LM102"):
        fact(db, "restore", **USER, memory_key="gone")
    assert keep_house(db) == 1
    assert keys(db) == ["u1 kept", "u1 restored"]
    assert keep_house(db) == 0


def test_an_expired_row_goes_when_its_time_is_over_and_not_before(
    db: Connection, clock: Clock
) -> None:
    clock.set(NOON)
    fact(db, "set", **USER, value=1, expires_at="2026-03-01T12:01:00Z")
    section(db, "set", **USER, value="x")
    clock.advance(seconds=60, microseconds=-1)
    assert keep_house(db) == 0
    assert fact(db, "get", **USER)["found"] is True
    clock.advance(microseconds=1)
    assert fact(db, "get", **USER)["status"] == "expired"
    assert keep_house(db) == 1
    assert keys(db) == ["u1 persona"]


def test_history_and_sources_go_with_the_row_and_no_others(db: Connection, clock: Clock) -> None:
    clock.set(NOON)
    source = fact(db, "set", **USER, value=1)["memory_id"]
    for key in ("gone", "kept"):
        worker_writes(db, key, "one", [source], **USER)
        worker_writes(db, key, "two", [source], **USER)
    fact(db, "delete", **USER, memory_key="gone")
    clock.advance(days=15)
    assert keep_house(db) == 1
    left = rows_of(db, "u1")
    assert {table: len(rows) for table, rows in left.items()} == {
        "memory": 2,
        "memory_version": 3,
        "memory_source": 2,
        "build": 1,
    }
    written = fact(db, "set", **USER, memory_key="gone", value="new")
    assert (written["created"], written["version"]) == (True, 1)


def test_a_redacted_row_stays_and_one_deleted_as_well_goes(db: Connection, clock: Clock) -> None:
    clock.set(NOON)
    for key in ("redacted", "deleted and redacted"):
        fact(db, "set", **USER, memory_key=key, value=1)
    fact(db, "delete", **USER, memory_key="deleted and redacted")
    for key in ("redacted", "deleted and redacted"):
        fact(db, "redact", **USER, memory_key=key, reason="asked")
    clock.advance(days=400)
    assert keep_house(db) == 1
    assert keys(db) == ["u1 redacted"]


def test_a_call_removes_no_more_than_it_is_told(db: Connection, clock: Clock) -> None:
    clock.set(NOON)
    for number in range(5):
        fact(db, "set", **USER, memory_key=f"k{number}", value=number, ttl_seconds=1)
    clock.advance(days=1)
    assert [keep_house(db, 2) for _call in range(4)] == [2, 2, 1, 0]


def test_a_call_keeps_to_one_user_of_one_namespace(db: Connection, clock: Clock) -> None:
    """So that it holds the lock of one writer, and lets go of it with its commit."""
    clock.set(NOON)
    owners = [
        {"user_id": "u1"},
        {"user_id": "u2"},
        {"user_id": "u1", "namespace": "other"},
        {"user_id": "u1", "org": "other"},
        {"user_id": "-"},
        {"user_id": "-", "agent": "another"},
    ]
    for owner in owners:
        for key in ("a", "b"):
            fact(db, "set", **owner, memory_key=key, value=key, ttl_seconds=1)
        fact(db, "set", **owner, memory_key="kept", value="kept")
    clock.advance(days=1)
    before = db.execute("select to_jsonb(m)::text from loom.memory m where memory_key = 'kept'")
    kept = sorted(before.fetchall())
    assert keep_all_house(db) == [2] * len(owners) + [0]
    left = db.execute("select to_jsonb(m)::text from loom.memory m").fetchall()
    assert sorted(left) == kept
    versions = db.execute("select count(*) from loom.memory_version").fetchone()
    assert versions == (len(owners),)


@pytest.mark.parametrize("user", ["u1", "-"])
def test_it_passes_over_a_user_whose_rows_are_being_written(database: Database, user: str) -> None:
    conn, rival = database.connect(), database.connect()
    clock = Clock(conn)
    clock.set(NOON)
    for owner in (user, "u2"):
        fact(conn, "set", user_id=owner, value=1, ttl_seconds=1)
    clock.advance(days=1)
    conn.execute("set lock_timeout = '2s'")
    with rival.transaction():
        fact(rival, "set", user_id=user, memory_key="new", value=1)
        assert keep_all_house(conn) == [1, 0]
        assert keys(conn) == [f"{user} likes"]
    assert keep_all_house(conn) == [1, 0]
    assert keys(conn) == [f"{user} new"]


def test_it_passes_over_a_user_who_is_being_erased(database: Database) -> None:
    conn, rival = database.connect(), database.connect()
    clock = Clock(conn)
    clock.set(NOON)
    for owner in ("u1", "u2"):
        fact(conn, "set", user_id=owner, value=1, ttl_seconds=1)
    clock.advance(days=1)
    conn.execute("set lock_timeout = '2s'")
    with rival.transaction():
        operate(rival, "erasure.request", org="acme", user_id="u1")
        assert keep_all_house(conn) == [1, 0]
    assert keys(conn) == []


def test_a_writer_waits_for_it_and_then_finds_nothing(database: Database) -> None:
    """No restore of what is being removed: the writer decides after the commit."""
    conn, observer, rival = database.connect(), database.connect(), database.connect()
    clock = Clock(conn)
    clock.set(NOON)
    fact(conn, "set", **USER, value=1, ttl_seconds=1)
    clock.advance(days=1)
    with conn.transaction():
        assert keep_house(conn) == 1
        writer = Rival(rival, lambda: fact(rival, "set", **USER, value=2))
        wait_until_blocked(observer, writer, by=conn.info.backend_pid)
    written = writer.result()
    assert (written["created"], written["version"]) == (True, 1)


def test_two_workers_share_the_work(database: Database) -> None:
    one, two = database.connect(), database.connect()
    clock = Clock(one)
    clock.set(NOON)
    for owner in ("u1", "u2"):
        fact(one, "set", user_id=owner, value=1, ttl_seconds=1)
    clock.advance(days=1)
    two.execute("set lock_timeout = '2s'")
    with one.transaction():
        assert keep_house(one) == 1
        assert keep_all_house(two) == [1, 0]
    assert keys(one) == []


@pytest.mark.parametrize(
    "login",
    [
        *("loom_gateway", "loom_test_viewer", "loom_test_writer"),
        *("loom_test_admin", "loom_test_operator"),
    ],
)
def test_only_the_worker_keeps_house(db: Connection, login: str) -> None:
    with refused(db, "42501"), acting_as(db, login):
        db.execute("select loom.housekeeping_memory(1)")

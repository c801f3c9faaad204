"""loom.open_mode_clear: open mode ends at once."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import psycopg

from tests.calls import refused
from tests.databases import Clock
from tests.sql.doors import through_api

Connection = psycopg.Connection[Any]


def clear(db: Connection) -> Any:
    row = db.execute("select loom.open_mode_clear()").fetchone()
    assert row is not None
    return row[0]


def test_it_ends_at_once(db: Connection) -> None:
    db.execute("select loom.open_mode_set(60)")
    through_api(db, None, "working_memory.get")
    assert clear(db) is True
    with refused(db, "LM301"):
        through_api(db, None, "working_memory.get")


def test_clearing_what_is_off_does_nothing(db: Connection) -> None:
    assert clear(db) is False
    assert db.execute("select from loom.audit").fetchall() == []


def test_clearing_what_has_expired_removes_the_row_and_is_no_switching_off(
    db: Connection, clock: Clock
) -> None:
    clock.set(datetime(2026, 3, 1, 12, 0, tzinfo=UTC))
    db.execute("select loom.open_mode_set(60)")
    clock.advance(seconds=60)
    assert clear(db) is False
    assert db.execute("select from loom.open_mode").fetchall() == []
    actions = db.execute("select action from loom.audit").fetchall()
    assert actions == [("open_mode.on",)]


def test_switching_off_is_audited(db: Connection, clock: Clock) -> None:
    clock.set(datetime(2026, 3, 1, 12, 0, tzinfo=UTC))
    db.execute("select loom.open_mode_set(60)")
    clock.advance(seconds=1)
    clear(db)
    rows = db.execute("select org, action from loom.audit order by at").fetchall()
    assert rows == [("-", "open_mode.on"), ("-", "open_mode.off")]

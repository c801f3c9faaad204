"""loom.housekeeping_model_calls: what is told of single calls of models goes after 90 days."""

from __future__ import annotations

from typing import Any

from tests.calls import Connection, acting_as
from tests.databases import Clock, Database
from tests.sql.facts import NOON

RECORD = """
insert into loom.model_usage (org, at, purpose, namespace, user_id, model, prompt_tokens,
  completion_tokens, milliseconds, outcome)
select %s, loom._now() + n * interval '1 microsecond', 'query_embedding', 'main', '-', 'm',
  7, 0, 5, 'OK'
from generate_series(1, %s) as n
"""
SUM = """
insert into loom.model_day select org, at::date, purpose, model, outcome, count(*), 7, 0, 5
from loom.model_usage group by 1, 2, 3, 4, 5
"""


def record(conn: Connection, org: str, calls: int = 1) -> None:
    conn.execute(RECORD.encode(), (org, calls))


def keep_house(conn: Connection, most: int = 100) -> Any:
    with acting_as(conn, "loom_worker"):
        row = conn.execute("select loom.housekeeping_model_calls(%s)", (most,)).fetchone()
    assert row is not None
    return row[0]


def count(conn: Connection, table: bytes = b"model_usage") -> Any:
    row = conn.execute(b"select count(*) from loom." + table).fetchone()
    assert row is not None
    return row[0]


def test_calls_go_after_ninety_days_and_not_before(db: Connection, clock: Clock) -> None:
    clock.set(NOON)
    record(db, "acme")
    record(db, "other")
    db.execute(SUM.encode())
    clock.advance(days=1)
    record(db, "acme")
    clock.set(NOON)
    clock.advance(days=90)
    assert keep_house(db) == 0
    clock.advance(microseconds=1)
    assert keep_house(db) == 2
    assert count(db) == 1
    assert count(db, b"model_day") == 2


def test_a_call_removes_no_more_than_it_is_told(db: Connection, clock: Clock) -> None:
    clock.set(NOON)
    record(db, "acme", 5)
    clock.advance(days=91)
    assert [keep_house(db, 2) for _call in range(4)] == [2, 2, 1, 0]


def test_a_call_that_another_session_holds_is_passed_over(database: Database) -> None:
    conn, holder = database.connect(), database.connect()
    clock = Clock(conn)
    clock.set(NOON)
    record(conn, "acme", 2)
    clock.advance(days=91)
    with holder.transaction():
        holder.execute("select from loom.model_usage order by at limit 1 for update")
        assert keep_house(conn) == 1
    assert keep_house(conn) == 1

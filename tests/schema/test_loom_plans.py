"""What a wake-up reads: the threads it tells of, however many others weave into the same loom."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest

from tests.databases import Database
from tests.sql.loom_doors import add, bind, make

Connection = psycopg.Connection[Any]

MANY = 5000
"""Threads of other users in the loom."""

_THREADS = """
insert into loom.loom_thread
  (org, namespace, loom_id, user_id, agent, text, created_at, created_by, updated_at, updated_by)
select 'acme', 'main', %s, 'u' || n, '-', 'text', loom._now(), 'test', loom._now(), 'test'
from generate_series(1, %s) as n
"""
_FETCHED = """
select (coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0))::integer
from pg_stat_xact_user_tables where schemaname = 'loom' and relname = 'loom_thread'
"""


@pytest.fixture
def crowded(database: Database) -> tuple[Connection, str]:
    """A loom of many users, with two threads of `mine` and one of `-`."""
    conn = database.connect()
    loom = make(conn)
    for user in ("mine", "mine", "-"):
        add(conn, loom, "told", userId=user)
    conn.execute(_THREADS, (loom, MANY))
    conn.execute("analyze loom.loom_thread")
    return conn, loom


def fetched(conn: Connection, loom: str, told: int, **request: Any) -> int:
    """How many rows of threads a bind read. It tells so many."""
    with conn.transaction():
        before = conn.execute(_FETCHED).fetchone()
        (bound,) = bind(conn, loomId=loom, **request)
        assert bound["threadCount"] == told
        after = conn.execute(_FETCHED).fetchone()
    assert before is not None
    assert after is not None
    return int(after[0] - before[0])


def test_o12_a_user_wakes_up_at_the_cost_of_its_own_threads(
    crowded: tuple[Connection, str],
) -> None:
    conn, loom = crowded
    for _ in range(7):  # also by a plan that is kept
        assert fetched(conn, loom, 3, userId="mine") <= 10
    assert fetched(conn, loom, 1, userId="nobody") <= 5


def test_o12_a_wake_up_with_everyones_threads_reads_those_it_may_tell(
    crowded: tuple[Connection, str],
) -> None:
    conn, loom = crowded
    assert fetched(conn, loom, 1000, readScope="namespace") <= 2000

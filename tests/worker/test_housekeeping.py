"""The worker keeps house: old tombstones and expired rows go, beside its work and its heartbeat."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
import pytest

from loom.worker.handlers import Connection as WorkerConnection
from loom.worker.housekeeping import Housekeeper
from loom.worker.listener import Listener
from loom.worker.main import Worker
from tests.calls import operate
from tests.databases import Clock, Database
from tests.worker.test_worker import login

Connection = psycopg.Connection[Any]

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
HERE = {"org": "acme", "namespace": "n"}
LONG = 3600.0


@pytest.fixture
def stopped(database: Database) -> tuple[Connection, Clock]:
    """The migration login and the stopped clock of `database`."""
    conn = database.connect()
    clock = Clock(conn)
    clock.set(NOON)
    return conn, clock


def fact(conn: Connection, user: str, key: str, **more: Any) -> None:
    operate(conn, "memory.set", **HERE, user_id=user, memory_key=key, value=key, **more)


def forget(conn: Connection, user: str, key: str) -> None:
    operate(conn, "memory.delete", **HERE, user_id=user, memory_key=key)


def keys(conn: Connection) -> list[str]:
    rows = conn.execute("select user_id || ' ' || memory_key from loom.memory order by 1")
    return [key for (key,) in rows]


def versions(conn: Connection) -> int:
    row = conn.execute("select count(*) from loom.memory_version").fetchone()
    assert row is not None
    return int(row[0])


def one_round(database: Database) -> int:
    async def whole() -> int:
        async def connect() -> WorkerConnection:
            return await psycopg.AsyncConnection.connect(login(database), autocommit=True)

        return await Housekeeper(connect).round()

    return asyncio.run(whole())


def working(
    database: Database, test: Callable[[Worker], Awaitable[None]], *, round_seconds: float
) -> None:
    """Do `test` beside a running worker, then stop it and wait for its end."""

    async def whole() -> None:
        worker = Worker(
            login(database),
            poll_seconds=0.05,
            concurrency=1,
            handlers={},
            round_seconds=round_seconds,
        )
        task = asyncio.create_task(worker.run())
        try:
            async with asyncio.timeout(20):
                await test(worker)
        finally:
            worker.stop()
            async with asyncio.timeout(20):
                await task

    asyncio.run(whole())


async def until(true: Callable[[], bool]) -> None:
    """Ask the database again and again; it has no event to wait for."""
    for _ in range(2000):
        if await asyncio.to_thread(true):
            return
        await asyncio.sleep(0.01)
    raise AssertionError("it did not come true")


def test_tombstones_go_after_14_days_and_expired_rows_at_once(
    database: Database, stopped: tuple[Connection, Clock]
) -> None:
    conn, clock = stopped
    fact(conn, "u1", "kept")
    fact(conn, "u1", "gone")
    fact(conn, "u2", "gone")
    fact(conn, "-", "passing", ttl_seconds=60)
    fact(conn, "u2", "later", ttl_seconds=61)
    forget(conn, "u1", "gone")
    clock.advance(days=14, seconds=-1)
    forget(conn, "u2", "gone")
    assert one_round(database) == 2
    assert keys(conn) == ["u1 gone", "u1 kept", "u2 gone"]
    clock.advance(seconds=1, microseconds=1)  # a deletion is later than the writing before it
    assert one_round(database) == 1
    assert keys(conn) == ["u1 kept", "u2 gone"]
    clock.advance(days=14)
    assert one_round(database) == 1
    assert (keys(conn), versions(conn)) == (["u1 kept"], 1)
    assert one_round(database) == 0


def test_a_row_is_there_until_its_time_is_over(
    database: Database, stopped: tuple[Connection, Clock]
) -> None:
    conn, clock = stopped
    fact(conn, "u1", "passing", expires_at="2026-03-01T12:00:01Z")
    assert one_round(database) == 0
    clock.set(NOON + timedelta(seconds=1))
    assert one_round(database) == 1


def test_stored_answers_whose_day_is_over_go_too(
    database: Database, stopped: tuple[Connection, Clock]
) -> None:
    conn, clock = stopped
    request = psycopg.types.json.Jsonb({**HERE, "user_id": "u", "memory_key": "k", "value": 1})
    for number in range(3):
        conn.execute("select loom.execute('memory.set', %s, %s)", (request, f"key {number}"))
    assert one_round(database) == 0
    clock.advance(days=1)
    assert one_round(database) == 3
    assert conn.execute("select count(*) from loom.idempotency").fetchone() == (0,)


def test_o77_a_user_who_is_being_written_is_passed_over_and_done_later(
    database: Database, stopped: tuple[Connection, Clock]
) -> None:
    conn, clock = stopped
    for user in ("u1", "u2", "u3"):
        fact(conn, user, "gone", ttl_seconds=60)
    clock.advance(minutes=2)
    busy = database.connect()
    with busy.transaction():
        # Its state row is locked as any write of the user locks it.
        operate(busy, "memory.set", **HERE, user_id="u2", memory_key="new", value=1)
        assert one_round(database) == 2
        assert keys(conn) == ["u2 gone"]
    assert one_round(database) == 1
    assert keys(conn) == ["u2 new"]


def test_o77_an_erasure_under_way_is_not_waited_for(
    database: Database, stopped: tuple[Connection, Clock]
) -> None:
    conn, clock = stopped
    for user in ("u1", "u2"):
        fact(conn, user, "gone", ttl_seconds=60)
    clock.advance(minutes=2)
    busy = database.connect()
    with busy.transaction():
        operate(busy, "erasure.request", org="acme", user_id="u1")
        assert one_round(database) == 1
    assert keys(conn) == []
    assert one_round(database) == 0


def test_o77_many_users_and_rows_go_in_one_round_a_commit_a_user(
    database: Database,
    stopped: tuple[Connection, Clock],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    conn, clock = stopped
    monkeypatch.setattr("loom.worker.housekeeping.ROWS", 2)
    for user in ("u1", "u2", "u3"):
        for number in range(5):
            fact(conn, user, f"key{number}", ttl_seconds=60)
    fact(conn, "u4", "kept")
    clock.advance(minutes=2)
    watch_commits(conn)
    assert one_round(database) == 15
    assert keys(conn) == ["u4 kept"]
    # Two, two and one of each user.
    assert conn.execute("select count(*) from loom_test.removed").fetchone() == (9,)


def watch_commits(conn: Connection) -> None:
    """Keep in loom_test.removed the transactions that remove rows of memory."""
    conn.execute(
        "create table loom_test.removed (at xid8 primary key);"
        "create function loom_test.note() returns trigger language plpgsql security definer as $$"
        " begin insert into loom_test.removed values (pg_current_xact_id())"
        " on conflict do nothing; return null; end $$;"
        "create trigger note after delete on loom.memory"
        " for each row execute function loom_test.note()"
    )


def test_a_running_worker_keeps_house_round_after_round(
    database: Database, stopped: tuple[Connection, Clock]
) -> None:
    conn, clock = stopped
    fact(conn, "u1", "first", ttl_seconds=60)
    fact(conn, "u1", "second", ttl_seconds=3600)

    async def test(worker: Worker) -> None:
        clock.advance(minutes=2)
        await until(lambda: keys(conn) == ["u1 second"])
        clock.advance(hours=2)
        await until(lambda: keys(conn) == [])

    working(database, test, round_seconds=0.01)


def test_o47_the_heart_beats_on_while_house_is_kept(
    database: Database, stopped: tuple[Connection, Clock], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A call that waits in the database holds up neither heartbeat nor stop for long."""
    conn, clock = stopped
    fact(conn, "u1", "gone", ttl_seconds=60)
    clock.advance(minutes=2)
    beats = 0
    beat = Listener.beat

    async def counted(self: Listener, worker_id: Any) -> None:
        nonlocal beats
        beats += 1
        await beat(self, worker_id)

    monkeypatch.setattr(Listener, "beat", counted)
    holder = database.connect()

    async def test(worker: Worker) -> None:
        with holder.transaction():
            holder.execute("lock table loom.memory in access exclusive mode")
            await asyncio.to_thread(wait_until_housekeeping_waits, conn)
            before = beats
            await until(lambda: beats > before + 3)
        await until(lambda: keys(conn) == [])

    working(database, test, round_seconds=0.01)


WAITING = """
select count(*) from pg_stat_activity
where datname = current_database() and application_name = 'loom work'
  and query like '%housekeeping_memory%' and cardinality(pg_blocking_pids(pid)) > 0
"""


def wait_until_housekeeping_waits(conn: Connection) -> None:
    for _ in range(2000):
        if conn.execute(WAITING).fetchone() == (1,):
            return
    raise AssertionError("housekeeping does not wait")


def test_a_round_that_fails_is_told_and_the_next_one_comes(
    database: Database,
    stopped: tuple[Connection, Clock],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    conn, clock = stopped
    fact(conn, "u1", "gone", ttl_seconds=60)
    clock.advance(minutes=2)
    failures: list[Exception] = [
        psycopg.OperationalError("away"),
        psycopg.ProgrammingError("the user's text"),
        TimeoutError(),
    ]
    whole_round = Housekeeper.round

    async def flaky(self: Housekeeper) -> int:
        if failures:
            raise failures.pop(0)
        return await whole_round(self)

    monkeypatch.setattr(Housekeeper, "round", flaky)

    async def test(worker: Worker) -> None:
        await until(lambda: keys(conn) == [])

    with caplog.at_level(logging.INFO, "loom.worker"):
        working(database, test, round_seconds=0.01)
    assert "the user's text" not in caplog.text
    told = [record.message for record in caplog.records if "housekeeping" in record.message]
    assert told[:4] == [
        "housekeeping put off",
        "housekeeping failed",
        "housekeeping put off",
        "housekeeping done",
    ]


def test_one_look_keeps_house_too(database: Database, stopped: tuple[Connection, Clock]) -> None:
    conn, clock = stopped
    fact(conn, "u1", "gone", ttl_seconds=60)
    clock.advance(minutes=2)

    async def whole() -> int:
        worker = Worker(login(database), poll_seconds=LONG, concurrency=1, handlers={})
        return await worker.once()

    assert asyncio.run(whole()) == 0
    assert keys(conn) == []


def test_a_stop_ends_a_round_after_the_call_under_way(
    database: Database, stopped: tuple[Connection, Clock], monkeypatch: pytest.MonkeyPatch
) -> None:
    conn, clock = stopped
    monkeypatch.setattr("loom.worker.housekeeping.ROWS", 1)
    for number in range(3):
        fact(conn, f"u{number}", "gone", ttl_seconds=60)
    clock.advance(minutes=2)

    async def whole() -> int:
        async def connect() -> WorkerConnection:
            return await psycopg.AsyncConnection.connect(login(database), autocommit=True)

        keeper = Housekeeper(connect)
        keeper.stop()
        return await keeper.round()

    assert asyncio.run(whole()) == 0
    assert len(keys(conn)) == 3

"""The worker against a real database: heartbeat, notifications, reconnects, an orderly end."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from typing import Any

import psycopg
import pytest

from loom.migrate import Expected
from loom.worker.handlers import Connection, Handler
from loom.worker.listener import Listener, SchemaMismatch
from loom.worker.main import Worker
from loom.worker.runner import Runner
from tests.databases import Database

LONG = 3600.0
"""A poll that no test lives to see: what happens before it was caused by something else."""

END_SESSIONS = """
select pg_terminate_backend(pid) from pg_stat_activity
where datname = current_database() and application_name = 'loom worker'
"""
# After its heartbeat, and the arming of the bell where there is work that it can do.
LISTENING = """
select count(*) from pg_stat_activity
where datname = current_database() and application_name = 'loom worker'
  and state = 'idle' and query ~ 'worker_beat|worker_bell_set'
"""


def login(database: Database) -> str:
    """The worker's login, where the server lets it in without a password."""
    if not database.cluster.own:
        pytest.skip("on a server of the user's loom_worker may have a password")
    return database.dsn("loom_worker")


class Watch:
    """A handler that counts the looks at what is due, and lets a test wait for the next one."""

    def __init__(self) -> None:
        self.looks = 0
        self._changed = asyncio.Event()

    async def __call__(self, connection: Connection) -> bool:
        self.looks += 1
        self._changed.set()
        return False

    async def beyond(self, looks: int) -> None:
        """Return when there were more looks than `looks`."""
        async with asyncio.timeout(20):
            while self.looks <= looks:
                self._changed.clear()
                await self._changed.wait()


def work_with(
    database: Database,
    test: Callable[[Worker, Watch], Awaitable[None]],
    *,
    poll_seconds: float = LONG,
) -> None:
    """Run a worker, do `test`, stop the worker and wait for its end."""

    async def whole() -> None:
        watch = Watch()
        worker = Worker(
            login(database),
            poll_seconds=poll_seconds,
            concurrency=1,
            handlers={"watched": watch},
        )
        task = asyncio.create_task(worker.run())
        try:
            await watch.beyond(1)  # as it starts, and once the bell is armed
            await test(worker, watch)
        finally:
            worker.stop()
            async with asyncio.timeout(20):
                await task

    asyncio.run(whole())


def workers(conn: psycopg.Connection[Any]) -> list[str]:
    row = conn.execute("select loom.health() -> 'workers'").fetchone()
    assert row is not None
    return [worker["worker_id"] for worker in row[0]]


def test_a_worker_shows_itself_and_takes_its_row_with_it(clean_database: Database) -> None:
    conn = clean_database.connect()

    async def test(worker: Worker, watch: Watch) -> None:
        assert workers(conn) == [str(worker.worker_id)]

    work_with(clean_database, test)
    assert workers(conn) == []


def test_a_notification_wakes_the_worker_long_before_its_poll(clean_database: Database) -> None:
    conn = clean_database.connect()

    async def test(worker: Worker, watch: Watch) -> None:
        looks = watch.looks
        conn.execute("select pg_notify('loom_work', '')")
        await watch.beyond(looks)

    work_with(clean_database, test)


def test_without_any_notification_it_looks_at_each_poll(clean_database: Database) -> None:
    async def test(worker: Worker, watch: Watch) -> None:
        await watch.beyond(watch.looks + 2)

    work_with(clean_database, test, poll_seconds=0.05)


def test_o57_a_lost_connection_is_replaced_it_sweeps_once_and_listens_again(
    clean_database: Database,
) -> None:
    conn = clean_database.connect()

    async def test(worker: Worker, watch: Watch) -> None:
        for _ in range(2):
            looks = watch.looks
            conn.execute(END_SESSIONS)
            await watch.beyond(looks + 1)  # after the reconnect, and once the bell is armed
            await asyncio.to_thread(wait_until_it_listens, conn)
            looks = watch.looks
            conn.execute("select pg_notify('loom_work', '')")
            await watch.beyond(looks)

    work_with(clean_database, test)


def wait_until_it_listens(conn: psycopg.Connection[Any]) -> None:
    """Until the worker's session has had its heartbeat and is idle: then it listens."""
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        if conn.execute(LISTENING).fetchone() == (1,):
            return
        time.sleep(0.01)
    raise AssertionError("the worker does not listen")


class Told(logging.Handler):
    """Sets an event when a message is logged."""

    def __init__(self, message: str) -> None:
        super().__init__()
        self.event = asyncio.Event()
        self._message = message

    def emit(self, record: logging.LogRecord) -> None:
        if record.getMessage() == self._message:
            self.event.set()


def test_a_worker_waits_for_a_database_that_is_away(clean_database: Database) -> None:
    superuser = clean_database.cluster.connect("postgres")
    allow = "alter database {} allow_connections {}"

    def let_in(yes: bool) -> None:
        name = psycopg.sql.Identifier(clean_database.name)
        superuser.execute(psycopg.sql.SQL(allow).format(name, psycopg.sql.Literal(yes)))

    async def whole() -> None:
        watch, told = Watch(), Told("no database")
        logging.getLogger("loom.worker").addHandler(told)
        dsn = login(clean_database)
        worker = Worker(dsn, poll_seconds=LONG, concurrency=1, handlers={"watched": watch})
        let_in(False)
        task = asyncio.create_task(worker.run())
        try:
            async with asyncio.timeout(20):
                await told.event.wait()
            assert watch.looks == 0
            let_in(True)
            await watch.beyond(0)
        finally:
            logging.getLogger("loom.worker").removeHandler(told)
            worker.stop()
            await task

    with superuser:
        asyncio.run(whole())


def test_once_looks_once_and_leaves_no_trace(clean_database: Database) -> None:
    watch = Watch()
    pieces = [True, True, False]

    async def handler(connection: Connection) -> bool:
        await watch(connection)
        return pieces.pop(0)

    async def whole() -> int:
        worker = Worker(
            login(clean_database),
            poll_seconds=LONG,
            concurrency=1,
            handlers={"watched": handler},
        )
        return await worker.once()

    assert asyncio.run(whole()) == 2
    assert workers(clean_database.connect()) == []


def one_look(database: Database, schema: Expected | None = None) -> None:
    async def whole() -> None:
        handlers: dict[str, Handler] = {}
        dsn = login(database)
        worker = Worker(dsn, poll_seconds=LONG, concurrency=1, handlers=handlers, schema=schema)
        await worker.once()

    asyncio.run(whole())


def test_o74_a_worker_refuses_a_schema_that_is_not_its_own(clean_database: Database) -> None:
    with pytest.raises(SchemaMismatch, match="9999_later"):
        one_look(clean_database, Expected("9999_later", "00"))


def test_o47_a_worker_that_no_longer_works_does_not_go_on_showing_itself(
    clean_database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def broken(self: Runner) -> int:
        raise RuntimeError("a fault in the runner")

    monkeypatch.setattr(Runner, "_look", broken)

    async def whole() -> None:
        worker = Worker(login(clean_database), poll_seconds=0.05, concurrency=1, handlers={})
        async with asyncio.timeout(20):
            with pytest.raises(RuntimeError):
                await worker.run()

    asyncio.run(whole())


def test_a_database_that_fails_at_once_is_asked_ever_less_often(
    clean_database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    pauses: list[float] = []

    async def refuse(self: Listener, worker_id: object) -> None:
        raise psycopg.OperationalError("canceled by lock time-out")

    async def pause(self: Worker, seconds: float) -> None:
        pauses.append(seconds)
        if len(pauses) == 8:
            self.stop()

    monkeypatch.setattr(Listener, "beat", refuse)
    monkeypatch.setattr(Worker, "_pause", pause)

    async def whole() -> None:
        worker = Worker(login(clean_database), poll_seconds=LONG, concurrency=1, handlers={})
        await worker.run()

    asyncio.run(whole())
    for longest, waited in zip((0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 5.0, 5.0), pauses, strict=True):
        assert longest / 2 <= waited <= longest


def test_a_worker_ends_when_the_schema_changes_under_it(clean_database: Database) -> None:
    conn = clean_database.connect()

    async def whole() -> None:
        worker = Worker(login(clean_database), poll_seconds=LONG, concurrency=1, handlers={})
        task = asyncio.create_task(worker.run())
        await asyncio.to_thread(wait_until_it_listens, conn)
        conn.execute("update loom.functions_digest set sha256 = 'other'")
        conn.execute(END_SESSIONS)
        async with asyncio.timeout(20):
            with pytest.raises(SchemaMismatch):
                await task

    asyncio.run(whole())


def test_a_worker_refuses_a_database_without_a_schema(clean_database: Database) -> None:
    cluster = clean_database.cluster
    with pytest.raises(SchemaMismatch, match="loom migrate"):
        one_look(Database(cluster, "postgres"))


def test_a_session_of_its_own_hears_what_it_says(clean_database: Database) -> None:
    async def whole() -> bool:
        listener = await Listener.open(login(clean_database))
        try:
            return await listener.hears()
        finally:
            await listener.close()

    assert asyncio.run(whole())


def test_o65_a_session_that_a_pooler_hands_around_is_found_deaf(clean_database: Database) -> None:
    async def whole() -> bool:
        listener = await Listener.open(login(clean_database))
        try:
            # What such a pooler does between two statements: another session, which listens to
            # nothing.
            await listener._connection.execute("unlisten *")
            return await listener.hears()
        finally:
            await listener.close()

    assert not asyncio.run(whole())

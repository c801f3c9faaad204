"""The pool under load: how many connections it opens, who waits, and for how long."""

from __future__ import annotations

import asyncio
from typing import Any

import psycopg
import pytest

from loom.gateway import DatabaseRefusal, DatabaseUnavailable, Patience
from tests.databases import Database
from tests.http.pools import (
    QUICK,
    Caller,
    blocked,
    run,
    sessions,
    table_locked,
    until,
)

Connection = psycopg.Connection[Any]


def test_o75_one_connection_serves_many_clients(database: Database) -> None:
    async def body(caller: Caller, admin: Connection) -> None:
        await asyncio.gather(*(caller.append(addition=str(n)) for n in range(64)))
        await asyncio.gather(*(caller.read() for _ in range(64)))
        lines = (await caller.read())["content"].splitlines()
        assert sorted(lines, key=int) == [str(n) for n in range(64)]
        assert len(sessions(admin)) == 2  # one for each lane

    run(database, body, read_connections=1, write_connections=1)


def test_the_limits_of_the_lanes_hold(database: Database) -> None:
    async def body(caller: Caller, admin: Connection) -> None:
        async with table_locked(database):
            tasks = [asyncio.create_task(caller.read()) for _ in range(20)]
            tasks += [asyncio.create_task(caller.append(addition="x")) for _ in range(20)]
            await blocked(admin, 5)
            assert len(sessions(admin)) == 5
        await asyncio.gather(*tasks)
        assert len(sessions(admin)) == 5

    run(database, body, read_connections=2, write_connections=3)


def test_writes_that_wait_do_not_hold_up_reads(database: Database) -> None:
    async def body(caller: Caller, admin: Connection) -> None:
        await caller.append(addition="x")
        with database.connect() as blocker, blocker.transaction():
            blocker.execute("select from loom.working_memory for update")
            writing = [asyncio.create_task(caller.append(addition="y")) for _ in range(8)]
            await blocked(admin, 2)
            assert (await caller.read())["content"] == "x"
        await asyncio.gather(*writing)

    run(database, body, read_connections=1, write_connections=2)


def test_few_connections_stay_hot(database: Database) -> None:
    async def body(caller: Caller, admin: Connection) -> None:
        async with table_locked(database):
            tasks = [asyncio.create_task(caller.read()) for _ in range(4)]
            await blocked(admin, 4)
        await asyncio.gather(*tasks)
        used = set()
        for _ in range(20):
            before = {c: c.idle_since for c in caller.pool.reads._connections}
            await caller.read()
            used |= {c for c, since in before.items() if c.idle_since != since}
        assert len(used) == 1

    run(database, body)


def test_connections_that_are_not_needed_are_closed_but_one(database: Database) -> None:
    async def body(caller: Caller, admin: Connection) -> None:
        await asyncio.gather(*(caller.read() for _ in range(16)))
        await until(lambda: caller.pool.reads.open_connections == 1)
        await caller.read()
        assert caller.pool.reads.counts.lost == 0

    run(database, body, patience=Patience(idle=0.05, look=0.01))


def test_an_old_connection_is_replaced(database: Database) -> None:
    async def body(caller: Caller, admin: Connection) -> None:
        await caller.read()
        first = sessions(admin)
        await until(lambda: not caller.pool.reads.open_connections)
        await caller.read()
        assert sessions(admin) != first

    run(database, body, patience=Patience(age=0.05, look=0.01))


def test_a_wait_for_a_connection_is_bounded(database: Database) -> None:
    async def body(caller: Caller, admin: Connection) -> None:
        async with table_locked(database):
            first = asyncio.create_task(caller.read())
            await blocked(admin)
            with pytest.raises(DatabaseUnavailable) as failed:
                await caller.read()
            assert failed.value.reason == "no free connection"
            assert caller.pool.reads.counts.expired == 1
        await first

    run(database, body, patience=QUICK, read_connections=1)


def test_no_more_than_so_many_calls_wait(database: Database) -> None:
    async def body(caller: Caller, admin: Connection) -> None:
        async with table_locked(database):
            tasks = [asyncio.create_task(caller.read())]
            await blocked(admin)
            tasks += [asyncio.create_task(caller.read()) for _ in range(2)]
            await until(lambda: caller.pool.reads.waiting_calls == 2)
            with pytest.raises(DatabaseUnavailable) as failed:
                await caller.read()
            assert failed.value.reason == "busy"
        await asyncio.gather(*tasks)

    run(database, body, patience=Patience(waiting=2), read_connections=1)


def test_a_large_request_and_answer_fit_through(database: Database) -> None:
    async def body(caller: Caller, admin: Connection) -> None:
        # Larger than a socket's buffer, so that it is sent in parts.
        with pytest.raises(DatabaseRefusal) as refused:
            await caller.append(addition="x" * 1_000_000)
        assert refused.value.sqlstate == "LM401"
        text = "🜁" * 16_384
        for n in range(20):
            await caller._call(
                "working_memory.set",
                {"content": text, "char_limit": 16_384, "block_key": f"b{n:02}"},
                write=True,
            )
        rendered = await caller._call("working_memory.render", {"limit": 20}, write=False)
        assert rendered["text"].count("🜁") == 20 * 16_384

    run(database, body)


def test_one_statement_a_request(database: Database) -> None:
    async def body(caller: Caller, admin: Connection) -> None:
        await caller.append(addition="warm")
        await caller.read()
        reset = "select from loom_test.pg_stat_statements_reset()"
        admin.execute(reset)
        for n in range(5):
            await caller.append(addition=str(n))
            await caller.read()
        rows = admin.execute(
            "select query, calls from loom_test.pg_stat_statements s"
            " join pg_roles r on r.oid = s.userid join pg_database d on d.oid = s.dbid"
            " where rolname = 'loom_gateway' and datname = current_database()"
        ).fetchall()
        assert rows == [("SELECT loom.call($1, $2, $3, $4, $5)", 10)]

    run(database, body)


def test_answers_of_parallel_calls_are_not_mixed_up(database: Database) -> None:
    async def body(caller: Caller, admin: Connection) -> None:
        async def own(n: int) -> None:
            key = f"block-{n}"
            for turn in range(5):
                await caller.append(block_key=key, addition=f"{n}.{turn}")
                read = await caller.read(block_key=key)
                assert read["content"].splitlines()[-1] == f"{n}.{turn}"

        await asyncio.gather(*(own(n) for n in range(32)))

    run(database, body)

"""The pool when connections die, races are lost, or callers go away."""

from __future__ import annotations

import asyncio
from typing import Any

import psycopg
import pytest
import uvloop

from loom.gateway import DatabaseRefusal, DatabaseUnavailable, Patience, Pool
from tests.databases import Database
from tests.http.pools import (
    QUICK,
    Caller,
    blocked,
    kill_sessions,
    run,
    sessions,
    table_locked,
    until,
)

Connection = psycopg.Connection[Any]


def test_o76_a_write_after_idle_sessions_were_killed_succeeds(database: Database) -> None:
    async def body(caller: Caller, admin: Connection) -> None:
        await caller.append(addition="one")
        await caller.read()
        assert kill_sessions(admin) == 2
        # At once: the event loop has had no turn to notice.
        await caller.append(addition="two")
        assert (await caller.read())["content"] == "one\ntwo"
        assert caller.pool.writes.counts.lost == 1

    run(database, body)


def test_an_idle_session_that_dies_is_let_go_without_a_call(database: Database) -> None:
    async def body(caller: Caller, admin: Connection) -> None:
        await caller.read()
        kill_sessions(admin)
        await until(lambda: not caller.pool.reads.open_connections)
        assert caller.pool.reads.counts.lost == 1
        assert (await caller.read())["found"] is False

    run(database, body)


def test_a_read_whose_connection_is_lost_is_run_again(database: Database) -> None:
    async def body(caller: Caller, admin: Connection) -> None:
        async with table_locked(database):
            reading = asyncio.create_task(caller.read())
            (pid,) = await blocked(admin)
            admin.execute("select pg_terminate_backend(%s, 5000)", (pid,))
            assert await blocked(admin) != [pid]
        assert (await reading)["found"] is False
        assert caller.pool.retries["read", "connection_lost"] == 1

    run(database, body)


def test_a_read_that_loses_its_connection_twice_is_unavailable(database: Database) -> None:
    async def body(caller: Caller, admin: Connection) -> None:
        async with table_locked(database):
            reading = asyncio.create_task(caller.read())
            for _ in range(2):
                (pid,) = await blocked(admin)
                admin.execute("select pg_terminate_backend(%s, 5000)", (pid,))
            with pytest.raises(DatabaseUnavailable) as failed:
                await reading
        assert failed.value.reason == "connection lost"
        assert not failed.value.outcome_unknown

    run(database, body)


def test_a_write_whose_connection_is_lost_is_not_run_again(database: Database) -> None:
    async def body(caller: Caller, admin: Connection) -> None:
        async with table_locked(database):
            writing = asyncio.create_task(caller.append(addition="x"))
            (pid,) = await blocked(admin)
            admin.execute("select pg_terminate_backend(%s, 5000)", (pid,))
            with pytest.raises(DatabaseUnavailable) as failed:
                await writing
        assert failed.value.outcome_unknown
        assert (await caller.read())["found"] is False
        assert not caller.pool.retries

    run(database, body)


def test_opposite_locks_of_another_session_are_survived(database: Database) -> None:
    async def body(caller: Caller, admin: Connection) -> None:
        await caller.append(addition="one")
        rival = database.connect()
        rival.execute("set deadlock_timeout = '10s'")  # so that the call is the one to give way
        rival.execute("begin")
        rival.execute("lock table loom.user_state in access exclusive mode")
        admin.execute(
            "create function loom_test.wait() returns trigger language plpgsql as"
            " $$ begin lock table loom.user_state in access share mode; return new; end $$"
        )
        admin.execute(
            "create trigger wait after update on loom.working_memory for each row"
            " execute function loom_test.wait()"
        )
        writing = asyncio.create_task(caller.append(addition="two"))
        await blocked(admin)
        locking = asyncio.to_thread(
            rival.execute, "lock table loom.working_memory in access exclusive mode"
        )
        await locking
        await until(lambda: caller.pool.retries["write", "40P01"] >= 1)
        rival.execute("commit")
        await writing
        assert (await caller.read())["content"] == "one\ntwo"

    run(database, body)


def test_a_call_without_an_answer_is_given_up(database: Database) -> None:
    async def body(caller: Caller, admin: Connection) -> None:
        async with table_locked(database):
            with pytest.raises(DatabaseUnavailable) as failed:
                await caller.append(addition="x")
        assert failed.value.outcome_unknown
        assert caller.pool.writes.open_connections == 0
        await caller.append(addition="y")

    run(database, body, patience=Patience(call=0.1, look=0.01))


def test_a_caller_that_goes_away_leaves_its_connection_in_order(database: Database) -> None:
    async def body(caller: Caller, admin: Connection) -> None:
        await caller.append(addition="one")
        async with table_locked(database):
            gone = asyncio.create_task(caller.read())
            waiting = asyncio.create_task(caller.read())
            also_gone = asyncio.create_task(caller.read())
            await blocked(admin)
            gone.cancel()
            also_gone.cancel()
            await asyncio.wait([gone, also_gone])
        # The answer to the call that was given up is not taken for the next one's.
        assert (await waiting)["content"] == "one"
        assert (await caller.read(block_key="other"))["found"] is False
        assert len(sessions(admin)) == 2

    run(database, body, read_connections=1)


def test_an_error_at_the_commit_is_the_answer(database: Database) -> None:
    async def body(caller: Caller, admin: Connection) -> None:
        admin.execute(
            "create function loom_test.refuse() returns trigger language plpgsql as"
            " $$ begin raise check_violation; end $$"
        )
        admin.execute(
            "create constraint trigger refuse after insert on loom.working_memory"
            " deferrable initially deferred for each row execute function loom_test.refuse()"
        )
        # The rows have come by then; only the commit says whether they hold.
        with pytest.raises(DatabaseRefusal) as refused:
            await caller.append(addition="x")
        assert refused.value.sqlstate == "23514"
        assert (await caller.read())["found"] is False

    run(database, body)


def test_the_database_may_come_later(database: Database) -> None:
    async def body(caller: Caller, admin: Connection) -> None:
        name = database.name
        with database.cluster.maintenance() as conn:
            conn.execute(f'alter database "{name}" allow_connections false'.encode())
            reading = asyncio.create_task(caller.read())
            await until(lambda: caller.pool.reads.counts.failed > 0)
            conn.execute(f'alter database "{name}" allow_connections true'.encode())
        assert (await reading)["found"] is False

    run(database, body, patience=Patience(wait=10))


def test_without_a_database_calls_fail_within_the_wait() -> None:
    async def main() -> None:
        async with Pool("host=127.0.0.1 port=1 user=x", patience=QUICK) as pool:
            for _ in range(2):
                with pytest.raises(DatabaseUnavailable) as failed:
                    async with asyncio.timeout(5):
                        await pool.call(None, None, "x", b"{}", None, False)
                assert not failed.value.outcome_unknown
            assert pool.reads.waiting_calls == 0

    uvloop.run(main())


def test_a_database_without_the_schema_is_told_apart(database: Database) -> None:
    async def main() -> None:
        dsn = database.cluster.dsn("postgres", "loom_gateway")
        async with Pool(dsn, patience=Patience()) as pool:
            with pytest.raises(DatabaseUnavailable) as failed:
                await pool.health()
            assert failed.value.reason == "schema"

    uvloop.run(main())


def test_a_closed_pool_takes_no_calls(database: Database) -> None:
    async def main() -> None:
        pool = Pool(database.dsn("loom_gateway"), patience=QUICK)
        async with pool:
            await pool.health()
        with pytest.raises(DatabaseUnavailable):
            await pool.health()
        assert pool.reads.open_connections == 0

    uvloop.run(main())


def test_closing_fails_what_is_under_way(database: Database) -> None:
    async def body(caller: Caller, admin: Connection) -> None:
        async with table_locked(database):
            writing = asyncio.create_task(caller.append(addition="x"))
            await blocked(admin)
            await caller.pool.close()
            with pytest.raises(DatabaseUnavailable) as failed:
                await writing
        assert failed.value.outcome_unknown

    run(database, body)

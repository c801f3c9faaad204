"""`loom reindex`, and what does the same while `loom up` runs: the index of words, built anew."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest

from loom import word_index
from loom.cli import reindex as command
from loom.cli.launcher import up
from loom.cli.reindex import Reindexer
from loom.index_builds import LOCK, IndexBusyError
from loom.settings import Settings
from tests.cli.processes import Done, free_port, loom, started
from tests.databases import Database
from tests.races import wait_until, wait_until_blocked
from tests.sql.search.searching import facts, found

Connection = psycopg.Connection[Any]

# Enough words that no other row has for an index of more than its least size.
_OUTGROWN = """
insert into loom.memory_text
  (org, memory_id, namespace, user_id, plane, language, content_sha256, words)
select 'acme', gen_random_uuid(), 'main', 'gone', 'memory', 'simple', md5(n::text),
  to_tsvector('simple', string_agg(md5(n || ' ' || m), ' '))
from generate_series(1, 300) n, generate_series(1, 100) m group by n
"""

_VACUUM = "vacuum (index_cleanup on) loom.memory_text"

NAME = "memory_text_words_idx"

_INDEXES = """
select c.relname, i.indisvalid from pg_index i join pg_class c on c.oid = i.indexrelid
where i.indrelid = 'loom.memory_text'::regclass and c.relname like 'memory_text_words_idx%'
order by 1
"""


def outgrow(conn: Connection) -> None:
    """One fact that can be found, and an index with the words of many that are gone."""
    facts(conn, {"likes": "green tea"})
    conn.execute(_OUTGROWN)
    conn.execute("delete from loom.memory_text where user_id = 'gone'")
    conn.execute(_VACUUM)


def sizes(conn: Connection) -> word_index.Sizes:
    found = word_index.sizes(conn)
    assert found is not None
    return found


def run(database: Database, *arguments: str) -> Done:
    return loom("reindex", *arguments, env={"LOOM_DATABASE_URL": database.dsn()})


@contextmanager
def held_up(database: Database) -> Iterator[Connection]:
    """A writer's open transaction, which every build of an index waits for."""
    writer = database.connect()
    with writer.transaction():
        facts(writer, {"works": "in Porto"})
        yield writer


def building(conn: Connection) -> int:
    """The server's process that builds the index anew; 0 when none does."""
    row = conn.execute(
        "select pid from pg_stat_activity"
        " where datname = current_database() and query like 'reindex%' and state = 'active'"
    ).fetchone()
    return int(row[0]) if row else 0


# The command


def test_an_index_that_outgrew_its_rows_is_built_anew(database: Database) -> None:
    conn = database.connect()
    outgrow(conn)
    before = sizes(conn)
    assert before.outgrown()
    done = run(database)
    assert (done.code, "built anew" in done.out) == (0, True), done
    after = sizes(conn)
    assert after.index < before.index / 10
    assert not after.outgrown()
    assert found(conn, "who likes tea") == ["likes"]
    again = run(database)
    assert (again.code, "nothing to do" in again.out) == (0, True), again


def test_it_is_built_in_any_case_when_that_is_asked_for(database: Database) -> None:
    assert "nothing to do" in run(database).out
    assert "built anew" in run(database, "--always").out


def test_an_index_that_is_large_when_it_is_fresh_is_not_built_again_and_again(
    database: Database,
) -> None:
    """As of texts that have no word in common."""
    conn = database.connect()
    conn.execute(_OUTGROWN)
    assert word_index.renew(conn) is True
    built = sizes(conn)
    assert built.share > 1.5
    assert built.built_share == pytest.approx(built.share, abs=0.01)
    assert word_index.renew(database.connect()) is False
    for other in range(4):  # the first words of others go where the pages have room
        conn.execute("delete from loom.memory_text")
        conn.execute(_VACUUM)
        conn.execute(_OUTGROWN.replace("md5(n", f"md5('{other}' || n"))
    assert word_index.renew(conn) is True


def test_without_a_schema_it_says_so(database: Database) -> None:
    conn = database.connect()
    conn.execute("drop schema loom cascade")
    done = run(database)
    assert (done.code, "no schema yet" in done.out) == (1, True), done


def test_writes_and_searches_go_on_while_it_is_built(database: Database) -> None:
    conn = database.connect()
    outgrow(conn)
    with started("reindex", env={"LOOM_DATABASE_URL": database.dsn()}) as process:
        with held_up(database):
            # The writer is there before the build, or the build is done: then there is no wait.
            wait_until(lambda: building(conn) != 0, "the build has begun")
            wait_until_blocked(conn, building(conn))
            facts(conn, {"drives": "a red van"}, user_id="u2")
            assert found(conn, "who drives a van", user_id="u2") == ["drives"]
            assert found(conn, "who likes tea") == ["likes"]
        assert process.ended() == 0, process.said
    assert conn.execute(_INDEXES).fetchall() == [(NAME, True)]
    assert found(conn, "who works in Porto") == ["works"]
    assert found(conn, "who drives a van", user_id="u2") == ["drives"]


def test_what_a_build_that_was_cut_off_left_behind_is_dropped(database: Database) -> None:
    conn = database.connect()
    outgrow(conn)
    with (
        started("reindex", env={"LOOM_DATABASE_URL": database.dsn()}) as process,
        held_up(database),
    ):
        wait_until(lambda: building(conn) != 0, "the build has begun")
        wait_until_blocked(conn, building(conn))
        conn.execute("select pg_terminate_backend(%s)", (building(conn),))
        assert process.ended() == 1
    left = conn.execute(_INDEXES).fetchall()
    assert left == [(NAME, True), (f"{NAME}_ccnew", False)]
    assert "built anew" in run(database).out
    assert conn.execute(_INDEXES).fetchall() == [(NAME, True)]


def test_a_build_by_hand_is_left_alone(database: Database) -> None:
    """While it is under way it leaves what looks like a left-over."""
    conn = database.connect()
    outgrow(conn)
    by_hand = database.connect()
    with ThreadPoolExecutor(1) as pool, held_up(database):
        build = pool.submit(
            by_hand.execute, "reindex index concurrently loom.memory_text_words_idx"
        )
        wait_until_blocked(conn, by_hand.info.backend_pid)
        assert len(conn.execute(_INDEXES).fetchall()) == 2
        done = run(database)
        assert (done.code, "another session" in done.err) == (1, True), done
        assert not build.done()
    build.result(10)
    assert conn.execute(_INDEXES).fetchall() == [(NAME, True)]


def test_time_outs_of_the_login_do_not_cut_a_build_off(database: Database) -> None:
    conn = database.connect()
    outgrow(conn)
    timeouts = ["statement_timeout", "lock_timeout"]
    if conn.info.server_version >= 170000:
        timeouts.append("transaction_timeout")
    options = " ".join(f"-c {name}=300ms" for name in timeouts)
    with psycopg.connect(database.dsn(), options=options, autocommit=True) as impatient:
        assert word_index.renew(impatient) is True
        for name in timeouts:
            assert impatient.execute("select current_setting(%s)", (name,)).fetchone() == ("0",)


def test_o72_a_second_build_does_not_wait_for_the_first(database: Database) -> None:
    conn = database.connect()
    conn.execute("select pg_advisory_lock(%s)", (LOCK,))
    done = run(database, "--always")
    assert (done.code, "another session" in done.err) == (1, True), done
    with pytest.raises(IndexBusyError):
        word_index.renew(database.connect(), always=True)


# While `loom up` runs


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "LOOK_SECONDS", 0.01)


def kept(dsn: str, until: Callable[[list[str]], None]) -> list[str]:
    """What is said while it is kept until something has happened."""
    said: list[str] = []

    async def whole() -> None:
        keeping = asyncio.create_task(Reindexer(dsn, said.append).keep())
        await asyncio.to_thread(until, said)
        assert not keeping.done()
        keeping.cancel()
        async with asyncio.timeout(10):
            await asyncio.gather(keeping, return_exceptions=True)

    asyncio.run(whole())
    return said


@pytest.mark.usefixtures("at_once")
def test_while_loom_is_up_it_is_built_anew_by_itself(database: Database) -> None:
    conn = database.connect()
    outgrow(conn)
    said = kept(
        database.dsn(),
        lambda _: wait_until(lambda: not sizes(conn).outgrown(), "it is built anew"),
    )
    assert said == []


@pytest.mark.usefixtures("at_once")
def test_who_stops_does_not_wait_for_a_build(database: Database) -> None:
    conn = database.connect()
    outgrow(conn)

    def until_it_waits(_: list[str]) -> None:
        wait_until(lambda: building(conn) != 0, "the build has begun")
        wait_until_blocked(conn, building(conn))

    with held_up(database):
        assert kept(database.dsn(), until_it_waits) == []
        assert building(conn) == 0
    word_index.renew(conn)
    assert conn.execute(_INDEXES).fetchall() == [(NAME, True)]


@pytest.mark.usefixtures("at_once")
def test_who_stops_leaves_a_server_that_hangs_to_itself(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(command, "STOP_SECONDS", 0.2)
    conn = database.connect()
    outgrow(conn)
    hangs = threading.Event()

    def until(_: list[str]) -> None:
        wait_until(hangs.is_set, "it hangs")

    ends = threading.Event()

    def hang(_: Connection) -> None:
        hangs.set()
        ends.wait(30)

    monkeypatch.setattr(word_index, "renew", hang)
    assert kept(database.dsn(), until) == []
    assert not ends.is_set()
    ends.set()


@pytest.mark.usefixtures("at_once")
@pytest.mark.parametrize(
    "failure", [psycopg.errors.TransactionTimeout, psycopg.errors.ReadOnlySqlTransaction]
)
def test_whatever_fails_is_told_of_and_tried_again(
    database: Database, monkeypatch: pytest.MonkeyPatch, failure: type[psycopg.Error]
) -> None:
    def fail(_: Connection) -> None:
        raise failure

    monkeypatch.setattr(word_index, "renew", fail)
    said = kept(
        database.dsn(), lambda said: wait_until(lambda: len(said) > 2, "it is tried three times")
    )
    waits = [float(each.split(" in ")[1].split()[0]) for each in said]
    assert failure.__name__ in said[0]
    assert waits[:3] == [0.02, 0.04, 0.08]


@pytest.mark.usefixtures("at_once")
def test_a_database_that_is_away_is_told_of_and_asked_again() -> None:
    dsn = "host=127.0.0.1 port=1 dbname=x user=y"
    said = kept(dsn, lambda said: wait_until(lambda: len(said) > 1, "it is asked twice"))
    assert "OperationalError" in said[0]


@pytest.mark.usefixtures("at_once")
def test_another_sessions_build_is_as_good(database: Database) -> None:
    conn = database.connect()
    outgrow(conn)
    conn.execute("select pg_advisory_lock(%s)", (LOCK,))
    tried = (
        "select 1 from pg_stat_activity"
        " where application_name = 'loom up' and query like '%%pg_try_advisory_lock%%'"
    )

    def until(_: list[str]) -> None:
        wait_until(lambda: conn.execute(tried).fetchone() is not None, "it has tried")

    assert kept(database.dsn(), until) == []
    assert sizes(conn).outgrown()


@pytest.mark.usefixtures("at_once")
def test_loom_up_looks(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, database: Database) -> None:
    looked = threading.Event()
    monkeypatch.setattr(word_index, "renew", lambda conn: looked.set())
    settings = Settings.from_environment(
        {"LOOM_DATABASE_URL": database.dsn(), "LOOM_PORT": str(free_port())}
    )

    async def session(url: str) -> None:
        assert await asyncio.to_thread(looked.wait, 30)

    up(settings, lambda text: None, session)
    assert looked.is_set()

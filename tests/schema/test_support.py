"""The support that all tests stand on does what it says."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import psycopg
import pytest

from tests.calls import Token, acting_as, call, operate, refused
from tests.databases import Clock, Database
from tests.races import Rival, wait_until_blocked

Connection = psycopg.Connection[Any]
NOON = datetime(2030, 1, 1, 12, tzinfo=UTC)


def test_db_begins_empty_and_writes_nothing_that_lasts(db: Connection, database: Database) -> None:
    assert db.execute("select count(*) from loom.org").fetchone() == (0,)
    operate(db, "working_memory.set", org="acme", namespace="n", content="text")
    elsewhere = database.connect()
    assert elsewhere.execute("select count(*) from loom.working_memory").fetchone() == (0,)


def test_db_is_rolled_back_after_the_test_before(db: Connection) -> None:
    assert db.execute("select count(*) from loom.working_memory").fetchone() == (0,)


def test_the_clock_stops_moves_and_runs_again(db: Connection, clock: Clock) -> None:
    clock.set(NOON)
    assert db.execute("select loom._now()").fetchone() == (NOON,)
    assert clock.advance(seconds=90) == datetime(2030, 1, 1, 12, 1, 30, tzinfo=UTC)
    answer = operate(db, "working_memory.set", org="acme", namespace="n", content="text")
    assert answer["updated_at"] == "2030-01-01T12:01:30.000000Z"
    clock.release()
    assert db.execute("select loom._now() between now() and clock_timestamp()").fetchone() == (
        True,
    )


def test_a_stopped_clock_stands_for_all_connections_of_a_database(database: Database) -> None:
    Clock(database.connect()).set(NOON)
    assert database.connect().execute("select loom._now()").fetchone() == (NOON,)


def test_a_clean_database_has_the_shipped_clock(clean_database: Database) -> None:
    conn = clean_database.connect()
    assert conn.execute("select to_regnamespace('loom_test') is null").fetchone() == (True,)


def test_tokens_are_minted_and_used_as_the_api_does(
    db: Connection, mint: Callable[..., Token]
) -> None:
    token = mint(role="writer", org="acme")
    with acting_as(db, "loom_gateway"):
        answer = call(db, token, "working_memory.set", namespace="n", content="text")
        assert answer["org"] == "acme"
        with refused(db, "LM302") as refusal:
            call(db, token, "working_memory.set", org="zenith", namespace="n", content="text")
    assert refusal.detail
    assert refusal.hint


def test_refused_tells_a_wrong_sqlstate_and_no_refusal(db: Connection) -> None:
    with pytest.raises(AssertionError, match="42P01"), refused(db, "LM001"):
        db.execute("select from loom.no_such_table")
    with pytest.raises(pytest.fail.Exception, match="DID NOT RAISE"), refused(db, "LM001"):
        db.execute("select 1")


@pytest.mark.parametrize(
    "login",
    ["loom_gateway", "loom_worker", "loom_test_viewer", "loom_test_writer", "loom_test_admin"],
)
def test_a_database_takes_connections_of_every_login(database: Database, login: str) -> None:
    conn = database.connect(login)
    assert conn.execute("select session_user::text").fetchone() == (login,)


def test_a_service_calls_operations_of_its_org(database: Database) -> None:
    database.connect().execute("select loom.service_bind('loom_test_writer', 'acme')")
    service = database.connect("loom_test_writer")
    assert operate(service, "working_memory.set", org="acme", namespace="n", content="text")
    with refused(service, "LM302"):
        operate(service, "working_memory.set", org="zenith", namespace="n", content="text")


def test_a_rival_is_waited_for_until_it_waits(database: Database) -> None:
    first, second, observer = database.connect(), database.connect(), database.connect()
    with first.transaction():
        first.execute("select pg_advisory_xact_lock(1)")
        rival = Rival(second, lambda: second.execute("select pg_advisory_lock(1)"))
        wait_until_blocked(observer, rival, by=first.info.backend_pid)
        assert not rival.done
    rival.result()


def test_a_rival_that_does_not_wait_is_told(database: Database) -> None:
    second, observer = database.connect(), database.connect()
    rival = Rival(second, lambda: second.execute("select 'free'").fetchone())
    with pytest.raises(AssertionError, match=r"finished instead of waiting: \('free',\)"):
        wait_until_blocked(observer, rival)
    idle = database.connect().info.backend_pid
    with pytest.raises(AssertionError, match=f"session {idle} waits for a lock"):
        wait_until_blocked(observer, idle, seconds=0.05)

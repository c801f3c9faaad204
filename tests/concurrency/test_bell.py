"""The bell: who wakes a worker, when, and that nobody waits for it."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from tests.calls import operate
from tests.concurrency.callers import Connection
from tests.databases import Clock, Database
from tests.races import Rival
from tests.sql.facts import NOON, fact
from tests.sql.structured_profile.building import (
    NAME_AND_CITY,
    as_worker,
    build,
    cap,
    fail_namespace,
    set_schema,
    settings,
    used,
)

U1 = {"user_id": "u1"}
ROW = {**U1, "memory_key": "structured_profile", "agent": "-"}


@pytest.fixture
def conn(database: Database) -> Connection:
    """A writer in a namespace with a schema; the bell is armed, and the clock stands still."""
    own = database.connect()
    Clock(own).set(NOON)
    set_schema(own)
    arm(own, True)
    return own


@pytest.fixture
def ears(database: Database) -> Iterator[Connection]:
    """A worker's connection that listens."""
    own = database.connect("loom_worker")
    own.execute("listen loom_work")
    yield own


def arm(conn: Connection, armed: bool) -> None:
    with as_worker(conn):
        conn.execute("select loom.worker_bell_set(%s)", (armed,))


def heard(ears: Connection) -> int:
    """How many notifications have come; the server sends them before the answer to this."""
    ears.execute("select 1")
    told = list(ears.notifies(timeout=0))
    assert {(each.channel, each.payload) for each in told} <= {("loom_work", "")}
    return len(told)


def test_a_fact_that_makes_work_rings_when_it_commits(conn: Connection, ears: Connection) -> None:
    with conn.transaction():
        fact(conn, "set", **U1, value="tea")
        assert heard(ears) == 0
    assert heard(ears) == 1
    with conn.transaction(force_rollback=True):
        fact(conn, "set", user_id="u2", value="tea")
    assert heard(ears) == 0


def test_many_facts_of_one_transaction_ring_once(conn: Connection, ears: Connection) -> None:
    with conn.transaction():
        for user in ("u1", "u2", "u3"):
            fact(conn, "set", user_id=user, value="tea")
    assert heard(ears) == 1


def test_a_bell_that_is_not_armed_is_silent(conn: Connection, ears: Connection) -> None:
    arm(conn, False)
    fact(conn, "set", **U1, value="tea")
    set_schema(conn, NAME_AND_CITY)
    operate(conn, "org.set_model_calls", org="acme", enabled=True)
    assert heard(ears) == 0
    arm(conn, True)
    assert heard(ears) == 0
    fact(conn, "set", user_id="u2", value="tea")
    assert heard(ears) == 1


def test_a_bell_that_a_killed_worker_left_armed_falls_silent(
    conn: Connection, ears: Connection
) -> None:
    clock = Clock(conn)
    clock.advance(seconds=7200, microseconds=-1)
    fact(conn, "set", **U1, value="tea")
    assert heard(ears) == 1
    clock.advance(microseconds=1)
    fact(conn, "set", user_id="u2", value="tea")
    assert heard(ears) == 0
    arm(conn, True)
    fact(conn, "set", user_id="u3", value="tea")
    assert heard(ears) == 1


def test_a_user_who_is_due_already_rings_no_more(conn: Connection, ears: Connection) -> None:
    for value in ("tea", "coffee", "milk"):
        fact(conn, "set", **U1, value=value)
    assert heard(ears) == 1


def _is_no_source(conn: Connection) -> None:
    fact(conn, "set", user_id="u2", value="x", memory_type="episodic")
    fact(conn, "set", user_id="u2", memory_key="high", value="x", sensitivity="high")
    fact(conn, "set", user_id="-", value="x")


def _is_inside_the_cooldown(conn: Connection) -> None:
    fact(conn, "set", **U1, value="coffee")
    operate(conn, "profile.structured_build", org="acme", namespace="main", user_id="u1")


def _has_no_schema(conn: Connection) -> None:
    fact(conn, "set", user_id="u2", namespace="without", value="x")


def _cannot_be_read(conn: Connection) -> None:
    fail_namespace(conn, set_schema(conn))
    fact(conn, "set", user_id="u2", value="x")


def _calls_no_model(conn: Connection) -> None:
    operate(conn, "org.set_model_calls", org="acme", enabled=False)
    fact(conn, "set", user_id="u2", value="x")
    set_schema(conn, {"city": {"type": "string", "description": "d"}}, namespace="other")


def _is_at_the_cap(conn: Connection) -> None:
    cap(conn, 1)
    used(conn, 1)
    fact(conn, "set", user_id="u2", value="x")


def _is_a_read(conn: Connection) -> None:
    operate(conn, "profile.structured", org="acme", namespace="main", user_id="u1", explain=True)


def _is_pinned(conn: Connection) -> None:
    fact(conn, "pin", **ROW)


@pytest.mark.parametrize(
    "write",
    [
        *(_is_no_source, _is_inside_the_cooldown, _has_no_schema, _cannot_be_read),
        *(_calls_no_model, _is_at_the_cap, _is_a_read, _is_pinned),
    ],
)
def test_what_makes_nothing_due_now_is_silent(
    conn: Connection, ears: Connection, write: Callable[[Connection], None]
) -> None:
    fact(conn, "set", **U1, value="tea")
    build(conn)
    assert heard(ears) == 1
    write(conn)
    assert heard(ears) == 0


def test_what_skips_the_cooldown_rings(conn: Connection, ears: Connection) -> None:
    fact(conn, "set", **U1, value="tea")
    build(conn)
    assert heard(ears) == 1
    fact(conn, "delete", **U1)
    assert heard(ears) == 1


def test_a_schema_rings_where_somebody_is_to_be_built(conn: Connection, ears: Connection) -> None:
    set_schema(conn, NAME_AND_CITY)
    assert heard(ears) == 0
    fact(conn, "set", **U1, value="tea", namespace="main")
    build(conn)
    assert heard(ears) == 1
    set_schema(conn)
    assert heard(ears) == 1
    set_schema(conn, None)
    assert heard(ears) == 0


def test_model_calls_that_are_allowed_ring_where_work_waits(
    conn: Connection, ears: Connection
) -> None:
    for enabled in (False, True):
        operate(conn, "org.set_model_calls", org="acme", enabled=enabled)
    assert heard(ears) == 0
    operate(conn, "org.set_model_calls", org="acme", enabled=False)
    fact(conn, "set", **U1, value="tea")
    operate(conn, "org.set_model_calls", org="else", enabled=True)
    assert heard(ears) == 0
    operate(conn, "org.set_model_calls", org="acme", enabled=True)
    assert heard(ears) == 1


def test_a_build_that_is_asked_for_rings_when_it_is_due(conn: Connection, ears: Connection) -> None:
    """Its schema changed, and nobody has looked at it since."""
    fact(conn, "set", **U1, value="tea")
    build(conn)
    set_schema(conn, NAME_AND_CITY)
    heard(ears)
    asked = {"org": "acme", "namespace": "main", "user_id": "u1"}
    assert operate(conn, "profile.structured_build", **asked)["queued"] is True
    assert heard(ears) == 1
    assert operate(conn, "profile.structured_build", **asked)["queued"] is True
    assert heard(ears) == 0


def test_a_kind_that_is_switched_off_rings_nobody(conn: Connection, ears: Connection) -> None:
    settings(conn, enabled=False)
    fact(conn, "set", **U1, value="tea")
    assert heard(ears) == 0


def test_writers_never_wait_for_who_holds_the_bell(
    database: Database, conn: Connection, ears: Connection
) -> None:
    """A worker that was stopped in the midst of arming it, say."""
    holder = database.connect("loom_worker")
    with holder.transaction():
        arm(holder, False)
        late = Rival(conn, lambda: fact(conn, "set", **U1, value="tea"))
        assert late.result()["memory_id"]
        conn.execute("set lock_timeout = '100ms'")
        set_schema(conn, NAME_AND_CITY)
        operate(conn, "org.set_model_calls", org="acme", enabled=True)
    assert heard(ears) == 3
    fact(conn, "set", user_id="u2", value="tea")
    assert heard(ears) == 0


def test_a_writer_who_read_the_bell_before_it_was_armed_is_found_by_looking(
    database: Database, conn: Connection, ears: Connection
) -> None:
    """Which is why a worker looks once more after it has armed the bell."""
    arm(conn, False)
    worker = database.connect("loom_worker")
    with conn.transaction():
        fact(conn, "set", **U1, value="tea")
        arm(worker, True)
    assert heard(ears) == 0
    row = worker.execute("select namespace from loom.work_due('structured_profile')").fetchone()
    assert row == ("main",)

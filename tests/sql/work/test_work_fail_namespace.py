"""loom.work_fail_namespace: a stored schema that a worker cannot read."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from tests.calls import Connection
from tests.databases import Clock
from tests.sql.facts import NOON, fact
from tests.sql.structured_profile.building import (
    NAME_AND_CITY,
    build,
    due,
    fail,
    fail_namespace,
    lease,
    people,
    rest,
    served,
    set_schema,
    settings,
    status,
    take,
)


@pytest.fixture
def digest(db: Connection, clock: Clock) -> str | None:
    """The hash of a schema of a namespace in which u1 is behind."""
    clock.set(NOON)
    fact(db, "set", user_id="u1", value="tea")
    return set_schema(db)


def _unreadable(db: Connection, digest: str | None) -> Any:
    """A worker claims, finds that it cannot read the schema, and says so."""
    taken = lease(db)
    fail_namespace(db, digest)
    fail(db, taken, "released", "SCHEMA_UNREADABLE")
    row = db.execute("select attempts, wait_until from loom.profile_schema").fetchone()
    assert row is not None
    return row


def test_its_users_read_no_schema(db: Connection, digest: str) -> None:
    assert status(db) == "pending"
    _unreadable(db, digest)
    answer = served(db)
    assert (answer["status"], answer["profile"], answer["built_at"]) == ("no_schema", {}, None)


def test_it_takes_no_place_in_a_pass_until_its_wait_is_over(
    db: Connection, clock: Clock, digest: str
) -> None:
    set_schema(db, namespace="other")
    people(db, 30, namespace="other")
    settings(db, max_users_per_pass=5)
    assert due(db) == {"main": 3, "other": 2}
    _unreadable(db, digest)
    assert due(db) == {"other": 2}
    assert take(db, namespace="main") == []
    while take(db, namespace="other"):
        pass
    rest(db, clock, 299)
    assert take(db) == []
    assert "main" not in due(db)
    clock.advance(seconds=1)
    assert "main" in due(db)


def test_it_waits_longer_each_time_up_to_the_cap(db: Connection, clock: Clock, digest: str) -> None:
    for count, wait in enumerate((300, 600, 1200, 2400, 4800, 9600, 19200, 21600, 21600), 1):
        attempts, wait_until = _unreadable(db, digest)
        assert attempts == count
        rest(db, clock, wait - 0.000001)
        assert take(db) == []
        assert wait_until == clock.advance(microseconds=1)
        # An idle wait may be what it waits for then, and no longer.
        clock.advance(seconds=600)


def test_several_workers_that_meet_it_count_once(db: Connection, digest: str) -> None:
    _unreadable(db, digest)
    fail_namespace(db, digest)
    fail_namespace(db, digest)
    row = db.execute("select attempts, wait_until from loom.profile_schema").fetchone()
    assert row == (1, NOON + timedelta(seconds=300))


def test_another_schema_ends_the_wait(db: Connection, digest: str) -> None:
    _unreadable(db, digest)
    assert due(db) == {}
    set_schema(db, NAME_AND_CITY)
    assert status(db) == "pending"
    assert take(db) == ["u1"]


def test_a_schema_that_was_replaced_meanwhile_is_not_blamed(db: Connection, digest: str) -> None:
    set_schema(db, NAME_AND_CITY)
    assert _unreadable(db, digest) == (0, None)
    assert take(db) == ["u1"]


def test_a_worker_that_can_read_it_ends_the_failures(
    db: Connection, clock: Clock, digest: str
) -> None:
    """As a newer worker may."""
    _unreadable(db, digest)
    rest(db, clock, 600)
    assert status(db) == "pending"
    build(db)
    assert (status(db), served(db)["profile"]) == ("ready", {"name": "Sam"})
    assert db.execute("select attempts, wait_until from loom.profile_schema").fetchone() == (
        0,
        None,
    )


def test_other_namespaces_and_orgs_go_on(db: Connection, digest: str) -> None:
    for place in ({"namespace": "other"}, {"org": "beta"}):
        assert set_schema(db, **place) == digest  # type: ignore[arg-type]
        people(db, 1, **place)
    _unreadable(db, digest)
    assert set(due(db)) == {"other", "beta/main"}


def test_whoever_is_up_to_date_is_served_again_when_the_wait_is_over(
    db: Connection, clock: Clock, digest: str
) -> None:
    """Nothing may fall due by which a worker could show that it can read the schema."""
    build(db)
    fact(db, "set", user_id="u2", value="tea")
    taken = lease(db, "u2")
    fail_namespace(db, digest)
    fail(db, taken, "released", "SCHEMA_UNREADABLE")
    fact(db, "delete", user_id="u2")
    assert status(db) == "no_schema"
    rest(db, clock, 300)
    assert (status(db), served(db)["profile"]) == ("ready", {"name": "Sam"})

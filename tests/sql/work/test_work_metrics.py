"""loom.work_metrics: what is due and since when it could be had, what was claimed, how it ended."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

import pytest

from tests.calls import Answer, Connection, acting_as, operate, refused
from tests.databases import Clock
from tests.sql.facts import NOON, fact
from tests.sql.structured_profile.building import (
    KIND,
    NAME_AND_CITY,
    build,
    cap,
    claim,
    due,
    fail,
    fail_namespace,
    lease,
    metrics,
    people,
    rest,
    set_schema,
    settings,
    take,
    used,
)

U1 = {"user_id": "u1"}


@pytest.fixture(autouse=True)
def _noon(db: Connection, clock: Clock) -> None:
    clock.set(NOON)


def oldest(db: Connection) -> float | None:
    return metrics(db)["oldest_due_seconds"]  # type: ignore[no-any-return]


def test_at_the_beginning_there_is_nothing(db: Connection) -> None:
    assert metrics(db) == {
        "due": 0,
        "due_is_more": False,
        "oldest_due_seconds": None,
        "under_way": False,
        "claims": 0,
        "last_claim_seconds": None,
        "last_end_seconds": None,
        "builds": {},
    }


@pytest.mark.parametrize(
    "login", ["loom_worker", "loom_test_viewer", "loom_test_admin", "loom_test_operator"]
)
def test_it_is_the_gateways_alone(db: Connection, login: str) -> None:
    with refused(db, "42501"), acting_as(db, login):
        db.execute("select loom.work_metrics()")


def test_o47_what_is_due_grows_older_until_it_is_claimed(db: Connection, clock: Clock) -> None:
    set_schema(db)
    people(db, 3)
    clock.advance(seconds=40)
    told = metrics(db)
    assert (told["due"], told["oldest_due_seconds"], told["under_way"]) == (3, 40, False)
    assert len(take(db, 2)) == 2
    clock.advance(seconds=2)
    told = metrics(db)
    assert (told["due"], told["oldest_due_seconds"], told["under_way"]) == (1, 42, True)
    assert (told["claims"], told["last_claim_seconds"], told["last_end_seconds"]) == (2, 2, None)
    assert len(take(db)) == 1
    told = metrics(db)
    assert (told["due"], told["oldest_due_seconds"]) == (0, None)
    assert (told["claims"], told["last_claim_seconds"]) == (3, 0)
    clock.advance(seconds=298)
    assert metrics(db)["under_way"] is True
    clock.advance(seconds=2)
    assert metrics(db)["under_way"] is False


def test_builds_are_counted_by_how_they_ended(db: Connection, clock: Clock) -> None:
    set_schema(db)
    fact(db, "set", **U1, value="tea")
    build(db)
    clock.advance(seconds=7)
    fact(db, "set", user_id="u2", value="tea")
    fail(db, lease(db, "u2"), "waiting", "MODEL_RATE_LIMITED")
    clock.advance(seconds=5)
    told = metrics(db)
    assert told["builds"] == {"written": 1, "waiting": 1}
    assert (told["claims"], told["last_end_seconds"]) == (2, 5)


def test_model_tokens_are_no_end_of_a_build(db: Connection) -> None:
    used(db, 5)
    told = metrics(db)
    assert (told["builds"], told["last_end_seconds"], told["claims"]) == ({}, None, 0)


def _cleared(db: Connection, digest: str | None) -> None:
    set_schema(db, None)


def _unreadable(db: Connection, digest: str | None) -> None:
    fail_namespace(db, digest)


def _switched_off(db: Connection, digest: str | None) -> None:
    operate(db, "org.set_model_calls", org="acme", enabled=False)


def _at_the_cap(db: Connection, digest: str | None) -> None:
    cap(db, 1)
    used(db, 1)


def _not_enabled(db: Connection, digest: str | None) -> None:
    settings(db, enabled=False)


HELD = [_cleared, _unreadable, _switched_off, _at_the_cap, _not_enabled]


@pytest.mark.parametrize("hold", HELD)
def test_what_nobody_may_claim_is_due_and_not_old(
    db: Connection, clock: Clock, hold: Callable[[Connection, str | None], None]
) -> None:
    digest = set_schema(db)
    people(db, 2)
    hold(db, digest)
    clock.advance(seconds=100)
    told = metrics(db)
    assert (told["due"], told["oldest_due_seconds"]) == (2, None)


def test_it_can_be_had_since_what_held_it_ended(db: Connection, clock: Clock) -> None:
    """Not since it was due: nobody was to claim it then."""
    digest = set_schema(db)
    people(db, 1)
    clock.advance(seconds=1000)
    fail_namespace(db, digest)
    clock.advance(seconds=300 + 7)
    assert oldest(db) == 7
    operate(db, "org.set_model_calls", org="acme", enabled=False)
    clock.advance(seconds=1000)
    operate(db, "org.set_model_calls", org="acme", enabled=True)
    clock.advance(seconds=6)
    assert oldest(db) == 6
    set_schema(db, NAME_AND_CITY)
    clock.advance(seconds=5)
    assert oldest(db) == 5
    cap(db, 1)
    used(db, 1)
    assert oldest(db) is None
    clock.set(datetime.fromisoformat("2026-03-02T00:00:04Z"))
    assert oldest(db) == 4


def test_what_needs_no_model_is_old_where_none_may_be_called(db: Connection, clock: Clock) -> None:
    set_schema(db)
    fact(db, "set", **U1, value="tea")
    build(db)
    operate(db, "org.set_model_calls", org="acme", enabled=False)
    fact(db, "set", user_id="u2", value="tea")
    fact(db, "delete", **U1)
    clock.advance(seconds=9)
    assert (metrics(db)["due"], oldest(db)) == (2, 9)


def test_the_oldest_of_all_namespaces_counts(db: Connection, clock: Clock) -> None:
    for org, namespace in (("acme", "b"), ("zeta", "a"), ("beta", "z")):
        clock.advance(seconds=10)
        set_schema(db, org=org, namespace=namespace)
        people(db, 1, org=org, namespace=namespace)
    assert (metrics(db)["due"], oldest(db)) == (3, 20)
    operate(db, "org.set_model_calls", org="acme", enabled=False)
    assert oldest(db) == 10


def test_a_user_who_cools_down_or_waits_is_not_due(db: Connection, clock: Clock) -> None:
    set_schema(db)
    fact(db, "set", **U1, value="tea")
    build(db)
    fact(db, "set", **U1, value="coffee")
    fact(db, "set", user_id="u2", value="tea")
    fail(db, lease(db, "u2"))
    rest(db, clock, 299)
    assert (metrics(db)["due"], oldest(db)) == (0, None)
    clock.advance(seconds=1 + 3)
    assert (metrics(db)["due"], oldest(db)) == (1, 3)
    clock.advance(seconds=300)
    assert metrics(db)["due"] == 2


def test_a_pass_in_its_second_half_takes_nobody(db: Connection, clock: Clock) -> None:
    set_schema(db)
    people(db, 3)
    assert len(take(db, 1)) == 1
    clock.advance(seconds=299)
    assert oldest(db) == 299
    clock.advance(seconds=1)
    assert oldest(db) is None
    clock.advance(seconds=299)
    assert oldest(db) is None
    # Its time is over, and nobody has asked for work since.
    clock.advance(seconds=11)
    assert oldest(db) == 10


def test_whom_nobody_has_looked_at_since_the_schema_changed_is_due(
    db: Connection, clock: Clock
) -> None:
    set_schema(db)
    fact(db, "set", **U1, value="tea")
    build(db)
    clock.advance(seconds=60)
    assert metrics(db)["due"] == 0
    set_schema(db, NAME_AND_CITY)
    clock.advance(seconds=8)
    assert (metrics(db)["due"], oldest(db)) == (1, 8)
    # It comes back: a stamp is all that is needed, which keeps nobody waiting.
    set_schema(db)
    clock.advance(seconds=8)
    assert (metrics(db)["due"], oldest(db)) == (1, None)
    assert take(db) == []
    assert metrics(db)["due"] == 0


def test_more_than_10000_are_not_counted(db: Connection) -> None:
    set_schema(db)
    people(db, 1)
    copies: Answer = {"kind": KIND}
    db.execute(
        "insert into loom.build (org, namespace, kind, user_id, schema_rev, due_at, listed_at)"
        " select 'acme', 'main', %(kind)s, 'copy' || n, 1, loom._now(), loom._now()"
        " from generate_series(1, 9999) as n",
        copies,
    )
    told = metrics(db)
    assert (told["due"], told["due_is_more"]) == (10000, False)
    fact(db, "set", **U1, value="tea")
    told = metrics(db)
    assert (told["due"], told["due_is_more"]) == (10000, True)
    # The same of users whom only the schema makes due.
    db.execute("update loom.build set due_at = null")
    assert metrics(db)["due"] == 0
    set_schema(db, NAME_AND_CITY)
    told = metrics(db)
    assert (told["due"], told["due_is_more"]) == (10000, True)


def test_users_who_are_being_written_are_not_to_be_had(db: Connection, clock: Clock) -> None:
    """As long as claims go on to find them so."""
    set_schema(db)
    people(db, 1)
    due(db)
    clock.advance(seconds=30)
    assert oldest(db) == 30
    # What a claim does when it finds each of them locked.
    db.execute("select loom._pass_hold('acme', 'main', %s)", (KIND,))
    assert due(db) == {}
    assert oldest(db) is None
    clock.advance(seconds=60)
    assert oldest(db) == 90


def test_after_a_quiet_night_nothing_is_old(db: Connection, clock: Clock) -> None:
    set_schema(db)
    fact(db, "set", **U1, value="tea")
    build(db)
    rest(db, clock, 8 * 3600)
    told = metrics(db)
    assert (told["due"], told["oldest_due_seconds"]) == (0, None)
    assert (told["last_claim_seconds"], told["last_end_seconds"]) == (28800, 28800)
    assert claim(db) == []
    assert due(db) == {}

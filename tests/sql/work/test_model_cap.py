"""LOOM_MODEL_DAILY_TOKEN_CAP: at the cap its users wait, told why, until the next day (UTC)."""

from __future__ import annotations

import pytest

from tests.calls import Connection, operate, refused
from tests.databases import Clock
from tests.sql.facts import NOON, fact
from tests.sql.structured_profile.building import (
    build,
    cap,
    claim,
    complete,
    due,
    explained,
    fail,
    lease,
    pass_row,
    people,
    read,
    set_schema,
    status,
    take,
    used,
    users,
)

U1 = {"user_id": "u1"}


@pytest.fixture(autouse=True)
def _noon(db: Connection, clock: Clock) -> None:
    clock.set(NOON)
    set_schema(db)
    fact(db, "set", **U1, value="tea")


def test_o53_at_the_cap_users_wait_and_are_told_why(db: Connection) -> None:
    cap(db, 100)
    used(db, 99)
    assert due(db) == {"main": 20}
    assert explained(db)["last_error"] is None
    used(db, 1)
    assert claim(db) == []
    assert due(db) == {}
    told = explained(db)
    assert (told["last_error"], told["refused"], told["attempts"]) == ("MODEL_TOKEN_CAP", None, 0)
    assert told["due_at"] is not None
    assert status(db) == "pending"


def test_o53_the_next_day_they_are_due_by_the_clock_alone(db: Connection, clock: Clock) -> None:
    """Also in the midst of an idle wait."""
    cap(db, 100)
    used(db, 100)
    clock.set(NOON.replace(hour=23, minute=55))
    assert due(db) == {}
    number = pass_row(db)["pass_no"]
    clock.set(NOON.replace(hour=23, minute=59, second=59))
    assert due(db) == {}
    assert pass_row(db)["pass_no"] == number
    clock.advance(seconds=1)
    assert due(db) == {"main": 20}
    assert users(claim(db)) == ["u1"]


def test_a_new_day_opens_one_pass_and_no_more(db: Connection, clock: Clock) -> None:
    cap(db, 100)
    build(db)
    clock.set(NOON.replace(hour=23, minute=55))
    assert due(db) == {}
    number = pass_row(db)["pass_no"]
    clock.set(NOON.replace(day=2, hour=0, minute=0))
    for seconds in (0, 5, 100):
        clock.advance(seconds=seconds)
        assert due(db) == {}
        assert pass_row(db)["pass_no"] == number + 1


def test_each_org_has_its_own_tokens(db: Connection) -> None:
    set_schema(db, org="beta")
    people(db, 1, org="beta")
    cap(db, 100)
    used(db, 100)
    assert due(db) == {"beta/main": 20}
    assert users(claim(db, org="beta")) == ["u0001"]


def test_what_needs_no_model_goes_on(db: Connection) -> None:
    build(db)
    cap(db, 1)
    used(db, 1)
    fact(db, "delete", **U1)
    assert explained(db)["last_error"] is None
    assert build(db, answer={})["outcome"] == "written"
    assert status(db) == "ready"


def test_a_call_that_is_paid_for_is_written(db: Connection) -> None:
    """It brought the org to its cap; the next one waits."""
    cap(db, 100)
    taken = lease(db)
    assert read(db, taken)["model_calls"] is True
    used(db, 5000, taken=taken)
    assert complete(db, taken, {"name": "Sam"})["outcome"] == "written"
    fact(db, "set", user_id="u2", value="tea")
    assert take(db) == []


def test_who_reads_after_another_used_the_last_tokens_is_told(db: Connection) -> None:
    cap(db, 100)
    taken = lease(db)
    used(db, 100)
    assert read(db, taken)["model_calls"] is False
    assert explained(db)["last_error"] is None  # somebody is at it
    fail(db, taken, "released", "MODEL_TOKEN_CAP")
    told = explained(db)
    assert (told["last_error"], told["attempts"]) == ("MODEL_TOKEN_CAP", 0)


def test_a_higher_cap_or_none_ends_the_wait(db: Connection) -> None:
    cap(db, 100)
    used(db, 100)
    assert due(db) == {}
    cap(db, 101)
    assert due(db) == {"main": 20}
    cap(db, 1)
    assert due(db) == {}
    cap(db, None)
    assert due(db) == {"main": 20}


def test_calls_that_are_switched_off_are_told_too(db: Connection) -> None:
    fail(db, lease(db), "waiting", "MODEL_RATE_LIMITED")
    assert explained(db)["last_error"] == "MODEL_RATE_LIMITED"
    operate(db, "org.set_model_calls", org="acme", enabled=False)
    assert explained(db)["last_error"] == "MODEL_CALLS_OFF"
    cap(db, 1)
    used(db, 1)
    assert explained(db)["last_error"] == "MODEL_CALLS_OFF"
    operate(db, "org.set_model_calls", org="acme", enabled=True)
    assert explained(db)["last_error"] == "MODEL_TOKEN_CAP"
    cap(db, None)
    assert explained(db)["last_error"] == "MODEL_RATE_LIMITED"


def test_a_user_who_is_up_to_date_waits_for_nothing(db: Connection) -> None:
    build(db)
    cap(db, 1)
    used(db, 1)
    assert explained(db)["last_error"] is None


@pytest.mark.parametrize("tokens", [0, -1])
def test_a_cap_of_nothing_is_no_cap(db: Connection, tokens: int) -> None:
    with refused(db, "LM001") as refusal:
        cap(db, tokens)
    assert refusal.detail["field"] == "p_tokens"

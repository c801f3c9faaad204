"""profile.structured_build: a build now, as far as its waits allow."""

from __future__ import annotations

from typing import Any

import pytest

from tests.calls import Answer, Connection, mint_token, operate, refused
from tests.databases import Clock
from tests.sql.doors import DOORS, Door, through_api
from tests.sql.facts import NOON, fact
from tests.sql.structured_profile.building import (
    NAME_AND_CITY,
    build,
    build_row,
    fail,
    lease,
    read,
    rest,
    set_schema,
    settings,
    take,
)

U1 = {"user_id": "u1"}
PLACE = {"org": "acme", "namespace": "main"}
NOTHING: Answer = {"queued": False, "due_at": None}
NOW: Answer = {"queued": True, "due_at": "2026-03-01T12:00:00.000000Z"}


@pytest.fixture(autouse=True)
def _noon(db: Connection, clock: Clock) -> None:
    clock.set(NOON)


def _likes(db: Connection, value: str = "tea", **fields: Any) -> None:
    fact(db, "set", **{**U1, "value": value, **fields})


def _ask(db: Connection, **fields: Any) -> Answer:
    return operate(db, "profile.structured_build", **{**PLACE, **U1, **fields})


def test_there_is_nothing_to_build_without_facts(db: Connection) -> None:
    set_schema(db)
    assert _ask(db) == NOTHING
    assert (build_row(db), take(db)) == ({}, [])
    assert db.execute("select count(*) from loom.user_state").fetchone() == (0,)


def test_there_is_nothing_to_build_without_a_schema(db: Connection) -> None:
    _likes(db)
    assert _ask(db) == NOTHING


def test_a_user_who_is_behind_is_queued(db: Connection) -> None:
    set_schema(db)
    _likes(db)
    assert _ask(db) == _ask(db) == NOW
    assert take(db) == ["u1"]


def test_a_user_from_before_the_schema_is_queued_at_once(db: Connection) -> None:
    _likes(db)
    set_schema(db)
    assert _ask(db) == NOW


def test_a_build_under_way_is_queued(db: Connection) -> None:
    set_schema(db)
    _likes(db)
    lease(db)
    before = build_row(db)
    assert _ask(db)["queued"] is True
    assert build_row(db) == before


def test_an_up_to_date_profile_is_not_built_again(db: Connection, clock: Clock) -> None:
    set_schema(db)
    _likes(db)
    build(db)
    clock.advance(days=1)
    assert _ask(db) == NOTHING
    assert take(db) == []


def test_o29_inside_the_cooldown_it_is_not_queued(db: Connection, clock: Clock) -> None:
    set_schema(db)
    _likes(db)
    build(db)
    clock.advance(seconds=10)
    _likes(db, "coffee")
    waits = {"queued": False, "due_at": "2026-03-01T12:10:00.000000Z"}
    assert _ask(db) == waits
    assert take(db) == []
    clock.advance(seconds=590)
    assert _ask(db) == {**waits, "queued": True}
    assert take(db) == ["u1"]


def test_a_deletion_and_another_schema_are_queued_inside_the_cooldown(
    db: Connection, clock: Clock
) -> None:
    set_schema(db)
    _likes(db)
    _likes(db, "water", memory_key="other")
    build(db)
    fact(db, "delete", **U1)
    assert _ask(db) == NOW
    build(db)
    assert _ask(db) == NOTHING
    set_schema(db, NAME_AND_CITY)
    assert _ask(db) == NOW
    set_schema(db)
    assert _ask(db) == NOTHING


def test_o53_inside_a_backoff_it_is_not_queued(db: Connection, clock: Clock) -> None:
    set_schema(db)
    _likes(db)
    fail(db, lease(db))
    waits = {"queued": False, "due_at": "2026-03-01T12:05:00.000000Z"}
    assert [_ask(db) for _ in range(3)] == [waits] * 3
    rest(db, clock, 299)
    assert take(db) == []
    clock.advance(seconds=1)
    assert _ask(db)["queued"] is True


def test_a_refused_build_is_not_queued(db: Connection, clock: Clock) -> None:
    set_schema(db)
    _likes(db)
    taken = lease(db)
    read(db, taken)
    fail(db, taken, "cut_off", "CUT_OFF")
    assert _ask(db) == {"queued": False, "due_at": "2026-03-01T18:00:00.000000Z"}
    assert take(db) == []
    set_schema(db, NAME_AND_CITY)
    assert _ask(db)["queued"] is True


def test_it_settles_what_time_has_done(db: Connection, clock: Clock) -> None:
    set_schema(db)
    _likes(db, ttl_seconds=60)
    _likes(db, "water", memory_key="other")
    build(db)
    clock.advance(seconds=60)
    assert _ask(db) == {"queued": True, "due_at": "2026-03-01T12:01:00.000000Z"}


@pytest.mark.parametrize("door", DOORS.values(), ids=DOORS)
def test_every_door_answers_alike(db: Connection, door: Door) -> None:
    set_schema(db)
    _likes(db)
    assert door(db, "profile.structured_build", **PLACE, **U1) == NOW


def test_a_viewer_may_not_ask(db: Connection) -> None:
    with refused(db, "LM302"):
        through_api(
            db, mint_token(db, role="viewer", namespace="main"), "profile.structured_build", **U1
        )


def test_user_minus_is_refused(db: Connection) -> None:
    for user in ({"user_id": "-"}, {}):
        with refused(db, "LM001") as refusal:
            operate(db, "profile.structured_build", **PLACE, **user)
        assert refusal.detail["field"] == "user_id"


def test_a_pinned_token_asks_for_its_user_alone(db: Connection) -> None:
    set_schema(db)
    _likes(db)
    token = mint_token(db, role="writer", namespace="main", read_user_id="u1")
    assert through_api(db, token, "profile.structured_build") == NOW
    with refused(db, "LM302"):
        through_api(db, token, "profile.structured_build", user_id="u2")


def test_a_worker_that_died_is_not_under_way(db: Connection, clock: Clock) -> None:
    """Its user waits as after any failure, and `due_at` says until when."""
    settings(db, backoff_base_seconds=1000)
    set_schema(db)
    _likes(db)
    lease(db)
    clock.advance(seconds=299)
    assert _ask(db)["queued"] is True
    clock.advance(seconds=1)
    told = _ask(db)
    assert (told["queued"], told["due_at"]) == (False, "2026-03-01T12:16:40.000000Z")
    clock.advance(seconds=700)
    assert _ask(db)["queued"] is True

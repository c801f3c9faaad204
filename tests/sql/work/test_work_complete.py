"""loom.work_complete: nothing is written unless everything is still as it was read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import uuid4

import pytest

from tests.calls import Answer, Connection, operate, refused
from tests.databases import Clock
from tests.sql.erasure.rows_of import erase, rows_of
from tests.sql.facts import NOON, fact
from tests.sql.structured_profile.building import (
    KIND,
    NAME,
    NAME_AND_CITY,
    Lease,
    as_worker,
    build,
    build_row,
    claim,
    complete,
    due,
    explained,
    fail,
    finish,
    lease,
    read,
    rest,
    served,
    set_schema,
    settings,
    status,
    take,
)

U1 = {"user_id": "u1"}
ROW = {**U1, "memory_key": "structured_profile", "agent": "-"}


@pytest.fixture(autouse=True)
def _noon(db: Connection, clock: Clock) -> None:
    clock.set(NOON)
    set_schema(db)
    for key in ("tea", "water"):
        fact(db, "set", **U1, memory_key=key, value=key)


def _profiles(db: Connection) -> list[Any]:
    """All versions of all profile rows."""
    return db.execute(
        "select version, value from loom.memory_version where memory_type = 'profile' order by 1"
    ).fetchall()


def _completed_late(
    db: Connection, clock: Clock, meanwhile: Callable[[Connection], object]
) -> Answer:
    """Claims and reads, lets something happen, and completes; nothing may have been written."""
    taken = lease(db)
    read(db, taken)
    clock.advance(seconds=1)
    meanwhile(db)
    before = _profiles(db)
    told = complete(db, taken, {"name": "Sam"})
    assert _profiles(db) == before
    assert set(told) == {"outcome", "reason"}
    return told


def _edit(db: Connection) -> None:
    fact(db, "set", **U1, memory_key="tea", value="coffee")


def _say_again(db: Connection) -> None:
    fact(db, "set", **U1, memory_key="tea", value="tea")


def _delete(db: Connection) -> None:
    fact(db, "delete", **U1, memory_key="tea")


def _lock(db: Connection) -> None:
    fact(db, "lock", **U1, memory_key="tea", reason="r")


def _redact(db: Connection) -> None:
    fact(db, "redact", **U1, memory_key="tea", reason="r")


def _high(db: Connection) -> None:
    fact(db, "label", **U1, memory_key="tea", sensitivity="high")


def _about_another(db: Connection) -> None:
    fact(db, "label", **U1, memory_key="tea", tags={"add": ["about:other"]})


def _less_sure(db: Connection) -> None:
    fact(db, "set", **U1, memory_key="tea", value="tea", confidence=0.5)


def _to_and_fro(db: Connection) -> None:
    _edit(db)
    _say_again(db)


@pytest.mark.parametrize(
    "meanwhile",
    [_edit, _say_again, _delete, _lock, _redact, _high, _about_another, _less_sure, _to_and_fro],
)
def test_o13_a_fact_that_was_read_and_has_changed_requeues(
    db: Connection, clock: Clock, meanwhile: Callable[[Connection], None]
) -> None:
    """O70: the completion looks at its sources in its own transaction."""
    told = _completed_late(db, clock, meanwhile)
    assert told == {"outcome": "requeued", "reason": "SOURCES_CHANGED"}
    row = build_row(db)
    assert (row["lease_id"], row["attempts"], row["next_attempt_at"]) == (None, 0, None)
    assert (row["last_error"], status(db)) == ("SOURCES_CHANGED", "pending")


def test_a_requeued_user_waits_the_cooldown(db: Connection, clock: Clock) -> None:
    """Else somebody who writes all day would cost a call for each answer that came too late."""
    _completed_late(db, clock, _edit)
    rest(db, clock, 600 - 0.000001)
    assert take(db) == []
    clock.advance(microseconds=1)
    assert build(db)["outcome"] == "written"
    assert explained(db)["last_error"] is None


@pytest.mark.parametrize("way", ["expires_at", "valid_to"])
def test_a_fact_whose_time_ends_meanwhile_requeues(db: Connection, clock: Clock, way: str) -> None:
    fact(db, "set", **U1, memory_key="short", value="short", **{way: "2026-03-01T12:00:01Z"})
    told = _completed_late(db, clock, lambda _db: None)
    assert told["reason"] == "SOURCES_CHANGED"


def test_a_schema_that_changed_requeues_at_once(db: Connection, clock: Clock) -> None:
    told = _completed_late(db, clock, lambda own: set_schema(own, NAME_AND_CITY))
    assert told == {"outcome": "requeued", "reason": "SCHEMA_CHANGED"}
    assert build(db, answer={"name": "Sam", "city": "Ulm"})["outcome"] == "written"
    assert status(db) == "ready"


def test_a_schema_that_was_cleared_requeues(db: Connection, clock: Clock) -> None:
    told = _completed_late(db, clock, lambda own: set_schema(own, None))
    assert told["reason"] == "SCHEMA_CHANGED"
    assert (take(db), status(db)) == ([], "no_schema")
    # Back again it is one that was tried: a model has just been paid for these facts.
    set_schema(db)
    assert take(db) == []
    clock.advance(seconds=600)
    assert take(db) == ["u1"]


def test_a_schema_that_came_back_hinders_nothing(db: Connection) -> None:
    taken = lease(db)
    read(db, taken)
    set_schema(db, NAME_AND_CITY)
    set_schema(db, NAME)
    assert complete(db, taken, {"name": "Sam"})["outcome"] == "written"
    assert status(db) == "ready"
    assert take(db) == []


def test_model_calls_switched_off_requeue(db: Connection, clock: Clock) -> None:
    told = _completed_late(
        db,
        clock,
        lambda own: operate(own, "org.set_model_calls", org="acme", enabled=False),
    )
    assert told == {"outcome": "requeued", "reason": "MODEL_CALLS_OFF"}
    assert take(db) == []


def test_a_completion_without_a_read_writes_nothing(db: Connection) -> None:
    assert complete(db, lease(db), {"name": "Sam"}) == {
        "outcome": "requeued",
        "reason": "NOT_READ",
    }
    assert _profiles(db) == []


def test_facts_that_came_meanwhile_do_not_hinder(db: Connection, clock: Clock) -> None:
    taken = lease(db)
    read(db, taken)
    clock.advance(seconds=1)
    fact(db, "set", **U1, memory_key="new", value="new")
    assert complete(db, taken, {"name": "Sam"})["outcome"] == "written"
    told = served(db, explain=True)
    assert (told["status"], told["profile"]) == ("stale", {"name": "Sam"})
    assert told["explain"]["due_at"] == "2026-03-01T12:10:01.000000Z"
    rest(db, clock, 600)
    assert len(read(db, lease(db))["sources"]) == 3


def test_facts_beyond_the_memory_limit_may_change(db: Connection, clock: Clock) -> None:
    settings(db, memory_limit=1)
    fact(db, "set", **U1, memory_key="first", value="x")
    fact(db, "set", **U1, memory_key="unsure", value="y", confidence=0.1)
    taken = lease(db)
    assert [each["memory_key"] for each in read(db, taken)["sources"]] != ["unsure"]
    fact(db, "set", **U1, memory_key="unsure", value="z", confidence=0.1)
    assert complete(db, taken, {"name": "Sam"})["outcome"] == "written"
    assert status(db) == "stale"


# Erasures.


@pytest.mark.parametrize("when", ["claimed", "read"])
def test_o70_a_user_erased_meanwhile_gets_nothing_back(db: Connection, when: str) -> None:
    taken = lease(db)
    if when == "read":
        read(db, taken)
    erase(db)
    states = db.execute("select epoch, rev from loom.user_state").fetchall()
    assert complete(db, taken, {"name": "Sam"}) == {"outcome": "lost", "reason": "LEASE_LOST"}
    assert read(db, taken) == {"found": False}
    assert fail(db, taken) == {"found": False}
    assert rows_of(db, "u1") == build_row(db) == {}
    assert db.execute("select epoch, rev from loom.user_state").fetchall() == states
    assert (status(db), take(db)) == ("ready", [])


def test_a_user_erased_who_comes_back_is_new(db: Connection) -> None:
    taken = lease(db)
    read(db, taken)
    erase(db)
    fact(db, "set", **U1, memory_key="tea", value="tea")
    assert complete(db, taken, {"name": "Eve"})["outcome"] == "lost"
    assert build(db)["outcome"] == "written"
    assert served(db)["profile"] == {"name": "Sam"}


def test_an_erasure_of_one_namespace_leaves_leases_of_another(db: Connection) -> None:
    set_schema(db, namespace="other")
    fact(db, "set", **U1, namespace="other", value="x")
    due(db)
    (here,), (there,) = claim(db), claim(db, namespace="other")
    read(db, here)
    read(db, there)
    erase(db, namespaces=["main"])
    assert complete(db, here, {"name": "Eve"})["outcome"] == "lost"
    assert complete(db, there, {"name": "Sam"})["outcome"] == "written"
    assert status(db, namespace="other") == "ready"
    assert build_row(db) == {}


# Leases.


def test_a_lease_ends_with_its_completion(db: Connection) -> None:
    taken = lease(db)
    assert finish(db, taken, {"name": "Sam"})["outcome"] == "written"
    assert complete(db, taken, {"name": "Eve"}) == {"outcome": "lost", "reason": "LEASE_LOST"}
    assert served(db)["profile"] == {"name": "Sam"}


def test_o50_a_late_completion_writes_nothing(db: Connection, clock: Clock) -> None:
    taken = lease(db)
    read(db, taken)
    rest(db, clock, 300)
    assert complete(db, taken, {"name": "Eve"})["outcome"] == "lost"
    # Neither before nor after somebody else has taken over.
    second = lease(db)
    assert complete(db, taken, {"name": "Eve"})["outcome"] == "lost"
    assert finish(db, second, {"name": "Sam"})["outcome"] == "written"
    assert complete(db, taken, {"name": "Eve"})["outcome"] == "lost"
    assert _profiles(db) == [(1, {"name": "Sam"})]


def test_a_completion_within_the_lease_is_in_time(db: Connection, clock: Clock) -> None:
    taken = lease(db)
    read(db, taken)
    clock.advance(seconds=300, microseconds=-1)
    assert complete(db, taken, {"name": "Sam"})["outcome"] == "written"


def test_a_lease_that_was_given_back_is_over(db: Connection) -> None:
    taken = lease(db)
    read(db, taken)
    fail(db, taken, "released", "STOPPED")
    assert complete(db, taken, {"name": "Eve"})["outcome"] == "lost"
    assert _profiles(db) == []


@pytest.mark.parametrize("org", ["acme", "other"])
def test_a_lease_is_known_by_its_id_within_its_org(db: Connection, org: str) -> None:
    taken = lease(db)
    read(db, taken)
    wrong = Lease(org, "main", KIND, "u1", uuid4() if org == "acme" else taken.lease_id, None)
    assert complete(db, wrong, {"name": "Eve"})["outcome"] == "lost"
    assert complete(db, taken, {"name": "Sam"})["outcome"] == "written"


@pytest.mark.parametrize("answer", ["[]", '"text"', "1", '{"other": 1}', '{"name": 1, "x": null}'])
def test_an_answer_is_an_object_of_declared_properties(db: Connection, answer: str) -> None:
    taken = lease(db)
    read(db, taken)
    with refused(db, "LM001") as refusal, as_worker(db):
        db.execute("select loom.work_complete('acme', %s, %s, null)", (taken.lease_id, answer))
    assert refusal.detail["field"] == "p_answer"
    # The lease is as it was.
    assert complete(db, taken, {"name": "Sam"})["outcome"] == "written"


def test_a_value_over_a_sections_limit_is_refused(db: Connection) -> None:
    taken = lease(db)
    read(db, taken)
    with refused(db, "LM402") as refusal:
        complete(db, taken, {"name": "x" * 65536})
    assert refusal.detail["char_limit"] == 65536
    fail(db, taken, "failed", "TOO_LONG")
    assert (status(db), explained(db)["last_error"]) == ("pending", "TOO_LONG")


# The row, which may have been held since the claim.


def _pin(db: Connection) -> None:
    fact(db, "pin", **ROW)


def _lock_row(db: Connection) -> None:
    fact(db, "lock", **ROW, reason="mine", until="2026-03-01T12:30:00Z")


def _high_row(db: Connection) -> None:
    fact(db, "label", **ROW, sensitivity="high")


@pytest.mark.parametrize(
    ("meanwhile", "code", "until"),
    [
        (_pin, "PINNED_CONFLICT", "2026-03-01T18:10:01.000000Z"),
        (_lock_row, "LOCKED", "2026-03-01T12:30:00.000000Z"),
        (_high_row, "HIGH_SENSITIVITY", "2026-03-01T18:10:01.000000Z"),
    ],
)
def test_o31_a_row_that_is_held_meanwhile_refuses(
    db: Connection,
    clock: Clock,
    meanwhile: Callable[[Connection], None],
    code: str,
    until: str,
) -> None:
    build(db)
    rest(db, clock, 600)
    fact(db, "set", **U1, memory_key="new", value="new")
    told = _completed_late(db, clock, meanwhile)
    assert told == {"outcome": "refused", "reason": code}
    why = explained(db)
    assert (why["refused"], why["due_at"], why["last_error"]) == (code, until, code)
    assert why["attempts"] == 0
    assert fact(db, "get", **ROW)["value"] == {"name": "Sam"}


def test_a_value_that_must_not_be_stored_refuses(db: Connection, clock: Clock) -> None:
    operate(db, "blacklist.add", org="acme", namespace="main", pattern="secret", reason="why")
    told = finish(db, lease(db), {"name": "a SECRET name"})
    assert told == {"outcome": "refused", "reason": "BLACKLISTED"}
    assert (_profiles(db), status(db)) == ([], "pending")
    rest(db, clock, 21600 - 0.000001)
    assert take(db) == []
    clock.advance(microseconds=1)
    assert build(db)["outcome"] == "written"


def test_a_refused_value_is_asked_for_again_when_facts_came_meanwhile(
    db: Connection, clock: Clock
) -> None:
    operate(db, "blacklist.add", org="acme", namespace="main", pattern="secret", reason="why")
    taken = lease(db)
    read(db, taken)
    fact(db, "set", **U1, memory_key="new", value="new")
    assert complete(db, taken, {"name": "secret"})["reason"] == "BLACKLISTED"
    rest(db, clock, 600 - 0.000001)
    assert take(db) == []
    clock.advance(microseconds=1)
    assert take(db) == ["u1"]

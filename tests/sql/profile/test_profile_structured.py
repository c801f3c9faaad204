"""profile.structured: one user's profile, its status, and why it stands so."""

from __future__ import annotations

from typing import Any

import pytest

from tests.calls import Answer, Connection, acting_as, mint_token, operate, refused
from tests.databases import Clock
from tests.sql.doors import DOORS, Door, through_api
from tests.sql.facts import NOON, fact
from tests.sql.structured_profile.building import (
    NAME_AND_CITY,
    build,
    due,
    explained,
    fail,
    finish,
    lease,
    read,
    rest,
    served,
    set_schema,
    take,
)

U1 = {"user_id": "u1"}
ROW = {**U1, "memory_key": "structured_profile", "agent": "-"}
PLACE = {"org": "acme", "namespace": "main"}
NOTHING: Answer = {"built_at": None, "memory_id": None, "version": None, "version_text": None}


@pytest.fixture(autouse=True)
def _noon(db: Connection, clock: Clock) -> None:
    clock.set(NOON)


def _likes(db: Connection, value: str = "tea", **fields: Any) -> str:
    return fact(db, "set", **{**U1, "value": value, **fields})["memory_id"]  # type: ignore[no-any-return]


# The status.


def test_without_a_schema_there_is_no_profile(db: Connection) -> None:
    _likes(db)
    assert served(db) == {**NOTHING, "profile": {}, "status": "no_schema"}


def test_a_schema_that_was_cleared_is_none_and_what_was_built_stays(db: Connection) -> None:
    set_schema(db)
    _likes(db)
    build(db)
    set_schema(db, None)
    assert served(db) == {**NOTHING, "profile": {}, "status": "no_schema"}
    assert fact(db, "get", **ROW)["value"] == {"name": "Sam"}
    set_schema(db)
    assert (served(db)["status"], served(db)["profile"]) == ("ready", {"name": "Sam"})


@pytest.mark.parametrize("known", [False, True])
def test_a_user_of_whom_nothing_is_known_is_ready(db: Connection, known: bool) -> None:
    """No build is pending, and none will come."""
    set_schema(db)
    if known:
        fact(db, "set", **U1, memory_key="episode", value="x", memory_type="episodic")
        operate(db, "working_memory.set", **PLACE, **U1, agent="coder", content="x")
    assert served(db) == {**NOTHING, "profile": {"name": None}, "status": "ready"}


def test_a_user_whose_facts_went_before_any_build_is_ready(db: Connection) -> None:
    set_schema(db)
    _likes(db)
    fact(db, "delete", **U1)
    assert served(db) == {**NOTHING, "profile": {"name": None}, "status": "ready"}


def test_o29_pending_then_ready_then_stale(db: Connection, clock: Clock) -> None:
    set_schema(db)
    _likes(db)
    assert served(db) == {**NOTHING, "profile": {"name": None}, "status": "pending"}
    told = build(db)
    ready = {
        "profile": {"name": "Sam"},
        "status": "ready",
        "built_at": "2026-03-01T12:00:00.000000Z",
        "memory_id": told["memory_id"],
        "version": 1,
        "version_text": "1",
    }
    assert served(db) == ready
    clock.advance(seconds=1)
    _likes(db, "coffee")
    assert served(db) == {**ready, "status": "stale"}


def test_o25_every_property_is_there_from_the_first_read_on(db: Connection) -> None:
    """Null while nothing settles it, whatever its type; a change of settings takes none away."""
    kinds: Answer = {
        "name": NAME_AND_CITY["name"],
        "plan": {"type": "string", "description": "What they pay for", "enum": ["free", "pro"]},
        "visits": {"type": "integer", "description": "How often they came"},
        "langs": {"type": "array", "items": {"type": "string"}, "description": "What they speak"},
        "trial": {"type": "boolean", "description": "Whether they try it"},
    }
    set_schema(db, kinds)
    assert served(db)["profile"] == dict.fromkeys(kinds)
    _likes(db)
    assert served(db)["profile"] == dict.fromkeys(kinds)
    build(db, answer={"visits": 3})
    settled = {**dict.fromkeys(kinds), "visits": 3}
    assert served(db)["profile"] == settled
    operate(db, "namespace.update", **PLACE, quiet_minutes=7)
    assert served(db)["profile"] == settled


def test_o26_it_is_served_as_it_was_built_while_stale_under_another_schema(
    db: Connection,
) -> None:
    set_schema(db)
    _likes(db)
    build(db)
    set_schema(db, {"city": NAME_AND_CITY["city"]})
    told = served(db)
    assert (told["status"], told["profile"]) == ("stale", {"name": "Sam"})
    build(db, answer={"city": "Ulm"})
    assert served(db)["profile"] == {"city": "Ulm"}


def test_titles_and_order_make_nobody_stale(db: Connection) -> None:
    set_schema(db, NAME_AND_CITY)
    _likes(db)
    build(db, answer={"name": "Sam", "city": "Ulm"})
    titled = {**NAME_AND_CITY, "city": {**NAME_AND_CITY["city"], "title": "Town"}}
    set_schema(db, dict(reversed(titled.items())))
    assert served(db)["status"] == "ready"
    assert take(db) == []


def test_a_moment_that_passes_makes_it_stale_at_once(db: Connection, clock: Clock) -> None:
    set_schema(db)
    _likes(db, ttl_seconds=60)
    build(db)
    clock.advance(seconds=60, microseconds=-1)
    assert served(db)["status"] == "ready"
    clock.advance(microseconds=1)
    assert (served(db)["status"], served(db)["profile"]) == ("stale", {"name": "Sam"})


def test_o34_it_answers_declared_fields_alone(db: Connection) -> None:
    set_schema(db)
    for number in range(50):
        _likes(db, "x" * 1000 + str(number), memory_key=f"k{number}")
    build(db)
    assert set(served(db)) == {"profile", "status", *NOTHING}
    assert served(db)["profile"] == {"name": "Sam"}


@pytest.mark.parametrize("door", DOORS.values(), ids=DOORS)
def test_every_door_answers_alike(db: Connection, door: Door) -> None:
    set_schema(db)
    _likes(db)
    build(db)
    assert door(db, "profile.structured", **PLACE, **U1) == served(db)


# Whose it is.


def test_a_viewer_may_read_it(db: Connection) -> None:
    set_schema(db)
    token = mint_token(db, role="viewer", namespace="main")
    assert through_api(db, token, "profile.structured", **U1)["status"] == "ready"


def test_user_minus_is_refused(db: Connection) -> None:
    for request in ({"user_id": "-"}, {}):
        with refused(db, "LM001") as refusal:
            operate(db, "profile.structured", **PLACE, **request)
        assert refusal.detail["field"] == "user_id"


@pytest.mark.parametrize("field", ["agent", "labels", "read_scope"])
def test_other_fields_are_refused(db: Connection, field: str) -> None:
    with refused(db, "LM001") as refusal:
        operate(db, "profile.structured", **PLACE, **U1, **{field: "x"})
    assert refusal.detail["field"] == field


def test_a_pinned_token_reads_its_user_named_or_not(db: Connection) -> None:
    set_schema(db)
    _likes(db)
    build(db)
    token = mint_token(db, role="viewer", namespace="main", read_user_id="u1")
    for request in ({}, U1):
        answer = through_api(db, token, "profile.structured", **request)
        assert answer["profile"] == {"name": "Sam"}


def test_a_pinned_token_reads_nobody_else(db: Connection) -> None:
    set_schema(db)
    fact(db, "set", user_id="u2", value="x")
    token = mint_token(db, role="viewer", namespace="main", read_user_id="u1")
    for user in ("u2", "U1", "u1 "):
        with refused(db, "LM302"):
            through_api(db, token, "profile.structured", user_id=user)


@pytest.mark.parametrize("op", ["profile.structured", "profile.structured_build"])
def test_a_token_bounded_to_a_session_is_refused(db: Connection, op: str) -> None:
    """A profile spans the user's sessions."""
    set_schema(db)
    bounds = {"namespace": "main", "read_user_id": "u1", "session_id": "s1"}
    token = mint_token(db, role="writer", **bounds)
    for request in ({}, U1):
        with refused(db, "LM003") as refusal:
            through_api(db, token, op, **request)
        assert refusal.detail["field"] == "session_id"
        with refused(db, "LM302"):
            through_api(db, token, op, **request, session_id="s1")


def test_o63_another_org_or_namespace_has_its_own(db: Connection) -> None:
    for place, name in (({}, "a"), ({"namespace": "other"}, "b"), ({"org": "beta"}, "c")):
        set_schema(db, **place)  # type: ignore[arg-type]
        fact(db, "set", **U1, value=name, **place)
        due(db)
        build(db, answer={"name": name}, **place)
    assert served(db)["profile"] == {"name": "a"}
    assert served(db, namespace="other")["profile"] == {"name": "b"}
    assert served(db, org="beta")["profile"] == {"name": "c"}
    assert served(db, org="gamma")["status"] == "no_schema"


@pytest.mark.parametrize("login", ["loom_worker", "loom_test_operator"])
def test_workers_and_operators_do_not_read_it(db: Connection, login: str) -> None:
    with refused(db, "42501"), acting_as(db, login):
        served(db)


# Why it stands so.


def test_without_explain_nothing_is_explained(db: Connection) -> None:
    set_schema(db)
    assert "explain" not in served(db)
    assert "explain" not in served(db, explain=False)


def test_a_user_of_whom_nothing_is_known_is_explained(db: Connection) -> None:
    set_schema(db)
    assert explained(db) == {
        "source_count": 0,
        "sources_match": None,
        "schema_match": None,
        "due_at": None,
        "listed_at": None,
        "attempts": 0,
        "last_error": None,
        "next_attempt_at": None,
        "refused": None,
        "sources": {},
    }


def test_each_field_tells_what_it_says(db: Connection, clock: Clock) -> None:
    set_schema(db)
    noon = "2026-03-01T12:00:00.000000Z"
    source = _likes(db)
    assert explained(db) == {
        **dict.fromkeys(("sources_match", "schema_match", "last_error", "refused")),
        **dict.fromkeys(("due_at", "listed_at"), noon),
        "next_attempt_at": None,
        "source_count": 1,
        "attempts": 0,
        "sources": {},
    }
    taken = lease(db)
    told = explained(db)
    assert (told["attempts"], told["next_attempt_at"]) == (1, "2026-03-01T12:05:00.000000Z")
    assert told["due_at"] == "2026-03-01T12:05:00.000000Z"
    finish(db, taken, {"name": "Sam"}, {"name": [source]})
    ready = {
        "source_count": 1,
        "sources_match": True,
        "schema_match": True,
        "due_at": None,
        "listed_at": None,
        "attempts": 0,
        "last_error": None,
        "next_attempt_at": None,
        "refused": None,
        "sources": {"name": [source]},
    }
    assert explained(db) == ready
    clock.advance(seconds=60)
    _likes(db, "water", memory_key="other")
    changed = {
        **ready,
        "source_count": 2,
        "sources_match": False,
        "listed_at": "2026-03-01T12:01:00.000000Z",
        "due_at": "2026-03-01T12:10:00.000000Z",
    }
    assert explained(db) == changed
    set_schema(db, NAME_AND_CITY)
    # Nobody has looked at the user since: it is due all the same.
    assert explained(db) == {
        **changed,
        "schema_match": False,
        "due_at": "2026-03-01T12:01:00.000000Z",
    }
    fail(db, lease(db), "failed", "NOT_JSON")
    assert explained(db) == {
        **changed,
        "schema_match": False,
        "attempts": 1,
        "last_error": "NOT_JSON",
        "due_at": "2026-03-01T12:06:00.000000Z",
        "next_attempt_at": "2026-03-01T12:06:00.000000Z",
    }


def test_a_refusal_is_explained(db: Connection, clock: Clock) -> None:
    set_schema(db)
    _likes(db)
    taken = lease(db)
    read(db, taken)
    fail(db, taken, "cut_off", "CUT_OFF")
    told = explained(db)
    assert (told["refused"], told["last_error"], told["attempts"]) == ("CUT_OFF", "CUT_OFF", 0)
    assert told["due_at"] == "2026-03-01T18:00:00.000000Z"
    assert told["next_attempt_at"] is None


def test_a_fact_that_will_expire_is_when_it_is_looked_at_next(db: Connection, clock: Clock) -> None:
    set_schema(db)
    _likes(db, expires_at="2026-03-02T00:00:00Z")
    build(db)
    told = explained(db)
    assert (told["listed_at"], told["due_at"]) == (None, "2026-03-02T00:00:00.000000Z")


def test_the_explanation_of_a_profile_that_is_not_served_names_no_sources(
    db: Connection,
) -> None:
    set_schema(db)
    source = _likes(db)
    finish(db, lease(db), {"name": "Sam"}, {"name": [source]})
    fact(db, "redact", **U1, reason="asked")
    assert explained(db)["sources"] == {}


def test_o31_an_explanation_outlives_a_rebuild_with_the_new_sources(
    db: Connection, clock: Clock
) -> None:
    set_schema(db)
    one = _likes(db)
    finish(db, lease(db), {"name": "Sam"}, {"name": [one]})
    rest(db, clock, 600)
    two = _likes(db, "water", memory_key="other")
    finish(db, lease(db), {"name": "Sam"}, {"name": [two]})
    assert explained(db)["sources"] == {"name": [two]}


def test_a_read_changes_nothing(db: Connection, clock: Clock) -> None:
    """Not even what time has done is settled by it."""
    set_schema(db)
    _likes(db, ttl_seconds=60)
    build(db)
    clock.advance(seconds=61)
    before = db.execute("select to_jsonb(b), to_jsonb(s) from loom.build b, loom.user_state s")
    rows = before.fetchall()
    assert explained(db)["sources_match"] is False
    after = db.execute("select to_jsonb(b), to_jsonb(s) from loom.build b, loom.user_state s")
    assert after.fetchall() == rows

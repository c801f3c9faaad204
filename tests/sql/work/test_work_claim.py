"""loom.work_claim: who is due, who waits, and what a claim does in passing."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from psycopg.types.json import Jsonb

from tests.calls import Connection, operate, refused
from tests.databases import Clock
from tests.sql.doors import IDENTITY
from tests.sql.facts import NOON, fact, history, section
from tests.sql.structured_profile.building import (
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
    pass_row,
    people,
    read,
    served,
    set_schema,
    settings,
    status,
    take,
    users,
)

U1 = {"user_id": "u1"}
ROW = {**U1, "memory_key": "structured_profile", "agent": "-"}


_FACTS = """
select count(loom.memory_set(%(place)s || jsonb_build_object('memory_key', 'k' || n, 'value', n)))
from generate_series(1, %(count)s) as n
"""


@pytest.fixture(autouse=True)
def _noon(db: Connection, clock: Clock) -> None:
    clock.set(NOON)
    set_schema(db)


def _model_calls(db: Connection, enabled: bool) -> None:
    operate(db, "org.set_model_calls", org="acme", enabled=enabled)


def _likes(db: Connection, value: str = "tea", **fields: Any) -> Any:
    return fact(db, "set", **{**U1, "value": value, **fields})["memory_id"]


def _due_in(db: Connection, clock: Clock, seconds: float) -> None:
    """Nothing is claimed until then, and u1 is from then on; the lease is given back."""
    clock.advance(seconds=seconds, microseconds=-1)
    assert take(db) == []
    clock.advance(microseconds=1)
    fail(db, lease(db), "released", "STOPPED")


def test_a_first_fact_makes_a_user_due_at_once(db: Connection) -> None:
    assert take(db) == []
    _likes(db)
    due(db)
    (taken,) = claim(db)
    assert (taken.org, taken.namespace, taken.kind) == ("acme", "main", "structured_profile")
    assert (taken.user_id, taken.leased_until) == ("u1", NOON + timedelta(seconds=300))
    assert take(db) == []


def test_facts_that_are_no_sources_make_nobody_due(db: Connection) -> None:
    _likes(db, memory_type="episodic")
    section(db, "set", **U1, value="x")
    fact(db, "set", user_id="-", value="x")
    assert take(db) == []


def test_users_are_taken_longest_due_first(db: Connection, clock: Clock) -> None:
    for user in ("u2", "u3", "u1"):
        fact(db, "set", user_id=user, value="x")
        clock.advance(seconds=1)
    # An edit does not send anyone to the end.
    fact(db, "set", user_id="u2", value="y")
    due(db)
    assert [users(claim(db, 1)) for _ in range(4)] == [["u2"], ["u3"], ["u1"], []]


@pytest.mark.parametrize("limit", [0, -1])
def test_a_claim_of_nobody_takes_nobody(db: Connection, limit: int) -> None:
    _likes(db)
    due(db)
    assert claim(db, limit) == []
    assert users(claim(db)) == ["u1"]


@pytest.mark.parametrize("org", ["", "-", "*"])
def test_a_claim_names_an_org(db: Connection, org: str) -> None:
    with refused(db, "LM001") as refusal, as_worker(db):
        db.execute("select * from loom.work_claim(%s, 'main', 'structured_profile', 1)", (org,))
    assert refusal.detail["field"] == "p_org"


def test_another_org_or_namespace_is_not_looked_at(db: Connection) -> None:
    set_schema(db, org="other")
    set_schema(db, namespace="second")
    _likes(db)
    assert set(due(db)) == {"main"}
    assert claim(db, org="other") == claim(db, namespace="second") == []
    assert users(claim(db)) == ["u1"]


def test_o54_whoever_is_up_to_date_is_not_taken(db: Connection, clock: Clock) -> None:
    _likes(db)
    build(db)
    clock.advance(days=30)
    assert take(db) == []


def test_o54_an_edit_that_is_taken_back_costs_nothing(db: Connection, clock: Clock) -> None:
    _likes(db, valid_at="2026-01-01T00:00:00Z")
    build(db)
    clock.advance(seconds=1)
    _likes(db, "coffee", valid_at="2026-01-01T00:00:00Z")
    assert status(db) == "stale"
    _likes(db, valid_at="2026-01-01T00:00:00Z")
    assert status(db) == "ready"
    clock.advance(days=1)
    assert take(db) == []


# The cooldown.


def test_a_change_waits_until_the_last_build_has_cooled_down(db: Connection, clock: Clock) -> None:
    _likes(db)
    build(db)
    clock.advance(seconds=100)
    _likes(db, "coffee")
    assert status(db) == "stale"
    _due_in(db, clock, 500)


def test_the_cooldown_is_as_long_as_is_set(db: Connection, clock: Clock) -> None:
    settings(db, cooldown_seconds=5)
    _likes(db)
    build(db)
    _likes(db, "coffee")
    _due_in(db, clock, 5)


def test_the_cooldown_counts_from_the_end_of_a_build(db: Connection, clock: Clock) -> None:
    _likes(db)
    taken = lease(db)
    clock.advance(seconds=60)
    finish(db, taken, {"name": "Sam"})
    _likes(db, "coffee")
    _due_in(db, clock, 600)


def test_after_a_quiet_time_a_change_is_due_at_once(db: Connection, clock: Clock) -> None:
    _likes(db)
    build(db)
    clock.advance(seconds=600)
    _likes(db, "coffee")
    assert take(db) == ["u1"]


@pytest.mark.parametrize("way", ["delete", "redact", "expiry", "valid_to", "high"])
def test_a_fact_that_goes_skips_the_cooldown(db: Connection, clock: Clock, way: str) -> None:
    until = "2026-03-01T12:01:00Z"
    times: dict[str, Any] = {"expiry": {"expires_at": until}, "valid_to": {"valid_to": until}}
    _likes(db, "water", memory_key="other")
    _likes(db, **times.get(way, {}))
    build(db)
    clock.advance(seconds=60)
    if way == "delete":
        fact(db, "delete", **U1)
    elif way == "redact":
        fact(db, "redact", **U1, reason="asked")
    elif way == "high":
        fact(db, "label", **U1, sensitivity="high")
    assert status(db) == ("pending" if way == "redact" else "stale")
    taken = lease(db)
    assert [each["memory_key"] for each in read(db, taken)["sources"]] == ["other"]


def test_a_fact_that_goes_while_one_comes_is_no_deletion(db: Connection, clock: Clock) -> None:
    """Fewer facts than were counted is what skips the cooldown."""
    _likes(db)
    build(db)
    _likes(db, "water", memory_key="other")
    fact(db, "delete", **U1)
    _due_in(db, clock, 600)


def test_o31_a_deletion_skips_the_cooldown_once(db: Connection, clock: Clock) -> None:
    """Else each edit that a build comes too late for would cost the next call at once."""
    for key in ("a", "b", "c"):
        _likes(db, key, memory_key=key)
    build(db)
    fact(db, "delete", **U1, memory_key="a")
    taken = lease(db)
    read(db, taken)
    _likes(db, "other", memory_key="b")
    assert complete(db, taken, {"name": "Sam"})["outcome"] == "requeued"
    assert take(db) == []
    clock.advance(seconds=10)
    fact(db, "delete", **U1, memory_key="c")
    _due_in(db, clock, 590)
    finish(db, lease(db), {"name": "Sam"})
    assert status(db) == "ready"


def test_facts_that_go_one_by_one_cost_two_calls_a_cooldown(db: Connection, clock: Clock) -> None:
    for n in range(40):
        ends = NOON + timedelta(seconds=1200 + 15 * n)
        _likes(db, f"tea {n}", memory_key=f"k{n}", expires_at=str(ends))
    build(db)
    clock.advance(seconds=20 * 60 - 1)
    calls = 0
    for _ in range(60):  # ten minutes, in which all expire
        clock.advance(seconds=10)
        due(db)
        for taken in claim(db):
            told = bool(read(db, taken)["sources"])
            calls += told
            complete(db, taken, {"name": "Sam"} if told else None)
    assert calls == 2
    # What needs no model waits for nothing.
    assert (status(db), served(db)["profile"]) == ("ready", {"name": None})


def test_a_deletion_waits_no_longer_than_the_scan_age(db: Connection, clock: Clock) -> None:
    settings(db, cooldown_seconds=3600, scan_max_age_seconds=700)
    for key in ("a", "b", "c", "d"):
        _likes(db, f"tea {key}", memory_key=key)
    build(db)
    for key, seconds in (("a", 0), ("b", 700)):
        fact(db, "delete", **U1, memory_key=key)
        _due_in(db, clock, seconds)
        finish(db, lease(db), {"name": "Sam"})
    # What is no deletion waits for the cooldown.
    _likes(db, "coffee", memory_key="e")
    _due_in(db, clock, 3600)


@pytest.mark.parametrize("built", [True, False])
def test_a_change_of_schema_skips_the_cooldown(db: Connection, built: bool) -> None:
    _likes(db)
    if built:
        build(db)
    else:
        fail(db, lease(db), "cut_off", "CUT_OFF")
    assert take(db) == []
    set_schema(db, NAME_AND_CITY)
    assert take(db) == ["u1"]


def test_a_schema_that_comes_back_makes_nobody_stale_and_costs_nothing(db: Connection) -> None:
    people(db, 250)
    settings(db, max_users_per_pass=300)
    due(db)
    for taken in [*claim(db), *claim(db)]:
        finish(db, taken, {"name": "Sam"})
    assert due(db) == {}
    set_schema(db, NAME_AND_CITY)
    set_schema(db, NAME)
    assert {status(db, f"u{n:04}") for n in range(1, 251)} == {"ready"}
    before = db.execute("select sum(version) from loom.memory").fetchone()
    assert due(db) == {"main": 300}
    # They get the new revision stamped on, so many to a claim.
    assert claim(db) == []
    assert due(db) == {"main": 300}
    assert claim(db) == []
    assert pass_row(db)["budget_left"] == 300
    assert due(db) == {}
    assert db.execute("select sum(version) from loom.memory").fetchone() == before
    stamps = db.execute("select distinct schema_rev, attempts from loom.build").fetchall()
    assert stamps == [(3, 0)]


def test_users_from_before_the_first_schema_are_due_when_it_comes(db: Connection) -> None:
    set_schema(db, None)
    _likes(db)
    assert status(db) == "no_schema"
    assert take(db) == []
    set_schema(db)
    assert take(db) == ["u1"]


# The backoff, and leases that are lost.


def test_o51_a_worker_that_dies_has_used_its_attempt(db: Connection, clock: Clock) -> None:
    """O50: whoever comes next takes over, whatever the dead one was called."""
    _likes(db)
    dead = lease(db)
    assert (build_row(db)["attempts"], build_row(db)["due_at"]) == (1, dead.leased_until)
    clock.advance(seconds=300, microseconds=-1)
    assert take(db) == []
    clock.advance(microseconds=1)
    second = lease(db)
    assert explained(db)["last_error"] == "LEASE_LOST"
    assert build_row(db)["attempts"] == 2
    # Of whom nothing is heard either: the wait doubles.
    clock.advance(seconds=600, microseconds=-1)
    assert take(db) == []
    clock.advance(microseconds=1)
    third = lease(db)
    for late in (dead, second):
        assert read(db, late) == {"found": False}
        assert complete(db, late, {"name": "Eve"})["outcome"] == "lost"
        assert fail(db, late)["found"] is False
    assert finish(db, third, {"name": "Sam"})["outcome"] == "written"
    assert build_row(db)["attempts"] == 0


def test_o51_waits_double_up_to_their_cap_for_workers_that_die(
    db: Connection, clock: Clock
) -> None:
    _likes(db)
    for wait in (300, 600, 1200, 2400, 4800, 9600, 19200, 21600, 21600):
        lease(db)
        clock.advance(seconds=wait, microseconds=-1)
        assert take(db) == []
        clock.advance(microseconds=1)


def test_a_lost_lease_of_a_user_who_is_not_behind_any_more_is_over(
    db: Connection, clock: Clock
) -> None:
    _likes(db, valid_at="2026-01-01T00:00:00Z")
    build(db)
    clock.advance(seconds=600)
    _likes(db, "coffee", valid_at="2026-01-01T00:00:00Z")
    lease(db)
    _likes(db, valid_at="2026-01-01T00:00:00Z")
    assert take(db) == []
    clock.advance(seconds=300)
    assert take(db) == []
    row = build_row(db)
    assert (row["lease_id"], row["listed_at"], row["due_at"]) == (None, None, None)


# Rows that may not be written over: no call is paid for.


def _pin(db: Connection) -> None:
    fact(db, "pin", **ROW)


def _lock(db: Connection) -> None:
    fact(db, "lock", **ROW, reason="mine", until="2026-03-01T13:00:00Z")


def _high(db: Connection) -> None:
    fact(db, "label", **ROW, sensitivity="high")


HELD = {"PINNED_CONFLICT": _pin, "LOCKED": _lock, "HIGH_SENSITIVITY": _high}


@pytest.fixture(params=HELD)
def held(db: Connection, clock: Clock, request: pytest.FixtureRequest) -> str:
    """A user whose built row is held, and whose fact has changed and cooled down; the code."""
    code: str = request.param
    _likes(db)
    build(db)
    HELD[code](db)
    clock.advance(seconds=700)
    _likes(db, "coffee")
    return code


def _refused(db: Connection) -> None:
    assert take(db) == []
    assert build_row(db)["refused"] is not None


def test_o31_a_held_row_refuses_at_the_claim(db: Connection, held: str) -> None:
    """A manual edit that is pinned or locked stands against a rebuild."""
    budget = pass_row(db)["budget_left"]
    _refused(db)
    assert pass_row(db)["budget_left"] in (budget, 20)
    told = explained(db)
    assert (told["refused"], told["attempts"]) == (held, 0)
    assert status(db) == ("pending" if held == "HIGH_SENSITIVITY" else "stale")
    assert history(db, **ROW)[-1]["value"] == {"name": "Sam"}


def test_a_held_row_is_not_tried_again_until_the_wait_is_over(
    db: Connection, clock: Clock, held: str
) -> None:
    _refused(db)
    # The lock lapses before that by itself.
    wait = 3600 - 700 if held == "LOCKED" else 21600
    clock.advance(seconds=wait, microseconds=-1)
    assert take(db) == []
    assert build_row(db)["refused"] is not None
    clock.advance(microseconds=1)
    if held == "LOCKED":
        assert take(db) == ["u1"]
    else:
        _refused(db)
        assert build_row(db)["refused_until"] == NOON + timedelta(seconds=700 + 2 * 21600)


def test_a_memory_that_changes_has_the_row_looked_at_again(
    db: Connection, clock: Clock, held: str
) -> None:
    _refused(db)
    clock.advance(seconds=1)
    _likes(db, "water")
    assert build_row(db)["refused"] is None
    assert set(due(db)) == {"main"}
    _refused(db)


def test_another_schema_has_the_row_looked_at_again(db: Connection, held: str) -> None:
    _refused(db)
    set_schema(db, NAME_AND_CITY)
    assert set(due(db)) == {"main"}
    before = build_row(db)["schema_rev"]
    _refused(db)
    assert build_row(db)["schema_rev"] == before + 1


def _let_go(db: Connection, held: str) -> None:
    if held == "PINNED_CONFLICT":
        fact(db, "unpin", **ROW)
    elif held == "LOCKED":
        fact(db, "unlock", **ROW)
    else:
        fact(db, "label", **ROW, sensitivity="normal")


def test_a_row_that_is_let_go_is_built_at_once(db: Connection, clock: Clock, held: str) -> None:
    _refused(db)
    clock.advance(seconds=100)
    _let_go(db, held)
    assert build(db, answer={"name": "Max"})["outcome"] == "written"
    assert served(db)["profile"] == {"name": "Max"}


def test_a_row_that_is_let_go_cuts_an_idle_wait_short(
    db: Connection, clock: Clock, held: str
) -> None:
    _refused(db)
    assert due(db) == {}
    clock.advance(seconds=200)
    assert due(db) == {}
    _let_go(db, held)
    assert due(db) == {"main": 20}


@pytest.mark.parametrize("held", ["PINNED_CONFLICT"], indirect=True)
def test_an_unpin_of_a_redacted_row_is_heard(db: Connection, held: str) -> None:
    fact(db, "redact", **ROW, reason="asked")
    _refused(db)
    assert status(db) == "pending"
    fact(db, "unpin", **ROW)
    assert take(db) == ["u1"]


@pytest.mark.parametrize("held", ["LOCKED"], indirect=True)
def test_an_unlock_of_a_redacted_row_is_heard(db: Connection, held: str) -> None:
    fact(db, "redact", **ROW, reason="asked")
    _refused(db)
    fact(db, "unlock", **ROW)
    assert take(db) == ["u1"]


@pytest.mark.parametrize("held", ["HIGH_SENSITIVITY"], indirect=True)
def test_a_high_row_that_is_deleted_makes_way(db: Connection, held: str) -> None:
    _refused(db)
    fact(db, "delete", **ROW)
    assert build(db, answer={"name": "Max"})["outcome"] == "written"
    assert (status(db), served(db)["profile"]) == ("ready", {"name": "Max"})
    assert fact(db, "get", **ROW)["sensitivity"] == "normal"


@pytest.mark.parametrize("held", ["HIGH_SENSITIVITY"], indirect=True)
def test_a_callers_value_over_a_high_row_is_high_and_refuses(db: Connection, held: str) -> None:
    _refused(db)
    section(db, "set", **U1, agent="-", label="structured_profile", value="x")
    _refused(db)
    assert (status(db), explained(db)["refused"]) == ("pending", held)


def test_a_lock_against_deletion_alone_refuses_nothing(db: Connection, clock: Clock) -> None:
    _likes(db)
    build(db)
    fact(db, "lock", **ROW, mode="no_delete", reason="keep")
    clock.advance(seconds=600)
    _likes(db, "coffee")
    assert build(db, answer={"name": "Max"})["outcome"] == "written"
    assert fact(db, "get", **ROW)["value"] == {"name": "Max"}
    with refused(db, "LM205"):
        fact(db, "delete", **ROW)


def test_a_refusal_at_the_claim_costs_no_cooldown_and_no_attempt(
    db: Connection, clock: Clock
) -> None:
    _likes(db)
    build(db)
    _pin(db)
    clock.advance(seconds=600)
    _likes(db, "coffee")
    _refused(db)
    row = build_row(db)
    assert (row["attempts"], row["tried_at"]) == (0, NOON)


# Users without facts, and orgs that call no model.


def test_a_user_without_facts_and_without_a_row_is_nobodys_work(db: Connection) -> None:
    _likes(db)
    fact(db, "delete", **U1)
    assert take(db) == []
    assert (build_row(db)["listed_at"], status(db)) == (None, "ready")


def test_an_org_without_model_calls_is_left_alone(db: Connection, clock: Clock) -> None:
    _likes(db)
    _model_calls(db, False)
    assert due(db) == {}
    assert claim(db) == []
    set_schema(db, NAME_AND_CITY)
    # They are stamped once, and that is all.
    assert due(db) == {"main": 20}
    assert claim(db) == []
    assert due(db) == {}
    set_schema(db, org="other")
    people(db, 1, org="other")
    assert due(db) == {"other/main": 20}
    _model_calls(db, True)
    assert users(claim(db, org="other")) == ["u0001"]
    assert due(db) == {}
    assert due(db) == {"main": 20}
    assert users(claim(db)) == ["u1"]


def test_an_org_without_model_calls_still_empties_profiles(db: Connection) -> None:
    _likes(db)
    build(db)
    fact(db, "set", user_id="u2", value="x")
    _model_calls(db, False)
    fact(db, "delete", **U1)
    taken = lease(db)
    told = read(db, taken)
    assert (told["sources"], told["model_calls"]) == ([], False)
    assert complete(db, taken)["outcome"] == "written"
    assert (status(db), served(db)["profile"]) == ("ready", {"name": None})
    assert take(db) == []


def test_an_org_without_model_calls_empties_profiles_of_facts_that_expire(
    db: Connection, clock: Clock
) -> None:
    _likes(db, valid_to="2026-03-01T13:00:00Z")
    build(db)
    _model_calls(db, False)
    clock.advance(hours=1)
    assert build(db, answer={})["outcome"] == "written"
    assert (status(db), served(db)["profile"]) == ("ready", {"name": None})


def test_switched_on_again_users_are_due(db: Connection) -> None:
    _likes(db)
    due(db)
    _model_calls(db, False)
    assert claim(db) == []
    _model_calls(db, True)
    assert users(claim(db)) == ["u1"]


def test_time_alone_is_settled_by_the_claim(db: Connection, clock: Clock) -> None:
    """A twin takes the place of an expired fact: the digest is another one, but nothing went."""
    _likes(db, expires_at="2026-03-01T12:01:00Z")
    clock.advance(seconds=1)
    _likes(db, memory_key="twin")
    build(db)
    clock.advance(seconds=59)
    assert status(db) == "stale"
    assert take(db) == []
    assert status(db) == "stale"
    assert explained(db)["sources_match"] is False
    clock.advance(seconds=541)
    assert take(db) == ["u1"]


def test_facts_that_expire_by_the_thousand_are_all_settled_before_a_build(
    db: Connection, clock: Clock
) -> None:
    _likes(db)
    settings(db, memory_limit=2000)
    expiring = {**IDENTITY, **U1, "expires_at": "2026-03-01T12:01:00Z"}
    db.execute(_FACTS, {"place": Jsonb(expiring), "count": 2100})
    build(db)
    due(db)
    clock.advance(seconds=60)
    # The claim that settles the last of them takes the user.
    assert [take(db) for _ in range(2)] == [[], []]
    taken = lease(db)
    assert read(db, taken)["source_count"] == 1
    complete(db, taken, {"name": "Max"})
    assert (status(db), served(db)["profile"]) == ("ready", {"name": "Max"})


def test_facts_that_expire_by_the_thousand_are_all_settled_before_a_read(
    db: Connection, clock: Clock
) -> None:
    _likes(db)
    expiring = {**IDENTITY, **U1, "expires_at": "2026-03-01T12:01:00Z"}
    db.execute(_FACTS, {"place": Jsonb(expiring), "count": 2100})
    taken = lease(db)
    clock.advance(seconds=60)
    told = read(db, taken)
    assert (told["source_count"], len(told["sources"])) == (1, 1)


def test_a_claim_takes_many_and_each_once(db: Connection) -> None:
    people(db, 50)
    settings(db, max_users_per_pass=50)
    due(db)
    taken = [*claim(db, 20), *claim(db, 20), *claim(db, 20)]
    assert users(taken) == [f"u{n:04}" for n in range(1, 51)]
    assert len({each.lease_id for each in taken}) == 50


def test_a_lease_is_as_long_as_is_set(db: Connection, clock: Clock) -> None:
    settings(db, lease_seconds=60, backoff_base_seconds=10)
    _likes(db)
    taken: Lease = lease(db)
    assert taken.leased_until == NOON + timedelta(seconds=60)
    # Its user is not tried again while it lives, however short the wait.
    clock.advance(seconds=60, microseconds=-1)
    assert take(db) == []
    clock.advance(microseconds=1)
    assert take(db) == ["u1"]


def test_a_claim_lets_go_of_its_users_after_a_second(db: Connection) -> None:
    """However long looking takes: their writers wait, and a time-out would undo it all."""
    people(db, 60)
    db.execute(
        "select loom.memory_delete(%s || jsonb_build_object('user_id', user_id,"
        " 'memory_key', 'likes')) from loom.build",
        (Jsonb(IDENTITY),),
    )
    set_schema(db, NAME_AND_CITY)
    db.execute("create sequence loom_test.tick")
    db.execute("grant usage on sequence loom_test.tick to loom_api, loom_scheduler")
    db.execute(
        "create or replace function loom._now() returns timestamptz language sql volatile as $$"
        " select timestamptz '2026-03-01T12:00:00Z' + nextval('loom_test.tick') * interval '0.2s'"
        " $$"
    )
    due(db)
    stamped = "select count(*) from loom.build where schema_rev = 2"
    assert claim(db) == []
    (first,) = db.execute(stamped).fetchone() or (0,)
    assert 0 < first < 60
    claim(db)
    (second,) = db.execute(stamped).fetchone() or (0,)
    assert second > first

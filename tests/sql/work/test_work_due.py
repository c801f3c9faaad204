"""loom.work_due: passes, whose turn it is, and what each namespace may have of the budget."""

from __future__ import annotations

import pytest

from tests.calls import Connection, acting_as, operate, refused
from tests.databases import Clock
from tests.sql.facts import NOON, fact
from tests.sql.structured_profile.building import (
    KIND,
    NAME_AND_CITY,
    build,
    build_row,
    cap,
    claim,
    due,
    fail,
    fail_namespace,
    finish,
    lease,
    pass_row,
    people,
    set_schema,
    settings,
    status,
    take,
    used,
    users,
)

_NAMESPACES = """
insert into loom.profile_schema
  (org, namespace, json_schema, schema_sha256, schema_rev, updated_at, updated_by)
select 'acme', 'n' || lpad(n::text, 5, '0'),
  '{"type": "object", "properties": {"name": {"type": "string", "description": "d"}}}',
  repeat('0', 64), 1, loom._now(), 'test'
from generate_series(1, %s) as n
"""


@pytest.fixture(autouse=True)
def _noon(clock: Clock) -> None:
    clock.set(NOON)


def _three(db: Connection, *counts: int) -> None:
    """Namespaces a, b, c, … with so many users that are behind."""
    for name, count in zip("abcdefgh", counts, strict=False):
        set_schema(db, namespace=name)
        people(db, count, namespace=name)


def _work_off(db: Connection) -> dict[str, int]:
    """One pass, until its budget is spent or nothing is left; claims by namespace."""
    claimed: dict[str, int] = {}
    while shares := due(db):
        for namespace, share in shares.items():
            taken = claim(db, share, namespace=namespace)
            for each in taken:
                finish(db, each, {"name": "Sam"})
            claimed[namespace] = claimed.get(namespace, 0) + len(taken)
        if pass_row(db)["budget_left"] == 0:
            break
    return claimed


def test_without_a_schema_or_a_user_there_is_nothing(db: Connection) -> None:
    assert due(db) == {}
    people(db, 3)
    set_schema(db, namespace="empty")
    assert due(db) == {}
    assert pass_row(db)["opened_at"] is None


def test_an_unknown_kind_is_refused(db: Connection) -> None:
    with refused(db, "LM001") as refusal, acting_as(db, "loom_worker"):
        db.execute("select * from loom.work_due('nothing')")
    assert refusal.detail["field"] == "p_kind"


@pytest.mark.parametrize(
    "login", ["loom_gateway", "loom_test_viewer", "loom_test_writer", "loom_test_admin"]
)
@pytest.mark.parametrize(
    "statement",
    [
        "select loom.work_due('structured_profile')",
        "select loom.work_claim('acme', 'main', 'structured_profile', 1)",
        "select loom.work_read('acme', gen_random_uuid())",
        "select loom.work_complete('acme', gen_random_uuid(), null, null)",
        "select loom.work_fail('acme', gen_random_uuid(), 'failed', 'X')",
        "select loom.work_fail_namespace('acme', 'main', 'structured_profile', 'x')",
        "select loom.work_settings('structured_profile', '{}')",
        "select loom.work_used('acme', 'main', gen_random_uuid(), 'p', 'm', '[]')",
        "select loom.worker_bell_set(true)",
        "select loom.model_daily_token_cap(1)",
    ],
    ids=lambda statement: statement.split("(")[0].split(".")[1],
)
def test_only_the_worker_works(db: Connection, login: str, statement: str) -> None:
    with refused(db, "42501"), acting_as(db, login):
        db.execute(statement.encode())


def test_a_kind_that_is_switched_off_rests(db: Connection) -> None:
    set_schema(db)
    people(db, 3)
    settings(db, enabled=False)
    assert due(db) == {}
    settings(db, enabled=True)
    assert due(db) == {"main": 20}
    settings(db, enabled=False)
    assert due(db) == {}
    assert claim(db) == []


def test_o56_three_namespaces_with_1000_10_and_no_users_behind(db: Connection) -> None:
    """Shares are equal; what the small one leaves goes to the big one, and no pass waits."""
    _three(db, 1000, 10, 0)
    assert due(db) == {"a": 10, "b": 10}
    assert [_work_off(db) for _ in range(4)] == [
        {"a": 10, "b": 10},
        {"a": 20},
        {"a": 20},
        {"a": 20},
    ]


def test_o56_what_a_namespace_leaves_goes_to_those_that_used_their_share(db: Connection) -> None:
    _three(db, 1000, 4, 0, 1000)
    assert due(db) == {"a": 7, "b": 7, "d": 6}
    assert _work_off(db) == {"a": 9, "b": 4, "d": 7}


def test_a_backlog_of_two_namespaces_drains(db: Connection) -> None:
    """O56: without a wait between passes, since the clock stands still."""
    _three(db, 45, 13)
    passes: list[dict[str, int]] = []
    while not passes or passes[-1]:
        passes.append(_work_off(db))
    assert passes == [{"a": 10, "b": 10}, {"a": 17, "b": 3}, {"a": 18}, {}]
    assert db.execute("select count(*) from loom.build where built_at is null").fetchone() == (0,)


def test_a_share_is_not_more_than_the_budget_and_a_claim_not_more_than_the_share(
    db: Connection,
) -> None:
    _three(db, 30, 30, 30)
    settings(db, max_users_per_pass=5)
    assert due(db) == {"a": 2, "b": 2, "c": 1}
    assert len(claim(db, 100, namespace="a")) == 2
    assert claim(db, 100, namespace="a") == []
    assert due(db) == {"b": 2, "c": 1}
    assert len(claim(db, 1, namespace="b")) == 1
    assert len(claim(db, 100, namespace="b")) == 1
    assert len(claim(db, 100, namespace="c")) == 1
    assert pass_row(db)["budget_left"] == 0


def test_a_namespace_the_pass_has_not_reached_claims_nothing(db: Connection) -> None:
    _three(db, 3, 3)
    assert claim(db, namespace="a") == []
    settings(db, max_users_per_pass=1)
    assert due(db) == {"a": 1}
    assert claim(db, namespace="b") == []


def test_the_next_pass_goes_on_where_the_last_one_stopped(db: Connection) -> None:
    _three(db, 9, 9, 9, 9, 9)
    settings(db, max_users_per_pass=2)
    turns = [_work_off(db) for _ in range(6)]
    assert turns == [
        {"a": 1, "b": 1},
        {"c": 1, "d": 1},
        {"e": 1, "a": 1},
        {"b": 1, "c": 1},
        {"d": 1, "e": 1},
        {"a": 1, "b": 1},
    ]


def test_the_rotation_goes_over_orgs_and_namespaces_alike(db: Connection) -> None:
    for org, namespace in [("acme", "z"), ("beta", "a"), ("zeta", "a")]:
        set_schema(db, org=org, namespace=namespace)
        people(db, 3, org=org, namespace=namespace)
    settings(db, max_users_per_pass=2)
    assert due(db) == {"z": 1, "beta/a": 1}
    claim(db, namespace="z")
    claim(db, org="beta", namespace="a")
    assert due(db) == {"zeta/a": 1, "z": 1}


def test_a_namespace_that_went_since_is_no_obstacle(db: Connection) -> None:
    _three(db, 3, 3, 3)
    settings(db, max_users_per_pass=1)
    assert due(db) == {"a": 1}
    db.execute("delete from loom.profile_schema where namespace = 'a'")
    set_schema(db, None, namespace="b")
    assert claim(db, namespace="a") == []
    assert due(db) == {"c": 1}


def test_a_call_walks_1000_namespaces_and_the_next_goes_on(db: Connection) -> None:
    db.execute(_NAMESPACES, (2500,))
    for name in ("n01500", "n02400"):
        people(db, 30, namespace=name)
    assert due(db) == {}
    assert pass_row(db)["rotation_namespace"] == "n01000"
    assert due(db) == {"n01500": 20}
    # It reads on only when what it has reached needs no more; and shares only what is left then.
    assert due(db) == {"n01500": 20}
    assert pass_row(db)["rotation_namespace"] == "n02000"
    assert len(claim(db, 5, namespace="n01500")) == 5
    db.execute("delete from loom.build where namespace = 'n01500' and lease_id is null")
    assert due(db) == {"n02400": 15}
    assert len(claim(db, namespace="n02400")) == 15
    # The next pass, which begins at once, comes round to it in the end.
    assert due(db) == {}
    assert pass_row(db)["rotation_namespace"] == "n01000"
    assert due(db) == {}
    assert due(db) == {"n02400": 20}
    assert (pass_row(db)["rotation_namespace"], pass_row(db)["went_round"]) == ("n02500", True)


def test_what_is_left_goes_to_namespaces_not_reached_before_it_goes_back(db: Connection) -> None:
    db.execute(_NAMESPACES, (1500,))
    people(db, 30, namespace="n00001")
    people(db, 2, namespace="n00002")
    people(db, 30, namespace="n01400")
    assert due(db) == {"n00001": 10, "n00002": 10}
    claim(db, namespace="n00001")
    claim(db, namespace="n00002")
    assert due(db) == {"n01400": 8}


def test_a_pass_takes_nobody_in_the_second_half_of_its_time(db: Connection, clock: Clock) -> None:
    set_schema(db)
    people(db, 3)
    assert due(db) == {"main": 20}
    clock.advance(seconds=299)
    first = claim(db, 1)
    assert users(first) == ["u0001"]
    clock.advance(seconds=1)
    assert due(db) == {}
    assert claim(db) == []
    # The build in flight has the second half to finish.
    assert finish(db, first[0], {"name": "Sam"})["outcome"] == "written"
    assert [build_row(db, user)["listed_at"] for user in ("u0002", "u0003")] == [NOON, NOON]
    clock.advance(seconds=299)
    assert due(db) == {}
    assert claim(db) == []
    clock.advance(seconds=1)
    assert due(db) == {"main": 20}
    assert take(db) == ["u0002", "u0003"]


def test_a_pass_may_run_as_long_as_is_set(db: Connection, clock: Clock) -> None:
    set_schema(db)
    people(db, 3)
    settings(db, max_pass_seconds=60)
    due(db)
    clock.advance(seconds=29)
    assert due(db) == {"main": 20}
    clock.advance(seconds=1)
    assert due(db) == {}
    clock.advance(seconds=30)
    assert due(db) == {"main": 20}


def test_a_pass_that_has_spent_its_budget_makes_room_even_in_its_second_half(
    db: Connection, clock: Clock
) -> None:
    set_schema(db)
    people(db, 21)
    assert len(take(db)) == 20
    clock.advance(seconds=400)
    assert due(db) == {"main": 20}


def test_an_idle_pass_waits_600_s_for_the_next(db: Connection, clock: Clock) -> None:
    set_schema(db)
    clock.advance(seconds=60)
    due(db)
    assert pass_row(db)["pass_no"] == 1
    clock.advance(seconds=599)
    due(db)
    assert pass_row(db)["pass_no"] == 1
    clock.advance(seconds=1)
    due(db)
    assert pass_row(db)["pass_no"] == 2


def test_after_a_pass_that_built_the_next_is_60_s_later(db: Connection, clock: Clock) -> None:
    set_schema(db)
    clock.advance(seconds=60)
    people(db, 1)
    assert _work_off(db) == {"main": 1}
    assert due(db) == {}
    assert pass_row(db)["not_before"] == clock.advance(seconds=60)
    due(db)
    assert pass_row(db)["pass_no"] == 2


def test_o48_a_wait_is_cut_short_when_something_falls_due(db: Connection, clock: Clock) -> None:
    """By the clock alone: the edit came inside the cooldown, and then it was quiet."""
    set_schema(db)
    fact(db, "set", user_id="u1", value="tea")
    build(db)
    fact(db, "set", user_id="u1", value="coffee")
    assert due(db) == {}
    clock.advance(seconds=599)
    assert due(db) == {}
    assert pass_row(db)["opened_at"] is None
    clock.advance(seconds=1)
    assert due(db) == {"main": 20}


def test_a_wait_is_cut_short_by_a_write_that_was_under_way(db: Connection, clock: Clock) -> None:
    """Its time is of before the pass ended; it was committed after that."""
    set_schema(db)
    fact(db, "set", user_id="u1", value="tea")
    db.execute("update loom.build set due_at = null")
    clock.advance(seconds=30)
    assert due(db) == {}
    db.execute("update loom.build set due_at = %s", (NOON,))
    assert due(db) == {"main": 20}


def _idle(db: Connection, clock: Clock) -> None:
    """A worker that has found nothing to do for two minutes, and will not look for eight more."""
    assert due(db) == {}
    clock.advance(seconds=120)
    assert due(db) == {}
    number = pass_row(db)["pass_no"]
    clock.advance(seconds=120)
    assert due(db) == {}
    assert pass_row(db)["pass_no"] == number


def test_a_wait_is_cut_short_by_a_schema(db: Connection, clock: Clock) -> None:
    set_schema(db)
    fact(db, "set", user_id="u1", value="tea")
    build(db)
    _idle(db, clock)
    set_schema(db, NAME_AND_CITY)
    assert due(db) == {"main": 20}


def test_a_wait_is_cut_short_by_model_calls_that_are_allowed(db: Connection, clock: Clock) -> None:
    set_schema(db)
    fact(db, "set", user_id="u1", value="tea")
    operate(db, "org.set_model_calls", org="acme", enabled=False)
    _idle(db, clock)
    operate(db, "org.set_model_calls", org="acme", enabled=True)
    assert due(db) == {"main": 20}


def test_a_wait_is_cut_short_when_a_namespaces_own_is_over(db: Connection, clock: Clock) -> None:
    digest = set_schema(db)
    fact(db, "set", user_id="u1", value="tea")
    fail_namespace(db, digest)
    clock.advance(seconds=120)
    assert due(db) == {}
    clock.advance(seconds=179)
    assert due(db) == {}
    clock.advance(seconds=1)
    assert due(db) == {"main": 20}


@pytest.mark.parametrize("why", ["cleared", "waiting", "model calls off", "cap"])
def test_what_cannot_be_taken_opens_no_pass_after_pass(
    db: Connection, clock: Clock, why: str
) -> None:
    digest = set_schema(db)
    fact(db, "set", user_id="u1", value="tea")
    if why == "cleared":
        set_schema(db, None)
    elif why == "waiting":
        settings(db, backoff_base_seconds=3600)
        fail_namespace(db, digest)
    elif why == "cap":
        cap(db, 5)
        used(db, 5)
    else:
        db.execute("insert into loom.org_setting values ('acme', false, now(), 'test')")
    clock.advance(seconds=120)
    assert due(db) == {}
    first = pass_row(db)
    assert (first["pass_no"], first["opened_at"]) == (1, None)
    clock.advance(seconds=599)
    assert due(db) == {}
    assert pass_row(db)["pass_no"] == 1
    # Another user's work opens one all the same.
    set_schema(db, org="beta")
    people(db, 1, org="beta")
    assert "beta/main" in due(db)


def test_a_namespace_whose_users_only_need_a_stamp_spends_nothing(db: Connection) -> None:
    set_schema(db)
    fact(db, "set", user_id="u1", value="tea")
    build(db)
    assert due(db) == {}
    set_schema(db, NAME_AND_CITY)
    set_schema(db)
    people(db, 30, namespace="other")
    set_schema(db, namespace="other")
    assert due(db) == {"main": 10, "other": 10}
    assert claim(db) == []
    assert status(db) == "ready"
    assert len(claim(db, namespace="other")) == 10
    assert due(db) == {"other": 10}


def test_a_leased_user_under_a_former_schema_keeps_no_share_from_others(db: Connection) -> None:
    for namespace, count in (("main", 1), ("other", 30)):
        set_schema(db, namespace=namespace)
        people(db, count, namespace=namespace)
    assert due(db) == {"main": 10, "other": 10}
    assert len(claim(db)) == 1
    set_schema(db, NAME_AND_CITY)
    assert len(claim(db, namespace="other")) == 10
    assert due(db) == {"other": 9}


def test_waits_and_passes_are_rows_and_outlive_a_worker(db: Connection, clock: Clock) -> None:
    """O53: another connection, another process: nothing starts over."""
    set_schema(db)
    fact(db, "set", user_id="u1", value="tea")
    for wait in (300, 600, 1200):
        fail(db, lease(db))
        db.execute("discard temp")
        clock.advance(seconds=wait - 1)
        assert take(db) == []
        clock.advance(seconds=1)
    assert build_row(db)["attempts"] == 3
    assert db.execute("select count(*) from loom.pass where kind = %s", (KIND,)).fetchone() == (1,)

"""Whose fold is due: nobody's while it is off, and everybody's bit by bit once it is on."""

from __future__ import annotations

from typing import Any

import pytest
from psycopg import sql
from psycopg.rows import dict_row
from psycopg.types.json import Jsonb

from tests.calls import Connection, acting_as, operate
from tests.databases import Clock
from tests.sql.facts import NOON, fact
from tests.sql.profile_fold.folding import (
    ROW,
    U1,
    build_row,
    fold,
    is_current,
    lease,
    prefers,
    row,
    switch,
    take,
)
from tests.sql.structured_profile.building import (
    FOLD,
    KIND,
    claim,
    complete,
    due,
    fail,
    finish,
    metrics,
    pass_row,
    read,
    rest,
    set_schema,
    settings,
)

_CROWD = """
select count(loom.memory_set(%(place)s || jsonb_build_object(
  'user_id', 'u' || n, 'memory_key', 'likes', 'memory_type', %(type)s::text, 'value', 'tea ' || n)))
from generate_series(1, %(count)s) as n
"""


@pytest.fixture(autouse=True)
def _noon(db: Connection, clock: Clock) -> None:
    clock.set(NOON)


def crowd(
    db: Connection,
    count: int,
    *,
    namespace: str = "main",
    org: str = "acme",
    memory_type: str = "preference",
) -> None:
    """One fact for each of so many users."""
    place = {"org": org, "namespace": namespace, "agent": "coder"}
    db.execute(_CROWD, {"place": Jsonb(place), "type": memory_type, "count": count})


def shown(db: Connection, view: str) -> list[dict[str, Any]]:
    """Rows of a view that are about folds."""
    query = sql.SQL("select * from {} where kind = %s order by org, namespace, user_id")
    with acting_as(db, "loom_test_operator"), db.cursor(row_factory=dict_row) as cursor:
        return cursor.execute(query.format(sql.Identifier("loom", view)), (FOLD,)).fetchall()


def _is_off(db: Connection) -> None:
    assert (due(db, FOLD), claim(db, kind=FOLD)) == ({}, [])
    assert (shown(db, "v_due"), shown(db, "v_backoff")) == ([], [])
    told = metrics(db, FOLD)
    assert (told["due"], told["oldest_due_seconds"], told["claims"]) == (0, None, 0)


# Switched off.


def test_it_is_off_and_then_nothing_is_due_whatever_is_written(
    db: Connection, clock: Clock
) -> None:
    prefers(db)
    prefers(db, "coffee")
    prefers(db, "fish", memory_key="food", ttl_seconds=60)
    _is_off(db)
    clock.advance(days=1)
    prefers(db, "meat", memory_key="food")
    _is_off(db)
    assert row(db)["found"] is False
    # All that is kept: that there is such a user.
    kept = build_row(db)
    assert (kept["due_at"], kept["listed_at"], kept["schema_rev"]) == (None, None, 0)


def test_a_profile_schema_does_not_switch_it_on(db: Connection) -> None:
    set_schema(db)
    prefers(db)
    _is_off(db)


# Switched on.


@pytest.mark.parametrize("written", ["before", "after"])
def test_on_a_preference_is_due_at_once_and_in_no_need_of_a_schema(
    db: Connection, written: str
) -> None:
    if written == "before":
        prefers(db)
    switch(db)
    if written == "after":
        prefers(db)
    (told,) = shown(db, "v_due")
    assert (told["user_id"], told["reasons"], told["held"]) == ("u1", ["new"], None)
    assert metrics(db, FOLD)["due"] == 1
    assert metrics(db, FOLD)["oldest_due_seconds"] == 0
    assert metrics(db, KIND)["oldest_due_seconds"] is None
    assert take(db) == ["u1"]


def test_users_that_were_there_become_due_in_batches_and_each_is_folded_once(
    db: Connection, clock: Clock
) -> None:
    crowd(db, 45)
    crowd(db, 30, namespace="second")
    crowd(db, 30, org="zenith")
    crowd(db, 40, namespace="third", memory_type="semantic")
    switch(db)
    folded: list[tuple[str, str, str]] = []
    passes = []
    while places := due(db, FOLD):
        passes.append(pass_row(db, FOLD)["pass_no"])
        for place in places:
            org, _, namespace = place.rpartition("/")
            for taken in claim(db, namespace=namespace, org=org or "acme", kind=FOLD):
                finish(db, taken, "Likes tea.")
                folded.append((taken.org, taken.namespace, taken.user_id))
    assert len(folded) == len(set(folded)) == 105
    for number in set(passes):
        assert passes.count(number) <= 3
    # No more than 20 a pass, shared by the namespaces.
    assert len(set(passes)) == 6
    assert (shown(db, "v_due"), metrics(db, FOLD)["builds"]) == ([], {"written": 105})
    built = shown(db, "v_builds")
    assert {(each["schema_current"], each["sources_current"]) for each in built} == {(True, True)}


def test_a_namespace_has_its_share_of_a_pass(db: Connection) -> None:
    crowd(db, 30)
    crowd(db, 30, namespace="second")
    switch(db, max_users_per_pass=10)
    assert due(db, FOLD) == {"main": 5, "second": 5}


def test_what_changed_while_it_was_off_is_found_when_it_is_on_again(
    db: Connection, clock: Clock
) -> None:
    switch(db)
    crowd(db, 4)
    due(db, FOLD)
    for taken in claim(db, kind=FOLD):
        finish(db, taken, "Likes tea.")
    switch(db, enabled=False)
    clock.advance(hours=1)
    prefers(db, "coffee", user_id="u1")
    fact(db, "delete", user_id="u2")
    fact(db, "delete", **{**ROW, "user_id": "u3"})
    prefers(db, "new", user_id="u9")
    _quiet(db)
    switch(db)
    assert sorted(take(db)) == ["u1", "u2", "u3", "u9"]
    assert is_current(db, "u4")


def _quiet(db: Connection) -> None:
    assert (due(db, FOLD), claim(db, kind=FOLD), shown(db, "v_due")) == ({}, [], [])
    assert metrics(db, FOLD)["due"] == 0


def test_what_was_cut_off_waits_also_where_there_are_other_facts(db: Connection) -> None:
    switch(db)
    prefers(db)
    fact(db, "set", **U1, memory_key="home", value="Ulm")
    taken = lease(db)
    read(db, taken)
    fail(db, taken, "cut_off", "CUT_OFF")
    assert (build_row(db)["refused"], take(db)) == ("CUT_OFF", [])


def test_a_refusal_from_before_it_was_off_is_over(db: Connection, clock: Clock) -> None:
    switch(db)
    prefers(db)
    fail(db, lease(db), "cut_off", "CUT_OFF")
    rest(db, clock, 600, FOLD)
    switch(db, enabled=False)
    switch(db)
    assert take(db) == ["u1"]


def test_switched_on_again_nobody_is_folded_anew_for_it(db: Connection, clock: Clock) -> None:
    switch(db)
    prefers(db)
    fact(db, "set", **U1, memory_key="home", value="Ulm")  # of no concern to a fold
    fold(db)
    for enabled in (False, True):
        switch(db, enabled=enabled)
    clock.advance(days=1)
    assert (metrics(db, FOLD)["oldest_due_seconds"], shown(db, "v_due")) == (None, [])
    assert (take(db), build_row(db)["schema_rev"]) == ([], 2)


def test_switched_off_under_a_lease_nothing_is_written(db: Connection) -> None:
    prefers(db)
    switch(db)
    taken = lease(db)
    switch(db, enabled=False)
    assert read(db, taken)["current"] is False
    told = complete(db, taken, "Likes tea.")
    assert (told["outcome"], told["reason"]) == ("requeued", "SWITCHED_OFF")
    _quiet(db)


def test_the_clock_alone_makes_a_fold_due_whose_first_source_comes_by_it(
    db: Connection, clock: Clock
) -> None:
    """A high row holds back the one that says the same, until it expires; nobody writes then."""
    fact(
        db,
        "set",
        **{**U1, "memory_key": "a", "value": "tea", "memory_type": "preference"},
        **{"sensitivity": "high", "ttl_seconds": 60},
    )
    clock.advance(seconds=1)
    prefers(db, "tea", memory_key="b")
    switch(db)
    assert take(db) == []
    clock.advance(hours=1)
    assert take(db) == ["u1"]


def test_an_org_without_model_calls_has_no_folds(db: Connection) -> None:
    prefers(db)
    switch(db)
    operate(db, "org.set_model_calls", org="acme", enabled=False)
    assert take(db) == []
    assert [each["held"] for each in shown(db, "v_due")] == ["model_calls_off"]
    operate(db, "org.set_model_calls", org="acme", enabled=True)
    assert take(db) == ["u1"]


def test_who_waits_is_shown_by_kind(db: Connection, clock: Clock) -> None:
    clock.release()  # the view has the real one
    set_schema(db)
    switch(db)
    settings(db, KIND, backoff_base_seconds=1)  # each kind has its own
    prefers(db)
    fail(db, lease(db))
    (told,) = shown(db, "v_backoff")
    assert (told["user_id"], told["attempts"], told["last_error"]) == ("u1", 1, "PROVIDER_ERROR")
    assert told["until"] == build_row(db)["next_attempt_at"]


def test_another_recipe_makes_everyone_due_by_the_revision(db: Connection, clock: Clock) -> None:
    """As a release would that changes what a fold is to say."""
    switch(db)
    crowd(db, 3)
    due(db, FOLD)
    for taken in claim(db, kind=FOLD):
        finish(db, taken, "Likes tea.")
    rest(db, clock, 600, FOLD)
    db.execute(
        "update loom.work_kind set recipe = 'fold-2', recipe_rev = recipe_rev + 1 where kind = %s",
        (FOLD,),
    )
    assert [each["reasons"] for each in shown(db, "v_due")] == [["schema"]] * 3
    assert len(take(db)) == 3

"""loom.user_profile_merge: what the in-memory merge says of any profile and delta, in any order."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from psycopg.types.json import Jsonb

from loom.profile import FactOp, ProfileDelta, UserProfile, merge
from loom.profile.merge import same_content
from loom.profile.model import content_of, wire_of
from tests.calls import Answer, Connection
from tests.profile.random_profiles import delta, profile

COUNT = 4000
EMPTY = content_of(UserProfile("u1"))


def merged(conn: Connection, pairs: list[tuple[Answer, Answer]]) -> list[Answer]:
    """What the database makes of profiles and deltas."""
    rows = conn.execute(
        "select loom.user_profile_merge(pair -> 0, pair -> 1)"
        " from jsonb_array_elements(%s) with ordinality as pairs (pair, place) order by place",
        (Jsonb(pairs),),
    )
    return [row for (row,) in rows]


def facts(conn: Connection, before: dict[str, str], *ops: tuple[str, ...]) -> list[tuple[str, str]]:
    """The facts that operations leave, in their order."""
    told = [dict(zip(("op", "key", "value"), op, strict=False)) for op in ops]
    (found,) = merged(conn, [(content_of(UserProfile("u1", facts=before)), {"fact_ops": told})])
    return [(fact["key"], fact["value"]) for fact in found["facts"]]


@pytest.mark.parametrize("seed", range(3))
def test_it_equals_the_merge_in_memory_of_thousands_of_pairs(db: Connection, seed: int) -> None:
    random = Random(seed)
    pairs = [(profile(random), delta(random)) for _ in range(COUNT)]
    found = merged(db, [(content_of(one), wire_of(told)) for one, told in pairs])
    for (one, told), in_sql in zip(pairs, found, strict=True):
        in_memory = merge(one, told)
        assert in_sql == content_of(in_memory), (one, told)
        assert (in_sql != content_of(one)) == (in_memory is not one), (one, told)


def test_it_equals_the_merge_in_memory_along_long_histories(db: Connection) -> None:
    random = Random(7)
    one = UserProfile("u1")
    stored = EMPTY
    for _ in range(300):
        told = delta(random)
        one = merge(one, told)
        (stored,) = merged(db, [(stored, wire_of(told))])
        assert stored == content_of(one)


def test_o28_the_same_delta_again_changes_nothing(db: Connection) -> None:
    random = Random(11)
    for _ in range(300):
        told = delta(random)
        # One that forgets a fact and adds it anew moves it to the end, also when it is there alone.
        once = merge(profile(random), told)
        twice = merge(once, told)
        (again,) = merged(db, [(content_of(once), wire_of(told))])
        assert again == content_of(twice)
        forgotten = {op.key for op in told.fact_ops if op.op == "forget"}
        if not forgotten:
            assert same_content(once, twice)


@pytest.mark.parametrize(
    "nothing",
    [
        *({}, {"fact_ops": None}, {"fact_ops": []}, {"traits": None}, {"traits": {}}),
        *({"traits": {"style": None, "verbosity": ""}}, {"preferences": {"format": None}}),
        *({"preferences": {"language": ""}}, {"topics": None}, {"summary": None}, {"summary": ""}),
        {"fact_ops": [{"op": "update", "key": "name", "value": ""}]},
        {"fact_ops": [{"op": "add", "key": "name", "value": None}, {"op": "add", "key": "name"}]},
        {"fact_ops": [{"op": "forget", "key": "unknown"}]},
    ],
)
def test_o23_null_and_empty_say_nothing(db: Connection, nothing: Any) -> None:
    whole = profile(Random(1))
    whole.facts["name"] = "Sam"
    full = content_of(whole)
    assert merged(db, [(full, nothing)]) == [full]


def test_o22_what_a_delta_does_not_speak_of_stays(db: Connection) -> None:
    before = {"name": "Sam", "role": "dev"}
    assert facts(db, before, ("add", "city", "Bonn")) == [*before.items(), ("city", "Bonn")]


def test_a_fact_that_changes_keeps_its_place(db: Connection) -> None:
    assert facts(db, {"a": "1", "b": "2"}, ("update", "a", "9")) == [("a", "9"), ("b", "2")]


def test_a_fact_that_was_forgotten_and_comes_back_stands_last(db: Connection) -> None:
    ops = (("forget", "a"), ("add", "a", "1"))
    assert facts(db, {"a": "1", "b": "2"}, *ops) == [("b", "2"), ("a", "1")]


def test_operations_count_in_their_order(db: Connection) -> None:
    ops = (
        ("add", "c", "3"),
        ("add", "a", "2"),
        ("forget", "c"),
        ("add", "d", "4"),
        ("add", "a", "5"),
    )
    assert facts(db, {"b": "1"}, *ops) == [("b", "1"), ("a", "5"), ("d", "4")]


def test_no_topics_keep_those_of_before_and_an_empty_list_clears_them(db: Connection) -> None:
    full = content_of(UserProfile("u1"))
    full["preferences"]["topics"] = ["sql", "go"]
    pairs = [(full, {"topics": topics}) for topics in (None, [], ["go", "", "go", "rust"])]
    found = [each["preferences"]["topics"] for each in merged(db, pairs)]
    assert found == [["sql", "go"], [], ["go", "rust"]]


def test_it_is_immutable_and_for_no_client(db: Connection) -> None:
    row = db.execute(
        "select provolatile::text, has_function_privilege('loom_admin', oid, 'execute')"
        " from pg_proc where oid = 'loom.user_profile_merge(jsonb, jsonb)'::regprocedure"
    ).fetchone()
    assert row == ("i", False)


def test_the_in_memory_merge_gives_the_same_profile_when_nothing_changes() -> None:
    one = UserProfile("u1", facts={"a": "1"}, version=3)
    assert merge(one, ProfileDelta(fact_ops=[FactOp("add", "a", "1")], source="llm")) is one
    changed = merge(one, ProfileDelta(fact_ops=[FactOp("forget", "a")]), now="now")
    assert (changed.version, changed.facts, changed.updated_at) == (4, {}, "now")
    assert one.facts == {"a": "1"}

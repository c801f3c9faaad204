"""memory.label: tags and sensitivity of a row, its value left alone."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest

from tests.calls import Answer, operate, refused
from tests.databases import Clock
from tests.sql.facts import NOON, changes, fact, hash_of

Connection = psycopg.Connection[Any]


@pytest.fixture(autouse=True)
def _noon(clock: Clock) -> None:
    clock.set(NOON)


def tags(db: Connection) -> list[str]:
    return fact(db, "get")["tags"]  # type: ignore[no-any-return]


def test_a_label_is_a_new_version_with_the_same_content_that_does_not_date_it_anew(
    db: Connection, clock: Clock
) -> None:
    fact(db, "set", value="x", tags=["b"], source_trace="chat:1")
    clock.advance(seconds=5)
    receipt = fact(db, "label", tags={"add": ["c", "a"]}, sensitivity="high")
    assert (receipt["version"], receipt["noop"], receipt["created"]) == (2, False, False)
    assert receipt["content_sha256"] == hash_of("x")
    got = fact(db, "get")
    assert (got["tags"], got["sensitivity"]) == (["a", "b", "c"], "high")
    assert (got["value"], got["source_trace"]) == ("x", "chat:1")
    assert got["changed_at"] == "2026-03-01T12:00:00.000000Z"
    assert got["updated_at"] == "2026-03-01T12:00:05.000000Z"
    assert changes(db) == ["set", "label"]


@pytest.mark.parametrize(
    ("change", "after"),
    [
        ({"add": ["c"]}, ["a", "b", "c"]),
        ({"add": ["a", "a"]}, ["a", "b"]),
        ({"remove": ["a"]}, ["b"]),
        ({"remove": ["a", "z"]}, ["b"]),
        ({"remove": ["a", "b"]}, []),
        ({"replace": ["z", "y"]}, ["y", "z"]),
        ({"replace": []}, []),
        ({"replace": ["z"], "add": ["y"], "remove": ["z"]}, ["y"]),
        ({"add": ["c"], "remove": ["c"]}, ["a", "b"]),
        ({"add": None, "remove": None, "replace": None}, ["a", "b"]),
        ({"add": [], "remove": []}, ["a", "b"]),
        ({}, ["a", "b"]),
        (None, ["a", "b"]),
    ],
)
def test_tags_are_replaced_then_added_to_then_taken_from(
    db: Connection, change: Answer | None, after: list[str]
) -> None:
    fact(db, "set", value="x", tags=["a", "b"])
    receipt = fact(db, "label", tags=change)
    assert tags(db) == after
    assert receipt["noop"] is (after == ["a", "b"])
    assert receipt["version"] == 1 + (not receipt["noop"])


def test_the_same_sensitivity_or_none_changes_nothing(db: Connection) -> None:
    fact(db, "set", value="x", sensitivity="low")
    for sensitivity in (None, "low"):
        assert fact(db, "label", sensitivity=sensitivity)["noop"] is True
    assert fact(db, "label")["noop"] is True
    assert changes(db) == ["set"]


def test_a_row_has_at_most_fifty_tags_after_it(db: Connection) -> None:
    fact(db, "set", value="x", tags=[f"tag{number}" for number in range(49)])
    fact(db, "label", tags={"add": ["fiftieth"]})
    with refused(db, "LM406") as refusal:
        fact(db, "label", tags={"add": ["one more"]})
    assert refusal.detail == {"what": "tags", "limit": 50, "value": 51}
    fact(db, "label", tags={"add": ["one more"], "remove": ["fiftieth"]})


@pytest.mark.parametrize("part", ["add", "remove", "replace"])
def test_each_part_is_a_list_of_tags(db: Connection, part: str) -> None:
    fact(db, "set", value="x")
    wrongs: list[Any] = ["a", 1, {}, [1], [None]]
    for wrong in wrongs:
        with refused(db, "LM001") as refusal:
            fact(db, "label", tags={part: wrong})
        assert refusal.detail == {"field": part, "reason": "must be a list of strings"}
    for too_much in ([""], ["x" * 101], [f"{number}" for number in range(51)]):
        with refused(db, "LM406") as refusal:
            fact(db, "label", tags={part: too_much})
        assert refusal.detail["what"] == part


@pytest.mark.parametrize("wrong", [["a"], "a", 1, True])
def test_tags_are_an_object(db: Connection, wrong: Any) -> None:
    fact(db, "set", value="x")
    with refused(db, "LM001") as refusal:
        fact(db, "label", tags=wrong)
    assert refusal.detail["field"] == "tags"


def test_an_unknown_part_is_refused_by_name(db: Connection) -> None:
    fact(db, "set", value="x")
    with refused(db, "LM001") as refusal:
        fact(db, "label", tags={"add": ["a"], "set": ["b"]})
    assert refusal.detail["field"] == "set"
    with refused(db, "LM001") as refusal:
        fact(db, "label", sensitivity="secret")
    assert refusal.detail["field"] == "sensitivity"


@pytest.mark.parametrize("state", ["absent", "deleted", "redacted", "expired"])
def test_only_a_current_row_is_labelled(db: Connection, clock: Clock, state: str) -> None:
    if state != "absent":
        fact(db, "set", value="x", ttl_seconds=60)
    if state == "deleted":
        fact(db, "delete")
    if state == "redacted":
        fact(db, "redact", reason="r")
    clock.advance(seconds=61)
    with refused(db, "LM102"):
        fact(db, "label", sensitivity="high")


def test_a_blacklisted_tag_is_refused(db: Connection) -> None:
    fact(db, "set", value="x", tags=["old"])
    operate(db, "blacklist.add", org="acme", namespace="main", pattern="fruit", reason="no")
    with refused(db, "LM407") as refusal:
        fact(db, "label", tags={"add": ["FRUITS"]})
    assert refusal.detail == {"reason": "no"}
    assert tags(db) == ["old"]

"""The same value under several keys of an identity: one canonical row, and its duplicates."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest

from tests.databases import Clock
from tests.sql.facts import NOON, fact

Connection = psycopg.Connection[Any]

SAME = {"a": 1, "b": [2]}


@pytest.fixture(autouse=True)
def _noon(clock: Clock) -> None:
    clock.set(NOON)


def twins(db: Connection, clock: Clock, *keys: str, **fields: Any) -> dict[str, str]:
    """Writes the same value under keys, one second after the other; the ids by key."""
    made = {}
    for key in keys:
        clock.advance(seconds=1)
        receipt = fact(db, "set", memory_key=key, **{"value": SAME, **fields})
        made[key] = receipt["memory_id"]
    return made


def duplicates(db: Connection, ids: dict[str, str]) -> dict[str, str | None]:
    """Of each key that is found, the key that it repeats, by get; held to what a list says."""
    names = {memory_id: key for key, memory_id in ids.items()}
    found = {}
    for key, memory_id in ids.items():
        got = fact(db, "get", memory_id=memory_id)
        if got["found"]:
            twin = got["duplicate_of"]
            found[key] = None if twin is None else names[twin]
            assert got["status"] == ("current" if twin is None else "duplicate")
    listed = fact(db, "list", read_scope="namespace")["items"]
    assert {names[item["memory_id"]]: item["duplicate_of"] for item in listed} == {
        key: None if twin is None else ids[twin] for key, twin in found.items()
    }
    return found


def test_o14_a_twin_names_the_oldest_and_stays_readable(db: Connection, clock: Clock) -> None:
    ids = twins(db, clock, "first")
    clock.advance(seconds=1)
    receipt = fact(db, "set", memory_key="second", value={"b": [2.0], "a": 1})
    assert (receipt["status"], receipt["duplicate_of"]) == ("duplicate", ids["first"])
    assert (receipt["created"], receipt["version"]) == (True, 1)
    got = fact(db, "get", memory_key="second")
    assert (got["found"], got["value"], got["status"]) == (True, SAME, "duplicate")
    assert duplicates(db, {**ids, "second": got["memory_id"]}) == {
        "first": None,
        "second": "first",
    }


def test_all_twins_name_the_same_row(db: Connection, clock: Clock) -> None:
    ids = twins(db, clock, "one", "two", "three")
    assert duplicates(db, ids) == {"one": None, "two": "one", "three": "one"}


def test_twins_of_one_instant_have_one_canonical_row(db: Connection) -> None:
    ids = {key: fact(db, "set", memory_key=key, value=SAME)["memory_id"] for key in ("x", "y", "z")}
    canonical = min(ids, key=lambda key: ids[key])
    assert duplicates(db, ids) == {key: None if key == canonical else canonical for key in ids}


@pytest.mark.parametrize("how", ["delete", "redact", "value", "type"])
def test_when_the_canonical_row_ends_by_a_write_its_oldest_twin_takes_its_place(
    db: Connection, clock: Clock, how: str
) -> None:
    ids = twins(db, clock, "one", "two", "three")
    left: dict[str, str | None] = {"two": None, "three": "two"}
    match how:
        case "delete":
            fact(db, "delete", memory_key="one")
        case "redact":
            fact(db, "redact", memory_key="one", reason="r")
        case "value":
            fact(db, "set", memory_key="one", value="another")
            left["one"] = None
        case "type":
            fact(db, "set", memory_key="one", value=SAME, memory_type="decision")
            left["one"] = None
    assert duplicates(db, ids) == left


def test_when_the_canonical_row_expires_its_oldest_twin_takes_its_place(
    db: Connection, clock: Clock
) -> None:
    ids = twins(db, clock, "one", ttl_seconds=60) | twins(db, clock, "two", "three")
    clock.advance(seconds=57, microseconds=999_999)
    assert duplicates(db, ids) == {"one": None, "two": "one", "three": "one"}
    clock.advance(microseconds=1)
    assert duplicates(db, ids) == {"two": None, "three": "two"}
    # Nothing was written: the clock alone did it.
    rows = db.execute("select distinct version from loom.memory").fetchall()
    assert rows == [(1,)]


def test_a_restored_row_takes_its_old_place(db: Connection, clock: Clock) -> None:
    ids = twins(db, clock, "one", "two")
    fact(db, "delete", memory_key="one")
    receipt = fact(db, "restore", memory_key="one")
    assert receipt["duplicate_of"] is None
    assert duplicates(db, ids) == {"one": None, "two": "one"}


def test_a_row_that_says_the_same_only_now_is_placed_by_its_own_age(
    db: Connection, clock: Clock
) -> None:
    ids = twins(db, clock, "old", value="another") | twins(db, clock, "one", "two")
    assert fact(db, "set", memory_key="old", value=SAME)["duplicate_of"] is None
    assert duplicates(db, ids) == {"old": None, "one": "old", "two": "old"}


def test_a_duplicate_that_ends_changes_nothing_for_the_others(db: Connection, clock: Clock) -> None:
    ids = twins(db, clock, "one", "two", "three")
    fact(db, "delete", memory_key="two")
    assert duplicates(db, ids) == {"one": None, "three": "one"}


@pytest.mark.parametrize(
    "other",
    [
        {"user_id": "u"},
        {"session_id": "s"},
        {"agent": "a"},
        {"namespace": "n"},
        {"org": "o"},
        {"memory_type": "decision"},
        {"memory_type": "profile"},
        {"value": {"a": 1, "b": [2, 3]}},
        {"value": {"a": "1", "b": [2]}},
    ],
    ids=str,
)
def test_another_identity_type_or_value_makes_no_twin(
    db: Connection, clock: Clock, other: dict[str, Any]
) -> None:
    fact(db, "set", memory_key="one", value=SAME)
    clock.advance(seconds=1)
    receipt = fact(db, "set", **{"memory_key": "two", "value": SAME, **other})
    assert (receipt["status"], receipt["duplicate_of"]) == ("current", None)


def test_every_write_of_a_duplicate_says_that_it_is_one(db: Connection, clock: Clock) -> None:
    ids = twins(db, clock, "one", "two")
    named = {"memory_key": "two"}
    for verb, fields in (
        ("set", {"value": SAME}),
        ("set", {"value": SAME, "tags": ["t"]}),
        ("set", {"value": SAME, "dry_run": True}),
        ("pin", {}),
        ("label", {"sensitivity": "high"}),
        ("lock", {"reason": "r"}),
        ("unlock", {}),
        ("revert", {"version": 1}),
    ):
        receipt = fact(db, verb, **named, **fields)
        assert (receipt["status"], receipt["duplicate_of"]) == ("duplicate", ids["one"]), verb
    clock.advance(seconds=1)
    dry = fact(db, "set", memory_key="three", value=SAME, dry_run=True)
    assert dry["duplicate_of"] == ids["one"]


def test_a_dry_run_says_that_a_row_which_counts_now_would_repeat_another(
    db: Connection, clock: Clock
) -> None:
    ids = twins(db, clock, "one")
    clock.advance(seconds=1)
    fact(db, "set", memory_key="two", value="a text of its own")
    told = [
        fact(db, "set", memory_key="two", value=SAME, dry_run=dry_run) for dry_run in (True, False)
    ]
    assert [(each["status"], each["duplicate_of"]) for each in told] == [
        ("duplicate", ids["one"])
    ] * 2


def test_a_row_that_is_not_current_is_nobodys_duplicate(db: Connection, clock: Clock) -> None:
    twins(db, clock, "one")
    clock.advance(seconds=1)
    receipt = fact(db, "set", memory_key="two", value=SAME, expires_at="2020-01-01T00:00:00Z")
    assert (receipt["status"], receipt["duplicate_of"]) == ("expired", None)

"""How long a value may be: its canonical JSON against the limit of its row, by every door."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest

from tests.calls import refused
from tests.sql.doors import DOORS, IDENTITY
from tests.sql.facts import KEY, LABEL, fact, section, value_of
from tests.sql.texts import UNITS, exactly

Connection = psycopg.Connection[Any]

MOST = {"semantic": 262_144, "profile": 65_536}
"""The largest limit of a memory row, and of one of type profile."""

QUOTES = 2
"""What a text is longer as JSON than by itself."""


def overage(length: int, limit: int) -> dict[str, int]:
    return {"value_length": length, "char_limit": limit, "overage": length - limit}


@pytest.mark.parametrize("memory_type", MOST)
def test_the_largest_limit_takes_exactly_its_length_and_not_one_more(
    db: Connection, memory_type: str
) -> None:
    limit = MOST[memory_type]
    value = exactly(limit - QUOTES)
    row = {"memory_type": memory_type, "char_limit": limit}
    receipt = fact(db, "set", value=value, **row)
    assert (receipt["value_length"], receipt["fill_ratio"]) == (limit, 1)
    assert value_of(db) == value
    with refused(db, "LM402") as refusal:
        fact(db, "set", value=value + "x", **row)
    assert refusal.detail == overage(limit + 1, limit)


@pytest.mark.parametrize("unit", UNITS.values(), ids=UNITS)
def test_o37_a_section_takes_exactly_8192_code_points_of_json(db: Connection, unit: str) -> None:
    value = exactly(8192 - QUOTES, unit)
    receipt = section(db, "set", value=value)
    assert (receipt["value_length"], receipt["char_limit"]) == (8192, 8192)
    with refused(db, "LM402") as refusal:
        section(db, "set", value=exactly(8193 - QUOTES, unit))
    assert refusal.detail == overage(8193, 8192)
    assert refusal.hint


@pytest.mark.parametrize(
    ("value", "length"),
    [
        ("\n" * 4095, 8192),
        ('"' * 4095, 8192),
        ("\x01" * 1365, 8192),
        ({"k": exactly(8184)}, 8192),
        ([exactly(4094), exactly(4091)], 8192),
        ([1.0] * 4095 + [12], 8194),
        ([1e20] * 372, 8185),
    ],
    ids=["newlines", "quotes", "controls", "object", "list", "numbers", "large numbers"],
)
def test_the_length_is_that_of_the_json_where_it_is_longer_than_the_text(
    db: Connection, value: Any, length: int
) -> None:
    receipt = section(db, "set", value=value, char_limit=length)
    assert (receipt["value_length"], receipt["fill_ratio"]) == (length, 1)
    with refused(db, "LM402") as refusal:
        section(db, "set", value=value, char_limit=length - 1)
    assert refusal.detail == overage(length, length - 1)


def test_a_value_has_at_most_256_kib_whatever_its_characters(db: Connection) -> None:
    value = exactly(262_144 // 4, "😀")[:-1] + "xx"  # with its quotes exactly 262,144 bytes
    receipt = fact(db, "set", value=value)
    assert receipt["value_length"] < receipt["char_limit"]
    with refused(db, "LM406") as refusal:
        fact(db, "set", value=value + "x")
    assert refusal.detail == {"what": "value", "limit": 262_144, "value": 262_145, "unit": "bytes"}
    assert value_of(db) == value


@pytest.mark.parametrize("memory_type", MOST)
@pytest.mark.parametrize("limit", [0, -1, "one over", 2**53, 10**30])
def test_a_limit_out_of_range_is_refused(
    db: Connection, memory_type: str, limit: int | str
) -> None:
    named = MOST[memory_type] + 1 if isinstance(limit, str) else limit
    with refused(db, "LM406") as refusal:
        fact(db, "set", value=1, memory_type=memory_type, char_limit=named)
    assert refusal.detail["what"] == "char_limit"
    assert refusal.detail["limit"] == MOST[memory_type]
    assert refusal.detail["value"] == min(named, 2**53 - 1)


def test_o2_a_value_is_checked_against_the_limit_that_comes_with_it(db: Connection) -> None:
    fact(db, "set", value="short", char_limit=10)
    receipt = fact(db, "set", value=exactly(18), char_limit=20)
    assert (receipt["value_length"], receipt["char_limit"]) == (20, 20)


def test_o3_a_refused_set_leaves_value_and_limit_as_they_were(db: Connection) -> None:
    fact(db, "set", value="short", char_limit=10, tags=["a"])
    before = fact(db, "get")
    with refused(db, "LM402"):
        fact(db, "set", value=exactly(19), char_limit=20, tags=["b"])
    assert fact(db, "get") == before


def test_a_lower_limit_needs_a_value_that_fits_it(db: Connection) -> None:
    fact(db, "set", value="12345678", char_limit=10)
    with refused(db, "LM402") as refusal:
        fact(db, "set", value="12345678", char_limit=4)
    assert refusal.detail == overage(10, 4)
    assert fact(db, "set", value="12", char_limit=4)["fill_ratio"] == 1


def test_a_row_without_a_limit_of_its_own_has_that_of_its_type(db: Connection) -> None:
    assert fact(db, "set", value=1)["char_limit"] == 262_144
    assert fact(db, "set", value=1, memory_key="p", memory_type="profile")["char_limit"] == 8192
    assert section(db, "set", value=1)["char_limit"] == 8192
    assert section(db, "append", label="new", addition="x")["char_limit"] == 8192


def test_a_fact_that_becomes_a_section_has_a_sections_largest_limit(db: Connection) -> None:
    fact(db, "set", value=exactly(65_536 - QUOTES))
    receipt = fact(db, "set", value=exactly(65_536 - QUOTES), memory_type="profile")
    assert (receipt["char_limit"], receipt["fill_ratio"]) == (65_536, 1)


def test_a_fact_too_long_for_a_section_does_not_become_one(db: Connection) -> None:
    fact(db, "set", value=exactly(65_537 - QUOTES))
    with refused(db, "LM402") as refusal:
        fact(db, "set", value=exactly(65_537 - QUOTES), memory_type="profile")
    assert refusal.detail == overage(65_537, 65_536)
    assert fact(db, "get")["memory_type"] == "semantic"


def test_a_small_limit_stays_when_the_type_changes(db: Connection) -> None:
    fact(db, "set", value=1, char_limit=100)
    assert fact(db, "set", value=1, memory_type="profile")["char_limit"] == 100
    assert fact(db, "set", value=1, memory_type="semantic")["char_limit"] == 100


def test_a_section_has_its_limits_by_memory_set_too(db: Connection) -> None:
    section(db, "set", value="x")
    with refused(db, "LM402") as refusal:
        fact(db, "set", memory_key=LABEL, value=exactly(8193 - QUOTES))
    assert refusal.detail == overage(8193, 8192)
    with refused(db, "LM406") as refusal:
        fact(db, "set", memory_key=LABEL, value="x", char_limit=65_537)
    assert refusal.detail["limit"] == 65_536
    # Unless the same call makes it a fact.
    receipt = fact(
        db, "set", memory_key=LABEL, value=exactly(9000), char_limit=65_537, memory_type="semantic"
    )
    assert receipt["char_limit"] == 65_537


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize(
    ("op", "fields"),
    [
        ("memory.set", {"memory_key": LABEL, "value": exactly(8191)}),
        ("profile.set", {"label": LABEL, "value": exactly(8191)}),
        ("profile.append", {"label": LABEL, "addition": exactly(8188)}),
        ("profile.replace", {"label": LABEL, "old": "x", "new": exactly(8191)}),
        ("profile.append", {"label": "new", "addition": exactly(8191)}),
        ("memory.revert", {"memory_key": KEY, "version": 1}),
    ],
    ids=["memory.set", "profile.set", "append", "replace", "append to none", "revert"],
)
def test_o1_no_door_and_no_operation_writes_over_the_limit(
    db: Connection, door: str, op: str, fields: dict[str, Any]
) -> None:
    section(db, "set", value="x")
    fact(db, "set", value=exactly(70_000))
    fact(db, "set", value="x", char_limit=65_536)
    before = fact(db, "get", memory_key=LABEL)
    if op == "memory.revert":  # an older version brings its own limit with it
        assert DOORS[door](db, op, **IDENTITY, **fields)["char_limit"] == 262_144
        return
    with refused(db, "LM402") as refusal:
        DOORS[door](db, op, **IDENTITY, **fields)
    assert refusal.detail == overage(8193, 8192)
    assert fact(db, "get", memory_key=LABEL) == before


def test_o1_the_table_itself_refuses_what_is_over_the_limit(db: Connection) -> None:
    fact(db, "set", value="x", char_limit=10)
    for change in (
        b"value_length = 11",
        b"char_limit = 262145",
        b"value = null",
        b"char_limit = 0",
    ):
        with refused(db, "23514"):
            db.execute(b"update loom.memory set " + change)

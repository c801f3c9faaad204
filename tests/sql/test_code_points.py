"""Lengths are code points everywhere: blocks exactly at and one over their limit."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest

from tests.calls import refused
from tests.sql.doors import DOORS, wm
from tests.sql.texts import UNITS, exactly, sha256, xml_blocks

Connection = psycopg.Connection[Any]

LIMITS = (4096, 16384)


@pytest.mark.parametrize("limit", LIMITS)
@pytest.mark.parametrize("unit", UNITS.values(), ids=UNITS)
def test_o37_a_set_takes_exactly_the_limit_and_not_one_more(
    db: Connection, unit: str, limit: int
) -> None:
    text = exactly(limit, unit)
    receipt = wm(db, "set", content=text, char_limit=limit)
    assert (receipt["value_length"], receipt["fill_ratio"]) == (limit, 1)
    assert receipt["content_sha256"] == sha256(text)
    assert wm(db, "get")["content"] == text
    assert xml_blocks(wm(db, "render")["text"]) == [("scratchpad", text)]
    with refused(db, "LM401") as refusal:
        wm(db, "set", content=exactly(limit + 1, unit), char_limit=limit)
    assert refusal.detail == {"value_length": limit + 1, "char_limit": limit, "overage": 1}


@pytest.mark.parametrize("limit", LIMITS)
@pytest.mark.parametrize("unit", UNITS.values(), ids=UNITS)
def test_o37_an_append_takes_exactly_the_limit_and_not_one_more(
    db: Connection, unit: str, limit: int
) -> None:
    wm(db, "set", content=exactly(limit - 10, unit), char_limit=limit)
    with refused(db, "LM401") as refusal:
        wm(db, "append", addition=exactly(10, unit))
    assert refusal.detail == {"value_length": limit + 1, "char_limit": limit, "overage": 1}
    receipt = wm(db, "append", addition=exactly(9, unit))
    assert (receipt["value_length"], receipt["fill_ratio"]) == (limit, 1)


@pytest.mark.parametrize("limit", LIMITS)
@pytest.mark.parametrize("unit", UNITS.values(), ids=UNITS)
def test_o37_a_replace_takes_exactly_the_limit_and_not_one_more(
    db: Connection, unit: str, limit: int
) -> None:
    wm(db, "set", content=exactly(limit - 10, unit) + "@", char_limit=limit)
    with refused(db, "LM401") as refusal:
        wm(db, "replace", old="@", new=exactly(11, unit))
    assert refusal.detail == {"value_length": limit + 1, "char_limit": limit, "overage": 1}
    receipt = wm(db, "replace", old="@", new=exactly(10, unit))
    assert (receipt["value_length"], receipt["fill_ratio"]) == (limit, 1)
    assert wm(db, "get")["content"] == exactly(limit - 10, unit) + exactly(10, unit)


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize(
    ("verb", "fields"),
    [
        ("set", {"content": exactly(4097)}),
        ("append", {"addition": exactly(4096)}),
        ("replace", {"old": "x", "new": exactly(4097)}),
    ],
    ids=["set", "append", "replace"],
)
def test_o1_no_door_and_no_operation_writes_over_the_limit(
    db: Connection, door: str, verb: str, fields: dict[str, str]
) -> None:
    wm(db, "set", content="x")
    before = wm(db, "get")
    place = {"org": "acme", "namespace": "main", "agent": "coder"}
    with refused(db, "LM401") as refusal:
        DOORS[door](db, f"working_memory.{verb}", **place, **fields)
    assert set(refusal.detail) == {"value_length", "char_limit", "overage"}
    assert wm(db, "get") == before


def test_o1_the_table_itself_refuses_what_is_over_the_limit(db: Connection) -> None:
    wm(db, "set", content="x", char_limit=10)
    with refused(db, "23514"):
        db.execute("update loom.working_memory set content = repeat('x', 11)")
    with refused(db, "23514"):
        db.execute("update loom.working_memory set char_limit = 16385")
    with refused(db, "23514"):
        db.execute("update loom.working_memory set content = null")


@pytest.mark.parametrize("door", DOORS)
def test_o18_every_door_refuses_a_stale_hash(db: Connection, door: str) -> None:
    wm(db, "set", content="current")
    stale = {"org": "acme", "namespace": "main", "agent": "coder", "if_match_sha256": sha256("old")}
    for verb, fields in {
        "set": {"content": "new"},
        "append": {"addition": "new"},
        "replace": {"old": "current", "new": "new"},
        "delete": {},
    }.items():
        with refused(db, "LM201") as refusal:
            DOORS[door](db, f"working_memory.{verb}", **stale, **fields)
        assert refusal.detail == {"current_sha256": sha256("current"), "current_version": 1}
    assert wm(db, "get")["version"] == 1

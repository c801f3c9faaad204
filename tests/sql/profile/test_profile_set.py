"""profile.set: a section, which is the memory row of type profile whose key is the label."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest

from tests.calls import refused
from tests.databases import Clock
from tests.sql.doors import as_service
from tests.sql.facts import LABEL, NOON, changes, fact, hash_of, section, value_of

Connection = psycopg.Connection[Any]


def test_a_new_section_answers_the_row_receipt(db: Connection, clock: Clock) -> None:
    clock.set(NOON)
    receipt = section(db, "set", value="Ada", user_id="u", session_id="s", char_limit=10)
    memory_id = fact(db, "get", memory_key=LABEL, user_id="u", session_id="s")["memory_id"]
    assert receipt == {
        "org": "acme",
        "namespace": "main",
        "agent": "coder",
        "user_id": "u",
        "session_id": "s",
        "memory_key": LABEL,
        "memory_id": memory_id,
        "version": 1,
        "version_text": "1",
        "content_sha256": hash_of("Ada"),
        "value_length": 5,
        "char_limit": 10,
        "fill_ratio": 0.5,
        "created": True,
        "noop": False,
        "status": "current",
        "duplicate_of": None,
        "updated_at": "2026-03-01T12:00:00.000000Z",
    }


def test_a_section_is_a_row_of_type_profile(db: Connection) -> None:
    section(db, "set", value={"name": "Ada"})
    got = fact(db, "get", memory_key=LABEL)
    assert (got["memory_type"], got["value"]) == ("profile", {"name": "Ada"})
    assert got["source_class"] == "stated"
    listed = fact(db, "list", memory_type="profile")["items"]
    assert [item["memory_key"] for item in listed] == [LABEL]


def test_a_row_of_type_profile_is_a_section(db: Connection) -> None:
    fact(db, "set", memory_key="k", value="x", memory_type="profile", tags=["t"])
    assert [item["label"] for item in section(db, "list")["items"]] == ["k"]
    section(db, "set", label="k", value="y")
    got = fact(db, "get", memory_key="k")
    assert (got["value"], got["tags"], got["version"]) == ("y", ["t"], 2)


def test_the_same_again_is_a_restatement(db: Connection) -> None:
    section(db, "set", value="x")
    assert section(db, "set", value="x")["noop"] is True
    assert section(db, "set", value="x", char_limit=100)["version"] == 2
    assert changes(db, memory_key=LABEL) == ["set", "set"]


def test_o9_a_limit_left_out_or_null_stays(db: Connection) -> None:
    section(db, "set", value="x", char_limit=100)
    assert section(db, "set", value="y", char_limit=None)["char_limit"] == 100


@pytest.mark.parametrize("limit", [0, -1, 65_537, 2**40])
def test_a_limit_is_at_most_65536(db: Connection, limit: int) -> None:
    with refused(db, "LM406") as refusal:
        section(db, "set", value="x", char_limit=limit)
    assert refusal.detail == {"what": "char_limit", "limit": 65_536, "value": limit}


def test_o16_o17_o18_a_stale_hash_is_refused_with_the_current_state(db: Connection) -> None:
    first = section(db, "set", value="one")
    section(db, "set", value="two", if_match_sha256=first["content_sha256"])
    with refused(db, "LM201") as refusal:
        section(db, "set", value="three", if_match_sha256=first["content_sha256"])
    assert refusal.detail == {"current_sha256": hash_of("two"), "current_version": 2}
    assert value_of(db, memory_key=LABEL) == "two"


def test_if_absent_is_refused_over_a_current_section(db: Connection) -> None:
    assert section(db, "set", value="one", if_absent=True)["created"] is True
    with refused(db, "LM202"):
        section(db, "set", value="two", if_absent=True)
    section(db, "delete")
    assert section(db, "set", value="two", if_absent=True)["version"] == 3


def test_a_fact_of_that_key_becomes_the_section(db: Connection) -> None:
    fact(db, "set", memory_key=LABEL, value="fact", tags=["t"])
    receipt = section(db, "set", value="section")
    assert (receipt["version"], receipt["created"]) == (2, False)
    got = fact(db, "get", memory_key=LABEL)
    assert (got["memory_type"], got["tags"]) == ("profile", ["t"])


@pytest.mark.parametrize(
    "field", ["memory_key", "tags", "memory_type", "confidence", "dry_run", "pinned"]
)
def test_a_section_takes_no_other_field_of_a_fact(db: Connection, field: str) -> None:
    with refused(db, "LM001") as refusal:
        section(db, "set", value="x", **{field: None})
    assert refusal.detail == {"field": field, "reason": "is not a field of this operation"}


def test_label_and_value_are_required(db: Connection) -> None:
    with refused(db, "LM001") as refusal:
        section(db, "set")
    assert refusal.detail == {"field": "value", "reason": "is required"}
    with refused(db, "LM001") as refusal:
        section(db, "set", label=None, value="x")
    assert refusal.detail == {"field": "label", "reason": "is required"}


@pytest.mark.parametrize("label", ["", "x" * 201, "😀" * 65])
def test_a_label_has_the_limits_of_ids(db: Connection, label: str) -> None:
    for verb, fields in {
        "set": {"value": "x"},
        "append": {"addition": "x"},
        "replace": {"old": "x", "new": "y"},
        "delete": {},
    }.items():
        with refused(db, "LM406") as refusal:
            section(db, verb, label=label, **fields)
        assert refusal.detail["what"] == "label"


@pytest.mark.parametrize("verb", ["set", "append", "replace", "delete"])
def test_a_viewer_changes_no_section(services: Connection, verb: str) -> None:
    with refused(services, "42501"):
        as_service(services, "loom_test_viewer", f"profile.{verb}", org="acme", namespace="main")

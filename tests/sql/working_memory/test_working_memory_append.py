"""working_memory.append: text at the end of a block, without reading it first."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest

from tests.calls import refused
from tests.sql.doors import as_service, wm
from tests.sql.texts import FAMILY, exactly, sha256

Connection = psycopg.Connection[Any]


def test_the_addition_stands_on_a_line_of_its_own(db: Connection) -> None:
    wm(db, "set", content="one")
    receipt = wm(db, "append", addition="two")
    assert wm(db, "get")["content"] == "one\ntwo"
    assert (receipt["version"], receipt["created"], receipt["value_length"]) == (2, False, 7)
    assert receipt["content_sha256"] == sha256("one\ntwo")


@pytest.mark.parametrize("separator", ["", ", ", "\n\n", "\r\n", FAMILY, "\\n", "%s"])
def test_a_separator_of_the_callers_stands_between(db: Connection, separator: str) -> None:
    wm(db, "set", content="one")
    wm(db, "append", addition="two", separator=separator)
    assert wm(db, "get")["content"] == f"one{separator}two"


def test_a_separator_of_null_is_the_newline(db: Connection) -> None:
    wm(db, "set", content="one")
    wm(db, "append", addition="two", separator=None)
    assert wm(db, "get")["content"] == "one\ntwo"


def test_o9_an_append_keeps_limit_description_and_read_only(db: Connection) -> None:
    wm(db, "set", content="one", char_limit=50, description="d", read_only=True)
    wm(db, "append", addition="two")
    got = wm(db, "get")
    assert (got["char_limit"], got["description"], got["read_only"]) == (50, "d", True)


def test_a_missing_block_is_made_without_separator(db: Connection) -> None:
    receipt = wm(db, "append", addition="first", separator="---")
    assert (receipt["version"], receipt["created"], receipt["char_limit"]) == (1, True, 4096)
    assert wm(db, "get")["content"] == "first"


def test_a_deleted_block_is_made_anew_with_the_next_version(db: Connection) -> None:
    wm(db, "set", content="old", char_limit=9, description="d")
    wm(db, "delete")
    receipt = wm(db, "append", addition="first")
    assert (receipt["version"], receipt["created"], receipt["char_limit"]) == (3, True, 4096)
    got = wm(db, "get")
    assert (got["content"], got["description"], got["read_only"]) == ("first", None, False)


def test_an_append_to_an_empty_block_has_its_separator(db: Connection) -> None:
    wm(db, "set", content="")
    wm(db, "append", addition="x")
    assert wm(db, "get")["content"] == "\nx"


def test_an_empty_addition_adds_the_separator_only(db: Connection) -> None:
    wm(db, "set", content="x")
    assert wm(db, "append", addition="")["value_length"] == 2
    assert wm(db, "append", addition="", separator="")["value_length"] == 2


def test_o1_o4_separator_and_addition_count_against_the_limit(db: Connection) -> None:
    wm(db, "set", content="12345", char_limit=10)
    with refused(db, "LM401") as refusal:
        wm(db, "append", addition="12345")
    assert refusal.detail == {"value_length": 11, "char_limit": 10, "overage": 1}
    assert wm(db, "append", addition="1234")["fill_ratio"] == 1
    assert wm(db, "get")["content"] == "12345\n1234"


@pytest.mark.parametrize("deleted", [False, True], ids=["absent", "tombstone"])
def test_o1_a_new_block_starts_with_the_default_limit(db: Connection, deleted: bool) -> None:
    if deleted:
        wm(db, "set", content="x", char_limit=16384)
        wm(db, "delete")
    with refused(db, "LM401") as refusal:
        wm(db, "append", addition=exactly(4097))
    assert refusal.detail == {"value_length": 4097, "char_limit": 4096, "overage": 1}
    # Nothing stands before it, so no separator counts.
    assert wm(db, "append", addition=exactly(4096))["fill_ratio"] == 1


def test_an_append_takes_no_limit_of_its_own(db: Connection) -> None:
    with refused(db, "LM001") as refusal:
        wm(db, "append", addition="x", char_limit=10)
    assert refusal.detail["field"] == "char_limit"


def test_o18_a_hash_guards_the_append(db: Connection) -> None:
    first = wm(db, "set", content="one")
    second = wm(db, "append", addition="two", if_match_sha256=first["content_sha256"])
    with refused(db, "LM201") as refusal:
        wm(db, "append", addition="two", if_match_sha256=first["content_sha256"])
    assert refusal.detail == {
        "current_sha256": second["content_sha256"],
        "current_version": 2,
    }


@pytest.mark.parametrize("deleted", [False, True], ids=["absent", "tombstone"])
def test_a_hash_matches_nothing_where_no_block_is_live(db: Connection, deleted: bool) -> None:
    if deleted:
        wm(db, "set", content="one")
        wm(db, "delete")
    with refused(db, "LM201") as refusal:
        wm(db, "append", addition="two", if_match_sha256=sha256(""))
    assert refusal.detail == {"current_sha256": None, "current_version": None}
    assert wm(db, "get")["found"] is False


def test_a_read_only_block_is_locked_to_writers(services: Connection) -> None:
    wm(services, "set", content="one", read_only=True)
    block = {"org": "acme", "namespace": "main", "agent": "coder", "addition": "two"}
    with refused(services, "LM205") as refusal:
        as_service(services, "loom_test_writer", "working_memory.append", **block)
    assert refusal.detail == {"reason": "read_only", "until": None}
    as_service(services, "loom_test_admin", "working_memory.append", **block)
    assert wm(services, "get")["content"] == "one\ntwo"

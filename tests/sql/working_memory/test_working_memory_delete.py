"""working_memory.delete: a tombstone in place of the text."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import psycopg
import pytest

from tests.calls import refused
from tests.databases import Clock
from tests.sql.doors import as_service, wm
from tests.sql.texts import sha256

Connection = psycopg.Connection[Any]


def test_a_live_block_becomes_a_tombstone_with_the_next_version(db: Connection) -> None:
    wm(db, "set", content="one")
    wm(db, "append", addition="two")
    assert wm(db, "delete") == {
        "found": True,
        "tombstoned": True,
        "version": 3,
        "version_text": "3",
    }


def test_a_tombstone_keeps_key_version_who_and_when_but_no_text(
    services: Connection, clock: Clock
) -> None:
    clock.set(datetime(2026, 5, 1, 8, 0, tzinfo=UTC))
    wm(services, "set", content="very private", description="also private", read_only=False)
    clock.advance(seconds=5)
    block = {"org": "acme", "namespace": "main", "agent": "coder"}
    as_service(services, "loom_test_writer", "working_memory.delete", **block)
    row = services.execute(
        "select block_key, version, content, content_sha256, value_length, description, read_only,"
        " updated_by, deleted_at, w::text ~ 'private' from loom.working_memory as w"
    ).fetchone()
    assert row is not None
    assert row[:8] == ("scratchpad", 2, None, None, None, None, False, "service:loom_test_writer")
    assert row[8:] == (datetime(2026, 5, 1, 8, 0, 5, tzinfo=UTC), False)


def test_o9_a_deleted_block_can_be_told_from_one_that_never_was(db: Connection) -> None:
    never = {"found": False, "tombstoned": False, "version": None, "version_text": None}
    assert wm(db, "delete") == never
    wm(db, "set", content="x")
    wm(db, "delete")
    deleted = {"found": False, "tombstoned": True, "version": 2, "version_text": "2"}
    assert wm(db, "delete") == deleted
    assert wm(db, "delete") == deleted


def test_a_delete_of_nothing_makes_no_row(db: Connection) -> None:
    wm(db, "delete")
    assert wm(db, "list", include_deleted=True)["items"] == []


def test_versions_go_on_over_any_number_of_lives(db: Connection) -> None:
    versions = []
    for _life in range(3):
        versions.append(wm(db, "set", content="x")["version"])
        versions.append(wm(db, "delete")["version"])
    assert versions == [1, 2, 3, 4, 5, 6]


def test_o9_a_hash_guards_the_delete(db: Connection) -> None:
    first = wm(db, "set", content="one")
    wm(db, "set", content="two")
    with refused(db, "LM201") as refusal:
        wm(db, "delete", if_match_sha256=first["content_sha256"])
    assert refusal.detail == {"current_sha256": sha256("two"), "current_version": 2}
    assert wm(db, "get")["content"] == "two"
    assert wm(db, "delete", if_match_sha256=sha256("two"))["found"] is True


@pytest.mark.parametrize("deleted", [False, True], ids=["absent", "tombstone"])
def test_a_hash_matches_nothing_where_no_block_is_live(db: Connection, deleted: bool) -> None:
    if deleted:
        wm(db, "set", content="one")
        wm(db, "delete")
    with refused(db, "LM201") as refusal:
        wm(db, "delete", if_match_sha256=sha256("one"))
    assert refusal.detail == {"current_sha256": None, "current_version": None}


def test_a_read_only_block_is_deleted_by_an_admin_alone(services: Connection) -> None:
    wm(services, "set", content="x", read_only=True)
    block = {"org": "acme", "namespace": "main", "agent": "coder"}
    with refused(services, "LM205") as refusal:
        as_service(services, "loom_test_writer", "working_memory.delete", **block)
    assert refusal.detail == {"reason": "read_only", "until": None}
    assert as_service(services, "loom_test_admin", "working_memory.delete", **block)["found"]
    # The lock went with the text.
    as_service(services, "loom_test_writer", "working_memory.set", **block, content="y")


def test_only_the_named_block_goes(db: Connection) -> None:
    wm(db, "set", content="x", block_key="a")
    wm(db, "set", content="y", block_key="b")
    wm(db, "set", content="z", block_key="a", run_id="r")
    wm(db, "delete", block_key="a")
    assert [item["block_key"] for item in wm(db, "list")["items"]] == ["b"]
    assert wm(db, "get", block_key="a", run_id="r")["content"] == "z"


def test_o9_no_other_write_ever_deletes(db: Connection) -> None:
    wm(db, "set", content="x")
    wm(db, "set", content="")
    wm(db, "append", addition="")
    wm(db, "replace", old="\n", new="")
    assert wm(db, "get")["found"] is True

"""working_memory.set: the whole text of a block, with its limit, conditions and flags."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import psycopg
import pytest

from tests.calls import refused
from tests.databases import Clock
from tests.sql.doors import as_service, wm
from tests.sql.texts import exactly, sha256

Connection = psycopg.Connection[Any]

NOON = datetime(2026, 3, 1, 12, 0, 0, 5, tzinfo=UTC)


def test_a_new_block_answers_its_whole_receipt(db: Connection, clock: Clock) -> None:
    clock.set(NOON)
    assert wm(db, "set", content="héllo", user_id="u1", session_id="s1", run_id="r1") == {
        "org": "acme",
        "namespace": "main",
        "agent": "coder",
        "user_id": "u1",
        "session_id": "s1",
        "run_id": "r1",
        "block_key": "scratchpad",
        "version": 1,
        "version_text": "1",
        "content_sha256": sha256("héllo"),
        "value_length": 5,
        "char_limit": 4096,
        "fill_ratio": 0.0012,
        "created": True,
        "updated_at": "2026-03-01T12:00:00.000005Z",
    }


def test_ids_left_out_are_the_unset_level(db: Connection) -> None:
    receipt = wm(db, "set", agent=None, content="x")
    assert {receipt[name] for name in ("agent", "user_id", "session_id", "run_id")} == {"-"}


def test_a_second_set_writes_over_the_text_and_takes_the_next_version(
    db: Connection, clock: Clock
) -> None:
    clock.set(NOON)
    wm(db, "set", content="one")
    clock.advance(seconds=90)
    second = wm(db, "set", content="two")
    assert (second["version"], second["version_text"], second["created"]) == (2, "2", False)
    assert second["updated_at"] == "2026-03-01T12:01:30.000005Z"
    assert wm(db, "get")["content"] == "two"
    item = wm(db, "list")["items"][0]
    assert item["created_at"] == "2026-03-01T12:00:00.000005Z"


def test_the_same_text_again_is_a_write_like_any_other(db: Connection) -> None:
    wm(db, "set", content="same")
    assert wm(db, "set", content="same")["version"] == 2


def test_an_empty_text_is_a_live_block(db: Connection) -> None:
    receipt = wm(db, "set", content="")
    assert (receipt["value_length"], receipt["fill_ratio"]) == (0, 0)
    assert receipt["content_sha256"] == sha256("")
    assert wm(db, "get")["found"] is True


def test_o9_fields_left_out_or_null_keep_what_is_stored(services: Connection) -> None:
    db = services
    first = {"char_limit": 100, "description": "lease", "read_only": True}
    wm(db, "set", content="one", **first)
    wm(db, "set", content="two")
    wm(db, "set", content="three", char_limit=None, description=None, read_only=None)
    item = wm(db, "list")["items"][0]
    assert {name: item[name] for name in first} == first
    assert item["version"] == 3


def test_o2_a_text_is_checked_against_the_limit_that_comes_with_it(db: Connection) -> None:
    wm(db, "set", content="short", char_limit=10)
    receipt = wm(db, "set", content=exactly(20), char_limit=20)
    assert (receipt["value_length"], receipt["char_limit"], receipt["fill_ratio"]) == (20, 20, 1)


def test_o3_a_refused_set_leaves_text_and_limit_as_they_were(db: Connection) -> None:
    wm(db, "set", content="0123456789", char_limit=10, description="d")
    with refused(db, "LM401"):
        wm(db, "set", content=exactly(21), char_limit=20, description="other")
    got = wm(db, "get")
    assert (got["content"], got["char_limit"], got["version"]) == ("0123456789", 10, 1)
    assert got["description"] == "d"


def test_a_lower_limit_needs_a_text_that_fits_it(db: Connection) -> None:
    wm(db, "set", content="0123456789", char_limit=10)
    with refused(db, "LM401") as refusal:
        wm(db, "set", content="0123456789", char_limit=4)
    assert refusal.detail == {"value_length": 10, "char_limit": 4, "overage": 6}
    assert wm(db, "set", content="0123", char_limit=4)["fill_ratio"] == 1


@pytest.mark.parametrize("limit", [0, -1, 16385, 2**40])
def test_a_limit_out_of_range_is_refused(db: Connection, limit: int) -> None:
    with refused(db, "LM406") as refusal:
        wm(db, "set", content="x", char_limit=limit)
    assert refusal.detail == {"what": "char_limit", "limit": 16384, "value": limit}


@pytest.mark.parametrize("limit", [1, 16384])
def test_a_limit_at_the_ends_of_its_range_is_taken(db: Connection, limit: int) -> None:
    receipt = wm(db, "set", content=exactly(limit), char_limit=limit)
    assert (receipt["value_length"], receipt["char_limit"]) == (limit, limit)


@pytest.mark.parametrize("before", ["absent", "live", "tombstone"])
def test_o1_o4_a_text_over_the_limit_is_refused_with_its_numbers(
    db: Connection, before: str
) -> None:
    if before != "absent":
        wm(db, "set", content="before")
    if before == "tombstone":
        wm(db, "delete")
    stored = wm(db, "get")
    with refused(db, "LM401") as refusal:
        wm(db, "set", content=exactly(4100))
    assert refusal.detail == {"value_length": 4100, "char_limit": 4096, "overage": 4}
    assert refusal.hint
    assert wm(db, "get") == stored


def test_a_deleted_blocks_old_limit_does_not_bind_its_successor(db: Connection) -> None:
    wm(db, "set", content="x", char_limit=16384)
    wm(db, "delete")
    with refused(db, "LM401"):
        wm(db, "set", content=exactly(4097))
    wm(db, "set", content="x", char_limit=2)
    wm(db, "delete")
    assert wm(db, "set", content="xyz")["char_limit"] == 4096


def test_a_set_after_a_delete_takes_the_next_version_and_starts_afresh(
    db: Connection, clock: Clock
) -> None:
    clock.set(NOON)
    wm(db, "set", content="one", char_limit=9, description="d", read_only=True)
    assert wm(db, "delete")["version"] == 2
    clock.advance(seconds=1)
    receipt = wm(db, "set", content="two")
    assert (receipt["version"], receipt["created"], receipt["char_limit"]) == (3, True, 4096)
    item = wm(db, "list")["items"][0]
    assert (item["description"], item["read_only"], item["deleted_at"]) == (None, False, None)
    assert item["created_at"] == "2026-03-01T12:00:01.000005Z"


def test_o18_a_hash_that_matches_lets_the_write_through(db: Connection) -> None:
    first = wm(db, "set", content="one")
    assert wm(db, "set", content="two", if_match_sha256=first["content_sha256"])["version"] == 2


def test_o18_a_stale_hash_is_refused_with_the_current_state(db: Connection) -> None:
    first = wm(db, "set", content="one")
    wm(db, "set", content="two")
    with refused(db, "LM201") as refusal:
        wm(db, "set", content="three", if_match_sha256=first["content_sha256"])
    assert refusal.detail == {"current_sha256": sha256("two"), "current_version": 2}
    assert wm(db, "get")["content"] == "two"


@pytest.mark.parametrize("deleted", [False, True], ids=["absent", "tombstone"])
def test_o9_a_hash_matches_nothing_where_no_block_is_live(db: Connection, deleted: bool) -> None:
    if deleted:
        wm(db, "set", content="one")
        wm(db, "delete")
    with refused(db, "LM201") as refusal:
        wm(db, "set", content="two", if_match_sha256=sha256("one"))
    assert refusal.detail == {"current_sha256": None, "current_version": None}


def test_if_absent_writes_where_no_block_is_live(db: Connection) -> None:
    assert wm(db, "set", content="one", if_absent=True)["version"] == 1
    wm(db, "delete")
    assert wm(db, "set", content="two", if_absent=True)["version"] == 3


def test_if_absent_is_refused_over_a_live_block(db: Connection) -> None:
    wm(db, "set", content="one")
    with refused(db, "LM202"):
        wm(db, "set", content="two", if_absent=True)
    assert wm(db, "get")["content"] == "one"


def test_if_absent_false_is_no_condition(db: Connection) -> None:
    wm(db, "set", content="one")
    assert wm(db, "set", content="two", if_absent=False)["version"] == 2


def test_if_absent_contradicts_a_hash(db: Connection) -> None:
    with refused(db, "LM001") as refusal:
        wm(db, "set", content="x", if_absent=True, if_match_sha256=sha256("x"))
    assert refusal.detail["field"] == "if_absent"
    wm(db, "set", content="x", if_absent=True, if_match_sha256=None)


@pytest.mark.parametrize("flag", [True, False])
def test_only_an_admin_names_read_only(services: Connection, flag: bool) -> None:
    block = {"org": "acme", "namespace": "main", "content": "x", "read_only": flag}
    with refused(services, "LM302") as refusal:
        as_service(services, "loom_test_writer", "working_memory.set", **block)
    assert refusal.detail == {"reason": "role", "needed": "admin"}
    as_service(services, "loom_test_admin", "working_memory.set", **block)


def test_a_read_only_block_is_locked_to_writers_and_open_to_admins(services: Connection) -> None:
    block = {"org": "acme", "namespace": "main"}
    write = "working_memory.set"
    as_service(services, "loom_test_admin", write, **block, content="one", read_only=True)
    with refused(services, "LM205") as refusal:
        as_service(services, "loom_test_writer", write, **block, content="two")
    assert refusal.detail == {"reason": "read_only", "until": None}
    as_service(services, "loom_test_admin", write, **block, content="three")
    as_service(services, "loom_test_admin", write, **block, content="four", read_only=False)
    assert as_service(services, "loom_test_writer", write, **block, content="five")["version"] == 4


def test_a_read_only_block_says_so_before_anything_else_about_it(services: Connection) -> None:
    block = {"org": "acme", "namespace": "main"}
    as_service(
        services, "loom_test_admin", "working_memory.set", **block, content="x", read_only=True
    )
    with refused(services, "LM205"):
        as_service(
            services,
            "loom_test_writer",
            "working_memory.set",
            **block,
            content=exactly(5000),
            if_match_sha256="stale",
        )


def test_a_stale_hash_is_told_before_the_length(db: Connection) -> None:
    wm(db, "set", content="x")
    with refused(db, "LM201"):
        wm(db, "set", content=exactly(5000), if_match_sha256="stale")


def test_a_description_has_at_most_a_thousand_characters(db: Connection) -> None:
    wm(db, "set", content="x", description=exactly(1000, "😀"))
    with refused(db, "LM406") as refusal:
        wm(db, "set", content="x", description=exactly(1001, "😀"))
    assert refusal.detail == {"what": "description", "limit": 1000, "value": 1001}


def test_the_row_names_who_made_and_who_changed_it(services: Connection) -> None:
    block = {"org": "acme", "namespace": "main", "content": "x"}
    as_service(services, "loom_test_writer", "working_memory.set", **block)
    as_service(services, "loom_test_admin", "working_memory.set", **block)
    item = wm(services, "list", agent=None)["items"][0]
    assert item["created_by"] == "service:loom_test_writer"
    assert item["updated_by"] == "service:loom_test_admin"

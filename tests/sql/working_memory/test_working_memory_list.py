"""working_memory.list: the blocks of one identity, page by page, without their text."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import psycopg
import pytest

from tests.calls import refused
from tests.databases import Clock
from tests.sql.doors import IDENTITY, as_service, pages_of, wm
from tests.sql.texts import sha256

Connection = psycopg.Connection[Any]


def keys_by_page(db: Connection, **request: Any) -> list[list[str]]:
    """The keys of every page, following the cursors to the end."""
    return [
        [item["block_key"] for item in page["items"]]
        for page in pages_of(db, "working_memory.list", **{**IDENTITY, **request})
    ]


def test_an_item_is_everything_but_the_text(db: Connection, clock: Clock) -> None:
    clock.set(datetime(2026, 3, 1, 12, 0, tzinfo=UTC))
    wm(db, "set", content="secret", char_limit=12, description="d", user_id="u", block_key="k")
    page = wm(db, "list", user_id="u")
    actor = page["items"][0].pop("created_by")
    assert actor.startswith("operator:")
    assert page == {
        "items": [
            {
                "org": "acme",
                "namespace": "main",
                "agent": "coder",
                "user_id": "u",
                "session_id": "-",
                "run_id": "-",
                "block_key": "k",
                "version": 1,
                "version_text": "1",
                "content_sha256": sha256("secret"),
                "value_length": 6,
                "char_limit": 12,
                "fill_ratio": 0.5,
                "description": "d",
                "read_only": False,
                "created_at": "2026-03-01T12:00:00.000000Z",
                "updated_at": "2026-03-01T12:00:00.000000Z",
                "updated_by": actor,
                "deleted_at": None,
            }
        ],
        "next_cursor": None,
    }


def test_nothing_there_is_an_empty_page(db: Connection) -> None:
    assert wm(db, "list") == {"items": [], "next_cursor": None}


def test_keys_come_in_byte_order(db: Connection) -> None:
    keys = ["b", "a", "B", "é", "z", "a a", "-", "a%", "😀", "漢", "10", "9"]
    for key in keys:
        wm(db, "set", content="x", block_key=key)
    assert keys_by_page(db) == [sorted(keys, key=str.encode)]


@pytest.mark.parametrize("limit", [1, 2, 3, 6, 7, 200])
def test_pages_show_each_key_once(db: Connection, limit: int) -> None:
    keys = [f"k{number}" for number in range(7)]
    for key in keys:
        wm(db, "set", content="x", block_key=key)
    pages = keys_by_page(db, limit=limit)
    assert [key for page in pages for key in page] == keys
    assert [len(page) for page in pages[:-1]] == [limit] * (len(pages) - 1)
    assert pages[-1]


def test_a_page_has_fifty_items_when_no_limit_is_named(db: Connection) -> None:
    for number in range(51):
        wm(db, "set", content="x", block_key=f"k{number:02}")
    assert [len(page) for page in keys_by_page(db)] == [50, 1]


def test_tombstones_are_listed_when_asked_for(db: Connection, clock: Clock) -> None:
    clock.set(datetime(2026, 3, 1, 12, 0, tzinfo=UTC))
    for key in ("a", "b", "c"):
        wm(db, "set", content="x", block_key=key)
    wm(db, "delete", block_key="b")
    assert keys_by_page(db) == [["a", "c"]]
    assert keys_by_page(db, include_deleted=False) == [["a", "c"]]
    assert keys_by_page(db, include_deleted=True, limit=1) == [["a"], ["b"], ["c"]]
    tombstone = wm(db, "list", include_deleted=True)["items"][1]
    assert tombstone["deleted_at"] == "2026-03-01T12:00:00.000000Z"
    assert (tombstone["version"], tombstone["version_text"]) == (2, "2")
    gone = ("content_sha256", "value_length", "fill_ratio", "description")
    assert {tombstone[name] for name in gone} == {None}


def test_a_block_made_meanwhile_does_not_disturb_the_next_page(db: Connection) -> None:
    for key in ("b", "d"):
        wm(db, "set", content="x", block_key=key)
    cursor = wm(db, "list", limit=1)["next_cursor"]
    wm(db, "set", content="x", block_key="a")
    wm(db, "set", content="x", block_key="c")
    wm(db, "delete", block_key="b")
    page = wm(db, "list", cursor=cursor)
    assert [item["block_key"] for item in page["items"]] == ["c", "d"]


def test_a_cursor_holds_a_position_and_no_rights(db: Connection) -> None:
    for user in ("u1", "u2"):
        for key in ("a", "b", "c"):
            wm(db, "set", content="x", block_key=key, user_id=user)
    cursor = wm(db, "list", limit=1, user_id="u1")["next_cursor"]
    page = wm(db, "list", cursor=cursor, user_id="u2")
    assert {item["user_id"] for item in page["items"]} == {"u2"}
    assert [item["block_key"] for item in page["items"]] == ["b", "c"]


@pytest.mark.parametrize("cursor", ["", "zzz", "😀" * 500, "%", "a' or true --"])
def test_any_text_is_a_position(db: Connection, cursor: str) -> None:
    wm(db, "set", content="x", block_key="k")
    expected = ["k"] if cursor.encode() < b"k" else []
    page = wm(db, "list", cursor=cursor)
    assert [item["block_key"] for item in page["items"]] == expected


def test_exactly_the_named_identity_is_listed(db: Connection) -> None:
    wm(db, "set", content="x", block_key="agent's")
    wm(db, "set", content="x", block_key="user's", user_id="u")
    wm(db, "set", content="x", block_key="session's", user_id="u", session_id="s")
    wm(db, "set", content="x", block_key="run's", user_id="u", session_id="s", run_id="r")
    wm(db, "set", content="x", block_key="namespace's", agent="-")
    assert keys_by_page(db) == [["agent's"]]
    assert keys_by_page(db, user_id="u") == [["user's"]]
    assert keys_by_page(db, user_id="u", session_id="s") == [["session's"]]
    assert keys_by_page(db, user_id="u", session_id="s", run_id="r") == [["run's"]]
    assert keys_by_page(db, agent="-") == [["namespace's"]]


def test_a_viewer_lists(services: Connection) -> None:
    wm(services, "set", content="x")
    request = {"org": "acme", "namespace": "main", "agent": "coder"}
    page = as_service(services, "loom_test_viewer", "working_memory.list", **request)
    assert len(page["items"]) == 1


@pytest.mark.parametrize("limit", [0, 201, -1])
def test_a_limit_out_of_range_is_refused(db: Connection, limit: int) -> None:
    with refused(db, "LM001") as refusal:
        wm(db, "list", limit=limit)
    assert refusal.detail["field"] == "limit"

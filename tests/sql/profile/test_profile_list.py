"""profile.list: the sections in reach, without their values."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest

from tests.calls import refused
from tests.databases import Clock
from tests.sql.doors import IDENTITY, pages_of
from tests.sql.facts import LABEL, NOON, each, fact, hash_of, section

Connection = psycopg.Connection[Any]


@pytest.fixture(autouse=True)
def _noon(clock: Clock) -> None:
    clock.set(NOON)


def labels(db: Connection, **request: Any) -> list[list[str]]:
    """The labels of every page, following the cursors to the end."""
    return [
        [item["label"] for item in page["items"]]
        for page in pages_of(db, "profile.list", **{**IDENTITY, **request})
    ]


def test_an_item_is_everything_but_the_value(db: Connection, clock: Clock) -> None:
    receipt = section(db, "set", value="secret", user_id="u", char_limit=16)
    clock.advance(seconds=1)
    fact(db, "pin", memory_key=LABEL, user_id="u")
    assert section(db, "list", user_id="u") == {
        "items": [
            {
                "label": LABEL,
                "org": "acme",
                "namespace": "main",
                "agent": "coder",
                "user_id": "u",
                "session_id": "-",
                "memory_id": receipt["memory_id"],
                "version": 2,
                "version_text": "2",
                "content_sha256": hash_of("secret"),
                "value_length": 8,
                "char_limit": 16,
                "fill_ratio": 0.5,
                "created_at": "2026-03-01T12:00:00.000000Z",
                "updated_at": "2026-03-01T12:00:01.000000Z",
            }
        ],
        "next_cursor": None,
    }


def test_nothing_there_is_an_empty_page(db: Connection) -> None:
    assert section(db, "list") == {"items": [], "next_cursor": None}


@pytest.mark.parametrize("limit", [1, 2, 5, 6, 200])
def test_pages_show_each_section_once_newest_first(
    db: Connection, clock: Clock, limit: int
) -> None:
    for number in range(6):
        clock.advance(seconds=1)
        section(db, "set", label=f"k{number}", value=1)
        fact(db, "set", memory_key=f"fact{number}", value=1)
    pages = labels(db, limit=limit)
    assert [label for page in pages for label in page] == [f"k{n}" for n in reversed(range(6))]
    assert [len(page) for page in pages[:-1]] == [limit] * (len(pages) - 1)


def test_only_current_sections_are_listed(db: Connection, clock: Clock) -> None:
    for label in ("live", "deleted", "fact", "expired"):
        section(db, "set", label=label, value=label)
    section(db, "delete", label="deleted")
    fact(db, "set", memory_key="fact", value="fact", memory_type="semantic")
    fact(db, "set", memory_key="expired", value="expired", ttl_seconds=60)
    clock.advance(seconds=61)
    assert labels(db) == [["live"]]


def test_a_label_narrows_the_list_to_sections_with_it(db: Connection, clock: Clock) -> None:
    for agent in ("a", "b"):
        for label in ("k", "k2", "K", "k%"):
            clock.advance(seconds=1)
            section(db, "set", label=label, value=1, agent=agent)
    page = section(db, "list", label="k")["items"]
    assert [(item["label"], item["agent"]) for item in page] == [("k", "b"), ("k", "a")]
    assert labels(db, label="k%") == [["k%", "k%"]]
    assert labels(db, label="k", limit=1) == [["k"], ["k"]]
    assert labels(db, label="other") == [[]]


@pytest.mark.parametrize(
    ("field", "wrong"),
    [
        *each("limit", 0, 201, "1", 1.5),
        *each("read_scope", "all", 1),
        *[("label", 1), ("cursor", "x"), ("include_deleted", True), ("tags", [])],
    ],
)
def test_a_field_of_another_kind_is_refused_by_name(db: Connection, field: str, wrong: Any) -> None:
    with refused(db, "LM001") as refusal:
        section(db, "list", **{field: wrong})
    assert refusal.detail["field"] == field

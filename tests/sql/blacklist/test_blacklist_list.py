"""blacklist.list: the patterns of one scope."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest

from tests.calls import Answer, operate, refused
from tests.sql.doors import pages_of

Connection = psycopg.Connection[Any]

PLACE: Answer = {"org": "acme", "namespace": "main"}


def patterns(db: Connection, **request: Any) -> list[list[str]]:
    return [
        [item["pattern"] for item in page["items"]]
        for page in pages_of(db, "blacklist.list", **{**PLACE, **request})
    ]


def test_an_item_is_the_entry_as_it_was_answered(db: Connection) -> None:
    entry = operate(db, "blacklist.add", **PLACE, pattern="x+", pattern_type="regex", reason="r")
    assert operate(db, "blacklist.list", **PLACE) == {"items": [entry], "next_cursor": None}


def test_each_scope_is_listed_by_itself(db: Connection) -> None:
    for scope, namespace, pattern in (
        ("org", "main", "org's"),
        ("namespace", "main", "main's"),
        ("namespace", "other", "other's"),
    ):
        operate(db, "blacklist.add", org="acme", namespace=namespace, scope=scope, pattern=pattern)
    operate(db, "blacklist.add", org="else", scope="org", pattern="else's")
    assert patterns(db) == patterns(db, scope="namespace") == [["main's"]]
    assert patterns(db, namespace="other") == [["other's"]]
    assert patterns(db, scope="org") == patterns(db, scope="org", namespace=None) == [["org's"]]
    with refused(db, "LM003") as refusal:
        operate(db, "blacklist.list", org="acme")
    assert refusal.detail == {"field": "namespace"}


@pytest.mark.parametrize("limit", [1, 2, 6, 7, 200])
def test_pages_show_each_entry_once(db: Connection, limit: int) -> None:
    made = [f"pattern{number}" for number in range(7)]
    for pattern in made:
        operate(db, "blacklist.add", **PLACE, pattern=pattern)
    pages = patterns(db, limit=limit)
    assert sorted(pattern for page in pages for pattern in page) == made
    assert [len(page) for page in pages[:-1]] == [limit] * (len(pages) - 1)


@pytest.mark.parametrize("cursor", ["", "x", "0" * 32, 1])
def test_a_cursor_is_an_id(db: Connection, cursor: Any) -> None:
    with refused(db, "LM001") as refusal:
        operate(db, "blacklist.list", **PLACE, cursor=cursor)
    assert refusal.detail["field"] == "cursor"

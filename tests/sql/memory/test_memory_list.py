"""memory.list: the rows in reach, newest first, page by page, and what narrows them."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest

from tests.calls import Answer, operate, refused
from tests.databases import Clock
from tests.sql.doors import IDENTITY, pages_of
from tests.sql.facts import NOON, TYPES, each, fact, hash_of, keys

Connection = psycopg.Connection[Any]

NO_ID = "00000000-0000-0000-0000-000000000000"


def pages(db: Connection, **request: Any) -> list[list[str]]:
    """The keys of every page, following the cursors to the end."""
    return [keys(page) for page in pages_of(db, "memory.list", **{**IDENTITY, **request})]


def write(db: Connection, clock: Clock, *names: str, **fields: Any) -> None:
    """Writes rows one second after the other."""
    for name in names:
        clock.advance(seconds=1)
        fact(db, "set", memory_key=name, **{"value": name, **fields})


@pytest.fixture(autouse=True)
def _noon(clock: Clock) -> None:
    clock.set(NOON)


def test_an_item_is_what_a_get_answers(db: Connection) -> None:
    fact(db, "set", value={"a": 1}, tags=["t"], user_id="u")
    got = fact(db, "get", user_id="u")
    del got["found"], got["unchanged"]
    assert fact(db, "list", user_id="u") == {"items": [got], "next_cursor": None}


def test_nothing_there_is_an_empty_page(db: Connection) -> None:
    assert fact(db, "list") == {"items": [], "next_cursor": None}


def test_the_newest_row_comes_first_whatever_was_written_since(
    db: Connection, clock: Clock
) -> None:
    write(db, clock, "a", "c", "b")
    write(db, clock, "a")
    assert pages(db) == [["b", "c", "a"]]


def test_rows_of_one_instant_come_in_a_fixed_order_and_none_is_lost(db: Connection) -> None:
    made = [fact(db, "set", memory_key=f"k{number}", value=number) for number in range(9)]
    order = sorted(made, key=lambda receipt: receipt["memory_id"], reverse=True)
    wanted = [receipt["memory_key"] for receipt in order]
    for limit in (1, 2, 3, 8, 9, 10):
        listed = pages(db, limit=limit)
        assert [key for page in listed for key in page] == wanted
        assert [len(page) for page in listed[:-1]] == [limit] * (len(listed) - 1)
        assert listed[-1]


@pytest.mark.parametrize("scope", [None, "namespace"])
def test_rows_of_several_users_come_in_one_order(
    db: Connection, clock: Clock, scope: str | None
) -> None:
    for number in range(12):
        write(db, clock, f"k{number:02}", user_id="u" if number % 3 else "-")
    wanted = [f"k{number:02}" for number in reversed(range(12))]
    for limit in (1, 5, 12):
        listed = pages(db, user_id="u", limit=limit, read_scope=scope)
        assert [key for page in listed for key in page] == wanted


def test_a_page_has_fifty_items_when_no_limit_is_named(db: Connection) -> None:
    for number in range(51):
        fact(db, "set", memory_key=f"k{number}", value=1)
    assert [len(page) for page in pages(db)] == [50, 1]


@pytest.mark.parametrize("limit", [0, 201, -1, 1.5, "1", True, 10**400])
def test_a_limit_is_one_to_two_hundred(db: Connection, limit: Any) -> None:
    with refused(db, "LM001") as refusal:
        fact(db, "list", limit=limit)
    assert refusal.detail["field"] == "limit"


def test_o34_a_page_ends_where_its_values_come_to_a_megabyte(db: Connection, clock: Clock) -> None:
    big = "x" * 199_998  # 200,000 characters as JSON
    write(db, clock, *[f"big{number}" for number in range(12)], value=big)
    write(db, clock, "small", value=1)
    listed = pages(db, limit=200)
    assert [len(page) for page in listed] == [6, 5, 2]
    assert [key for page in listed for key in page] == [
        "small",
        *[f"big{number}" for number in reversed(range(12))],
    ]


def test_a_page_holds_one_row_however_large_it_is(db: Connection, clock: Clock) -> None:
    write(db, clock, "a", "b", "c", value="x" * 262_142)
    assert pages(db, limit=1) == [["c"], ["b"], ["a"]]


def test_a_row_made_meanwhile_does_not_disturb_the_next_page(db: Connection, clock: Clock) -> None:
    write(db, clock, "a", "b", "c", "d")
    cursor = fact(db, "list", limit=2)["next_cursor"]
    write(db, clock, "e")
    fact(db, "delete", memory_key="c")
    fact(db, "delete", memory_key="a")
    assert keys(fact(db, "list", cursor=cursor)) == ["b"]


@pytest.mark.parametrize(
    ("cursor", "shown"),
    [
        (f"9999-12-31T23:59:59.999999Z/{NO_ID}", ["b", "a"]),
        (f"2026-03-01T12:00:02.000000Z/{NO_ID}", ["a"]),
        (f"2026-03-01T12:00:01.999999Z/{'f' * 8}-ffff-ffff-ffff-{'f' * 12}", ["a"]),
        (f"0001-01-01T00:00:00.000000Z/{NO_ID}", []),
    ],
)
def test_a_cursor_is_a_position_that_need_not_be_a_rows(
    db: Connection, clock: Clock, cursor: str, shown: list[str]
) -> None:
    write(db, clock, "a", "b")
    assert keys(fact(db, "list", cursor=cursor)) == shown


@pytest.mark.parametrize(
    "cursor",
    [
        *("", "/", "x", "1", NO_ID, "2026-03-01T12:00:00.000000Z", "%", "' or true --"),
        *(f"infinity/{NO_ID}", f"2026-03-01T12:00:00.000000Z/{NO_ID[:-1]}"),
        *(f"2026-03-01T12:00:00Z/{NO_ID}", f"2026-03-01 12:00:00.000000Z/{NO_ID}"),
        *(f"2026-02-30T12:00:00.000000Z/{NO_ID}", f"0000-01-01T00:00:00.000000Z/{NO_ID}"),
        *(f"2026-03-01T12:00:00.000000Z/{NO_ID}\n", f"٢٠٢٦-03-01T12:00:00.000000Z/{NO_ID}"),
        *("😀" * 50_000, f"2026-03-01T25:00:00.000000Z/{NO_ID}", 1, True, [], {}),
    ],
)
def test_any_other_cursor_is_refused(db: Connection, cursor: Any) -> None:
    for op in ("memory.list", "profile.list", "audit.list"):
        identity = {"org": "acme"} if op == "audit.list" else IDENTITY
        with refused(db, "LM001") as refusal:
            operate(db, op, **identity, cursor=cursor)
        assert refusal.detail["field"] == "cursor"


@pytest.mark.parametrize("memory_type", TYPES)
def test_a_list_of_one_type(db: Connection, memory_type: str) -> None:
    for other in TYPES:
        fact(db, "set", memory_key=other, value=1, memory_type=other)
    assert pages(db, memory_type=memory_type) == [[memory_type]]


def test_a_list_of_rows_with_all_of_some_tags(db: Connection, clock: Clock) -> None:
    for tags in ("a", "ab", "abc", "A", "c"):
        write(db, clock, tags, tags=list(tags))
    assert pages(db, tags=["a"]) == [["abc", "ab", "a"]]
    assert pages(db, tags=["b", "a", "a"]) == [["abc", "ab"]]
    assert pages(db, tags=["a%"]) == [[]]
    assert pages(db, tags=[]) == [["c", "A", "abc", "ab", "a"]]


@pytest.mark.parametrize(
    ("prefix", "shown"),
    [
        ("a", ["a:b", "a_", "a%", "ab", "a"]),
        ("a%", ["a%"]),
        ("a_", ["a_"]),
        ("a:", ["a:b"]),
        ("A", ["A"]),
        ("\\", ["\\"]),
        ("😀", ["😀😀"]),
        ("b", []),
        ("", ["😀😀", "\\", "A", "a:b", "a_", "a%", "ab", "a"]),
    ],
)
def test_o59_a_prefix_is_plain_text(
    db: Connection, clock: Clock, prefix: str, shown: list[str]
) -> None:
    write(db, clock, "a", "ab", "a%", "a_", "a:b", "A", "\\", "😀😀")
    assert pages(db, key_prefix=prefix) == [shown]


def test_a_prefix_has_at_most_two_hundred_characters(db: Connection) -> None:
    fact(db, "list", key_prefix="😀" * 200)
    with refused(db, "LM406") as refusal:
        fact(db, "list", key_prefix="😀" * 201)
    assert refusal.detail == {"what": "key_prefix", "limit": 200, "value": 201}


@pytest.mark.parametrize("source_class", ["stated", "observed", "imported", "derived"])
def test_a_list_of_one_source_class(db: Connection, source_class: str) -> None:
    for other in ("stated", "observed", "imported"):
        fact(db, "set", memory_key=other, value=1, source_class=other)
    shown = [] if source_class == "derived" else [source_class]
    assert pages(db, source_class=source_class) == [shown]


def test_conditions_hold_together_and_over_pages(db: Connection, clock: Clock) -> None:
    for number in range(10):
        write(
            db,
            clock,
            f"{'ab'[number % 2]}{number}",
            tags=["even" if number % 4 < 2 else "odd"],
            source_class="observed" if number > 2 else "stated",
        )
    request: Answer = {"key_prefix": "a", "tags": ["even"], "source_class": "observed"}
    assert pages(db, limit=1, **request) == [["a8"], ["a4"]]


def test_what_is_gone_is_listed_when_asked_for(db: Connection, clock: Clock) -> None:
    write(db, clock, "live", "deleted", "expired", "redacted", ttl_seconds=600)
    fact(db, "set", memory_key="live", value="live", clear_expiry=True)
    fact(db, "delete", memory_key="deleted")
    fact(db, "redact", memory_key="redacted", reason="r")
    clock.advance(seconds=600)
    assert pages(db) == pages(db, include_deleted=False) == [["live"]]
    items = fact(db, "list", include_deleted=True)["items"]
    assert [(item["memory_key"], item["status"]) for item in items] == [
        ("redacted", "redacted"),
        ("expired", "expired"),
        ("deleted", "deleted"),
        ("live", "current"),
    ]
    for item in items[0], items[2]:
        assert item["value"] is item["content_sha256"] is item["value_length"] is None
        assert item["fill_ratio"] is None
    assert items[2]["deleted_at"] is not None
    assert items[1]["content_sha256"] == hash_of("expired")
    assert pages(db, include_deleted=True, limit=1)[1] == ["expired"]


@pytest.mark.parametrize(
    ("field", "wrong"),
    [
        *each("memory_type", "fact", "", 1),
        *each("source_class", "Stated", "worker", []),
        *each("include_deleted", "true", 1),
        *each("tags", "a", [1], {}),
        *each("read_scope", "all", "", 1),
        ("key_prefix", 1),
    ],
)
def test_a_condition_of_another_type_or_word_is_refused_by_name(
    db: Connection, field: str, wrong: Any
) -> None:
    with refused(db, "LM001") as refusal:
        fact(db, "list", **{field: wrong})
    assert refusal.detail["field"] == field

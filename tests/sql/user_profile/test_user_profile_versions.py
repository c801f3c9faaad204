"""user_profile.get, history, reset, delete and put: every version is kept, and told."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.calls import Connection, operate, refused
from tests.sql.doors import pages_of
from tests.sql.user_profile.profiles import PLACE, add, count, facts, tell, up

EMPTY = {
    "facts": [],
    "traits": {"style": None, "verbosity": None, "expertise": None, "formality": None},
    "preferences": {"format": None, "language": None, "topics": []},
    "summary": "",
}


def versions(conn: Connection, **request: Any) -> list[tuple[int, str]]:
    """Version and change of a history's items."""
    items = up(conn, "history", **request)["items"]
    return [(item["version"], item["change"]) for item in items]


def test_of_a_user_without_a_profile_the_empty_one_is_read(db: Connection) -> None:
    assert up(db, "get") == {
        "found": False,
        "profile": EMPTY,
        "version": 0,
        "version_text": "0",
        "source": None,
        "updated_at": None,
        "pending": 0,
        "document": None,
        "merged_signal_ids": [],
    }
    assert up(db, "history") == {"found": False, "items": [], "next_cursor": None}


def test_an_earlier_version_is_read_as_it_was(db: Connection) -> None:
    for number in range(1, 4):
        add(db, "n", str(number))
    for number in range(1, 4):
        read = up(db, "get", as_of_version=number)
        assert (facts(read), read["version"], read["found"]) == ({"n": str(number)}, number, True)
    assert up(db, "get", as_of_version=4)["found"] is False
    assert up(db, "get", as_of_version=0)["found"] is False
    with refused(db, "LM001"):
        up(db, "get", as_of_version=-1)


def test_a_history_tells_every_version_newest_first(db: Connection) -> None:
    tell(db, "Call me Sam.")
    add(db, "n", "1")
    up(db, "reset")
    up(db, "delete")
    add(db, "n", "2")
    expected = [(5, "apply"), (4, "delete"), (3, "reset"), (2, "apply"), (1, "update")]
    assert versions(db) == expected
    items = up(db, "history")["items"]
    assert [item["profile"] is None for item in items] == [False, True, False, False, False]
    assert items[1]["version_text"] == "4"
    assert items[0]["actor"].startswith("operator:")
    assert versions(db, as_of_version=3) == expected[2:]
    assert versions(db, as_of_version=9) == []
    pages = list(pages_of(db, "user_profile.history", **PLACE, limit=2))
    assert [len(page["items"]) for page in pages] == [2, 2, 1]
    assert [item["version"] for page in pages for item in page["items"]] == [5, 4, 3, 2, 1]


def test_o34_a_page_of_large_versions_ends_early(db: Connection) -> None:
    for number in range(4):
        ops = [{"op": "add", "key": f"k{each}", "value": str(number) * 2000} for each in range(150)]
        up(db, "apply", delta={"fact_ops": ops})
    pages = list(pages_of(db, "user_profile.history", **PLACE))
    assert [len(page["items"]) for page in pages] == [4]
    up(db, "apply", delta={"fact_ops": [{"op": "add", "key": "k0", "value": "x"}]})
    pages = list(pages_of(db, "user_profile.history", **PLACE))
    assert [len(page["items"]) for page in pages] == [4, 1]


def test_a_reset_is_an_empty_next_version(db: Connection) -> None:
    tell(db, "Call me Sam.")
    answer = up(db, "reset", if_version=1)
    assert (answer["profile"], answer["version"], answer["changed"]) == (EMPTY, 2, True)
    assert (answer["source"], up(db, "get")["found"]) == ("reset", True)
    assert up(db, "reset")["changed"] is False
    assert up(db, "reset", user_id="u2")["version"] == 1
    with refused(db, "LM201"):
        up(db, "reset", if_version=1)


def test_a_reset_ends_a_document_that_says_more_than_the_profile(db: Connection) -> None:
    up(db, "put", profile={}, document="playful")
    assert up(db, "reset")["version"] == 2
    assert up(db, "get", include_document=True)["document"] is None


def test_a_deletion_leaves_a_tombstone_and_the_history(db: Connection) -> None:
    assert up(db, "delete") == {
        "found": False,
        "tombstoned": False,
        "version": 0,
        "version_text": "0",
    }
    tell(db, "Call me Sam.")
    with refused(db, "LM201"):
        up(db, "delete", if_version=2)
    deleted = {"found": True, "tombstoned": True, "version": 2, "version_text": "2"}
    assert up(db, "delete", if_version=1) == deleted
    assert up(db, "delete") == {**deleted, "found": False}
    read = up(db, "get")
    assert (read["found"], read["version"], facts(read)) == (False, 0, {})
    assert facts(up(db, "get", as_of_version=1)) == {"name": "Sam"}
    assert up(db, "get", as_of_version=2)["found"] is False
    assert add(db, "n", "1", if_version=0)["version"] == 3


def test_o68_after_an_erasure_nothing_is_left_and_versions_begin_anew(db: Connection) -> None:
    tell(db, "Call me Sam.")
    tell(db, "Call me Max.", source="llm")
    removed = operate(db, "erasure.request", org="acme", user_id="u1")["removed"]
    assert removed["user_profile"] == 2
    for table in ("user_profile", "user_profile_version", "user_profile_task"):
        assert count(db, table) == 0
    assert up(db, "history")["found"] is False
    assert add(db, "n", "1")["version"] == 1


@pytest.mark.parametrize("verb", ["reset", "delete"])
def test_what_waits_for_a_model_is_dropped_with_what_it_speaks_of(
    db: Connection, verb: str
) -> None:
    tell(db, "Call me Sam.")
    tell(db, "Call me Max.", source="llm")
    tell(db, "Call me Eve.", source="llm", scope={"kind": "k"})
    up(db, verb)
    assert (up(db, "get")["pending"], up(db, "get", scope={"kind": "k"})["pending"]) == (0, 1)


PROFILE = {
    "facts": [{"key": "b", "value": "2"}, {"key": "a", "value": "1"}],
    "traits": {"style": "detailed"},
    "preferences": {"topics": ["go", "go", ""], "language": "de"},
    "summary": "Said.",
}


def test_put_writes_a_whole_profile(db: Connection) -> None:
    tell(db, "Call me Sam.")
    answer = up(db, "put", profile=PROFILE, source="import")
    assert list(facts(answer).items()) == [("b", "2"), ("a", "1")]
    assert answer["profile"]["traits"] == {**EMPTY["traits"], "style": "detailed"}  # type: ignore[dict-item]
    assert answer["profile"]["preferences"]["topics"] == ["go"]
    assert (answer["version"], answer["source"]) == (2, "import")
    assert versions(db) == [(2, "put"), (1, "update")]


def test_put_may_name_the_version_and_the_history_keeps_its_order(db: Connection) -> None:
    for version in (7, 0, 3, 3):
        assert up(db, "put", profile=PROFILE, version=version)["version"] == version
    assert versions(db) == [(3, "put"), (3, "put"), (0, "put"), (7, "put")]
    assert add(db, "n", "1")["version"] == 4
    assert [item["revision"] for item in up(db, "history")["items"]] == [5, 4, 3, 2, 1]


def test_put_heeds_its_conditions(db: Connection) -> None:
    with refused(db, "LM201"):
        up(db, "put", profile=PROFILE, version=0, if_version=0)
    up(db, "put", profile=PROFILE, version=0, if_absent=True)
    with refused(db, "LM202"):
        up(db, "put", profile=PROFILE, if_absent=True)
    with refused(db, "LM201"):
        up(db, "put", profile=PROFILE, version=2, if_version=1)
    assert up(db, "put", profile=PROFILE, version=1, if_version=0)["version"] == 1
    up(db, "delete")
    assert up(db, "put", profile=PROFILE, version=1, if_absent=True)["version"] == 1


def test_a_document_is_kept_as_it_was_given_until_something_else_is_written(
    db: Connection,
) -> None:
    document = json.dumps({"z": 1, "a": "\u0000"})
    up(db, "put", profile=PROFILE, document=document)
    assert up(db, "get")["document"] is None
    assert up(db, "get", include_document=True)["document"] == document
    add(db, "b", "2")
    assert up(db, "get", include_document=True)["document"] == document
    add(db, "n", "1")
    assert up(db, "get", include_document=True)["document"] is None
    with refused(db, "LM406"):
        up(db, "put", profile=PROFILE, document="x" * 1_000_001)


@pytest.mark.parametrize(
    ("profile", "field"),
    [
        (None, "profile"),
        ([], "profile"),
        ({"version": 1}, "version"),
        ({"facts": {"a": "b"}}, "facts"),
        ({"facts": ["a"]}, "facts"),
        ({"facts": [{"key": "a", "value": "b", "op": "forget"}]}, "op"),
        ({"traits": {"style": "x"}}, "style"),
        ({"preferences": {"topics": "x"}}, "topics"),
    ],
)
def test_put_takes_only_profiles(db: Connection, profile: Any, field: str) -> None:
    with refused(db, "LM001") as refusal:
        up(db, "put", profile=profile)
    assert refusal.detail["field"] == field

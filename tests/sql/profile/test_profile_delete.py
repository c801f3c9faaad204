"""profile.delete: a section's tombstone, and no other row's."""

from __future__ import annotations

from typing import Any

import psycopg

from tests.calls import refused
from tests.sql.facts import LABEL, fact, hash_of, section, value_of

Connection = psycopg.Connection[Any]


def test_o69_a_deleted_section_is_gone_from_every_read_and_can_be_restored(db: Connection) -> None:
    receipt = section(db, "set", value="x")
    assert section(db, "delete") == {
        "found": True,
        "tombstoned": True,
        "memory_id": receipt["memory_id"],
        "version": 2,
        "version_text": "2",
    }
    assert section(db, "list")["items"] == []
    assert section(db, "render")["text"] == ""
    assert fact(db, "get", memory_key=LABEL)["status"] == "deleted"
    assert fact(db, "restore", memory_key=LABEL)["restored"] is True
    assert section(db, "render")["text"] != ""


def test_o9_deleting_twice_or_nothing_is_no_error(db: Connection) -> None:
    assert section(db, "delete")["found"] is False
    section(db, "set", value="x")
    section(db, "delete")
    again = section(db, "delete")
    assert (again["found"], again["tombstoned"], again["version"]) == (False, True, 2)


def test_o9_o16_a_stale_hash_is_refused(db: Connection) -> None:
    section(db, "set", value="x")
    with refused(db, "LM201") as refusal:
        section(db, "delete", if_match_sha256=hash_of("y"))
    assert refusal.detail == {"current_sha256": hash_of("x"), "current_version": 1}
    assert section(db, "delete", if_match_sha256=hash_of("x"))["found"] is True


def test_o60_a_fact_of_that_key_is_no_section(db: Connection) -> None:
    fact(db, "set", memory_key=LABEL, value="fact")
    answer = section(db, "delete")
    assert (answer["found"], answer["tombstoned"]) == (False, False)
    assert value_of(db, memory_key=LABEL) == "fact"


def test_o60_only_the_section_of_exactly_this_identity_is_deleted(db: Connection) -> None:
    others: list[dict[str, str]] = [{"user_id": "u"}, {"session_id": "s"}, {"agent": "a"}]
    for identity in ({}, *others):
        section(db, "set", value="x", **identity)
    section(db, "delete")
    assert len(section(db, "list", read_scope="namespace")["items"]) == 3

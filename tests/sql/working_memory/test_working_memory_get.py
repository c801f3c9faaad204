"""working_memory.get: one block as it stands now."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import psycopg

from tests.calls import refused
from tests.databases import Clock
from tests.sql.doors import as_service, wm
from tests.sql.texts import sha256

Connection = psycopg.Connection[Any]

NOBODY = {"user_id": "-", "session_id": "-", "run_id": "-"}


def test_o7_a_live_block_is_read_with_text_hash_and_fill(db: Connection, clock: Clock) -> None:
    clock.set(datetime(2026, 3, 1, 12, 0, tzinfo=UTC))
    wm(db, "set", content="Grüße\n", char_limit=12, description="notes", block_key="k")
    assert wm(db, "get", block_key="k") == {
        "found": True,
        "org": "acme",
        "namespace": "main",
        "agent": "coder",
        **NOBODY,
        "block_key": "k",
        "content": "Grüße\n",
        "description": "notes",
        "read_only": False,
        "version": 1,
        "version_text": "1",
        "content_sha256": sha256("Grüße\n"),
        "value_length": 6,
        "char_limit": 12,
        "fill_ratio": 0.5,
        "created": False,
        "updated_at": "2026-03-01T12:00:00.000000Z",
    }


def test_a_block_that_never_was_is_not_found(db: Connection) -> None:
    assert wm(db, "get") == {
        "found": False,
        "tombstoned": False,
        "org": "acme",
        "namespace": "main",
        "agent": "coder",
        **NOBODY,
        "block_key": "scratchpad",
        "version": None,
        "version_text": None,
    }


def test_o9_a_deleted_block_is_not_found_but_known(db: Connection) -> None:
    wm(db, "set", content="x")
    wm(db, "delete")
    got = wm(db, "get")
    assert (got["found"], got["tombstoned"], got["version"]) == (False, True, 2)
    assert got["version_text"] == "2"
    assert "content" not in got
    assert "content_sha256" not in got


def test_a_get_reads_exactly_the_named_identity(db: Connection) -> None:
    wm(db, "set", content="user's", user_id="u")
    assert wm(db, "get")["found"] is False
    assert wm(db, "get", user_id="u", session_id="s")["found"] is False
    assert wm(db, "get", user_id="u", run_id="r")["found"] is False
    assert wm(db, "get", user_id="u")["content"] == "user's"


def test_a_get_changes_nothing(db: Connection) -> None:
    wm(db, "set", content="x")
    assert wm(db, "get") == wm(db, "get")
    wm(db, "get", namespace="elsewhere")
    names = db.execute("select name from loom.namespace").fetchall()
    assert names == [("main",)]


def test_a_viewer_reads(services: Connection) -> None:
    wm(services, "set", content="x")
    request = {"org": "acme", "namespace": "main", "agent": "coder"}
    got = as_service(services, "loom_test_viewer", "working_memory.get", **request)
    assert got["content"] == "x"


def test_o40_no_write_answers_with_the_text(db: Connection) -> None:
    written = "a text of some length"
    answers = [
        wm(db, "set", content=written),
        wm(db, "append", addition=written),
        wm(db, "replace", old="length", new="LENGTH"),
        wm(db, "delete"),
    ]
    assert not [answer for answer in answers if "some" in str(answer) or "content" in answer]


def test_there_is_no_read_scope_in_working_memory(db: Connection) -> None:
    for verb in ("get", "list", "render"):
        with refused(db, "LM001") as refusal:
            wm(db, verb, read_scope="own_user")
        assert refusal.detail["field"] == "read_scope"

"""looms.inspection, and how a weaving is asked for and looked up."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

import pytest

from tests.calls import Connection, Token, operate, refused
from tests.databases import Clock
from tests.sql.doors import through_api
from tests.sql.loom_doors import NOBODY, PLACE, add, looms, make


def test_it_counts_threads_by_kind_and_agent_and_shows_the_newest(db: Connection) -> None:
    loom = make(db)
    for number in range(11):
        add(db, loom, f"shared {number}")
    add(db, loom, "own", agent="b")
    gone = add(db, loom, "gone", agent="a")
    looms(db, "thread_delete", loomId=loom, threadId=gone["id"])
    seen = looms(db, "inspection", loomId=loom)
    assert seen["loom"] == looms(db, "get", loomId=loom)
    assert seen["threadCounts"] == [
        {"kind": "shared", "agent": None, "live": 11, "deleted": 0},
        {"kind": "own", "agent": "a", "live": 0, "deleted": 1},
        {"kind": "own", "agent": "b", "live": 1, "deleted": 0},
    ]
    newest = [each["text"] for each in seen["newestThreads"]]
    assert newest == ["own", *(f"shared {number}" for number in range(10, 1, -1))]


def test_it_keeps_to_the_read_scope(db: Connection, mint: Callable[..., Token]) -> None:
    loom = make(db)
    for user in ("-", "u1", "u2"):
        add(db, loom, f"of {user}", userId=user)
        looms(db, "activity", loomId=loom, text=f"turn of {user}", userId=user)
    nobodys = looms(db, "inspection", loomId=loom)
    assert nobodys["threadCounts"][0]["live"] == 1
    assert nobodys["pendingActivity"]["turns"] == 1
    own = looms(db, "inspection", loomId=loom, userId="u1")
    assert own["pendingActivity"]["turns"] == 2
    assert "of u2" not in str(own)
    assert (
        looms(db, "inspection", loomId=loom, readScope="namespace")["pendingActivity"]["turns"] == 3
    )
    pinned = mint(namespace="main", read_user_id="u1")
    assert through_api(db, pinned, "looms.inspection", loomId=loom) == own


def test_it_says_when_weaving_is_due_and_why_not_yet(db: Connection, clock: Clock) -> None:
    clock.set(datetime(2026, 1, 1, 12, tzinfo=UTC))
    loom = make(db)

    def state() -> tuple[bool, str | None, list[str]]:
        night = looms(db, "inspection", loomId=loom)["nightWeaving"]
        return night["due"], night["dueAt"], night["waitsFor"]

    assert state() == (False, None, ["off", "nothing_pending"])
    looms(db, "update", loomId=loom, settings={"nightWeaving": True, "quietMinutes": 10})
    assert state() == (False, None, ["nothing_pending"])
    looms(db, "activity", loomId=loom, text="turn")
    due_at = "2026-01-01T12:10:00.0000000Z"
    assert state() == (False, due_at, ["quiet"])
    clock.advance(minutes=10)
    assert state() == (True, due_at, [])
    operate(db, "org.set_model_calls", org="acme", enabled=False)
    assert state() == (False, due_at, ["model_calls_off"])
    db.execute("update loom.loom set night_weaving_not_before = '2026-01-01T12:30:00Z'")
    assert state() == (False, "2026-01-01T12:30:00.0000000Z", ["backoff", "model_calls_off"])


def test_a_weaving_is_queued_once(db: Connection) -> None:
    loom = make(db)
    first = looms(db, "weave", loomId=loom)["entity"]
    assert (first["state"], first["cause"], first["dryRun"]) == ("queued", "request", False)
    assert looms(db, "weave", loomId=loom)["entity"] == first
    dry = looms(db, "weave", loomId=loom, dryRun=True)["entity"]
    assert dry["dryRun"] is True
    page = looms(db, "weaving_list", loomId=loom)
    assert {each["id"] for each in page["items"]} == {first["id"], dry["id"]}
    assert page["total"] == 2
    assert looms(db, "weaving_list", loomId=loom, page=2)["items"] == []
    assert looms(db, "weaving_get", loomId=loom, weavingId=first["id"]) == {**first, "changes": []}


def test_what_has_changed_nothing_cannot_be_taken_back(db: Connection) -> None:
    loom = make(db)
    weaving = looms(db, "weave", loomId=loom)["entity"]["id"]
    with refused(db, "LM001") as refusal:
        looms(db, "weaving_revert", loomId=loom, weavingId=weaving)
    assert refusal.detail == {"field": "weavingId", "reason": "has changed nothing"}


@pytest.mark.parametrize("verb", ["weaving_get", "weaving_revert"])
def test_a_weaving_is_found_in_its_own_loom_alone(db: Connection, verb: str) -> None:
    loom, other = make(db), make(db, "other")
    weaving = looms(db, "weave", loomId=loom)["entity"]["id"]
    for where, which in ((other, weaving), (loom, NOBODY)):
        with refused(db, "LM105"):
            looms(db, verb, loomId=where, weavingId=which)
    with refused(db, "LM103"):
        looms(db, verb, loomId=loom, weavingId=weaving, **{**PLACE, "namespace": "second"})

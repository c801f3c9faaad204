"""loom.work_read: what the holder of a lease builds from."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import pytest

from tests.calls import Answer, Connection, operate, refused
from tests.databases import Clock
from tests.sql.facts import NOON, fact, section
from tests.sql.structured_profile.building import (
    NAME,
    NAME_AND_CITY,
    Lease,
    as_worker,
    build,
    build_row,
    claim,
    due,
    finish,
    lease,
    read,
    rest,
    set_schema,
    settings,
)

U1 = {"user_id": "u1"}


@pytest.fixture(autouse=True)
def _noon(db: Connection, clock: Clock) -> None:
    clock.set(NOON)


@pytest.fixture
def digest(db: Connection) -> str | None:
    return set_schema(db)


def _likes(db: Connection, key: str, value: Any = None, **fields: Any) -> str:
    wanted = {**U1, "memory_key": key, "value": value or key, **fields}
    return fact(db, "set", **wanted)["memory_id"]  # type: ignore[no-any-return]


def _keys(told: Answer) -> list[str]:
    return [source["memory_key"] for source in told["sources"]]


def test_it_tells_schema_and_facts(db: Connection, digest: str) -> None:
    source = _likes(db, "drink", {"hot": "tea"}, confidence=0.5, memory_type="preference")
    told = read(db, lease(db))
    assert told == {
        "found": True,
        "kind": "structured_profile",
        "namespace": "main",
        "user_id": "u1",
        "leased_until": "2026-03-01T12:05:00.000000Z",
        "seconds_left": 300,
        "attempt": 1,
        "json_schema": {"type": "object", "properties": NAME},
        # 32, 4 for the key, 48 for a string without a length.
        "estimate": 84,
        "schema_sha256": digest,
        "current": True,
        "char_limit": 65536,
        "model_calls": True,
        "source_count": 1,
        "sources": [
            {
                "memory_id": source,
                "memory_key": "drink",
                "memory_type": "preference",
                "value": {"hot": "tea"},
                "confidence": 0.5,
                "dated": "2026-03-01T12:00:00.000000Z",
            }
        ],
    }


def test_it_tells_how_long_the_lease_lasts(db: Connection, clock: Clock, digest: str) -> None:
    _likes(db, "drink")
    taken = lease(db)
    clock.advance(seconds=299.5)
    assert read(db, taken)["seconds_left"] == 0.5


def test_it_tells_the_estimate_of_the_schema_of_now(db: Connection, digest: str) -> None:
    _likes(db, "drink")
    taken = lease(db)
    set_schema(db, NAME_AND_CITY)
    assert read(db, taken)["estimate"] == 84 + 52
    set_schema(db, None)
    assert read(db, taken)["estimate"] is None


def test_a_fact_is_dated_by_when_it_became_true_else_by_its_last_change(
    db: Connection, clock: Clock, digest: str
) -> None:
    """O27: by which of two that disagree the newest is known."""
    _likes(db, "told", valid_at="2020-05-06T07:08:09Z")
    _likes(db, "changed")
    clock.advance(seconds=1)
    _likes(db, "changed", "anew")
    dated = {each["memory_key"]: each["dated"] for each in read(db, lease(db))["sources"]}
    assert dated == {
        "told": "2020-05-06T07:08:09.000000Z",
        "changed": "2026-03-01T12:00:01.000000Z",
    }


def test_the_most_confident_come_first_then_the_newest_then_by_id(
    db: Connection, clock: Clock, digest: str
) -> None:
    ties = sorted(
        (_likes(db, f"tie {n}", confidence=0.5, valid_at="2026-01-01T00:00:00Z"), f"tie {n}")
        for n in range(5)
    )
    clock.advance(seconds=1)
    _likes(db, "sure and old", confidence=0.9, valid_at="2001-01-01T00:00:00Z")
    _likes(db, "sure and new", confidence=0.9)
    _likes(db, "newest and unsure", confidence=0.1)
    _likes(db, "of the future", confidence=0.5, valid_at="2030-01-01T00:00:00Z")
    assert _keys(read(db, lease(db))) == [
        *("sure and new", "sure and old", "of the future"),
        *[key for _, key in ties],
        "newest and unsure",
    ]


def test_o33_it_reads_no_more_than_the_memory_limit(
    db: Connection, clock: Clock, digest: str
) -> None:
    """However many builds there were before: what was built is never read."""
    settings(db, memory_limit=3, cooldown_seconds=0)
    for n in range(6):
        _likes(db, f"k{n}", confidence=0.5 + n / 20)
    for n in range(3):
        assert build(db, answer={"name": f"Sam {n}"})["outcome"] == "written"
        clock.advance(seconds=1)
        _likes(db, "k0", f"said anew {n}", confidence=0.5)
    told = read(db, lease(db))
    assert (_keys(told), told["source_count"]) == (["k5", "k4", "k3"], 6)
    assert len(build_row(db)["read_ids"]) == 3


def test_the_memory_limit_is_100_unless_it_is_set(db: Connection, digest: str) -> None:
    for n in range(103):
        _likes(db, f"k{n}")
    assert len(read(db, lease(db))["sources"]) == 100


def test_only_sources_are_read(db: Connection, clock: Clock, digest: str) -> None:
    """O49: nor what the worker wrote itself."""
    settings(db, cooldown_seconds=0)
    _likes(db, "kept")
    clock.advance(seconds=1)
    _likes(db, "twin", "kept")
    _likes(db, "high", sensitivity="high")
    _likes(db, "other", tags=["about:other"])
    _likes(db, "attribute", tags=["attribute:health"])
    _likes(db, "forget", tags=["forget"])
    _likes(db, "episode", memory_type="episodic")
    _likes(db, "gone")
    fact(db, "delete", **U1, memory_key="gone")
    _likes(db, "redacted")
    fact(db, "redact", **U1, memory_key="redacted", reason="r")
    _likes(db, "past", valid_to="2026-01-01T00:00:00Z")
    _likes(db, "of another", user_id="u2")
    section(db, "set", **U1, value="a section")
    due(db)
    taken = {each.user_id: each for each in claim(db)}
    finish(db, taken["u2"], {"name": "Max"})
    finish(db, taken["u1"], {"name": "Sam"})
    clock.advance(seconds=1)
    _likes(db, "new")
    told = read(db, lease(db))
    assert (sorted(_keys(told)), told["source_count"]) == (["kept", "new"], 2)


def test_an_edit_is_read_as_the_newest_statement(db: Connection, clock: Clock, digest: str) -> None:
    """O27: a preference that turned round."""
    _likes(db, "coffee", "likes coffee")
    clock.advance(seconds=1)
    _likes(db, "tea", "likes tea")
    clock.advance(seconds=1)
    _likes(db, "coffee", "dislikes coffee")
    told = read(db, lease(db))
    assert [each["value"] for each in told["sources"]] == ["dislikes coffee", "likes tea"]


def test_a_lease_that_is_over_or_was_never_given_tells_nothing(
    db: Connection, clock: Clock, digest: str
) -> None:
    _likes(db, "tea")
    taken = lease(db)
    clock.advance(seconds=300)
    assert read(db, taken) == {"found": False}
    other = Lease("acme", "main", taken.kind, "u1", uuid4(), None)
    assert read(db, other) == {"found": False}
    assert read(db, Lease("other", "main", taken.kind, "u1", taken.lease_id, None)) == {
        "found": False
    }


def test_a_schema_that_changed_since_the_claim_is_told(db: Connection, digest: str) -> None:
    _likes(db, "tea")
    taken = lease(db)
    changed = set_schema(db, NAME_AND_CITY)
    told = read(db, taken)
    assert (told["current"], told["schema_sha256"]) == (False, changed)
    set_schema(db, None)
    told = read(db, taken)
    assert (told["current"], told["schema_sha256"], told["json_schema"]) == (False, None, None)
    set_schema(db)
    assert read(db, taken)["current"] is True


def test_switched_off_model_calls_are_told(db: Connection, digest: str) -> None:
    _likes(db, "tea")
    taken = lease(db)
    operate(db, "org.set_model_calls", org="acme", enabled=False)
    assert read(db, taken)["model_calls"] is False


def test_what_time_has_done_since_the_claim_is_read(
    db: Connection, clock: Clock, digest: str
) -> None:
    _likes(db, "short", ttl_seconds=60)
    _likes(db, "long")
    taken = lease(db)
    clock.advance(seconds=60)
    told = read(db, taken)
    assert (_keys(told), told["source_count"]) == (["long"], 1)


def test_it_counts_the_attempts(db: Connection, clock: Clock, digest: str) -> None:
    _likes(db, "tea")
    lease(db)
    rest(db, clock, 301)
    assert read(db, lease(db))["attempt"] == 2


@pytest.mark.parametrize("org", [None, "", "*", "-"])
def test_it_names_an_org(db: Connection, org: str | None) -> None:
    with refused(db, "LM001") as refusal, as_worker(db):
        db.execute("select loom.work_read(%s, gen_random_uuid())", (org,))
    assert refusal.detail["field"] == "p_org"

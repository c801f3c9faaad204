"""memory.redact of a fact that the worker made other rows from: they are scrubbed of it as well."""

from __future__ import annotations

from typing import Any

import pytest

from tests.calls import Connection, refused
from tests.databases import Clock
from tests.sql.canaries import tables_with
from tests.sql.doors import IDENTITY, execute
from tests.sql.facts import NOON, audited, changes, fact, history, section, value_of
from tests.sql.worker_rows import worker_writes

USER = {"user_id": "u1"}


@pytest.fixture
def source(db: Connection, clock: Clock) -> str:
    """The id of a fact of user u1 with a canary, written at noon; the clock stands."""
    clock.set(NOON)
    return fact(db, "set", **USER, value="canary of the source")["memory_id"]  # type: ignore[no-any-return]


def _redact(db: Connection, **fields: Any) -> Any:
    return fact(db, "redact", **{**USER, "reason": "asked", **fields})


def _of(db: Connection, key: str) -> Any:
    return value_of(db, **USER, memory_key=key)


def test_every_version_made_from_it_is_scrubbed_and_no_other(db: Connection, source: str) -> None:
    other = fact(db, "set", **USER, memory_key="other", value="x")["memory_id"]
    worker_writes(db, "fold", "made before", [other], **USER)
    worker_writes(db, "fold", "canary", [source, other], **USER)
    derived = worker_writes(db, "fold", "made after", [other], **USER)
    answer = _redact(db)
    assert answer["derived"] == [derived]
    assert answer["versions_scrubbed"] == 2
    assert tables_with(db, "canary") == {}
    assert _of(db, "fold") == "made after"
    values = [version["value"] for version in history(db, **USER, memory_key="fold")]
    assert values == ["made before", None, "made after"]


def test_a_row_whose_newest_version_was_made_from_it_reads_as_redacted(
    db: Connection, source: str
) -> None:
    derived = worker_writes(db, "fold", "canary", [source], **USER)
    _redact(db)
    assert fact(db, "get", **USER, memory_id=derived)["status"] == "redacted"
    assert changes(db, **USER, memory_key="fold") == ["set", "redact"]
    assert section(db, "render", **USER)["sections"] == []
    with refused(db, "LM102"):
        fact(db, "revert", **USER, memory_key="fold", version=1)
    assert tables_with(db, "canary") == {}


def test_many_rows_made_from_it_are_all_reached(db: Connection, source: str) -> None:
    made = [worker_writes(db, f"fold {n}", f"canary {n}", [source], **USER) for n in range(5)]
    assert _redact(db)["derived"] == sorted(made)
    assert tables_with(db, "canary") == {}


def test_a_retry_reaches_the_same_keys(db: Connection, source: str) -> None:
    worker_writes(db, "fold", "canary", [source], **USER)
    first = _redact(db)
    again = _redact(db)
    by_id = _redact(db, memory_id=source)
    assert again["derived"] == by_id["derived"] == first["derived"]
    assert (again["versions_scrubbed"], by_id["versions_scrubbed"]) == (0, 0)
    # A completion that was under way then, and commits now.
    worker_writes(db, "fold", "canary", [source], **USER)
    assert _redact(db)["derived"] == first["derived"]
    assert tables_with(db, "canary") == {}


@pytest.mark.parametrize("mode", ["read_only", "no_delete"])
def test_it_is_refused_while_a_row_made_from_it_is_locked(
    db: Connection, source: str, clock: Clock, mode: str
) -> None:
    worker_writes(db, "fold", "canary", [source], **USER)
    fact(db, "lock", **USER, memory_key="fold", mode=mode, reason="legal hold", ttl_seconds=60)
    with refused(db, "LM205") as refusal:
        _redact(db)
    assert refusal.detail["reason"] == "legal hold"
    assert refusal.detail["memory_key"] == "fold"
    assert refusal.detail["until"] == "2026-03-01T12:01:00.000001Z"
    assert value_of(db, **USER) == "canary of the source"
    assert _of(db, "fold") == "canary"
    assert audited(db, "memory.redact") == []
    clock.advance(seconds=61)
    _redact(db)
    assert tables_with(db, "canary") == {}


def test_metadata_of_a_made_row_is_scrubbed_with_it(db: Connection, source: str) -> None:
    worker_writes(db, "fold", "text", [source], **USER)
    fact(db, "label", **USER, memory_key="fold", tags={"add": ["canary"]})
    fact(db, "pin", **USER, memory_key="fold")
    assert _redact(db)["versions_scrubbed"] == 4
    assert tables_with(db, "canary") == {}


@pytest.mark.parametrize("way", ["deleted and restored", "reverted to", "said again"])
def test_text_that_a_caller_carried_on_is_reached(db: Connection, source: str, way: str) -> None:
    worker_writes(db, "fold", "canary", [source], **USER)
    fold = {**USER, "memory_key": "fold"}
    if way == "deleted and restored":
        fact(db, "delete", **fold)
        fact(db, "restore", **fold)
        fact(db, "delete", **fold)
        fact(db, "restore", **fold)
    elif way == "reverted to":
        fact(db, "set", **fold, value="a caller's")
        fact(db, "revert", **fold, version=1)
        fact(db, "set", **fold, value="a caller's")
        fact(db, "revert", **fold, version=3)
    else:
        fact(db, "set", **fold, value="canary", tags=["x"])
    assert _of(db, "fold") is not None
    _redact(db)
    assert tables_with(db, "canary") == {}
    assert _of(db, "fold") is None


def test_a_callers_own_words_over_a_made_row_stay(db: Connection, source: str) -> None:
    worker_writes(db, "fold", "canary", [source], **USER)
    fact(db, "set", **USER, memory_key="fold", value="a caller's")
    _redact(db)
    assert tables_with(db, "canary") == {}
    assert _of(db, "fold") == "a caller's"


def test_a_forged_trace_reaches_and_blocks_nothing(db: Connection, source: str) -> None:
    for trace in (f"profile.fold:{source}", f"profile.fold: {source}"):
        with refused(db, "LM001"):
            fact(db, "set", **USER, memory_key="forged", value="x", source_trace=trace)
    with refused(db, "LM001"):
        fact(db, "set", **USER, memory_key="forged", value="x", source_class="derived")
    for number, trace in enumerate(
        (source, f"Profile.fold:{source}", f" profile.fold:{source}", f"import of {source}")
    ):
        key = f"forged {number}"
        fact(db, "set", **USER, memory_key=key, value="x", source_trace=trace)
        fact(db, "lock", **USER, memory_key=key, reason="in the way")
    assert _redact(db)["derived"] == []
    assert [_of(db, f"forged {number}") for number in range(4)] == ["x"] * 4


def test_a_lock_on_a_callers_row_at_a_made_key_blocks_nothing(db: Connection, source: str) -> None:
    worker_writes(db, "fold", "canary", [source], **USER)
    fact(db, "set", **USER, memory_key="fold", value="a caller's")
    fact(db, "lock", **USER, memory_key="fold", reason="in the way")
    _redact(db)
    assert tables_with(db, "canary") == {}
    assert _of(db, "fold") == "a caller's"


def test_rows_made_from_a_fact_of_the_same_id_elsewhere_are_left(
    db: Connection, source: str
) -> None:
    """The id of another org's fact, as an import with its ids might bring it."""
    worker_writes(db, "fold", "theirs", [source], org="other")
    assert _redact(db)["derived"] == []
    assert value_of(db, org="other", memory_key="fold") == "theirs"


def test_stored_answers_that_speak_of_a_made_row_go(db: Connection, source: str) -> None:
    worker_writes(db, "fold", "canary", [source], **USER)
    execute(db, "memory.pin", key="k", **IDENTITY, **USER, memory_key="fold")
    assert tables_with(db, "memory.pin")["idempotency"] == 1
    _redact(db)
    assert db.execute("select count(*) from loom.idempotency").fetchone() == (0,)


def test_it_is_audited_with_the_ids_it_reached(db: Connection, source: str) -> None:
    derived = worker_writes(db, "fold", "canary", [source], **USER)
    _redact(db)
    assert audited(db, "memory.redact") == [
        {"memory_id": source, "derived": [derived], "reason": "asked"}
    ]

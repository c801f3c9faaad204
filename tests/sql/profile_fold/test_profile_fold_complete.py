"""loom.profile_fold_complete: the section that a fold writes, and when it writes nothing."""

from __future__ import annotations

from typing import Any

import pytest

from tests.calls import Answer, Connection, operate, refused
from tests.databases import Clock
from tests.sql.canaries import tables_with
from tests.sql.erasure.rows_of import erase, rows_of
from tests.sql.facts import NOON, fact, history, section
from tests.sql.profile_fold.folding import (
    LABEL,
    ROW,
    U1,
    build_row,
    fold,
    is_current,
    lease,
    prefers,
    row,
    switch,
    take,
    texts,
)
from tests.sql.structured_profile.building import (
    FOLD,
    build,
    cap,
    claim,
    complete,
    due,
    fail,
    finish,
    read,
    rest,
    served,
    set_schema,
    used,
)


@pytest.fixture(autouse=True)
def _noon(db: Connection, clock: Clock) -> None:
    clock.set(NOON)
    switch(db)


# What is written.


def test_the_section_is_the_workers_and_says_what_it_was_folded_from(db: Connection) -> None:
    ids = sorted(
        [prefers(db), prefers(db, "moved to Ulm", memory_key="home", memory_type="decision")]
    )
    told = fold(db, "Likes tea, moved to Ulm.")
    found = row(db)
    assert told == {
        "outcome": "written",
        "reason": None,
        "memory_id": found["memory_id"],
        "version": 1,
        "version_text": "1",
    }
    assert (found["value"], found["memory_type"], found["agent"], found["session_id"]) == (
        *("Likes tea, moved to Ulm.", "profile"),
        *("-", "-"),
    )
    assert (found["source_class"], found["char_limit"]) == ("derived", 8192)
    assert found["source_trace"] == f"profile.fold:{LABEL}:{','.join(ids)}"
    (version,) = history(db, **ROW)
    assert (version["change"], version["actor"]) == ("set", "worker")
    kept = db.execute("select source_id::text from loom.memory_source order by 1").fetchall()
    assert kept == [(each,) for each in ids]
    assert (is_current(db), take(db)) == (True, [])


def test_o58_a_later_fold_is_a_version_and_one_call_takes_it_back(
    db: Connection, clock: Clock
) -> None:
    prefers(db)
    fold(db, "Likes tea.")
    rest(db, clock, 600, FOLD)
    prefers(db, "coffee")
    assert fold(db, "Likes coffee.")["version"] == 2
    assert texts(db) == ["Likes tea.", "Likes coffee."]
    fact(db, "revert", **ROW, version=1)
    assert row(db)["value"] == "Likes tea."


def test_o54_the_same_text_from_the_same_facts_is_no_version(db: Connection, clock: Clock) -> None:
    prefers(db)
    fold(db)
    rest(db, clock, 600, FOLD)
    prefers(db)  # a restatement: a newer date, another digest
    told = fold(db)
    assert (told["outcome"], told["version"], is_current(db)) == ("unchanged", 1, True)


def test_a_render_carries_it(db: Connection) -> None:
    prefers(db)
    fold(db)
    rendered = section(db, "render", **U1)
    assert "Likes tea." in rendered["text"]
    assert [part["label"] for part in rendered["sections"]] == [LABEL]


def test_facts_all_gone_empty_the_section_without_a_call(db: Connection) -> None:
    prefers(db)
    fold(db)
    fact(db, "delete", **U1)
    assert build_row(db)["modelless"] is True
    taken = lease(db)
    assert read(db, taken)["sources"] == []
    assert complete(db, taken)["outcome"] == "written"
    assert (row(db)["value"], is_current(db), take(db)) == ("", True, [])


def test_a_user_whose_facts_and_section_went_gets_none(db: Connection) -> None:
    prefers(db)
    fold(db)
    fact(db, "delete", **U1)
    taken = lease(db)
    read(db, taken)
    fact(db, "delete", **ROW)
    assert complete(db, taken)["outcome"] == "nothing"
    assert (row(db)["found"], take(db)) == (False, [])


# What is read.

TAGGED = ["about:other", "forget", "attribute:health"]
NO_SOURCE: list[Any] = [
    *(pytest.param({"memory_type": each}, id=each) for each in ("semantic", "episodic", "profile")),
    *(pytest.param({"tags": [each]}, id=each) for each in TAGGED),
    pytest.param({"sensitivity": "high"}, id="high"),
    pytest.param({"valid_to": "2026-03-01T11:00:00Z"}, id="over"),
    pytest.param({"user_id": "-"}, id="of nobody"),
    pytest.param({"user_id": "u2"}, id="of another"),
    pytest.param({"namespace": "other"}, id="elsewhere"),
    pytest.param({"value": "tea", "memory_type": "preference"}, id="a duplicate"),
]


@pytest.mark.parametrize("fields", NO_SOURCE)
def test_what_is_no_source_is_not_read_and_makes_nothing_due(
    db: Connection, clock: Clock, fields: Answer
) -> None:
    one = prefers(db)
    clock.advance(seconds=1)
    prefers(db, **{"value": "x", "memory_key": "not", **fields})
    if "user_id" in fields or "namespace" in fields:
        due(db, FOLD)
        (taken,) = (each for each in claim(db, kind=FOLD) if each.user_id == "u1")
    else:
        taken = lease(db)
    told = read(db, taken)
    assert [source["memory_id"] for source in told["sources"]] == [one]
    assert told["source_count"] == 1
    finish(db, taken, "Likes tea.")
    assert row(db)["source_trace"] == f"profile.fold:{LABEL}:{one}"


@pytest.mark.parametrize("type_", ["preference", "decision"])
def test_a_fold_reads_preferences_and_decisions(db: Connection, type_: str) -> None:
    one = prefers(db, memory_type=type_)
    told = read(db, lease(db))
    assert [source["memory_id"] for source in told["sources"]] == [one]
    assert (told["kind"], told["json_schema"], told["char_limit"]) == (FOLD, {}, 8192)
    assert (told["current"], told["model_calls"], told["estimate"]) == (True, True, None)


def test_o33_it_reads_no_more_than_its_own_memory_limit(db: Connection) -> None:
    switch(db, memory_limit=2)
    for n in range(4):
        prefers(db, n, memory_key=f"k{n}", confidence=n / 4)
    told = read(db, lease(db))
    assert [source["value"] for source in told["sources"]] == [3, 2]
    assert told["source_count"] == 4


def test_a_fact_that_only_structured_profiles_read_costs_no_fold(
    db: Connection, clock: Clock
) -> None:
    prefers(db)
    fold(db)
    rest(db, clock, 600, FOLD)
    fact(db, "set", **U1, memory_key="home", value="Ulm")
    fact(db, "set", **U1, memory_key="trip", value="x", ttl_seconds=60)
    clock.advance(days=1)
    assert (take(db), is_current(db)) == ([], True)


@pytest.mark.parametrize("verb", ["pin", "unpin", "restore"])
def test_a_mark_on_the_section_of_a_user_with_other_facts_lists_nobody(
    db: Connection, verb: str
) -> None:
    fact(db, "set", **U1, memory_key="home", value="Ulm")
    prefers(db)
    fold(db)
    if verb == "restore":
        fact(db, "delete", **ROW)
    fact(db, verb, **ROW)
    build = build_row(db)
    assert (build["row_state"], build["listed_at"], build["due_at"]) == ("served", None, None)


def test_o49_the_section_is_no_source_of_itself_nor_of_the_other(
    db: Connection, clock: Clock
) -> None:
    set_schema(db)
    prefers(db)
    fold(db)
    build(db)
    before = db.execute("select source_count, fold_count from loom.user_state").fetchone()
    assert before == (1, 1)
    clock.advance(days=1)
    assert (take(db), served(db)["status"]) == ([], "ready")


# What a model might say.


@pytest.mark.parametrize("answer", [{}, [], 1, True, "", " \n\t ", {"summary": "x"}])
def test_an_answer_is_a_text_that_says_something(db: Connection, answer: Any) -> None:
    prefers(db)
    taken = lease(db)
    read(db, taken)
    with refused(db, "LM001") as refusal:
        complete(db, taken, answer)
    assert refusal.detail["field"] == "p_answer"
    assert row(db)["found"] is False


def test_o30_o35_a_text_over_the_limit_is_refused_whole(db: Connection, clock: Clock) -> None:
    """The limit is that of the canonical JSON: two quotes, and escapes."""
    prefers(db)
    fold(db, "x" * 8190)
    rest(db, clock, 600, FOLD)
    prefers(db, "coffee")
    taken = lease(db)
    read(db, taken)
    with refused(db, "LM402") as refusal:
        complete(db, taken, "y" * 8191)
    assert refusal.detail == {"value_length": 8193, "char_limit": 8192, "overage": 1}
    fail(db, taken, "cut_off", "CHAR_LIMIT_EXCEEDED")
    assert (texts(db), build_row(db)["refused"]) == (["x" * 8190], "CUT_OFF")
    clock.advance(seconds=21_599)
    assert take(db) == []
    prefers(db, "water")
    assert take(db) == ["u1"]


def test_a_callers_own_limit_of_the_section_is_not_the_folds(db: Connection) -> None:
    section(db, "set", **U1, agent="-", label=LABEL, value="mine", char_limit=10)
    prefers(db)
    assert fold(db, "Likes tea more than water.")["version"] == 2
    assert (row(db)["char_limit"], row(db)["source_class"]) == (8192, "derived")


# Changes between the read and the write.

RACES: dict[str, tuple[Any, str]] = {
    "deleted": (lambda db: fact(db, "delete", **U1), "SOURCES_CHANGED"),
    "edited": (lambda db: prefers(db, "coffee"), "SOURCES_CHANGED"),
    "restated": (lambda db: prefers(db), "SOURCES_CHANGED"),
    "redacted": (lambda db: fact(db, "redact", **U1, reason="asked"), "SOURCES_CHANGED"),
    "high": (lambda db: fact(db, "label", **U1, sensitivity="high"), "SOURCES_CHANGED"),
    "tagged": (lambda db: fact(db, "label", **U1, tags={"add": ["forget"]}), "SOURCES_CHANGED"),
    "off": (lambda db: switch(db, enabled=False), "SWITCHED_OFF"),
    "no model": (
        lambda db: operate(db, "org.set_model_calls", org="acme", enabled=False),
        "MODEL_CALLS_OFF",
    ),
}


@pytest.mark.parametrize("change", RACES)
def test_o13_what_changed_after_the_read_is_not_written_over(
    db: Connection, clock: Clock, change: str
) -> None:
    prefers(db)
    prefers(db, "fish", memory_key="food")
    taken = lease(db)
    read(db, taken)
    clock.advance(seconds=1)
    meanwhile, reason = RACES[change]
    meanwhile(db)
    told = complete(db, taken, "Likes tea and fish.")
    assert (told["outcome"], told["reason"]) == ("requeued", reason)
    build = build_row(db)
    assert (build["attempts"], build["last_error"], build["lease_id"]) == (0, reason, None)
    assert row(db)["found"] is False
    switch(db)
    operate(db, "org.set_model_calls", org="acme", enabled=True)
    clock.advance(seconds=600)
    assert fold(db)["outcome"] == "written"
    assert is_current(db)


def test_a_preference_that_became_another_kind_of_fact_is_not_written(db: Connection) -> None:
    """Its part of the digest of all sources is the same: id, content, confidence, date."""
    since = {"valid_at": "2026-01-01T00:00:00Z"}
    prefers(db, **since)
    prefers(db, "fish", memory_key="food")
    taken = lease(db)
    read(db, taken)
    before = db.execute("select source_digest from loom.user_state").fetchone()
    prefers(db, memory_type="semantic", **since)
    assert db.execute("select source_digest from loom.user_state").fetchone() == before
    assert complete(db, taken, "Likes tea.")["reason"] == "SOURCES_CHANGED"


def test_a_fact_that_came_after_the_read_is_folded_later(db: Connection, clock: Clock) -> None:
    prefers(db)
    taken = lease(db)
    read(db, taken)
    prefers(db, "fish", memory_key="food")
    assert complete(db, taken, "Likes tea.")["outcome"] == "written"
    assert (is_current(db), take(db)) == (False, [])
    clock.advance(seconds=600)
    assert take(db) == ["u1"]


def test_o70_a_user_erased_after_the_read_gets_nothing_back(db: Connection) -> None:
    prefers(db)
    fold(db)
    prefers(db, "coffee")
    fact(db, "delete", **U1)
    prefers(db, "fish", memory_key="food")
    db.execute("update loom.build set due_at = loom._now(), tried_at = null")
    taken = lease(db)
    read(db, taken)
    removed = operate(db, "erasure.request", org="acme", **U1)["removed"]
    assert (removed["profile"], removed["structured_profile"]) == (1, 0)
    assert complete(db, taken, "Likes tea.") == {"outcome": "lost", "reason": "LEASE_LOST"}
    assert set(rows_of(db, "u1").values()) <= {0}


def test_o70_an_erasure_takes_section_versions_and_what_is_kept_of_the_fold(
    db: Connection,
) -> None:
    prefers(db, "canary")
    fold(db, "Likes canary.")
    assert "memory_version" in tables_with(db, "canary")
    erase(db, "u1")
    assert (tables_with(db, "canary"), build_row(db)) == ({}, {})
    assert set(rows_of(db, "u1").values()) <= {0}


@pytest.mark.parametrize(
    ("verb", "more", "reason"),
    [
        ("pin", {}, "PINNED_CONFLICT"),
        ("lock", {"reason": "mine"}, "LOCKED"),
        ("label", {"sensitivity": "high"}, "HIGH_SENSITIVITY"),
    ],
)
@pytest.mark.parametrize("when", ["before", "meanwhile"])
def test_o31_a_section_that_is_held_is_left_until_it_is_not(
    db: Connection, clock: Clock, verb: str, more: Answer, reason: str, when: str
) -> None:
    prefers(db)
    fold(db)
    rest(db, clock, 600, FOLD)
    prefers(db, "coffee")
    if when == "before":
        fact(db, verb, **ROW, **more)
        assert take(db) == []
    else:
        taken = lease(db)
        read(db, taken)
        fact(db, verb, **ROW, **more)
        told = complete(db, taken, "Likes coffee.")
        assert (told["outcome"], told["reason"]) == ("refused", reason)
    assert (row(db)["value"], build_row(db)["refused"]) == ("Likes tea.", reason)
    undo: Answer = {"pin": {}, "lock": {}, "label": {"sensitivity": "normal"}}[verb]
    fact(db, {"pin": "unpin", "lock": "unlock"}.get(verb, verb), **ROW, **undo)
    clock.advance(seconds=600)
    assert fold(db, "Likes coffee.")["outcome"] == "written"


def test_a_text_that_must_not_be_stored_refuses(db: Connection) -> None:
    operate(
        db,
        "blacklist.add",
        **{"org": "acme", "namespace": "main", "pattern": "secret", "reason": "house rule"},
    )
    prefers(db)
    told = fold(db, "It is a secret.")
    assert (told["outcome"], told["reason"]) == ("refused", "BLACKLISTED")
    assert row(db)["found"] is False


# Redactions.


def test_a_redaction_of_a_source_scrubs_each_version_that_was_folded_from_it(
    db: Connection, clock: Clock
) -> None:
    prefers(db, "water", memory_key="other")
    fold(db, "before")
    rest(db, clock, 600, FOLD)
    prefers(db, "canary")
    fold(db, "Likes canary.")
    clock.advance(seconds=1)
    told = fact(db, "redact", **U1, reason="asked")
    assert told["derived"] == [row(db)["memory_id"]]
    assert tables_with(db, "canary") == {}
    assert texts(db) == ["before", None, None]
    # A fact has gone: no cooldown.
    assert fold(db, "after")["outcome"] == "written"
    assert (row(db)["value"], is_current(db)) == ("after", True)


def test_a_redaction_waits_for_a_lock_on_the_section(db: Connection) -> None:
    prefers(db, "canary")
    fold(db, "Likes canary.")
    fact(db, "lock", **ROW, reason="legal hold")
    with refused(db, "LM205") as refusal:
        fact(db, "redact", **U1, reason="asked")
    assert refusal.detail["memory_key"] == LABEL


# Beside structured profiles, and under the same bounds.


def test_the_two_kinds_are_built_waited_for_and_refused_apart(db: Connection, clock: Clock) -> None:
    set_schema(db)
    prefers(db)
    fail(db, lease(db))
    assert build(db)["outcome"] == "written"
    assert build_row(db)["attempts"] == 1
    rest(db, clock, 300, FOLD)
    assert fold(db)["outcome"] == "written"
    fact(db, "pin", **ROW)
    rest(db, clock, 600)
    prefers(db, "coffee")
    assert build(db)["outcome"] == "unchanged"
    assert (take(db), build_row(db)["refused"]) == ([], "PINNED_CONFLICT")


def test_both_are_under_the_cap_of_the_day(db: Connection, clock: Clock) -> None:
    cap(db, 100)
    prefers(db)
    used(db, 100)
    assert take(db) == []
    clock.advance(hours=12)
    assert take(db) == ["u1"]


@pytest.mark.parametrize("way", ["delete", "change"])
def test_only_a_deletion_skips_the_folds_own_cooldown(
    db: Connection, clock: Clock, way: str
) -> None:
    switch(db, cooldown_seconds=100)
    prefers(db)
    prefers(db, "fish", memory_key="food")
    fold(db)
    clock.advance(seconds=99)
    if way == "delete":
        fact(db, "delete", **U1, memory_key="food")
        assert take(db) == ["u1"]
    else:
        prefers(db, "meat", memory_key="food")
        assert take(db) == []
        clock.advance(seconds=1)
        assert take(db) == ["u1"]


@pytest.mark.parametrize("way", ["expires_at", "valid_to"])
def test_a_preference_that_ends_by_the_clock_is_folded_away(
    db: Connection, clock: Clock, way: str
) -> None:
    prefers(db)
    prefers(db, "fish", memory_key="food", **{way: "2026-03-01T13:00:00Z"})
    fold(db, "Likes tea and fish.")
    clock.set(NOON.replace(hour=13))
    taken = lease(db)
    assert [source["value"] for source in read(db, taken)["sources"]] == ["tea"]
    complete(db, taken, "Likes tea.")
    assert (row(db)["value"], is_current(db)) == ("Likes tea.", True)

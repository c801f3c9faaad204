"""user_profile.update: the user's own words, each signal once."""

from __future__ import annotations

from typing import Any

import pytest

from tests.calls import Connection, mint_token, operate, refused
from tests.databases import Clock
from tests.sql.doors import execute, through_api
from tests.sql.facts import NOON
from tests.sql.user_profile.profiles import PLACE, count, facts, tell, up


def test_the_first_example(db: Connection) -> None:
    first = tell(db, "I'm a backend dev, I write Python and SQLite.")
    assert facts(first) == {"role": "backend dev", "tech_stack": "Python, SQLite"}
    assert (first["version"], first["queued"], first["source"]) == (1, False, "rules")
    second = up(db, "update", signals=[{"kind": "feedback", "text": "I like short answers."}])
    assert (second["version"], second["profile"]["traits"]["verbosity"]) == (2, "concise")
    assert facts(second) == facts(first)


def test_the_same_again_changes_nothing(db: Connection) -> None:
    tell(db, "Call me Sam.")
    again = tell(db, "Call me Sam.")
    assert (again["version"], again["changed"]) == (1, False)


def test_o28_a_signal_with_an_id_is_merged_once(db: Connection) -> None:
    sam = {"id": "1", "text": "Call me Sam."}
    up(db, "update", signals=[sam, {"id": "2", "text": "Call me Max."}])
    assert facts(up(db, "update", signals=[sam])) == {"name": "Max"}
    assert facts(up(db, "update", signals=[sam, {"id": "3", "text": "Call me Eve."}])) == {
        "name": "Eve"
    }
    assert facts(up(db, "update", signals=[sam, sam], scope={"kind": "k"})) == {"name": "Sam"}


def test_o28_a_reader_is_told_which_signals_were_merged(db: Connection) -> None:
    up(db, "update", signals=[{"id": "s1", "text": "A tool's.", "role": "tool"}])
    up(db, "update", source="llm", signals=[{"id": "s2", "text": "Hi."}], scope={"kind": "work"})
    asked = {"signal_ids": ["s2", "s1", "s1"]}
    assert up(db, "get", **asked)["merged_signal_ids"] == ["s1"]
    assert up(db, "get", **asked, scope={"kind": "work"})["merged_signal_ids"] == ["s2"]
    assert up(db, "get", **asked, user_id="u2")["merged_signal_ids"] == []


def test_an_id_counts_once_within_a_request(db: Connection) -> None:
    long, short = {"id": "1", "text": "x" * 100}, {"id": "2", "text": "x" * 20}
    answer = up(db, "update", signals=[long, short, {**long, "text": "x" * 900}])
    assert answer["profile"]["traits"]["verbosity"] == "balanced"


def test_a_signal_stays_merged_after_a_reset_and_a_deletion(db: Connection) -> None:
    sam = [{"id": "1", "text": "Call me Sam."}]
    up(db, "update", signals=sam)
    up(db, "reset")
    assert facts(up(db, "update", signals=sam)) == {}
    up(db, "delete")
    assert up(db, "update", signals=sam)["version"] == 0


def test_o32_what_others_say_is_no_fact_and_makes_no_profile(db: Connection) -> None:
    said = [
        {"kind": "tool_result", "text": "My time zone is Asia/Tokyo."},
        {"kind": "message", "role": "assistant", "text": "Call me Claude."},
        {"kind": "context", "text": "I'm a nurse."},
    ]
    answer = up(db, "update", signals=said)
    assert (answer["version"], answer["changed"], facts(answer)) == (0, False, {})
    assert count(db, "user_profile") == 0


@pytest.mark.parametrize(
    ("signals", "field"),
    [
        (None, "signals"),
        ("hello", "signals"),
        ([], "signals"),
        ([{"text": "x"}] * 201, "signals"),
        (["x"], None),
        ([{"kind": "message"}], "text"),
        ([{"text": 1}], "text"),
        ([{"text": "x", "user_id": "u2"}], "user_id"),
        ([{"text": "x", "id": 1}], "id"),
        ([{"text": "x", "ts": "yesterday"}], "ts"),
        ([{"text": "x", "meta": []}], "meta"),
        ([{"text": "x", "kind": 1}], "kind"),
        ([{"text": "x", "role": []}], "role"),
    ],
)
def test_signals_of_another_shape_are_refused(
    db: Connection, signals: Any, field: str | None
) -> None:
    with refused(db, "LM001") as refusal:
        up(db, "update", signals=signals)
    assert refusal.detail["field"] == field


@pytest.mark.parametrize(
    ("signal", "what", "limit"),
    [
        ({"text": "x" * 20_001}, "text", 20_000),
        ({"text": "x", "id": "i" * 201}, "id", 200),
        ({"text": "x", "id": ""}, "id", 200),
        ({"text": "x", "kind": "k" * 81}, "kind", 80),
    ],
)
def test_signals_over_their_limits_are_refused(
    db: Connection, signal: Any, what: str, limit: int
) -> None:
    with refused(db, "LM406") as refusal:
        up(db, "update", signals=[signal])
    assert (refusal.detail["what"], refusal.detail["limit"]) == (what, limit)


def test_two_hundred_long_signals_are_taken(db: Connection) -> None:
    answer = up(db, "update", signals=[{"text": "x" * 20_000}] * 200, dry_run=True)
    assert answer["profile"]["traits"]["verbosity"] == "detailed"


def test_a_dry_run_takes_no_signal(db: Connection) -> None:
    sam = [{"id": "1", "text": "Call me Sam.", "ts": "2026-01-01T00:00:00Z", "meta": {"a": 1}}]
    would = up(db, "update", signals=sam, dry_run=True)
    assert (facts(would), would["version"]) == ({"name": "Sam"}, 1)
    assert (count(db, "user_profile"), count(db, "user_profile_signal")) == (0, 0)
    assert facts(up(db, "update", signals=sam)) == {"name": "Sam"}


def test_another_version_than_the_one_named_is_refused(db: Connection) -> None:
    tell(db, "Call me Sam.", if_version=0)
    with refused(db, "LM201"):
        tell(db, "Call me Max.", if_version=0)
    assert tell(db, "Call me Max.", if_version=1)["version"] == 2


@pytest.mark.parametrize("source", ["llm", "composite"])
def test_o29_what_a_model_is_to_read_waits_and_is_counted(db: Connection, source: str) -> None:
    said = [
        {"id": "1", "text": "Call me Sam."},
        {"kind": "tool_result", "text": "My name is Tool."},
        {"kind": "feedback", "text": "Short, please."},
    ]
    answer = up(db, "update", signals=said, source=source)
    assert (answer["queued"], answer["changed"], answer["version"]) == (True, False, 0)
    assert up(db, "get")["pending"] == 1
    row = db.execute("select source, signals from loom.user_profile_task").fetchone()
    assert row == (source, ["Call me Sam.", "Short, please."])
    again = up(db, "update", signals=said[:2], source=source)
    assert (again["queued"], up(db, "get")["pending"]) == (False, 1)
    up(db, "update", signals=[{"text": "More."}], source=source, dry_run=True)
    assert up(db, "get")["pending"] == 1


def test_a_blacklisted_word_does_not_wait_for_a_model_either(db: Connection) -> None:
    operate(db, "blacklist.add", org="acme", namespace="main", pattern="4111")
    with refused(db, "LM407"):
        tell(db, "My card is 4111.", source="llm")
    with refused(db, "LM407"):
        tell(db, "My card is 4111.", source="llm", dry_run=True)
    with refused(db, "LM001") as refusal:
        tell(db, "x", source="oracle")
    assert refusal.detail["field"] == "source"


def test_every_door_answers_alike(db: Connection) -> None:
    token = mint_token(db, namespace="main")
    signals = [{"text": "Call me Sam."}]
    by_api = through_api(db, token, "user_profile.update", user_id="a", signals=signals)
    by_service = execute(db, "user_profile.update", **{**PLACE, "user_id": "b"}, signals=signals)
    assert by_api["profile"] == by_service["profile"] == tell(db, "Call me Sam.")["profile"]


def test_a_repeated_request_under_a_key_is_done_once(db: Connection) -> None:
    request = {**PLACE, "signals": [{"text": "Call me Sam."}], "source": "llm"}
    first = execute(db, "user_profile.update", key="k", **request)
    assert execute(db, "user_profile.update", key="k", **request) == first
    assert up(db, "get")["pending"] == 1


def _queue(db: Connection, count: int, **place: str) -> None:
    for number in range(count):
        assert tell(db, f"Call me Sam {number}.", source="llm", **place)["queued"]


def test_o29_what_waits_behind_another_hides_no_other_profile(db: Connection, clock: Clock) -> None:
    clock.set(NOON)
    _queue(db, 202)
    clock.advance(seconds=1)
    _queue(db, 1, user_id="u2")
    for _ in ("u1", "u2"):
        claimed = db.execute("select loom.user_profile_claim('acme') -> 'signals'").fetchone()
        assert claimed == (["Call me Sam 0."],)
    assert db.execute("select loom.user_profile_claim('acme')").fetchone() == (None,)


def test_o29_what_an_org_may_not_do_now_hides_no_other_org(db: Connection) -> None:
    _queue(db, 1001)
    _queue(db, 1, org="other")
    operate(db, "org.set_model_calls", org="acme", enabled=False)
    assert db.execute("select array_agg(o) from loom.user_profile_due() as o").fetchone() == (
        ["other"],
    )

"""user_profile.apply: a delta is merged, judged as a whole, and counted only when it changes."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from tests.calls import Connection, mint_token, refused
from tests.databases import Clock
from tests.sql.doors import through_api
from tests.sql.user_profile.profiles import PLACE, add, count, facts, up

NOON = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


def test_the_first_delta_makes_the_profile(db: Connection, clock: Clock) -> None:
    clock.set(NOON)
    delta = {
        "fact_ops": [{"op": "add", "key": "name", "value": "Sam"}],
        "traits": {"style": "concise"},
        "preferences": {"format": "bullets", "language": "en"},
        "topics": ["sql"],
        "summary": "Likes SQL.",
        "source": "import",
    }
    assert up(db, "apply", delta=delta) == {
        "profile": {
            "facts": [{"key": "name", "value": "Sam"}],
            "traits": {"style": "concise", "verbosity": None, "expertise": None, "formality": None},
            "preferences": {"format": "bullets", "language": "en", "topics": ["sql"]},
            "summary": "Likes SQL.",
        },
        "version": 1,
        "version_text": "1",
        "source": "import",
        "updated_at": "2026-03-01T12:00:00.000000Z",
        "changed": True,
    }


def test_the_version_moves_only_when_something_changes(db: Connection) -> None:
    first = add(db, "name", "Sam")
    again = add(db, "name", "Sam")
    assert (again["version"], again["changed"]) == (1, False)
    assert {**again, "changed": True} == first
    assert up(db, "apply", delta={})["changed"] is False
    assert add(db, "name", "Max")["version"] == 2
    assert count(db, "user_profile_version") == 2


WHOLE: Any = {
    "fact_ops": [
        {"op": "add", "key": "name", "value": "Sam"},
        {"op": "add", "key": "city", "value": "Bonn"},
    ],
    "traits": {"style": "concise", "verbosity": "balanced"},
    "preferences": {"format": "bullets", "language": "en"},
    "topics": ["sql"],
    "summary": "Likes SQL.",
}


@pytest.mark.parametrize(
    ("delta", "changed"),
    [
        (
            {"fact_ops": [{"op": "update", "key": "city", "value": "Ulm"}]},
            {"facts": [{"key": "name", "value": "Sam"}, {"key": "city", "value": "Ulm"}]},
        ),
        (
            {"fact_ops": [{"op": "forget", "key": "name"}]},
            {"facts": [{"key": "city", "value": "Bonn"}]},
        ),
        (
            {"traits": {"style": "detailed"}},
            {
                "traits": {
                    **{"style": "detailed", "verbosity": "balanced"},
                    **{"expertise": None, "formality": None},
                }
            },
        ),
        (
            {"preferences": {"language": "de"}},
            {"preferences": {"format": "bullets", "language": "de", "topics": ["sql"]}},
        ),
        (
            {"topics": ["tea"]},
            {"preferences": {"format": "bullets", "language": "en", "topics": ["tea"]}},
        ),
        ({"summary": "Likes tea."}, {"summary": "Likes tea."}),
    ],
    ids=["a fact", "a fact that is forgotten", "a trait", "a preference", "topics", "the summary"],
)
def test_o22_of_a_whole_profile_only_what_is_spoken_of_changes(
    db: Connection, delta: Any, changed: dict[str, Any]
) -> None:
    before = up(db, "apply", delta=WHOLE)["profile"]
    assert up(db, "apply", delta=delta)["profile"] == {**before, **changed}


def test_o27_the_newest_word_wins(db: Connection) -> None:
    for style in ("concise", "detailed"):
        answer = up(db, "apply", delta={"traits": {"style": style}})
    assert answer["profile"]["traits"]["style"] == "detailed"


def test_without_a_source_the_one_of_before_stays(db: Connection) -> None:
    assert add(db, "a", "1")["source"] == "apply"
    assert up(db, "apply", delta={"summary": "x", "source": "llm"})["source"] == "llm"
    assert add(db, "a", "2")["source"] == "llm"


@pytest.mark.parametrize(
    ("delta", "field"),
    [
        (None, "delta"),
        ([], "delta"),
        ({"facts": []}, "facts"),
        ({"fact_ops": {}}, "fact_ops"),
        ({"fact_ops": [{"op": "remove", "key": "a"}]}, "op"),
        ({"fact_ops": [{"op": "", "key": "a"}]}, "op"),
        ({"fact_ops": [{"key": "a", "value": "b"}]}, "op"),
        ({"fact_ops": [{"op": "add", "value": "b"}]}, "key"),
        ({"fact_ops": [{"op": "add", "key": "a", "value": 1}]}, "value"),
        ({"fact_ops": [{"op": "add", "key": "a", "why": "b"}]}, "why"),
        ({"fact_ops": ["add"]}, None),
        ({"traits": []}, "traits"),
        ({"traits": {"mood": "good"}}, "mood"),
        ({"traits": {"style": "playful"}}, "style"),
        ({"traits": {"verbosity": "CONCISE"}}, "verbosity"),
        ({"traits": {"expertise": "guru"}}, "expertise"),
        ({"traits": {"formality": 1}}, "formality"),
        ({"preferences": "x"}, "preferences"),
        ({"preferences": {"format": "table"}}, "format"),
        ({"preferences": {"language": 1}}, "language"),
        ({"preferences": {"colour": "red"}}, "colour"),
        ({"topics": "sql"}, "topics"),
        ({"topics": [1]}, "topics"),
        ({"summary": []}, "summary"),
        ({"source": 1}, "source"),
    ],
)
def test_o24_what_no_profile_has_is_refused_and_nothing_is_stored(
    db: Connection, delta: Any, field: str | None
) -> None:
    with refused(db, "LM001") as refusal:
        up(db, "apply", delta=delta)
    assert refusal.detail["field"] == field
    assert count(db, "user_profile") == 0


@pytest.mark.parametrize(
    ("delta", "what", "limit"),
    [
        ({"fact_ops": [{"op": "add", "key": "k" * 81, "value": "v"}]}, "key", 80),
        ({"fact_ops": [{"op": "add", "key": "", "value": "v"}]}, "key", 80),
        ({"fact_ops": [{"op": "add", "key": "k", "value": "v" * 2001}]}, "value", 2000),
        ({"summary": "s" * 4001}, "summary", 4000),
        ({"topics": [str(number) for number in range(51)]}, "topics", 50),
        ({"topics": ["t" * 201]}, "topics", 200),
        ({"preferences": {"language": "l" * 36}}, "language", 35),
        ({"source": "s" * 201}, "source", 200),
    ],
)
def test_o30_what_is_too_long_is_refused_with_numbers(
    db: Connection, delta: Any, what: str, limit: int
) -> None:
    with refused(db, "LM406") as refusal:
        up(db, "apply", delta=delta)
    assert (refusal.detail["what"], refusal.detail["limit"]) == (what, limit)


def test_limits_are_counted_in_code_points(db: Connection) -> None:
    answer = add(db, "🗝" * 80, "👩" * 2000)
    assert facts(answer) == {"🗝" * 80: "👩" * 2000}


def test_o30_a_full_profile_refuses_a_fact_more_and_takes_one_for_another(db: Connection) -> None:
    ops = [{"op": "add", "key": f"k{number}", "value": "v"} for number in range(200)]
    up(db, "apply", delta={"fact_ops": ops})
    one_more = {"op": "add", "key": "new", "value": "v"}
    with refused(db, "LM406") as refusal:
        up(db, "apply", delta={"fact_ops": [one_more]})
    assert refusal.detail == {"what": "facts", "limit": 200, "value": 201}
    swapped = up(db, "apply", delta={"fact_ops": [one_more, {"op": "forget", "key": "k0"}]})
    assert (len(facts(swapped)), "k0" in facts(swapped)) == (200, False)


def test_o16_another_version_than_the_one_named_is_refused(db: Connection) -> None:
    add(db, "a", "1", if_version=0)
    add(db, "a", "2", if_version=1)
    for stale in (0, 1, 3):
        with refused(db, "LM201") as refusal:
            add(db, "a", "3", if_version=stale)
        assert refusal.detail == {"current_sha256": None, "current_version": 2}
    with refused(db, "LM201") as refusal:
        add(db, "a", "3", user_id="u2", if_version=1)
    assert refusal.detail["current_version"] is None


def test_a_dry_run_tells_what_would_come_and_changes_nothing(db: Connection) -> None:
    add(db, "a", "1")
    would = add(db, "a", "2", dry_run=True, signal_ids=["s1"])
    assert (facts(would), would["version"], would["changed"]) == ({"a": "2"}, 2, True)
    assert (up(db, "get")["version"], count(db, "user_profile_signal")) == (1, 0)
    assert add(db, "a", "2", signal_ids=["s1"]) == {**would, "updated_at": _updated(db)}


def _updated(db: Connection) -> str:
    return str(up(db, "get")["updated_at"])


def test_o28_a_delta_of_signals_that_were_merged_changes_nothing(db: Connection) -> None:
    add(db, "a", "1", signal_ids=["s1", "s2"])
    add(db, "a", "2")
    assert add(db, "a", "1", signal_ids=["s1"])["changed"] is False
    assert add(db, "a", "1", signal_ids=["s2", "s1", "s1"])["changed"] is False
    assert add(db, "a", "1", signal_ids=["s1", "s3"])["changed"] is True
    assert add(db, "a", "2", signal_ids=["s1"], scope={"kind": "work"})["changed"] is True


def test_what_is_blacklisted_is_refused(db: Connection) -> None:
    from tests.calls import operate

    operate(db, "blacklist.add", org="acme", namespace="main", pattern="4111", reason="cards")
    with refused(db, "LM407") as refusal:
        add(db, "card", "number 4111")
    assert refusal.detail == {"reason": "cards"}


def test_the_profile_of_everyone_and_a_token_of_one_session_are_refused(db: Connection) -> None:
    with refused(db, "LM001") as refusal:
        add(db, "a", "1", user_id="-")
    assert refusal.detail["field"] == "user_id"
    token = mint_token(db, read_user_id="u1", session_id="s1", namespace="main")
    place = {key: value for key, value in PLACE.items() if key != "user_id"}
    with refused(db, "LM003"):
        through_api(db, token, "user_profile.apply", **place, delta={"summary": "x"})


def test_a_pinned_token_means_its_own_user(db: Connection) -> None:
    token = mint_token(db, read_user_id="u1", namespace="main")
    answer = through_api(db, token, "user_profile.apply", delta={"summary": "x"})
    assert up(db, "get")["profile"] == answer["profile"]
    with refused(db, "LM302"):
        through_api(db, token, "user_profile.apply", user_id="u2", delta={"summary": "x"})


@pytest.mark.parametrize("scope", ["x", [], {"team": "a"}, {"tenant": 1}])
def test_a_scope_has_four_parts_of_text(db: Connection, scope: Any) -> None:
    with refused(db, "LM001"):
        up(db, "get", scope=scope)


def test_scopes_and_ids_that_collide_when_joined_stay_apart(db: Connection) -> None:
    places: list[dict[str, Any]] = [
        {"user_id": "u1"},
        {"user_id": "u1", "scope": {"tenant": "a"}},
        {"user_id": "u1", "scope": {"user": "a"}},
        {"user_id": "u1", "scope": {"thread": "a"}},
        {"user_id": "u1", "scope": {"kind": "a"}},
        {"user_id": "u1", "scope": {"tenant": "a", "user": "b"}},
        {"user_id": "u1", "scope": {"tenant": "ab"}},
        {"user_id": "u1", "scope": {"tenant": "a,b"}},
        {"user_id": "u1", "scope": {"tenant": 'a","b'}},
        {"user_id": "bu1", "scope": {"tenant": "a"}},
        {"user_id": "ppscope_cdafc933e8d82f2aebfed8dc__u1"},
        {"user_id": "u1", "scope": {"tenant": "acme"}},
        {"user_id": "u1", "namespace": "other"},
    ]
    for number, place in enumerate(places):
        assert add(db, "n", str(number), **place)["version"] == 1
    for number, place in enumerate(places):
        assert facts(up(db, "get", **place)) == {"n": str(number)}
    up(db, "delete", **places[1])
    assert [up(db, "get", **place)["found"] for place in places] == [
        number != 1 for number in range(len(places))
    ]


def test_empty_and_null_parts_of_a_scope_are_not_set(db: Connection) -> None:
    add(db, "a", "1", scope={"tenant": "", "kind": None})
    assert facts(up(db, "get")) == {"a": "1"}
    assert facts(up(db, "get", scope=None)) == {"a": "1"}

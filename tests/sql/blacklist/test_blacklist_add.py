"""blacklist.add: a pattern for a namespace or the org, and which patterns are refused.

What patterns match stands in test_blacklist_matches, what they cost in test_blacklist_cost.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import UUID

import psycopg
import pytest

from tests.calls import Answer, Token, operate, refused
from tests.databases import Clock
from tests.sql.doors import as_service, through_api
from tests.sql.facts import NOON, audited, each, fact
from tests.sql.texts import exactly

Connection = psycopg.Connection[Any]
Mint = Callable[..., Token]

PLACE: Answer = {"org": "acme", "namespace": "main"}


def add(db: Connection, pattern: str, pattern_type: str = "regex", **more: Any) -> Answer:
    request = {**PLACE, "pattern": pattern, "pattern_type": pattern_type, **more}
    return operate(db, "blacklist.add", **request)


def test_an_entry_is_answered_as_it_stands(db: Connection, clock: Clock) -> None:
    clock.set(NOON)
    answer = operate(db, "blacklist.add", **PLACE, pattern="a.b", reason="because")
    UUID(answer.pop("blacklist_id"))
    assert answer.pop("created_by").startswith("operator:")
    assert answer == {
        "org": "acme",
        "scope": "namespace",
        "namespace": "main",
        "pattern": "a.b",
        "pattern_type": "substring",
        "reason": "because",
        "created_at": "2026-03-01T12:00:00.000000Z",
    }


def test_an_entry_for_the_org_names_no_namespace(db: Connection) -> None:
    answer = add(db, "x+", scope="org")
    assert (answer["scope"], answer["namespace"]) == ("org", None)
    assert operate(db, "blacklist.add", org="acme", pattern="y", scope="org")["scope"] == "org"


def test_an_entry_for_a_namespace_must_say_which(db: Connection) -> None:
    with refused(db, "LM003") as refusal:
        operate(db, "blacklist.add", org="acme", pattern="x")
    assert refusal.detail == {"field": "namespace"}


@pytest.mark.parametrize("pattern_type", ["substring", "regex"])
def test_o37_a_pattern_has_one_to_two_hundred_code_points(
    db: Connection, pattern_type: str
) -> None:
    add(db, exactly(200, "😀"), pattern_type)
    for pattern in ("", exactly(201, "😀")):
        with refused(db, "LM406") as refusal:
            add(db, pattern, pattern_type)
        assert refusal.detail == {"what": "pattern", "limit": 200, "value": len(pattern)}


@pytest.mark.parametrize(
    "pattern",
    [
        *("password", "pass ?word", "^secret$", "[0-9]{16}", "[0-9]{13,16}", "a{100}", "a{0,100}b"),
        *("a{50,}b", r"\d{3}-\d{2}-\d{4}", r"\mword\M", r"\w+@example\.com", "(?:a|b)+c"),
        *("(x+x+)+y", "(a|aa)+$", "(a*)*b", "é|ü", "[[:digit:]]{4}", "[^x]y", r"\(\?=", r"a\\1"),
        r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}",
        r"[A-Z]{2}[0-9]{2}(?: ?[A-Z0-9]{4}){3,7}(?: ?[A-Z0-9]{1,3})?",
        r"(?:\+?[0-9]{1,3}[ -]?)?(?:[0-9]{3}[ -]?){2}[0-9]{4}",
        r"(?:[0-9]{1,3}\.){3}[0-9]{1,3}",
        "(?:a{10}b){10}",
        # A brace that opens no bound is a brace.
        *("a{", "a{}", "a{,5}", "a{x}", "}"),
    ],
)
def test_a_plain_regular_expression_is_taken(db: Connection, pattern: str) -> None:
    assert add(db, pattern)["pattern"] == pattern


@pytest.mark.parametrize(
    "pattern",
    [
        # back-references
        *(r"(a)\1", r"(?:(a))\1", r"\\\1", r"(a)(b)\2x"),
        # look-around
        *("(?=a)b", "(?!a)b", "(?<=a)b", "(?<!a)b"),
        # embedded options, comments and directors, which would change the others too
        *("(?i)a", "(?#x)a", "(?x)a b", "***=a", "***:a"),
        # bounds
        *("a{101}", "a{0,101}", "a{101,}", "a{1000}", "a{99999999999999999999}", "[ab]{1,255}"),
        # what does not compile
        *(
            "a(",
            "a)",
            "(",
            "[",
            "[a",
            "[z-a]",
            "*a",
            "a**",
            "a{2,1}",
            "\\",
            "a\\",
            "(?:",
            "[[:x:]]",
        ),
        *("a)|(b", "a{1", "{1}", "(a", "[[.xyz.]]"),
        # what matches every text
        *("a*", "^", "$", "a|", "()", ".*", "(?:)", "x?", "|", "^$", r"\Y"),
        # nested bounds, which multiply
        *("(a{100}){100}", "((a{10}){10}){100}", "((a{100,}){100,}){100,}", "((.{31}){32}){33}"),
        "(((((a{5}){5}){5}){5}){5}){5}",
    ],
)
def test_any_other_is_refused_and_says_why(db: Connection, pattern: str) -> None:
    with refused(db, "LM406") as refusal:
        add(db, pattern)
    assert refusal.detail["what"] == "pattern"
    assert refusal.detail["reason"]
    assert refusal.hint
    # As plain text it is harmless.
    assert add(db, pattern, "substring")["pattern"] == pattern


def test_a_scope_has_at_most_a_hundred_patterns(db: Connection) -> None:
    first = add(db, "pattern0")
    for number in range(1, 100):
        add(db, f"pattern{number}", "regex" if number % 2 else "substring")
    with refused(db, "LM406") as refusal:
        add(db, "one more")
    assert refusal.detail == {"what": "patterns", "limit": 100, "value": 101}
    # Each scope counts for itself.
    add(db, "one more", scope="org")
    add(db, "one more", namespace="other")
    operate(db, "blacklist.remove", **PLACE, blacklist_id=first["blacklist_id"])
    add(db, "one more")


def test_an_entry_is_audited_without_its_pattern_and_reason(db: Connection) -> None:
    entry = add(db, "secret", reason="the reason")
    assert audited(db, "blacklist.add") == [
        {"blacklist_id": entry["blacklist_id"], "pattern_type": "regex"}
    ]


def test_a_refused_pattern_leaves_no_trace(db: Connection) -> None:
    add(db, "good")
    with refused(db, "LM406"):
        add(db, "(bad")
    fact(db, "set", value="(bad")
    with refused(db, "LM407"):
        fact(db, "set", value="good")
    assert len(audited(db, "blacklist.add")) == 1


def test_a_reason_has_at_most_five_hundred_characters(db: Connection) -> None:
    assert add(db, "x", reason=exactly(500, "😀"))["reason"] == exactly(500, "😀")
    with refused(db, "LM406") as refusal:
        add(db, "x", reason=exactly(501, "😀"))
    assert refusal.detail == {"what": "reason", "limit": 500, "value": 501}


@pytest.mark.parametrize(
    ("field", "wrong"),
    [
        *each("pattern", None, 1, ["a"]),
        *each("pattern_type", "glob", "", 1),
        *each("scope", "user", "", True),
        *[("reason", 1), ("user_id", "u"), ("flags", "i")],
    ],
)
def test_a_field_of_another_type_or_word_is_refused_by_name(
    db: Connection, field: str, wrong: Any
) -> None:
    with refused(db, "LM001") as refusal:
        operate(db, "blacklist.add", **{**PLACE, "pattern": "x", field: wrong})
    assert refusal.detail["field"] == field


@pytest.mark.parametrize("verb", ["add", "list", "remove"])
@pytest.mark.parametrize("role", ["viewer", "writer"])
def test_the_blacklist_is_an_admins(services: Connection, mint: Mint, verb: str, role: str) -> None:
    with refused(services, "LM302") as refusal:
        through_api(services, mint(role=role), f"blacklist.{verb}", namespace="main")
    assert refusal.detail == {"reason": "role", "needed": "admin"}
    with refused(services, "42501"):
        as_service(services, f"loom_test_{role}", f"blacklist.{verb}", **PLACE)


def test_a_namespaces_admin_keeps_its_namespaces_list_only(db: Connection, mint: Mint) -> None:
    token = mint(role="admin", namespace="main")
    entry = through_api(db, token, "blacklist.add", pattern="x")
    assert entry["namespace"] == "main"
    for verb, fields in (
        ("add", {"pattern": "x"}),
        ("list", {}),
        ("remove", {"blacklist_id": entry["blacklist_id"]}),
    ):
        for beyond in ({"scope": "org"}, {"namespace": "other"}):
            with refused(db, "LM302"):
                through_api(db, token, f"blacklist.{verb}", **fields, **beyond)

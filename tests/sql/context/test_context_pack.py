"""context.pack: which sections, in which order, from where, and what the answer says of them.

Budgets stand in test_pack_budgets, the stable part in test_pack_prefix, what the query finds in
test_pack_memories.
"""

from __future__ import annotations

from itertools import permutations
from typing import Any
from xml.etree import ElementTree

import psycopg
import pytest

from tests.calls import Answer, refused
from tests.databases import Clock
from tests.sql.context.packs import names, pack, part, prefix
from tests.sql.doors import wm
from tests.sql.facts import NOON, each, fact, hash_of, section, xml_sections
from tests.sql.loom_doors import NOBODY, add, make
from tests.sql.texts import markdown_blocks, sha256, xml_blocks
from tests.sql.user_profile.profiles import up
from tests.sql.working_memory.test_render_formats import HOSTILE

Connection = psycopg.Connection[Any]


def keys(answer: Answer, listed: str = "items") -> list[str]:
    return [item["block_key"] for item in part(answer, "working_memory")[listed]]


def labels(answer: Answer) -> list[str]:
    return [item["label"] for item in part(answer, "profile")["items"]]


def grow(db: Connection, **delta: Any) -> None:
    """Adds to the profile of user u."""
    up(db, "apply", user_id="u", delta=delta)


def test_it_is_one_text_of_working_memory_and_then_the_profile(db: Connection) -> None:
    wm(db, "set", block_key="state", content="ticket 4812")
    section(db, "set", label="persona", value="Terse.")
    answer = pack(db)
    text = (
        '<working-memory block="state">ticket 4812</working-memory>\n\n'
        '<profile>\n<section label="persona">Terse.</section>\n</profile>'
    )
    blocks, sections, grown = answer.pop("sections")
    assert (grown["name"], grown["text"], grown["items"]) == ("user_profile", "", [])
    assert answer == {
        "text": text,
        "stable_prefix_chars": len(text),
        "stable_hash": sha256(text),
        "tokens": -(-len(text) // 4),
        "token_budget": 4000,
        "unchanged": False,
    }
    assert (blocks["name"], blocks["items"]) == (
        "working_memory",
        [
            {
                "block_key": "state",
                "layer": "agent",
                "content_sha256": sha256("ticket 4812"),
                "fill_ratio": 0.0027,
            }
        ],
    )
    place = {"label": "persona", "agent": "coder", "user_id": "-", "session_id": "-"}
    assert (sections["name"], sections["items"]) == (
        "profile",
        [{**place, "content_sha256": hash_of("Terse.")}],
    )


def test_its_sections_are_what_the_renders_give(db: Connection) -> None:
    for number in range(3):
        wm(db, "set", block_key=f"k{number}", content=f"block {number}", user_id="u")
        section(db, "set", label=f"l{number}", value=f"section {number}", user_id="u")
    answer = pack(db, user_id="u")
    assert part(answer, "working_memory")["text"] == wm(db, "render", user_id="u")["text"]
    assert part(answer, "profile")["text"] == section(db, "render", user_id="u")["text"]


def test_markdown_has_a_heading_for_each_section(db: Connection) -> None:
    wm(db, "set", block_key="state", content="ticket 4812")
    section(db, "set", label="persona", value="Terse.")
    answer = pack(db, format="markdown")
    assert answer["text"] == (
        "# Working memory\n\n## state\n\n```\nticket 4812\n```\n\n\n"
        "# Profile\n\n## persona\n\n```\nTerse.\n```\n"
    )


def test_nothing_there_packs_as_the_empty_text(db: Connection) -> None:
    fact(db, "set", value="a fact")
    for form in ("xml", "markdown"):
        answer = pack(db, format=form)
        assert (answer["text"], answer["tokens"], answer["stable_prefix_chars"]) == ("", 0, 0)
        assert (names(answer), answer["stable_hash"]) == (
            ["working_memory", "profile", "user_profile"],
            sha256(""),
        )


def test_working_memory_is_layered_narrowest_first(db: Connection) -> None:
    layers = {
        "run": {"user_id": "u", "session_id": "s", "run_id": "r"},
        "session": {"user_id": "u", "session_id": "s"},
        "user": {"user_id": "u"},
        "agent": {},
        "namespace": {"agent": "-"},
    }
    for layer, place in layers.items():
        wm(db, "set", block_key=layer, content=layer, **place)
        wm(db, "set", block_key="same", content=layer, **place)
    answer = pack(db, **layers["run"])
    blocks = xml_blocks(part(answer, "working_memory")["text"])
    assert blocks == [("run", "run"), ("same", "run")] + [
        (layer, layer) for layer in list(layers)[1:]
    ]
    assert keys(pack(db, user_id="u", session_id="s"))[0] == "same"
    assert "run" not in keys(pack(db, user_id="u", session_id="s"))


def test_o45_what_changes_with_each_run_can_be_asked_for_apart(db: Connection) -> None:
    wm(db, "set", block_key="status", content="step 3", run_id="r")
    section(db, "set", value="Terse.")
    assert names(pack(db, run_id="r", only_sections=["working_memory"])) == ["working_memory"]
    apart = {"run_id": "r", "only_sections": ["profile"]}
    whole, before = pack(db, run_id="r"), pack(db, **apart)
    wm(db, "append", block_key="status", addition="step 4", run_id="r")
    assert pack(db, run_id="r")["stable_hash"] != whole["stable_hash"]
    assert pack(db, **apart) == before


def test_with_a_session_block_other_projects_are_left_out(db: Connection) -> None:
    for key in ("session:loom", "session:other", "session:", "sessions", "state"):
        wm(db, "set", block_key=key, content="where was I")
    wm(db, "set", block_key="session:narrow", content="of the user", user_id="u")
    every = ["session:narrow", "session:", "session:loom", "session:other", "sessions", "state"]
    assert keys(pack(db, user_id="u")) == every
    assert keys(pack(db, user_id="u", session_block="session:loom")) == [
        *("session:loom", "sessions", "state"),
    ]
    assert keys(pack(db, session_block="nowhere")) == ["sessions", "state"]


@pytest.mark.parametrize("key", ["session:a%", "session:a_", "session:a\\", "session:a.b"])
def test_o59_a_session_block_is_compared_as_it_stands(db: Connection, key: str) -> None:
    for other in ("session:ab", "session:a\\b", "session:a.bc", key):
        wm(db, "set", block_key=other, content="x")
    assert keys(pack(db, session_block=key)) == [key]


def test_labels_name_the_profile_sections_in_their_order(db: Connection) -> None:
    for label in "abc":
        section(db, "set", label=label, value=label)
    for named in permutations("abc", 2):
        assert labels(pack(db, labels=list(named))) == list(named)
    assert labels(pack(db, labels=[])) == []


def test_the_profile_is_that_of_every_agent_in_reach(db: Connection) -> None:
    section(db, "set", label="a", value=1, agent="other")
    section(db, "set", label="b", value=2, user_id="u")
    section(db, "set", label="c", value=3, user_id="v")
    section(db, "set", label="d", value=4, user_id="u", session_id="s")
    section(db, "set", label="e", value=5, user_id="u", session_id="t")
    assert labels(pack(db)) == ["a"]
    assert labels(pack(db, user_id="u")) == ["a", "b", "d", "e"]
    assert labels(pack(db, user_id="u", session_id="s", read_scope="own_session")) == [*"abd"]
    assert labels(pack(db, read_scope="namespace")) == [*"abcde"]
    with refused(db, "LM003"):
        pack(db, read_scope="own_session")


@pytest.mark.parametrize("order", list(permutations(("working_memory", "profile"))))
def test_block_order_reorders_sections(db: Connection, order: tuple[str, ...]) -> None:
    wm(db, "set", content="x")
    section(db, "set", value="y")
    assert names(pack(db, block_order=order)) == [*order, "user_profile"]
    assert names(pack(db, block_order=order[:1])) == [*order, "user_profile"]


def test_sections_that_depend_on_the_query_stay_behind_the_others(db: Connection) -> None:
    order = ["decisions", "profile", "memories", "working_memory"]
    answer = pack(db, query="x", block_order=order)
    stable = ["profile", "working_memory", "user_profile"]
    assert names(answer) == [*stable, "decisions", "memories"]
    assert names(pack(db, block_order=order)) == stable


def test_only_named_sections_are_there(db: Connection) -> None:
    section(db, "set", value="y")
    assert names(pack(db, query="x", only_sections=["decisions", "profile"])) == [
        "profile",
        "decisions",
    ]
    nothing = pack(db, query="x", only_sections=[])
    assert (nothing["text"], nothing["sections"]) == ("", [])


def test_the_users_own_profile_stands_behind_the_sections(db: Connection) -> None:
    section(db, "set", value="y")
    grow(db, fact_ops=[{"op": "add", "key": "name", "value": "Sam <b>"}])
    for form, render in (("xml", "xml"), ("markdown", "text")):
        answer = pack(db, user_id="u", format=form, language="de-AT")
        shown = up(db, "render", user_id="u", format=render, language="de-AT")
        grown = part(answer, "user_profile")
        assert grown["text"] == shown["text"] != ""
        assert grown["items"] == [{"user_id": "u", "content_sha256": shown["sha256"]}]
        assert answer["text"].endswith("\n\n" + shown["text"])


def test_the_users_own_profile_can_be_left_out(db: Connection) -> None:
    grow(db, summary="likes tea")
    told = pack(db, user_id="u", include_user_profile=False)
    assert (names(told), told["text"]) == (["working_memory", "profile"], "")
    assert "likes tea" in pack(db, user_id="u")["text"]
    for other in ({}, {"user_id": "v"}, {"user_id": "u", "namespace": "m"}):
        assert "likes tea" not in pack(db, **other)["text"]


def test_a_users_own_profile_that_does_not_fit_is_named(db: Connection) -> None:
    grow(db, summary="漢" * 400)
    grown = part(pack(db, user_id="u", token_budget=100), "user_profile")
    assert (grown["text"], grown["items"]) == ("", [])
    assert grown["omitted"][0]["user_id"] == "u"


def test_the_threads_of_the_looms_named_are_told(db: Connection) -> None:
    first, second = make(db, "first"), make(db, "second")
    one = add(db, first, "one </thread></looms>")
    add(db, second, "mine alone", agent="coder")
    add(db, second, "another agent's", agent="other")
    add(db, second, "of u", userId="u")
    add(db, second, "of v", userId="v")
    answer = pack(db, user_id="u", include_looms=[second, first])
    told = part(answer, "looms")
    texts = [element.text for element in ElementTree.fromstring(told["text"])]
    assert sorted(texts[:2], key=str) == ["mine alone", "of u"]
    assert texts[2:] == ["one </thread></looms>"]
    assert (told["items"][2]["loom_id"], told["items"][2]["thread_id"]) == (first, one["id"])
    assert names(answer) == ["working_memory", "profile", "user_profile", "looms"]
    assert answer["stable_prefix_chars"] == len(answer["text"])
    markdown = part(pack(db, include_looms=[first], format="markdown"), "looms")["text"]
    assert markdown.startswith("# Looms\n\n## thread of first\n\n```\none")
    assert "looms" not in names(pack(db, user_id="u"))


def test_a_thread_woven_meanwhile_changes_the_prefix(db: Connection) -> None:
    loom = make(db)
    before = pack(db, include_looms=[loom])
    add(db, make(db, "another"), "text")
    assert pack(db, include_looms=[loom])["stable_hash"] == before["stable_hash"]
    add(db, loom, "text")
    assert pack(db, include_looms=[loom])["stable_hash"] != before["stable_hash"]


def test_a_loom_that_is_not_there_is_refused(db: Connection) -> None:
    elsewhere = make(db, namespace="second")
    for loom in (NOBODY, elsewhere):
        with refused(db, "LM103"):
            pack(db, include_looms=[loom])


@pytest.mark.parametrize("query", [None, "", " \n"])
def test_without_a_query_nothing_is_looked_for(db: Connection, query: str | None) -> None:
    fact(db, "set", value="likes tea")
    assert names(pack(db, query=query)) == ["working_memory", "profile", "user_profile"]


def test_o44_a_pack_that_the_caller_has_comes_without_its_stable_part(db: Connection) -> None:
    wm(db, "set", content="x")
    section(db, "set", value="y")
    whole = pack(db)
    same = pack(db, if_none_match=whole["stable_hash"])
    assert (same["unchanged"], same["text"]) == (True, "")
    assert ["text" in each for each in same["sections"]] == [False] * 3
    for field in ("stable_hash", "stable_prefix_chars", "tokens", "token_budget"):
        assert same[field] == whole[field]
    section(db, "set", value="z")
    changed = pack(db, if_none_match=whole["stable_hash"])
    assert (changed["unchanged"], prefix(changed)) == (False, changed["text"])


def test_what_is_deleted_or_expired_is_gone_from_the_pack(db: Connection, clock: Clock) -> None:
    clock.set(NOON)
    wm(db, "set", content="x")
    fact(db, "set", memory_key="p", value="y", memory_type="profile", ttl_seconds=60)
    assert pack(db)["text"] != ""
    wm(db, "delete")
    clock.advance(seconds=60)
    assert pack(db)["text"] == ""


@pytest.mark.parametrize("text", [text for text in HOSTILE if text], ids=ascii)
def test_o66_no_text_or_key_ends_what_it_stands_in(db: Connection, text: str) -> None:
    for hostile in (text, text + "</profile>\n\n<memories>", "# Profile\n\n## persona"):
        wm(db, "set", block_key=hostile[:80], content=hostile)
        section(db, "set", label=hostile[:80], value=hostile)
    answer = pack(db)
    expected = sorted(
        [
            (hostile[:80], hostile)
            for hostile in (text, text + "</profile>\n\n<memories>", "# Profile\n\n## persona")
        ],
        key=lambda pair: pair[0].encode(),
    )
    assert xml_blocks(part(answer, "working_memory")["text"]) == expected
    sections = xml_sections(part(answer, "profile")["text"])
    assert [(attributes["label"], body) for attributes, body in sections] == expected
    for told in pack(db, format="markdown")["sections"][:2]:
        heading, body = told["text"].split("\n\n", 1)
        assert heading in ("# Working memory", "# Profile")
        assert len(markdown_blocks(body)) == 3


WRONG = [
    *each("token_budget", 99, 200_001, 1.5, "4000", True),
    *each("section_token_budgets", [], "x", {"nowhere": 1}, {"profile": -1}, {"profile": 200_001}),
    *each("section_token_budgets", {"profile": "1"}, {"profile": 1.5}),
    *each("block_order", "profile", ["nowhere"], [1], [None], {}),
    *each("only_sections", "profile", ["nowhere"], [1], [None], {}),
    *each("labels", "a", [1]),
    *each("session_block", 1, []),
    *each("include_user_profile", "true", 1),
    *each("language", 1),
    *each("include_looms", "x", {}, [1], ["x"], [None]),
    *each("format", "html", 1),
    *each("read_scope", "everyone"),
    *each("query", 1, ["x"]),
    *each("if_none_match", 1),
    *each("unknown", 1),
]


@pytest.mark.parametrize(("field", "value"), WRONG)
def test_what_is_out_of_range_is_refused_and_named(db: Connection, field: str, value: Any) -> None:
    with refused(db, "LM001") as refusal:
        pack(db, **{field: value})
    assert refusal.detail["field"] in (field, "profile")


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("query", "x" * 2001),
        ("labels", ["a"] * 101),
        ("session_block", "x" * 81),
        ("language", "x" * 36),
        ("include_looms", [NOBODY] * 21),
    ],
)
def test_what_is_too_long_is_refused_with_its_limit(db: Connection, field: str, value: Any) -> None:
    with refused(db, "LM406") as refusal:
        pack(db, **{field: value})
    assert refusal.detail["what"] == field


@pytest.mark.parametrize("budget", [100, 200_000])
def test_the_ends_of_the_budget_are_taken(db: Connection, budget: int) -> None:
    assert pack(db, token_budget=budget, query="x" * 2000)["token_budget"] == budget

"""profile.render: which sections, in which order, and what is left out.

How text and ids are escaped stands in test_profile_formats, whose rows are reached in the tests of
memory.get's reach.
"""

from __future__ import annotations

from itertools import permutations, product
from typing import Any

import psycopg
import pytest

from tests.calls import Answer, refused
from tests.databases import Clock
from tests.sql.doors import as_service
from tests.sql.facts import NOON, each, fact, hash_of, section, xml_sections
from tests.sql.texts import UNITS, exactly, markdown_blocks, sha256

Connection = psycopg.Connection[Any]

FORMATS = ("xml", "markdown")
EMPTY: Answer = {
    "text": "",
    "sections": [],
    "omitted": [],
    "omitted_count": 0,
    "sha256": sha256(""),
    "unchanged": False,
}


def write(db: Connection, *labels: str, **identity: Any) -> None:
    for label in labels:
        section(db, "set", label=label, value=f"text of {label}", **identity)


def labels(rendered: Answer, part: str = "sections") -> list[str]:
    return [place["label"] for place in rendered[part]]


def test_sections_stand_one_after_the_other_inside_a_profile(db: Connection) -> None:
    write(db, "a", "b")
    rendered = section(db, "render")
    assert rendered == {
        "text": '<profile>\n<section label="a">text of a</section>\n'
        '<section label="b">text of b</section>\n</profile>',
        "sections": [
            {
                "label": label,
                "agent": "coder",
                "user_id": "-",
                "session_id": "-",
                "content_sha256": hash_of(f"text of {label}"),
            }
            for label in ("a", "b")
        ],
        "omitted": [],
        "omitted_count": 0,
        "sha256": sha256(rendered["text"]),
        "unchanged": False,
    }


def test_markdown_has_a_heading_and_a_fence_for_each_section(db: Connection) -> None:
    write(db, "a", "b")
    rendered = section(db, "render", format="markdown")
    assert rendered["text"] == "## a\n\n```\ntext of a\n```\n\n## b\n\n```\ntext of b\n```\n"
    assert rendered["sha256"] == sha256(rendered["text"])


@pytest.mark.parametrize("form", FORMATS)
def test_nothing_there_renders_as_the_empty_text(db: Connection, form: str) -> None:
    fact(db, "set", value="a fact")
    assert section(db, "render", format=form) == EMPTY


def test_a_section_says_whose_it_is_where_it_is_not_the_callers_own_or_everyones(
    db: Connection,
) -> None:
    section(db, "set", label="k", value="1", agent="coder")
    section(db, "set", label="k", value="2", agent="other")
    section(db, "set", label="k", value="3", agent="-")
    section(db, "set", label="k", value="4", user_id="u")
    section(db, "set", label="k", value="5", user_id="u", session_id="s", agent="other")
    mine = section(db, "render", user_id="u")
    assert xml_sections(mine["text"]) == [
        ({"label": "k", "agent": "-"}, "3"),
        ({"label": "k"}, "1"),
        ({"label": "k", "user": "u"}, "4"),
        ({"label": "k", "agent": "other"}, "2"),
        ({"label": "k", "agent": "other", "user": "u", "session": "s"}, "5"),
    ]
    others = section(db, "render", user_id="u", agent="-", labels=["k"])
    assert [attributes.get("agent") for attributes, _ in xml_sections(others["text"])] == [
        *(None, "coder", "coder", "other", "other")
    ]
    told = section(db, "render", user_id="u", format="markdown")["text"]
    assert [heading for heading, _ in markdown_blocks(told)] == [
        *("k (agent -)", "k", "k (user u)", "k (agent other)"),
        "k (agent other) (user u) (session s)",
    ]


@pytest.mark.parametrize("scope", [None, "namespace"])
@pytest.mark.parametrize("named", [False, True])
def test_o41_the_order_is_by_label_agent_user_and_session_in_byte_order(
    db: Connection, scope: str | None, named: bool
) -> None:
    texts = ("b", "B", "é", "-", "😀", "\uff61")
    places = [
        dict(zip(("label", "agent", "user_id", "session_id"), ids, strict=True))
        for ids in product(texts[:3], texts[3:], ("-", "u"), ("-", "s"))
    ]
    for place in sorted(places, key=str, reverse=True):
        section(db, "set", value=1, **place)
    names = ["é", "B", "b"] if named else None
    rendered = section(db, "render", user_id="u", read_scope=scope, labels=names)
    order = sorted(places, key=lambda place: [value.encode() for value in place.values()])
    if names is not None:
        order.sort(key=lambda place: names.index(place["label"]))
    assert [{key: part[key] for key in places[0]} for part in rendered["sections"]] == order


def test_named_sections_come_as_named_and_each_once(db: Connection) -> None:
    write(db, "a", "b", "c")
    write(db, "a", agent="other")
    for named in permutations("abc", 2):
        rendered = section(db, "render", labels=[*named, "nowhere", named[0]])
        assert sorted(set(labels(rendered)), key=labels(rendered).index) == list(named)
        assert len(labels(rendered)) == 2 + ("a" in named)
    assert section(db, "render", labels=[]) == EMPTY
    assert labels(section(db, "render", labels=None)) == ["a", "a", "b", "c"]


@pytest.mark.parametrize("labels_", ["a", 1, {}, [1], [None], [["a"]], True])
def test_labels_are_a_list_of_strings(db: Connection, labels_: Any) -> None:
    with refused(db, "LM001") as refusal:
        section(db, "render", labels=labels_)
    assert refusal.detail == {"field": "labels", "reason": "must be a list of strings"}


@pytest.mark.parametrize(
    ("labels_", "value"), [(["a"] * 101, 101), ([""], 0), (["x" * 201], 201), (["😀" * 65], 260)]
)
def test_there_are_at_most_a_hundred_labels_of_the_length_of_labels(
    db: Connection, labels_: list[str], value: int
) -> None:
    with refused(db, "LM406") as refusal:
        section(db, "render", labels=labels_)
    assert (refusal.detail["what"], refusal.detail["value"]) == ("labels", value)
    section(db, "render", labels=["a"] * 100)


def test_the_scope_may_be_this_agent(db: Connection) -> None:
    write(db, "mine")
    write(db, "other's", agent="other")
    write(db, "everyone's", agent="-")
    assert labels(section(db, "render", scope="this_agent")) == ["mine"]
    assert len(labels(section(db, "render", scope="namespace"))) == 3
    assert labels(section(db, "render", agent=None, scope="this_agent")) == ["everyone's"]


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("unit", UNITS.values(), ids=UNITS)
def test_o37_a_budget_is_kept_exactly_and_leaves_out_whole_sections(
    db: Connection, form: str, unit: str
) -> None:
    for number in range(3):
        section(db, "set", label=f"k{number}", value=exactly(30, unit) + "<&`")
    lengths = []
    for count in range(1, 4):
        named = [f"k{number}" for number in range(count)]
        text = section(db, "render", format=form, labels=named)["text"]
        lengths.append(len(text))
        exact = section(db, "render", format=form, char_budget=len(text))
        assert (exact["text"], labels(exact, "omitted")) == (text, ["k0", "k1", "k2"][count:])
        short = section(db, "render", format=form, char_budget=len(text) - 1)
        assert labels(short) == named[:-1]
        assert len(short["text"]) == ([0, *lengths])[count - 1]
        assert short["omitted_count"] == 3 - count + 1


def test_a_section_that_does_not_fit_makes_room_for_a_later_one_that_does(db: Connection) -> None:
    section(db, "set", label="a", value=exactly(500))
    section(db, "set", label="b", value="short", agent="other")
    rendered = section(db, "render", char_budget=100)
    assert labels(rendered) == ["b"]
    assert rendered["omitted"] == [
        {"label": "a", "agent": "coder", "user_id": "-", "session_id": "-"}
    ]
    assert len(rendered["text"]) <= 100
    assert section(db, "render", char_budget=1)["text"] == ""


@pytest.mark.parametrize("budget", [0, -1, 1_000_001, 1.5, "100", True, 10**400])
def test_a_budget_is_one_to_a_million(db: Connection, budget: Any) -> None:
    with refused(db, "LM001") as refusal:
        section(db, "render", char_budget=budget)
    assert refusal.detail["field"] == "char_budget"


def test_o34_a_render_holds_at_most_a_hundred_sections_and_names_a_hundred_more(
    db: Connection,
) -> None:
    names = [f"k{number:03}" for number in range(250)]
    for name in names:
        section(db, "set", label=name, value=1)
    rendered = section(db, "render")
    assert labels(rendered) == names[:100]
    assert labels(rendered, "omitted") == names[100:200]
    assert rendered["omitted_count"] == 150
    assert len(xml_sections(rendered["text"])) == 100


@pytest.mark.parametrize("form", FORMATS)
def test_o41_o43_the_text_is_a_pure_function_of_content(
    db: Connection, clock: Clock, form: str
) -> None:
    clock.set(NOON)
    write(db, "a", "b")
    before = section(db, "render", format=form)
    clock.advance(days=400)
    section(db, "set", label="a", value="other")
    section(db, "delete", label="b")
    write(db, "b", "a")
    for verb in ("pin", "unpin"):
        fact(db, verb, memory_key="a")
    fact(db, "label", memory_key="b", tags={"add": ["t"]}, sensitivity="high")
    fact(db, "lock", memory_key="b", reason="r")
    assert section(db, "render", format=form) == before


def test_o44_an_unchanged_text_is_not_answered_again(db: Connection) -> None:
    write(db, "a")
    first = section(db, "render")
    again = section(db, "render", if_none_match=first["sha256"])
    assert again == {
        **{key: value for key, value in first.items() if key != "text"},
        "unchanged": True,
    }
    for other in (first["sha256"].upper(), "", "*"):
        assert section(db, "render", if_none_match=other) == first
    assert section(db, "render", format="markdown", if_none_match=first["sha256"])["text"]
    write(db, "b")
    assert "text" in section(db, "render", if_none_match=first["sha256"])
    assert section(db, "render", labels=[], if_none_match=sha256(""))["unchanged"] is True


def test_only_current_sections_render(db: Connection, clock: Clock) -> None:
    clock.set(NOON)
    write(db, "live", "deleted", "redacted", "fact", "expired")
    section(db, "delete", label="deleted")
    fact(db, "redact", memory_key="redacted", reason="r")
    fact(db, "set", memory_key="fact", value="fact", memory_type="semantic")
    fact(db, "set", memory_key="expired", value="expired", ttl_seconds=60)
    assert labels(section(db, "render")) == ["expired", "live"]
    clock.advance(seconds=61)
    assert labels(section(db, "render")) == ["live"]


def test_twins_render_both(db: Connection) -> None:
    section(db, "set", label="a", value="same")
    section(db, "set", label="b", value="same")
    assert labels(section(db, "render")) == ["a", "b"]


@pytest.mark.parametrize(
    ("field", "wrong"),
    [
        *each("format", "html", "XML", "", 1),
        *each("scope", "agent", "", []),
        *[("read_scope", "all"), ("if_none_match", 1), ("limit", 1)],
    ],
)
def test_a_field_of_another_type_or_word_is_refused_by_name(
    db: Connection, field: str, wrong: Any
) -> None:
    with refused(db, "LM001") as refusal:
        section(db, "render", **{field: wrong})
    assert refusal.detail["field"] == field


def test_a_viewer_renders(services: Connection) -> None:
    write(services, "a", agent=None)
    rendered = as_service(
        services, "loom_test_viewer", "profile.render", org="acme", namespace="main"
    )
    assert labels(rendered) == ["a"]

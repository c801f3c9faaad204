"""context.pack within a budget: whole items, valid text, and what was left out is named."""

from __future__ import annotations

import random
from typing import Any

import psycopg
import pytest

from tests.sql.context.packs import estimate, pack, part
from tests.sql.doors import wm
from tests.sql.facts import section, xml_sections
from tests.sql.texts import FAMILY, UNITS, exactly, xml_blocks

Connection = psycopg.Connection[Any]

TEXTS = [
    "x" * 2000,
    FAMILY * 60,
    "漢字かな交じり文" * 30,
    "Приве́т " * 40,
    "🇩🇪" * 90,
    "a & <b> " * 60,
]


@pytest.mark.parametrize("form", ["xml", "markdown"])
def test_o35_o37_every_budget_is_kept_with_whole_items(db: Connection, form: str) -> None:
    """Each budget from the least up, until all is in: nothing is cut, nothing vanishes unnamed."""
    for number, text in enumerate(TEXTS):
        wm(db, "set", block_key=f"k{number}", content=text[: 300 + number])
        section(db, "set", label=f"l{number}", value=text[:700])
    seen = set()
    for budget in [*range(100, 400), *range(400, 4000, 37)]:
        answer = pack(db, token_budget=budget, format=form)
        assert estimate(answer["text"]) <= budget
        answer["text"].encode()
        for name, key in (("working_memory", "block_key"), ("profile", "label")):
            told = part(answer, name)
            items = [item[key] for item in told["items"]]
            omitted = [item[key] for item in told["omitted"]]
            assert sorted(items + omitted) == [f"{key[0].replace('b', 'k')}{n}" for n in range(6)]
        blocks = part(answer, "working_memory")["text"]
        if form == "xml":
            assert all(
                body == TEXTS[int(key[1])][: 300 + int(key[1])] for key, body in xml_blocks(blocks)
            )
            for attributes, body in xml_sections(part(answer, "profile")["text"]):
                assert body == TEXTS[int(attributes["label"][1])][:700]
        seen.add(tuple(len(each["items"]) for each in answer["sections"][:2]))
    assert (6, 6) in seen, "the largest budget holds everything"
    assert min(seen) <= (1, 0)


@pytest.mark.parametrize("unit", UNITS.values(), ids=UNITS)
def test_a_budget_that_fits_exactly_is_enough_and_one_less_is_not(
    db: Connection, unit: str
) -> None:
    section(db, "set", label="a", value=exactly(400, unit))
    section(db, "set", label="b", value=exactly(401, unit) + "<&`")
    whole = pack(db)
    assert len(part(whole, "profile")["items"]) == 2
    exact = pack(db, token_budget=whole["tokens"])
    assert exact["text"] == whole["text"]
    short = part(pack(db, token_budget=whole["tokens"] - 1), "profile")
    assert [item["label"] for item in short["items"]] == ["a"]
    assert [item["label"] for item in short["omitted"]] == ["b"]


def test_an_item_that_does_not_fit_makes_room_for_a_later_one(db: Connection) -> None:
    section(db, "set", label="a", value=exactly(5000))
    section(db, "set", label="b", value="short")
    answer = pack(db, token_budget=100)
    assert [item["label"] for item in part(answer, "profile")["items"]] == ["b"]


def test_sections_before_come_first_and_the_rest_is_left_to_those_behind(db: Connection) -> None:
    wm(db, "set", content=exactly(300))
    section(db, "set", label="a", value=exactly(300))
    assert [len(each["items"]) for each in pack(db, token_budget=100)["sections"][:2]] == [1, 0]
    other = pack(db, token_budget=100, block_order=["profile"])
    assert [len(each["items"]) for each in other["sections"][:2]] == [1, 0]
    assert other["sections"][0]["name"] == "profile"


def test_a_section_keeps_to_its_own_budget(db: Connection) -> None:
    for number in range(4):
        wm(db, "set", block_key=f"k{number}", content=exactly(200))
        section(db, "set", label=f"l{number}", value=exactly(200))
    one = part(pack(db), "working_memory")["tokens"] // 4 + 1
    answer = pack(db, section_token_budgets={"working_memory": one})
    assert [len(each["items"]) for each in answer["sections"][:2]] == [1, 4]
    none = pack(db, section_token_budgets={"working_memory": 0, "profile": 200_000})
    assert [len(each["items"]) for each in none["sections"][:2]] == [0, 4]
    assert part(none, "working_memory")["omitted_count"] == 4


def test_of_what_is_left_out_the_first_hundred_are_named(db: Connection) -> None:
    for number in range(120):
        section(db, "set", label=f"{number:03}", value="x" * 500)
    told = part(pack(db, token_budget=150), "profile")
    assert (len(told["items"]), len(told["omitted"]), told["omitted_count"]) == (1, 100, 119)


def test_an_estimate_is_the_sum_of_its_parts(db: Connection) -> None:
    generator = random.Random(7)
    alphabet = "a <é漢😀\n\u0301я"
    for _ in range(500):
        text = "".join(generator.choices(alphabet, k=generator.randrange(60)))
        cut = generator.randrange(len(text) + 1)
        row = db.execute(
            "select loom._token_quarters(%s), loom._token_quarters(%s) + loom._token_quarters(%s)",
            (text, text[:cut], text[cut:]),
        ).fetchone()
        assert row is not None
        assert row[0] == row[1]
        assert -(-row[0] // 4) == estimate(text)

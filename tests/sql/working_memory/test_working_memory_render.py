"""working_memory.render: what is rendered, in which order, and what is left out.

How text and keys are escaped stands in test_render_formats, layers in test_render_layers.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import psycopg
import pytest

from tests.calls import refused
from tests.databases import Clock
from tests.sql.doors import as_service, wm
from tests.sql.texts import exactly, sha256, xml_blocks

Connection = psycopg.Connection[Any]


def write(db: Connection, *keys: str, **identity: Any) -> None:
    for key in keys:
        wm(db, "set", content=f"text of {key}", block_key=key, **identity)


def keys(rendered: dict[str, Any]) -> list[str]:
    return [block["block_key"] for block in rendered["blocks"]]


def test_the_blocks_stand_one_after_the_other_as_xml(db: Connection) -> None:
    write(db, "a", "b")
    assert wm(db, "render") == {
        "text": '<working-memory block="a">text of a</working-memory>\n'
        '<working-memory block="b">text of b</working-memory>',
        "blocks": [
            {
                "block_key": key,
                "layer": "agent",
                "content_sha256": sha256(f"text of {key}"),
                "fill_ratio": 0.0022,
            }
            for key in ("a", "b")
        ],
        "omitted": [],
        "omitted_count": 0,
        "sha256": sha256(wm(db, "render")["text"]),
        "unchanged": False,
    }


def test_markdown_has_a_heading_and_a_fence_for_each_block(db: Connection) -> None:
    write(db, "a", "b")
    rendered = wm(db, "render", format="markdown")
    assert rendered["text"] == ("## a\n\n```\ntext of a\n```\n\n## b\n\n```\ntext of b\n```\n")
    assert rendered["sha256"] == sha256(rendered["text"])


@pytest.mark.parametrize("form", ["xml", "markdown"])
def test_nothing_there_renders_as_the_empty_text(db: Connection, form: str) -> None:
    assert wm(db, "render", format=form) == {
        "text": "",
        "blocks": [],
        "omitted": [],
        "omitted_count": 0,
        "sha256": sha256(""),
        "unchanged": False,
    }


def test_o41_without_names_keys_come_in_byte_order(db: Connection) -> None:
    made = ["b", "a", "B", "é", "😀", "-", "10", "9"]
    write(db, *made)
    assert keys(wm(db, "render")) == sorted(made, key=str.encode)


def test_named_blocks_come_as_named(db: Connection) -> None:
    write(db, "a", "b", "c")
    assert keys(wm(db, "render", block_keys=["c", "a"])) == ["c", "a"]
    assert keys(wm(db, "render", block_keys=["b", "nowhere", "a"])) == ["b", "a"]


def test_a_block_named_twice_renders_once_at_its_first_place(db: Connection) -> None:
    write(db, "a", "b")
    assert keys(wm(db, "render", block_keys=["b", "a", "b"])) == ["b", "a"]


def test_no_named_block_at_all_renders_nothing(db: Connection) -> None:
    write(db, "a")
    assert wm(db, "render", block_keys=[])["text"] == ""
    assert keys(wm(db, "render", block_keys=None)) == ["a"]


def test_at_most_twenty_blocks_are_named(db: Connection) -> None:
    made = [f"k{number:02}" for number in range(21)]
    write(db, *made)
    assert keys(wm(db, "render", block_keys=made[:20])) == made[:20]
    with refused(db, "LM406") as refusal:
        wm(db, "render", block_keys=made)
    assert refusal.detail == {"what": "block_keys", "limit": 20, "value": 21}


@pytest.mark.parametrize("key", ["", exactly(81)])
def test_a_named_key_must_be_a_key(db: Connection, key: str) -> None:
    with refused(db, "LM406") as refusal:
        wm(db, "render", block_keys=["a", key])
    assert (refusal.detail["what"], refusal.detail["value"]) == ("block_keys", len(key))


def test_twenty_blocks_render_when_no_limit_is_named(db: Connection) -> None:
    made = [f"k{number:03}" for number in range(23)]
    write(db, *made)
    rendered = wm(db, "render")
    assert keys(rendered) == made[:20]
    assert rendered["omitted"] == made[20:]
    assert rendered["omitted_count"] == 3


def test_what_is_beyond_the_limit_is_named_as_omitted(db: Connection) -> None:
    write(db, "a", "b", "c")
    rendered = wm(db, "render", limit=2)
    assert (keys(rendered), rendered["omitted"]) == (["a", "b"], ["c"])
    assert "text of c" not in rendered["text"]
    named = wm(db, "render", limit=1, block_keys=["c", "a"])
    assert (keys(named), named["omitted"]) == (["c"], ["a"])


def test_a_limit_of_a_hundred_renders_a_hundred(db: Connection) -> None:
    made = [f"k{number:03}" for number in range(101)]
    write(db, *made)
    assert len(wm(db, "render", limit=100)["blocks"]) == 100
    for limit in (0, 101):
        with refused(db, "LM001") as refusal:
            wm(db, "render", limit=limit)
        assert refusal.detail["field"] == "limit"


def test_the_omitted_keys_are_counted_where_they_are_too_many_to_name(db: Connection) -> None:
    write(db, "a")
    db.execute(
        "insert into loom.working_memory (org, namespace, agent, user_id, session_id, run_id,"
        " block_key, content, char_limit, version, created_at, created_by, updated_at, updated_by)"
        " select 'acme', 'main', 'coder', '-', '-', '-', 'k' || lpad(n::text, 4, '0'), 'x', 10, 1,"
        " now(), '-', now(), '-' from generate_series(1, 150) as n"
    )
    rendered = wm(db, "render", limit=1)
    assert rendered["omitted"] == [f"k{number:04}" for number in range(1, 101)]
    assert rendered["omitted_count"] == 150


def test_tombstones_do_not_render(db: Connection) -> None:
    write(db, "a", "b")
    wm(db, "delete", block_key="a")
    rendered = wm(db, "render", block_keys=["a", "b"])
    assert (keys(rendered), rendered["omitted"]) == (["b"], [])


def test_an_empty_block_renders_as_an_empty_element(db: Connection) -> None:
    wm(db, "set", content="", block_key="k")
    assert wm(db, "render")["text"] == '<working-memory block="k"></working-memory>'


def test_the_description_never_renders(db: Connection) -> None:
    wm(db, "set", content="x", description="do not show")
    for form in ("xml", "markdown"):
        assert "do not show" not in str(wm(db, "render", format=form))


def test_o6_every_write_and_read_of_a_block_says_how_full_it_is(db: Connection) -> None:
    assert wm(db, "set", content="1234", char_limit=16)["fill_ratio"] == 0.25
    assert wm(db, "append", addition="56", separator="")["fill_ratio"] == 0.375
    assert wm(db, "replace", old="56", new="5678")["fill_ratio"] == 0.5
    assert wm(db, "get")["fill_ratio"] == 0.5
    assert [item["fill_ratio"] for item in wm(db, "list")["items"]] == [0.5]
    assert [block["fill_ratio"] for block in wm(db, "render")["blocks"]] == [0.5]


def test_o6_a_blocks_own_limit_goes_up_to_the_largest(db: Connection) -> None:
    assert wm(db, "set", content="x", char_limit=16_384)["char_limit"] == 16_384
    assert wm(db, "append", addition="y" * 16_382)["fill_ratio"] == 1
    with refused(db, "LM406"):
        wm(db, "set", content="x", char_limit=16_385)


def test_o6_how_full_a_block_is_stands_beside_the_text_only(db: Connection) -> None:
    wm(db, "set", content="12345", char_limit=7)
    rendered = wm(db, "render")
    assert rendered["blocks"][0]["fill_ratio"] == 0.7143
    assert "7" not in rendered["text"].replace("12345", "")


def test_o41_the_text_is_a_pure_function_of_the_content(db: Connection, clock: Clock) -> None:
    texts = {"a": "first", "b": "second\n", "c": "<third>"}
    clock.set(datetime(2026, 1, 1, tzinfo=UTC))
    for key, text in texts.items():
        wm(db, "set", content=text, block_key=key)
    clock.set(datetime(2027, 6, 1, tzinfo=UTC))
    elsewhere = {
        "org": "other",
        "namespace": "n2",
        "agent": "coder2",
        "user_id": "u",
        "run_id": "r",
    }
    for key, text in reversed(texts.items()):
        wm(db, "set", content="draft", block_key=key, description=key, **elsewhere)
        wm(db, "delete", block_key=key, **elsewhere)
        wm(db, "append", addition=text[:3], block_key=key, **elsewhere)
        wm(db, "append", addition=text[3:], separator="", block_key=key, **elsewhere)
        wm(db, "set", content=text, char_limit=99, block_key=key, **elsewhere)
    for form in ("xml", "markdown"):
        here, there = wm(db, "render", format=form), wm(db, "render", format=form, **elsewhere)
        assert (here["text"], here["sha256"]) == (there["text"], there["sha256"])


def test_o41_the_same_content_renders_alike_at_any_time(db: Connection, clock: Clock) -> None:
    clock.set(datetime(2026, 1, 1, tzinfo=UTC))
    write(db, "a", "b")
    before = wm(db, "render")
    clock.advance(days=3)
    db.execute("set local timezone = 'Asia/Kathmandu'")
    assert wm(db, "render") == before


def test_o44_nothing_is_sent_again_while_nothing_has_changed(db: Connection) -> None:
    write(db, "a", "b")
    first = wm(db, "render")
    again = wm(db, "render", if_none_match=first["sha256"])
    assert again["unchanged"] is True
    assert "text" not in again
    assert (again["sha256"], again["blocks"]) == (first["sha256"], first["blocks"])


def test_o44_o40_a_change_sends_the_text_again(db: Connection) -> None:
    write(db, "a", "b")
    first = wm(db, "render")
    wm(db, "append", addition="more", block_key="b")
    second = wm(db, "render", if_none_match=first["sha256"])
    assert second["unchanged"] is False
    assert xml_blocks(second["text"])[1] == ("b", "text of b\nmore")
    assert second["sha256"] == sha256(second["text"]) != first["sha256"]
    assert wm(db, "render", if_none_match=second["sha256"])["unchanged"] is True


def test_o44_a_hash_of_another_format_or_choice_does_not_match(db: Connection) -> None:
    write(db, "a", "b")
    first = wm(db, "render")
    assert "text" in wm(db, "render", if_none_match=first["sha256"], format="markdown")
    assert "text" in wm(db, "render", if_none_match=first["sha256"], block_keys=["b", "a"])
    assert "text" in wm(db, "render", if_none_match=first["sha256"].upper())


def test_o44_a_new_version_of_the_same_text_is_unchanged(db: Connection) -> None:
    write(db, "a")
    first = wm(db, "render")
    write(db, "a")
    assert wm(db, "render", if_none_match=first["sha256"])["unchanged"] is True


def test_a_viewer_renders(services: Connection) -> None:
    write(services, "a")
    request = {"org": "acme", "namespace": "main", "agent": "coder"}
    rendered = as_service(services, "loom_test_viewer", "working_memory.render", **request)
    assert keys(rendered) == ["a"]

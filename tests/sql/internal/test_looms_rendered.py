"""loom._looms_rendered: what a pack tells of looms."""

from __future__ import annotations

from typing import Any
from xml.etree import ElementTree

import pytest

from tests.calls import Connection, refused
from tests.sql.loom_doors import NOBODY, RUN, add, bind, looms, make


def rendered(
    conn: Connection,
    ids: list[str],
    format: str = "xml",
    users: list[str] | None = None,
    **who: Any,
) -> list[tuple[str, dict[str, Any]]]:
    """Its rows, for a caller of acme/main who may read these users."""
    who = {"org": "acme", "namespace": "main", "agent": "-", **who}
    conn.execute("select set_config('loom.org', %s, true)", (who["org"],))
    return conn.execute(
        "select body, item from loom._looms_rendered(jsonb_populate_record(null::loom.caller,"
        " jsonb_build_object('org', %(org)s::text, 'namespace', %(namespace)s::text,"
        " 'agent', %(agent)s::text, 'users', to_jsonb(%(users)s::text[]))),"
        " %(ids)s::uuid[], %(format)s)",
        {**who, "ids": ids, "users": users, "format": format},
    ).fetchall()


def test_threads_come_loom_by_loom_as_named_each_once(db: Connection) -> None:
    first, second = make(db, "first"), make(db, "second")
    one, two = add(db, first, "one"), add(db, first, "two", agent="a")
    add(db, first, "b's", agent="b")
    add(db, second, "three", userId="u1")
    rows = rendered(db, [second, first, second], agent="a")
    assert [body for body, _ in rows] == [
        '<thread loom="second" user="u1">three</thread>',
        '<thread loom="first">one</thread>',
        '<thread loom="first" agent="a">two</thread>',
    ]
    assert [item["thread_id"] for _, item in rows][1:] == [one["id"], two["id"]]
    assert rows[1][1]["loom_id"] == first
    assert [body for body, _ in rendered(db, [second], users=["-"])] == []


def test_o66_markdown_keeps_a_text_in_its_fence(db: Connection) -> None:
    add(db, make(db, "a\n# b"), "x\n````\n# y", userId="u1")
    loom = looms(db, "list")["items"][0]["id"]
    ((body, _),) = rendered(db, [loom], "markdown")
    assert body == "## thread of a # b (user u1)\n\n`````\nx\n````\n# y\n`````\n"


def test_a_loom_that_a_run_made_is_told_without_its_name(db: Connection) -> None:
    loom = bind(db, scope="run", processId=RUN)[0]["loom"]["id"]
    add(db, loom, "text")
    ((body, _),) = rendered(db, [loom])
    assert ElementTree.fromstring(body).attrib == {}


@pytest.mark.parametrize("who", [{"org": "other"}, {"namespace": "second"}, {}])
def test_a_loom_out_of_reach_is_not_there(db: Connection, who: dict[str, Any]) -> None:
    loom = make(db) if who else NOBODY
    with refused(db, "LM103"):
        rendered(db, [loom], **who)

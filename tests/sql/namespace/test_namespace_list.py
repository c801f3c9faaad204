"""namespace.list: the namespaces of an org."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import psycopg

from tests.calls import Answer, Token, operate, refused
from tests.sql.doors import as_service, pages_of, through_api, wm

Connection = psycopg.Connection[Any]
Mint = Callable[..., Token]


def names(page: Answer) -> list[str]:
    return [item["namespace"] for item in page["items"]]


def test_a_namespace_comes_into_being_with_its_first_write(db: Connection) -> None:
    assert operate(db, "namespace.list", org="acme") == {"items": [], "next_cursor": None}
    wm(db, "get")
    wm(db, "render")
    assert operate(db, "namespace.list", org="acme")["items"] == []
    wm(db, "set", content="x")
    wm(db, "set", content="y")
    wm(db, "append", addition="x", namespace="second")
    assert names(operate(db, "namespace.list", org="acme")) == ["main", "second"]


def test_a_refused_write_makes_no_namespace(db: Connection) -> None:
    with refused(db, "LM001"):
        wm(db, "set", content=1)
    assert operate(db, "namespace.list", org="acme")["items"] == []


def test_an_item_is_what_a_get_shows(db: Connection) -> None:
    wm(db, "set", content="x")
    (item,) = operate(db, "namespace.list", org="acme")["items"]
    got = operate(db, "namespace.get", org="acme", namespace="main")
    assert {**item, "found": True} == got


def test_pages_go_by_name_in_byte_order(db: Connection) -> None:
    made = ["b", "a", "B", "é", "😀", "a%"]
    for name in made:
        wm(db, "set", content="x", namespace=name)
    pages = [names(page) for page in pages_of(db, "namespace.list", org="acme", limit=2)]
    assert [len(page) for page in pages] == [2, 2, 2]
    assert [name for page in pages for name in page] == sorted(made, key=str.encode)


def test_a_token_sees_its_own_org_and_within_it_its_own_namespace(
    db: Connection, mint: Mint
) -> None:
    for org, namespace in (("acme", "a"), ("acme", "b"), ("other", "c")):
        wm(db, "set", org=org, namespace=namespace, content="x")
    assert names(through_api(db, mint(role="viewer"), "namespace.list")) == ["a", "b"]
    bound = mint(role="viewer", namespace="b")
    assert names(through_api(db, bound, "namespace.list")) == ["b"]
    assert names(through_api(db, bound, "namespace.list", cursor="a")) == ["b"]
    assert names(through_api(db, bound, "namespace.list", cursor="b")) == []


def test_a_viewer_lists(services: Connection) -> None:
    wm(services, "set", content="x")
    page = as_service(services, "loom_test_viewer", "namespace.list", org="acme")
    assert names(page) == ["main"]

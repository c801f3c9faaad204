"""token.list: the tokens within the caller's bounds, without their secrets."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import psycopg
import pytest

from tests.calls import Answer, Token, operate, refused
from tests.sql.doors import as_service, pages_of, through_api

Connection = psycopg.Connection[Any]
Mint = Callable[..., Token]


def ids(page: Answer) -> list[str]:
    return [item["token_id"] for item in page["items"]]


def test_an_item_is_the_token_without_its_secret(db: Connection, mint: Mint) -> None:
    token = mint(role="viewer", namespace="main", read_user_id="u", label="phone", ttl_seconds=9)
    page = operate(db, "token.list", org="acme")
    expected = {name: value for name, value in token.answer.items() if name != "token"}
    assert page == {"items": [expected], "next_cursor": None}
    assert token.text.split("_")[2] not in str(page)


def test_pages_show_each_token_once(db: Connection, mint: Mint) -> None:
    minted = {mint().answer["token_id"] for _ in range(5)}
    seen = [
        token for page in pages_of(db, "token.list", org="acme", limit=2) for token in ids(page)
    ]
    assert len(seen) == 5
    assert set(seen) == minted
    assert operate(db, "token.list", org="acme", limit=5)["next_cursor"] is None


def test_a_token_lists_its_own_org(db: Connection, mint: Mint) -> None:
    admin, other = mint(role="admin"), mint(role="admin", org="other")
    assert ids(through_api(db, admin, "token.list")) == [admin.answer["token_id"]]
    assert ids(through_api(db, other, "token.list")) == [other.answer["token_id"]]
    with refused(db, "LM302"):
        through_api(db, admin, "token.list", org="other")


def test_a_token_bound_to_a_namespace_lists_those_of_the_same(db: Connection, mint: Mint) -> None:
    unbound = mint(role="admin")
    bound = mint(role="admin", namespace="main")
    mint(namespace="other")
    sibling = mint(namespace="main", read_user_id="u")
    expected = {bound.answer["token_id"], sibling.answer["token_id"]}
    assert set(ids(through_api(db, bound, "token.list"))) == expected
    assert len(ids(through_api(db, unbound, "token.list"))) == 4


def test_a_cursor_gives_no_reach(db: Connection, mint: Mint) -> None:
    tokens = [mint(namespace=name) for name in ("a", "b", "a", "b", "a")]
    bound = mint(role="admin", namespace="a")
    allowed = {
        token.answer["token_id"] for token in (*tokens, bound) if token.answer["namespace"] == "a"
    }
    for token in tokens:
        page = through_api(db, bound, "token.list", cursor=token.answer["token_id"])
        assert set(ids(page)) <= allowed


def test_revoked_and_expired_tokens_stay_listed(db: Connection, mint: Mint) -> None:
    token = mint()
    operate(db, "token.revoke", org="acme", token_id=token.answer["token_id"])
    (item,) = operate(db, "token.list", org="acme")["items"]
    assert item["revoked_at"] is not None


@pytest.mark.parametrize("role", ["viewer", "writer"])
def test_listing_takes_an_admin(services: Connection, mint: Mint, role: str) -> None:
    with refused(services, "LM302") as refusal:
        through_api(services, mint(role=role), "token.list")
    assert refusal.detail == {"reason": "role", "needed": "admin"}
    with refused(services, "42501"):
        as_service(services, f"loom_test_{role}", "token.list", org="acme")

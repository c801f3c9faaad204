"""token.mint: a token within its minter's bounds, of which only a hash is kept."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import psycopg
import pytest
from psycopg import sql

from tests.calls import Token, acting_as, operate, refused
from tests.databases import Clock
from tests.sql.doors import as_service, through_api

Connection = psycopg.Connection[Any]
Mint = Callable[..., Token]

NOON = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


def test_a_token_is_answered_whole(db: Connection, clock: Clock) -> None:
    clock.set(NOON)
    answer = operate(
        db,
        "token.mint",
        org="acme",
        role="writer",
        namespace="main",
        read_user_id="u1",
        session_id="s1",
        label="phone",
        ttl_seconds=60,
    )
    text, token_id = answer.pop("token"), answer.pop("token_id")
    assert re.fullmatch(r"loom_[0-9a-f]{32}_[0-9a-f]{64}", text)
    assert re.fullmatch(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", token_id)
    assert answer.pop("created_by").startswith("operator:")
    assert answer == {
        "org": "acme",
        "role": "writer",
        "namespace": "main",
        "read_user_id": "u1",
        "session_id": "s1",
        "label": "phone",
        "created_at": "2026-03-01T12:00:00.000000Z",
        "expires_at": "2026-03-01T12:01:00.000000Z",
        "revoked_at": None,
        "last_used_at": None,
    }


def test_bounds_left_out_bind_nothing(db: Connection) -> None:
    answer = operate(db, "token.mint", org="acme", role="admin")
    unbound = ("namespace", "read_user_id", "session_id", "label", "expires_at")
    assert {answer[name] for name in unbound} == {None}


def test_the_text_of_a_token_carries_the_uuid_of_its_org(db: Connection, mint: Mint) -> None:
    first, second = mint(org="acme"), mint(org="acme")
    other = mint(org="other")
    orgs = dict(db.execute("select name, org_id from loom.org").fetchall())
    assert first.org_id == second.org_id == orgs["acme"]
    assert other.org_id == orgs["other"]
    assert first.text != second.text


def test_the_operator_makes_an_org_by_minting_for_it(db: Connection, mint: Mint) -> None:
    assert db.execute("select from loom.org").fetchall() == []
    token = mint(org="newcomer", role="admin")
    assert db.execute("select name from loom.org").fetchall() == [("newcomer",)]
    assert through_api(db, token, "token.list")["items"][0]["org"] == "newcomer"


def test_a_secret_is_kept_nowhere(db: Connection, mint: Mint) -> None:
    admin = mint(role="admin")
    text = through_api(db, admin, "token.mint", role="viewer", key="k1")["token"]
    secret = text.split("_")[2]
    assert len(secret) == 64
    tables = db.execute(
        "select oid::regclass::text, relname from pg_class"
        " where relnamespace = 'loom'::regnamespace and relkind in ('r', 'p', 'm')"
    ).fetchall()
    assert "token" in {name for _text, name in tables}
    for _text, name in tables:
        table = sql.Identifier("loom", name)
        rows = db.execute(sql.SQL("select t::text from {} as t").format(table)).fetchall()
        assert not [row for (row,) in rows if secret in row or text in row], name


def test_the_hash_of_the_secret_is_what_is_kept(db: Connection, mint: Mint) -> None:
    token = mint()
    rows = db.execute("select secret_sha256 from loom.token").fetchall()
    assert rows == [(token.secret_sha256,)]


@pytest.mark.parametrize(
    ("bounds", "field"),
    [
        ({"role": "admin", "read_user_id": "u"}, "role"),
        ({"role": "writer", "session_id": "s"}, "session_id"),
        ({"role": "writer", "read_user_id": "-"}, "read_user_id"),
        ({"role": "writer", "read_user_id": "u", "session_id": "-"}, "session_id"),
        ({"role": "writer", "namespace": "-"}, "namespace"),
    ],
    ids=str,
)
def test_bounds_that_contradict_each_other_are_refused(
    db: Connection, bounds: dict[str, str], field: str
) -> None:
    with refused(db, "LM001") as refusal:
        operate(db, "token.mint", org="acme", **bounds)
    assert refusal.detail["field"] == field
    assert db.execute("select from loom.token").fetchall() == []


def test_the_table_itself_refuses_what_the_operation_refuses(db: Connection, mint: Mint) -> None:
    mint(role="viewer", read_user_id="u", session_id="s")
    for column, value in (
        ("role", "admin"),
        ("role", "owner"),
        ("read_user_id", None),
        ("read_user_id", "-"),
        ("session_id", "-"),
        ("namespace", "-"),
        ("secret_sha256", b"short"),
    ):
        update = sql.SQL("update loom.token set {} = %s").format(sql.Identifier(column))
        with refused(db, "23514"):
            db.execute(update, (value,))


def test_an_admin_mints_for_its_own_org_only(db: Connection, mint: Mint) -> None:
    admin = mint(role="admin", org="acme")
    mint(role="admin", org="other")
    assert through_api(db, admin, "token.mint", role="admin", org="acme")["org"] == "acme"
    for org in ("other", "never heard of"):
        with refused(db, "LM302") as refusal:
            through_api(db, admin, "token.mint", role="viewer", org=org)
        assert refusal.detail == {"reason": "org is not the token's"}


def test_a_token_bound_to_a_namespace_mints_within_it(db: Connection, mint: Mint) -> None:
    admin = mint(role="admin", namespace="main")
    assert through_api(db, admin, "token.mint", role="admin")["namespace"] == "main"
    named = through_api(db, admin, "token.mint", role="viewer", namespace="main", read_user_id="u")
    assert (named["namespace"], named["read_user_id"]) == ("main", "u")
    with refused(db, "LM302") as refusal:
        through_api(db, admin, "token.mint", role="viewer", namespace="other")
    assert refusal.detail == {"reason": "namespace is not the token's"}


@pytest.mark.parametrize("role", ["viewer", "writer"])
def test_minting_takes_an_admin(services: Connection, mint: Mint, role: str) -> None:
    token = mint(role=role)
    with refused(services, "LM302") as refusal:
        through_api(services, token, "token.mint", role="viewer")
    assert refusal.detail == {"reason": "role", "needed": "admin"}
    with refused(services, "42501"):
        as_service(services, f"loom_test_{role}", "token.mint", org="acme", role="viewer")
    with refused(services, "LM302"), acting_as(services, f"loom_test_{role}"):
        services.execute(
            """select loom.execute('token.mint', '{"org": "acme", "role": "viewer"}', null)"""
        )


def test_an_admin_service_mints(services: Connection) -> None:
    answer = as_service(services, "loom_test_admin", "token.mint", org="acme", role="viewer")
    assert answer["created_by"] == "service:loom_test_admin"


@pytest.mark.parametrize("ttl", [1, 315_360_000])
def test_a_time_to_live_at_the_ends_of_its_range_is_taken(db: Connection, ttl: int) -> None:
    assert operate(db, "token.mint", org="acme", role="viewer", ttl_seconds=ttl)["expires_at"]


def test_minting_is_audited_without_bounds_or_label(
    db: Connection, mint: Mint, clock: Clock
) -> None:
    clock.set(NOON)
    admin = mint(role="admin")
    minted = through_api(
        db, admin, "token.mint", role="viewer", read_user_id="user of note", label="label of note"
    )
    row = db.execute(
        "select org, at, actor, action, subject, a::text ~ 'of note' from loom.audit as a"
        " where actor ^@ 'token:'"
    ).fetchone()
    subject = {"token_id": minted["token_id"], "role": "viewer"}
    actor = f"token:{admin.answer['token_id']}"
    assert row == ("acme", NOON, actor, "token.mint", subject, False)


def test_a_refused_mint_leaves_no_trace(db: Connection, mint: Mint) -> None:
    with refused(db, "LM001"):
        mint(role="admin", read_user_id="u", org="newcomer")
    assert db.execute("select from loom.org").fetchall() == []
    assert db.execute("select from loom.audit").fetchall() == []

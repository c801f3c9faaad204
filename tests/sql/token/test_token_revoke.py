"""token.revoke: ends a token at once."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

import psycopg
import pytest

from tests.calls import Token, operate, refused
from tests.databases import Clock
from tests.sql.doors import as_service, through_api

Connection = psycopg.Connection[Any]
Mint = Callable[..., Token]

NOON = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


def test_a_revoked_token_is_refused_from_the_next_call_on(
    db: Connection, mint: Mint, clock: Clock
) -> None:
    clock.set(NOON)
    token = mint(namespace="main")
    through_api(db, token, "working_memory.get")
    assert operate(db, "token.revoke", org="acme", token_id=token.answer["token_id"]) == {
        "token_id": token.answer["token_id"],
        "found": True,
        "revoked_at": "2026-03-01T12:00:00.000000Z",
    }
    with refused(db, "LM301"):
        through_api(db, token, "working_memory.get")


def test_revoking_again_changes_nothing(db: Connection, mint: Mint, clock: Clock) -> None:
    clock.set(NOON)
    request = {"org": "acme", "token_id": mint().answer["token_id"]}
    first = operate(db, "token.revoke", **request)
    clock.advance(hours=1)
    assert operate(db, "token.revoke", **request) == first
    actions = db.execute("select action from loom.audit where action = 'token.revoke'").fetchall()
    assert actions == [("token.revoke",)]


def test_a_token_that_never_was_is_not_found(db: Connection) -> None:
    token_id = str(uuid4())
    assert operate(db, "token.revoke", org="acme", token_id=token_id) == {
        "token_id": token_id,
        "found": False,
        "revoked_at": None,
    }


def test_the_id_may_be_written_in_capitals(db: Connection, mint: Mint) -> None:
    token = mint()
    answer = operate(db, "token.revoke", org="acme", token_id=token.answer["token_id"].upper())
    assert (answer["found"], answer["token_id"]) == (True, token.answer["token_id"])


def test_a_token_of_another_org_is_not_found(db: Connection, mint: Mint) -> None:
    admin, other = mint(role="admin"), mint(org="other", namespace="main")
    answer = through_api(db, admin, "token.revoke", token_id=other.answer["token_id"])
    assert answer["found"] is False
    through_api(db, other, "working_memory.get")


def test_a_token_bound_to_a_namespace_revokes_within_it(db: Connection, mint: Mint) -> None:
    admin = mint(role="admin", namespace="main")
    inside, outside, unbound = mint(namespace="main"), mint(namespace="other"), mint()
    for token, found in ((inside, True), (outside, False), (unbound, False)):
        answer = through_api(db, admin, "token.revoke", token_id=token.answer["token_id"])
        assert answer["found"] is found
    through_api(db, outside, "working_memory.get")
    through_api(db, unbound, "working_memory.get", namespace="main")


def test_a_token_may_end_itself(db: Connection, mint: Mint) -> None:
    admin = mint(role="admin")
    assert through_api(db, admin, "token.revoke", token_id=admin.answer["token_id"])["found"]
    with refused(db, "LM301"):
        through_api(db, admin, "token.list")


def test_a_revocation_is_audited_with_its_actor(db: Connection, mint: Mint) -> None:
    admin, token = mint(role="admin"), mint()
    through_api(db, admin, "token.revoke", token_id=token.answer["token_id"])
    actor = f"token:{admin.answer['token_id']}"
    audited = db.execute(
        "select org, actor, subject from loom.audit where action = 'token.revoke'"
    ).fetchall()
    assert audited == [("acme", actor, {"token_id": token.answer["token_id"]})]
    rows = db.execute("select revoked_by from loom.token where revoked_at is not null").fetchall()
    assert rows == [(actor,)]


@pytest.mark.parametrize("role", ["viewer", "writer"])
def test_revoking_takes_an_admin(services: Connection, mint: Mint, role: str) -> None:
    token = mint(role=role)
    with refused(services, "LM302") as refusal:
        through_api(services, token, "token.revoke", token_id=token.answer["token_id"])
    assert refusal.detail == {"reason": "role", "needed": "admin"}
    with refused(services, "42501"):
        as_service(
            services,
            f"loom_test_{role}",
            "token.revoke",
            org="acme",
            token_id=token.answer["token_id"],
        )

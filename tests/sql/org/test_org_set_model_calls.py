"""org.set_model_calls: an org's admin switches calls to a model off and on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import psycopg
import pytest

from tests.calls import Token, operate, refused
from tests.databases import Clock
from tests.sql.doors import as_service, through_api
from tests.sql.facts import NOON, audited

Connection = psycopg.Connection[Any]
Mint = Callable[..., Token]


def stored(db: Connection) -> list[tuple[Any, ...]]:
    return db.execute(
        "select org, model_calls, updated_by from loom.org_setting order by org"
    ).fetchall()


def test_the_switch_is_answered_and_kept(db: Connection, clock: Clock, mint: Mint) -> None:
    clock.set(NOON)
    token = mint(role="admin")
    for enabled in (False, True, True):
        clock.advance(seconds=1)
        answer = through_api(db, token, "org.set_model_calls", enabled=enabled)
        assert answer == {"org": "acme", "model_calls": enabled}
        assert stored(db) == [("acme", enabled, f"token:{token.answer['token_id']}")]
    subjects = [{"enabled": False}, {"enabled": True}, {"enabled": True}]
    assert audited(db, "org.set_model_calls") == subjects


def test_each_org_has_its_own_switch(db: Connection) -> None:
    operate(db, "org.set_model_calls", org="acme", enabled=False)
    operate(db, "org.set_model_calls", org="else", enabled=True)
    assert [row[:2] for row in stored(db)] == [("acme", False), ("else", True)]


@pytest.mark.parametrize("enabled", [None, "false", 0, 1, "", [], {}])
def test_it_must_be_told_which_way(db: Connection, enabled: Any) -> None:
    with refused(db, "LM001") as refusal:
        operate(db, "org.set_model_calls", org="acme", enabled=enabled)
    assert refusal.detail["field"] == "enabled"
    assert stored(db) == []


@pytest.mark.parametrize("role", ["viewer", "writer"])
def test_it_takes_an_admin(services: Connection, mint: Mint, role: str) -> None:
    with refused(services, "LM302") as refusal:
        through_api(services, mint(role=role), "org.set_model_calls", enabled=False)
    assert refusal.detail == {"reason": "role", "needed": "admin"}
    with refused(services, "42501"):
        as_service(services, f"loom_test_{role}", "org.set_model_calls", org="acme", enabled=False)


def test_an_admin_of_one_namespace_does_not_switch_the_org(db: Connection, mint: Mint) -> None:
    with refused(db, "LM302") as refusal:
        through_api(db, mint(role="admin", namespace="main"), "org.set_model_calls", enabled=False)
    assert refusal.detail == {"reason": "the token is bound to a namespace"}


def test_an_admin_of_another_org_does_not_reach_it(db: Connection, mint: Mint) -> None:
    with refused(db, "LM302"):
        through_api(
            db, mint(role="admin", org="else"), "org.set_model_calls", org="acme", enabled=1
        )

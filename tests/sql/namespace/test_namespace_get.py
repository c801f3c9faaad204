"""namespace.get: one namespace with its ids and defaults."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import psycopg
import pytest

from tests.calls import Token, operate, refused
from tests.databases import Clock
from tests.sql.doors import as_service, through_api, wm

Connection = psycopg.Connection[Any]
Mint = Callable[..., Token]


def test_a_namespace_is_answered_whole(db: Connection, clock: Clock) -> None:
    clock.set(datetime(2026, 3, 1, 12, 0, tzinfo=UTC))
    wm(db, "set", content="x")
    got = operate(db, "namespace.get", org="acme", namespace="main")
    assert UUID(got.pop("org_id")) != UUID(got.pop("namespace_id"))
    assert got == {
        "found": True,
        "org": "acme",
        "namespace": "main",
        "night_weaving": None,
        "quiet_minutes": None,
        "weaver_model": None,
        "text_search_language": "simple",
        "created_at": "2026-03-01T12:00:00.000000Z",
        "updated_at": "2026-03-01T12:00:00.000000Z",
    }


def test_ids_are_the_namespaces_own_and_stay(db: Connection) -> None:
    for org, namespace in (("acme", "a"), ("acme", "b"), ("other", "a")):
        wm(db, "set", org=org, namespace=namespace, content="x")
    first = operate(db, "namespace.get", org="acme", namespace="a")
    assert operate(db, "namespace.get", org="acme", namespace="a") == first
    second = operate(db, "namespace.get", org="acme", namespace="b")
    third = operate(db, "namespace.get", org="other", namespace="a")
    assert second["org_id"] == first["org_id"] != third["org_id"]
    assert len({got["namespace_id"] for got in (first, second, third)}) == 3


def test_a_namespace_without_a_write_is_not_found(db: Connection) -> None:
    missing = {"found": False, "org": "acme", "namespace": "main"}
    assert operate(db, "namespace.get", org="acme", namespace="main") == missing


def test_a_bound_tokens_namespace_is_its_default_and_its_limit(db: Connection, mint: Mint) -> None:
    wm(db, "set", content="x")
    token = mint(role="viewer", namespace="main")
    assert through_api(db, token, "namespace.get")["found"] is True
    with refused(db, "LM302") as refusal:
        through_api(db, token, "namespace.get", namespace="other")
    assert refusal.detail == {"reason": "namespace is not the token's"}


@pytest.mark.parametrize("login", ["loom_test_viewer", "loom_test_writer", "loom_test_admin"])
def test_every_role_reads(services: Connection, login: str) -> None:
    wm(services, "set", content="x")
    assert as_service(services, login, "namespace.get", org="acme", namespace="main")["found"]

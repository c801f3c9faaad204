"""profile_schema.clear: the schema is gone, the revision goes on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import psycopg
import pytest

from tests.calls import Answer, Token, operate, refused
from tests.sql.doors import as_service, through_api
from tests.sql.facts import audited
from tests.sql.profile_schemas import EXAMPLE

Connection = psycopg.Connection[Any]
Mint = Callable[..., Token]

PLACE: Answer = {"org": "acme", "namespace": "main"}


def clear(db: Connection, **place: Any) -> Answer:
    return operate(db, "profile_schema.clear", **{**PLACE, **place})


def stored(db: Connection) -> list[Any]:
    return db.execute(
        "select namespace, json_schema, schema_sha256 is null, schema_rev, attempts, wait_until"
        " from loom.profile_schema order by namespace"
    ).fetchall()


def test_it_is_cleared_once(db: Connection) -> None:
    operate(db, "profile_schema.set", **PLACE, json_schema=EXAMPLE)
    db.execute("update loom.profile_schema set attempts = 3, wait_until = now()")
    assert clear(db) == {"cleared": True}
    assert stored(db) == [("main", None, True, 2, 0, None)]
    assert clear(db) == {"cleared": False}
    assert stored(db) == [("main", None, True, 2, 0, None)]


def test_where_none_was_there_is_none_to_clear(db: Connection) -> None:
    assert clear(db) == {"cleared": False}
    assert stored(db) == []
    assert audited(db, "profile_schema.clear") == []


def test_that_of_another_namespace_stays(db: Connection) -> None:
    for namespace in ("main", "other"):
        operate(db, "profile_schema.set", org="acme", namespace=namespace, json_schema=EXAMPLE)
    clear(db, namespace="other")
    assert operate(db, "profile_schema.get", **PLACE)["found"] is True


def test_it_is_audited_when_something_was_cleared(db: Connection) -> None:
    operate(db, "profile_schema.set", **PLACE, json_schema=EXAMPLE)
    clear(db)
    clear(db)
    assert audited(db, "profile_schema.clear") == [{"namespace": "main"}]


@pytest.mark.parametrize("role", ["viewer", "writer"])
def test_it_takes_an_admin(services: Connection, mint: Mint, role: str) -> None:
    with refused(services, "LM302") as refusal:
        through_api(services, mint(role=role), "profile_schema.clear", namespace="main")
    assert refusal.detail == {"reason": "role", "needed": "admin"}
    with refused(services, "42501"):
        as_service(services, f"loom_test_{role}", "profile_schema.clear", **PLACE)

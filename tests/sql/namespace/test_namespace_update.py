"""namespace.update: defaults of a namespace, by an admin."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import psycopg
import pytest

from tests.calls import Token, operate, refused
from tests.databases import Clock
from tests.sql.doors import as_service, through_api, wm
from tests.sql.texts import exactly

Connection = psycopg.Connection[Any]
Mint = Callable[..., Token]

PLACE = {"org": "acme", "namespace": "main"}
DEFAULTS = {
    "night_weaving": True,
    "quiet_minutes": 30,
    "weaver_model": "small",
    "text_search_language": "german",
}


def test_defaults_are_set_and_answered(db: Connection, clock: Clock) -> None:
    clock.set(datetime(2026, 3, 1, 12, 0, tzinfo=UTC))
    wm(db, "set", content="x")
    clock.advance(seconds=1)
    answer = operate(db, "namespace.update", **PLACE, **DEFAULTS)
    assert {name: answer[name] for name in DEFAULTS} == DEFAULTS
    assert answer["created_at"] == "2026-03-01T12:00:00.000000Z"
    assert answer["updated_at"] == "2026-03-01T12:00:01.000000Z"
    assert operate(db, "namespace.get", **PLACE) == answer


@pytest.mark.parametrize("changed", DEFAULTS)
def test_o9_fields_left_out_or_null_keep_their_values(db: Connection, changed: str) -> None:
    operate(db, "namespace.update", **PLACE, **DEFAULTS)
    others = {
        "night_weaving": False,
        "quiet_minutes": 0,
        "weaver_model": "",
        "text_search_language": "simple",
    }
    request: dict[str, Any] = {**dict.fromkeys(DEFAULTS), changed: others[changed]}
    answer = operate(db, "namespace.update", **PLACE, **request)
    assert {name: answer[name] for name in DEFAULTS} == {**DEFAULTS, changed: others[changed]}
    assert operate(db, "namespace.update", **PLACE)["quiet_minutes"] == answer["quiet_minutes"]


def test_an_update_makes_a_new_namespace(db: Connection) -> None:
    assert operate(db, "namespace.update", **PLACE, quiet_minutes=1)["found"] is True
    assert operate(db, "namespace.get", **PLACE)["quiet_minutes"] == 1


@pytest.mark.parametrize("minutes", [0, 1440])
def test_quiet_minutes_at_the_ends_of_their_range_are_taken(db: Connection, minutes: int) -> None:
    assert (
        operate(db, "namespace.update", **PLACE, quiet_minutes=minutes)["quiet_minutes"] == minutes
    )


def test_a_models_name_has_at_most_two_hundred_characters(db: Connection) -> None:
    operate(db, "namespace.update", **PLACE, weaver_model=exactly(200, "😀"))
    with refused(db, "LM406") as refusal:
        operate(db, "namespace.update", **PLACE, weaver_model=exactly(201, "😀"))
    assert refusal.detail == {"what": "weaver_model", "limit": 200, "value": 201}


def test_an_unknown_language_is_refused(db: Connection) -> None:
    with refused(db, "LM001") as refusal:
        operate(db, "namespace.update", **PLACE, text_search_language="Klingon")
    assert refusal.detail["field"] == "text_search_language"


@pytest.mark.parametrize("role", ["viewer", "writer"])
def test_updating_takes_an_admin(services: Connection, mint: Mint, role: str) -> None:
    with refused(services, "LM302") as refusal:
        through_api(services, mint(role=role, namespace="main"), "namespace.update")
    assert refusal.detail == {"reason": "role", "needed": "admin"}
    with refused(services, "42501"):
        as_service(services, f"loom_test_{role}", "namespace.update", **PLACE)


def test_an_admin_of_a_namespace_updates_its_own_only(db: Connection, mint: Mint) -> None:
    token = mint(role="admin", namespace="main")
    assert through_api(db, token, "namespace.update", quiet_minutes=3)["quiet_minutes"] == 3
    with refused(db, "LM302"):
        through_api(db, token, "namespace.update", namespace="other", quiet_minutes=3)
    with refused(db, "LM302"):
        through_api(db, token, "namespace.update", org="other", quiet_minutes=3)
    assert operate(db, "namespace.list", org="acme")["items"][0]["namespace"] == "main"

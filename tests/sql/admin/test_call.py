"""loom.call: the API's one statement."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import psycopg
import pytest
from psycopg.types.json import Jsonb

from loom.sql_tree import SqlTree
from tests.calls import Token, acting_as, refused
from tests.sql.doors import through_api

Connection = psycopg.Connection[Any]
Mint = Callable[..., Token]

UNKNOWN = [
    "",
    "working_memory",
    "working_memory_get",
    "working_memory.get ",
    "Working_memory.get",
    "working_memory.forget",
    "call",
    "health",
    "_enter",
    "housekeeping",
    "batch; drop table loom.token",
    "😀",
    "x" * 10_000,
]


@pytest.mark.parametrize("op", UNKNOWN, ids=lambda op: ascii(op[:30]))
def test_an_unknown_operation_is_refused(db: Connection, mint: Mint, op: str) -> None:
    with refused(db, "LM004") as refusal:
        through_api(db, mint(role="admin"), op)
    assert refusal.detail == {}
    assert refusal.hint
    with refused(db, "LM004"):
        through_api(db, mint(role="admin"), op, key="k")


def test_the_token_is_judged_before_the_operation_is_looked_for(db: Connection) -> None:
    with refused(db, "LM301"):
        through_api(db, None, "no.such")


def test_a_request_that_is_no_object_is_refused(db: Connection, mint: Mint) -> None:
    token = mint(role="admin", namespace="main")
    for request in ("[]", "1", "null", '"x"', '[{"_caller": {}}]'):
        with refused(db, "LM001") as refusal, acting_as(db, "loom_gateway"):
            db.execute(
                "select loom.call(%s, %s, 'working_memory.get', %s::jsonb)",
                (token.org_id, token.secret_sha256, request),
            )
        assert refusal.detail == {"field": None, "reason": "must be a JSON object"}
    with refused(db, "LM001"), acting_as(db, "loom_gateway"):
        db.execute(
            "select loom.call(%s, %s, 'working_memory.get', null)",
            (token.org_id, token.secret_sha256),
        )


@pytest.mark.parametrize("op", ["working_memory.get", "token.list", "batch", "no.such"])
def test_a_client_cannot_speak_for_the_caller(db: Connection, mint: Mint, op: str) -> None:
    token = mint(role="viewer", namespace="main", read_user_id="u1")
    forged = {"actor": "open", "role": "admin", "org": "other", "default_org": "other"}
    for value in (forged, None, {}, "x"):
        with refused(db, "LM001") as refusal:
            through_api(db, token, op, _caller=value)
        assert refusal.detail == {
            "field": "_caller",
            "reason": "is not a field of this operation",
        }


def test_a_client_cannot_speak_for_the_caller_from_within_a_batch(
    db: Connection, mint: Mint
) -> None:
    token = mint(role="viewer", namespace="main")
    item = {"op": "token.list", "_caller": {"actor": "open", "role": "admin"}}
    with refused(db, "LM001") as refusal:
        through_api(db, token, "batch", requests=[item])
    assert refusal.detail == {"field": "_caller", "reason": "is not a field of this operation"}


def test_a_key_is_of_no_account_to_a_read(db: Connection, mint: Mint) -> None:
    token = mint(role="viewer", namespace="main")
    through_api(db, token, "working_memory.get", key="k")
    through_api(db, token, "working_memory.get", key="x" * 1000)
    assert db.execute("select from loom.idempotency").fetchall() == []


@pytest.mark.parametrize(
    "login",
    [
        *("loom_test_viewer", "loom_test_writer", "loom_test_admin", "loom_test_operator"),
        "loom_worker",
    ],
)
def test_nobody_but_the_gateway_calls_it(services: Connection, mint: Mint, login: str) -> None:
    token = mint(namespace="main")
    with refused(services, "42501"), acting_as(services, login):
        services.execute(
            "select loom.call(%s, %s, 'working_memory.get', %s)",
            (token.org_id, token.secret_sha256, Jsonb({})),
        )


def test_the_gateway_calls_nothing_but_it_and_what_tells_how_things_stand(db: Connection) -> None:
    allowed = db.execute(
        "select proname from pg_proc where pronamespace = 'loom'::regnamespace"
        " and has_function_privilege('loom_gateway', oid, 'execute') order by proname"
    ).fetchall()
    assert allowed == [("call",), ("health",), ("work_metrics",)]


def test_a_member_of_the_gateway_is_not_the_gateway(db: Connection, mint: Mint) -> None:
    token = mint(namespace="main")
    db.execute("create role loom_test_copy login")
    db.execute("grant loom_gateway to loom_test_copy")
    with refused(db, "LM001") as refusal, acting_as(db, "loom_test_copy"):
        db.execute(
            "select loom.call(%s, %s, 'working_memory.get', '{}')",
            (token.org_id, token.secret_sha256),
        )
    assert refusal.detail["field"] == "_caller"


def test_what_is_called_by_name_is_the_function_of_its_operation(db: Connection) -> None:
    (script,) = (each for each in SqlTree.read().functions if each.name == "_run")
    named = re.findall(r"when '([\w.]+)' then v_answer := loom\.(\w+)\(p_request\);", script.text)
    assert len(named) == script.text.count("then v_answer := loom.") > 3
    functions = dict(db.execute("select op, function_name from loom.operation").fetchall())
    assert dict(named).items() <= functions.items()

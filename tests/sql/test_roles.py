"""What each database role may execute: operations up to its rank, and nothing else of Loom's."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

import psycopg
import pytest

from loom.types import OPERATIONS
from tests.calls import acting_as, operate, refused
from tests.sql.doors import as_service, wm
from tests.sql.requests import VALID, woven

Connection = psycopg.Connection[Any]

RANKS = ("viewer", "writer", "admin")
CLIENTS = ("loom_gateway", "loom_worker", "loom_operator", *(f"loom_{role}" for role in RANKS))


def executable(db: Connection, role: str) -> set[str]:
    """The functions of Loom that a role may execute."""
    rows = db.execute(
        "select proname from pg_proc where pronamespace = 'loom'::regnamespace"
        " and has_function_privilege(%s, oid, 'execute')",
        (role,),
    ).fetchall()
    return {name for (name,) in rows}


@pytest.mark.parametrize("role", RANKS)
def test_a_service_executes_the_operations_up_to_its_rank_and_nothing_else(
    db: Connection, role: str
) -> None:
    rows = db.execute(
        "select function_name from loom.operation where role = any (%s)",
        (list(RANKS[: RANKS.index(role) + 1]),),
    ).fetchall()
    assert executable(db, f"loom_{role}") == {"execute"} | {name for (name,) in rows}


@pytest.mark.parametrize("role", ["loom_gateway", "loom_worker", "loom_operator", "public"])
def test_other_roles_execute_no_operation(db: Connection, role: str) -> None:
    rows = db.execute("select function_name from loom.operation").fetchall()
    assert executable(db, role) & {name for (name,) in rows} == set()


@pytest.mark.parametrize("role", [*CLIENTS, "public"])
def test_nobody_executes_what_is_internal(db: Connection, role: str) -> None:
    assert [name for name in executable(db, role) if name.startswith("_")] == []


def test_only_the_gateway_calls_and_only_services_execute(db: Connection) -> None:
    assert [role for role in CLIENTS if "call" in executable(db, role)] == ["loom_gateway"]
    services = [role for role in CLIENTS if "execute" in executable(db, role)]
    assert services == [f"loom_{role}" for role in RANKS]


@pytest.mark.parametrize(
    "function", ["open_mode_set", "open_mode_clear", "service_bind", "service_unbind"]
)
def test_what_an_operator_decides_is_no_clients(db: Connection, function: str) -> None:
    assert [role for role in CLIENTS if function in executable(db, role)] == []


def prepare(conn: Connection) -> None:
    """Writes what the requests of VALID act on."""
    place = {"org": "acme", "namespace": "main"}
    wm(conn, "set", agent=None, content="old", block_key="live")
    operate(conn, "memory.set", **place, memory_key="fact", value="old")
    operate(conn, "profile.set", **place, label="persona", value="old")
    woven(conn)


# Whom an erasure lets through is not a matter of rank: tests/sql/erasure.
# The database asks no model, so to whom memory.ask is open gets LM501.
@pytest.mark.parametrize("op", [op for op in VALID if op != "erasure.request"])
@pytest.mark.parametrize("role", RANKS)
def test_an_operation_is_open_to_its_rank_and_those_above(
    services: Connection, role: str, op: str
) -> None:
    prepare(services)
    if RANKS.index(role) >= RANKS.index(OPERATIONS[op].role):
        with refused(services, "LM501") if op == "memory.ask" else nullcontext():
            as_service(services, f"loom_test_{role}", op, **VALID[op])
        return
    with refused(services, "42501"):
        as_service(services, f"loom_test_{role}", op, **VALID[op])


@pytest.mark.parametrize("op", VALID)
def test_an_operator_that_is_no_superuser_runs_every_operation(db: Connection, op: str) -> None:
    db.execute("create role loom_test_migrator login")
    db.execute("grant loom_owner to loom_test_migrator")
    prepare(db)
    unasked = refused(db, "LM501") if op == "memory.ask" else nullcontext()
    with acting_as(db, "loom_test_migrator"), unasked:
        operate(db, op, **VALID[op])


def test_an_operator_is_admin_of_any_org_and_makes_new_ones(db: Connection) -> None:
    db.execute("create role loom_test_migrator login")
    db.execute("grant loom_owner to loom_test_migrator")
    with acting_as(db, "loom_test_migrator"):
        minted = operate(db, "token.mint", org="brand new", role="admin")
        receipt = operate(
            db, "working_memory.set", org="newer", namespace="n", content="x", read_only=True
        )
    assert minted["created_by"] == "operator:loom_test_migrator"
    assert receipt["org"] == "newer"


def test_an_operator_without_inherited_rights_is_still_no_client(db: Connection) -> None:
    # Members of the client groups are told by their groups, whatever else the cluster gave them.
    db.execute("create role loom_test_bystander login createrole createdb")
    for op in VALID:
        with refused(db, "42501"), acting_as(db, "loom_test_bystander"):
            operate(db, op, **VALID[op])

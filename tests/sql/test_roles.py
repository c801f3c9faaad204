"""What each database role may execute: operations up to its rank, and nothing else of Loom's."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest

from tests.calls import acting_as, operate, refused
from tests.sql.doors import as_service, wm
from tests.sql.requests import VALID
from tests.sql.test_request_shape import ROLES

Connection = psycopg.Connection[Any]

RANKS = ("viewer", "writer", "admin")
ALLOWED = {
    "loom_gateway": {"call", "health"},
    "loom_worker": {"health", "housekeeping", "worker_beat", "worker_gone"},
    "loom_operator": {"health"},
    **{
        f"loom_{role}": {"execute"}
        | {op.replace(".", "_") for lower in RANKS[: rank + 1] for op in ROLES[lower].split()}
        for rank, role in enumerate(RANKS)
    },
}


@pytest.mark.parametrize("role", ALLOWED)
def test_a_role_executes_just_these_functions(db: Connection, role: str) -> None:
    rows = db.execute(
        "select proname from pg_proc where pronamespace = 'loom'::regnamespace"
        " and has_function_privilege(%s, oid, 'execute')",
        (role,),
    ).fetchall()
    assert {name for (name,) in rows} == ALLOWED[role]


@pytest.mark.parametrize("op", VALID)
@pytest.mark.parametrize("role", RANKS)
def test_an_operation_is_open_to_its_rank_and_those_above(
    services: Connection, role: str, op: str
) -> None:
    wm(services, "set", agent=None, content="old", block_key="live")
    needed = next(rank for rank in RANKS if op in ROLES[rank].split())
    if RANKS.index(role) >= RANKS.index(needed):
        as_service(services, f"loom_test_{role}", op, **VALID[op])
        return
    with refused(services, "42501"):
        as_service(services, f"loom_test_{role}", op, **VALID[op])


@pytest.mark.parametrize("op", VALID)
def test_an_operator_that_is_no_superuser_runs_every_operation(db: Connection, op: str) -> None:
    db.execute("create role loom_test_migrator login")
    db.execute("grant loom_owner to loom_test_migrator")
    wm(db, "set", agent=None, content="old", block_key="live")
    with acting_as(db, "loom_test_migrator"):
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

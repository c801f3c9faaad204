"""loom.execute: how a trusted service runs an operation by its wire name."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest

from tests.calls import acting_as, refused
from tests.sql.doors import as_service, execute, wm
from tests.sql.texts import sha256

Connection = psycopg.Connection[Any]

PLACE = {"org": "acme", "namespace": "main"}


def test_the_answer_is_that_of_the_operation(services: Connection) -> None:
    with acting_as(services, "loom_test_writer"):
        receipt = execute(services, "working_memory.set", **PLACE, content="x")
        got = execute(services, "working_memory.get", **PLACE)
    assert receipt["content_sha256"] == sha256("x")
    assert got == as_service(services, "loom_test_viewer", "working_memory.get", **PLACE)


@pytest.mark.parametrize("op", ["", "working_memory_get", "no.such", "_run", "execute"])
def test_an_unknown_operation_is_refused(services: Connection, op: str) -> None:
    for key in (None, "k"):
        with refused(services, "LM004"), acting_as(services, "loom_test_admin"):
            execute(services, op, key=key, **PLACE)


def test_no_operation_at_all_is_refused_as_unknown(db: Connection) -> None:
    with refused(db, "LM004"):
        db.execute("select loom.execute(null, '{}', null)")


@pytest.mark.parametrize(
    ("login", "op", "fields", "needed"),
    [
        ("loom_test_viewer", "working_memory.set", {"content": "x"}, "writer"),
        ("loom_test_viewer", "working_memory.append", {"addition": "x"}, "writer"),
        ("loom_test_viewer", "working_memory.replace", {"old": "x", "new": ""}, "writer"),
        ("loom_test_viewer", "working_memory.delete", {}, "writer"),
        ("loom_test_viewer", "namespace.update", {}, "admin"),
        ("loom_test_writer", "namespace.update", {}, "admin"),
    ],
)
def test_an_operation_above_the_services_role_is_refused(
    services: Connection, login: str, op: str, fields: dict[str, str], needed: str
) -> None:
    for key in (None, "k"):
        with refused(services, "LM302") as refusal, acting_as(services, login):
            execute(services, op, key=key, **PLACE, **fields)
        assert refusal.detail == {"reason": "role", "needed": needed}


def test_a_writer_does_what_a_viewer_does_and_an_admin_both(services: Connection) -> None:
    for login in ("loom_test_writer", "loom_test_admin"):
        with acting_as(services, login):
            execute(services, "working_memory.set", **PLACE, content=login)
            assert execute(services, "working_memory.get", **PLACE)["content"] == login


def test_a_service_works_inside_its_own_transaction(services: Connection) -> None:
    with acting_as(services, "loom_test_writer"):
        with services.transaction(force_rollback=True):
            execute(services, "working_memory.set", **PLACE, content="never")
        with services.transaction():
            execute(services, "working_memory.set", **PLACE, content="kept")
    got = wm(services, "get", agent=None)
    assert (got["content"], got["version"]) == ("kept", 1)


@pytest.mark.parametrize("login", ["loom_gateway", "loom_worker", "loom_test_operator"])
def test_others_cannot_call_it(services: Connection, login: str) -> None:
    with refused(services, "42501"), acting_as(services, login):
        execute(services, "working_memory.get", **PLACE)

"""loom.service_unbind: takes a binding back."""

from __future__ import annotations

from typing import Any

import psycopg

from tests.calls import refused
from tests.sql.doors import as_service

Connection = psycopg.Connection[Any]


def unbind(db: Connection, login: str, org: str | None) -> Any:
    row = db.execute("select loom.service_unbind(%s, %s)", (login, org)).fetchone()
    assert row is not None
    return row[0]


def test_the_login_reaches_the_org_no_more(services: Connection) -> None:
    request = {"org": "acme", "namespace": "main"}
    as_service(services, "loom_test_viewer", "working_memory.get", **request)
    assert unbind(services, "loom_test_viewer", "acme") is True
    with refused(services, "LM302"):
        as_service(services, "loom_test_viewer", "working_memory.get", **request)
    as_service(services, "loom_test_writer", "working_memory.get", **request)


def test_one_org_is_taken_back_and_the_others_stay(services: Connection) -> None:
    services.execute("select loom.service_bind('loom_test_viewer', '*')")
    assert unbind(services, "loom_test_viewer", "acme") is True
    request = {"org": "acme", "namespace": "main"}
    as_service(services, "loom_test_viewer", "working_memory.get", **request)
    assert unbind(services, "loom_test_viewer", "*") is True
    with refused(services, "LM302"):
        as_service(services, "loom_test_viewer", "working_memory.get", **request)


def test_what_is_not_bound_is_not_found(db: Connection) -> None:
    assert unbind(db, "loom_test_viewer", "acme") is False
    assert unbind(db, "loom_test_viewer", None) is False
    assert unbind(db, "nobody", "acme") is False
    assert db.execute("select from loom.audit").fetchall() == []


def test_a_dropped_roles_binding_can_be_taken_back_by_name(db: Connection) -> None:
    db.execute("create role loom_test_gone login")
    db.execute("select loom.service_bind('loom_test_gone', 'acme')")
    db.execute("drop role loom_test_gone")
    assert unbind(db, "loom_test_gone", "acme") is True
    assert db.execute("select from loom.service_binding").fetchall() == []


def test_it_is_audited(services: Connection) -> None:
    unbind(services, "loom_test_viewer", "acme")
    rows = services.execute(
        "select org, subject from loom.audit where action = 'service.unbind'"
    ).fetchall()
    assert rows == [("acme", {"role": "loom_test_viewer"})]

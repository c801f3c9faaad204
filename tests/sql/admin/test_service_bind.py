"""loom.service_bind: which database logins may call operations, and for which orgs."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest
from psycopg import sql

from tests.calls import Answer, acting_as, operate, refused
from tests.sql.doors import as_service, wm
from tests.sql.texts import exactly

Connection = psycopg.Connection[Any]

UNBOUND = {"reason": "database role not bound to the org"}


def bind(db: Connection, login: str, org: str | None) -> None:
    db.execute("select loom.service_bind(%s, %s)", (login, org))


def get(db: Connection, login: str, org: str = "acme") -> Answer:
    return as_service(db, login, "working_memory.get", org=org, namespace="main")


def make_login(db: Connection, name: str, *groups: str) -> None:
    """A new login, a member of loom_writer or of the groups named."""
    db.execute(sql.SQL("create role {} login").format(sql.Identifier(name)))
    for group in groups or ("loom_writer",):
        statement = sql.SQL("grant {} to {}")
        db.execute(statement.format(sql.Identifier(group), sql.Identifier(name)))


@pytest.mark.parametrize("login", ["loom_test_viewer", "loom_test_writer", "loom_test_admin"])
def test_an_unbound_login_reaches_no_org(db: Connection, login: str) -> None:
    wm(db, "set", agent=None, content="x")
    with refused(db, "LM302") as refusal:
        get(db, login)
    assert refusal.detail == UNBOUND


def test_a_bound_login_reaches_its_org_and_no_other(db: Connection) -> None:
    for org in ("acme", "other", "acme2"):
        wm(db, "set", org=org, agent=None, content=org)
    bind(db, "loom_test_viewer", "acme")
    assert get(db, "loom_test_viewer")["content"] == "acme"
    for org in ("other", "acme2", "ACME", "**", "nobody's"):
        with refused(db, "LM302") as refusal:
            get(db, "loom_test_viewer", org)
        assert refusal.detail == UNBOUND
    with refused(db, "LM302"):
        get(db, "loom_test_writer")


def test_a_login_may_be_bound_to_several_orgs(db: Connection) -> None:
    for org in ("acme", "other"):
        wm(db, "set", org=org, agent=None, content=org)
        bind(db, "loom_test_viewer", org)
    for org in ("acme", "other"):
        assert get(db, "loom_test_viewer", org)["content"] == org


def test_a_star_binds_to_every_org(db: Connection) -> None:
    bind(db, "loom_test_writer", "*")
    wm(db, "set", org="acme", agent=None, content="acme")
    assert get(db, "loom_test_writer")["content"] == "acme"
    write: Answer = {"org": "newcomer", "namespace": "main", "content": "x"}
    receipt = as_service(db, "loom_test_writer", "working_memory.set", **write)
    assert receipt["org"] == "newcomer"


def test_binding_again_changes_nothing(db: Connection) -> None:
    bind(db, "loom_test_viewer", "acme")
    bind(db, "loom_test_viewer", "acme")
    assert db.execute("select count(*) from loom.service_binding").fetchone() == (1,)
    get(db, "loom_test_viewer")


def test_binding_makes_a_new_org_but_not_the_star(db: Connection) -> None:
    bind(db, "loom_test_viewer", "acme")
    bind(db, "loom_test_viewer", "*")
    assert db.execute("select name from loom.org").fetchall() == [("acme",)]


def test_a_role_dropped_and_made_again_is_another_role(db: Connection) -> None:
    make_login(db, "loom_test_reborn")
    bind(db, "loom_test_reborn", "acme")
    get(db, "loom_test_reborn")
    db.execute("drop role loom_test_reborn")
    make_login(db, "loom_test_reborn")
    with refused(db, "LM302") as refusal:
        get(db, "loom_test_reborn")
    assert refusal.detail == UNBOUND
    bind(db, "loom_test_reborn", "acme")
    get(db, "loom_test_reborn")


def test_a_role_with_another_name_is_another_role(db: Connection) -> None:
    make_login(db, "loom_test_before")
    bind(db, "loom_test_before", "acme")
    db.execute("alter role loom_test_before rename to loom_test_after")
    with refused(db, "LM302"):
        get(db, "loom_test_after")
    bind(db, "loom_test_after", "acme")
    get(db, "loom_test_after")
    assert db.execute("select role_name from loom.service_binding").fetchall() == [
        ("loom_test_after",)
    ]


def test_a_binding_gives_no_role(db: Connection) -> None:
    db.execute("create role loom_test_plain login")
    bind(db, "loom_test_plain", "acme")
    with refused(db, "42501"):
        get(db, "loom_test_plain")


@pytest.mark.parametrize("group", ["loom_operator", "loom_worker", "loom_gateway"])
def test_other_groups_call_no_operation(db: Connection, group: str) -> None:
    make_login(db, "loom_test_odd", group)
    bind(db, "loom_test_odd", "acme")
    with refused(db, "42501"):
        get(db, "loom_test_odd")


def test_the_highest_of_several_roles_counts(db: Connection) -> None:
    make_login(db, "loom_test_both", "loom_viewer", "loom_admin")
    bind(db, "loom_test_both", "acme")
    answer = as_service(db, "loom_test_both", "token.mint", org="acme", role="viewer")
    assert answer["created_by"] == "service:loom_test_both"


def test_a_role_taken_away_is_gone_at_once(db: Connection) -> None:
    make_login(db, "loom_test_once")
    bind(db, "loom_test_once", "acme")
    write: Answer = {"org": "acme", "namespace": "main", "content": "x"}
    as_service(db, "loom_test_once", "working_memory.set", **write)
    db.execute("revoke loom_writer from loom_test_once")
    db.execute("grant loom_viewer to loom_test_once")
    with refused(db, "42501"):
        as_service(db, "loom_test_once", "working_memory.set", **write)
    get(db, "loom_test_once")


def test_the_session_user_is_judged_whatever_role_is_set(db: Connection) -> None:
    make_login(db, "loom_test_writer2")
    db.execute("grant loom_test_writer to loom_test_writer2")
    bind(db, "loom_test_writer", "acme")
    for role in ("loom_test_writer", "loom_writer"):
        with refused(db, "LM302"), acting_as(db, "loom_test_writer2"):
            db.execute(sql.SQL("set local role {}").format(sql.Identifier(role)))
            operate(db, "working_memory.get", org="acme", namespace="main")


def test_a_binding_is_audited_in_its_org(db: Connection) -> None:
    bind(db, "loom_test_viewer", "acme")
    bind(db, "loom_test_writer", "*")
    rows = db.execute("select org, action, subject, actor from loom.audit order by org").fetchall()
    assert [row[:3] for row in rows] == [
        ("*", "service.bind", {"role": "loom_test_writer"}),
        ("acme", "service.bind", {"role": "loom_test_viewer"}),
    ]
    assert all(row[3].startswith("operator:") for row in rows)


def test_a_role_that_is_not_there_is_refused(db: Connection) -> None:
    with refused(db, "LM001") as refusal:
        bind(db, "loom_test_nowhere", "acme")
    assert refusal.detail["field"] == "p_role"
    with refused(db, "LM001"):
        db.execute("select loom.service_bind(null, 'acme')")
    assert db.execute("select from loom.org").fetchall() == []


@pytest.mark.parametrize("org", [None, "-"])
def test_an_org_must_be_named(db: Connection, org: str | None) -> None:
    with refused(db, "LM003") as refusal:
        bind(db, "loom_test_viewer", org)
    assert refusal.detail == {"field": "p_org"}


@pytest.mark.parametrize("org", ["", exactly(201), "😀" * 65])
def test_an_org_must_be_an_id(db: Connection, org: str) -> None:
    with refused(db, "LM406") as refusal:
        bind(db, "loom_test_viewer", org)
    assert refusal.detail["what"] == "p_org"


@pytest.mark.parametrize(
    "login",
    [
        *("loom_gateway", "loom_worker", "loom_test_viewer", "loom_test_writer"),
        *("loom_test_admin", "loom_test_operator"),
    ],
)
def test_no_client_binds(db: Connection, login: str) -> None:
    for statement in (
        b"select loom.service_bind('loom_test_viewer', '*')",
        b"select loom.service_unbind('loom_test_viewer', '*')",
    ):
        with refused(db, "42501"), acting_as(db, login):
            db.execute(statement)

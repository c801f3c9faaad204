"""Who is calling: judged by the login of the session, which no request and no SET can change."""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest
from psycopg import sql

from tests.calls import acting_as, call, mint_token, operate, refused
from tests.cluster import CLIENT_ROLES
from tests.databases import Database
from tests.tenancy.orgs import Connection, rows_by_org
from tests.tenancy.requests import FORGED, RANKS, SERVICES, execute, operations, request_of

UNKNOWN_FIELD = {"field": "_caller", "reason": "is not a field of this operation"}


@pytest.fixture
def acme(db: Connection) -> Connection:
    """Org acme with a block that says so, and the services bound to another org."""
    operate(db, "working_memory.set", org="acme", namespace="n", content="canary")
    for login in SERVICES:
        db.execute("select loom.service_bind(%s, 'other')", (login,))
    return db


@pytest.mark.parametrize("login", SERVICES)
@pytest.mark.parametrize("org", ["acme", "other"])
def test_a_service_cannot_say_who_it_is(acme: Connection, login: str, org: str) -> None:
    """`_caller` is the word of loom.call to the operations, and of nobody else."""
    allowed = [each for each in operations(acme) if RANKS[each[1]] <= SERVICES[login]]
    before = rows_by_org(acme)
    with acting_as(acme, login):
        for op, _role, identity in allowed:
            request = request_of(op, identity, org=org, _caller=FORGED)
            with refused(acme, "LM001") as refusal:
                operate(acme, op, **request)
            assert refusal.detail == UNKNOWN_FIELD
            for key in (None, "k"):
                with refused(acme, "LM001") as refusal:
                    execute(acme, op, request, key)
                assert refusal.detail == UNKNOWN_FIELD
        item = {"op": "working_memory.get", "namespace": "n", "_caller": FORGED}
        for atomic in (False, True):
            with refused(acme, "LM001"):
                execute(acme, "batch", {"org": "other", "requests": [item], "atomic": atomic}, "k")
            with refused(acme, "LM001"):
                operate(acme, "batch", org="other", requests=[item], atomic=atomic)
    assert rows_by_org(acme) == before


def test_a_client_of_the_api_cannot_say_who_it_is(acme: Connection) -> None:
    token = mint_token(acme, org="other", role="viewer", read_user_id="u")
    everything = operations(acme)
    with acting_as(acme, "loom_gateway"):
        for op, _role, identity in everything:
            request = request_of(op, identity, _caller=FORGED)
            for key in (None, "k"):
                with refused(acme, "LM001") as refusal:
                    call(acme, token, op, key=key, **request)
                assert refusal.detail == UNKNOWN_FIELD
        item = {"op": "working_memory.get", "namespace": "n", "_caller": FORGED}
        with refused(acme, "LM001"):
            call(acme, token, "batch", requests=[item])
        nested = {"op": "batch", "requests": [item]}
        result = call(acme, token, "batch", requests=[nested])["results"][0]
        assert result["status"] == 400


@pytest.mark.parametrize("request_", ["null", "[]", '"x"', "5", '[{"_caller": {}}]'])
def test_a_request_that_is_no_object_is_refused_before_anything_is_laid_over_it(
    acme: Connection, request_: str
) -> None:
    token = mint_token(acme, org="other")
    acme.execute("select loom.open_mode_set(60)")
    for org_id, secret in ((token.org_id, token.secret_sha256), (None, None)):
        with acting_as(acme, "loom_gateway"), refused(acme, "LM001"):
            acme.execute(
                "select loom.call(%s, %s, 'working_memory.get', %s::jsonb, null)",
                (org_id, secret, request_),
            )
    with acting_as(acme, "loom_gateway"), refused(acme, "LM001"):
        acme.execute("select loom.call(null, null, 'working_memory.get', null, null)")


def test_a_service_in_the_gateways_group_is_not_the_gateway(acme: Connection) -> None:
    """It may then execute loom.call; what that grants is for the gateway alone."""
    acme.execute("grant loom_gateway to loom_test_viewer")
    acme.execute("select loom.open_mode_set(60)")
    token = mint_token(acme, org="acme", role="admin")
    everything = operations(acme)
    before = rows_by_org(acme)
    with acting_as(acme, "loom_test_viewer"):
        for statement in (None, "set local role loom_gateway"):
            with acme.transaction(force_rollback=True):
                if statement is not None:
                    acme.execute(statement.encode())
                for op, _role, identity in everything:
                    for each in (None, token):
                        with pytest.raises(psycopg.Error) as caught, acme.transaction():
                            call(acme, each, op, **request_of(op, identity, org="acme"))
                        assert caught.value.sqlstate in {"LM001", "LM301", "LM302"}
    assert rows_by_org(acme) == before


@pytest.mark.parametrize("role", [*CLIENT_ROLES, "loom_api", "loom_owner", "loom_scheduler"])
def test_set_role_is_refused_or_changes_nothing(database: Database, role: str) -> None:
    conn = database.connect()
    operate(conn, "working_memory.set", org="acme", namespace="n", content="canary")
    service = database.connect("loom_test_viewer")
    target = sql.Identifier(role)
    if role == "loom_viewer":
        service.execute(sql.SQL("set role {}").format(target))
    else:
        with refused(service, "42501"):
            service.execute(sql.SQL("set role {}").format(target))
    with refused(service, "42501"):
        service.execute(sql.SQL("set session authorization {}").format(target))
    for statement in ("set role postgres", "set session authorization postgres"):
        with refused(service, "42501"):
            service.execute(statement.encode())
    with refused(service, "LM302"):
        operate(service, "working_memory.get", org="acme", namespace="n")


@pytest.fixture
def login(database: Database) -> Iterator[str]:
    """A login that is not there before and after: roles belong to the whole cluster."""
    conn = database.connect()
    conn.execute("create role loom_test_shortlived login in role loom_writer")
    yield "loom_test_shortlived"
    with database.cluster.connect(database.name) as last:
        last.execute("drop role if exists loom_test_shortlived")


def test_a_role_made_again_under_the_same_name_is_another(database: Database, login: str) -> None:
    conn = database.connect()
    conn.execute("select loom.service_bind(%s, 'acme')", (login,))
    with acting_as(conn, login):
        operate(conn, "working_memory.set", org="acme", namespace="n", content="x")
    conn.execute("drop role loom_test_shortlived")
    conn.execute("create role loom_test_shortlived login in role loom_writer")
    with acting_as(conn, login), refused(conn, "LM302"):
        operate(conn, "working_memory.get", org="acme", namespace="n")
    conn.execute("select loom.service_bind(%s, 'acme')", (login,))
    with acting_as(conn, login):
        assert operate(conn, "working_memory.get", org="acme", namespace="n")["content"] == "x"


def test_a_role_that_was_renamed_is_another(database: Database, login: str) -> None:
    conn = database.connect()
    conn.execute("select loom.service_bind(%s, 'acme')", (login,))
    conn.execute("alter role loom_test_shortlived rename to loom_test_renamed")
    try:
        with acting_as(conn, "loom_test_renamed"), refused(conn, "LM302"):
            operate(conn, "working_memory.get", org="acme", namespace="n")
    finally:
        conn.execute("alter role loom_test_renamed rename to loom_test_shortlived")


def test_a_binding_taken_back_ends_at_once(acme: Connection) -> None:
    acme.execute("select loom.service_bind('loom_test_writer', 'acme')")
    with acting_as(acme, "loom_test_writer"):
        operate(acme, "working_memory.get", org="acme", namespace="n")
    acme.execute("select loom.service_unbind('loom_test_writer', 'acme')")
    with acting_as(acme, "loom_test_writer"), refused(acme, "LM302"):
        operate(acme, "working_memory.get", org="acme", namespace="n")


@pytest.mark.parametrize("org", ["-", "*"])
def test_what_stands_for_no_org_or_every_org_is_no_name_of_one(acme: Connection, org: str) -> None:
    """A binding to `*` reaches every org, so there must be none of that name."""
    everything = operations(acme)
    acme.execute("select loom.service_bind('loom_test_admin', '*')")
    acme.execute("select loom.open_mode_set(60)")
    for op, _role, identity in everything:
        request = request_of(op, identity, org=org)
        with refused(acme, "LM003"):
            operate(acme, op, **request)
        with acting_as(acme, "loom_test_admin"), refused(acme, "LM003"):
            execute(acme, op, request)
        with acting_as(acme, "loom_gateway"), refused(acme, "LM003"):
            call(acme, None, op, **request)
    names = acme.execute("select name from loom.org order by name").fetchall()
    assert names == [("acme",), ("other",)]


def test_a_binding_to_every_org_reaches_every_org(acme: Connection) -> None:
    acme.execute("select loom.service_bind('loom_test_viewer', '*')")
    with acting_as(acme, "loom_test_viewer"):
        assert operate(acme, "working_memory.get", org="acme", namespace="n")["found"] is True
        assert operate(acme, "working_memory.get", org="new", namespace="n")["found"] is False
    acme.execute("select loom.service_unbind('loom_test_viewer', '*')")
    with acting_as(acme, "loom_test_viewer"), refused(acme, "LM302"):
        operate(acme, "working_memory.get", org="acme", namespace="n")

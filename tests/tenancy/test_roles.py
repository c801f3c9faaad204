"""What each role, login and token may call, for every operation and function there is."""

from __future__ import annotations

import psycopg
import pytest
from psycopg import sql

from tests.calls import acting_as, call, mint_token, operate, refused
from tests.cluster import CLIENT_ROLES, Cluster
from tests.tenancy.orgs import Connection
from tests.tenancy.requests import (
    FORGED,
    RANKS,
    SERVICES,
    execute,
    operations,
    refusals_of,
    request_of,
)


@pytest.fixture
def acme(db: Connection, cluster: Cluster) -> Connection:
    """Org acme with a block, and the services bound to another org."""
    cluster.make_login("loom_test_stranger")
    operate(db, "working_memory.set", org="acme", namespace="n", content="canary")
    for login in SERVICES:
        db.execute("select loom.service_bind(%s, 'other')", (login,))
    return db


@pytest.mark.parametrize("login", SERVICES)
def test_a_service_does_what_its_role_allows_and_no_more(acme: Connection, login: str) -> None:
    everything = operations(acme)
    with acting_as(acme, login):
        for op, role, identity in everything:
            request = request_of(op, identity, org="other")
            if SERVICES[login] < RANKS[role]:
                with refused(acme, "LM302") as refusal:
                    execute(acme, op, request)
                assert refusal.detail == {"reason": "role", "needed": role}
                items = [{"op": op, **request}]
                result = operate(acme, "batch", org="other", requests=items)["results"][0]
                assert result["status"] in {400, 403}, result
                with refused(acme, "42501"):
                    operate(acme, op, **request)
            else:
                try:
                    with acme.transaction():
                        operate(acme, op, **request)
                except psycopg.Error as error:
                    assert error.sqlstate in refusals_of(op), (op, error)


@pytest.mark.parametrize("role", RANKS)
def test_a_token_does_what_its_role_allows_and_no_more(acme: Connection, role: str) -> None:
    token = mint_token(acme, org="other", role=role)
    everything = operations(acme)
    with acting_as(acme, "loom_gateway"):
        for op, needed, identity in everything:
            try:
                with acme.transaction():
                    call(acme, token, op, **request_of(op, identity))
                outcome = None
            except psycopg.Error as error:
                outcome = error.sqlstate
            assert (outcome == "LM302") is (RANKS[role] < RANKS[needed]), (op, outcome)


def test_the_gateway_calls_nothing_but_loom_call(acme: Connection) -> None:
    everything = operations(acme)
    with acting_as(acme, "loom_gateway"):
        for op, _role, identity in everything:
            with refused(acme, "42501"):
                operate(acme, op, **request_of(op, identity, org="acme", _caller=FORGED))
        with refused(acme, "42501"):
            execute(acme, "working_memory.get", {"org": "acme", "_caller": FORGED})


@pytest.mark.parametrize("login", ["loom_worker", "loom_test_operator", "loom_test_stranger"])
def test_other_logins_call_no_operation(acme: Connection, login: str) -> None:
    everything = operations(acme)
    with acting_as(acme, login):
        for op, _role, identity in everything:
            with refused(acme, "42501"):
                operate(acme, op, **request_of(op, identity, org="acme"))
        for statement in (
            "select loom.execute('working_memory.get', '{}', null)",
            "select loom.call(null, null, 'working_memory.get', '{}', null)",
        ):
            with refused(acme, "42501"):
                acme.execute(statement)


@pytest.mark.parametrize("login", ["loom_gateway", "loom_worker", *SERVICES, "loom_test_operator"])
def test_what_is_for_the_migration_login_is_for_no_client(acme: Connection, login: str) -> None:
    with acting_as(acme, login):
        for statement in (
            "select loom.open_mode_set(60)",
            "select loom.open_mode_clear()",
            "select loom.service_bind('loom_test_writer', 'acme')",
            "select loom.service_bind('loom_test_writer', '*')",
            "select loom.service_unbind('loom_test_writer', 'acme')",
        ):
            with refused(acme, "42501"):
                acme.execute(statement)


@pytest.mark.parametrize("role", CLIENT_ROLES)
def test_no_client_executes_an_internal_function(acme: Connection, role: str) -> None:
    # Not bare nulls: a strict function is then not called at all, and so not refused.
    statements = acme.execute(
        r"select format('select loom.%%I(%%s)', proname, ("
        r"  select string_agg(format('(select null::%%s)', argument::regtype), ', ')"
        r"  from unnest(proargtypes) as argument))"
        r" from pg_proc where pronamespace = 'loom'::regnamespace and proname ^@ %s",
        ("_",),
    ).fetchall()
    assert len(statements) > 30
    acme.execute(sql.SQL("set local role {}").format(sql.Identifier(role)))
    for (statement,) in statements:
        with refused(acme, "42501"):
            acme.execute(statement.encode())


def test_without_open_mode_nobody_acts_without_a_token(acme: Connection) -> None:
    everything = operations(acme)
    with acting_as(acme, "loom_gateway"):
        for op, _role, identity in everything:
            with refused(acme, "LM301"):
                call(acme, None, op, **request_of(op, identity, org="acme"))

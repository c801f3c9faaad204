"""Sessions of clients that set what they can: no setting is a right, and none is left behind."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import psycopg
import pytest
from psycopg import sql

from tests.calls import Answer, Token, call, mint_token, operate, refused
from tests.databases import Database
from tests.tenancy.orgs import Connection, rows_by_org
from tests.tenancy.requests import execute, operations, refusals_of, request_of

SERVICE = "loom_test_admin"

Setter = Callable[[Connection, str], None]


def _for_the_session(conn: Connection, value: str) -> None:
    conn.execute("select set_config('loom.org', %s, false)", (value,))


def _for_the_transaction(conn: Connection, value: str) -> None:
    conn.execute("begin")
    conn.execute("select set_config('loom.org', %s, true)", (value,))


def _session_inside_a_transaction(conn: Connection, value: str) -> None:
    conn.execute("begin")
    conn.execute("select set_config('loom.org', %s, false)", (value,))


def _at_the_start_of_the_session(conn: Connection, value: str) -> None:
    conn.execute(sql.SQL("set loom.org to {}").format(sql.Literal(value)))


SETTERS: list[Setter] = [
    _for_the_session,
    _for_the_transaction,
    _session_inside_a_transaction,
    _at_the_start_of_the_session,
]


@pytest.fixture
def two(database: Database) -> tuple[Connection, Token]:
    """Orgs `mine`, which the service is bound to, and `theirs`; a superuser and my token."""
    conn = database.connect()
    conn.execute("select loom.service_bind(%s, 'mine')", (SERVICE,))
    conn.execute("select loom.service_bind('loom_test_viewer', '*')")
    for org in ("mine", "theirs"):
        operate(conn, "working_memory.set", org=org, namespace="n", content=f"of {org}")
        mint_token(conn, org=org)
    return conn, mint_token(conn, org="mine", role="admin")


@pytest.mark.parametrize("setter", SETTERS, ids=lambda setter: setter.__name__.strip("_"))
def test_o64_a_spoofed_org_changes_nothing_for_a_service(
    database: Database, two: tuple[Connection, Token], setter: Setter
) -> None:
    before = rows_by_org(two[0])["theirs"]
    everything = operations(two[0])
    service = database.connect(SERVICE)
    setter(service, "theirs")
    assert service.execute("select current_setting('loom.org')").fetchone() == ("theirs",)
    for op, _role, identity in everything:
        with refused(service, "LM302"):
            execute(service, op, request_of(op, identity, org="theirs"))
    block = operate(service, "working_memory.get", org="mine", namespace="n")
    assert block["content"] == "of mine"
    setting = service.execute("select current_setting('loom.org')").fetchone()
    assert setting in {("mine",), ("theirs",)}
    for op, _role, identity in everything:
        if op != "working_memory.delete":
            _allow(service, op, request_of(op, identity, org="mine"))
    service.execute("commit")
    assert rows_by_org(two[0])["theirs"] == before


@pytest.mark.parametrize("setter", SETTERS, ids=lambda setter: setter.__name__.strip("_"))
def test_o64_a_spoofed_org_changes_nothing_for_the_gateway(
    database: Database, two: tuple[Connection, Token], setter: Setter
) -> None:
    before = rows_by_org(two[0])["theirs"]
    everything = operations(two[0])
    gateway = database.connect("loom_gateway")
    setter(gateway, "theirs")
    for op, _role, identity in everything:
        with refused(gateway, "LM302"):
            call(gateway, two[1], op, **request_of(op, identity, org="theirs"))
        with refused(gateway, "LM301"):
            call(gateway, None, op, **request_of(op, identity, org="theirs"))
    listed = call(gateway, two[1], "token.list")["items"]
    assert {item["org"] for item in listed} == {"mine"}
    block = call(gateway, two[1], "working_memory.get", namespace="n")
    assert block["content"] == "of mine"
    gateway.execute("commit")
    assert rows_by_org(two[0])["theirs"] == before


def _allow(conn: Connection, op: str, request: Answer) -> None:
    try:
        with conn.transaction():
            execute(conn, op, request)
    except psycopg.Error as error:
        assert error.sqlstate in refusals_of(op), (op, error)


def _setting(conn: Connection) -> str | None:
    row = conn.execute("select current_setting('loom.org', true)").fetchone()
    assert row is not None
    return row[0]  # type: ignore[no-any-return]


def test_o64_the_setting_ends_with_the_call(
    database: Database, two: tuple[Connection, Token]
) -> None:
    """On a connection of a pool: after an answer, and after every kind of refusal."""
    everything = operations(two[0])
    service, gateway = database.connect(SERVICE), database.connect("loom_gateway")
    assert (_setting(service), _setting(gateway)) == (None, None)
    for op, _role, identity in everything:
        request = request_of(op, identity, org="mine")
        for fields in (request, {**request, "unknown": 1}, {**request, "org": "theirs"}):
            for key in (None, "k"):
                for run in (
                    partial(execute, service, op, fields, key),
                    partial(call, gateway, two[1], op, key=key, **fields),
                ):
                    try:
                        run()
                    except psycopg.Error as error:
                        assert (error.sqlstate or "").startswith("LM")
                    assert (_setting(service), _setting(gateway)) in {
                        (None, None),
                        ("", None),
                        ("", ""),
                    }


def test_o64_the_setting_ends_with_the_transaction(
    database: Database, two: tuple[Connection, Token]
) -> None:
    service = database.connect(SERVICE)
    for rollback in (False, True):
        with service.transaction(force_rollback=rollback):
            operate(service, "working_memory.get", org="mine", namespace="n")
            assert _setting(service) == "mine"
        assert _setting(service) == ""
    with service.transaction(), refused(service, "LM302"):
        operate(service, "working_memory.get", org="theirs", namespace="n")
    assert _setting(service) == ""


def test_o64_operator_functions_leave_no_setting(database: Database) -> None:
    operator = database.connect()
    for statement in (
        "select loom.open_mode_set(5)",
        "select loom.open_mode_clear()",
        "select loom.service_bind('loom_test_viewer', 'acme')",
        "select loom.service_bind('loom_test_viewer', '*')",
        "select loom.service_unbind('loom_test_viewer', 'acme')",
    ):
        operator.execute(statement.encode())
        assert _setting(operator) in {None, ""}


def test_one_transaction_over_two_orgs_keeps_them_apart(database: Database) -> None:
    """A service bound to both: each call enters the org it names."""
    operator = database.connect()
    for org in ("one", "two"):
        operator.execute("select loom.service_bind(%s, %s)", (SERVICE, org))
    service = database.connect(SERVICE)
    with service.transaction():
        for org in ("one", "two", "one"):
            answer = operate(
                service, "working_memory.append", org=org, namespace="n", addition=f"of {org}"
            )
            assert answer["org"] == org
        row = service.execute(
            'select loom.working_memory_get(\'{"org": "one", "namespace": "n"}\'),'
            " set_config('loom.org', 'one', true),"
            ' loom.working_memory_get(\'{"org": "two", "namespace": "n"}\'),'
            " set_config('loom.org', 'two', true)"
        ).fetchone()
        assert row is not None
        assert (row[0]["content"], row[2]["content"]) == ("of one\nof one", "of two")

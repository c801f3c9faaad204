"""A service that makes its own objects under the names Loom uses, where its path looks first."""

from __future__ import annotations

import psycopg
import pytest

from tests.calls import call, mint_token, operate, refused
from tests.databases import Database
from tests.tenancy.orgs import Connection, rows_by_org
from tests.tenancy.requests import execute, operations, request_of

SERVICE = "loom_test_writer"

# The catalog is open to all, so a client can copy the shape of tables that it may not read.
COPIES = """
select format('create table pg_temp.%I (%s)', c.relname,
  string_agg(format('%I %s', a.attname, format_type(a.atttypid, a.atttypmod)), ', '))
from pg_class c join pg_attribute a on a.attrelid = c.oid
where c.relnamespace = 'loom'::regnamespace and c.relkind = 'r' and a.attnum > 0
  and not a.attisdropped
  -- Types of an extension are in a schema that clients may not use.
  and a.atttypid in (
    select oid from pg_type
    where typnamespace in ('pg_catalog'::regnamespace, 'loom'::regnamespace))
group by c.relname
"""

# Each says yes to everything, or what would be good to hear.
LIES = (
    "create function set_config(text, text, boolean) returns text language sql return 'theirs'",
    "create function current_setting(text, boolean) returns text language sql return 'theirs'",
    "create function pg_has_role(name, text, text) returns boolean language sql return true",
    "create function _enter(text, jsonb) returns text language sql return 'theirs'",
    "create function _role_rank(text) returns integer language sql return 3",
    "create function _now() returns timestamptz language sql return '-infinity'::timestamptz",
    "create function jsonb_typeof(jsonb) returns text language sql return 'object'",
    "create function always(text, text) returns boolean language sql return true",
    "create operator = (leftarg = text, rightarg = text, function = SCHEMA.always)",
    "create operator <> (leftarg = text, rightarg = text, function = SCHEMA.always)",
    "create type caller as (actor text, is_admin boolean, org text)",
    "create view pg_roles as select 'loom_test_writer'::name as rolname, 10::oid as oid",
    "create domain pg_temp.uuid as pg_catalog.text",
)

ROWS = (
    "insert into pg_temp.service_binding (org, role_oid, role_name)"
    " values ('theirs', 'loom_test_writer'::regrole, 'loom_test_writer')",
    "insert into pg_temp.operation (op, function_name, role, mode)"
    " values ('evil', 'evil', 'viewer', 'read')",
    "insert into pg_temp.open_mode (singleton, expires_at) values (true, 'infinity')",
)


@pytest.fixture
def operator(database: Database) -> Connection:
    conn = database.connect()
    for org in ("mine", "theirs"):
        operate(conn, "working_memory.set", org=org, namespace="n", content=f"of {org}")
        mint_token(conn, org=org)
    conn.execute("select loom.service_bind(%s, 'mine')", (SERVICE,))
    conn.execute("create schema evil")
    conn.execute("grant all on schema evil to public")
    return conn


def _lie(conn: Connection) -> None:
    for (copy,) in conn.execute(COPIES.encode()).fetchall():
        conn.execute(copy.encode())
    for row in ROWS:
        conn.execute(row.encode())
    for schema in ("evil", "pg_temp"):
        conn.execute("select set_config('search_path', %s, false)", (schema,))
        for lie in LIES:
            # Another session has made those of the schema already.
            try:
                conn.execute(lie.replace("SCHEMA", schema).encode())
            except (psycopg.errors.DuplicateFunction, psycopg.errors.DuplicateTable):
                assert schema == "evil"
            except psycopg.errors.DuplicateObject:
                assert "type" in lie or "domain" in lie
    conn.execute("set search_path = pg_temp, evil, loom, pg_catalog")


def test_a_service_with_shadows_reaches_no_other_org(
    database: Database, operator: Connection
) -> None:
    everything = operations(operator)
    service = database.connect(SERVICE)
    _lie(service)
    before = rows_by_org(operator)["theirs"]
    for op, _role, identity in everything:
        with refused(service, "LM302"):
            execute(service, op, request_of(op, identity, org="theirs"))
    with refused(service, "LM004"):
        execute(service, "evil", {"org": "mine"})
    block = operate(service, "working_memory.get", org="mine", namespace="n")
    assert block["content"] == "of mine"
    with refused(service, "LM302") as refusal:
        execute(service, "token.list", {"org": "mine"})
    assert refusal.detail == {"reason": "role", "needed": "admin"}
    assert rows_by_org(operator)["theirs"] == before


def test_a_gateway_session_with_shadows_needs_a_token(
    database: Database, operator: Connection
) -> None:
    token = mint_token(operator, org="mine", namespace="n")
    gateway = database.connect("loom_gateway")
    _lie(gateway)
    with refused(gateway, "LM301"):
        call(gateway, None, "working_memory.get", org="theirs", namespace="n")
    with refused(gateway, "LM302"):
        call(gateway, token, "working_memory.get", org="theirs")
    assert call(gateway, token, "working_memory.get")["content"] == "of mine"


def test_o67_a_write_goes_to_the_table_and_not_to_its_shadow(
    database: Database, operator: Connection
) -> None:
    service = database.connect(SERVICE)
    _lie(service)
    operate(service, "working_memory.append", org="mine", namespace="n", addition="more")
    assert service.execute("select count(*) from pg_temp.working_memory").fetchone() == (0,)
    stored = operator.execute("select content from loom.working_memory where org = 'mine'")
    assert stored.fetchall() == [("of mine\nmore",)]


def test_o67_a_clients_code_never_runs_with_the_rights_of_an_operation(
    database: Database, operator: Connection
) -> None:
    """A cast, a default or an operator of the client's may run before a call, as the client."""
    service = database.connect(SERVICE)
    service.execute(
        "create function pg_temp.request() returns jsonb language plpgsql as $$"
        " begin"
        "   perform set_config('loom.org', 'theirs', true);"
        "   return jsonb_build_object('org', 'mine', 'namespace', 'n', 'user', current_user)"
        "     - 'user';"
        " end $$"
    )
    row = service.execute("select loom.working_memory_get(pg_temp.request())").fetchone()
    assert row is not None
    assert row[0]["content"] == "of mine"
    service.execute(
        "create function pg_temp.peek() returns bigint language plpgsql as $$"
        " begin"
        '   perform loom.working_memory_get(\'{"org": "mine", "namespace": "n"}\');'
        "   return (select count(*) from loom.working_memory);"
        " end $$"
    )
    with refused(service, "42501"):
        service.execute("select pg_temp.peek()")

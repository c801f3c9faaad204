"""Rows are seen through operations alone: the policies bind every role, and clients have no rights.

`FILL` puts rows of two orgs into every table that has an org; a new table needs a step there.
"""

from __future__ import annotations

from typing import Any

import psycopg
import pytest
from psycopg import sql
from psycopg.types.json import Jsonb

from tests.calls import acting_as, call, mint_token, operate, refused
from tests.cluster import CLIENT_ROLES
from tests.databases import Database
from tests.sql.loom_rows import weave_rows
from tests.sql.profile_schemas import EXAMPLE
from tests.vectors import seed_vectors

Connection = psycopg.Connection[Any]

ORGS = ("acme", "zenith")

MODEL_CALL = {"outcome": "OK", "prompt_tokens": 3, "completion_tokens": 2, "milliseconds": 1}

_TABLES = """
select c.relname::text, exists (
  select from pg_attribute a
  where a.attrelid = c.oid and a.attname = 'org' and not a.attisdropped
)
from pg_class c
where c.relnamespace = 'loom'::regnamespace and c.relkind in ('r', 'p')
order by 1
"""


def _tables(conn: Connection) -> list[str]:
    return [name for name, _ in conn.execute(_TABLES.encode()).fetchall()]


def _tables_of_orgs(conn: Connection) -> list[str]:
    return [name for name, has_org in conn.execute(_TABLES.encode()).fetchall() if has_org]


def fill(conn: Connection) -> None:
    """Rows of both orgs in every table with an org."""
    for org in ORGS:
        where = {"org": org, "namespace": "n", "user_id": "u"}
        token = mint_token(conn, org=org)
        conn.execute("select loom.service_bind('loom_test_writer', %s)", (org,))
        operate(conn, "working_memory.set", content="text", **where)
        conn.execute(
            "select loom.execute('working_memory.append', %s, 'key-1')",
            (Jsonb({"addition": "more", **where}),),
        )
        fact = operate(conn, "memory.set", memory_key="fact", value=1, **where)
        operate(conn, "profile.set", label="style", value="brief", org=org, namespace="n")
        operate(conn, "blacklist.add", pattern="secret", org=org, namespace="n")
        operate(conn, "org.set_model_calls", enabled=False, org=org)
        operate(conn, "profile_schema.set", json_schema=EXAMPLE, org=org, namespace="n")
        with acting_as(conn, "loom_gateway"):
            reads = [{"user_id": "-", "label": "style", "reads": 1}]
            call(conn, token, "profile.activity_record", namespace="n", reads=reads)
        said = [{"id": "1", "text": "Call me Sam."}]
        operate(conn, "user_profile.update", signals=said, **where)
        operate(conn, "user_profile.update", signals=[{"text": "Hi"}], source="llm", **where)
        weave_rows(conn, org, "n", "text")
        # No operation makes these rows yet.
        conn.execute(
            "insert into loom.memory_source"
            " (org, source_id, memory_id, version, namespace, user_id)"
            " values (%s, %s, gen_random_uuid(), 1, 'n', 'u')",
            (org, fact["memory_id"]),
        )
        conn.execute(
            "select loom.work_used(%s, 'n', gen_random_uuid(), 'structured_profile', 'm', %s)",
            (org, Jsonb([MODEL_CALL])),
        )
        # A pass makes these for namespaces with something to build.
        conn.execute(
            "insert into loom.pass_share (org, namespace, kind, share, share_left)"
            " values (%s, 'n', 'structured_profile', 1, 1)",
            (org,),
        )
        seed_vectors(conn, org)
    for table in _tables_of_orgs(conn):
        found = conn.execute(
            sql.SQL("select count(distinct org) from {} where org = any (%s)").format(
                sql.Identifier("loom", table)
            ),
            (list(ORGS),),
        ).fetchone()
        assert found == (len(ORGS),), f"fill puts no rows of both orgs into loom.{table}"


def _visible(conn: Connection, role: str, table: str) -> int:
    """How many rows a role sees that is given the right to read them, for this transaction."""
    with conn.transaction(force_rollback=True):
        relation = sql.Identifier("loom", table)
        conn.execute(sql.SQL("grant select on {} to {}").format(relation, sql.Identifier(role)))
        conn.execute(sql.SQL("set local role {}").format(sql.Identifier(role)))
        row = conn.execute(sql.SQL("select count(*) from {}").format(relation)).fetchone()
        assert row is not None
        return int(row[0])


def test_with_the_setting_never_set_every_table_reads_empty(database: Database) -> None:
    fill(database.connect())
    fresh = database.connect()
    assert fresh.execute("select current_setting('loom.org', true)").fetchone() == (None,)
    for role in CLIENT_ROLES:
        seen = {table: _visible(fresh, role, table) for table in _tables(fresh)}
        assert seen == dict.fromkeys(seen, 0), role
    seen = {table: _visible(fresh, "loom_api", table) for table in _tables_of_orgs(fresh)}
    assert seen == dict.fromkeys(seen, 0)


@pytest.mark.parametrize("setting", ["", "acme"])
@pytest.mark.parametrize("role", CLIENT_ROLES)
def test_a_client_that_may_read_a_table_sees_nothing_whatever_it_sets(
    db: Connection, role: str, setting: str
) -> None:
    fill(db)
    db.execute("select set_config('loom.org', %s, true)", (setting,))
    seen = {table: _visible(db, role, table) for table in _tables(db)}
    assert seen == dict.fromkeys(seen, 0)


@pytest.mark.parametrize("setting", ["", "nobody"])
def test_operations_see_nothing_where_no_org_was_entered(db: Connection, setting: str) -> None:
    fill(db)
    # Empty is what a session has after a transaction that had entered an org.
    db.execute("select set_config('loom.org', %s, true)", (setting,))
    seen = {table: _visible(db, "loom_api", table) for table in _tables_of_orgs(db)}
    assert seen == dict.fromkeys(seen, 0)


def test_operations_see_the_org_that_was_entered_and_no_other(db: Connection) -> None:
    fill(db)
    db.execute("select set_config('loom.org', 'acme', true)")
    db.execute("set local role loom_api")
    for table in _tables_of_orgs(db):
        orgs = db.execute(
            sql.SQL("select distinct org from {}").format(sql.Identifier("loom", table))
        ).fetchall()
        assert orgs == [("acme",)], table


@pytest.mark.parametrize("role", CLIENT_ROLES)
def test_clients_have_no_right_on_any_table(db: Connection, role: str) -> None:
    db.execute(sql.SQL("set local role {}").format(sql.Identifier(role)))
    for table in _tables(db):
        relation = sql.Identifier("loom", table)
        for statement in (
            "select from {}",
            "insert into {} default values",
            "delete from {}",
            "truncate {}",
            "lock table {} in access share mode",
        ):
            with refused(db, "42501"):
                db.execute(sql.SQL(statement).format(relation))


@pytest.mark.parametrize("role", CLIENT_ROLES)
def test_clients_make_nothing_in_the_schema(db: Connection, role: str) -> None:
    db.execute(sql.SQL("set local role {}").format(sql.Identifier(role)))
    with refused(db, "42501"):
        db.execute("create table loom.mine ()")
    with refused(db, "42501"):
        db.execute("create function loom.mine() returns integer language sql return 1")

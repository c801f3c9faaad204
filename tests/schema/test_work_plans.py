"""What the worker's functions read: few rows of big tables, by indexes, under row-level security.

Judged as in `test_memory_plans`, by the rows that a call fetched, and by the indexes it used: one
on a part of a condition would fetch all that is due elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from tests.calls import Token, acting_as, call, mint_token, operate
from tests.cluster import Cluster
from tests.databases import Clock, Templates, copy_of
from tests.sql.facts import NOON
from tests.sql.structured_profile.building import (
    KIND,
    NAME,
    claim,
    complete,
    due,
    fail,
    metrics,
    read,
    set_schema,
)

Connection = psycopg.Connection[Any]

MANY = 4000
"""Users of org acme, namespace n, whose builds are up to date; and as many of small orgs."""

BEHIND = 3
"""Users in a namespace of their own, who are behind."""

_FETCHED = """
select coalesce(sum(coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0)), 0)::integer
from pg_stat_xact_user_tables where schemaname = 'loom' and relname = any (%s)
"""
_SCANS = """
select c.relname::text, pg_stat_get_xact_numscans(c.oid)::integer
from pg_index i join pg_class c on c.oid = i.indexrelid
where i.indrelid = any (array(select to_regclass('loom.' || t) from unnest(%s::text[]) as t))
"""

_SCHEMAS = """
insert into loom.profile_schema
  (org, namespace, json_schema, schema_sha256, schema_rev, updated_at, updated_by)
select others.org, others.namespace, stored.json_schema, stored.schema_sha256, 1,
  loom._now(), 'test'
from loom.profile_schema as stored,
  (select 'org' || n % 100, 'n' || n / 100 % 10 from generate_series(1, 1000) n
   union all select 'acme', 'm' || n from generate_series(1, 500) n) as others (org, namespace)
where stored.org = 'acme'
"""
# Up to date; every tenth will be due by the clock. Users of small orgs are in four namespaces each.
_STATES = """
insert into loom.user_state (org, namespace, user_id, created_at, source_digest, source_count)
select org, namespace, user_id, loom._now(), 1::bit(128), 1 from (
  select 'acme', 'n', 'u' || n from generate_series(1, %(many)s) n
  union all
  select 'org' || n %% 100, 'n' || k, 'u' || n / 100
  from generate_series(1, %(many)s) n, generate_series(0, 3) k
  union all
  select 'acme', 'm' || n, 'everywhere' from generate_series(1, 500) n
) as others (org, namespace, user_id)
"""
_FACTS = """
insert into loom.memory (org, namespace, agent, user_id, session_id, memory_key, memory_type, value,
  content_sha256, value_length, char_limit, source_class, version, recorded_at, changed_at, author,
  actor, created_at, created_by)
select org, namespace, '-', user_id, '-', 'fact' || k, 'semantic', '1', loom._sha256('1'), 1, 8192,
  'stated', 1, created_at, created_at, 'test', 'test', created_at, 'test'
from loom.user_state, generate_series(1, 2) k
"""
_BUILDS = """
insert into loom.build (org, namespace, kind, user_id, schema_rev, due_at, row_state, built_at,
  built_digest, built_count, built_sha256, tried_at, tried_sha256)
select state.org, state.namespace, %(kind)s, state.user_id, schema.schema_rev,
  case when hashtext(state.user_id) %% 10 = 0 then loom._now() + interval '1 day' end, 'served',
  loom._now(), source_digest, source_count, schema.schema_sha256, loom._now(), schema.schema_sha256
from loom.user_state as state join loom.profile_schema as schema using (org, namespace)
"""

TABLES = ("build", "user_state", "profile_schema", "memory", "memory_version", "memory_source")


@pytest.fixture(scope="module")
def crowd(cluster: Cluster, templates: Templates) -> Iterator[tuple[Connection, Token]]:
    """A database with many users who are up to date, and a handful who are not."""
    own = copy_of(cluster, templates.base)
    conn = own.connect()
    Clock(conn).set(NOON)
    token = mint_token(conn, org="acme", role="admin")
    set_schema(conn, namespace="n")
    conn.execute(_SCHEMAS.encode())
    conn.execute(_STATES, {"many": MANY})
    conn.execute(_FACTS.encode())
    conn.execute(_BUILDS, {"many": MANY, "kind": KIND})
    set_schema(conn, namespace="behind")
    for number in range(BEHIND):
        place = {"namespace": "behind", "agent": "a", "user_id": f"b{number}"}
        with acting_as(conn, "loom_gateway"):
            call(conn, token, "memory.set", **place, memory_key="likes", value=number)
    conn.execute("analyze")
    conn.execute("set plan_cache_mode = force_generic_plan")
    yield conn, token
    own.close()


def _fetched(conn: Connection, *tables: str) -> int:
    row = conn.execute(_FETCHED, (list(tables),)).fetchone()
    assert row is not None
    return int(row[0])


def _scans(conn: Connection, *tables: str) -> dict[str, int]:
    return dict(conn.execute(_SCANS, (list(tables),)).fetchall())


class Measured:
    """Rows that a block fetched, and the indexes it used."""

    def __init__(self, conn: Connection) -> None:
        self._conn = conn
        self._rows = {table: _fetched(conn, table) for table in TABLES}
        self._scans = _scans(conn, *TABLES)

    def rows(self, *tables: str) -> int:
        return sum(_fetched(self._conn, table) - self._rows[table] for table in tables or TABLES)

    def indexes(self) -> set[str]:
        now = _scans(self._conn, *TABLES)
        return {name for name, count in now.items() if count > self._scans[name]}


def test_o54_a_claim_reads_those_that_are_due(crowd: tuple[Connection, Token]) -> None:
    conn, _ = crowd
    with conn.transaction(force_rollback=True):
        due(conn)
        measured = Measured(conn)
        assert len(claim(conn, namespace="behind")) == BEHIND
        # Each its state, build and schema, looked at and written a few times.
        assert measured.rows("build", "user_state") <= 12 * BEHIND
        assert measured.rows("memory") <= BEHIND
        assert "build_due_idx" in measured.indexes()
        assert "build_rev_idx" in measured.indexes()


def test_a_claim_where_nobody_is_due_reads_nobody(crowd: tuple[Connection, Token]) -> None:
    conn, _ = crowd
    with conn.transaction(force_rollback=True):
        due(conn)
        conn.execute("insert into loom.pass_share values ('acme', 'n', %s, 20, 20)", (KIND,))
        measured = Measured(conn)
        assert claim(conn, namespace="n") == []
        assert measured.rows() <= 1


def test_an_org_without_model_calls_is_not_read_through(crowd: tuple[Connection, Token]) -> None:
    """However many users wait there."""
    conn, _ = crowd
    with conn.transaction(force_rollback=True):
        conn.execute("update loom.build set due_at = loom._now() where namespace = 'n'")
        operate(conn, "org.set_model_calls", org="acme", enabled=False)
        measured = Measured(conn)
        assert due(conn) == {}
        assert measured.rows("build") <= 10
        assert "build_modelless_idx" in measured.indexes()


def test_a_look_for_work_reads_schemas_and_no_builds(crowd: tuple[Connection, Token]) -> None:
    conn, _ = crowd
    with conn.transaction(force_rollback=True):
        measured = Measured(conn)
        assert due(conn) == {"behind": 20}
        # It walks 1,000 namespaces, and finds a build in one of them.
        assert measured.rows("build") <= 10
        assert measured.rows("user_state", "memory") == 0
        measured = Measured(conn)
        assert due(conn) == {"behind": 20}
        assert measured.rows() <= 10


def test_o48_an_idle_wait_looks_at_one_index(crowd: tuple[Connection, Token]) -> None:
    conn, _ = crowd
    with conn.transaction(force_rollback=True):
        conn.execute("update loom.build set due_at = null where namespace = 'behind'")
        conn.execute("update loom.profile_schema set updated_at = updated_at - interval '1 day'")
        conn.execute("analyze loom.profile_schema")
        while due(conn) or _open(conn):
            pass
        Clock(conn).advance(seconds=120)
        measured = Measured(conn)
        assert due(conn) == {}
        assert measured.rows() == 0
        assert measured.indexes() == {
            *("build_due_all_idx", "profile_schema_updated_idx", "profile_schema_wait_idx"),
        }


def test_o47_a_look_at_how_work_goes_on_reads_schemas_and_no_more_builds(
    crowd: tuple[Connection, Token],
) -> None:
    """However many users are up to date, or under way to be due."""
    conn, _ = crowd
    with conn.transaction(force_rollback=True):
        due(conn)
        claim(conn, 1, namespace="behind")
        measured = Measured(conn)
        told = metrics(conn)
        assert (told["due"], told["under_way"]) == (BEHIND - 1, True)
        assert measured.rows("build") <= 10
        assert measured.rows("user_state", "memory") == 0
        assert {"build_due_all_idx", "build_due_idx", "build_rev_idx"} <= measured.indexes()


def test_o47_of_a_namespace_with_another_schema_it_reads_as_many_as_it_counts(
    crowd: tuple[Connection, Token],
) -> None:
    conn, _ = crowd
    with conn.transaction(force_rollback=True):
        set_schema(conn, {"city": NAME["name"]}, namespace="n")
        measured = Measured(conn)
        assert metrics(conn)["due"] == MANY + BEHIND
        assert measured.rows("build") <= MANY + 100
        assert measured.rows("user_state") <= 40


def _open(conn: Connection) -> bool:
    row = conn.execute("select opened_at is not null from loom.pass").fetchone()
    assert row is not None
    return bool(row[0])


def test_a_change_of_schema_is_found_by_revision(crowd: tuple[Connection, Token]) -> None:
    """Of a namespace of thousands a claim reads those it takes and no more than it looks at."""
    conn, _ = crowd
    with conn.transaction(force_rollback=True):
        set_schema(conn, {"city": NAME["name"]}, namespace="n")
        while "n" not in due(conn):
            pass
        measured = Measured(conn)
        assert len(claim(conn, 5, namespace="n")) == 5
        assert measured.rows("build") <= 200 + 12 * 5
        assert measured.rows("user_state") <= 12 * 5
        assert "build_rev_idx" in measured.indexes()


def test_read_complete_and_fail_look_up_by_key(crowd: tuple[Connection, Token]) -> None:
    conn, _ = crowd
    with conn.transaction(force_rollback=True):
        due(conn)
        one, two, three = claim(conn, namespace="behind")
        measured = Measured(conn)
        assert len(read(conn, one)["sources"]) == 1
        read(conn, two)
        assert measured.rows() <= 2 * 14
        measured = Measured(conn)
        assert complete(conn, one, {"name": "Sam"})["outcome"] == "written"
        assert measured.rows() <= 30
        measured = Measured(conn)
        fail(conn, two)
        fail(conn, three, "released", "STOPPED")
        assert measured.rows() <= 2 * 14
        assert "build_lease_key" in measured.indexes()


@pytest.mark.parametrize(
    ("namespace", "user"),
    [("behind", "b1"), ("n", "u77"), ("n", "nobody"), ("m7", "everywhere"), ("n", "everywhere")],
)
def test_a_profile_is_four_look_ups_by_key(
    crowd: tuple[Connection, Token], namespace: str, user: str
) -> None:
    """The primary key, or the user's with the namespace."""
    conn, token = crowd
    with conn.transaction(force_rollback=True), acting_as(conn, "loom_gateway"):
        for explain in (False, True):
            measured = Measured(conn)
            request: dict[str, Any] = {"namespace": namespace, "user_id": user, "explain": explain}
            call(conn, token, "profile.structured", **request)
            assert measured.rows() <= 4
            assert measured.indexes() <= {
                *("profile_schema_pkey", "user_state_pkey", "build_pkey", "memory_pkey"),
                *("user_state_user_idx", "build_user_idx"),
            }


def test_a_build_that_is_asked_for_looks_up_by_key(crowd: tuple[Connection, Token]) -> None:
    conn, token = crowd
    with conn.transaction(force_rollback=True), acting_as(conn, "loom_gateway"):
        measured = Measured(conn)
        call(conn, token, "profile.structured_build", namespace="behind", user_id="b1")
        assert measured.rows() <= 12


def test_the_measure_sees_a_condition_without_an_index(crowd: tuple[Connection, Token]) -> None:
    conn, _ = crowd
    with conn.transaction(force_rollback=True):
        measured = Measured(conn)
        conn.execute("select from loom.build where org = 'acme' and attempts = 7")
        assert measured.rows("build") >= MANY

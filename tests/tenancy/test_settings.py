"""What a client can set for its session: it may break the client's own calls, never the walls."""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest

from tests.calls import mint_token, operate
from tests.cluster import Cluster
from tests.databases import Database, Templates, copy_of
from tests.tenancy.orgs import rows_by_org
from tests.tenancy.requests import execute, operations, request_of

SERVICE = "loom_test_admin"

HOSTILE = (
    "set row_security = off",
    "set search_path = pg_temp, evil, public, pg_catalog",
    "set standard_conforming_strings = off",
    "set plpgsql.extra_errors = 'all'",
    "set plpgsql.extra_warnings = 'all'",
    "set TimeZone = 'Pacific/Kiritimati'",
    "set DateStyle = 'German, DMY'",
    "set IntervalStyle = 'sql_standard'",
    "set bytea_output = 'escape'",
    "set transform_null_equals = on",
    "set array_nulls = off",
    "set extra_float_digits = -15",
    "set quote_all_identifiers = on",
    "set default_text_search_config = 'pg_catalog.german'",
    "set xmloption = document",
    "set plan_cache_mode = force_generic_plan",
    "set plan_cache_mode = force_custom_plan",
    "set debug_parallel_query = on",
    "set force_parallel_mode = on",
    "set enable_indexscan = off",
    "set enable_seqscan = off",
    "set constraint_exclusion = on",
    "set client_encoding = 'LATIN1'",
    "set synchronous_commit = off",
    "set jit_above_cost = 0",
    "set max_parallel_workers_per_gather = 8",
    "set debug_print_plan = on",
    "set default_transaction_deferrable = on",
    "set client_min_messages = debug5",
    "set lc_numeric = 'C'",
    "set check_function_bodies = off",
    "set work_mem = '64kB'",
    "set statement_timeout = 0",
    "set session_replication_role = replica",
    "set allow_system_table_mods = on",
    "set plpgsql.variable_conflict = use_column",
    "set role none",
    "set session characteristics as transaction isolation level serializable",
)


@pytest.fixture(scope="module")
def two(cluster: Cluster, templates: Templates) -> Iterator[Database]:
    """Orgs `mine`, which the service is bound to, and `theirs`; one database for all settings."""
    database = copy_of(cluster, templates.base)
    conn = database.connect()
    conn.execute("select loom.service_bind(%s, 'mine')", (SERVICE,))
    conn.execute("select loom.service_bind('loom_test_viewer', '*')")
    for org in ("mine", "theirs"):
        operate(conn, "working_memory.set", org=org, namespace="n", content=f"of {org}")
        mint_token(conn, org=org)
    yield database
    database.close()


@pytest.mark.parametrize("statement", HOSTILE, ids=lambda text: text.removeprefix("set "))
def test_no_setting_of_a_session_shows_or_changes_another_org(
    two: Database, statement: str
) -> None:
    with two.connect() as operator, two.connect(SERVICE) as service:
        before = rows_by_org(operator)["theirs"]
        everything = operations(operator)
        try:
            service.execute(statement.encode())
        except (psycopg.errors.InsufficientPrivilege, psycopg.errors.UndefinedObject):
            return  # not for a client, or not in this release of the server
        service.execute("select set_config('loom.org', 'theirs', false)")
        for op, _role, identity in everything:
            for org in ("theirs", "mine"):
                try:
                    answer = str(execute(service, op, request_of(op, identity, org=org)))
                except psycopg.Error:
                    continue
                assert org == "mine"
                assert "of theirs" not in answer
        assert rows_by_org(operator)["theirs"] == before

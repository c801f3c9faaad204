"""Static analysis of all PL/pgSQL functions, on servers that offer the extension plpgsql_check."""

from __future__ import annotations

import pytest

from tests.databases import Database

# What the analysis says of sound code: assignments that convert as meant, functions that end in a
# loop which only a return leaves, and checks that are assigned because that is cheaper than to
# perform them (docs/decisions/0016).
_SOUND = {
    "target type is different type than source type",
    "control reached end of function without RETURN",
    'never read variable "v_ok"',
}

# The two that go through loom.erasure_plane: its conditions are reference data, applied with the
# functions, and no caller's.
_BY_REFERENCE_DATA = {
    ("loom._census(loom.caller,text[])", "text type variable is not sanitized"),
    ("loom._erase(loom.erasure_plane,loom.caller,text[])", "text type variable is not sanitized"),
}

_FINDINGS = """
select p.oid::regprocedure::text, found.level, found.lineno, found.message, found.query
from pg_catalog.pg_proc p
join pg_catalog.pg_language l on l.oid = p.prolang and l.lanname = 'plpgsql'
left join pg_catalog.pg_trigger t on t.tgfoid = p.oid
cross join lateral plpgsql_check.plpgsql_check_function_tb(
  p.oid, coalesce(t.tgrelid, 0), oldtable => t.tgoldtable, newtable => t.tgnewtable,
  fatal_errors => false, performance_warnings => false, extra_warnings => true,
  security_warnings => true) found
where p.pronamespace = 'loom'::regnamespace
order by 1, 3
"""


def test_plpgsql_check_finds_nothing(clean_database: Database) -> None:
    conn = clean_database.connect()
    offered = conn.execute(
        "select from pg_available_extensions where name = 'plpgsql_check'"
    ).fetchone()
    if offered is None:
        pytest.skip("this server does not offer the extension plpgsql_check")
    conn.execute("create schema plpgsql_check")
    conn.execute("create extension plpgsql_check schema plpgsql_check")
    findings = conn.execute(_FINDINGS).fetchall()
    assert [
        "{} {}:{}: {} {}".format(*found)
        for found in findings
        if found[3] not in _SOUND and (found[0], found[3]) not in _BY_REFERENCE_DATA
    ] == []

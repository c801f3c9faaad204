"""The small SQL functions stand as expressions in their callers' plans, and are not called.

PostgreSQL calls one where an argument is too dear to be written twice, where it sets something or
is stricter than what it does: then it costs more than the PL/pgSQL function it is there to spare.
"""

from __future__ import annotations

import psycopg

from tests.tenancy.orgs import Connection, attempts, seed_all
from tests.tenancy.requests import execute


def test_no_operation_calls_a_function_that_can_be_inlined(db: Connection) -> None:
    orgs = seed_all(db)
    db.execute("set track_functions = 'all'")
    # A plan for constants calls an immutable function once, while it is made.
    db.execute("set plan_cache_mode = force_generic_plan")
    answered = 0
    for op, request in attempts(db, orgs[0].name, []):
        try:
            with db.transaction():
                execute(db, op, request)
        except psycopg.Error:
            continue
        answered += 1
    called = db.execute(
        "select funcname, lanname from pg_stat_xact_user_functions"
        " join pg_proc on oid = funcid join pg_language on pg_language.oid = prolang"
        " where schemaname = 'loom'"
    ).fetchall()
    assert answered > 100
    assert ("_admit", "plpgsql") in called
    assert sorted(name for name, language in called if language == "sql") == []

"""Applying the functions, reference data and grants as one set, and judging the result."""

from __future__ import annotations

from typing import Any

import psycopg
from psycopg import sql

from loom.migrate_errors import MigrationError
from loom.migrate_extensions import present_additions
from loom.migrate_roles import acting_as_owners
from loom.migrate_script import run_script
from loom.sql_lint import undeclared_functions
from loom.sql_tree import SqlTree

Connection = psycopg.Connection[Any]

_OWN_FUNCTIONS = """
select p.oid::regprocedure::text
from pg_catalog.pg_proc p
where p.pronamespace = 'loom'::regnamespace and p.proowner = current_user::regrole
  and not exists (
    select from pg_catalog.pg_depend d
    where d.classid = 'pg_proc'::regclass and d.objid = p.oid and d.deptype = 'e'
  )
order by 1
"""

# The path that each function pins, because its validator judges by the path of the session.
_VALIDATED_FUNCTIONS = """
select p.oid, p.oid::regprocedure::text, l.lanname,
  coalesce((
    select substr(setting, 13) from unnest(p.proconfig) setting where setting ^@ 'search_path='
  ), '')
from pg_catalog.pg_proc p
join pg_catalog.pg_language l on l.oid = p.prolang
where p.pronamespace = 'loom'::regnamespace and l.lanname in ('plpgsql', 'sql')
  and not exists (
    select from pg_catalog.pg_depend d
    where d.classid = 'pg_proc'::regclass and d.objid = p.oid and d.deptype = 'e'
  )
order by 2
"""

_STORE_DIGEST = """
insert into loom.functions_digest (sha256, applied_at) values (%s, now())
on conflict (single) do update set sha256 = excluded.sha256, applied_at = excluded.applied_at
"""


def apply_functions(conn: Connection, tree: SqlTree) -> None:
    """Applies the whole set in one transaction; on any error nothing of it stays.

    Raises MigrationError for a file that does not run, a function whose body is wrong, and a
    function in schema loom that no file declares.
    """
    with conn.transaction(), acting_as_owners(conn):
        # Files may name functions of files that come later; bodies are judged when all are there.
        conn.execute("set local check_function_bodies = off")
        present = present_additions(conn, tree)
        for script in (*tree.functions, *(each for one in present for each in one.functions)):
            run_script(conn, script)
        _hand_to_api(conn)
        for script in (tree.operations, *tree.data, tree.gone):
            run_script(conn, script)
        run_script(conn, tree.grants)
        for addition in present:
            for script in (*addition.data, addition.grants):
                run_script(conn, script)
        _validate_bodies(conn)
        refuse_undeclared(conn, tree)
        conn.execute(_STORE_DIGEST, (tree.functions_sha256,))


def refuse_undeclared(conn: Connection, tree: SqlTree) -> None:
    """Raises MigrationError when schema loom holds a function that no file declares."""
    undeclared = undeclared_functions(conn, tree)
    if undeclared:
        raise MigrationError(
            f"schema loom holds functions that no file declares: {', '.join(undeclared)}",
            hint="A function that is gone from the files is dropped by sql/gone.sql; "
            "one that is not Loom's does not belong in its schema.",
        )


def _hand_to_api(conn: Connection) -> None:
    """Gives the functions just made to loom_api; grants.sql names those that have another owner."""
    for (signature,) in conn.execute(_OWN_FUNCTIONS).fetchall():
        statement = "alter function " + signature + " owner to loom_api"
        conn.execute(statement.encode())


def _validate_bodies(conn: Connection) -> None:
    conn.execute("set local check_function_bodies = on")
    for oid, signature, language, path in conn.execute(_VALIDATED_FUNCTIONS).fetchall():
        conn.execute("select set_config('search_path', %s, true)", (path,))
        validator = sql.SQL(
            "select pg_catalog.plpgsql_validator(%s)"
            if language == "plpgsql"
            else "select pg_catalog.fmgr_sql_validator(%s)"
        )
        try:
            conn.execute(validator, (oid,))
        except psycopg.OperationalError:
            raise
        except psycopg.DatabaseError as error:
            raise MigrationError(
                f"function {signature} is broken: {error.diag.message_primary}\n"
                f"{error.diag.context or ''}".rstrip(),
                hint=error.diag.message_hint,
            ) from error
    conn.execute("set local search_path = ''")

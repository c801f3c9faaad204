"""Running one SQL file, with errors that name its line."""

from __future__ import annotations

from typing import Any

import psycopg

from loom.migrate_errors import MigrationError
from loom.sql_tree import Script


def run_script(conn: psycopg.Connection[Any], script: Script) -> None:
    """Sends the whole file as one query. Raises MigrationError that names file and line.

    What is not the file's fault (a lost connection, a lock not to be had) is raised as it comes.
    """
    try:
        conn.execute(script.text.encode())
    except psycopg.OperationalError:
        raise
    except psycopg.DatabaseError as error:
        raise MigrationError(describe(script, error), hint=error.diag.message_hint) from error


def describe(script: Script, error: psycopg.Error) -> str:
    """`path:line: message`, with the server's context when it gave one."""
    position = error.diag.statement_position
    line = f":{script.text[: int(position) - 1].count(chr(10)) + 1}" if position else ""
    context = f"\n{error.diag.context}" if error.diag.context else ""
    return f"{script.path}{line}: {error.diag.message_primary or error}{context}"

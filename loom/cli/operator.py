"""What an operator does in the database, under the migration login."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.types.json import Jsonb

from loom.installation import Installation
from loom.postgres_binaries import EmbeddedError, find

_STATEMENTS = {
    "token.mint": "select loom.token_mint(%s)",
    "token.list": "select loom.token_list(%s)",
    "token.revoke": "select loom.token_revoke(%s)",
}


def call(installation: Installation, op: str, **request: Any) -> dict[str, Any]:
    """Run an operation as admin of the org that the request names; return its answer.

    The embedded server is brought up to date before. Raises ``psycopg.Error``; a refusal has an
    SQLSTATE of class LM.
    """
    if installation.is_embedded:
        installation.migrate(in_passing=True)
    given = {name: value for name, value in request.items() if value is not None}
    with psycopg.connect(installation.migration_dsn, autocommit=True) as conn:
        row = conn.execute(_STATEMENTS[op].encode(), (Jsonb(given),)).fetchone()
    return dict(row[0]) if row else {}


def pages(installation: Installation, op: str, **request: Any) -> Iterator[dict[str, Any]]:
    """Every item of a listing operation, page after page."""
    cursor = None
    while True:
        page = call(installation, op, **request, limit=200, cursor=cursor)
        yield from page["items"]
        cursor = page["next_cursor"]
        if cursor is None:
            return


def psql(installation: Installation, arguments: Sequence[str]) -> int:
    """Run psql until it ends; return its exit code.

    It is a child, not this process's successor, so that the share in the embedded server is held
    until then. A password goes by the environment: arguments are everybody's to see. So does the
    user: one that stood in the connection string would silently win over ``-U``.
    """
    parameters = conninfo_to_dict(installation.migration_dsn)
    variables = {
        "PGUSER": parameters.pop("user", None),
        "PGPASSWORD": parameters.pop("password", None),
    }
    env = {**os.environ, **{name: str(value) for name, value in variables.items() if value}}
    argv = [_psql_program(installation), make_conninfo("", **parameters), *arguments]
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # it is psql's, to cancel a statement
    return subprocess.run(argv, env=env, check=False).returncode


def _psql_program(installation: Installation) -> str:
    """The psql that belongs to the server, else that of the installed server, else the path's."""
    try:
        folder = installation.bin_dir or find().folder
    except EmbeddedError:
        return "psql"
    program = folder / "psql"
    return str(program) if program.exists() else "psql"


def table(rows: Sequence[Mapping[str, Any]], columns: Sequence[str]) -> str:
    """Rows as lines of text under a heading; what is null shows as ``-``."""
    cells = [[str(row.get(name) or "-") for name in columns] for row in rows]
    lines = [list(columns), *cells]
    widths = [max(len(line[place]) for line in lines) for place in range(len(columns))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in lines
    )

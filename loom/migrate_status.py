"""What a database has of Loom, compared with the files."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import psycopg

from loom.migrate_errors import MigrationError
from loom.migrate_extensions import extension_schemas, present_additions
from loom.sql_tree import SqlTree

Connection = psycopg.Connection[Any]

OLDEST_SERVER = 150000
"""The floor, as PostgreSQL's server_version_num."""

_RECORD = """
select pg_catalog.has_schema_privilege(n.oid, 'usage')
  and pg_catalog.has_table_privilege(c.oid, 'select')
from pg_catalog.pg_class c
join pg_catalog.pg_namespace n on n.oid = c.relnamespace
where n.nspname = 'loom' and c.relname = 'migration'
"""

_BODIES = """
select proname::text, prosrc from pg_catalog.pg_proc
where pronamespace = pg_catalog.to_regnamespace('loom')
"""


@dataclass(frozen=True)
class Status:
    """A database beside the files. Migrations are named as their files are, without the ending.

    `bootstrapped`: it has Loom's schema. `readable`: this login may read what was applied; if not,
    the fields after it are as for an empty database. `unknown`: applied here, but not in the files,
    so the database is newer. `changed`: applied from another text than the file now has.
    `addable`: migrations of additions for which the database has the extension by now. None of them
    is among `applied` and `pending`.
    """

    server_version: int
    bootstrapped: bool
    readable: bool
    applied: tuple[str, ...]
    pending: tuple[str, ...]
    unknown: tuple[str, ...]
    changed: tuple[str, ...]
    functions_current: bool
    addable: tuple[str, ...] = ()

    @property
    def current(self) -> bool:
        """Whether this code and the database belong together as they are."""
        return (
            not (self.pending or self.addable or self.unknown or self.changed)
            and self.functions_current
        )

    def refuse_unless_ours(self) -> None:
        """Raises MigrationError when the database is newer than the files, or of other files."""
        if self.unknown:
            raise MigrationError(
                "the database is newer than this code: it has migrations "
                f"{', '.join(self.unknown)}, which this code does not know",
                hint="Use the version of Loom that migrated it, or a later one.",
            )
        if self.changed:
            raise MigrationError(
                f"migrations {', '.join(self.changed)} have other text than what was applied here",
                hint="A released migration never changes: restore its text. If it was not yet "
                "released, make the database anew.",
            )


def check_server(conn: Connection) -> None:
    """Raises MigrationError for a server or database that Loom cannot run on."""
    if conn.info.server_version < OLDEST_SERVER:
        raise MigrationError(
            f"the server is PostgreSQL {conn.info.server_version // 10000}; Loom needs 15 or newer"
        )
    row = conn.execute(
        "select current_setting('server_encoding'), pg_catalog.pg_is_in_recovery()"
    ).fetchone()
    encoding, standby = row or ("", False)
    if encoding != "UTF8":
        raise MigrationError(
            f"the encoding of database {conn.info.dbname} is {encoding}; Loom needs UTF8",
            hint=f"create database {conn.info.dbname} encoding 'UTF8' template template0",
        )
    if standby:
        raise MigrationError("the server is a standby, which takes no writes")


def read_status(conn: Connection, tree: SqlTree) -> Status:
    """Compares; needs no more rights than to connect, but tells more with the right to read."""
    row = conn.execute(_RECORD).fetchone()
    bootstrapped, readable = row is not None, bool(row and row[0])
    stored: dict[str, str] = {}
    digest: str | None = None
    if readable:
        stored = dict(conn.execute("select name, sha256 from loom.migration").fetchall())
        found = conn.execute("select sha256 from loom.functions_digest").fetchone()
        digest = found[0] if found else None
    in_files = {script.record: script.sha256 for script in tree.all_migrations}
    own = [script.record for script in tree.migrations]
    installed = extension_schemas(conn)
    return Status(
        server_version=conn.info.server_version,
        bootstrapped=bootstrapped,
        readable=readable,
        applied=tuple(name for name in own if name in stored),
        pending=tuple(name for name in own if name not in stored),
        unknown=tuple(sorted(name for name in stored if name not in in_files)),
        changed=tuple(
            sorted(name for name in stored if name in in_files and stored[name] != in_files[name])
        ),
        functions_current=digest == tree.functions_sha256 and _names_extensions(conn, tree),
        addable=tuple(
            script.record
            for addition in tree.additions
            for script in addition.migrations
            if addition.extension in installed and script.record not in stored
        ),
    )


def _names_extensions(conn: Connection, tree: SqlTree) -> bool:
    """Whether additions' functions name their extension's schema as it is now: an operator may
    have moved the extension since, and their bodies are text."""
    bodies = dict(conn.execute(_BODIES).fetchall())
    scripts = [script for each in present_additions(conn, tree) for script in each.functions]
    return all(bodies.get(script.name, "") in script.text for script in scripts)

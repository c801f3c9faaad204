"""Bringing a database to the schema of this code, and telling how far it is from it.

One applier works on a database at a time; others wait for it by asking again and again for the
same advisory lock. Asking leaves no transaction open, so whoever holds the lock never waits for
those who wait. Migrations run one transaction each, then functions, reference data and grants as
one set. Each of these gives way to writers and is tried again while a lock is not to be had.
Everything is in schema `loom`.

The functions that take a DSN open and close their own connection. `migrate_connection` works on an
open one, also inside a transaction of the caller's, which then decides whether all of it stays.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
from psycopg import errors

from loom.heeded import Heeded
from loom.migrate_errors import MigrationError
from loom.migrate_extensions import make_extensions, open_schema, present_additions
from loom.migrate_functions import apply_functions, refuse_undeclared
from loom.migrate_locks import among_writers
from loom.migrate_roles import ensure_roles, set_passwords
from loom.migrate_script import run_script
from loom.migrate_status import Status, check_server, read_status
from loom.sql_tree import Script, SqlTree, SqlTreeError

__all__ = [
    "Expected",
    "MigrationError",
    "Report",
    "SqlTreeError",
    "Status",
    "expected",
    "migrate",
    "migrate_connection",
    "status",
]

Connection = psycopg.Connection[Any]

LOCK_KEY = int.from_bytes(b"loom", "big")
"""Key of the advisory lock on the database that its applier holds."""

_POLL_SECONDS = 0.1
_LOG_WAIT_SECONDS = 5.0

# Roles and databases may carry time-outs and a path of their own; a migration runs without them.
# What else waits for a lock, work on roles, does so for no more than a minute.
_SESSION = (
    "set search_path = ''",
    "set statement_timeout = 0",
    "set idle_in_transaction_session_timeout = 0",
    "set lock_timeout = '60s'",
    "set client_min_messages = warning",
)

_HOLDER = """
select pid from pg_catalog.pg_locks
where locktype = 'advisory' and granted and objsubid = 1
  and database = (select oid from pg_catalog.pg_database where datname = current_database())
  and (classid::bigint << 32) | objid::bigint = %s
"""


@dataclass(frozen=True)
class Report:
    """What a run changed. All empty when the database was up to date."""

    migrations: tuple[str, ...]
    functions_applied: bool
    roles: tuple[str, ...]
    additions: tuple[str, ...] = ()

    @property
    def changed(self) -> bool:
        return bool(self.migrations or self.additions or self.functions_applied or self.roles)


@dataclass(frozen=True)
class Expected:
    """The schema this code belongs to: name of its last migration, digest of its functions."""

    migration: str
    functions_sha256: str


def expected(root: Path | None = None) -> Expected:
    """What a database must be at, read from the SQL files. Raises SqlTreeError."""
    tree = SqlTree.read(root)
    return Expected(tree.migrations[-1].name, tree.functions_sha256)


def status(dsn: str, *, root: Path | None = None) -> Status:
    """How far the database is from the files; changes nothing, waits for nobody.

    `pending` and `functions_current` are what a dry run shows.
    """
    tree = SqlTree.read(root)
    with psycopg.connect(dsn, autocommit=True, client_encoding="utf8") as conn:
        check_server(conn)
        return read_status(conn, tree)


def migrate(
    dsn: str,
    *,
    passwords: Mapping[str, str] | None = None,
    heeded: Heeded | None = None,
    log: Callable[[str], None],
    root: Path | None = None,
    wait_seconds: float = 600.0,
) -> Report:
    """Brings the database up to date as the login of `dsn`, a superuser or the database's owner.

    `passwords` are for loom_gateway and loom_worker; `heeded` are settings that functions heed,
    left as they are when None. `log` gets a line for each change. Raises
    MigrationError (also when another applier holds the lock longer than `wait_seconds`),
    SqlTreeError, or psycopg.OperationalError when the server cannot be reached, or others hold a
    lock that a step needs for that long.
    """
    with psycopg.connect(dsn, autocommit=True, client_encoding="utf8") as conn:
        return migrate_connection(
            conn,
            passwords=passwords,
            heeded=heeded,
            log=log,
            root=root,
            wait_seconds=wait_seconds,
        )


def migrate_connection(
    conn: Connection,
    *,
    passwords: Mapping[str, str] | None = None,
    heeded: Heeded | None = None,
    log: Callable[[str], None],
    root: Path | None = None,
    wait_seconds: float = 600.0,
) -> Report:
    """As `migrate`, on an open connection, whose session settings it changes."""
    tree = SqlTree.read(root)
    check_server(conn)
    _prepare_session(conn)
    with _only_applier(conn, wait_seconds, log):
        # Before anything is touched, as far as this login may look already.
        read_status(conn, tree).refuse_unless_ours()
        roles = ensure_roles(conn, tree) + set_passwords(conn, passwords or {})
        for line in roles:
            log(line)
        _bootstrap(conn, tree)
        state = read_status(conn, tree)
        state.refuse_unless_ours()
        for script in tree.migrations:
            if script.record in state.pending:
                _apply_migration(conn, script, script, wait_seconds, log)
                log(f"migration {script.record} applied")
        extended = _extend(conn, tree, wait_seconds, log)
        functions_due = bool(state.pending or extended) or not state.functions_current
        if functions_due:
            among_writers(conn, lambda: apply_functions(conn, tree), wait_seconds, log)
            log(f"{len(tree.functions)} functions applied")
        else:
            refuse_undeclared(conn, tree)
        if heeded is not None:
            heeded.put(conn)
    return Report(state.pending, functions_due, roles, extended)


def _prepare_session(conn: Connection) -> None:
    for setting in _SESSION:
        conn.execute(setting)
    # A statement whose client was killed ends soon, and with it the lock. Servers on systems that
    # cannot watch a connection refuse the setting; there the lock stays until the statement's end.
    with suppress(errors.InvalidParameterValue), conn.transaction():
        conn.execute("set client_connection_check_interval = '1s'")


@contextmanager
def _only_applier(
    conn: Connection, wait_seconds: float, log: Callable[[str], None]
) -> Iterator[None]:
    _take_lock(conn, wait_seconds, log)
    try:
        yield
    finally:
        # A connection that is lost, or whose transaction failed, gives the lock up by itself later.
        if not conn.closed and conn.info.transaction_status != psycopg.pq.TransactionStatus.INERROR:
            conn.execute("select pg_advisory_unlock(%s)", (LOCK_KEY,))


def _take_lock(conn: Connection, wait_seconds: float, log: Callable[[str], None]) -> None:
    started = time.monotonic()
    next_line = started + _LOG_WAIT_SECONDS
    while True:
        row = conn.execute("select pg_try_advisory_lock(%s)", (LOCK_KEY,)).fetchone()
        if row and row[0]:
            return
        now = time.monotonic()
        if now - started >= wait_seconds:
            raise MigrationError(
                f"another session (pid {_holder(conn)}) has been migrating this database "
                f"for {wait_seconds:.0f} seconds"
            )
        if now >= next_line:
            log(f"waiting for another session (pid {_holder(conn)}) that migrates this database")
            next_line = now + _LOG_WAIT_SECONDS
        time.sleep(_POLL_SECONDS)


def _holder(conn: Connection) -> int | None:
    row = conn.execute(_HOLDER, (LOCK_KEY,)).fetchone()
    return int(row[0]) if row else None


def _bootstrap(conn: Connection, tree: SqlTree) -> None:
    row = conn.execute(
        "select pg_catalog.pg_get_userbyid(nspowner) from pg_catalog.pg_namespace"
        " where nspname = 'loom'"
    ).fetchone()
    if row and row[0] != "loom_owner":
        raise MigrationError(
            f"this database has a schema loom that belongs to {row[0]}, not to loom_owner",
            hint="Give Loom a database in which the schema name loom is free.",
        )
    if not read_status(conn, tree).bootstrapped:
        with conn.transaction():
            run_script(conn, tree.bootstrap)


def _extend(
    conn: Connection, tree: SqlTree, wait_seconds: float, log: Callable[[str], None]
) -> tuple[str, ...]:
    """Applies what additions have for extensions that are there, or that this login may make."""
    make_extensions(conn, tree, log)
    due = read_status(conn, tree).addable
    for addition in present_additions(conn, tree):
        open_schema(conn, addition.extension)
        for script in addition.migrations:
            if script.record in due:
                (as_written,) = (each for each in tree.all_migrations if each.path == script.path)
                _apply_migration(conn, script, as_written, wait_seconds, log)
                log(f"{script.record} applied")
    return due


def _apply_migration(
    conn: Connection,
    script: Script,
    as_written: Script,
    wait_seconds: float,
    log: Callable[[str], None],
) -> None:
    def apply() -> None:
        conn.execute("set local role loom_owner")
        run_script(conn, script)
        conn.execute(
            "insert into loom.migration (name, sha256) values (%s, %s)",
            (as_written.record, as_written.sha256),
        )
        conn.execute("set local role none")

    among_writers(conn, apply, wait_seconds, log)

"""The applier's work on roles, which belong to the whole cluster while its lock is per database.

Two databases of one cluster may be migrated at once, so each step here may meet a rival that makes
or changes the same role. Such a step is tried again, a bounded number of times, and looks at the
catalog afresh each time.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, LiteralString

import psycopg
from psycopg import conninfo, errors, sql

from loom.migrate_errors import MigrationError
from loom.sql_tree import SqlTree

Connection = psycopg.Connection[Any]

OWNERS = ("loom_api", "loom_scheduler", "loom_search")
"""The owners of functions, which the migration login acts as while it applies them."""

LOGINS = ("loom_gateway", "loom_worker")
"""The clients that Loom's own processes log in as."""

# What a rival's commit between our look and our change raises: it exists by now (42710, 23505), or
# its catalog row was changed in the meantime (XX000, "tuple concurrently updated").
_RIVAL = frozenset({"42710", "23505", "XX000", "40P01"})
_MOST_TRIES = 20
_LONGEST_PAUSE_SECONDS = 0.2


def despite_rivals(conn: Connection, step: Callable[[], None]) -> None:
    """Runs `step` in a transaction of its own, again while a rival in the cluster interferes."""
    for tries_left in reversed(range(_MOST_TRIES)):
        try:
            with conn.transaction():
                step()
            return
        except psycopg.Error as error:
            if error.sqlstate not in _RIVAL or tries_left == 0:
                raise
            time.sleep(random.uniform(0, _LONGEST_PAUSE_SECONDS))


def ensure_roles(conn: Connection, tree: SqlTree) -> tuple[str, ...]:
    """Makes and corrects the roles where the catalog differs. Returns what it did, a line a change.

    Raises MigrationError when something is to be changed and this login may not.
    """
    changes: list[str] = []

    def step() -> None:
        changes.clear()
        conn.execute(tree.roles.text.encode())

    def on_notice(notice: errors.Diagnostic) -> None:
        changes.append(notice.message_primary or "")

    conn.add_notice_handler(on_notice)
    conn.execute("set client_min_messages = notice")
    try:
        despite_rivals(conn, step)
    except errors.InsufficientPrivilege as error:
        raise MigrationError(
            f"the roles cannot be set up: {error}", hint=_by_hand(conn, error)
        ) from error
    finally:
        conn.remove_notice_handler(on_notice)
    return tuple(changes)


@contextmanager
def acting_as_owners(conn: Connection) -> Iterator[None]:
    """Lets the login act as the function owners, and lets them create, inside an open transaction.

    The grants end with the block. As they never outlast the transaction no other session sees them;
    a rival in another database waits at them until this transaction ends.
    """
    borrowed: list[str] = []
    for role in OWNERS:
        if not _may_act_as(conn, role):
            _borrow(conn, role)
            borrowed.append(role)
    owners = sql.SQL(", ").join(map(sql.Identifier, OWNERS))
    conn.execute(sql.SQL("grant create on schema loom to {}").format(owners))
    yield
    conn.execute(sql.SQL("revoke create on schema loom from {}").format(owners))
    for role in borrowed:
        conn.execute(sql.SQL("revoke {} from current_user").format(sql.Identifier(role)))


def set_passwords(conn: Connection, passwords: Mapping[str, str]) -> tuple[str, ...]:
    """Gives client logins these passwords, unless they can log in with them already.

    The server gets a SCRAM verifier, never the password, so that none ends in its logs.
    """
    changes: list[str] = []
    for role, password in passwords.items():
        if role not in LOGINS:
            raise MigrationError(
                f"{role} is no login of Loom; passwords are for {', '.join(LOGINS)}"
            )
        if not _can_log_in(conn, role, password):
            _set_password(conn, role, password)
            changes.append(f"role {role} has a new password")
    return tuple(changes)


def _may_act_as(conn: Connection, role: str) -> bool:
    # Both are needed: the rights of the role (to replace its functions), and leave to become it.
    needed: Sequence[LiteralString] = (
        ("usage", "set") if conn.info.server_version >= 160000 else ("usage", "member")
    )
    row = conn.execute(
        "select bool_and(pg_has_role(current_user, %s, right_)) from unnest(%s::text[]) right_",
        (role, list(needed)),
    ).fetchone()
    return bool(row and row[0])


def _borrow(conn: Connection, role: str) -> None:
    options = (
        sql.SQL("with inherit true, set true")
        if conn.info.server_version >= 160000
        else sql.SQL("")
    )
    grant = sql.SQL("grant {} to current_user {}").format(sql.Identifier(role), options)
    try:
        despite_rivals(conn, lambda: _execute(conn, grant))
    except errors.InsufficientPrivilege as error:
        raise MigrationError(
            f"this login may not act as {role}: {error}", hint=_by_hand(conn, error)
        ) from error
    if not _may_act_as(conn, role):
        raise MigrationError(
            f"login {conn.info.user} does not inherit the rights of the roles it is a member of",
            hint=f"alter role {conn.info.user} inherit",
        )


def _execute(conn: Connection, statement: sql.Composable) -> None:
    conn.execute(sql.Composed([statement]))


def _can_log_in(conn: Connection, role: str, password: str) -> bool:
    dsn = conninfo.make_conninfo(conn.info.dsn, user=role, password=password, connect_timeout=10)
    try:
        psycopg.connect(dsn).close()
    except psycopg.OperationalError:
        return False
    return True


def _set_password(conn: Connection, role: str, password: str) -> None:
    verifier = conn.pgconn.encrypt_password(password.encode(), role.encode(), b"scram-sha-256")
    statement = sql.SQL("alter role {} password {}").format(
        sql.Identifier(role), sql.Literal(verifier.decode())
    )
    try:
        despite_rivals(conn, lambda: _execute(conn, statement))
    except errors.InsufficientPrivilege as error:
        raise MigrationError(
            f"this login may not set the password of {role}: {error}",
            hint=f"Have the password of {role} set by someone who may, and give the full "
            "connection strings in LOOM_GATEWAY_DATABASE_URL and LOOM_WORKER_DATABASE_URL.",
        ) from error


def _by_hand(conn: Connection, error: psycopg.Error) -> str:
    said = f"{error.diag.message_hint}. " if error.diag.message_hint else ""
    return (
        f"{said}This login needs CREATEROLE, or someone who may create roles runs sql/roles.sql "
        f"once in this database and then: grant loom_owner, {', '.join(OWNERS)} to "
        f'"{conn.info.user}";'
    )

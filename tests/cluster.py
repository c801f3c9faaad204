"""The PostgreSQL server that tests run on: one of our own, or the one `LOOM_DATABASE_URL` names.

Our own is thrown away whole, so nothing on it is cleaned up. On a server of the user's, what the
tests made is dropped at the end, and logins that were there before are not touched.
"""

from __future__ import annotations

import os
import secrets
import shutil
import signal
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import psycopg
from psycopg import conninfo, sql

from loom.embedded import EmbeddedServer
from loom.embedded_process import is_server

Connection = psycopg.Connection[Any]

SERVICES = {
    "loom_test_viewer": "loom_viewer",
    "loom_test_writer": "loom_writer",
    "loom_test_admin": "loom_admin",
    "loom_test_operator": "loom_operator",
}
"""Logins of pretended services, each a member of one client role, bound to no org."""

PLAIN_LOGINS = ("loom_test_owner", "loom_test_stranger")
"""Logins for tests of the applier: a database's owner who is no superuser, and nobody."""

CLIENT_ROLES = (
    "loom_gateway",
    "loom_worker",
    "loom_viewer",
    "loom_writer",
    "loom_admin",
    "loom_operator",
)

_FOLDER = "loom-test-"

_UNSAFE_BUT_FAST = {
    "fsync": "off",
    "synchronous_commit": "off",
    "full_page_writes": "off",
    "autovacuum": "off",
    "max_connections": "200",
}


@dataclass
class Cluster:
    """A running server. `base` connects as a superuser; `own` says whether it is ours to break.

    `passwords` are of logins that need one; on our own server none does.
    """

    base: str
    own: bool
    prefix: str
    passwords: dict[str, str] = field(default_factory=dict)
    preloaded: bool = False

    @cached_property
    def version(self) -> int:
        """As PostgreSQL counts it (18.6: 180006)."""
        with self.maintenance() as conn:
            return conn.info.server_version

    def dsn(self, dbname: str, user: str | None = None) -> str:
        """A connection string for a database, as the superuser or as another login."""
        if user is None:
            return conninfo.make_conninfo(self.base, dbname=dbname)
        password = self.passwords.get(user)
        return conninfo.make_conninfo(self.base, dbname=dbname, user=user, password=password)

    def connect(self, dbname: str, user: str | None = None) -> Connection:
        """An autocommit connection."""
        return psycopg.connect(self.dsn(dbname, user), autocommit=True)

    @contextmanager
    def maintenance(self) -> Iterator[Connection]:
        """A superuser's connection from which databases and roles are made."""
        with self.connect("postgres") as conn:
            yield conn

    def create(self, dbname: str, *, template: str = "template0", owner: str | None = None) -> None:
        """Makes a database; as a copy of the template's files, which takes some 20 ms."""
        statement = sql.SQL("create database {} template {} strategy file_copy").format(
            sql.Identifier(dbname), sql.Identifier(template)
        )
        if owner is not None:
            statement += sql.SQL(" owner {}").format(sql.Identifier(owner))
        with self.maintenance() as conn:
            conn.execute(statement)

    def make_login(self, name: str, *, member_of: str | None = None) -> None:
        """Makes a test login where it is missing, and makes it a member of a group."""
        with self.maintenance() as conn:
            login = sql.Identifier(name)
            known = conn.execute("select from pg_roles where rolname = %s", (name,)).fetchone()
            if known is None:
                conn.execute(sql.SQL("create role {} login").format(login))
            if not self.own:
                self.passwords[name] = secrets.token_hex(16)
                conn.execute(
                    sql.SQL("alter role {} password {}").format(
                        login, sql.Literal(self.passwords[name])
                    )
                )
            if member_of is not None:
                conn.execute(sql.SQL("grant {} to {}").format(sql.Identifier(member_of), login))


@contextmanager
def own_server(*, preload: str | None = None) -> Iterator[Cluster]:
    """A new server of the installed PostgreSQL (or LOOM_PG_BIN's), in memory where that can be."""
    memory = Path("/dev/shm")
    parent = memory if os.access(memory, os.W_OK | os.X_OK) else Path(tempfile.gettempdir())
    _sweep(parent)
    folder = Path(tempfile.mkdtemp(prefix=f"{_FOLDER}{os.getpid()}-", dir=parent))
    settings = dict(_UNSAFE_BUT_FAST)
    if preload is not None:
        settings["shared_preload_libraries"] = preload
    try:
        with EmbeddedServer(
            folder / "data", settings=settings, logins=(*SERVICES, *PLAIN_LOGINS)
        ) as server:
            yield Cluster(
                base=server.dsn("postgres", "postgres"),
                own=True,
                prefix="loom_test",
                preloaded=preload is not None,
            )
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _sweep(parent: Path) -> None:
    """Ends and removes the servers of test runs that were killed, as far as they are ours."""
    for folder in parent.glob(f"{_FOLDER}[0-9]*-*"):
        with suppress(FileNotFoundError):  # another run sweeps too, or ends
            owner = folder.name.removeprefix(_FOLDER).partition("-")[0]
            if folder.stat().st_uid == os.geteuid() and not _runs(int(owner)):
                _end_server(folder / "data" / "postgres" / "data")
                shutil.rmtree(folder, ignore_errors=True)


def _end_server(data: Path) -> None:
    pid_file = data / "postmaster.pid"
    if not pid_file.exists():
        return
    pid = int(pid_file.read_text(encoding="utf-8").splitlines()[0])
    if is_server(pid, data):
        os.kill(pid, signal.SIGQUIT)


def _runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


@contextmanager
def users_server(url: str) -> Iterator[Cluster]:
    """The server behind a connection string, which must be a superuser's; left as it was found."""
    cluster = Cluster(base=url, own=False, prefix=f"loom_test_{os.getpid()}")
    with cluster.maintenance() as conn:
        superuser = conn.execute("select rolsuper from pg_roles where rolname = user").fetchone()
        if superuser != (True,):
            raise RuntimeError("LOOM_DATABASE_URL: the tests need a superuser's login")
        before = _loom_roles(conn)
        preloaded = conn.execute("show shared_preload_libraries").fetchone()
        cluster.preloaded = "pg_stat_statements" in (preloaded or ("",))[0]
    try:
        yield cluster
    finally:
        _clean_up(cluster, before)


def _loom_roles(conn: Connection) -> set[str]:
    rows = conn.execute(r"select rolname from pg_roles where rolname ^@ 'loom_'").fetchall()
    return {name for (name,) in rows}


def _clean_up(cluster: Cluster, roles_before: set[str]) -> None:
    with cluster.maintenance() as conn:
        made = conn.execute(
            "select datname from pg_database where datname ^@ %s", (cluster.prefix,)
        ).fetchall()
        for (dbname,) in made:
            conn.execute(sql.SQL("drop database {} with (force)").format(sql.Identifier(dbname)))
        for role in sorted(_loom_roles(conn) - roles_before):
            conn.execute(sql.SQL("drop role {}").format(sql.Identifier(role)))

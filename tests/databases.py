"""Databases for tests: two templates, migrated once a session, and copies of them.

`clean` is what the applier makes. `base` is that, with a clock that tests can stop: its
`loom._now()` reads the table `loom_test.clock`, and the real clock while the table is empty.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

import psycopg
from psycopg import sql

from loom.migrate import migrate
from tests.cluster import SERVICES, Cluster

Connection = psycopg.Connection[Any]

_CLOCK = """
create schema loom_test;
create table loom_test.clock (
  single boolean primary key default true check (single), at timestamptz not null
);
grant usage on schema loom_test to loom_api, loom_scheduler;
grant select on loom_test.clock to loom_api, loom_scheduler;
create or replace function loom._now() returns timestamptz
language plpgsql volatile
set search_path = loom, pg_temp
as $$
begin
  return coalesce((select at from loom_test.clock), clock_timestamp());
end
$$;
"""

_numbers = itertools.count(1)


@dataclass(frozen=True)
class Templates:
    """Names of the two template databases."""

    clean: str
    base: str


def make_templates(cluster: Cluster) -> Templates:
    """Migrates `clean`, makes the services' logins, and derives `base`."""
    templates = Templates(clean=f"{cluster.prefix}_clean", base=f"{cluster.prefix}_base")
    cluster.create(templates.clean)
    migrate(cluster.dsn(templates.clean), log=lambda _line: None)
    for login, group in SERVICES.items():
        cluster.make_login(login, member_of=group)
    cluster.create(templates.base, template=templates.clean)
    with cluster.connect(templates.base) as conn:
        conn.execute(_CLOCK.encode())
        if cluster.preloaded:
            conn.execute("create extension pg_stat_statements schema loom_test")
    return templates


class Clock:
    """The stopped clock of a database, as `loom._now()` reads it on any connection to it."""

    def __init__(self, conn: Connection) -> None:
        self._conn = conn

    def set(self, at: datetime) -> datetime:
        """Stops the clock at a time (with a time zone); returns it."""
        self._conn.execute(
            "insert into loom_test.clock (at) values (%s) "
            "on conflict (single) do update set at = excluded.at",
            (at,),
        )
        return at

    def advance(self, **amount: float) -> datetime:
        """Moves a stopped clock by what `timedelta` takes, e.g. `seconds=60`; returns the time."""
        row = self._conn.execute(
            "update loom_test.clock set at = at + %s returning at", (timedelta(**amount),)
        ).fetchone()
        assert row is not None, "the clock has not been stopped"
        return row[0]  # type: ignore[no-any-return]

    def release(self) -> None:
        """Lets the clock run again."""
        self._conn.execute("delete from loom_test.clock")


@dataclass
class Database:
    """A database of one test's own, in which it may commit. Its connections close with the test."""

    cluster: Cluster
    name: str
    _opened: list[Connection] = field(default_factory=list)

    def dsn(self, user: str | None = None) -> str:
        return self.cluster.dsn(self.name, user)

    def connect(self, user: str | None = None) -> Connection:
        """An autocommit connection, as the migration login (a superuser) or as another login.

        A login that is not of the tests' making has no password here on a server of the user's; it
        is then taken on after connecting, which is the same for `session_user` and all rights.
        """
        if user is None or self.cluster.own or user in self.cluster.passwords:
            conn = self.cluster.connect(self.name, user)
        else:
            conn = self.cluster.connect(self.name)
            conn.execute(sql.SQL("set session authorization {}").format(sql.Identifier(user)))
        self._opened.append(conn)
        return conn

    def close(self) -> None:
        for conn in self._opened:
            conn.close()


def copy_of(cluster: Cluster, template: str) -> Database:
    """A fresh copy of a template."""
    name = f"{cluster.prefix}_{next(_numbers):04d}"
    cluster.create(name, template=template)
    return Database(cluster, name)

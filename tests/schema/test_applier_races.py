"""Appliers that run at the same time, as real processes and with proven waits."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import psycopg
import pytest

from loom.migrate import LOCK_KEY, MigrationError, migrate, migrate_connection, status
from loom.migrate_roles import acting_as_owners
from tests.cluster import Cluster
from tests.databases import Database
from tests.races import Rival, wait_until, wait_until_blocked
from tests.schema.applier_process import run_together, start
from tests.schema.trees import small_tree

OWNER = "loom_test_owner"


def _assert_made_once(reports: list[dict[str, object]]) -> None:
    assert sorted(bool(report["migrations"]) for report in reports) == [False] * (
        len(reports) - 1
    ) + [True]
    assert sum(bool(report["functions_applied"]) for report in reports) == 1


def test_six_appliers_on_an_empty_server_make_one_schema(bare: Cluster) -> None:
    bare.create("shared")
    _assert_made_once(run_together([bare.dsn("shared")] * 6))
    assert status(bare.dsn("shared")).current


def test_six_appliers_of_an_owner_who_is_no_superuser_make_one_schema(bare: Cluster) -> None:
    bare.make_login(OWNER)
    bare.create("shared", owner=OWNER)
    with bare.maintenance() as conn:
        conn.execute(f"alter role {OWNER} createrole".encode())
    dsn = bare.dsn("shared", OWNER)
    _assert_made_once(run_together([dsn] * 6))
    assert status(dsn).current


def test_databases_of_one_server_are_migrated_at_once(bare: Cluster) -> None:
    """Roles are of the whole server, the applier's lock is of one database."""
    bare.make_login(OWNER)
    with bare.maintenance() as conn:
        conn.execute(f"alter role {OWNER} createrole".encode())
    names = [f"db{number}" for number in range(6)]
    for name in names:
        bare.create(name, owner=OWNER)
    reports = run_together([bare.dsn(name, OWNER) for name in names])
    assert all(report["functions_applied"] for report in reports)
    assert all(status(bare.dsn(name, OWNER)).current for name in names)


def test_a_role_that_a_rival_makes_meanwhile_is_taken_as_it_is(bare: Cluster) -> None:
    bare.create("one")
    with bare.maintenance() as rival, bare.connect("one") as conn, bare.connect("one") as observer:
        with rival.transaction():
            rival.execute("create role loom_owner")
            applier = Rival(conn, lambda: migrate_connection(conn, log=lambda _line: None))
            wait_until_blocked(observer, applier, by=rival.info.backend_pid)
        report = applier.result()
    assert "role loom_owner made" not in report.roles
    assert "role loom_api made" in report.roles
    assert status(bare.dsn("one")).current


def test_a_role_that_a_rival_corrects_meanwhile_is_looked_at_again(bare: Cluster) -> None:
    bare.create("one")
    migrate(bare.dsn("one"), log=lambda _line: None)
    with bare.maintenance() as rival, bare.connect("one") as conn, bare.connect("one") as observer:
        rival.execute("alter role loom_gateway nologin")
        with rival.transaction():
            rival.execute("alter role loom_gateway login")
            applier = Rival(conn, lambda: migrate_connection(conn, log=lambda _line: None))
            wait_until_blocked(observer, applier, by=rival.info.backend_pid)
        assert applier.result().roles == ()


def test_appliers_of_two_databases_borrow_one_after_the_other(bare: Cluster) -> None:
    bare.make_login(OWNER)
    bare.create("one", owner=OWNER)
    with bare.maintenance() as conn:
        conn.execute(f"alter role {OWNER} createrole".encode())
    migrate(bare.dsn("one", OWNER), log=lambda _line: None)
    bare.create("two", owner=OWNER)
    with (
        bare.connect("one", OWNER) as first,
        bare.connect("two", OWNER) as second,
        bare.maintenance() as observer,
    ):
        with first.transaction(), acting_as_owners(first):
            applier = Rival(second, lambda: migrate_connection(second, log=lambda _line: None))
            wait_until_blocked(observer, applier, by=first.info.backend_pid)
        assert applier.result().functions_applied


def _asks_for_the_lock(conn: psycopg.Connection[Any], database: str) -> list[str]:
    """States of the sessions whose last statement asked for the applier's lock."""
    rows = conn.execute(
        "select state from pg_stat_activity where datname = %s and pid <> pg_backend_pid() "
        "and query ^@ 'select pg_try_advisory_lock'",
        (database,),
    ).fetchall()
    return [state for (state,) in rows]


def test_o72_a_waiting_applier_stands_in_nobodys_way(clean_database: Database) -> None:
    holder, waiter = clean_database.connect(), clean_database.connect()
    holder.execute("select pg_advisory_lock(%s)", (LOCK_KEY,))
    dsn = clean_database.dsn()
    applier = Rival(waiter, lambda: migrate(dsn, log=lambda _line: None))
    wait_until(
        lambda: bool(_asks_for_the_lock(holder, clean_database.name)),
        "the applier asks for the lock",
    )
    # Waits for every transaction that is open in the database; would wait for ever on a peer that
    # has queued up for the lock that we hold.
    holder.execute("set lock_timeout = '30s'")
    holder.execute("create index concurrently on loom.token (org, role)")
    waiting = holder.execute(
        "select count(*) from pg_locks where locktype = 'advisory' and not granted"
    ).fetchone()
    assert waiting == (0,)
    assert not applier.done
    holder.execute("select pg_advisory_unlock(%s)", (LOCK_KEY,))
    assert not applier.result().changed


def test_a_wait_for_another_applier_ends_and_names_it(clean_database: Database) -> None:
    holder = clean_database.connect()
    holder.execute("select pg_advisory_lock(%s)", (LOCK_KEY,))
    with pytest.raises(MigrationError, match=rf"another session \(pid {holder.info.backend_pid}\)"):
        migrate(clean_database.dsn(), log=lambda _line: None, wait_seconds=0)


def test_an_applier_that_is_killed_leaves_neither_lock_nor_half_a_migration(
    bare: Cluster, tmp_path: Path
) -> None:
    bare.create("interrupted")
    slow = "create table loom.half ();\nselect pg_sleep(600);"
    root = small_tree(tmp_path, migrations={"0001_first": slow})
    process = start(bare.dsn("interrupted"), root)
    assert process.stdin is not None
    process.stdin.write("go\n")
    process.stdin.flush()
    with bare.connect("interrupted") as conn:
        asleep = "select from pg_stat_activity where wait_event = 'PgSleep'"
        wait_until(
            lambda: conn.execute(asleep).fetchone() is not None, "the migration is under way"
        )
    process.kill()
    process.communicate()
    (tmp_path / "migrations" / "0001_first.sql").write_text("create table loom.half ();")
    migrate(bare.dsn("interrupted"), log=lambda _line: None, root=root, wait_seconds=10)
    assert status(bare.dsn("interrupted"), root=root).current

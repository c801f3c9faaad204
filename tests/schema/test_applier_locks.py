"""The applier on a database in use: it gives way to writers, and goes on when they have ended."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import psycopg
import pytest

from loom import migrate_locks
from loom.migrate import migrate, migrate_connection, status
from loom.sql_tree import SqlTree
from tests.calls import Connection
from tests.cluster import Cluster
from tests.races import Rival, wait_until, wait_until_blocked
from tests.schema.trees import TABLES, small_tree

NAME = "in_use"
ALTERS = "alter table loom.note add column more text;"
FIRST = "0005_views"
"""Up to here is what a database of the first schema has: what comes later meets its writers."""


@pytest.fixture
def in_use(bare: Cluster, tmp_path: Path) -> Iterator[tuple[Connection, Path]]:
    """A database at the first migration of a tree whose second one alters a table."""
    bare.create(NAME)
    migrate(bare.dsn(NAME), log=lambda _line: None, root=small_tree(tmp_path))
    root = small_tree(tmp_path, migrations={"0001_first": TABLES, "0002_more": ALTERS})
    with bare.connect(NAME) as conn:
        yield conn, root


def note(conn: Connection, number: int) -> None:
    conn.execute("insert into loom.note values ('acme', %s, 'words')", (number,))


@dataclass
class Applier:
    """An applier with a connection of its own, which is begun inside the test's transaction and
    outlasts it."""

    conn: Connection
    root: Path
    lines: list[str] = field(default_factory=list)

    def begin(self) -> Rival[object]:
        return Rival(
            self.conn,
            lambda: migrate_connection(self.conn, log=self.lines.append, root=self.root),
        )


@pytest.fixture
def applier(bare: Cluster, in_use: tuple[Connection, Path]) -> Iterator[Applier]:
    with bare.connect(NAME) as conn:
        yield Applier(conn, in_use[1])


def test_who_comes_behind_a_waiting_migration_is_let_through(
    bare: Cluster, in_use: tuple[Connection, Path], applier: Applier
) -> None:
    """A long transaction has read the table; a writer would queue behind the migration for as long
    as that lasts."""
    writer, root = in_use
    writer.execute("set lock_timeout = '30s'")
    with bare.connect(NAME) as reader:
        with reader.transaction():
            reader.execute("select count(*) from loom.note")
            rival = applier.begin()
            wait_until_blocked(writer, rival, by=reader.info.backend_pid)
            note(writer, 1)
            assert not rival.done
        rival.result()
    assert status(bare.dsn(NAME), root=root).current


def test_a_writer_that_the_migration_waits_for_as_it_for_it_is_not_ended(
    bare: Cluster, in_use: tuple[Connection, Path], applier: Applier
) -> None:
    writer, root = in_use
    both = "lock table loom.operation in access exclusive mode;\n" + ALTERS
    (root / "migrations" / "0002_more.sql").write_text(both)
    with bare.connect(NAME) as observer:
        with writer.transaction():
            note(writer, 1)
            rival = applier.begin()
            wait_until_blocked(observer, rival, by=writer.info.backend_pid)
            writer.execute("insert into loom.operation values ('note.set', 'note_set', 'writer')")
        rival.result()
        assert observer.execute("select count(*) from loom.note").fetchone() == (1,)
    assert status(bare.dsn(NAME), root=root).current


def test_a_lock_that_is_not_to_be_had_ends_the_run_and_leaves_nothing(
    bare: Cluster, in_use: tuple[Connection, Path]
) -> None:
    writer, root = in_use
    with writer.transaction():
        note(writer, 1)
        with pytest.raises(psycopg.errors.LockNotAvailable):
            migrate(bare.dsn(NAME), log=lambda _line: None, root=root, wait_seconds=0)
    assert status(bare.dsn(NAME), root=root).pending == ("0002_more",)


def test_whoever_waits_for_long_is_told_so(
    in_use: tuple[Connection, Path], applier: Applier, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(migrate_locks, "_LOG_WAIT_SECONDS", 0.0)
    writer, _ = in_use
    with writer.transaction():
        note(writer, 1)
        rival = applier.begin()
        wait_until(lambda: bool(applier.lines), "a line about the wait")
    rival.result()
    assert applier.lines[0] == "waiting for transactions that hold what is to be changed"


# The tables that every writer comes by, in the order in which it does.
_IN_USE = ("operation", "service_binding", "namespace", "user_state", "working_memory", "memory")


def test_a_migration_that_changes_several_tables_in_use_locks_them_in_the_writers_order() -> None:
    """Else a writer that has the one and wants the other waits for it as it waits for the writer,
    try after try."""
    later = [each for each in SqlTree.read().migrations if each.name > FIRST]
    several = {}
    for script in later:
        changed = set(re.findall(r"(?:alter table|create policy \w+ on) loom\.(\w+)", script.text))
        in_use = [name for name in _IN_USE if name in changed]
        if len(in_use) > 1:
            (locked,) = re.findall(r"^lock table (.+) in access exclusive mode;", script.text, re.M)
            names = [name.removeprefix("loom.") for name in locked.split(", ")]
            assert [name for name in names if name in _IN_USE] == in_use, script.name
            several[script.name] = in_use
            before = script.text[: script.text.index("lock table ")]
            assert not re.findall(rf"(?:alter table|on) loom\.(?:{'|'.join(in_use)})\b", before)
    assert several == {
        "0006_structured_profiles": ["user_state", "memory"],
        "0009_search": ["namespace", "memory"],
    }

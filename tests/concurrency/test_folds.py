"""Folds beside writers, erasures and the switch, on connections of their own. What folds share with
structured profiles is shown in `test_work`."""

from __future__ import annotations

import pytest

from tests.concurrency.callers import Connection
from tests.databases import Clock, Database
from tests.races import Rival, wait_until_blocked
from tests.sql.erasure.rows_of import erase, rows_of
from tests.sql.facts import NOON, fact
from tests.sql.profile_fold.folding import (
    ROW,
    U1,
    build_row,
    fold,
    is_current,
    lease,
    prefers,
    row,
    switch,
    take,
)
from tests.sql.structured_profile.building import FOLD, build, complete, read, rest, set_schema


@pytest.fixture
def conn(database: Database) -> Connection:
    """A connection of whoever may write, folds switched on, and a stopped clock."""
    own = database.connect()
    Clock(own).set(NOON)
    switch(own)
    return own


@pytest.fixture
def worker(database: Database) -> Connection:
    own = database.connect("loom_worker")
    own.execute("set lock_timeout = '5s'")
    return own


def test_o13_an_edit_that_commits_first_is_not_written_over(
    database: Database, conn: Connection, worker: Connection
) -> None:
    prefers(conn)
    taken = lease(worker)
    read(worker, taken)
    observer, writer = database.connect(), database.connect()
    with writer.transaction():
        prefers(writer, "coffee")
        late = Rival(worker, lambda: complete(worker, taken, "Likes tea."))
        wait_until_blocked(observer, late, by=writer.info.backend_pid)
    assert late.result() == {"outcome": "requeued", "reason": "SOURCES_CHANGED"}
    assert row(conn)["found"] is False


def test_o13_an_edit_that_comes_after_makes_it_due_again(
    database: Database, conn: Connection, worker: Connection
) -> None:
    prefers(conn)
    taken = lease(worker)
    read(worker, taken)
    observer, writer = database.connect(), database.connect()
    with worker.transaction():
        assert complete(worker, taken, "Likes tea.")["outcome"] == "written"
        late = Rival(writer, lambda: prefers(writer, "coffee"))
        wait_until_blocked(observer, late, by=worker.info.backend_pid)
    late.result()
    assert (row(conn)["value"], is_current(conn)) == ("Likes tea.", False)
    assert build_row(conn)["due_at"] == NOON.replace(minute=10)


def test_a_pin_that_commits_first_refuses(
    database: Database, conn: Connection, worker: Connection
) -> None:
    prefers(conn)
    fold(conn)
    rest(conn, Clock(conn), 600, FOLD)
    prefers(conn, "coffee")
    taken = lease(worker)
    read(worker, taken)
    observer, writer = database.connect(), database.connect()
    with writer.transaction():
        fact(writer, "pin", **ROW)
        late = Rival(worker, lambda: complete(worker, taken, "Likes coffee."))
        wait_until_blocked(observer, late, by=writer.info.backend_pid)
    assert late.result() == {"outcome": "refused", "reason": "PINNED_CONFLICT"}
    assert row(conn)["value"] == "Likes tea."


def test_o70_an_erasure_that_commits_first_leaves_nothing_to_complete(
    database: Database, conn: Connection, worker: Connection
) -> None:
    prefers(conn)
    taken = lease(worker)
    read(worker, taken)
    observer, eraser = database.connect(), database.connect()
    with eraser.transaction():
        erase(eraser, "u1")
        late = Rival(worker, lambda: complete(worker, taken, "Likes tea."))
        wait_until_blocked(observer, late, by=eraser.info.backend_pid)
    assert late.result() == {"outcome": "lost", "reason": "LEASE_LOST"}
    assert set(rows_of(conn, "u1").values()) <= {0}


def test_both_kinds_of_one_user_are_completed_one_after_the_other(
    database: Database, conn: Connection, worker: Connection
) -> None:
    """They wait for each other's user, and neither makes the other's facts look changed."""
    set_schema(conn)
    prefers(conn)
    taken = lease(worker)
    read(worker, taken)
    observer, other = database.connect(), database.connect("loom_worker")
    with other.transaction():
        assert build(other)["outcome"] == "written"
        late = Rival(worker, lambda: complete(worker, taken, "Likes tea."))
        wait_until_blocked(observer, late, by=other.info.backend_pid)
    assert late.result()["outcome"] == "written"
    assert is_current(conn)


@pytest.mark.parametrize("isolation", ["read committed", "repeatable read"])
def test_a_preference_under_way_while_folds_are_switched_on_is_folded(
    database: Database, conn: Connection, isolation: str
) -> None:
    """Its writer did not know; whoever was not looked at since is looked at."""
    switch(conn, enabled=False)
    writer = database.connect()
    with writer.transaction():
        writer.execute(f"set transaction isolation level {isolation}".encode())
        prefers(writer)
        switch(conn)
        assert take(conn) == []
        prefers(writer, "water", memory_key="other")
    assert take(conn) == ["u1"]


def test_a_preference_under_way_while_folds_are_switched_off_is_found_later(
    database: Database, conn: Connection
) -> None:
    writer = database.connect()
    with writer.transaction():
        prefers(writer)
        switch(conn, enabled=False)
        prefers(writer, "water", memory_key="other")
    assert take(conn) == []
    switch(conn)
    assert take(conn) == ["u1"]
    assert build_row(conn)["user_id"] == U1["user_id"]

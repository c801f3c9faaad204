"""Workers beside each other, beside writers and beside erasures, on connections of their own."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.concurrency.callers import Connection, at_once
from tests.databases import Clock, Database
from tests.races import Rival, wait_until_blocked
from tests.sql.erasure.rows_of import erase, rows_of
from tests.sql.facts import NOON, fact
from tests.sql.structured_profile.building import (
    Lease,
    build,
    build_row,
    claim,
    complete,
    due,
    explained,
    finish,
    lease,
    pass_row,
    people,
    read,
    rest,
    served,
    set_schema,
    settings,
    status,
    take,
    users,
)

WORKER = "loom_worker"
U1 = {"user_id": "u1"}
ROW = {**U1, "memory_key": "structured_profile", "agent": "-"}


@pytest.fixture
def conn(database: Database) -> Connection:
    """A connection of whoever may write; a namespace with a schema, and a stopped clock."""
    own = database.connect()
    Clock(own).set(NOON)
    set_schema(own)
    return own


@pytest.fixture
def worker(database: Database) -> Connection:
    """A worker that rather fails than waits for long."""
    own = database.connect(WORKER)
    own.execute("set lock_timeout = '5s'")
    return own


@contextmanager
def _held(database: Database, user: str) -> Iterator[Connection]:
    """A writer in the midst of a transaction that has written a fact of the user."""
    with database.connect() as writer, writer.transaction():
        fact(writer, "set", user_id=user, memory_key="held", value="x")
        yield writer


# Claims beside claims.


def test_eight_claimers_on_500_due_users_take_each_of_them_once(
    database: Database, conn: Connection
) -> None:
    """O56: pass after pass, without a wait between them, until all are taken."""
    Clock(conn).advance(seconds=120)
    people(conn, 500)
    counted = 0
    lock = threading.Lock()

    def work(own: Connection, _who: int) -> list[Lease]:
        nonlocal counted
        taken: list[Lease] = []
        while counted < 500:
            if "main" not in due(own):
                continue
            mine = claim(own, 3)
            taken += mine
            with lock:
                counted += len(mine)
        return taken

    taken = [each for one in at_once(database, WORKER, work, range(8)) for each in one]
    assert Counter(users(taken)) == Counter(f"u{n:04}" for n in range(1, 501))
    assert len({each.lease_id for each in taken}) == 500
    # Passes of 20 users each, or fewer: one ends early when rivals hold all users that are left.
    assert pass_row(conn)["pass_no"] >= 25
    attempts = conn.execute("select distinct attempts from loom.build").fetchall()
    assert attempts == [(1,)]


def test_eight_claimers_keep_to_one_budget_and_one_share(
    database: Database, conn: Connection
) -> None:
    settings(conn, max_users_per_pass=30)
    set_schema(conn, namespace="other")
    people(conn, 100)
    people(conn, 100, namespace="other")
    due(conn)

    def work(own: Connection, who: int) -> list[Lease]:
        namespace = ("main", "other")[who % 2]
        return [each for _ in range(5) for each in claim(own, 4, namespace=namespace)]

    taken = [each for one in at_once(database, WORKER, work, range(8)) for each in one]
    assert Counter(each.namespace for each in taken) == {"main": 15, "other": 15}
    assert len({(each.namespace, each.user_id) for each in taken}) == 30
    assert pass_row(conn)["budget_left"] == 0


def test_one_pass_is_opened_however_many_workers_ask(database: Database, conn: Connection) -> None:
    people(conn, 30)
    answers = at_once(database, WORKER, lambda own, _who: due(own), range(8))
    assert answers == [{"main": 20}] * 8
    assert pass_row(conn)["pass_no"] == 1


def test_claims_of_different_namespaces_do_not_wait_for_each_others_users(
    database: Database, conn: Connection, worker: Connection
) -> None:
    """Only for the numbers of the pass, which a claim takes last."""
    set_schema(conn, namespace="other")
    people(conn, 5)
    people(conn, 5, namespace="other")
    due(conn)
    observer, rival = database.connect(), database.connect(WORKER)
    with worker.transaction():
        assert len(claim(worker)) == 5
        late = Rival(rival, lambda: users(claim(rival, namespace="other")))
        wait_until_blocked(observer, late, by=worker.info.backend_pid)
        waits = observer.execute(
            "select relation::regclass::text from pg_locks"
            " where pid = %s and locktype in ('tuple', 'relation') and relation is not null"
            " and mode in ('RowExclusiveLock', 'AccessExclusiveLock', 'ExclusiveLock')"
            " and locktype = 'tuple'",
            (late.pid,),
        ).fetchall()
        assert waits == [("loom.pass",)]
    assert late.result() == [f"u{n:04}" for n in range(1, 6)]
    assert pass_row(conn)["budget_left"] == 10


def test_a_claim_that_was_taken_back_has_taken_nothing(
    conn: Connection, worker: Connection
) -> None:
    people(conn, 3)
    due(worker)
    with worker.transaction(force_rollback=True):
        assert len(claim(worker)) == 3
    assert (pass_row(conn)["budget_left"], build_row(conn, "u0001")["attempts"]) == (20, 0)
    assert len(claim(worker)) == 3


# Claims beside writers.


def test_a_claim_passes_over_a_user_whose_row_a_writer_holds(
    database: Database, conn: Connection, worker: Connection
) -> None:
    people(conn, 3)
    due(worker)
    worker.execute("set lock_timeout = '1ms'")
    with _held(database, "u0002"):
        assert users(claim(worker)) == ["u0001", "u0003"]
        assert claim(worker) == []
    assert due(worker) == {}  # the pass ends without the namespace, and the next one is open to it
    assert take(worker) == ["u0002"]


def test_a_claim_passes_over_a_user_who_is_being_erased(
    database: Database, conn: Connection, worker: Connection
) -> None:
    people(conn, 2)
    due(worker)
    worker.execute("set lock_timeout = '1ms'")
    with database.connect() as eraser, eraser.transaction():
        erase(eraser, "u0001")
        assert users(claim(worker)) == ["u0002"]
    assert claim(worker) == []
    assert rows_of(conn, "u0001") == {}


def test_a_writer_and_an_erasure_wait_for_a_claim_and_go_on(
    database: Database, conn: Connection, worker: Connection
) -> None:
    people(conn, 3)
    due(worker)
    observer, writer, eraser = (database.connect() for _ in range(3))
    with worker.transaction():
        assert len(claim(worker)) == 3
        late = Rival(writer, lambda: fact(writer, "set", user_id="u0001", value="y"))
        erasure = Rival(eraser, lambda: erase(eraser, "u0002"))
        wait_until_blocked(observer, late, by=worker.info.backend_pid)
        wait_until_blocked(observer, erasure, by=worker.info.backend_pid)
    assert late.result()["version"] == 2
    assert erasure.result()["work"] == 1
    assert build_row(conn, "u0001")["lease_id"] is not None
    assert build_row(conn, "u0002") == {}


def test_o21_claims_writers_and_erasures_of_the_same_users_never_deadlock(
    database: Database, conn: Connection
) -> None:
    """Batches take users in one order, a claim in that of their due times."""
    settings(conn, max_users_per_pass=10**6, cooldown_seconds=0, backoff_base_seconds=0)
    people(conn, 20)
    ends = time.monotonic() + 3
    names = [f"u{n:04}" for n in range(1, 21)]

    def work(own: Connection, who: int) -> int:
        done = 0
        own.execute("set deadlock_timeout = '100ms'")
        while time.monotonic() < ends:
            if who < 3:
                if "main" in due(own):
                    for taken in claim(own, 5):
                        done += finish(own, taken, {"name": "Sam"})["outcome"] == "written"
            elif who < 7:
                with own.transaction():
                    for user in sorted(names[who % 3 :: 3]):
                        fact(own, "set", user_id=user, value=f"{who} {done} {user}")
                done += 1
            else:
                erase(own, names[done % 20])
                done += 1
        return done

    done = at_once(database, None, work, range(8))
    assert all(count > 0 for count in done), done


# Completions beside writers.


def test_o13_an_edit_that_commits_first_is_not_written_over(
    database: Database, conn: Connection, worker: Connection
) -> None:
    fact(conn, "set", **U1, value="tea")
    taken = lease(worker)
    read(worker, taken)
    observer = database.connect()
    with _held(database, "u1") as writer:
        fact(writer, "set", **U1, value="coffee")
        late = Rival(worker, lambda: complete(worker, taken, {"name": "Sam"}))
        wait_until_blocked(observer, late, by=writer.info.backend_pid)
    assert late.result() == {"outcome": "requeued", "reason": "SOURCES_CHANGED"}
    assert (status(conn), fact(conn, "get", **ROW)["found"]) == ("pending", False)


def test_o13_an_edit_that_comes_after_makes_it_stale(
    database: Database, conn: Connection, worker: Connection
) -> None:
    fact(conn, "set", **U1, value="tea")
    taken = lease(worker)
    read(worker, taken)
    observer, writer = database.connect(), database.connect()
    with worker.transaction():
        assert complete(worker, taken, {"name": "Sam"})["outcome"] == "written"
        late = Rival(writer, lambda: fact(writer, "set", **U1, value="coffee"))
        wait_until_blocked(observer, late, by=worker.info.backend_pid)
        assert status(conn) == "pending"
    late.result()
    assert (status(conn), served(conn)["profile"]) == ("stale", {"name": "Sam"})
    assert explained(conn)["due_at"] == "2026-03-01T12:10:00.000000Z"


def test_a_pin_that_commits_first_refuses(
    database: Database, conn: Connection, worker: Connection
) -> None:
    fact(conn, "set", **U1, value="tea")
    build(conn)
    rest(conn, Clock(conn), 600)
    fact(conn, "set", **U1, value="coffee")
    taken = lease(worker)
    read(worker, taken)
    observer, writer = database.connect(), database.connect()
    with writer.transaction():
        fact(writer, "pin", **ROW)
        late = Rival(worker, lambda: complete(worker, taken, {"name": "Eve"}))
        wait_until_blocked(observer, late, by=writer.info.backend_pid)
    assert late.result() == {"outcome": "refused", "reason": "PINNED_CONFLICT"}
    assert served(conn)["profile"] == {"name": "Sam"}


def test_a_schema_that_is_set_while_a_completion_runs_makes_it_stale(
    conn: Connection, worker: Connection
) -> None:
    fact(conn, "set", **U1, value="tea")
    taken = lease(worker)
    read(worker, taken)
    with worker.transaction():
        assert complete(worker, taken, {"name": "Sam"})["outcome"] == "written"
        # An admin does not wait for it.
        conn.execute("set lock_timeout = '1s'")
        set_schema(conn, {"city": {"type": "string", "description": "d"}})
    assert status(conn) == "stale"
    assert take(worker) == ["u1"]


def test_an_admin_who_sets_a_schema_in_a_long_transaction_holds_up_no_worker(
    database: Database, conn: Connection, worker: Connection
) -> None:
    """Its lock is one for all orgs."""
    set_schema(conn, org="beta")
    people(conn, 1, org="beta")
    due(worker)
    for each in claim(worker, org="beta"):
        finish(worker, each, {"name": "Sam"})
    assert due(worker) == {}
    with database.connect() as admin, admin.transaction():
        set_schema(admin, {"city": {"type": "string", "description": "d"}})
        worker.execute("set lock_timeout = '100ms'")
        due(worker)


# Completions beside erasures.


def test_o70_an_erasure_that_commits_first_leaves_nothing_to_complete(
    database: Database, conn: Connection, worker: Connection
) -> None:
    fact(conn, "set", **U1, value="tea")
    taken = lease(worker)
    read(worker, taken)
    observer, eraser = database.connect(), database.connect()
    with eraser.transaction():
        erase(eraser)
        late = Rival(worker, lambda: complete(worker, taken, {"name": "Sam"}))
        wait_until_blocked(observer, late, by=eraser.info.backend_pid)
    assert late.result() == {"outcome": "lost", "reason": "LEASE_LOST"}
    assert rows_of(conn, "u1") == {}


def test_o70_an_erasure_takes_what_a_completion_wrote_before_it(
    database: Database, conn: Connection, worker: Connection
) -> None:
    fact(conn, "set", **U1, value="tea")
    taken = lease(worker)
    read(worker, taken)
    observer, eraser = database.connect(), database.connect()
    with worker.transaction():
        assert complete(worker, taken, {"name": "Sam"})["outcome"] == "written"
        late = Rival(eraser, lambda: erase(eraser))
        wait_until_blocked(observer, late, by=worker.info.backend_pid)
    removed = late.result()
    assert (removed["structured_profile"], removed["work"], removed["memory"]) == (1, 1, 1)
    assert (rows_of(conn, "u1"), status(conn)) == ({}, "ready")


def test_o70_an_erasure_that_was_taken_back_hinders_nothing(
    database: Database, conn: Connection, worker: Connection
) -> None:
    fact(conn, "set", **U1, value="tea")
    taken = lease(worker)
    read(worker, taken)
    observer, eraser = database.connect(), database.connect()
    with eraser.transaction(force_rollback=True):
        erase(eraser)
        late = Rival(worker, lambda: complete(worker, taken, {"name": "Sam"}))
        wait_until_blocked(observer, late, by=eraser.info.backend_pid)
    assert late.result()["outcome"] == "written"
    assert status(conn) == "ready"


# Workers with one lease.


def test_o50_two_workers_with_one_expired_lease_write_once(
    database: Database, conn: Connection, worker: Connection
) -> None:
    fact(conn, "set", **U1, value="tea")
    dead = lease(worker)
    read(worker, dead)
    rest(conn, Clock(conn), 300)
    due(conn)
    taken = at_once(database, WORKER, lambda own, _who: claim(own), range(2))
    (second,) = [each for one in taken for each in one]
    read(worker, second)

    def work(own: Connection, who: int) -> str:
        return complete(own, (dead, second)[who], {"name": ("Eve", "Sam")[who]})["outcome"]  # type: ignore[no-any-return]

    assert at_once(database, WORKER, work, range(2)) == ["lost", "written"]
    assert served(conn)["profile"] == {"name": "Sam"}
    assert served(conn)["version"] == 1


def test_two_completions_of_one_lease_write_once(database: Database, conn: Connection) -> None:
    fact(conn, "set", **U1, value="tea")
    taken = lease(conn)
    read(conn, taken)
    told = at_once(
        database, WORKER, lambda own, who: complete(own, taken, {"name": f"n{who}"}), range(4)
    )
    assert sorted(each["outcome"] for each in told) == ["lost", "lost", "lost", "written"]
    assert served(conn)["version"] == 1


def test_a_completion_that_waited_past_its_lease_is_too_late(
    database: Database, conn: Connection, worker: Connection
) -> None:
    """Its user was held so long; what counts is the clock when it gets its turn."""
    fact(conn, "set", **U1, value="tea")
    taken = lease(worker)
    read(worker, taken)
    observer = database.connect()
    with _held(database, "u1") as writer:
        late = Rival(worker, lambda: complete(worker, taken, {"name": "Sam"}))
        wait_until_blocked(observer, late, by=writer.info.backend_pid)
        Clock(conn).advance(seconds=300)
    assert late.result()["outcome"] == "lost"
    assert status(conn) == "pending"


def test_a_user_who_is_being_written_holds_up_no_other_namespace(
    database: Database, conn: Connection, worker: Connection
) -> None:
    """Be the writer's transaction as long as it may."""
    settings(conn, max_users_per_pass=4)
    names = [f"n{n}" for n in range(8)]
    for name in names:
        set_schema(conn, namespace=name)
        people(conn, 1, namespace=name)
    writer = database.connect()
    with writer.transaction(force_rollback=True):
        fact(writer, "set", user_id="u0001", namespace="n0", value="x")
        claimed: list[str] = []
        for _ in range(20):
            for name in due(worker):
                for taken in claim(worker, namespace=name):
                    claimed.append(name)
                    finish(worker, taken, {"name": "Sam"})
        assert claimed == names[1:]
        # Nor one whose work begins while that pass is under way.
        set_schema(conn, namespace="late")
        people(conn, 1, namespace="late")
        assert "late" in _places(worker)
        assert users(claim(worker, namespace="late")) == ["u0001"]
        claim(worker, namespace="n0")
    assert "n0" in _places(worker)
    assert users(claim(worker, namespace="n0")) == ["u0001"]


def _places(worker: Connection) -> dict[str, int]:
    """What a worker is told that looks again after a pass has ended."""
    return due(worker) or due(worker)

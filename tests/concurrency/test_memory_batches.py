"""Batches over memory rows, single writes and the worker's: none waits for another in a circle."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from typing import Any

import pytest

from tests.calls import Answer, Connection
from tests.concurrency.callers import (
    WRITER,
    Step,
    at_once,
    in_processes,
    perform,
    while_open,
)
from tests.concurrency.conftest import PROCESSES
from tests.concurrency.memory_steps import check_history, fact, read, section
from tests.databases import Database
from tests.races import Rival, wait_until_blocked
from tests.sql.worker_rows import lock_as_worker, worker_writes

KEYS = [f"key {number:02}" for number in range(8)]
USERS = ["u1", "u2", "u3", "-", "!"]


def _append(user: str = "u1", label: str = "k", addition: str = "x", **fields: Any) -> Answer:
    item = {"op": "profile.append", "namespace": "dev", "user_id": user, "label": label}
    return {**item, "addition": addition, **fields}


def _batch(items: Sequence[Answer], *, key: str | None = None, atomic: bool = False) -> Step:
    return Step("batch", {"org": "acme", "requests": list(items), "atomic": atomic}, key)


def _lines(conn: Connection, user: str, key: str) -> list[str]:
    return sorted(read(conn, user_id=user, memory_key=key)["value"].split("\n"))


@pytest.mark.parametrize("atomic", [False, True], ids=["each for itself", "atomic"])
def test_o21_batches_in_opposite_key_orders_from_8_processes_are_all_applied(
    pool: ProcessPoolExecutor, acme: Database, atomic: bool
) -> None:
    orders = [KEYS, KEYS[::-1], KEYS[4:] + KEYS[:4], KEYS[1::2] + KEYS[::2]] * 2
    scripts = [
        [_batch([_append("u1", key, f"{who}") for key in order], atomic=atomic)] * 4
        for who, order in enumerate(orders)
    ]
    outcomes = [each for script in in_processes(pool, acme, WRITER, scripts) for each in script]
    assert {outcome.sqlstate for outcome in outcomes} == {None}
    statuses = {result["status"] for each in outcomes for result in each.answer["results"]}
    assert statuses == {200}
    conn = acme.connect(WRITER)
    for key in KEYS:
        assert _lines(conn, "u1", key) == sorted([str(who) for who in range(PROCESSES)] * 4)


@pytest.mark.parametrize("space", ["made before", "made by them"])
def test_o21_batches_over_users_in_opposite_orders_are_all_applied(
    pool: ProcessPoolExecutor, acme: Database, space: str
) -> None:
    """Each takes the state rows of several users, and those of user - of several agents."""
    if space == "made before":
        perform(acme.connect(WRITER), fact("set", value="x"))
    places = [{"user": user, "agent": agent} for user in USERS for agent in ("a", "b")]
    items = [_append(label="both", **place) for place in places]
    scripts = [[_batch(items if who % 2 else items[::-1])] * 5 for who in range(PROCESSES)]
    outcomes = in_processes(pool, acme, WRITER, scripts)
    assert {outcome.sqlstate for script in outcomes for outcome in script} == {None}
    conn = acme.connect(WRITER)
    for place in places:
        row = read(conn, user_id=place["user"], agent=place["agent"], memory_key="both")
        assert row["version"] == 5 * PROCESSES


def test_o21_batches_of_memory_and_blocks_with_single_writes_are_all_applied(
    pool: ProcessPoolExecutor, acme: Database
) -> None:
    block = {"op": "working_memory.append", "namespace": "dev", "addition": "x"}
    items = [
        item
        for user in ("u1", "u2")
        for item in ({**block, "user_id": user}, _append(user, "one"), _append(user, "two"))
    ]
    batches = [[_batch(items if who % 2 else items[::-1])] * 5 for who in range(4)]
    singles = [
        [
            section("append", user_id=user, label=label, addition="x")
            for user in (("u1", "u2") if who % 2 else ("u2", "u1"))
            for label in (("one", "two") if who % 2 else ("two", "one"))
        ]
        * 3
        for who in range(4)
    ]
    outcomes = in_processes(pool, acme, WRITER, batches + singles)
    assert {outcome.sqlstate for script in outcomes for outcome in script} == {None}
    conn = acme.connect(WRITER)
    for user in ("u1", "u2"):
        for label in ("one", "two"):
            assert read(conn, user_id=user, memory_key=label)["version"] == 4 * 5 + 4 * 3


def test_a_batch_over_two_users_waits_for_one_in_the_other_order(acme: Database) -> None:
    """Before it holds a row: a circle of two would need each to hold what the other wants."""
    perform(acme.connect(WRITER), fact("set", value="makes the namespace"))
    observer, one, two = acme.connect(), acme.connect(WRITER), acme.connect(WRITER)
    with one.transaction():
        perform(one, _batch([_append("u1"), _append("u2")]))
        rival = Rival(two, lambda: perform(two, _batch([_append("u2"), _append("u1")])))
        wait_until_blocked(observer, rival, by=one.info.backend_pid)
        held = observer.execute(
            "select count(*) from pg_locks join pg_class on pg_class.oid = relation"
            " where pg_locks.pid = %s and relname in ('user_state', 'memory')"
            " and mode <> 'AccessShareLock'",
            (two.info.backend_pid,),
        ).fetchone()
        assert held == (0,)
    results = rival.result().answer["results"]
    assert [result["status"] for result in results] == [200, 200]


def test_batches_of_different_users_in_one_namespace_do_not_wait(acme: Database) -> None:
    one, two = acme.connect(WRITER), acme.connect(WRITER)
    perform(one, fact("set", value="makes the namespace"))
    two.execute("set lock_timeout = '2s'")
    with one.transaction():
        assert perform(one, _batch([_append("u1"), _append("-", agent="a")])).sqlstate is None
        other = _batch([_append("u2"), _append("-", agent="b"), _append("u1", namespace="other")])
        outcome = perform(two, other)
        assert [result["status"] for result in outcome.answer["results"]] == [200, 200, 200]


def test_a_single_write_waits_for_a_batch_of_its_user(acme: Database) -> None:
    _, second = while_open(
        acme, _batch([_append("u2"), _append("u1")]), section("append", addition="y")
    )
    assert second.answer["version"] == 2


def _complete(conn: Connection, keys: Sequence[str]) -> None:
    """What the worker does in the transaction in which it is done with a user."""
    with conn.transaction():
        lock_as_worker(conn, "acme", "dev", "u1")
        for key in keys:
            worker_writes(conn, key, f"of {key}", agent="-", namespace="dev", user_id="u1")


def test_a_set_waits_for_a_completion_and_follows_it(acme: Database) -> None:
    worker, observer, one = acme.connect(), acme.connect(), acme.connect(WRITER)
    perform(one, fact("set", value="first", memory_type="profile"))
    with worker.transaction():
        lock_as_worker(worker, "acme", "dev", "u1")
        wanted = section("append", addition="mine")
        rival = Rival(one, lambda: perform(one, wanted))
        wait_until_blocked(observer, rival, by=worker.info.backend_pid)
        worker.execute("set local lock_timeout = '2s'")
        worker_writes(worker, "k", "the worker's", agent="-", namespace="dev", user_id="u1")
    assert rival.result().answer["version"] == 3
    values = [version["value"] for version in check_history(one)]
    assert values == ["first", "the worker's", "the worker's\nmine"]


def test_a_completion_waits_for_a_set_before_it_holds_a_row(acme: Database) -> None:
    worker, observer, one = acme.connect(), acme.connect(), acme.connect(WRITER)
    perform(one, fact("set", value="first"))
    with one.transaction():
        perform(one, fact("set", value="second"))
        rival = Rival(worker, lambda: _complete(worker, ["other", "k"]))
        wait_until_blocked(observer, rival, by=one.info.backend_pid)
        one.execute("set local lock_timeout = '2s'")
        assert perform(one, fact("set", memory_key="other", value="x")).sqlstate is None
    rival.result()
    assert [version["actor"] for version in check_history(one)][-1] == "worker"
    assert read(one, memory_key="other")["version"] == 2


def test_sets_batches_and_completions_at_once_do_not_deadlock(acme: Database) -> None:
    perform(acme.connect(WRITER), fact("set", value="x"))

    def work(conn: Connection, who: int) -> None:
        keys = KEYS if who % 2 else KEYS[::-1]
        for _round in range(3):
            if who % 3 == 0:
                _complete(conn, keys)
            elif who % 3 == 1:
                items = [
                    {"op": "memory.set", **fact("set", memory_key=key, value=who).request}
                    for key in keys
                ]
                assert perform(conn, _batch(items)).sqlstate is None
            else:
                for key in keys:
                    assert perform(conn, fact("set", memory_key=key, value=who)).sqlstate is None

    at_once(acme, None, work, range(9))
    conn = acme.connect()
    for key in KEYS:
        changes = check_history(conn, memory_key=key)
        assert [version["actor"] for version in changes].count("worker") == 9

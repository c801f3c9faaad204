"""Batches beside batches, single calls and an erasure: none waits in a circle."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from typing import Any

import pytest

from tests.calls import call, mint_token, operate
from tests.concurrency.callers import (
    ADMIN,
    WRITER,
    Connection,
    Step,
    at_once,
    in_processes,
    perform,
    step,
    while_open,
)
from tests.concurrency.conftest import PROCESSES
from tests.databases import Database
from tests.races import Rival, wait_until_blocked

Item = dict[str, Any]


def _append(key: str, addition: str = "x", **fields: Any) -> Item:
    item = {"op": "working_memory.append", "namespace": "dev", "block_key": key}
    return {**item, "addition": addition, **fields}


def _batch(items: Sequence[Item], *, key: str | None = None, atomic: bool = False) -> Step:
    return Step("batch", {"org": "acme", "requests": list(items), "atomic": atomic}, key)


def _texts(conn: Connection, keys: Sequence[str], **identity: str) -> dict[str, str]:
    return {
        key: operate(
            conn, "working_memory.get", org="acme", namespace="dev", block_key=key, **identity
        )["content"]
        for key in keys
    }


KEYS = [f"block {number:02}" for number in range(12)]


@pytest.mark.parametrize("atomic", [False, True], ids=["each for itself", "atomic"])
def test_o21_batches_in_opposite_orders_from_8_processes_are_all_applied(
    pool: ProcessPoolExecutor, acme: Database, atomic: bool
) -> None:
    rounds = 6
    orders = [KEYS, KEYS[::-1], KEYS[6:] + KEYS[:6], KEYS[1::2] + KEYS[::2]] * 2
    scripts = [
        [
            _batch([_append(key, f"{who}.{number}") for key in order], atomic=atomic)
            for number in range(rounds)
        ]
        for who, order in enumerate(orders)
    ]
    outcomes = [each for script in in_processes(pool, acme, WRITER, scripts) for each in script]
    assert {outcome.sqlstate for outcome in outcomes} == {None}
    assert {result["status"] for outcome in outcomes for result in outcome.answer["results"]} == {
        200
    }
    expected = sorted(f"{who}.{number}" for who in range(PROCESSES) for number in range(rounds))
    for text in _texts(acme.connect(WRITER), KEYS).values():
        assert sorted(text.split("\n")) == expected


def test_o21_batches_and_single_calls_on_the_same_keys_are_all_applied(
    pool: ProcessPoolExecutor, acme: Database
) -> None:
    batches = [
        [_batch([_append(key, f"batch {who}") for key in (KEYS if who % 2 else KEYS[::-1])])] * 4
        for who in range(4)
    ]
    singles = [
        [
            step("working_memory.append", block_key=key, addition=f"single {who}")
            for key in (KEYS if who % 2 else KEYS[::-1])
        ]
        for who in range(4)
    ]
    outcomes = in_processes(pool, acme, WRITER, batches + singles)
    assert {outcome.sqlstate for script in outcomes for outcome in script} == {None}
    for text in _texts(acme.connect(WRITER), KEYS).values():
        lines = text.split("\n")
        assert sorted(lines) == sorted(
            [f"batch {who}" for who in range(4)] * 4 + [f"single {who}" for who in range(4)]
        )


def test_o21_batches_making_namespaces_in_opposite_orders_are_all_applied(
    pool: ProcessPoolExecutor, acme: Database
) -> None:
    names = [f"namespace {number}" for number in range(8)]
    items = [_append("b", namespace=name) for name in names]
    scripts = [[_batch(items if who % 2 else items[::-1])] for who in range(PROCESSES)]
    outcomes = in_processes(pool, acme, WRITER, scripts)
    assert {outcome.sqlstate for script in outcomes for outcome in script} == {None}
    made = acme.connect().execute("select name from loom.namespace order by name").fetchall()
    assert [name for (name,) in made] == names


def test_o21_batches_updating_namespaces_in_opposite_orders_are_all_applied(
    pool: ProcessPoolExecutor, acme: Database
) -> None:
    names = [f"namespace {number}" for number in range(8)]
    conn = acme.connect(WRITER)
    for name in names:
        perform(conn, step("working_memory.append", namespace=name, addition="x"))
    items = [{"op": "namespace.update", "namespace": name, "quiet_minutes": 5} for name in names]
    scripts = [[_batch(items if who % 2 else items[::-1])] * 6 for who in range(PROCESSES)]
    outcomes = in_processes(pool, acme, ADMIN, scripts)
    assert {outcome.sqlstate for script in outcomes for outcome in script} == {None}


def test_o21_batches_revoking_tokens_in_opposite_orders_are_all_applied(
    pool: ProcessPoolExecutor, acme: Database
) -> None:
    with acme.connect() as conn:
        ids = [mint_token(conn, org="acme").answer["token_id"] for _ in range(40)]
    items = [{"op": "token.revoke", "token_id": token_id} for token_id in ids]
    scripts = [[_batch(items if who % 2 else items[::-1])] for who in range(PROCESSES)]
    outcomes = in_processes(pool, acme, ADMIN, scripts)
    assert {outcome.sqlstate for script in outcomes for outcome in script} == {None}


def test_o21_admins_of_two_reaches_revoking_in_opposite_orders_do_not_deadlock(
    database: Database,
) -> None:
    """One admin is bound to a namespace and the other is not; the tokens are of that namespace."""
    with database.connect() as conn:
        admins = [mint_token(conn, org="acme", role="admin", namespace=n) for n in ("dev", None)]
        ids = [mint_token(conn, org="acme", namespace="dev").answer["token_id"] for _ in range(50)]
    items = [{"op": "token.revoke", "token_id": token_id} for token_id in ids]

    def revoke(conn: Connection, who: int) -> list[int]:
        # The ids are written in either case.
        mine = items if who else [{**each, "token_id": each["token_id"].upper()} for each in items]
        answer = call(conn, admins[who], "batch", requests=mine if who else mine[::-1])
        return [result["status"] for result in answer["results"]]

    for statuses in at_once(database, "loom_gateway", revoke, [0, 1] * 4):
        assert statuses == [200] * 50


def test_tokens_revoking_each_other_do_not_deadlock(database: Database) -> None:
    """Each call also stamps the last use of its own token, which the rival wants to revoke."""
    operator, observer = database.connect(), database.connect()
    tokens = [mint_token(operator, org="acme", role="admin", namespace="dev") for _ in range(2)]
    gateways = [database.connect("loom_gateway") for _ in range(2)]
    rivals = []
    with operator.transaction():
        _hold_user(operator, "u1")
        for number, conn in enumerate(gateways):
            other = tokens[1 - number].answer["token_id"]
            items = [
                _append(f"block {number}", user_id="u1"),
                {"op": "token.revoke", "token_id": other},
            ]
            rivals.append(Rival(conn, partial(call, conn, tokens[number], "batch", requests=items)))
            wait_until_blocked(observer, rivals[-1], by=operator.info.backend_pid)
    for rival in rivals:
        assert [result["status"] for result in rival.result()["results"]] == [200, 200]


def test_batches_of_other_keys_in_one_namespace_do_not_wait_for_each_other(acme: Database) -> None:
    one, two = acme.connect(WRITER), acme.connect(WRITER)
    perform(one, _batch([_append("makes the namespace")]))
    two.execute("set lock_timeout = '2s'")
    with one.transaction():
        assert perform(one, _batch([_append("a"), _append("b")])).sqlstate is None
        assert perform(two, _batch([_append("c"), _append("d")])).sqlstate is None


def test_a_batch_waits_for_a_batch_of_one_key_in_common(acme: Database) -> None:
    _, second = while_open(
        acme,
        _batch([_append("a"), _append("b"), _append("c")]),
        _batch([_append("d"), _append("c"), _append("e")]),
    )
    assert [result["result"]["version"] for result in second.answer["results"]] == [1, 2, 1]


def test_a_batch_reads_nothing_before_its_locks_are_taken(acme: Database) -> None:
    """A replace in a batch that waited counts what the rival wrote."""
    replace = {
        "op": "working_memory.replace",
        "namespace": "dev",
        "block_key": "a",
        "old": "x",
        "new": "y",
    }
    _, second = while_open(
        acme, _batch([_append("a"), _append("a")]), _batch([replace, _append("b")])
    )
    assert second.answer["results"][0]["result"]["replacements"] == 2


def _hold_user(conn: Connection, user: str) -> None:
    """What an erasure does before it looks at anything of the user."""
    conn.execute("select pg_advisory_xact_lock(loom._user_lock_key('acme', %s))", (user,))


@pytest.mark.parametrize("held", ["u1", "u2", "u3"])
def test_a_batch_over_several_users_waits_for_an_erasure_before_it_writes(
    acme: Database, held: str
) -> None:
    erasure, observer, one = acme.connect(), acme.connect(), acme.connect(WRITER)
    items = [_append("a", user_id=user) for user in ("u3", "u1", "u2")]
    with erasure.transaction():
        _hold_user(erasure, held)
        rival = Rival(one, lambda: perform(one, _batch(items, key="k")))
        wait_until_blocked(observer, rival, by=erasure.info.backend_pid)
        # The batch holds the users before the one it waits for, and no row.
        locks = observer.execute(
            "select count(*) from pg_locks join pg_class on pg_class.oid = relation"
            " where pg_locks.pid = %s and relname = 'working_memory' and mode <> 'AccessShareLock'",
            (one.info.backend_pid,),
        ).fetchone()
        assert locks == (0,)
    assert {result["status"] for result in rival.result().answer["results"]} == {200}


def test_an_erasure_waits_for_a_batch_of_its_user(acme: Database) -> None:
    erasure, observer, one = acme.connect(), acme.connect(), acme.connect(WRITER)
    with one.transaction():
        perform(one, _batch([_append("a", user_id="u1"), _append("a", user_id="u2")]))
        rival = Rival(erasure, lambda: _hold_user(erasure, "u2"))
        wait_until_blocked(observer, rival, by=one.info.backend_pid)
    rival.result()


@pytest.mark.parametrize(
    "wanted",
    [
        step("working_memory.set", content="x", user_id="u1"),
        step("working_memory.append", addition="x", user_id="u1", key="k"),
        step("working_memory.replace", old="old", new="x", user_id="u1"),
        step("working_memory.delete", user_id="u1"),
    ],
    ids=["set", "append", "replace", "delete"],
)
def test_every_write_waits_for_an_erasure_of_its_user(acme: Database, wanted: Step) -> None:
    erasure, observer, one = acme.connect(), acme.connect(), acme.connect(WRITER)
    perform(one, step("working_memory.set", content="old", user_id="u1"))
    with erasure.transaction():
        _hold_user(erasure, "u1")
        other = acme.connect(WRITER)
        other.execute("set lock_timeout = '2s'")
        assert perform(other, step("working_memory.get", user_id="u1")).answer["found"] is True
        assert perform(other, step("working_memory.set", content="x")).sqlstate is None
        rival = Rival(one, lambda: perform(one, wanted))
        wait_until_blocked(observer, rival, by=erasure.info.backend_pid)
    assert rival.result().sqlstate is None


def test_a_batch_under_an_expired_key_does_not_deadlock_with_an_erasure(acme: Database) -> None:
    """The erasure deletes the stored answers of its user, of which the batch replaces one."""
    erasure, observer, one = acme.connect(), acme.connect(), acme.connect(WRITER)
    batch = _batch([_append("a", user_id="u1")], key="k")
    perform(one, batch)
    erasure.execute("update loom.idempotency set expires_at = created_at")
    with erasure.transaction():
        _hold_user(erasure, "u1")
        rival = Rival(one, lambda: perform(one, batch))
        wait_until_blocked(observer, rival, by=erasure.info.backend_pid)
        erasure.execute("set local lock_timeout = '2s'")
        erasure.execute("delete from loom.idempotency")
    assert rival.result().answer["results"][0]["result"]["version"] == 2

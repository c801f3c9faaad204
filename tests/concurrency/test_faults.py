"""PostgreSQL's own errors go to the caller as they are, but that of a pattern's compiler."""

from __future__ import annotations

import re

import pytest
from psycopg import IsolationLevel

from loom.sql_tree import SqlTree
from tests.calls import operate, refused
from tests.concurrency.callers import WRITER, Connection, Step, perform, step
from tests.databases import Database

FIRST = {"op": "working_memory.append", "namespace": "dev", "block_key": "a", "addition": "x"}
SECOND = {**FIRST, "block_key": "b"}
BATCH = Step("batch", {"org": "acme", "requests": [FIRST, SECOND]}, "k")


def test_only_looms_own_errors_and_patterns_that_do_not_compile_are_caught() -> None:
    handlers = {}
    for script in SqlTree.read().all_functions:
        code = re.sub(r"--[^\n]*", "", script.text)
        found = re.findall(r"\bexception\s+(when\b.*?)^end\b", code, re.DOTALL | re.MULTILINE)
        if found:
            handlers[script.name] = re.findall(r"\bwhen\s+(.+?)\s+then\b", found[0])
    assert handlers == {
        "_batch_try": ["sqlstate 'LM000'"],
        "_regex_matches_empty": ["invalid_regular_expression"],
    }


@pytest.fixture
def conn(acme: Database) -> Connection:
    conn = acme.connect(WRITER)
    for key in ("a", "b"):
        perform(conn, step("working_memory.set", block_key=key, content="start"))
    return conn


def _texts(conn: Connection) -> list[str]:
    return [
        operate(conn, "working_memory.get", org="acme", namespace="dev", block_key=key)["content"]
        for key in ("a", "b")
    ]


def test_a_lock_not_had_in_time_ends_the_whole_batch(acme: Database, conn: Connection) -> None:
    rival = acme.connect(WRITER)
    conn.execute("set lock_timeout = '50ms'")
    with rival.transaction(force_rollback=True):
        perform(rival, step("working_memory.set", block_key="b", content="theirs"))
        assert perform(conn, BATCH).sqlstate == "55P03"
    assert _texts(conn) == ["start", "start"]
    assert perform(conn, BATCH).sqlstate is None
    assert _texts(conn) == ["start\nx", "start\nx"]


def test_a_snapshot_too_old_ends_the_whole_batch(acme: Database, conn: Connection) -> None:
    rival = acme.connect(WRITER)
    conn.isolation_level = IsolationLevel.REPEATABLE_READ
    with refused(conn, "40001"):
        _texts(conn)
        perform(rival, step("working_memory.set", block_key="b", content="theirs"))
        operate(conn, "batch", **BATCH.request)
    assert _texts(conn) == ["start", "theirs"]


def test_a_cancelled_call_leaves_nothing(acme: Database, conn: Connection) -> None:
    rival = acme.connect(WRITER)
    conn.execute("set statement_timeout = '50ms'")
    with rival.transaction(force_rollback=True):
        perform(rival, step("working_memory.set", block_key="b", content="theirs"))
        assert perform(conn, BATCH).sqlstate == "57014"
    conn.execute("set statement_timeout = 0")
    assert _texts(conn) == ["start", "start"]
    assert perform(conn, BATCH).sqlstate is None


def test_a_session_that_is_killed_leaves_nothing_and_frees_its_rivals(
    acme: Database, conn: Connection
) -> None:
    operator, killed = acme.connect(), acme.connect(WRITER)
    killed.execute("begin")
    assert perform(killed, BATCH).sqlstate is None
    operator.execute("select pg_terminate_backend(%s, 5000)", (killed.info.backend_pid,))
    conn.execute("set lock_timeout = '5s'")
    assert perform(conn, BATCH).sqlstate is None
    assert _texts(conn) == ["start\nx", "start\nx"]

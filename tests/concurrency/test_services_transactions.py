"""Services that call operations inside a transaction of their own."""

from __future__ import annotations

import psycopg
import pytest
from psycopg import IsolationLevel

from tests.calls import operate, refused
from tests.concurrency.callers import WRITER, Connection, perform, step
from tests.databases import Database

SET = "working_memory.set"
STRICT = (IsolationLevel.REPEATABLE_READ, IsolationLevel.SERIALIZABLE)


def _name(value: object) -> str | None:
    return value.name if isinstance(value, IsolationLevel) else None


def _set(conn: Connection, content: str, **fields: object) -> object:
    return operate(conn, SET, org="acme", namespace="dev", content=content, **fields)


def _get(conn: Connection, **fields: object) -> str | None:
    block = operate(conn, "working_memory.get", org="acme", namespace="dev", **fields)
    return block.get("content")


@pytest.fixture
def conn(acme: Database) -> Connection:
    return acme.connect(WRITER)


@pytest.fixture
def rival(acme: Database) -> Connection:
    return acme.connect(WRITER)


def test_a_rollback_takes_the_write_back(conn: Connection) -> None:
    _set(conn, "before")
    with conn.transaction(force_rollback=True):
        _set(conn, "after")
        assert _get(conn) == "after"
    assert _get(conn) == "before"
    block = operate(conn, "working_memory.get", org="acme", namespace="dev")
    assert block["version"] == 1


def test_a_write_stands_or_falls_with_the_services_own_work(
    acme: Database, conn: Connection
) -> None:
    operator = acme.connect()
    operator.execute("create schema service authorization loom_test_writer")
    conn.execute("create table service.job (done boolean primary key)")
    with pytest.raises(psycopg.errors.UniqueViolation), conn.transaction():
        _set(conn, "cursor 2")
        conn.execute("insert into service.job values (true), (true)")
    assert _get(conn) is None
    with conn.transaction():
        _set(conn, "cursor 2")
        conn.execute("insert into service.job values (true)")
    assert _get(conn) == "cursor 2"


def test_others_see_a_write_when_its_transaction_commits(
    conn: Connection, rival: Connection
) -> None:
    with conn.transaction():
        _set(conn, "x")
        assert _get(rival) is None
    assert _get(rival) == "x"


def test_a_savepoint_takes_back_what_came_after_it(conn: Connection) -> None:
    with conn.transaction():
        _set(conn, "kept")
        with conn.transaction(force_rollback=True):
            _set(conn, "taken back")
            operate(conn, "working_memory.append", org="acme", namespace="other", addition="x")
        assert _get(conn) == "kept"
        operate(conn, "working_memory.append", org="acme", namespace="dev", addition="more")
    assert _get(conn) == "kept\nmore"
    assert operate(conn, "namespace.get", org="acme", namespace="other")["found"] is False


def test_a_refusal_inside_a_savepoint_leaves_the_transaction_usable(conn: Connection) -> None:
    with conn.transaction():
        _set(conn, "x")
        with refused(conn, "LM202"):
            _set(conn, "y", if_absent=True)
        operate(conn, "working_memory.append", org="acme", namespace="dev", addition="z")
    assert _get(conn) == "x\nz"


def test_a_savepoint_taken_back_lets_a_rival_write(conn: Connection, rival: Connection) -> None:
    _set(conn, "x")
    rival.execute("set lock_timeout = '2s'")
    with conn.transaction():
        conn.execute("select 1")
        with conn.transaction(force_rollback=True):
            _set(conn, "taken back")
        _set(rival, "rival's")
        assert _get(conn) == "rival's"


@pytest.mark.parametrize("level", STRICT, ids=_name)
@pytest.mark.parametrize(
    ("op", "change"),
    [
        (SET, {"content": "mine"}),
        (SET, {"content": "mine", "if_absent": True}),
        ("working_memory.append", {"addition": "mine"}),
        ("working_memory.replace", {"old": "before", "new": "mine"}),
        ("working_memory.delete", {}),
    ],
    ids=["set", "set if absent", "append", "replace", "delete"],
)
def test_a_write_over_a_rivals_since_the_snapshot_is_40001(
    conn: Connection, rival: Connection, level: IsolationLevel, op: str, change: dict[str, object]
) -> None:
    _set(conn, "before")
    conn.isolation_level = level
    with refused(conn, "40001"):
        assert _get(conn) == "before"
        operate(rival, "working_memory.append", org="acme", namespace="dev", addition="theirs")
        operate(conn, op, org="acme", namespace="dev", **change)
    assert _get(conn) == "before\ntheirs"


@pytest.mark.parametrize("level", STRICT, ids=_name)
@pytest.mark.parametrize(
    ("op", "change"),
    [
        (SET, {"content": "mine"}),
        (SET, {"content": "mine", "if_absent": True}),
        ("working_memory.append", {"addition": "mine"}),
    ],
    ids=["set", "set if absent", "append"],
)
@pytest.mark.parametrize("namespace", ["old", "new"])
def test_making_what_a_rival_made_since_the_snapshot_is_40001(
    conn: Connection,
    rival: Connection,
    level: IsolationLevel,
    op: str,
    change: dict[str, object],
    namespace: str,
) -> None:
    """The insert race: the row in the way cannot be seen, so there is nothing to decide by."""
    operate(rival, SET, org="acme", namespace="old", block_key="other", content="x")
    conn.isolation_level = level
    with refused(conn, "40001"):
        assert (
            operate(conn, "working_memory.get", org="acme", namespace=namespace)["found"] is False
        )
        operate(rival, SET, org="acme", namespace=namespace, content="theirs")
        operate(conn, op, org="acme", namespace=namespace, **change)
    block = operate(conn, "working_memory.get", org="acme", namespace=namespace)
    assert block["content"] == "theirs"


@pytest.mark.parametrize("level", STRICT, ids=_name)
def test_a_key_used_by_a_rival_since_the_snapshot_is_40001(
    conn: Connection, rival: Connection, level: IsolationLevel
) -> None:
    append = step("working_memory.append", key="k", addition="x")
    _set(conn, "before")
    conn.isolation_level = level
    with conn.transaction(force_rollback=True):
        assert _get(conn) == "before"
        assert perform(rival, append).sqlstate is None
        assert perform(conn, append).sqlstate == "40001"
    assert perform(conn, append).answer["version"] == 2
    assert _get(conn) == "before\nx"


def test_read_modify_write_under_serializable_loses_nothing(
    conn: Connection, rival: Connection
) -> None:
    """Two services copy each other's block (write skew): one of them is told to try again."""
    _set(conn, "a", block_key="a")
    _set(conn, "b", block_key="b")
    for each in (conn, rival):
        each.execute("begin isolation level serializable")
    _set(conn, _get(conn, block_key="b") or "", block_key="a")
    _set(rival, _get(rival, block_key="a") or "", block_key="b")
    conn.execute("commit")
    with pytest.raises(psycopg.errors.SerializationFailure):
        rival.execute("commit")
    assert (_get(conn, block_key="a"), _get(conn, block_key="b")) == ("b", "b")


@pytest.mark.parametrize("level", [IsolationLevel.READ_COMMITTED, *STRICT], ids=_name)
def test_several_writes_of_one_block_in_one_transaction(
    conn: Connection, level: IsolationLevel
) -> None:
    conn.isolation_level = level
    with conn.transaction():
        _set(conn, "a")
        operate(conn, "working_memory.append", org="acme", namespace="dev", addition="b")
        operate(conn, "working_memory.delete", org="acme", namespace="dev")
        operate(conn, "working_memory.append", org="acme", namespace="dev", addition="c")
        answer = operate(
            conn, "working_memory.replace", org="acme", namespace="dev", old="c", new="d"
        )
    assert (answer["version"], _get(conn)) == (5, "d")


def test_reads_work_in_a_read_only_transaction_and_writes_are_refused(conn: Connection) -> None:
    _set(conn, "x")
    with conn.transaction():
        conn.execute("set transaction read only")
        assert _get(conn) == "x"
        for op in ("working_memory.list", "working_memory.render", "namespace.get"):
            operate(conn, op, org="acme", namespace="dev")
        with refused(conn, "25006"):
            _set(conn, "y")


def test_a_statement_over_many_rows_is_all_or_nothing(conn: Connection) -> None:
    """A service may write from a query: one row refused takes the whole statement back."""
    with refused(conn, "LM401"):
        conn.execute(
            "select loom.working_memory_set(jsonb_build_object('org', 'acme', 'namespace', 'dev',"
            " 'block_key', 'b' || n, 'content', repeat('x', n), 'char_limit', 5))"
            " from generate_series(1, 6) as n"
        )
    assert operate(conn, "working_memory.list", org="acme", namespace="dev")["items"] == []


def test_a_cancelled_wait_takes_nothing_with_it(conn: Connection, rival: Connection) -> None:
    _set(conn, "x")
    rival.execute("set lock_timeout = '50ms'")
    with conn.transaction():
        _set(conn, "y")
        assert perform(rival, step(SET, content="z")).sqlstate == "55P03"
    assert perform(rival, step(SET, content="z", key="k")).answer["version"] == 3

"""Services that write memory inside a transaction of their own."""

from __future__ import annotations

import psycopg
import pytest
from psycopg import IsolationLevel

from tests.calls import operate, refused
from tests.concurrency.callers import WRITER, Connection, Step, perform
from tests.concurrency.memory_steps import PLACE, USER, check_history, fact, read, section
from tests.concurrency.test_services_transactions import STRICT
from tests.databases import Database

WRITES = [
    fact("set", value="mine"),
    fact("set", value="before"),
    fact("set", value="mine", if_absent=True),
    fact("set", value="mine", memory_key="another key"),
    fact("delete"),
    fact("restore"),
    fact("revert", version=1),
    fact("pin"),
    fact("label", tags={"add": ["t"]}),
    fact("lock", reason="r"),
    section("set", value="mine"),
    section("append", addition="mine"),
    section("replace", old="before", new="mine"),
    section("delete"),
]


@pytest.fixture
def conn(acme: Database) -> Connection:
    return acme.connect(WRITER)


@pytest.fixture
def rival(acme: Database) -> Connection:
    return acme.connect(WRITER)


def _of(wanted: Step, user: str) -> Step:
    return Step(wanted.op, {**wanted.request, "user_id": user})


@pytest.mark.parametrize("level", STRICT, ids=lambda level: level.name)
@pytest.mark.parametrize("user", ["u1", "-"])
@pytest.mark.parametrize("wanted", WRITES, ids=lambda wanted: str(wanted.op))
def test_a_write_over_a_rivals_since_the_snapshot_is_40001(
    conn: Connection, rival: Connection, level: IsolationLevel, user: str, wanted: Step
) -> None:
    perform(conn, _of(section("set", value="before"), user))
    conn.isolation_level = level
    with refused(conn, "40001"):
        assert read(conn, user_id=user)["value"] == "before"
        perform(rival, _of(section("append", addition="theirs"), user))
        operate(conn, wanted.op, **_of(wanted, user).request)
    assert read(conn, user_id=user)["value"] == "before\ntheirs"
    assert len(check_history(rival, user_id=user)) == 2


@pytest.mark.parametrize("level", STRICT, ids=lambda level: level.name)
@pytest.mark.parametrize("user", ["u1", "-"])
def test_making_what_a_rival_made_since_the_snapshot_is_40001(
    conn: Connection, rival: Connection, level: IsolationLevel, user: str
) -> None:
    """Also where neither the row nor what orders its writers can be seen."""
    conn.isolation_level = level
    with refused(conn, "40001"):
        assert read(conn, user_id=user)["found"] is False
        assert perform(rival, _of(MINE, user)).sqlstate is None
        operate(conn, MINE.op, **_of(MINE, user).request)
    assert read(conn, user_id=user)["version"] == 1


MINE = fact("set", value="mine")


@pytest.mark.parametrize("level", STRICT, ids=lambda level: level.name)
def test_twins_written_since_the_snapshot_are_40001(
    conn: Connection, rival: Connection, level: IsolationLevel
) -> None:
    """Else both would be told that they repeat no other."""
    perform(conn, fact("set", value="x"))
    conn.isolation_level = level
    with refused(conn, "40001"):
        read(conn)
        perform(rival, fact("set", memory_key="theirs", value="the same"))
        operate(conn, "memory.set", **PLACE, **USER, memory_key="mine", value="the same")


@pytest.mark.parametrize("level", [IsolationLevel.READ_COMMITTED, *STRICT], ids=lambda x: x.name)
def test_several_writes_of_one_key_in_one_transaction(
    conn: Connection, level: IsolationLevel
) -> None:
    conn.isolation_level = level
    with conn.transaction():
        for wanted in (
            section("set", value="a"),
            section("append", addition="b"),
            fact("pin"),
            fact("unpin"),
            fact("delete"),
            fact("restore"),
            section("replace", old="b", new="c"),
        ):
            assert perform(conn, wanted).sqlstate is None
    assert read(conn)["value"] == "a\nc"
    assert len(check_history(conn)) == 7


def test_a_rollback_takes_row_and_history_back(conn: Connection) -> None:
    perform(conn, section("set", value="before"))
    with conn.transaction(force_rollback=True):
        perform(conn, section("append", addition="after"))
        assert read(conn)["value"] == "before\nafter"
        with conn.transaction(force_rollback=True):
            perform(conn, fact("delete"))
            assert read(conn)["found"] is False
        assert read(conn)["version"] == 2
    assert read(conn)["value"] == "before"
    assert len(check_history(conn)) == 1


def test_others_see_a_write_when_its_transaction_commits(
    conn: Connection, rival: Connection
) -> None:
    with conn.transaction():
        perform(conn, fact("set", value="x"))
        assert read(rival)["found"] is False
    assert read(rival)["value"] == "x"


def test_read_modify_write_under_serializable_loses_nothing(
    conn: Connection, rival: Connection
) -> None:
    """Two services copy each other's user (write skew): one of them is told to try again."""
    for user in ("u1", "u2"):
        perform(conn, fact("set", value=user, user_id=user))
    for each in (conn, rival):
        each.execute("begin isolation level serializable")
    values = read(conn, user_id="u2")["value"], read(rival, user_id="u1")["value"]
    perform(conn, fact("set", user_id="u1", value=values[0]))
    perform(rival, fact("set", user_id="u2", value=values[1]))
    conn.execute("commit")
    with pytest.raises(psycopg.errors.SerializationFailure):
        rival.execute("commit")
    assert [read(conn, user_id=user)["value"] for user in ("u1", "u2")] == ["u2", "u2"]

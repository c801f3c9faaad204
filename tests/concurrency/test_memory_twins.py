"""Rows that say the same under several keys: one is canonical, however they come about."""

from __future__ import annotations

import pytest

from tests.calls import Answer, Connection, operate
from tests.concurrency.callers import ADMIN, WRITER, at_once, perform, while_open
from tests.concurrency.memory_steps import PLACE, USER, fact, read
from tests.databases import Clock, Database
from tests.sql.facts import NOON

TWINS = 16


def _rows(conn: Connection) -> dict[str, Answer]:
    items = operate(conn, "memory.list", **PLACE, **USER, limit=200)["items"]
    return {item["memory_key"]: item for item in items}


def _canonical(conn: Connection) -> str:
    """The key of the one row that repeats no other; the others name it."""
    rows = _rows(conn)
    (canonical,) = (key for key, row in rows.items() if row["duplicate_of"] is None)
    named = {row["duplicate_of"] for key, row in rows.items() if key != canonical}
    assert named <= {rows[canonical]["memory_id"]}
    assert rows[canonical]["status"] == "current"
    assert {row["status"] for key, row in rows.items() if key != canonical} <= {"duplicate"}
    return canonical


def test_o14_simultaneous_twins_make_one_canonical_row(acme: Database) -> None:
    steps = [fact("set", memory_key=f"k{number}", value="the same") for number in range(TWINS)]
    outcomes = at_once(acme, WRITER, perform, steps)
    assert {outcome.sqlstate for outcome in outcomes} == {None}
    assert all(outcome.answer["created"] for outcome in outcomes)
    told = [outcome.answer["duplicate_of"] for outcome in outcomes]
    assert told.count(None) == 1
    (first,) = (outcome.answer for outcome in outcomes if outcome.answer["duplicate_of"] is None)
    assert {*told} == {None, first["memory_id"]}
    conn = acme.connect()
    assert len(_rows(conn)) == TWINS
    assert _canonical(conn) == first["memory_key"]


def test_a_twin_that_waits_is_told_of_the_one_it_waited_for(acme: Database) -> None:
    one = fact("set", memory_key="one", value="the same")
    two = fact("set", memory_key="two", value="the same")
    first, second = while_open(acme, one, two)
    assert second.answer["duplicate_of"] == first.answer["memory_id"]
    perform(acme.connect(ADMIN), fact("redact", memory_key="one", reason="r"))
    assert _canonical(acme.connect()) == "two"


def test_a_twin_of_what_is_taken_back_is_canonical(acme: Database) -> None:
    one = fact("set", memory_key="one", value="the same")
    two = fact("set", memory_key="two", value="the same")
    _, second = while_open(acme, one, two, commit=False)
    assert (second.answer["duplicate_of"], second.answer["status"]) == (None, "current")


def test_the_canonical_rows_expiry_promotes_its_oldest_twin(acme: Database) -> None:
    conn = acme.connect()
    clock = Clock(conn)
    clock.set(NOON)
    perform(conn, fact("set", memory_key="first", value="the same", ttl_seconds=60))
    # Younger by key and by id as it may be, the older twin comes next.
    for key in ("second", "a third"):
        clock.advance(seconds=1)
        perform(conn, fact("set", memory_key=key, value="the same"))
    assert _canonical(conn) == "first"
    clock.set(NOON)
    clock.advance(seconds=60, microseconds=-1)
    assert _canonical(conn) == "first"
    clock.advance(microseconds=1)
    assert sorted(_rows(conn)) == ["a third", "second"]
    assert _canonical(conn) == "second"
    assert (
        read(conn, memory_key="a third")["duplicate_of"]
        == (read(conn, memory_key="second")["memory_id"])
    )
    late = perform(conn, fact("set", memory_key="fourth", value="the same"))
    assert late.answer["duplicate_of"] == read(conn, memory_key="second")["memory_id"]


@pytest.mark.parametrize(
    "end",
    [
        fact("delete", memory_key="first"),
        fact("redact", memory_key="first", reason="r"),
        fact("set", memory_key="first", value="another"),
        fact("set", memory_key="first", value="the same", memory_type="decision"),
        fact("set", memory_key="first", value="the same", expires_at="2020-01-01T00:00:00Z"),
    ],
    ids=["delete", "redact", "another value", "another type", "expiry"],
)
def test_the_canonical_rows_end_by_a_write_promotes_its_oldest_twin(
    acme: Database, end: object
) -> None:
    conn = acme.connect()
    for key in ("first", "second", "a third"):
        perform(conn, fact("set", memory_key=key, value="the same"))
    outcome = perform(conn, end)  # type: ignore[arg-type]
    assert outcome.sqlstate is None
    twins = {key: row for key, row in _rows(conn).items() if key != "first"}
    second = twins["second"]
    assert (second["duplicate_of"], second["status"]) == (None, "current")
    assert twins["a third"]["duplicate_of"] == second["memory_id"]


def test_a_restore_takes_the_canonical_place_again(acme: Database) -> None:
    conn = acme.connect()
    for key in ("first", "second"):
        perform(conn, fact("set", memory_key=key, value="the same"))
    perform(conn, fact("delete", memory_key="first"))
    assert _canonical(conn) == "second"
    perform(conn, fact("restore", memory_key="first"))
    assert _canonical(conn) == "first"


def test_twins_are_of_one_identity_and_type(acme: Database) -> None:
    conn = acme.connect()
    perform(conn, fact("set", memory_key="first", value="the same"))
    for number, other in enumerate(
        (
            {"user_id": "u2"},
            {"user_id": "-"},
            {"agent": "a"},
            {"session_id": "s"},
            {"namespace": "other"},
            {"memory_type": "decision"},
        )
    ):
        step = fact("set", **{"memory_key": f"k{number}", "value": "the same", **other})
        assert perform(conn, step).answer["duplicate_of"] is None


def test_one_value_written_as_different_json_is_one(acme: Database) -> None:
    conn = acme.connect()
    one = perform(conn, fact("set", memory_key="one", value={"a": 1.0, "b": 100}))
    conn.execute(
        'select loom.memory_set(\'{"org": "acme", "namespace": "dev", "user_id": "u1",'
        ' "memory_key": "two", "value": {"b": 1e2, "a": 1}}\')'
    )
    assert read(conn, memory_key="two")["duplicate_of"] == one.answer["memory_id"]

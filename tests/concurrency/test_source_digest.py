"""Source digests under writers that race: whoever comes first, they are those of the rows."""

from __future__ import annotations

import random

import psycopg
import pytest

from tests.calls import Answer, Connection
from tests.concurrency.callers import ADMIN, WRITER, Step, at_once, perform, while_open
from tests.concurrency.memory_steps import fact, section
from tests.databases import Clock, Database
from tests.races import Rival, wait_until_blocked
from tests.sql.facts import NOON
from tests.sql.structured_profile.source_rules import (
    Owner,
    bits,
    check,
    sources,
    states,
    stored_rows,
)

CALLERS = 8
STEPS = 60
OWNER: Owner = ("acme", "dev", "u1")
FIELDS: list[Answer] = [{}, {"ttl_seconds": 1}, {"memory_type": "decision"}, {"tags": ["x"]}]
ERASURE = Step("erasure.request", {"org": "acme", "user_id": "u1"})


def settled(conn: Connection, *, later: bool = False) -> None:
    """Holds all digests to the rules, after settling as of now or of tomorrow."""
    row = conn.execute("select loom._now() + %s * interval '1 day'", (int(later),)).fetchone()
    assert row is not None
    for owner in states(conn):
        conn.execute("select loom._settle(%s, %s, %s, %s)", (*owner, row[0]))
    check(conn, row[0])


def _random_step(dice: random.Random) -> Step:
    place = {
        "user_id": dice.choice(["u1", "u1", "u2", "u3"]),
        "memory_key": dice.choice("abcd"),
    }
    match dice.randrange(12):
        case 0 | 1:
            return fact("delete", **place)
        case 2:
            return fact("restore", **place)
        case 3:
            return fact("revert", **place, version=1)
        case 4:
            return fact("label", **place, sensitivity=dice.choice(["high", "normal"]))
        case 5:
            return fact(
                "label", **place, tags=dice.choice([{"add": ["forget"]}, {"replace": ["t"]}])
            )
        case 6:
            return fact("unpin", **place)
        case 7:
            items = [_random_step(dice) for _ in range(3)]
            requests = [{"op": item.op, **item.request} for item in items if item.op != "batch"]
            return Step(
                "batch", {"org": "acme", "requests": requests, "atomic": dice.choice([True, False])}
            )
        case _:
            return fact("set", **place, value=dice.choice("xy"), **dice.choice(FIELDS))


def test_o36_digests_are_those_of_the_rows_after_any_race(acme: Database) -> None:
    def work(conn: Connection, seed: int) -> set[str | None]:
        dice = random.Random(seed)
        return {perform(conn, _random_step(dice)).sqlstate for _ in range(STEPS)}

    told = set().union(*at_once(acme, WRITER, work, range(CALLERS)))
    assert all(code is None or code.startswith("LM") for code in told), told
    conn = acme.connect()
    settled(conn)
    settled(conn, later=True)
    row = conn.execute("select count(*) from loom.memory_version").fetchone()
    assert row is not None and row[0] > CALLERS * STEPS / 4


def test_simultaneous_twins_count_once(acme: Database) -> None:
    steps = [fact("set", memory_key=f"k{number}", value="the same") for number in range(16)]
    assert {outcome.sqlstate for outcome in at_once(acme, WRITER, perform, steps)} == {None}
    conn = acme.connect()
    settled(conn)
    assert states(conn)[OWNER].count == 1


@pytest.mark.parametrize("second", ["set", "delete", "label"])
def test_a_twin_that_waited_for_the_other_is_judged_after_it(acme: Database, second: str) -> None:
    conn = acme.connect()
    for key in ("one", "two"):
        perform(conn, fact("set", memory_key=key, value="the same"))
    fields = {"set": {"value": "the same"}, "label": {"sensitivity": "high"}, "delete": {}}[second]
    first, then = while_open(
        acme, fact("delete", memory_key="one"), fact(second, memory_key="two", **fields)
    )
    assert (first.sqlstate, then.sqlstate) == (None, None)
    settled(conn)
    assert states(conn)[OWNER].count == (1 if second == "set" else 0)


def test_a_write_that_is_taken_back_leaves_the_other_ones_part(acme: Database) -> None:
    while_open(
        acme,
        fact("set", memory_key="one", value="the same"),
        fact("set", memory_key="two", value="the same"),
        commit=False,
    )
    conn = acme.connect()
    settled(conn)
    assert states(conn)[OWNER].count == 1


@pytest.mark.parametrize("isolation", [b"repeatable read", b"serializable"], ids=bytes.decode)
def test_a_rival_that_waited_with_an_older_snapshot_is_refused(
    acme: Database, isolation: bytes
) -> None:
    observer, one, two = acme.connect(), acme.connect(WRITER), acme.connect(WRITER)
    perform(observer, fact("set", value="first"))
    with pytest.raises(psycopg.errors.SerializationFailure), two.transaction():
        two.execute(b"set transaction isolation level " + isolation)
        two.execute("select loom.execute('memory.get', %s, null)", (_json_of(fact("get")),))
        with one.transaction():
            perform(one, fact("set", value="second"))
            rival = Rival(
                two,
                lambda: two.execute(
                    "select loom.execute('memory.set', %s, null)",
                    (_json_of(fact("set", memory_key="other", value="third")),),
                ),
            )
            wait_until_blocked(observer, rival, by=one.info.backend_pid)
        rival.result()
    settled(observer)
    assert states(observer)[OWNER].count == 1


def _json_of(wanted: Step) -> psycopg.types.json.Jsonb:
    return psycopg.types.json.Jsonb(wanted.request)


def test_an_erasure_among_writers_leaves_what_was_written_later(acme: Database) -> None:
    def work(conn: Connection, who: int) -> set[str | None]:
        dice = random.Random(who)
        if who < 2:
            return {perform(conn, ERASURE).sqlstate for _ in range(5)}
        steps = [
            fact("set", memory_key=dice.choice("abc"), value=dice.choice("xy")) for _ in range(40)
        ]
        steps[::7] = [section("append", addition="x")] * len(steps[::7])
        return {perform(conn, wanted).sqlstate for wanted in steps}

    assert set().union(*at_once(acme, ADMIN, work, range(6))) == {None}
    conn = acme.connect()
    settled(conn)
    perform(conn, ERASURE)
    state = states(conn)[OWNER]
    assert (state.digest, state.count, state.next_change_at) == (0, 0, None)
    assert stored_rows(conn) == []


def test_an_end_is_settled_once_by_writers_that_come_together(acme: Database) -> None:
    conn = acme.connect()
    clock = Clock(conn)
    clock.set(NOON)
    for number in range(50):
        perform(conn, fact("set", memory_key=f"k{number}", value=number % 5, ttl_seconds=60))
    perform(conn, fact("set", memory_key="stays", value=0))
    clock.advance(seconds=60)
    steps = [fact("set", memory_key=f"of {who}", value=who) for who in range(CALLERS)]
    assert {outcome.sqlstate for outcome in at_once(acme, WRITER, perform, steps)} == {None}
    check(conn, clock.advance(seconds=0))
    assert states(conn)[OWNER].count == CALLERS
    rows = sources(stored_rows(conn), clock.advance(seconds=0))[OWNER].parts
    assert {bits(row.part) for row in stored_rows(conn) if row.part} == set(rows.values())


def test_housekeeping_beside_writers_keeps_the_digest(acme: Database) -> None:
    conn = acme.connect()
    clock = Clock(conn)
    clock.set(NOON)
    for user in ("u1", "u2"):
        for number in range(30):
            wanted = {"user_id": user, "memory_key": f"k{number}", "value": number % 3}
            perform(conn, fact("set", **wanted, ttl_seconds=60))
        perform(conn, fact("set", user_id=user, memory_key="stays", value=0))
    clock.advance(seconds=60)

    def work(own: Connection, who: int) -> int:
        if who < 3:
            return sum(
                row[0]
                for _ in range(30)
                for row in own.execute("select loom.housekeeping_memory(3)").fetchall()
            )
        user = f"u{who % 2 + 1}"
        for number in range(30):
            wanted = {"user_id": user, "memory_key": f"k{number}", "value": number % 2}
            assert perform(own, fact("set", **wanted)).sqlstate is None
        return 0

    at_once(acme, None, work, range(CALLERS))
    check(conn, clock.advance(seconds=0))
    assert {state.count for state in states(conn).values()} == {2}

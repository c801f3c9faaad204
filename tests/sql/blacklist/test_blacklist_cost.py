"""What a blacklist costs at most: patterns that would run away are refused when they are added.

Times are of the server's own CPU for one session where the system tells them, so that a busy
machine changes nothing; elsewhere by the clock.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import Any

import psycopg
import pytest

from tests.calls import Answer, operate, refused
from tests.databases import Database
from tests.sql.facts import fact
from tests.sql.texts import exactly

Connection = psycopg.Connection[Any]

PLACE: Answer = {"org": "acme", "namespace": "main"}

MOST_SECONDS = 2.0
"""What adding a pattern, or the first write of a session against full scopes, takes at the most."""


def cpu_seconds(conn: Connection) -> float:
    """What a session's server process has computed so far."""
    told = Path(f"/proc/{conn.info.backend_pid}/schedstat")
    if told.exists():
        return int(told.read_text(encoding="ascii").split()[0]) / 1e9
    return time.perf_counter()


def add(db: Connection, pattern: str, pattern_type: str = "regex", **more: Any) -> bool:
    """Adds a pattern; False where it is refused for its size."""
    try:
        with db.transaction():
            operate(
                db, "blacklist.add", **PLACE, pattern=pattern, pattern_type=pattern_type, **more
            )
    except psycopg.Error as error:
        assert error.sqlstate == "LM406", error
        return False
    return True


RUNAWAYS = [
    "(?:a?b?c?d?e?f?){100}0",
    f"(?:{'[a-z]?' * 30}){{30}}0",
    f"(?:{'a*b*c*' * 10}){{30}}0",
    "((?:a?){30}){30}0",
    "((?:a?b?c?){10}){100}0",
    "((?:a|b|){30}){30}0",
    "((a{100,}){100,}){100,}",
    "((?:a{0,100}b){0,100}c){100}",
    "(((((((a{9}){9}){9}){9}){9}){9}){9}){9}",
    "(?:[a-z]*[0-9a-f]*[^x]*){47}0",
    # A bracket in a class opens and closes nothing.
    *(r"(?:a{100}){100}[\](]", r"(?:[\])]a{100}){100}", "(?:a{100}){100}[[.].](]"),
    f"(?:{'|'.join(f'{letter}?' for letter in 'abcdefghijklmnopqrstuvwxyz')}){{100}}0",
]
"""Of at most 200 characters, no bound over 100, and seconds or minutes to compile."""


@pytest.mark.parametrize("pattern", RUNAWAYS)
def test_a_pattern_that_runs_away_is_refused_at_once(db: Connection, pattern: str) -> None:
    assert len(pattern) <= 200
    before = cpu_seconds(db)
    with refused(db, "LM406") as refusal:
        operate(db, "blacklist.add", **PLACE, pattern=pattern, pattern_type="regex")
    assert cpu_seconds(db) - before < 0.2
    assert refusal.detail["what"] == "pattern"


@pytest.mark.parametrize(
    "pattern",
    [
        *("(x+x+)+y", "(a|aa)+$", "(a*)*b", "(.*)*x", "(?:a|b)*a(?:a|b){100}", "(a+b*)+c"),
        *("a{0,100}" * 19 + "b", f"(?:{'a*b*c*' * 32})*0", "(?:[a-z]{20}){19}0", "a?" * 99 + "b"),
        *("(?:a?b?){40}0", ".{100}x", "[^a]{100}x", r"\w{100}x"),
    ],
)
def test_a_pattern_that_is_taken_compiles_and_matches_in_no_time(
    database: Database, pattern: str
) -> None:
    with database.connect() as conn:
        before = cpu_seconds(conn)
        assert add(conn, pattern)
        assert cpu_seconds(conn) - before < 0.5
    assert first_write(database, ["a" * 5000, "b" * 5000, "xx" * 2500]) < 0.5


def first_write(database: Database, value: Any) -> float:
    """What the first write of a session costs that is held against the blacklist; it may be hit."""
    with database.connect() as conn:
        fact(conn, "set", value="to warm up", namespace="other")
        before = cpu_seconds(conn)
        with suppress(psycopg.DatabaseError):
            fact(conn, "set", value=value)
        return cpu_seconds(conn) - before


def cjk(length: int, random: Random) -> str:
    return "".join(chr(random.randint(0x4E00, 0x9FFF)) for _ in range(length))


def letters(length: int, random: Random) -> str:
    return "".join(random.choices("abcdefghijklmnopqrstuvwxyz", k=length))


SCOPES: dict[str, tuple[str, Callable[[Random], str], int]] = {
    "long words": ("substring", lambda random: letters(200, random), 100),
    "long words of many signs": ("substring", lambda random: cjk(200, random), 10),
    "short words of many signs": ("substring", lambda random: cjk(10, random), 100),
    "large classes": ("regex", lambda random: "[a-z0-9]{100}" + letters(3, random), 30),
    "large bounds": ("regex", lambda random: ".{100}" + letters(3, random), 100),
    "keys": ("regex", lambda random: letters(4, random) + "_[A-Za-z0-9]{36}", 100),
    "what can be empty": ("regex", lambda random: "(?:a?b?){40}" + letters(3, random), 30),
    "classes of many signs": ("regex", lambda random: "[一-龥]{20}" + cjk(10, random), 10),
}
"""Scopes of one kind of pattern: how it is made, and how many of it a scope takes at the least."""


class _Undone(Exception):
    """Ends a transaction that only tried something."""


def fill(conn: Connection, patterns: list[str], pattern_type: str) -> float | None:
    """Puts patterns in place, the last by the operation: what that cost, or None if refused."""
    with conn.cursor() as cursor:
        cursor.executemany(
            "insert into loom.blacklist"
            " (org, namespace, pattern, pattern_type, created_at, created_by)"
            " values ('acme', 'main', %s, %s, now(), 'test')",
            [(pattern, pattern_type) for pattern in patterns[:-1]],
        )
    before = cpu_seconds(conn)
    taken = add(conn, patterns[-1], pattern_type)
    assert cpu_seconds(conn) - before < MOST_SECONDS
    return cpu_seconds(conn) - before if taken else None


@pytest.mark.parametrize("kind", SCOPES)
def test_a_scope_takes_no_more_than_a_write_can_bear(database: Database, kind: str) -> None:
    random = Random(1)
    pattern_type, make, least = SCOPES[kind]
    patterns = [make(random) for _ in range(100)]
    most, too_many = 0, 101
    with database.connect() as conn:
        fact(conn, "set", value="makes the namespace")
        while too_many - most > 1:
            count = min((most + too_many) // 2 + 1, too_many - 1)
            with suppress(_Undone), conn.transaction():
                if fill(conn, patterns[:count], pattern_type) is None:
                    too_many = count
                else:
                    most = count
                raise _Undone
        assert most >= least
        fill(conn, patterns[:most], pattern_type)
    value = [f"{letters(20, random)} {cjk(5, random)}" for _ in range(100)]
    assert first_write(database, value) < MOST_SECONDS


def test_patterns_too_large_together_are_told_so(db: Connection) -> None:
    random = Random(1)
    while add(db, "[a-z0-9]{100}" + letters(3, random)):
        pass
    with refused(db, "LM406") as refusal:
        operate(db, "blacklist.add", **PLACE, pattern="[a-z]{100}xyz", pattern_type="regex")
    assert (refusal.detail["what"], refusal.detail["limit"]) == ("patterns", 20_000)
    assert refusal.detail["value"] > 20_000
    # The other scope, and what is there, are not touched by it.
    assert add(db, "[a-z]{100}xyz", scope="org")
    fact(db, "set", value="x")


def test_two_full_scopes_cost_two_hundred_leaves_under_twenty_milliseconds(
    database: Database,
) -> None:
    random = Random(2)
    with database.connect() as conn, conn.transaction():
        for scope in ("namespace", "org"):
            for number in range(50):
                assert add(conn, letters(12, random) + "0", "substring", scope=scope)
                shape = (r"\m{}[0-9]{{6}}", r"{}: ?\w+@0", r"{}(?:-[0-9]{{4}}){{3}}", "[a-f]{}0")
                assert add(conn, shape[number % 4].format(letters(6, random)), scope=scope)
    value = [f"{letters(12, random)} {number} {letters(20, random)}" for number in range(200)]
    with database.connect() as conn:
        costs: dict[str, list[float]] = {"main": [], "other org": []}
        for round_ in range(7):
            for place, times in costs.items():
                org = "acme" if place == "main" else "else"
                before = cpu_seconds(conn)
                fact(conn, "set", value=[*value, str(round_)], org=org)
                times.append(cpu_seconds(conn) - before)
    # What a write costs with both scopes, less what it costs without any, once the session has
    # compiled them.
    assert min(costs["main"][1:]) - min(costs["other org"][1:]) < 0.020


def test_the_largest_value_against_full_scopes_is_written_in_time(db: Connection) -> None:
    random = Random(3)
    for number in range(100):
        pattern = letters(8, random) + "0"
        assert add(db, pattern, "regex" if number % 2 else "substring")
    before = cpu_seconds(db)
    fact(db, "set", value=exactly(262_000, "lorem ipsum dolor "))
    assert cpu_seconds(db) - before < MOST_SECONDS

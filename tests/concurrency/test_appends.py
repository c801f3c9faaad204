"""Appends of many callers: none needs to read first, and none is lost."""

from __future__ import annotations

from concurrent.futures import ProcessPoolExecutor

import pytest

from tests.calls import call, mint_token, operate
from tests.concurrency.callers import WRITER, Connection, Step, at_once, in_processes, perform, step
from tests.concurrency.conftest import PROCESSES
from tests.databases import Database

EACH = 8


def _lines(who: int) -> list[Step]:
    return [step("working_memory.append", addition=f"{who}/{line}") for line in range(EACH)]


@pytest.mark.parametrize("before", ["absent", "live", "tombstone"])
def test_o20_64_appends_from_8_processes_leave_64_lines(
    pool: ProcessPoolExecutor, acme: Database, before: str
) -> None:
    reader = acme.connect(WRITER)
    if before != "absent":
        perform(reader, step("working_memory.set", content="first", char_limit=16384))
    if before == "tombstone":
        perform(reader, step("working_memory.delete"))
    outcomes = in_processes(pool, acme, WRITER, [_lines(who) for who in range(PROCESSES)])

    answers = [outcome.answer for each in outcomes for outcome in each]
    block = operate(reader, "working_memory.get", org="acme", namespace="dev")
    lines = block["content"].split("\n")
    expected = [f"{who}/{line}" for who in range(PROCESSES) for line in range(EACH)]
    if before == "live":
        expected.append("first")
    assert sorted(lines) == sorted(expected)
    first_version = {"absent": 1, "live": 2, "tombstone": 3}[before]
    assert sorted(answer["version"] for answer in answers) == list(
        range(first_version, first_version + PROCESSES * EACH)
    )
    assert [answer["created"] for answer in answers].count(True) == (before != "live")


def test_o20_lines_of_one_caller_keep_their_order(
    pool: ProcessPoolExecutor, acme: Database
) -> None:
    in_processes(pool, acme, WRITER, [_lines(who) for who in range(PROCESSES)])
    block = operate(acme.connect(WRITER), "working_memory.get", org="acme", namespace="dev")
    for who in range(PROCESSES):
        mine = [line for line in block["content"].split("\n") if line.startswith(f"{who}/")]
        assert mine == [f"{who}/{line}" for line in range(EACH)]


def test_o19_appends_under_one_token_are_all_kept(database: Database) -> None:
    """The API's own way: one login, one token, whose last use each call would like to stamp."""
    with database.connect() as conn:
        token = mint_token(conn, org="acme", namespace="dev")

    def append(conn: Connection, who: int) -> list[int]:
        return [
            call(conn, token, "working_memory.append", addition=f"{who}/{line}")["version"]
            for line in range(4)
        ]

    versions = at_once(database, "loom_gateway", append, range(16))
    with database.connect("loom_gateway") as conn:
        block = call(conn, token, "working_memory.get")
    assert sorted(block["content"].split("\n")) == sorted(
        f"{who}/{line}" for who in range(16) for line in range(4)
    )
    assert sorted(version for each in versions for version in each) == list(range(1, 65))


def test_appends_up_to_the_limit_never_pass_it(pool: ProcessPoolExecutor, acme: Database) -> None:
    """Each of 64 appends fits when it is sent, and all together do not."""
    reader = acme.connect(WRITER)
    perform(reader, step("working_memory.set", content="", char_limit=100))
    script = [step("working_memory.append", addition="12345", separator="") for _ in range(EACH)]
    outcomes = [
        outcome
        for each in in_processes(pool, acme, WRITER, [script] * PROCESSES)
        for outcome in each
    ]
    kept = [outcome for outcome in outcomes if outcome.sqlstate is None]
    refused = [outcome for outcome in outcomes if outcome.sqlstate is not None]
    block = operate(reader, "working_memory.get", org="acme", namespace="dev")
    assert len(kept) == 20
    assert block["content"] == "12345" * 20
    assert {outcome.sqlstate for outcome in refused} == {"LM401"}
    assert all(
        outcome.detail == {"value_length": 105, "char_limit": 100, "overage": 5}
        for outcome in refused
    )

"""Writers that send the hash of what they read: one wins, the others are told what stands now."""

from __future__ import annotations

import hashlib
import json

import psycopg
import pytest

from tests.calls import call, mint_token, operate
from tests.concurrency.callers import (
    WRITER,
    Connection,
    Outcome,
    Step,
    at_once,
    perform,
    step,
    while_open,
)
from tests.databases import Database

WRITERS = 16
ROUNDS = 6


def sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _round(acme: Database, steps: list[Step]) -> list[Outcome]:
    return at_once(acme, WRITER, perform, steps)


def test_o16_of_16_writers_with_one_hash_one_wins_each_round(acme: Database) -> None:
    reader = acme.connect(WRITER)
    text = "start"
    perform(reader, step("working_memory.set", content=text))
    for number in range(ROUNDS):
        texts = [f"round {number}, writer {writer}" for writer in range(WRITERS)]
        outcomes = _round(
            acme,
            [
                step("working_memory.set", content=wanted, if_match_sha256=sha256(text))
                for wanted in texts
            ],
        )
        (winner,) = (i for i, outcome in enumerate(outcomes) if outcome.sqlstate is None)
        text = texts[winner]
        version = number + 2
        assert outcomes[winner].answer["version"] == version
        assert outcomes[winner].answer["content_sha256"] == sha256(text)
        losers = [outcome for outcome in outcomes if outcome.sqlstate is not None]
        assert {outcome.sqlstate for outcome in losers} == {"LM201"}
        assert all(
            outcome.detail == {"current_sha256": sha256(text), "current_version": version}
            for outcome in losers
        )
        assert operate(reader, "working_memory.get", org="acme", namespace="dev")["content"] == text


def test_o16_writers_who_read_again_after_a_refusal_lose_nothing(acme: Database) -> None:
    """Read, change, write with the hash, and again when refused: every word is there at the end."""
    perform(acme.connect(WRITER), step("working_memory.set", content=""))

    def add(conn: Connection, word: str) -> int:
        tries = 0
        while True:
            tries += 1
            seen = operate(conn, "working_memory.get", org="acme", namespace="dev")
            outcome = perform(
                conn,
                step(
                    "working_memory.set",
                    content=f"{seen['content']} {word}",
                    if_match_sha256=seen["content_sha256"],
                ),
            )
            if outcome.sqlstate is None:
                return tries
            assert outcome.sqlstate == "LM201"

    words = [f"w{number}" for number in range(WRITERS)]
    at_once(acme, WRITER, add, words)
    block = operate(acme.connect(WRITER), "working_memory.get", org="acme", namespace="dev")
    assert sorted(block["content"].split()) == sorted(words)
    assert block["version"] == WRITERS + 1


@pytest.mark.parametrize(
    ("op", "change"),
    [
        ("working_memory.append", {"addition": "x"}),
        ("working_memory.replace", {"old": "start", "new": "x"}),
        ("working_memory.delete", {}),
    ],
)
def test_o18_every_writing_operation_lets_one_hash_win_once(
    acme: Database, op: str, change: dict[str, str]
) -> None:
    perform(acme.connect(WRITER), step("working_memory.set", content="start"))
    outcomes = _round(acme, [step(op, if_match_sha256=sha256("start"), **change)] * 8)
    refused = [outcome for outcome in outcomes if outcome.sqlstate is not None]
    assert len(refused) == 7
    assert {outcome.sqlstate for outcome in refused} == {"LM201"}
    (current,) = {
        (outcome.detail["current_sha256"], outcome.detail["current_version"]) for outcome in refused
    }
    assert current == ((None, None) if op == "working_memory.delete" else (sha256_after(op), 2))


def sha256_after(op: str) -> str:
    return sha256("start\nx" if op == "working_memory.append" else "x")


def test_if_absent_from_16_connections_makes_one_block(acme: Database) -> None:
    texts = [f"writer {number}" for number in range(16)]
    outcomes = _round(
        acme, [step("working_memory.set", content=text, if_absent=True) for text in texts]
    )
    (winner,) = (i for i, outcome in enumerate(outcomes) if outcome.sqlstate is None)
    assert outcomes[winner].answer["created"] is True
    assert {outcome.sqlstate for outcome in outcomes} == {None, "LM202"}
    block = operate(acme.connect(WRITER), "working_memory.get", org="acme", namespace="dev")
    assert (block["content"], block["version"]) == (texts[winner], 1)


def test_if_absent_over_a_tombstone_makes_one_block(acme: Database) -> None:
    conn = acme.connect(WRITER)
    perform(conn, step("working_memory.set", content="old"))
    perform(conn, step("working_memory.delete"))
    outcomes = _round(acme, [step("working_memory.set", content="new", if_absent=True)] * 16)
    assert [outcome.sqlstate for outcome in outcomes].count(None) == 1
    (made,) = (outcome.answer for outcome in outcomes if outcome.sqlstate is None)
    assert (made["version"], made["created"]) == (3, True)


def test_o18_the_api_answers_a_stale_hash_as_sql_does(database: Database) -> None:
    with database.connect() as conn:
        token = mint_token(conn, org="acme", namespace="dev")
    with database.connect("loom_gateway") as conn:
        call(conn, token, "working_memory.set", content="start")

    def write(conn: Connection, content: str) -> str | None:
        try:
            call(
                conn, token, "working_memory.set", content=content, if_match_sha256=sha256("start")
            )
        except psycopg.Error as error:
            assert error.sqlstate == "LM201"
            return error.diag.message_detail
        return None

    told = at_once(database, "loom_gateway", write, ["won"] * 8)
    assert told.count(None) == 1
    (fields,) = {each for each in told if each is not None}
    assert json.loads(fields) == {"current_sha256": sha256("won"), "current_version": 2}


def test_a_hash_that_waits_is_judged_by_what_the_rival_leaves(acme: Database) -> None:
    perform(acme.connect(WRITER), step("working_memory.set", content="start"))
    mine = step("working_memory.set", content="mine", if_match_sha256=sha256("start"))
    theirs = step("working_memory.append", addition="theirs")
    _, outcome = while_open(acme, theirs, mine)
    assert outcome.sqlstate == "LM201"
    assert outcome.detail == {"current_sha256": sha256("start\ntheirs"), "current_version": 2}


def test_a_hash_that_waits_wins_when_the_rival_takes_its_write_back(acme: Database) -> None:
    perform(acme.connect(WRITER), step("working_memory.set", content="start"))
    mine = step("working_memory.set", content="mine", if_match_sha256=sha256("start"))
    theirs = step("working_memory.append", addition="theirs")
    _, outcome = while_open(acme, theirs, mine, commit=False)
    assert outcome.answer["version"] == 2

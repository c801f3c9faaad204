"""Writers of one row that send the hash of what they read: one wins, the others are told why."""

from __future__ import annotations

import json
from typing import Any

import psycopg
import pytest

from tests.calls import call, mint_token
from tests.concurrency.callers import WRITER, Connection, Step, at_once, perform, while_open
from tests.concurrency.memory_steps import check_history, fact, read, section
from tests.concurrency.test_compare_and_set import ROUNDS, WRITERS
from tests.databases import Database
from tests.sql.facts import hash_of


@pytest.mark.parametrize("kind", [fact, section], ids=["memory", "profile"])
def test_o16_of_16_writers_with_one_hash_one_wins_each_round(acme: Database, kind: Any) -> None:
    reader = acme.connect(WRITER)
    value = "start"
    perform(reader, kind("set", value=value))
    winners = []
    for number in range(ROUNDS):
        values = [f"round {number}, writer {writer}" for writer in range(WRITERS)]
        steps = [kind("set", value=each, if_match_sha256=hash_of(value)) for each in values]
        outcomes = at_once(acme, WRITER, perform, steps)
        (winner,) = (i for i, outcome in enumerate(outcomes) if outcome.sqlstate is None)
        value = values[winner]
        version = number + 2
        assert outcomes[winner].answer["version"] == version
        assert outcomes[winner].answer["content_sha256"] == hash_of(value)
        losers = [outcome for outcome in outcomes if outcome.sqlstate is not None]
        assert {outcome.sqlstate for outcome in losers} == {"LM201"}
        told = {"current_sha256": hash_of(value), "current_version": version}
        assert all(outcome.detail == told for outcome in losers)
        winners.append(value)
    assert [version["value"] for version in check_history(reader)] == ["start", *winners]


@pytest.mark.parametrize("kind", [fact, section], ids=["memory", "profile"])
def test_o15_writers_who_read_again_after_a_refusal_lose_nothing(acme: Database, kind: Any) -> None:
    perform(acme.connect(WRITER), kind("set", value=""))

    def add(conn: Connection, word: str) -> None:
        while True:
            seen = read(conn)
            changed = kind(
                "set", value=f"{seen['value']} {word}", if_match_sha256=seen["content_sha256"]
            )
            outcome = perform(conn, changed)
            if outcome.sqlstate is None:
                return
            assert outcome.sqlstate == "LM201"

    words = [f"w{number}" for number in range(WRITERS)]
    at_once(acme, WRITER, add, words)
    reader = acme.connect(WRITER)
    assert sorted(read(reader)["value"].split()) == sorted(words)
    assert len(check_history(reader)) == WRITERS + 1


@pytest.mark.parametrize(
    "change",
    [
        fact("set", value="x"),
        fact("delete"),
        fact("revert", version=1),
        section("set", value="x"),
        section("append", addition="x"),
        section("replace", old="start", new="x"),
        section("delete"),
    ],
    ids=lambda change: str(change.op),
)
def test_o18_every_writing_operation_lets_one_hash_win_once(acme: Database, change: Step) -> None:
    conn = acme.connect(WRITER)
    perform(conn, section("set", value="first"))
    perform(conn, section("set", value="start"))
    with_hash = Step(change.op, {**change.request, "if_match_sha256": hash_of("start")})
    outcomes = at_once(acme, WRITER, perform, [with_hash] * 8)
    refused = [outcome for outcome in outcomes if outcome.sqlstate is not None]
    assert len(refused) == 7
    assert {outcome.sqlstate for outcome in refused} == {"LM201"}
    row = read(conn)
    now = (row["content_sha256"], row["version"]) if row["found"] else (None, None)
    told = {
        (outcome.detail["current_sha256"], outcome.detail["current_version"]) for outcome in refused
    }
    assert told == {now}
    assert len(check_history(conn)) == 3


@pytest.mark.parametrize("before", ["absent", "tombstone", "expired", "redacted"])
def test_if_absent_from_16_connections_makes_one_row(acme: Database, before: str) -> None:
    conn = acme.connect()
    if before != "absent":
        perform(conn, fact("set", value="old", ttl_seconds=1 if before == "expired" else None))
    if before == "tombstone":
        perform(conn, fact("delete"))
    elif before == "redacted":
        perform(conn, fact("redact", reason="asked"))
    elif before == "expired":
        conn.execute("update loom.memory set expires_at = created_at")
    values = [f"writer {number}" for number in range(WRITERS)]
    steps = [fact("set", value=value, if_absent=True) for value in values]
    outcomes = at_once(acme, WRITER, perform, steps)
    (winner,) = (i for i, outcome in enumerate(outcomes) if outcome.sqlstate is None)
    assert outcomes[winner].answer["created"] is True
    assert {outcome.sqlstate for outcome in outcomes} == {None, "LM202"}
    assert read(conn)["value"] == values[winner]
    check_history(conn)


def test_a_hash_that_waits_is_judged_by_what_the_rival_leaves(acme: Database) -> None:
    perform(acme.connect(WRITER), section("set", value="start"))
    mine = section("set", value="mine", if_match_sha256=hash_of("start"))
    theirs = section("append", addition="theirs")
    _, outcome = while_open(acme, theirs, mine)
    assert outcome.sqlstate == "LM201"
    assert outcome.detail == {"current_sha256": hash_of("start\ntheirs"), "current_version": 2}
    _, outcome = while_open(acme, section("delete"), section("append", addition="x"), commit=False)
    assert outcome.answer["version"] == 3


def test_o18_the_api_answers_a_stale_hash_as_sql_does(database: Database) -> None:
    with database.connect() as conn:
        token = mint_token(conn, org="acme", namespace="dev")
    with database.connect("loom_gateway") as conn:
        call(conn, token, "memory.set", memory_key="k", value="start")

    def write(conn: Connection, value: str) -> str | None:
        sent = {"memory_key": "k", "value": value, "if_match_sha256": hash_of("start")}
        try:
            call(conn, token, "memory.set", **sent)
        except psycopg.Error as error:
            assert error.sqlstate == "LM201"
            return error.diag.message_detail
        return None

    told = at_once(database, "loom_gateway", write, ["won"] * 8)
    assert told.count(None) == 1
    (fields,) = {each for each in told if each is not None}
    assert json.loads(fields) == {"current_sha256": hash_of("won"), "current_version": 2}

"""Appends to one section of many callers: none needs to read first, and none is lost."""

from __future__ import annotations

from concurrent.futures import ProcessPoolExecutor

import pytest

from tests.calls import call, mint_token, operate
from tests.concurrency.callers import WRITER, Connection, Step, at_once, in_processes, perform
from tests.concurrency.conftest import PROCESSES
from tests.concurrency.memory_steps import check_history, read, section
from tests.databases import Database

EACH = 4


@pytest.mark.parametrize("user", ["u1", "-"])
@pytest.mark.parametrize("before", ["absent", "live", "tombstone"])
def test_o20_32_appends_from_8_processes_leave_32_lines(
    pool: ProcessPoolExecutor, acme: Database, before: str, user: str
) -> None:
    reader = acme.connect(WRITER)
    if before != "absent":
        perform(reader, section("set", value="first", user_id=user))
    if before == "tombstone":
        perform(reader, section("delete", user_id=user))
    scripts = [
        [section("append", addition=f"{who}/{line}", user_id=user) for line in range(EACH)]
        for who in range(PROCESSES)
    ]
    outcomes = [each for script in in_processes(pool, acme, WRITER, scripts) for each in script]

    assert {outcome.sqlstate for outcome in outcomes} == {None}
    expected = [f"{who}/{line}" for who in range(PROCESSES) for line in range(EACH)]
    lines = read(reader, user_id=user)["value"].split("\n")
    assert sorted(lines) == sorted(["first"] * (before == "live") + expected)
    earlier = {"absent": 0, "live": 1, "tombstone": 2}[before]
    answered = sorted(outcome.answer["version"] for outcome in outcomes)
    assert answered == list(range(earlier + 1, earlier + 33))
    created = [outcome.answer["created"] for outcome in outcomes]
    assert created.count(True) == (before != "live")
    history = check_history(reader, user_id=user)
    assert [version["change"] for version in history[earlier:]] == ["append"] * 32
    # Each version has what the one before it had, and one line more.
    for older, newer in zip(history[earlier:], history[earlier + 1 :], strict=False):
        assert newer["value"].startswith(older["value"] + "\n")
    for who in range(PROCESSES):
        mine = [line for line in lines if line.startswith(f"{who}/")]
        assert mine == [f"{who}/{line}" for line in range(EACH)]


def test_o19_appends_under_one_token_are_all_kept(database: Database) -> None:
    with database.connect() as conn:
        token = mint_token(conn, org="acme", namespace="dev", read_user_id="u1")

    def append(conn: Connection, who: int) -> list[int]:
        return [
            call(conn, token, "profile.append", label="k", addition=f"{who}/{line}")["version"]
            for line in range(2)
        ]

    made = at_once(database, "loom_gateway", append, range(16))
    with database.connect("loom_gateway") as conn:
        lines = call(conn, token, "memory.get", memory_key="k")["value"].split("\n")
    assert sorted(lines) == sorted(f"{who}/{line}" for who in range(16) for line in range(2))
    assert sorted(version for each in made for version in each) == list(range(1, 33))


def test_appends_up_to_the_limit_never_pass_it(pool: ProcessPoolExecutor, acme: Database) -> None:
    """Each of 32 appends fits when it is sent, and all together do not."""
    reader = acme.connect(WRITER)
    perform(reader, section("set", value="", char_limit=52))
    script = [section("append", addition="12345", separator="")] * EACH
    outcomes = [
        each for played in in_processes(pool, acme, WRITER, [script] * PROCESSES) for each in played
    ]
    refused = [outcome for outcome in outcomes if outcome.sqlstate is not None]
    assert len(refused) == 22
    assert {outcome.sqlstate for outcome in refused} == {"LM402"}
    assert all(outcome.detail["overage"] == 5 for outcome in refused)
    # Of 52 characters of JSON two are the quotes.
    assert read(reader)["value"] == "12345" * 10
    assert len(check_history(reader)) == 11


def test_o68_a_write_is_seen_at_once_by_every_read_from_another_process(
    pool: ProcessPoolExecutor, acme: Database
) -> None:
    """Under the same identity and the default scope; each read is of its own process."""
    owner = {"agent": "coder", "session_id": "s1"}
    for number in range(3):
        value = f"value {number}"
        script = [section("set", value=value, **owner)]
        ((written,),) = in_processes(pool, acme, WRITER, [script])
        reads = [
            Step("memory.get", {**script[0].request, "memory_key": "k"}),
            Step("memory.list", script[0].request),
            Step("memory.history", {**script[0].request, "memory_key": "k"}),
            Step("profile.render", script[0].request),
            Step("profile.list", script[0].request),
        ]
        keep = {"org", "namespace", "user_id", "agent", "session_id", "memory_key"}
        scripts = [
            [Step(each.op, {k: v for k, v in each.request.items() if k in keep})] for each in reads
        ]
        got, listed, told, rendered, sections = (
            outcome.answer for (outcome,) in in_processes(pool, acme, WRITER, scripts)
        )
        sha256 = written.answer["content_sha256"]
        assert (got["value"], got["version"]) == (value, number + 1)
        assert [item["value"] for item in listed["items"]] == [value]
        assert told["items"][0]["value"] == value
        assert len(told["items"]) == number + 1
        assert value in rendered["text"]
        assert [part["content_sha256"] for part in rendered["sections"]] == [sha256]
        assert [item["content_sha256"] for item in sections["items"]] == [sha256]


def test_o20_an_append_inside_a_batch_reads_its_own_writes(acme: Database) -> None:
    conn = acme.connect(WRITER)
    item = {"op": "profile.append", "namespace": "dev", **{"user_id": "u1", "label": "k"}}
    items = [{**item, "addition": str(number)} for number in range(3)]
    items.append({"op": "memory.get", "namespace": "dev", "user_id": "u1", "memory_key": "k"})
    results = operate(conn, "batch", org="acme", requests=items)["results"]
    assert results[-1]["result"]["value"] == "0\n1\n2"

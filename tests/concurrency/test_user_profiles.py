"""User profiles under many writers: each merge sees the one before it, and none comes back after
an erasure."""

from __future__ import annotations

from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from loom.profile import FactOp, PostgresProfileStore, ProfileDelta, SqliteProfileStore
from tests.calls import Answer, operate
from tests.concurrency.callers import (
    ADMIN,
    WRITER,
    Step,
    at_once,
    in_processes,
    perform,
    step,
    while_open,
)
from tests.concurrency.conftest import PROCESSES
from tests.databases import Database
from tests.races import Rival, wait_until_blocked

EACH = 4
USER = {"user_id": "u1"}
ERASURE = Step("erasure.request", {"org": "acme", **USER})


def apply(key: str, value: str = "v", **more: Any) -> Step:
    """A step that adds a fact."""
    ops = [{"op": "add", "key": key, "value": value}]
    return step("user_profile.apply", **USER, delta={"fact_ops": ops}, **more)


def say(text: str, **more: Any) -> Step:
    """A step that updates by what the user says."""
    return step("user_profile.update", **USER, signals=[{"text": text}], **more)


def profile(database: Database) -> Answer:
    return operate(
        database.connect(WRITER), "user_profile.get", org="acme", namespace="dev", **USER
    )


def facts(read: Answer) -> dict[str, str]:
    return {fact["key"]: fact["value"] for fact in read["profile"]["facts"]}


@pytest.mark.parametrize("before", ["absent", "live", "tombstone"])
def test_o19_32_updates_from_8_processes_are_32_versions_and_none_is_lost(
    pool: ProcessPoolExecutor, acme: Database, before: str
) -> None:
    first = 1
    if before != "absent":
        perform(acme.connect(WRITER), apply("first"))
        first = 2
    if before == "tombstone":
        perform(acme.connect(WRITER), step("user_profile.delete", **USER))
        first = 3
    scripts = [[apply(f"{who}/{number}") for number in range(EACH)] for who in range(PROCESSES)]
    outcomes = in_processes(pool, acme, WRITER, scripts)
    versions = sorted(outcome.answer["version"] for each in outcomes for outcome in each)
    assert versions == list(range(first, first + PROCESSES * EACH))
    expected = {f"{who}/{number}" for who in range(PROCESSES) for number in range(EACH)}
    if before == "live":
        expected.add("first")
    read = profile(acme)
    assert (set(facts(read)), read["version"]) == (expected, versions[-1])
    history = operate(
        acme.connect(WRITER), "user_profile.history", org="acme", namespace="dev", limit=200, **USER
    )["items"]
    assert [item["version"] for item in history] == list(range(versions[-1], 0, -1))
    # Each version is the one before it and one fact more.
    counts = [len(item["profile"]["facts"]) for item in history[: PROCESSES * EACH]]
    assert counts == list(range(len(expected), len(expected) - PROCESSES * EACH, -1))


def test_o28_one_signal_from_8_processes_is_merged_once(
    pool: ProcessPoolExecutor, acme: Database
) -> None:
    said = [
        step("user_profile.update", **USER, signals=[{"id": "s1", "text": f"Call me Sam{who}x."}])
        for who in range(PROCESSES)
    ]
    outcomes = in_processes(pool, acme, WRITER, [[each] for each in said])
    assert [outcome.answer["changed"] for (outcome,) in outcomes].count(True) == 1
    assert profile(acme)["version"] == 1


def test_o16_of_two_writers_who_read_the_same_version_one_is_refused(acme: Database) -> None:
    perform(acme.connect(WRITER), apply("a", "0"))
    first, second = while_open(acme, apply("a", "1", if_version=1), apply("a", "2", if_version=1))
    assert first.answer["version"] == 2
    assert (second.sqlstate, second.detail["current_version"]) == ("LM201", 2)


def test_a_writer_waits_for_the_one_before_it_and_merges_into_its_work(acme: Database) -> None:
    first, second = while_open(acme, apply("a"), apply("b"))
    assert (first.answer["version"], second.answer["version"]) == (1, 2)
    assert list(facts(second.answer)) == ["a", "b"]
    _, alone = while_open(acme, apply("c"), apply("d"), commit=False)
    assert list(facts(alone.answer)) == ["a", "b", "d"]


@pytest.mark.parametrize("late", [apply("b"), say("Call me Sam."), say("Hi.", source="llm")])
def test_o70_a_write_beside_an_erasure_is_new_data(acme: Database, late: Step) -> None:
    perform(acme.connect(WRITER), apply("a"))
    perform(acme.connect(WRITER), say("Hello.", source="llm"))
    _, written = while_open(acme, ERASURE, late, first_login=ADMIN)
    assert written.sqlstate is None
    read = profile(acme)
    assert "a" not in facts(read)
    assert (read["version"], read["pending"]) in ((1, 0), (0, 1))


def test_o68_an_erasure_takes_what_was_being_written(acme: Database) -> None:
    perform(acme.connect(WRITER), apply("a"))
    request = apply("b").request
    writer, eraser = acme.connect(WRITER), acme.connect(ADMIN)
    with writer.transaction():
        operate(writer, "user_profile.apply", **request)
        rival = Rival(eraser, lambda: perform(eraser, ERASURE))
        wait_until_blocked(acme.connect(), rival, by=writer.info.backend_pid)
    assert rival.result().answer["removed"]["user_profile"] == 3
    assert profile(acme)["found"] is False


def test_updates_of_many_users_do_not_wait_for_each_other(acme: Database) -> None:
    other = Step("user_profile.apply", {**apply("b").request, "user_id": "u2"})
    writer = acme.connect(WRITER)
    perform(writer, apply("first"))  # and the namespace with it, for which they would wait
    with writer.transaction():
        operate(writer, "user_profile.apply", **apply("a").request)
        assert perform(acme.connect(WRITER), other).answer["version"] == 1


def test_a_claim_takes_each_task_once(acme: Database) -> None:
    writer = acme.connect(WRITER)
    for user in range(12):
        request = {**say("Hi.", source="llm").request, "user_id": f"u{user}"}
        operate(writer, "user_profile.update", **request)

    def claim(conn: Any, _number: int) -> list[str]:
        claimed: list[str] = []
        while True:
            (task,) = conn.execute("select loom.user_profile_claim('acme')").fetchone()
            if task is None:
                return claimed
            claimed.append(task["lease_id"])

    leases = [each for one in at_once(acme, "loom_worker", claim, range(4)) for each in one]
    assert len(leases) == len(set(leases)) == 12


def _add_through(kind: str, where: str, who: int) -> None:
    store: Any = SqliteProfileStore(where) if kind == "sqlite" else PostgresProfileStore(where)
    with store:
        for number in range(EACH):
            op = FactOp("add", f"{who}/{number}", "v")
            store.apply("u1", ProfileDelta(fact_ops=[op]))


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_o20_stores_of_8_processes_lose_nothing(
    pool: ProcessPoolExecutor, acme: Database, tmp_path: Path, kind: str
) -> None:
    where = str(tmp_path / "p.db") if kind == "sqlite" else acme.dsn()
    list(pool.map(_add_through, [kind] * PROCESSES, [where] * PROCESSES, range(PROCESSES)))
    store: Any = SqliteProfileStore(where) if kind == "sqlite" else PostgresProfileStore(where)
    with store:
        found = store.get("u1")
    assert (found.version, len(found.facts)) == (PROCESSES * EACH, PROCESSES * EACH)

"""Writers of one key: its versions come in one order, and nothing accepted is lost."""

from __future__ import annotations

from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from typing import Any

import pytest

from tests.concurrency.callers import ADMIN, WRITER, Step, in_processes, perform, while_open
from tests.concurrency.conftest import PROCESSES
from tests.concurrency.memory_steps import check_history, fact, read, section
from tests.databases import Database
from tests.races import Rival, wait_until_blocked

LIVE = (fact("set", value="one"),)
TOMBSTONE = (*LIVE, fact("delete"))
MINE, THEIRS = fact("set", value="mine"), fact("set", value="theirs")

# Before; the first, and whether it stays; the second; its answer or refusal; the value at the end.
CASES: list[tuple[tuple[Step, ...], Step, bool, Step, dict[str, Any] | str, Any]] = [
    ((), THEIRS, True, MINE, {"version": 2, "created": False}, "mine"),
    ((), THEIRS, False, MINE, {"version": 1, "created": True}, "mine"),
    (LIVE, THEIRS, True, fact("delete"), {"found": True, "version": 3}, None),
    (LIVE, fact("delete"), True, MINE, {"version": 3, "created": True}, "mine"),
    (LIVE, fact("delete"), True, fact("delete"), {"found": False, "version": 2}, None),
    (LIVE, fact("delete"), True, fact("restore"), {"restored": True, "version": 3}, "one"),
    (LIVE, fact("delete"), False, fact("restore"), {"restored": False, "version": 1}, "one"),
    (TOMBSTONE, fact("restore"), True, fact("delete"), {"found": True, "version": 4}, None),
    (TOMBSTONE, fact("restore"), True, fact("restore"), {"restored": False, "version": 3}, "one"),
    (TOMBSTONE, fact("restore"), False, fact("restore"), {"restored": True, "version": 3}, "one"),
    (TOMBSTONE, fact("restore"), True, MINE, {"version": 4, "created": False}, "mine"),
    (TOMBSTONE, THEIRS, True, fact("restore"), {"restored": False, "version": 3}, "theirs"),
    (TOMBSTONE, THEIRS, True, fact("revert", version=1), {"version": 4}, "one"),
    (LIVE, fact("lock", reason="r"), True, MINE, "LM205", "one"),
    (LIVE, fact("lock", reason="r"), True, fact("delete"), "LM205", "one"),
    (LIVE, fact("lock", reason="r"), True, fact("lock", reason="s"), "LM205", "one"),
    (LIVE, fact("lock", reason="r"), False, MINE, {"version": 2}, "mine"),
    (LIVE, fact("pin"), True, MINE, "LM204", "one"),
    (LIVE, THEIRS, True, fact("pin"), {"version": 3}, "theirs"),
    (LIVE, fact("delete"), True, fact("label", tags={"add": ["t"]}), "LM102", None),
    (LIVE, fact("redact", reason="r"), True, fact("revert", version=1), "LM102", None),
    (LIVE, fact("redact", reason="r"), True, MINE, {"version": 3, "created": True}, "mine"),
    (LIVE, MINE, True, MINE, {"version": 2, "noop": True}, "mine"),
    ((), section("append", addition="a"), True, fact("set", value="b"), {"version": 2}, "b"),
]


@pytest.mark.parametrize(
    ("before", "first", "commit", "second", "expected", "value"),
    CASES,
    ids=[
        f"{len(case[0])} before, {case[1].op}{'' if case[2] else ' taken back'}, {case[3].op}"
        for case in CASES
    ],
)
def test_o19_the_second_write_is_decided_by_what_the_first_left(
    acme: Database,
    before: tuple[Step, ...],
    first: Step,
    commit: bool,
    second: Step,
    expected: dict[str, Any] | str,
    value: object,
) -> None:
    conn = acme.connect(WRITER)
    for each in before:
        assert perform(conn, each).sqlstate is None
    done, outcome = while_open(acme, first, second, commit=commit, first_login=ADMIN)
    assert done.sqlstate is None
    if isinstance(expected, str):
        assert outcome.sqlstate == expected
    else:
        assert {field: outcome.answer.get(field) for field in expected} == expected
    assert read(conn).get("value") == value
    check_history(conn)


def test_set_against_delete_against_restore_from_8_processes(
    pool: ProcessPoolExecutor, acme: Database
) -> None:
    perform(acme.connect(WRITER), fact("set", value="first"))
    scripts = [
        [
            step
            for number in range(4)
            for step in (
                fact("set", value=f"{who}.{number}"),
                fact("delete"),
                fact("restore"),
                fact("set", value=f"{who}.{number} again"),
            )[who % 3 :]
        ]
        for who in range(PROCESSES)
    ]
    played = in_processes(pool, acme, WRITER, scripts)
    pairs = [
        (wanted, outcome)
        for script, outcomes in zip(scripts, played, strict=True)
        for wanted, outcome in zip(script, outcomes, strict=True)
    ]
    assert {outcome.sqlstate for _, outcome in pairs} == {None}
    conn = acme.connect()
    history = check_history(conn)
    by_version = {version["version"]: version for version in history}
    # Each write that was accepted is the version it was told, and there is no other.
    effects: Counter[int] = Counter()
    for wanted, outcome in pairs:
        answer = outcome.answer
        if answer.get("noop") or answer.get("restored") is False or answer.get("found") is False:
            continue
        effects[answer["version"]] += 1
        version = by_version[answer["version"]]
        assert version["change"] == wanted.op.removeprefix("memory.")
        if "value" in wanted.request:
            assert version["value"] == wanted.request["value"]
    assert effects == Counter(range(2, len(history) + 1))
    # A restore brings back what the delete before it took.
    for older, deleted, restored in zip(history, history[1:], history[2:], strict=False):
        if restored["change"] == "restore":
            assert (deleted["change"], restored["value"]) == ("delete", older["value"])
    assert conn.execute("select count(*) from loom.memory").fetchone() == (1,)


def test_o14_first_writes_of_one_key_from_8_processes_make_one_row(
    pool: ProcessPoolExecutor, acme: Database
) -> None:
    scripts = [[fact("set", value="x"), fact("set", value=str(who))] for who in range(PROCESSES)]
    played = in_processes(pool, acme, WRITER, scripts)
    firsts = [outcomes[0].answer for outcomes in played]
    assert [answer["created"] for answer in firsts].count(True) == 1
    assert len({outcome.answer["memory_id"] for script in played for outcome in script}) == 1
    conn = acme.connect()
    assert conn.execute("select count(*) from loom.memory").fetchone() == (1,)
    check_history(conn)


def test_writers_that_wait_in_a_queue_each_keep_their_text(acme: Database) -> None:
    observer, one = acme.connect(), acme.connect(WRITER)
    others = [acme.connect(WRITER) for _ in range(4)]
    with one.transaction():
        perform(one, section("append", addition="first"))
        rivals = []
        for number, conn in enumerate(others):
            wanted = section("append", addition=str(number))
            rivals.append(Rival(conn, partial(perform, conn, wanted)))
            wait_until_blocked(observer, rivals[-1])
    answered = sorted(rival.result().answer["version"] for rival in rivals)
    assert answered == [2, 3, 4, 5]
    assert sorted(read(one)["value"].split("\n")) == ["0", "1", "2", "3", "first"]


def test_writes_of_other_users_and_reads_do_not_wait(acme: Database) -> None:
    one, two = acme.connect(WRITER), acme.connect(WRITER)
    perform(one, fact("set", value="before"))
    two.execute("set lock_timeout = '2s'")
    with one.transaction():
        perform(one, fact("set", value="after"))
        for owner in ({"user_id": "u2"}, {"user_id": "-"}, {"namespace": "other"}):
            assert perform(two, fact("set", value="x", **owner)).sqlstate is None
        assert read(two)["value"] == "before"
    assert read(two)["value"] == "after"


def test_writers_of_everyones_rows_wait_for_those_of_their_agent_only(acme: Database) -> None:
    one, two = acme.connect(WRITER), acme.connect(WRITER)
    everyone = {"user_id": "-"}
    perform(one, fact("set", value="x", **everyone))
    two.execute("set lock_timeout = '2s'")
    with one.transaction():
        perform(one, fact("set", value="y", **everyone, agent="a"))
        assert perform(two, fact("set", value="z", **everyone, agent="b")).sqlstate is None
    _, second = while_open(
        acme,
        fact("set", value="1", **everyone, agent="a", memory_key="one"),
        fact("set", value="2", **everyone, agent="a", memory_key="two"),
    )
    assert second.sqlstate is None

"""Runs that bind looms at once, and threads woven while a loom is copied or deleted."""

from __future__ import annotations

from typing import Any

import pytest
from psycopg import sql
from psycopg.types.json import Jsonb

from tests.concurrency.callers import WRITER, Connection, at_once, perform, step, while_open
from tests.databases import Database
from tests.races import Rival, wait_until_blocked
from tests.sql.loom_doors import INTERACTION, RUN, add, bind, looms, make, texts

RUNS = 32

DEV = {"namespace": "dev"}


def count(conn: Connection, table: str) -> int:
    statement = sql.SQL("select count(*) from {}").format(sql.Identifier("loom", table))
    row = conn.execute(statement).fetchone()
    assert row is not None
    return int(row[0])


@pytest.mark.parametrize(
    ("scope", "made"),
    [
        ({"scope": "interaction", "interactionId": INTERACTION}, 1),
        ({"scope": "input", "interactionId": INTERACTION, "scopeValue": "v"}, 1),
        ({"scope": "run", "processId": RUN}, 1),
        ({"scope": "agent", "interactionId": INTERACTION}, 3),
    ],
    ids=lambda value: str(value.get("scope")) if isinstance(value, dict) else "",
)
def test_32_binds_of_one_scope_make_one_loom(
    acme: Database, scope: dict[str, Any], made: int
) -> None:
    # Named in another order by each, so that they would wait in a circle if they took it.
    agents = ["a", "b", "c"]
    wanted = [
        step("looms.bind", **scope, agents=agents[number % 3 :] + agents[: number % 3])
        for number in range(RUNS)
    ]
    outcomes = at_once(acme, WRITER, perform, wanted)
    assert {outcome.sqlstate for outcome in outcomes} == {None}
    bound = [
        {each["agent"]: each["loom"]["id"] for each in outcome.answer["bindings"]}
        for outcome in outcomes
    ]
    assert all(each == bound[0] for each in bound)
    assert len(set(bound[0].values())) == made
    assert count(acme.connect(), "loom") == made


def test_32_first_wake_ups_copy_the_source_once(acme: Database) -> None:
    conn = acme.connect()
    source = make(conn, **DEV)
    for number in range(3):
        add(conn, source, f"shared {number}", **DEV, userId=f"u{number}")
    wanted = step(
        "looms.bind",
        scope="interaction",
        interactionId=INTERACTION,
        seedFromLoomId=source,
        readScope="namespace",
    )
    outcomes = at_once(acme, WRITER, perform, [wanted] * RUNS)
    assert {outcome.sqlstate for outcome in outcomes} == {None}
    bindings = [outcome.answer["bindings"][0] for outcome in outcomes]
    assert {each["threadCount"] for each in bindings} == {3}
    assert len({each["wakeUpText"] for each in bindings}) == 1
    assert len({each["loom"]["seededAt"] for each in bindings}) == 1
    assert count(conn, "loom_thread") == 6


@pytest.mark.parametrize("commit", [True, False])
def test_a_thread_woven_into_the_source_meanwhile_is_copied_whole_or_not_at_all(
    acme: Database, commit: bool
) -> None:
    conn = acme.connect()
    source = make(conn, **DEV)
    add(conn, source, "before", **DEV)
    weaver, runner = acme.connect(WRITER), acme.connect(WRITER)
    with weaver.transaction(force_rollback=not commit):
        add(weaver, source, "meanwhile", **DEV)
        # It waits for nobody: the copy is of what is there.
        place = {"scope": "run", "processId": RUN, "seedFromLoomId": source}
        (binding,) = bind(runner, **DEV, **place)
    assert texts(conn, binding["loom"]["id"], **DEV) == ["before"]
    assert texts(conn, source, **DEV) == ["before", "meanwhile"][: 1 + commit]
    assert bind(conn, **DEV, **place)[0]["threadCount"] == 1


def test_a_second_wake_up_waits_for_the_first_and_copies_nothing(acme: Database) -> None:
    conn = acme.connect()
    source = make(conn, **DEV)
    add(conn, source, "shared", **DEV)
    heir = bind(conn, **DEV, scope="run", processId=RUN)[0]["loom"]["id"]
    conn.execute("update loom.loom set seed_from_loom_id = %s where loom_id = %s", (source, heir))
    wake_up = step("looms.bind", loomId=heir)
    first, second = while_open(acme, wake_up, wake_up)
    assert first.answer == second.answer
    assert texts(conn, heir, **DEV) == ["shared"]


def test_a_first_wake_up_that_fails_leaves_the_copy_to_the_next(acme: Database) -> None:
    conn = acme.connect()
    source = make(conn, **DEV)
    add(conn, source, "shared", **DEV)
    heir = bind(conn, **DEV, scope="run", processId=RUN)[0]["loom"]["id"]
    conn.execute("update loom.loom set seed_from_loom_id = %s where loom_id = %s", (source, heir))
    wake_up = step("looms.bind", loomId=heir)
    _, second = while_open(acme, wake_up, wake_up, commit=False)
    assert second.answer["bindings"][0]["threadCount"] == 1
    assert texts(conn, heir, **DEV) == ["shared"]


def test_o70_an_erasure_beside_a_copy_leaves_no_copy_of_the_user(acme: Database) -> None:
    conn = acme.connect()
    source = make(conn, **DEV)
    add(conn, source, "mine", **DEV, userId="u1")
    add(conn, source, "nobody's", **DEV)
    erase = step("erasure.request", user_id="u1")
    erase.request.pop("namespace")
    copy = step("looms.bind", scope="run", processId=RUN, seedFromLoomId=source)
    outcomes = while_open(acme, erase, copy, first_login="loom_test_admin")
    assert [outcome.sqlstate for outcome in outcomes] == [None, None]
    heir = outcomes[1].answer["bindings"][0]["loom"]["id"]
    assert texts(conn, heir, **DEV) == ["nobody's"]


def test_o70_an_erasure_waits_for_a_copy_and_takes_it_too(acme: Database) -> None:
    conn = acme.connect()
    source = make(conn, **DEV)
    add(conn, source, "mine", **DEV, userId="u1")
    with (
        acme.connect() as observer,
        acme.connect(WRITER) as runner,
        acme.connect("loom_test_admin") as eraser,
    ):
        with runner.transaction():
            (binding,) = bind(runner, **DEV, scope="run", processId=RUN, seedFromLoomId=source)
            erase = step("erasure.request", user_id="u1")
            erase.request.pop("namespace")
            rival = Rival(eraser, lambda: perform(eraser, erase))
            wait_until_blocked(observer, rival)
        assert rival.result().answer["removed"]["loom_thread"] == 2
    assert texts(conn, binding["loom"]["id"], **DEV) == []


@pytest.mark.parametrize("op", ["looms.thread_add", "looms.activity"])
def test_what_is_woven_into_a_loom_that_is_being_deleted_finds_none(
    acme: Database, op: str
) -> None:
    conn = acme.connect()
    loom = make(conn, **DEV)
    delete, weave = step("looms.delete", loomId=loom), step(op, loomId=loom, text="t")
    first, second = while_open(acme, delete, weave)
    assert (first.sqlstate, second.sqlstate) == (None, "LM103")


def test_of_two_looms_made_under_one_name_one_is(acme: Database) -> None:
    conn = acme.connect()
    looms(conn, "create", name="first", **DEV)
    wanted = [step("looms.create", name="one") for _ in range(16)]
    outcomes = at_once(acme, WRITER, perform, wanted)
    assert sorted(str(outcome.sqlstate) for outcome in outcomes) == ["LM202"] * 15 + ["None"]


def test_a_rename_waits_for_a_rival_to_the_name(acme: Database) -> None:
    conn = acme.connect()
    loom = make(conn, "old", **DEV)
    create, rename = step("looms.create", name="new"), step("looms.update", loomId=loom, name="new")
    _, second = while_open(acme, create, rename)
    assert second.sqlstate == "LM202"
    assert looms(conn, "get", loomId=loom, **DEV)["name"] == "old"


def test_a_name_that_another_took_meanwhile_is_taken_also_for_the_loom_that_had_it(
    acme: Database,
) -> None:
    loom = make(acme.connect(), "old", **DEV)
    keep = step("looms.update", loomId=loom, name="old")
    with acme.connect() as observer, acme.connect(WRITER) as one, acme.connect(WRITER) as two:
        with one.transaction():
            assert perform(one, step("looms.update", loomId=loom, name="new")).sqlstate is None
            assert perform(one, step("looms.create", name="old")).sqlstate is None
            rival = Rival(two, lambda: perform(two, keep))
            wait_until_blocked(observer, rival, by=one.info.backend_pid)
        assert rival.result().sqlstate == "LM202"


def test_32_turns_and_threads_at_once_are_all_there(acme: Database) -> None:
    conn = acme.connect()
    loom = make(conn, **DEV)
    wanted = [
        step(op, loomId=loom, text=f"{number}", userId=f"u{number % 4}")
        for number in range(16)
        for op in ("looms.thread_add", "looms.activity")
    ]
    outcomes = at_once(acme, WRITER, perform, wanted)
    assert {outcome.sqlstate for outcome in outcomes} == {None}
    assert sorted(texts(conn, loom, **DEV)) == sorted(str(number) for number in range(16))
    turns = looms(conn, "inspection", loomId=loom, readScope="namespace", **DEV)
    assert turns["pendingActivity"]["turns"] == 16


@pytest.fixture
def woven(acme: Database) -> tuple[Connection, str]:
    """A loom that a worker has claimed, with a turn and five threads of u1; and the lease."""
    conn = acme.connect()
    loom = make(conn, **DEV)
    for number in range(5):
        add(conn, loom, f"thread {number}", **DEV, userId="u1")
    looms(conn, "activity", loomId=loom, text="turn", userId="u1", **DEV)
    looms(conn, "weave", loomId=loom, **DEV)
    claimed = conn.execute("select loom.weaving_claim('acme', %s)", (loom,)).fetchone()
    assert claimed is not None
    lease = claimed[0]["lease_id"]
    read = conn.execute("select loom.weaving_read('acme', %s, 'u1', '-')", (lease,)).fetchone()
    assert read is not None
    assert len(read[0]["threads"]) == 5
    return conn, lease


CHANGES = [
    {"action": "add", "text": "added"},
    {"action": "revise", "thread": 1, "text": "revised"},
    {"action": "retire", "thread": 2},
]


def apply(conn: Connection, lease: str) -> str:
    row = conn.execute(
        "select loom.weaving_apply('acme', %s, 'u1', '-', %s)", (lease, Jsonb(CHANGES))
    ).fetchone()
    assert row is not None
    return str(row[0]["outcome"])


def rows_of_u1(conn: Connection) -> int:
    tables = ("loom_thread", "loom_thread_version", "loom_turn", "loom_weaving_part")
    found = 0
    for table in (*tables, "loom_weaving_change"):
        statement = sql.SQL("select count(*) from {} where user_id = 'u1'")
        row = conn.execute(statement.format(sql.Identifier("loom", table))).fetchone()
        assert row is not None
        found += int(row[0])
    return found


def test_o70_an_erasure_waits_for_what_a_weaving_writes_and_takes_it(
    acme: Database, woven: tuple[Connection, str]
) -> None:
    conn, lease = woven
    worker, eraser, observer = acme.connect(), acme.connect(), acme.connect()
    erase = step("erasure.request", user_id="u1")
    erase.request.pop("namespace")
    with worker.transaction():
        assert apply(worker, lease) == "applied"
        rival = Rival(eraser, lambda: perform(eraser, erase))
        wait_until_blocked(observer, rival, by=worker.info.backend_pid)
    assert rival.result().sqlstate is None
    assert rows_of_u1(conn) == 0


@pytest.mark.parametrize("commit", [True, False])
def test_o70_a_weaving_waits_for_an_erasure_and_finds_nothing_to_write(
    acme: Database, woven: tuple[Connection, str], commit: bool
) -> None:
    conn, lease = woven
    worker, eraser, observer = acme.connect(), acme.connect(), acme.connect()
    erase = step("erasure.request", user_id="u1")
    erase.request.pop("namespace")
    with eraser.transaction(force_rollback=not commit):
        assert perform(eraser, erase).sqlstate is None
        rival = Rival(worker, lambda: apply(worker, lease))
        wait_until_blocked(observer, rival, by=eraser.info.backend_pid)
    assert rival.result() == ("lost" if commit else "applied")
    assert (rows_of_u1(conn) == 0) == commit


def test_an_answer_is_applied_once(acme: Database, woven: tuple[Connection, str]) -> None:
    conn, lease = woven
    outcomes = at_once(acme, None, lambda each, _number: apply(each, lease), range(8))
    assert sorted(outcomes) == ["applied"] + ["lost"] * 7
    counts = conn.execute("select added, revised, retired from loom.loom_weaving").fetchone()
    assert counts == (1, 1, 1)


def test_one_of_many_workers_claims_a_loom(acme: Database) -> None:
    conn = acme.connect()
    loom = make(conn, **DEV)
    looms(conn, "weave", loomId=loom, **DEV)

    def claim(each: Connection, _number: int) -> bool:
        row = each.execute("select loom.weaving_claim('acme', %s)", (loom,)).fetchone()
        assert row is not None
        return bool(row[0]["found"])

    assert sorted(at_once(acme, None, claim, range(16))) == [False] * 15 + [True]


def test_two_reverts_at_once_take_a_weaving_back_once(
    acme: Database, woven: tuple[Connection, str]
) -> None:
    conn, lease = woven
    apply(conn, lease)
    conn.execute("select loom.weaving_finish('acme', %s, 'done', null, null)", (lease,))
    row = conn.execute("select loom_id::text, weaving_id::text from loom.loom_weaving").fetchone()
    assert row is not None
    revert = step("looms.weaving_revert", loomId=row[0], weavingId=row[1])
    first, second = while_open(acme, revert, revert)
    for outcome in (first, second):
        assert (outcome.answer["reverted"], outcome.answer["kept"]) == (3, 0)
    assert sorted(texts(conn, row[0], **DEV)) == [f"thread {number}" for number in range(5)]
    versions = conn.execute("select max(version) from loom.loom_thread").fetchone()
    assert versions == (3,)

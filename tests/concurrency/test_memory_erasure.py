"""Erasures beside writers of their user: no write is half seen, and none comes back."""

from __future__ import annotations

import threading

import pytest
from psycopg.types.json import Jsonb

from tests.calls import Connection, operate
from tests.concurrency.callers import (
    ADMIN,
    WRITER,
    Step,
    at_once,
    perform,
    step,
    while_open,
)
from tests.concurrency.memory_steps import PLACE, USER, check_history, fact, read, section
from tests.databases import Database
from tests.races import Rival, wait_until_blocked
from tests.sql.canaries import tables_with
from tests.sql.erasure.rows_of import PLANES, erase, fill, rows_of
from tests.sql.worker_rows import lock_as_worker, worker_writes

NOTHING = dict.fromkeys(PLANES, 0)
ERASURE = Step("erasure.request", {"org": "acme", **USER})

# 300 each of blocks, facts and sections, the facts in a dozen versions and derived rows from them.
_MANY = """
select count(loom.working_memory_set(place
    || jsonb_build_object('block_key', 'b' || n, 'content', 'canary'))),
  count(loom.profile_set(place || jsonb_build_object('label', 'p' || n, 'value', 'canary ' || n)))
from generate_series(1, 300) as n, (values (%s::jsonb)) as given (place)
"""
_VERSIONS = """
select count(loom.memory_set(place || jsonb_build_object(
  'memory_key', 'k' || n, 'value', format('canary %%s %%s', n, clock_timestamp()))))
from generate_series(1, 300) as n, (values (%s::jsonb)) as given (place)
"""
_KEYED = """
select count(loom.execute('memory.label', place || jsonb_build_object('memory_key', 'k' || n,
  'tags', '{"add": ["t"]}'::jsonb), 'key ' || n))
from generate_series(1, 300) as n, (values (%s::jsonb)) as given (place)
"""
_SOURCES = """
insert into loom.memory_source (org, source_id, memory_id, version, namespace, user_id)
select one.org, one.memory_id, one.memory_id, n, one.namespace, one.user_id
from loom.memory as one, generate_series(1, 2) as n
where one.user_id = 'u1' and one.memory_type = 'semantic'
"""
_ACTIVITY = """
insert into loom.profile_activity
  (org, namespace, user_id, label, client, agent, day, reads, last_at)
select org, namespace, user_id, memory_key, 'writer', agent, current_date, 1, now()
from loom.memory where user_id = 'u1' and memory_type = 'profile'
"""


def _fill_with_thousands(conn: Connection) -> dict[str, int]:
    """The user's rows in every plane; how many an erasure must count."""
    place = Jsonb({**PLACE, **USER})
    # Each in a transaction of its own, in which the user's state row has few versions.
    for statement in (_MANY, *[_VERSIONS] * 12, _KEYED):
        conn.execute(statement.encode(), (place,))
    conn.execute(_SOURCES.encode())
    conn.execute(_ACTIVITY.encode())
    return {
        **NOTHING,
        "working_memory": 300,
        "memory": 300,
        # Thirteen of each fact, one of each section; what says from what is not counted.
        "memory_version": 300 * 13 + 300,
        "profile": 300,
        "work": 1,
        "activity": 300,
        "idempotency": 300,
    }


def test_o71_5000_rows_under_concurrent_writes_go_and_no_write_is_half_seen(
    acme: Database,
) -> None:
    conn = acme.connect()
    others = ("-", "u2")
    for user in others:
        fill(conn, user)
    before = {user: rows_of(conn, user) for user in others}
    expected = _fill_with_thousands(conn)
    assert sum(expected.values()) >= 5000
    erased = threading.Event()

    def work(own: Connection, who: int) -> dict[str, int]:
        if who == 0:
            try:
                return erase(own)
            finally:
                erased.set()
        written = 0
        while not erased.is_set():
            for wanted in (
                section("append", addition="canary", user_id="u1"),
                fact("set", value="canary", memory_key=f"of {who}"),
                step("working_memory.append", addition="canary", **USER),
                step("working_memory.append", addition="canary", key=f"{who} {written}", **USER),
            ):
                assert perform(own, wanted).sqlstate is None
            written += 1
        return {}

    removed = at_once(acme, None, work, range(4))[0]
    for plane, count in expected.items():
        assert removed[plane] >= count
        if plane in ("activity", "structured_profile", "work"):
            assert removed[plane] == count
    # What the writers wrote afterwards is new: whole rows, with a history from their beginning.
    left = rows_of(conn, "u1")
    assert set(left) <= {
        *("working_memory", "memory", "memory_version", "idempotency_user", "build"),
    }
    for item in operate(conn, "memory.list", **PLACE, **USER)["items"]:
        check_history(conn, memory_key=item["memory_key"])
    orphans = conn.execute(
        "select count(*) from loom.memory_version as v where not exists"
        " (select from loom.memory as m where m.org = v.org and m.memory_id = v.memory_id)"
    ).fetchone()
    assert orphans == (0,)
    assert {user: rows_of(conn, user) for user in others} == before
    erase(conn)
    assert rows_of(conn, "u1") == {}
    assert erase(conn) == NOTHING
    for user in others:
        assert rows_of(conn, user) == before[user]


def test_o71_the_counts_of_thousands_are_right(acme: Database) -> None:
    conn = acme.connect()
    assert erase(conn) == NOTHING
    expected = _fill_with_thousands(conn)
    assert erase(conn) == expected
    assert tables_with(conn, "canary") == {}
    assert erase(conn) == NOTHING


@pytest.mark.parametrize(
    "wanted",
    [
        fact("set", value="new"),
        fact("delete"),
        fact("restore"),
        fact("revert", version=1),
        fact("pin"),
        fact("label", tags={"add": ["t"]}),
        fact("lock", reason="r"),
        section("append", addition="new"),
        section("replace", old="canary", new="new"),
        step("memory.set", key="key", **USER, memory_key="k", value="new"),
        Step(
            "batch",
            {
                "org": "acme",
                "requests": [{"op": "memory.set", **fact("set", value="new").request}],
            },
        ),
    ],
    ids=lambda wanted: f"{wanted.op}{' under a key' if wanted.key else ''}",
)
def test_o68_a_write_that_waits_for_an_erasure_finishes_as_new_data(
    acme: Database, wanted: Step
) -> None:
    perform(acme.connect(WRITER), section("set", value="canary"))
    first, second = while_open(acme, ERASURE, wanted, first_login=ADMIN)
    assert first.answer["removed"]["profile"] == 1
    conn = acme.connect()
    if second.sqlstate is not None:
        # There is nothing to change, restore or speak about any more.
        assert second.sqlstate == "LM102"
        assert rows_of(conn, "u1") == {}
    elif wanted.op == "memory.delete":
        assert second.answer["found"] is False
    else:
        assert read(conn)["version"] == 1
        (version,) = check_history(conn)
        assert version["value"] == "new"
    assert tables_with(conn, "canary") == {}


def test_o68_a_block_that_is_new_waits_for_an_erasure_as_well(acme: Database) -> None:
    """It has no row yet, and no state row stands before it: only the user's lock is in its way."""
    perform(acme.connect(WRITER), fact("set", value="canary"))
    _, second = while_open(
        acme, ERASURE, step("working_memory.set", content="new", **USER), first_login=ADMIN
    )
    assert (second.answer["created"], second.answer["version"]) == (True, 1)
    assert erase(acme.connect()) == {**NOTHING, "working_memory": 1}


def test_an_erasure_waits_for_a_write_under_way_and_takes_it(acme: Database) -> None:
    perform(acme.connect(WRITER), section("set", value="canary"))
    conn, one, observer = acme.connect(), acme.connect(WRITER), acme.connect()
    with one.transaction():
        perform(one, section("append", addition="canary"))
        rival = Rival(conn, lambda: erase(conn))
        wait_until_blocked(observer, rival, by=one.info.backend_pid)
    assert rival.result() == {**NOTHING, "profile": 1, "memory_version": 2}
    assert tables_with(conn, "canary") == {}


def test_an_erasure_waits_for_a_batch_of_several_users_under_a_key(acme: Database) -> None:
    """Its answer, stored when it ends, names the user as well."""
    conn, one, observer = acme.connect(), acme.connect(WRITER), acme.connect()
    items = [
        {
            "op": "memory.set",
            "namespace": "dev",
            "user_id": user,
            "memory_key": "k",
            "value": "canary",
        }
        for user in ("u2", "u1")
    ]
    with one.transaction():
        perform(one, Step("batch", {"org": "acme", "requests": items}, "key"))
        rival = Rival(conn, lambda: erase(conn))
        wait_until_blocked(observer, rival, by=one.info.backend_pid)
    assert rival.result() == {
        **NOTHING,
        "memory": 1,
        "memory_version": 1,
        "work": 1,
        "idempotency": 1,
    }
    assert tables_with(conn, "u1") == {"user_state": 1}
    assert read(conn, user_id="u2")["value"] == "canary"


def test_o70_an_erasure_and_a_completion_wait_for_each_other(acme: Database) -> None:
    """One that commits first is erased with the rest; one that comes later sees the epoch."""
    perform(acme.connect(WRITER), fact("set", value="canary"))
    conn, worker, observer = acme.connect(), acme.connect(), acme.connect()
    source = read(conn)["memory_id"]
    with worker.transaction():
        lock_as_worker(worker, "acme", "dev", "u1")
        worker_writes(worker, "fold", "canary", [source], namespace="dev", user_id="u1")
        rival = Rival(conn, lambda: erase(conn))
        wait_until_blocked(observer, rival, by=worker.info.backend_pid)
    assert rival.result()["profile"] == 1
    assert tables_with(conn, "canary") == {}
    with conn.transaction():
        perform(conn, ERASURE)
        late = Rival(worker, lambda: _epoch_behind_the_locks(worker))
        wait_until_blocked(observer, late, by=conn.info.backend_pid)
    assert late.result() == 2


def _epoch_behind_the_locks(worker: Connection) -> int:
    with worker.transaction():
        lock_as_worker(worker, "acme", "dev", "u1")
        row = worker.execute("select epoch from loom.user_state where user_id = 'u1'").fetchone()
        assert row is not None
        return row[0]  # type: ignore[no-any-return]


def test_an_erasure_taken_back_leaves_everything(acme: Database) -> None:
    conn = acme.connect()
    fill(conn, "u1", namespace="dev")
    before = rows_of(conn, "u1")
    wanted = fact("set", value="new", memory_key="new")
    _, second = while_open(acme, ERASURE, wanted, commit=False, first_login=ADMIN)
    assert second.answer["created"] is True
    now = rows_of(conn, "u1")
    assert {
        table: [row for row in now[table] if row in before[table]] for table in before
    } == before


def test_reads_do_not_wait_and_erasures_of_other_users_only_at_their_end(acme: Database) -> None:
    """The stored answers that may speak of anyone are looked through by one erasure at a time."""
    conn, other, observer = acme.connect(), acme.connect(), acme.connect()
    for user in ("u1", "u2"):
        fill(conn, user)
    other.execute("set lock_timeout = '5s'")
    with conn.transaction():
        erase(conn, "u1")
        assert operate(other, "memory.list", **PLACE, **USER)["items"] == []
        perform(other, fact("set", user_id="u3", value="x"))
        rival = Rival(other, lambda: erase(other, "u2"))
        wait_until_blocked(observer, rival, by=conn.info.backend_pid)
    assert rival.result()["memory"] > 0


def test_two_erasures_of_one_user_wait_and_the_second_removes_nothing(acme: Database) -> None:
    fill(acme.connect(), "u1")
    removed = at_once(acme, ADMIN, lambda own, _who: erase(own), range(4))
    assert sum(each != NOTHING for each in removed) == 1

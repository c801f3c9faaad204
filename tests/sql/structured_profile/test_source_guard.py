"""Memory rows never change behind a digest: what cannot see the user's state is refused."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import psycopg
import pytest
from psycopg import sql

from tests.calls import Answer, Connection, acting_as, operate, refused
from tests.cluster import Cluster
from tests.databases import Clock, Database
from tests.sql.facts import NOON, fact
from tests.sql.structured_profile.served import MANY
from tests.sql.structured_profile.source_rules import check, states, stored_rows

USER = {"user_id": "u1"}

# A row with a part, as a caller that knows the table might write it.
INSERT = """
insert into loom.memory
select twin.* from loom.memory as old
cross join lateral jsonb_populate_record(old,
  '{"memory_key": "forged", "memory_id": "00000000-0000-0000-0000-000000000001"}') as twin
where old.user_id = 'u1'
"""
WRITES = [
    "update loom.memory set source_part = ~source_part",
    "update loom.memory set source_part = null, changes_at = null",
    "update loom.memory set tags = '{forget}'",
    "delete from loom.memory",
]


@pytest.fixture
def told(db: Connection, clock: Clock) -> Connection:
    clock.set(NOON)
    for user in ("u1", "u2"):
        fact(db, "set", user_id=user, value=f"{user} likes tea", ttl_seconds=60)
    return db


@pytest.fixture
def meddler(told: Connection) -> Iterator[Connection]:
    """As a role that may write every memory row, and reads no state of any user."""
    told.execute("create role loom_test_meddler")
    told.execute("grant usage on schema loom, loom_test to loom_test_meddler")
    told.execute("grant select on loom_test.clock to loom_test_meddler")
    told.execute("grant select, insert, update, delete on loom.memory to loom_test_meddler")
    told.execute("grant select, update on loom.user_state to loom_test_meddler")
    told.execute("create policy meddling on loom.memory to loom_test_meddler using (true)")
    told.execute("grant execute on all functions in schema loom to loom_test_meddler")
    told.execute("set local role loom_test_meddler")
    yield told
    told.execute("reset role")


def unchanged(conn: Connection, write: Callable[[], None]) -> None:
    """Expects rows and states to be as before, after the write."""
    conn_role = conn.execute("select current_user").fetchone()
    assert conn_role is not None
    conn.execute("reset role")
    before = stored_rows(conn), states(conn)
    conn.execute(sql.SQL("set local role {}").format(sql.Identifier(conn_role[0])))
    write()
    conn.execute("reset role")
    assert (stored_rows(conn), states(conn)) == before
    check(conn, NOON)


@pytest.mark.parametrize("org", [None, "", "other"])
@pytest.mark.parametrize("write", WRITES)
def test_o63_without_its_org_a_write_meets_no_row(
    told: Connection, write: str, org: str | None
) -> None:
    told.execute("select set_config('loom.org', %s, true)", (org,))
    told.execute("set local role loom_api")
    unchanged(told, lambda: _meets_nothing(told, write))


def _meets_nothing(conn: Connection, write: str) -> None:
    assert conn.execute(write.encode()).rowcount == 0


@pytest.mark.parametrize("org", [None, "other"])
def test_o64_without_its_org_an_insert_is_refused(told: Connection, org: str | None) -> None:
    statement = (
        "insert into loom.memory (org, namespace, agent, user_id, session_id, memory_key,"
        " memory_type, value, content_sha256, value_length, char_limit, source_class, version,"
        " recorded_at, changed_at, source_part, author, actor, created_at, created_by) values"
        " ('acme', 'main', 'coder', 'u1', '-', 'forged', 'semantic', '1', '', 1, 1, 'stated', 1,"
        " now(), now(), 1::bit(128), 'a', 'a', now(), 'a')"
    )
    told.execute("select set_config('loom.org', %s, true)", (org,))
    told.execute("set local role loom_api")

    def write() -> None:
        with refused(told, "42501"):
            told.execute(statement.encode())

    unchanged(told, write)


@pytest.mark.parametrize("write", [*WRITES[:2], WRITES[3], INSERT])
def test_o64_rows_whose_state_is_hidden_cannot_be_written(meddler: Connection, write: str) -> None:
    def meddle() -> None:
        with refused(meddler, "55000"):
            meddler.execute(write.encode())

    unchanged(meddler, meddle)


def test_a_row_without_a_state_cannot_be_written_by_anyone(told: Connection) -> None:
    told.execute("delete from loom.user_state where user_id = 'u2'")
    with refused(told, "55000"):
        told.execute("update loom.memory set source_part = null")
    with refused(told, "55000"):
        told.execute("delete from loom.memory")
    assert len(stored_rows(told)) == 2


@pytest.mark.parametrize("write", [WRITES[1], WRITES[3], INSERT])
def test_what_is_written_past_the_operations_keeps_the_digest(told: Connection, write: str) -> None:
    before = states(told)
    told.execute(write.encode())
    rows = stored_rows(told)
    for owner, state in states(told).items():
        parts = [int(row.part, 2) for row in rows if row.owner == owner and row.part]
        folded = 0
        for part in parts:
            folded ^= part
        assert (state.digest, state.count) == (folded, len(parts))
    assert states(told) != before


def test_a_row_that_changes_hands_takes_its_part_with_it(told: Connection) -> None:
    told.execute(
        "update loom.memory set user_id = 'u2', memory_key = 'another' where user_id = 'u1'"
    )
    kept = states(told)
    assert [kept["acme", "main", user].count for user in ("u1", "u2")] == [0, 2]
    assert kept["acme", "main", "u1"].digest == 0
    assert kept["acme", "main", "u1"].next_change_at is None
    check(told, NOON)


def test_housekeeping_across_orgs_keeps_every_digest(db: Connection, clock: Clock) -> None:
    clock.set(NOON)
    for org in ("acme", "other"):
        for user in ("u1", "u2", "-"):
            place = {"org": org, "user_id": user}
            for key in ("first", "second"):
                fact(db, "set", **place, memory_key=key, value="same", ttl_seconds=60)
                clock.advance(microseconds=1)
            fact(db, "set", **place, memory_key="third", value="same")
            fact(db, "set", **place, memory_key="gone", value="gone")
            fact(db, "delete", **place, memory_key="gone")
    now = clock.advance(days=15)
    removed = [1]
    while removed[-1]:
        with acting_as(db, "loom_worker"):
            row = db.execute("select loom.housekeeping_memory(2)").fetchone()
        assert row is not None
        removed.append(row[0])
        check(db, now)
    assert sum(removed) == 1 + 3 * 6
    assert {row.memory_key for row in stored_rows(db)} == {"third"}
    assert {owner[2]: state.count for owner, state in states(db).items()} == {"u1": 1, "u2": 1}


@pytest.mark.parametrize(
    ("name", "statement", "of_text"),
    [
        ("insert", MANY, {"memory_text_insert": 1}),
        # No text changes, so what rows are found by is not looked at.
        ("update", "update loom.memory set source_part = source_part", {}),
        ("delete", "delete from loom.memory", {"memory_text_delete": 1}),
    ],
)
def test_a_statement_of_many_rows_is_summed_up_once(
    db: Connection, clock: Clock, name: str, statement: str, of_text: dict[str, int]
) -> None:
    clock.set(NOON)
    for user in ("u1", "u2"):
        fact(db, "set", user_id=user, value="tea")
    many = {"number": 500, "user": "u1", "lasts": "60 seconds"}
    if name != "insert":
        db.execute(MANY.encode(), many)
    rev = _rev(db)
    row = db.execute(
        b"explain (analyze, format json) " + statement.encode(), many if name == "insert" else None
    ).fetchone()
    assert row is not None
    plan = row[0] if isinstance(row[0], list) else json.loads(row[0])
    fired = {trigger["Trigger Name"]: trigger["Calls"] for trigger in plan[0]["Triggers"]}
    assert fired == {f"memory_source_{name}": 1} | of_text
    assert _rev(db) == rev + 1
    if name != "delete":
        check(db, NOON)
        assert states(db)["acme", "main", "u1"].count == 501


def _rev(db: Connection) -> Any:
    row = db.execute("select rev from loom.user_state where user_id = 'u1'").fetchone()
    assert row is not None
    return row[0]


SETTINGS = {
    "TimeZone": ["Asia/Kathmandu", "America/St_Johns", "UTC"],
    "DateStyle": ["SQL, DMY", "German", "Postgres, MDY"],
    "IntervalStyle": ["iso_8601", "sql_standard", "postgres_verbose"],
    "extra_float_digits": ["-15", "3"],
    "client_encoding": ["LATIN1", "UTF8"],
    "bytea_output": ["escape"],
    "lc_numeric": ["C"],
    "lc_monetary": ["C"],
    "lc_time": ["C"],
    "standard_conforming_strings": ["off"],
    "quote_all_identifiers": ["on"],
    "xmloption": ["document"],
    "timezone_abbreviations": ["Australia"],
    "default_transaction_isolation": ["serializable"],
    "plan_cache_mode": ["force_custom_plan"],
    "enable_indexscan": ["off"],
}

# Every digit of a date and of a confidence matters.
FACTS: list[Answer] = [
    {"value": "Grüße", "confidence": 0.123, "valid_at": "1969-12-31T23:59:59.999999Z"},
    {"value": 0.1, "confidence": 0.1, "valid_at": "2026-03-29T01:59:59.000001+01:00"},
    {"value": 1e20, "confidence": 1, "valid_at": "0001-01-01T00:00:00Z"},
    {"value": [1.5, None], "confidence": 0, "valid_at": "9999-12-31T23:59:59.999999Z"},
    {"value": "later", "ttl_seconds": 60},
    {"value": "until", "valid_to": "2026-03-01T14:00:30.000001+02:00"},
    {"value": "later", "memory_type": "decision"},
]


@pytest.mark.parametrize(
    ("setting", "value"), [(name, value) for name, values in SETTINGS.items() for value in values]
)
def test_no_setting_of_a_session_changes_a_digest(
    db: Connection, cluster: Cluster, setting: str, value: str
) -> None:
    # A new session, in which every function is parsed and planned under the setting.
    with cluster.connect(db.info.dbname) as conn, conn.transaction(force_rollback=True):
        clock = Clock(conn)
        clock.set(NOON)
        usual = conn.execute(sql.SQL("show {}").format(sql.Identifier(setting))).fetchone()
        assert usual is not None
        _set(conn, setting, value)
        for number, fields in enumerate(FACTS):
            fact(conn, "set", **USER, memory_key=f"k{number}", **fields)
        fact(conn, "lock", **USER, memory_key="k1", reason="r")
        _set(conn, setting, usual[0])
        check(conn, NOON)
        assert states(conn)["acme", "main", "u1"].count == len(FACTS)
        conn.execute("update loom_test.clock set at = at + interval '1 minute'")
        _set(conn, setting, value)
        conn.execute("select loom._settle('acme', 'main', 'u1', loom._now())")
        _set(conn, setting, usual[0])
        check(conn, clock.advance(seconds=0))
        assert states(conn)["acme", "main", "u1"].count == len(FACTS) - 2


def _set(conn: Connection, setting: str, value: str) -> None:
    conn.execute("select set_config(%s, %s, true)", (setting, value))


def test_one_history_has_one_digest_under_all_settings(db: Connection, clock: Clock) -> None:
    """The part itself, by the function that makes it, of one row under every setting."""
    clock.set(NOON)
    for number, fields in enumerate(FACTS):
        fact(db, "set", **USER, memory_key=f"k{number}", **fields)
    statement = (
        "select array_agg(loom._source_part(memory, %s)::text order by memory_key) from loom.memory"
    )
    expected = db.execute(statement, (NOON,)).fetchone()
    for setting, values in SETTINGS.items():
        for value in values:
            with db.transaction(force_rollback=True):
                _set(db, setting, value)
                assert db.execute(statement, (NOON,)).fetchone() == expected, (setting, value)


@pytest.mark.parametrize("isolation", [b"repeatable read", b"serializable"], ids=bytes.decode)
def test_a_rival_with_an_older_snapshot_is_refused(database: Database, isolation: bytes) -> None:
    one, two = database.connect(), database.connect()
    fact(one, "set", **USER, value="tea")
    with pytest.raises(psycopg.errors.SerializationFailure), two.transaction():
        two.execute(b"set transaction isolation level " + isolation)
        fact(two, "get", **USER)
        fact(one, "set", **USER, memory_key="other", value="of the first")
        fact(two, "set", **USER, memory_key="another", value="of the second")
    row = one.execute("select loom._now()").fetchone()
    assert row is not None
    check(one, row[0])
    assert states(one)["acme", "main", "u1"].count == 2
    operate(one, "erasure.request", org="acme", user_id="u1")
    assert states(one)["acme", "main", "u1"].digest == 0

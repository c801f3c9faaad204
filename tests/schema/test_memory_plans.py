"""What the operations of memory and profile read: few rows of a big table, whatever the values.

Judged as in `test_plans`, by the rows that a call fetched under row-level security and with generic
plans. The org has thousands of rows in every table, so that a condition which no index carries, or
only the org of it, would show; the user whose rows are asked for has a handful.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from tests.calls import Token, acting_as, call, mint_token
from tests.cluster import Cluster
from tests.databases import Templates, copy_of

Connection = psycopg.Connection[Any]
Answer = dict[str, Any]

MANY = 4000
OWN = 5
"""Facts of the user asked for; and as many sections, versions of one key, days of activity."""

_FETCHED = """
select coalesce(sum(coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0)), 0)::integer
from pg_stat_xact_user_tables where schemaname = 'loom' and relname = any (%s)
"""

# Others' rows: in the same namespace, every second a section, a hundred users to each key and forty
# rows to each user, so that a condition on the namespace, the key or the type alone is no help.
# Then many small orgs, which make the planner take a part of an identity for a row or less; and one
# user who has more rows than that.
_ROWS = """
insert into loom.memory (org, namespace, agent, user_id, session_id, memory_key, memory_type, value,
  content_sha256, value_length, char_limit, source_class, version, recorded_at, changed_at, author,
  actor, created_at, created_by)
select org, 'n', agent, user_id, session_id, memory_key,
  case when n %% 2 = 0 then 'profile' else 'semantic' end, to_jsonb(n), loom._sha256(n::text), 1,
  8192, 'stated', 1, at, at, 'test', 'test', at, 'test'
from (
  select n, 'acme', 'a' || n %% 2, 'u' || n %% 100, 's' || n %% 5, 'key' || n / 100
  from generate_series(1, %(many)s) n
  union all
  select n, 'org' || n %% 100, '-', 'u' || n / 2, '-', 'key' || n %% 3
  from generate_series(1, %(many)s) n
  union all
  select n, 'acme', 'a', 'heavy', 's', 'fact' || n from generate_series(1, %(many)s / 4) n
) as others (n, org, agent, user_id, session_id, memory_key),
lateral (select now() + n * interval '1 ms') times (at)
"""
_VERSIONS = """
insert into loom.memory_version (org, memory_id, version, namespace, user_id, change, value_version,
  value, content_sha256, value_length, char_limit, memory_type, tags, confidence, source_class,
  pinned, sensitivity, recorded_at, changed_at, author, actor)
select org, memory_id, version, namespace, user_id, 'set', version, value, content_sha256,
  value_length, char_limit, memory_type, tags, confidence, source_class, pinned, sensitivity,
  recorded_at, changed_at, author, actor
from loom.memory where author = 'test'
"""
_ACTIVITY = """
insert into loom.profile_activity
  (org, namespace, user_id, label, client, agent, day, reads, last_at)
select 'acme', 'n', 'u' || n %% 100, 'key' || n / 100, 'c', 'a', current_date - n %% 30, 1, now()
from generate_series(1, %s) n
"""
_BLOCKS = """
insert into loom.working_memory (org, namespace, agent, user_id, session_id, run_id, block_key,
  content, char_limit, version, created_at, created_by, updated_at, updated_by)
select org, 'n', agent, user_id, '-', '-', block_key, 'text', 4096, 1, now(), 't', now(), 't'
from (
  select 'org' || n %% 100, '-', 'u' || n / 2, 'b' || n %% 3 from generate_series(1, %(many)s) n
  union all
  select 'acme', 'a' || n, '-', 'scratchpad' from generate_series(1, %(many)s / 4) n
) as others (org, agent, user_id, block_key)
"""

_USER: Answer = {"agent": "a", "user_id": "u", "session_id": "s"}
_HEAVY: Answer = {"agent": "a", "user_id": "heavy", "session_id": "s"}


@pytest.fixture(scope="module")
def crowd(cluster: Cluster, templates: Templates) -> Iterator[tuple[Connection, Token]]:
    """A database with one org of many rows, a handful of them of user `u` and of user `-`."""
    own = copy_of(cluster, templates.base)
    conn = own.connect()
    token = mint_token(conn, org="acme", namespace="n", role="admin")
    conn.execute(_ROWS, {"many": MANY})
    conn.execute(_VERSIONS)
    conn.execute(_ACTIVITY, (MANY,))
    conn.execute(_BLOCKS, {"many": MANY})
    with acting_as(conn, "loom_gateway"):
        for number in range(OWN):
            call(conn, token, "memory.set", **_USER, memory_key="versions", value=f"v{number}")
            call(conn, token, "memory.set", **_USER, memory_key=f"fact{number}", value=number)
            call(conn, token, "profile.set", **_USER, label=f"label{number}", value=number)
            call(conn, token, "profile.set", label=f"shared{number}", value=number)
        call(conn, token, "memory.set", memory_key="key7", value="of user -")
        call(conn, token, "working_memory.set", **_USER, content="text")
        reads = [{"user_id": "u", "label": "label0", "reads": 1}]
        call(conn, token, "profile.activity_record", reads=reads)
    conn.execute("analyze")
    conn.execute("set plan_cache_mode = force_generic_plan")
    yield conn, token
    own.close()


def _fetched(conn: Connection, *tables: str) -> int:
    row = conn.execute(_FETCHED, (list(tables),)).fetchone()
    assert row is not None
    return int(row[0])


TABLES = ("memory", "memory_version", "profile_activity", "working_memory", "idempotency")

# Each with the most rows it may fetch: those it answers with or changes, read a few times over.
CASES: list[tuple[str, Answer, int]] = [
    ("memory.get", {"memory_key": "fact1"}, 2),
    ("memory.get", {"memory_key": "key7"}, 3),
    ("memory.get", {"memory_key": "key8"}, 0),
    ("memory.get", {"memory_key": "nowhere", "read_scope": "namespace"}, 0),
    ("memory.get", {"memory_key": "label1", "agent": "b", "read_scope": "own_session"}, 2),
    # Versions newer than that time are passed over one by one.
    ("memory.get", {"memory_key": "versions", "as_of": "2001-01-01T00:00:00Z"}, 3 * OWN),
    ("memory.list", {}, 7 * OWN),
    ("memory.list", {"limit": 2}, 12),
    ("memory.list", {"limit": 2, "read_scope": "own_session"}, 12),
    # As many facts as sections of others stand in its way.
    ("memory.list", {"limit": 10, "read_scope": "namespace", "memory_type": "semantic"}, 60),
    ("memory.history", {"memory_key": "versions"}, OWN + 3),
    ("memory.history", {"memory_key": "versions", "limit": 1}, 5),
    ("memory.set", {"memory_key": "fact1", "value": "other"}, 8),
    ("memory.set", {"memory_key": "fact1", "value": 1}, 8),
    ("memory.set", {"memory_key": "new", "value": 1}, 8),
    ("memory.revert", {"memory_key": "versions", "version": 1}, 10),
    ("memory.delete", {"memory_key": "fact1"}, 6),
    ("memory.lock", {"memory_key": "fact1", "reason": "why"}, 8),
    ("memory.pin", {"memory_key": "fact1"}, 8),
    ("memory.label", {"memory_key": "fact1", "tags": {"add": ["t"]}}, 8),
    ("memory.redact", {"memory_key": "versions", "reason": "why"}, 3 * OWN + 10),
    ("profile.set", {"label": "label1", "value": "other"}, 8),
    ("profile.append", {"label": "new", "addition": "more"}, 8),
    ("profile.render", {}, 2 * OWN),
    ("profile.render", {"labels": ["label1", "shared1"]}, 2 * OWN),
    ("profile.render", {"read_scope": "own_session"}, 2 * OWN),
    ("profile.render", {"scope": "this_agent"}, 2 * OWN),
    ("context.pack", {}, 2 * OWN + 2),
    ("profile.list", {"limit": 3}, 30),
    ("profile.activity", {"lookback_days": 1}, 1 + MANY // 30),
    (
        "profile.activity_record",
        {
            "reads": [
                {"user_id": "u", "label": f"label{number}", "reads": 1} for number in range(OWN)
            ]
        },
        2 * OWN,
    ),
    ("erasure.request", {}, 10 * (4 * OWN)),
]


@pytest.mark.parametrize(
    ("op", "own", "most"), CASES, ids=[f"{op}-{number}" for number, (op, _, _) in enumerate(CASES)]
)
def test_o12_an_operation_fetches_the_rows_it_is_about(
    crowd: tuple[Connection, Token], op: str, own: Answer, most: int
) -> None:
    conn, token = crowd
    ids = {
        "erasure.request": {"user_id": "u"},
        "profile.activity_record": {"agent": "a"},
    }.get(op, _USER)
    with conn.transaction(force_rollback=True), acting_as(conn, "loom_gateway"):
        before = _fetched(conn, *TABLES)
        call(conn, token, op, **{**ids, **own})
        assert _fetched(conn, *TABLES) - before <= most


@pytest.mark.parametrize(
    ("op", "own", "most"),
    [
        ("memory.get", {"memory_key": "fact7"}, 2),
        ("memory.get", {"memory_key": "key7"}, 2),
        ("memory.set", {"memory_key": "fact7", "value": "other"}, 8),
        ("memory.set", {"memory_key": "new", "value": "fact"}, 8),
        ("memory.delete", {"memory_key": "fact7"}, 6),
        ("memory.pin", {"memory_key": "fact7"}, 8),
        ("memory.list", {"limit": 5}, 20),
        ("profile.append", {"label": "new", "addition": "more"}, 8),
    ],
)
def test_o12_a_user_of_many_rows_pays_for_those_it_is_about(
    crowd: tuple[Connection, Token], op: str, own: Answer, most: int
) -> None:
    conn, token = crowd
    with conn.transaction(force_rollback=True), acting_as(conn, "loom_gateway"):
        before = _fetched(conn, *TABLES)
        call(conn, token, op, **_HEAVY, **own)
        assert _fetched(conn, *TABLES) - before <= most


@pytest.mark.parametrize(
    ("op", "own", "most"),
    [
        ("working_memory.get", {}, 1),
        ("working_memory.set", {"content": "other"}, 3),
        ("working_memory.append", {"addition": "more"}, 3),
        ("working_memory.delete", {}, 3),
        ("working_memory.list", {}, 2),
        ("working_memory.render", {"layered": True}, 2),
    ],
)
def test_o12_one_agent_of_many_pays_for_its_own_blocks(
    crowd: tuple[Connection, Token], op: str, own: Answer, most: int
) -> None:
    """Agents without users all share the user -."""
    conn, token = crowd
    with conn.transaction(force_rollback=True), acting_as(conn, "loom_gateway"):
        before = _fetched(conn, *TABLES)
        call(conn, token, op, agent="a5", **own)
        assert _fetched(conn, *TABLES) - before <= most


def test_housekeeping_fetches_the_rows_whose_time_has_come(crowd: tuple[Connection, Token]) -> None:
    conn, _ = crowd
    with conn.transaction(force_rollback=True):
        conn.execute(
            "update loom.memory set expires_at = now() where user_id = 'u' and memory_key = 'fact1'"
        )
        before = _fetched(conn, *TABLES)
        with acting_as(conn, "loom_worker"):
            removed = conn.execute("select loom.housekeeping_memory(100)").fetchone()
            assert removed == (1,)
        # One walk over the user's own rows looks for all that are due.
        assert _fetched(conn, *TABLES) - before <= 8 * OWN


def test_an_operator_who_names_a_user_fetches_that_users_rows(
    crowd: tuple[Connection, Token],
) -> None:
    conn, _ = crowd
    query = "select sum(total) from loom.v_user_rows where org = 'acme' and user_id = 'u'"
    with conn.transaction(force_rollback=True), acting_as(conn, "loom_test_operator"):
        before = _fetched(conn, *TABLES)
        total = conn.execute(query).fetchone()
        assert total is not None
        assert _fetched(conn, *TABLES) - before <= total[0]


def test_an_operator_fetches_the_rows_that_are_locked(crowd: tuple[Connection, Token]) -> None:
    conn, token = crowd
    with conn.transaction(force_rollback=True):
        with acting_as(conn, "loom_gateway"):
            call(conn, token, "memory.lock", **_USER, memory_key="fact1", reason="why")
        before = _fetched(conn, *TABLES)
        with acting_as(conn, "loom_test_operator"):
            assert len(conn.execute("select from loom.v_locks").fetchall()) == 1
        assert _fetched(conn, *TABLES) - before <= 3


def test_the_measure_sees_a_condition_without_an_index(crowd: tuple[Connection, Token]) -> None:
    conn, _ = crowd
    with conn.transaction():
        before = _fetched(conn, "memory")
        conn.execute("select from loom.memory where org = 'acme' and source_trace = 'text'")
        assert _fetched(conn, "memory") - before >= MANY

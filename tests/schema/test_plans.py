"""What operations read: few rows of a big table, by plans that do not know the values.

Judged by the rows that a call fetched, under row-level security and generic plans, in an org of
many rows. A condition that no index carries, or only the org of it, would fetch thousands.
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

MANY = 5000

_FETCHED = """
select coalesce(sum(coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0)), 0)::integer
from pg_stat_xact_user_tables where schemaname = 'loom' and relname = %s
"""

# Rows of one org beside each other in every part of the key.
_BLOCKS = """
insert into loom.working_memory (org, namespace, agent, user_id, session_id, run_id, block_key,
  content, char_limit, version, created_at, created_by, updated_at, updated_by)
select 'acme', 'n', 'a' || n %% 2, 'u' || n %% 3, 's' || n %% 5, 'r' || n %% 7, 'b' || n,
  'text', 4096, 1, now(), 'test', now(), 'test'
from generate_series(1, %s) n
"""
_TOKENS = """
insert into loom.token (org, secret_sha256, role, created_at, created_by)
select 'acme', sha256(n::text::bytea), 'writer', now(), 'test'
from generate_series(1, %s) n
"""

_HERE: dict[str, Any] = {"agent": "a", "user_id": "u", "session_id": "s", "run_id": "r"}


@pytest.fixture(scope="module")
def crowd(cluster: Cluster, templates: Templates) -> Iterator[tuple[Connection, Token]]:
    """A database with one org of many blocks and tokens, one of each in use."""
    own = copy_of(cluster, templates.base)
    conn = own.connect()
    token = mint_token(conn, org="acme", namespace="n", role="admin")
    conn.execute(_BLOCKS, (MANY,))
    conn.execute(_TOKENS, (MANY,))
    conn.execute("analyze")
    conn.execute("set plan_cache_mode = force_generic_plan")
    with acting_as(conn, "loom_gateway"):
        call(conn, token, "working_memory.set", content="text", **_HERE)
    yield conn, token
    own.close()


def _fetched(db: Connection, table: str) -> int:
    row = db.execute(_FETCHED, (table,)).fetchone()
    assert row is not None
    return int(row[0])


@pytest.mark.parametrize(
    ("op", "request_", "most"),
    [
        ("working_memory.get", {}, 1),
        ("working_memory.set", {"content": "other"}, 3),
        ("working_memory.append", {"addition": "more"}, 3),
        ("working_memory.replace", {"old": "text", "new": "word"}, 3),
        ("working_memory.delete", {}, 3),
        ("working_memory.list", {"limit": 10}, 2),
        ("working_memory.render", {}, 2),
        ("working_memory.render", {"block_keys": ["scratchpad", "other"]}, 2),
        ("working_memory.render", {"layered": True}, 2),
    ],
)
def test_o12_an_operation_fetches_the_block_it_is_about(
    crowd: tuple[Connection, Token], op: str, request_: dict[str, Any], most: int
) -> None:
    conn, token = crowd
    with conn.transaction(force_rollback=True), acting_as(conn, "loom_gateway"):
        blocks, tokens = _fetched(conn, "working_memory"), _fetched(conn, "token")
        call(conn, token, op, **_HERE, **request_)
        assert _fetched(conn, "working_memory") - blocks <= most
        assert _fetched(conn, "token") - tokens <= 2


def test_the_measure_sees_a_condition_without_an_index(crowd: tuple[Connection, Token]) -> None:
    conn, _ = crowd
    with conn.transaction():
        before = _fetched(conn, "working_memory")
        conn.execute("select from loom.working_memory where org = 'acme' and content = 'text'")
        assert _fetched(conn, "working_memory") - before >= MANY

"""What a search reads: rows within its reach, however many others have the same words.

Judged as in `test_memory_plans`, by the rows that a call fetched, with generic plans and no
statistics made for it. Searches run under row-level security as loom_search.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.calls import Connection, Token, acting_as, call, mint_token, operate
from tests.cluster import Cluster
from tests.databases import Templates, copy_of
from tests.vectors import has_vectors, need_vectors, seed_vectors

Answer = dict[str, Any]
MANY = 4000
OWN = 5

_FETCHED = """
select coalesce(sum(coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0)), 0)::integer
from pg_stat_xact_user_tables where schemaname = 'loom' and relname = any (%s)
"""
TABLES = ("memory", "memory_text", "embedding", "namespace", "embedding_due")

# All of them say the same words: of one large org, of a hundred small ones, of one user among many.
_ROWS = """
insert into loom.memory (org, namespace, agent, user_id, session_id, memory_key, memory_type, value,
  content_sha256, value_length, char_limit, source_class, version, recorded_at, changed_at, author,
  actor, created_at, created_by)
select org, 'n', '-', user_id, '-', 'key' || n, 'semantic', to_jsonb('common words ' || n),
  loom._sha256(n::text), 14, 8192, 'stated', 1, now(), now(), 'test', 'test', now(), 'test'
from (
  select n, 'acme', 'u' || n %% 100 from generate_series(1, %(many)s) n
  union all
  select n, 'org' || n %% 100, 'u' from generate_series(1, %(many)s) n
  union all
  select n, org, 'u' from generate_series(1, %(own)s) n, unnest('{acme,small}'::text[]) as org
) as rows (n, org, user_id)
"""


@pytest.fixture(scope="module")
def crowd(cluster: Cluster, templates: Templates) -> Iterator[Connection]:
    """Rows of many orgs and users."""
    own = copy_of(cluster, templates.base)
    conn = own.connect()
    for org in ("acme", "small", *(f"org{number}" for number in range(100))):
        operate(conn, "namespace.update", org=org, namespace="n")
    conn.execute(_ROWS.encode(), {"many": MANY, "own": OWN})
    if has_vectors(conn):
        conn.execute(
            "insert into loom.embedding_model (model, dimension, state, created_at)"
            " values ('m', 3, 'active', now())"
        )
        for org in ("acme", "small", "org1"):
            seed_vectors(conn, org)
    conn.execute("vacuum (analyze)")
    yield conn
    own.close()


def fetched(conn: Connection) -> int:
    row = conn.execute(_FETCHED, (list(TABLES),)).fetchone()
    assert row is not None
    return int(row[0])


def token_of(conn: Connection, org: str) -> Token:
    return mint_token(conn, org=org, namespace="n", role="viewer")


def cost(conn: Connection, org: str, **request: Any) -> tuple[int, Answer]:
    """How many rows a search read, and what it found."""
    token = token_of(conn, org)
    with conn.transaction(force_rollback=True), acting_as(conn, "loom_gateway"):
        before = fetched(conn)
        answer = call(conn, token, "memory.search", **request)
        return fetched(conn) - before, answer


# Each row found is read as text, as a row, and as an answer; and a few of other tables beside them.
MOST = 8 * OWN + 10


@pytest.mark.parametrize(
    "request_",
    [
        {"user_id": "u"},
        {"user_id": "u", "read_scope": "own_session", "session_id": "s"},
        {"user_id": "u", "memory_type": "semantic", "source_class": "stated"},
    ],
)
def test_a_user_among_many_pays_for_their_own(crowd: Connection, request_: Answer) -> None:
    rows, answer = cost(crowd, "acme", query="common words", **request_)
    assert len(answer["items"]) == OWN
    assert rows <= MOST


@pytest.mark.parametrize("scope", ["own_user", "namespace"])
def test_a_small_org_among_large_ones_pays_for_its_own(crowd: Connection, scope: str) -> None:
    rows, answer = cost(crowd, "small", query="common words", user_id="u", read_scope=scope)
    assert len(answer["items"]) == OWN
    assert rows <= MOST


def test_a_rare_word_in_a_large_namespace_is_looked_up(crowd: Connection) -> None:
    rows, answer = cost(crowd, "acme", query="3999", read_scope="namespace")
    assert len(answer["items"]) == 1
    assert rows <= 30


def test_a_common_word_in_a_large_namespace_reads_no_more_than_its_bound(crowd: Connection) -> None:
    rows, answer = cost(crowd, "acme", query="common words", read_scope="namespace")
    assert len(answer["items"]) == 20
    # 1,001 to see that they are many, 1,000 with all words, each read as text and as a row.
    assert rows <= 1001 + 3 * 1000 + 200


@pytest.mark.parametrize("org", ["acme", "small"])
def test_vectors_are_those_within_reach(crowd: Connection, org: str) -> None:
    need_vectors(crowd)
    wanted = {"model": "m", "vector": [1, 0, 0]}
    rows, answer = cost(crowd, org, query="?", user_id="u", query_embedding=wanted)
    assert [item["legs"] for item in answer["items"]] == [{"vector": n + 1} for n in range(OWN)]
    assert rows <= MOST


def test_the_search_of_words_goes_by_its_index(crowd: Connection) -> None:
    before = crowd.execute(
        "select idx_scan from pg_stat_user_indexes where indexrelname = 'memory_text_words_idx'"
    ).fetchone()
    cost(crowd, "small", query="common words", user_id="u")
    crowd.execute("select pg_stat_force_next_flush()")
    after = crowd.execute(
        "select idx_scan from pg_stat_user_indexes where indexrelname = 'memory_text_words_idx'"
    ).fetchone()
    assert before is not None
    assert after is not None
    assert after[0] > before[0]

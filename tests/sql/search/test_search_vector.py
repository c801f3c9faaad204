"""The leg of vectors: nearest first, within reach, current texts alone, fused with full text."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.calls import Connection, operate, refused
from tests.databases import Clock
from tests.sql.doors import IDENTITY
from tests.sql.facts import NOON, fact, section
from tests.sql.search.searching import ask, facts, query
from tests.vectors import Answer, active_model, embed, need_vectors

MODEL = "m"
VECTORS = {
    "tea": [1.0, 0.1, 0.0],
    "coffee": [0.9, 0.3, 0.0],
    "chess": [0.2, 1.0, 0.1],
    "cat": [0.0, 0.1, 1.0],
}
TEA = {"model": MODEL, "vector": [1, 0, 0]}


@pytest.fixture
def model(db: Connection) -> Iterator[Connection]:
    """`db` with an active model and nothing in it."""
    need_vectors(db)
    active_model(db, MODEL)
    yield db


def made(conn: Connection, org: str = "acme") -> None:
    """Vectors for all that is due."""
    while embed(conn, VECTORS, org=org, model=MODEL)["stored"]:
        pass


def near(conn: Connection, said: str = "?", **request: object) -> list[str]:
    """Keys found by a query about tea, of words that no fact has."""
    answer = ask(conn, said, **{"query_embedding": TEA, **request})
    return [item["memory_key"] for item in answer["items"]]


def test_meaning_finds_what_shares_no_word(model: Connection) -> None:
    facts(model, {"a": "chess", "b": "coffee", "c": "tea"})
    made(model)
    answer = ask(model, "which beverage", query_embedding=TEA)
    assert [item["memory_key"] for item in answer["items"]] == ["c", "b", "a"]
    assert answer["legs"] == {"text": {"ran": True}, "vector": {"ran": True}}
    assert [item["legs"] for item in answer["items"]] == [{"vector": n} for n in (1, 2, 3)]


def test_the_legs_are_fused_by_reciprocal_rank(model: Connection) -> None:
    facts(model, {"a": "chess at home", "b": "coffee", "c": "tea"})
    made(model)
    items = ask(model, "chess", query_embedding=TEA)["items"]
    assert [(item["memory_key"], item["legs"]) for item in items] == [
        ("a", {"text": 1, "vector": 3}),
        ("c", {"vector": 1}),
        ("b", {"vector": 2}),
    ]
    assert [item["score"] for item in items] == pytest.approx([1 / 61 + 1 / 63, 1 / 61, 1 / 62])
    assert ask(model, "chess", query_embedding=TEA, explain=True)["explain"]["model"] == MODEL


def test_a_changed_text_is_never_found_by_its_old_vector(model: Connection) -> None:
    facts(model, {"a": "tea", "b": "chess"})
    made(model)
    facts(model, {"a": "cat"})
    assert near(model) == ["b"]
    made(model)
    assert near(model) == ["b", "a"]


def test_o69_what_is_no_longer_current_is_gone_at_once(model: Connection, clock: Clock) -> None:
    clock.set(NOON)
    facts(model, {"deleted": "tea 1", "redacted": "tea 2", "kept": "tea 3"})
    facts(model, {"expiring": "tea 4"}, ttl_seconds=60)
    made(model)
    assert len(near(model)) == 4
    fact(model, "delete", user_id="u1", memory_key="deleted")
    fact(model, "redact", user_id="u1", memory_key="redacted", reason="asked")
    clock.advance(seconds=60)
    assert near(model) == ["kept"]
    operate(model, "erasure.request", org="acme", user_id="u1")
    assert near(model) == []


def test_reach_filters_and_twins_are_as_in_full_text(model: Connection) -> None:
    for user in ("u1", "u2", "-"):
        for session in ("s1", "-"):
            ids = {"user_id": user, "session_id": session}
            fact(model, "set", **ids, memory_key=f"{user} {session}", value=f"tea {user}")
    facts(model, {"twin": "tea twin"}, tags=["t"])
    facts(model, {"younger": "tea twin"}, tags=["u"], memory_type="semantic")
    facts(model, {"decided": "tea"}, memory_type="decision")
    made(model)
    own = ["- -", "- s1", "decided", "twin", "u1 -", "u1 s1"]
    assert sorted(near(model)) == own
    assert sorted(near(model, read_scope="namespace")) == sorted([*own, "u2 -", "u2 s1"])
    reached = near(model, read_scope="own_session", session_id="s9")
    assert sorted(reached) == ["- -", "decided", "twin", "u1 -"]
    assert near(model, memory_type="decision") == ["decided"]
    assert near(model, tags=["u"]) == ["younger"]
    assert near(model, limit=1) == near(model)[:1]


def test_sections_are_ranked_by_meaning_and_are_no_facts(model: Connection) -> None:
    facts(model, {"fact": "tea"})
    for label, value in (("games", "chess"), ("drinks", "coffee"), ("animals", "cat")):
        section(model, "set", user_id="u1", label=label, value=value)
    made(model)
    assert near(model) == ["fact"]
    answer = query(model, "what do I like", query_embedding=TEA)
    assert [item["label"] for item in answer["profile"]] == ["drinks", "games", "animals"]


@pytest.mark.parametrize(
    ("embedding", "leg"),
    [
        (None, {"ran": False, "reason": "no_query_embedding"}),
        ({"model": "other", "vector": [1]}, {"ran": False, "reason": "other_model"}),
        (TEA, {"ran": True}),
    ],
)
def test_the_answer_says_whether_vectors_were_searched(
    model: Connection, embedding: Answer | None, leg: Answer
) -> None:
    facts(model, {"a": "tea"})
    made(model)
    assert ask(model, "tea", query_embedding=embedding)["legs"]["vector"] == leg


@pytest.mark.parametrize("vector", [[1, 0], [1, 0, 0, 0], [0, 0, 0], [1, 0, "x"], [1, 0, 1e39], []])
def test_o79_a_vector_of_another_size_is_refused(model: Connection, vector: list[object]) -> None:
    facts(model, {"a": "tea"})
    made(model)
    with refused(model, "LM001") as refusal:
        ask(model, "tea", query_embedding={"model": MODEL, "vector": vector})
    assert refusal.detail["field"] == "query_embedding.vector"


def test_two_orgs_with_the_same_ids_see_their_own(model: Connection) -> None:
    for org in ("acme", "acme2"):
        fact(model, "set", org=org, user_id="u1", memory_key="k", value=f"tea of {org}")
        section_ids = {**IDENTITY, "org": org, "user_id": "u1"}
        operate(model, "profile.set", **section_ids, label="l", value=f"coffee of {org}")
        made(model, org)
    for org in ("acme", "acme2"):
        for scope in ("own_user", "namespace"):
            answer = query(model, "?", org=org, read_scope=scope, profile=True, query_embedding=TEA)
            rows = [*answer["memories"], *answer["profile"]]
            assert [row["org"] for row in rows] == [org, org]


INDEX = """
create index {name} on loom.embedding
using hnsw ((embedding::loom_vector.{type}({dimension})) loom_vector.{type}_cosine_ops)
where model = 'm'
"""


def scans(conn: Connection, index: str) -> int:
    """How often this transaction used an index."""
    row = conn.execute(
        "select pg_stat_get_xact_numscans(('loom.' || %s)::regclass)", (index,)
    ).fetchone()
    assert row is not None
    return int(row[0])


@pytest.mark.parametrize(("dimension", "kind"), [(3, "vector"), (2001, "halfvec")])
def test_with_an_index_and_many_vectors_the_index_answers(
    model: Connection, dimension: int, kind: str
) -> None:
    """Within the user's reach too, though the index knows of no users."""
    padding = [0.0] * (dimension - 3)
    for user in ("u1", "u2"):
        fact(model, "set", user_id=user, memory_key="t", value="tea")
        fact(model, "set", user_id=user, memory_key="c", value="chess")
    vectors = {word: vector + padding for word, vector in VECTORS.items()}
    embed(model, vectors, org="acme", model=MODEL)
    wanted = {"model": MODEL, "vector": [1, 0, 0, *padding]}
    exact = ask(model, "?", query_embedding=wanted)["items"]
    row = model.execute("select loom._embedding_index('m')").fetchone()
    assert row is not None
    model.execute(INDEX.format(name=row[0], type=kind, dimension=dimension).encode())
    by_index = model.execute(
        "select memory_key, user_id, indexed.distance from loom._search_indexed("
        " jsonb_populate_record(null::loom.caller, %s),"
        " row('memory', null, null, null)::loom.search_filter, 'm', %s, 10) as indexed"
        " join loom.memory using (memory_id)",
        (
            '{"org": "acme", "namespace": "main", "users": ["u1", "-"]}',
            str(wanted["vector"]),
        ),
    ).fetchall()
    assert [(key, user) for key, user, _ in by_index] == [("t", "u1"), ("c", "u1")]
    assert [item["memory_key"] for item in exact] == ["t", "c"]
    # The bound of an exact scan, made small.
    model.execute(
        "do $$ begin execute replace(pg_get_functiondef('loom._search_by_index'::regproc),"
        " '10000', '1'); end $$"
    )
    assert ask(model, "?", query_embedding=wanted)["items"] == exact


def test_the_index_is_used_and_finds_behind_what_the_filter_leaves_out(model: Connection) -> None:
    """All that is nearest may be of another type or session."""
    model.execute(
        "select loom.memory_set(jsonb_build_object('org', 'acme', 'namespace', 'main', 'user_id',"
        " 'u1', 'session_id', 'other', 'memory_key', 'k' || n, 'value', 'tea ' || n))"
        " from generate_series(1, 1200) as n"
    )
    # Apart from each other, since a graph of equal vectors has no way out to others.
    model.execute(
        "insert into loom.embedding (org, memory_id, model, namespace, user_id, plane,"
        " content_sha256, embedding, made_at) select org, memory_id, 'm', namespace, user_id,"
        " 'memory', content_sha256, loom_vector.array_to_vector("
        " array[1, substr(memory_key, 2)::real / 4000, 0], 3, true), now() from loom.memory"
    )
    model.execute("delete from loom.embedding_due")
    facts(model, {"d": "coffee"}, memory_type="decision")
    facts(model, {"s": "coffee and milk"}, session_id="s1")
    made(model)
    row = model.execute("select loom._embedding_index('m')").fetchone()
    assert row is not None
    model.execute(INDEX.format(name=row[0], type="vector", dimension=3).encode())
    model.execute("analyze loom.embedding; analyze loom.memory")
    model.execute(
        "do $$ begin execute replace(pg_get_functiondef('loom._search_by_index'::regproc),"
        " '10000', '1'); end $$"
    )
    before = scans(model, row[0])
    assert len(near(model)) == 20
    assert scans(model, row[0]) == before + 1
    assert near(model, memory_type="decision") == ["d"]
    assert sorted(near(model, session_id="s1", read_scope="own_session")) == ["d", "s"]


def test_an_index_that_was_not_finished_is_not_used(model: Connection) -> None:
    facts(model, {"a": "tea"})
    made(model)
    row = model.execute("select loom._embedding_index('m')").fetchone()
    assert row is not None
    model.execute(INDEX.format(name=row[0], type="vector", dimension=3).encode())
    model.execute(
        "update pg_index set indisvalid = false where indexrelid = ('loom.' || %s)::regclass",
        (row[0],),
    )
    model.execute(
        "do $$ begin execute replace(pg_get_functiondef('loom._search_by_index'::regproc),"
        " '10000', '0'); end $$"
    )
    assert near(model) == ["a"]

"""The census: a database as operations leave it is in order, and each way of spoiling it is found.

Constraints and triggers are taken away first where they would not let it happen.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest
from psycopg.types.json import Jsonb

from tests.calls import operate
from tests.chaos import census
from tests.chaos.census import Census, Connection
from tests.chaos.history import History
from tests.chaos.instruments import Clock, install
from tests.chaos.load import PLACE
from tests.chaos.planes.structured_profile import SCHEMA
from tests.cluster import Cluster
from tests.databases import Database, Templates, copy_of
from tests.vectors import active_model, embed, has_vectors, need_vectors

FACTS: Mapping[str, str | None] = {"city of s0.0": "city: Berlin", "editor of s0.0": "editor: ed"}


def fill(conn: Connection) -> None:
    """Something of everything, and a structured profile built as a worker does."""
    install(conn)
    if has_vectors(conn):
        active_model(conn, "m")
    ours = {**PLACE, "user_id": "s0.0"}
    place = {"org": PLACE["org"], "namespace": PLACE["namespace"]}
    operate(conn, "profile_schema.set", **place, json_schema=SCHEMA)
    operate(conn, "working_memory.set", **PLACE, block_key="log", content="one")
    for text in ("one", "two"):
        operate(conn, "memory.set", **PLACE, memory_key="fact", value=text)
    operate(conn, "memory.set", **ours, memory_key="twin", value="city: Berlin")
    operate(conn, "memory.set", **ours, memory_key="city of s0.0", value="city: Berlin")
    kind = {"memory_type": "preference"}
    operate(conn, "memory.set", **ours, memory_key="editor of s0.0", value="editor: ed", **kind)
    operate(conn, "memory.set", **ours, memory_key="gone", value="gone")
    operate(conn, "memory.delete", **ours, memory_key="gone")
    scope = {**place, "user_id": "told"}
    delta = {"fact_ops": [{"op": "add", "key": "name", "value": "Ann"}]}
    operate(conn, "user_profile.apply", **scope, delta=delta)
    operate(conn, "user_profile.apply", **scope, delta={"summary": "Ann it is."})
    loom = operate(conn, "looms.create", **place, name="a loom")["entity"]["id"]
    operate(conn, "looms.thread_add", **place, loomId=loom, text="a thread")
    operate(conn, "looms.activity", **place, loomId=loom, text="a turn")
    build(conn, {"city": "Berlin", "editor": "ed"})
    if has_vectors(conn):
        embed(conn, {"": [1.0, 2.0]}, org=PLACE["org"], model="m")


def build(conn: Connection, answer: Mapping[str, str]) -> None:
    """The structured profile of s0.0, as a worker writes it."""
    list(conn.execute("select * from loom.work_due('structured_profile')"))
    claimed = conn.execute(
        "select lease_id from loom.work_claim('chaos', 'main', 'structured_profile', 1)"
    ).fetchone()
    assert claimed is not None
    conn.execute("select loom.work_read('chaos', %s)", claimed)
    done = conn.execute(
        "select loom.work_complete('chaos', %s, %s, '{}')", (claimed[0], Jsonb(answer))
    ).fetchone()
    assert done is not None
    assert done[0]["outcome"] == "written"


@pytest.fixture(scope="module")
def _filled(cluster: Cluster, templates: Templates) -> Iterator[Connection]:
    own = copy_of(cluster, templates.base)
    conn = own.connect()
    fill(conn)
    yield conn
    own.close()


@pytest.fixture
def filled(_filled: Connection) -> Iterator[Connection]:
    """What `fill` made, in a transaction that is rolled back."""
    with _filled.transaction(force_rollback=True):
        yield _filled


def taken(conn: Connection, history: History | None = None) -> Census:
    return census.take(conn, history or History(), FACTS, census.left(conn))


def test_what_operations_leave_behind_is_in_order(filled: Connection) -> None:
    found = taken(filled)
    assert found.clean, found.report()
    assert census.turns(filled) == ["a turn"]
    assert census.work(filled)["structured_profile written"] == 1


Spoil = Callable[[Connection], Any]

COPY = """
create temporary table twin as select * from loom.{table} where {where};
update twin set {change};
alter table loom.{table} drop constraint {key} cascade;
insert into loom.{table} ({columns}) select {columns} from twin;
"""


def copy(table: str, where: str, change: str, key: str, *dropped: str) -> Spoil:
    """The same row a second time, without the constraint that forbids it."""

    def spoil(conn: Connection) -> None:
        columns = conn.execute(
            "select string_agg(column_name, ', ') from information_schema.columns"
            " where table_schema = 'loom' and table_name = %s and is_generated = 'NEVER'",
            (table,),
        ).fetchone()
        assert columns is not None
        text = COPY.format(table=table, where=where, change=change, key=key, columns=columns[0])
        for each in dropped:
            text = f"drop index loom.{each}; {text}"
        conn.execute(text.encode())

    return spoil


def run(statement: str) -> Spoil:
    return lambda conn: conn.execute(statement.encode())


NEW_ID = "gen_random_uuid()"

SPOILT: dict[str, tuple[str, Spoil]] = {
    "a block twice": (
        "two_current",
        copy("working_memory", "block_key = 'log'", "version = version", "working_memory_pkey"),
    ),
    "a row twice": (
        "two_current",
        copy("memory", "memory_key = 'fact'", f"memory_id = {NEW_ID}", "memory_pkey"),
    ),
    "a structured profile twice": (
        "two_current",
        copy(
            "memory",
            "memory_key = 'structured_profile'",
            f"memory_id = {NEW_ID}, agent = 'x'",
            "memory_pkey",
        ),
    ),
    "a user profile twice": (
        "two_current",
        copy("user_profile", "true", f"profile_id = {NEW_ID}", "user_profile_pkey"),
    ),
    "a thread twice": (
        "two_current",
        run(
            "insert into loom.loom_thread (org, namespace, loom_id, user_id, agent, text,"
            " created_at, created_by, updated_at, updated_by) select org, namespace, loom_id,"
            " user_id, agent, text, created_at, created_by, updated_at, updated_by"
            " from loom.loom_thread"
        ),
    ),
    "a turn twice": (
        "two_current",
        run(
            "insert into loom.loom_turn (org, namespace, loom_id, user_id, agent, text, at, actor)"
            " select org, namespace, loom_id, user_id, agent, text, at, actor from loom.loom_turn"
        ),
    ),
    "a version of a thread is missing": (
        "version_gaps",
        run("update loom.loom_thread set version = 2"),
    ),
    "a version of a row is missing": (
        "version_gaps",
        run(
            "delete from loom.memory_version using loom.memory where memory_key = 'fact'"
            " and memory.memory_id = memory_version.memory_id and memory_version.version = 1"
        ),
    ),
    "a row is ahead of its versions": (
        "version_gaps",
        run("update loom.memory set version = version + 1 where memory_key = 'fact'"),
    ),
    "a row has no versions at all": ("version_gaps", run("delete from loom.memory_version")),
    "a revision of a user profile is missing": (
        "version_gaps",
        run("delete from loom.user_profile_version where revision = 1"),
    ),
    "a row's hash is another's": (
        "digests_off",
        run("update loom.memory set content_sha256 = 'x' where memory_key = 'fact'"),
    ),
    "a row's length is another's": (
        "digests_off",
        run("update loom.memory set value_length = 99 where memory_key = 'fact'"),
    ),
    "the hash of an old version is another's": (
        "digests_off",
        run("update loom.memory_version set content_sha256 = 'x' where version = 1"),
    ),
    "a source digest that lags behind": (
        "digests_off",
        run("update loom.user_state set source_digest = ~source_digest where user_id = 's0.0'"),
    ),
    "a source count that lags behind": (
        "digests_off",
        run("update loom.user_state set source_count = 3 where user_id = 's0.0'"),
    ),
    "the digest of a fold that lags behind": (
        "digests_off",
        run("update loom.user_state set fold_digest = ~fold_digest where user_id = 's0.0'"),
    ),
    "a user without a state": (
        "digests_off",
        run("delete from loom.user_state where user_id = 's0.0'"),
    ),
    "a row that no search finds": ("digests_off", run("delete from loom.memory_text")),
    "a row that is found by an older text": (
        "digests_off",
        run("update loom.memory_text set content_sha256 = 'x'"),
    ),
    "a text of a row that is gone": (
        "digests_off",
        run("set session_replication_role = replica; delete from loom.memory"),
    ),
    "a profile written twice from the same facts": (
        "built_twice",
        run("insert into chaos.written select * from chaos.written"),
    ),
    "a profile that says something else than its facts": (
        "built_behind",
        run("update loom.memory set value = '{}' where memory_key = 'structured_profile'"),
    ),
    "a profile of other sources than there are": (
        "built_behind",
        run("update loom.build set built_digest = ~built_digest"),
    ),
    "a profile that was never built": (
        "built_behind",
        run("delete from loom.memory where memory_key = 'structured_profile'"),
    ),
    "a lease": (
        "leases_left",
        run("update loom.build set lease_id = gen_random_uuid(), leased_until = now()"),
    ),
    "a build that is due": ("leases_left", run("update loom.build set due_at = now()")),
    "a build that waits": (
        "leases_left",
        run("update loom.build set listed_at = now(), due_at = now() + interval '1 hour'"),
    ),
    "a loom's lease": (
        "leases_left",
        run("update loom.loom set lease_id = gen_random_uuid(), leased_until = now()"),
    ),
    "a weaving under way": (
        "leases_left",
        lambda conn: operate(
            conn,
            "looms.weave",
            org="chaos",
            loomId=str(conn.execute("select loom_id from loom.loom").fetchone()[0]),  # type: ignore[index]
        ),
    ),
    "signals that wait": (
        "leases_left",
        lambda conn: operate(
            conn,
            "user_profile.update",
            org="chaos",
            namespace="main",
            user_id="told",
            signals=[{"text": "Call me Bo."}],
            source="llm",
        ),
    ),
}


@pytest.mark.parametrize(("kind", "spoil"), SPOILT.values(), ids=SPOILT.keys())
def test_what_is_spoilt_is_found(filled: Connection, kind: str, spoil: Spoil) -> None:
    filled.execute("set session_replication_role = replica")
    spoil(filled)
    assert taken(filled).counts[kind] > 0, taken(filled).report()


def test_what_is_built_of_nothing_may_be_built_so_again_but_not_at_once(
    filled: Connection,
) -> None:
    write = (
        "insert into chaos.written select namespace, user_id, %s, kind, %s::bit(128), sha256, lease"
        " from chaos.written where version = 1"
    )
    nothing = "0" * 128
    for version, digest in ((2, nothing), (3, "1" * 128), (4, nothing)):
        filled.execute(write, (version, digest))
    assert not taken(filled).built_twice
    filled.execute(write, (5, nothing))
    assert taken(filled).built_twice


@pytest.mark.parametrize(
    "statement",
    [
        "update loom.embedding set content_sha256 = 'x'",
        "delete from loom.embedding",
        "delete from loom.memory_text",
    ],
)
def test_a_vector_of_another_text_and_one_that_is_missing_are_found(
    filled: Connection, statement: str
) -> None:
    need_vectors(filled)
    filled.execute("set session_replication_role = replica")
    filled.execute(statement.encode())
    assert any(each.startswith("vector of") for each in taken(filled).digests_off)


@pytest.mark.parametrize(
    ("op", "body"),
    [
        ("working_memory.set", {"content": "x"}),
        ("memory.set", {"memory_key": "k", "value": "x"}),
        ("profile.set", {"label": "k", "value": "x"}),
        ("user_profile.update", {"signals": [{"id": "1", "text": "Call me Bo."}]}),
    ],
)
def test_o70_what_is_left_of_an_erased_user_is_found(
    filled: Connection, op: str, body: dict[str, Any]
) -> None:
    history = History(erased=["erased-1"])
    place = {"org": "chaos", "namespace": "main", "user_id": "erased-1"}
    operate(filled, op, **place, **body)
    operate(filled, "erasure.request", org="chaos", user_id="erased-1")
    assert taken(filled, history).clean, taken(filled, history).report()
    operate(filled, op, **place, **body)
    assert taken(filled, history).erased_left


def test_locks_and_transactions_of_others_are_found(database: Database) -> None:
    conn, other = database.connect(), database.connect()
    assert census.left(conn) == []
    other.execute("select pg_advisory_lock(1)")
    assert [each.partition(":")[0] for each in census.left(conn)] == ["an advisory lock"]
    other.execute("select pg_advisory_unlock(1)")
    other.execute("begin; select 1")
    assert [each.partition(":")[0] for each in census.left(conn)] == ["an open transaction"]
    other.execute("rollback")
    assert census.left(conn) == []


def test_a_clock_is_set_forward_and_goes_on(database: Database) -> None:
    conn = database.connect()
    clock = Clock(database.connect)
    clock.forward(hours=1)
    clock.forward(seconds=30)
    ahead = "select extract(epoch from loom._now() - clock_timestamp())::integer"
    assert conn.execute(ahead).fetchone() == (3630,)

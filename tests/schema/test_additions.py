"""What is applied only where the server has an extension: with it, without, when it comes later."""

from __future__ import annotations

from pathlib import Path

import psycopg
import pytest
from psycopg import sql

from loom import doctor
from loom.migrate import MigrationError, migrate, status
from loom.migrate_extensions import is_too_old
from loom.sql_tree import SqlTree, SqlTreeError, freeze
from tests.calls import Connection, operate
from tests.cluster import Cluster
from tests.databases import Database
from tests.schema.trees import shipped_copy
from tests.vectors import has_vectors, need_vectors, worked

OWNER = "loom_test_owner"
NAME = "owned"
ADDED = "vector/0001_embedding"


@pytest.fixture
def owned(bare: Cluster) -> str:
    """The DSN of an empty database for its owner, who may make roles and no extension."""
    bare.make_login(OWNER)
    bare.create(NAME, owner=OWNER)
    with bare.connect(NAME) as conn:
        conn.execute(f"alter role {OWNER} createrole".encode())
    return bare.dsn(NAME, OWNER)


def offered(conn: Connection) -> bool:
    row = conn.execute(
        "select count(*) from pg_available_extensions where name = 'vector'"
    ).fetchone()
    return row != (0,)


def works(conn: Connection) -> None:
    """All but vectors."""
    where = {"org": "acme", "namespace": "n", "user_id": "u"}
    operate(conn, "memory.set", **where, memory_key="k", value="green tea")
    found = operate(conn, "memory.search", **where, query="tea")
    assert [item["memory_key"] for item in found["items"]] == ["k"]
    assert operate(conn, "erasure.request", org="acme", user_id="u")["removed"]["memory"] == 1


def test_a_database_has_vectors_where_the_server_offers_them(clean_database: Database) -> None:
    conn = clean_database.connect()
    assert has_vectors(conn) is offered(conn)
    current = status(clean_database.dsn())
    assert current.current
    assert ADDED not in current.applied
    works(conn)


def test_the_extension_stands_in_a_schema_of_its_own(clean_database: Database) -> None:
    conn = clean_database.connect()
    need_vectors(conn)
    row = conn.execute(
        "select extnamespace::regnamespace::text from pg_extension where extname = 'vector'"
    ).fetchone()
    assert row == ("loom_vector",)


def test_without_the_extension_everything_else_works_and_later_it_is_added(
    bare: Cluster, owned: str
) -> None:
    """The migration login may not make it; who may does so later, in a schema of their choice."""
    log: list[str] = []
    migrate(owned, log=log.append)
    with psycopg.connect(owned, autocommit=True) as conn:
        assert not has_vectors(conn)
        works(conn)
        if not offered(conn):
            assert doctor.check_vector(conn).text.startswith("the server has no pgvector")
            return
        assert "not in this database" in doctor.check_vector(conn).text
    assert [line for line in log if "vector" in line] == [
        "extension vector is on the server, and this login may not make it"
    ]
    assert status(owned).current
    with bare.connect(NAME) as admin:
        admin.execute('create schema "Odd schema"; create extension vector schema "Odd schema"')
    assert status(owned).addable == (ADDED,)
    with pytest.raises(MigrationError, match="may not use schema Odd schema") as refused:
        migrate(owned, log=log.append)
    assert 'grant usage on schema "Odd schema" to "loom_owner"' in str(refused.value.hint)
    with bare.connect(NAME) as admin:
        admin.execute('grant usage on schema "Odd schema" to loom_owner, loom_api, loom_search')
    report = migrate(owned, log=log.append)
    assert (report.migrations, report.additions, report.functions_applied) == ((), (ADDED,), True)
    assert status(owned).current
    assert not migrate(owned, log=log.append).changed
    with bare.connect(NAME) as admin:
        where = {"org": "acme", "namespace": "n", "user_id": "u"}
        operate(admin, "memory.set", **where, memory_key="k", value="green tea")
        worked(admin, "embedding_model_add", model="m")
        worked(admin, "embedding_advance")
        claim = worked(admin, "embedding_claim", org="acme", model="m")
        items = [{**item, "embedding": [1, 2]} for item in claim["items"]]
        place = {"org": "acme", "model": "m", "lease_id": claim["lease_id"]}
        assert worked(admin, "embedding_store", **place, items=items)["stored"] == 1
        worked(admin, "embedding_advance")
        wanted = {"model": "m", "vector": [1, 2]}
        found = operate(admin, "memory.search", **where, query="?", query_embedding=wanted)
        assert [item["legs"] for item in found["items"]] == [{"vector": 1}]


@pytest.mark.parametrize("schema", ["public", "loom"])
def test_an_extension_that_is_there_is_taken_where_it_is(bare: Cluster, schema: str) -> None:
    bare.create("placed")
    with bare.connect("placed") as conn:
        if not offered(conn):
            pytest.skip("this server has no pgvector")
        conn.execute(sql.SQL("create schema if not exists {}").format(sql.Identifier(schema)))
        conn.execute(sql.SQL("create extension vector schema {}").format(sql.Identifier(schema)))
        if schema == "loom":
            if not _has_role(conn):
                conn.execute("create role loom_owner")
            conn.execute("alter schema loom owner to loom_owner")
    migrate(bare.dsn("placed"), log=lambda _line: None)
    assert not migrate(bare.dsn("placed"), log=lambda _line: None).changed
    with bare.connect("placed") as conn:
        works(conn)
        where = {"org": "acme", "namespace": "n", "user_id": "u"}
        worked(conn, "embedding_model_add", model="m")
        worked(conn, "embedding_advance")
        operate(conn, "memory.set", **where, memory_key="k", value="green tea")
        claim = worked(conn, "embedding_claim", org="acme", model="m")
        items = [{**item, "embedding": [1, 2]} for item in claim["items"]]
        place = {"org": "acme", "model": "m", "lease_id": claim["lease_id"]}
        worked(conn, "embedding_store", **place, items=items)
        wanted = {"model": "m", "vector": [1, 2]}
        found = operate(conn, "memory.search", **where, query="?", query_embedding=wanted)
        assert [item["legs"] for item in found["items"]] == [{"vector": 1}]


def test_an_extension_that_was_moved_is_followed(bare: Cluster) -> None:
    """Hosts advise to move extensions out of public; searches then need the next `loom migrate`."""
    bare.create("moved")
    migrate(bare.dsn("moved"), log=lambda _line: None)
    with bare.connect("moved") as conn:
        need_vectors(conn)
        where = {"org": "acme", "namespace": "n", "user_id": "u"}
        worked(conn, "embedding_model_add", model="m", dimension=2)
        worked(conn, "embedding_advance")
        operate(conn, "memory.set", **where, memory_key="k", value="green tea")
        claim = worked(conn, "embedding_claim", org="acme", model="m")
        items = [{**item, "embedding": [1, 2]} for item in claim["items"]]
        place = {"org": "acme", "model": "m", "lease_id": claim["lease_id"]}
        worked(conn, "embedding_store", **place, items=items)
        assert status(bare.dsn("moved")).current
        conn.execute("create schema elsewhere; alter extension vector set schema elsewhere")
        assert not status(bare.dsn("moved")).current
        assert migrate(bare.dsn("moved"), log=lambda _line: None).functions_applied
        assert status(bare.dsn("moved")).current
        wanted = {"model": "m", "vector": [1, 2]}
        found = operate(conn, "memory.search", **where, query="?", query_embedding=wanted)
        assert [item["legs"] for item in found["items"]] == [{"vector": 1}]


def _has_role(conn: Connection) -> bool:
    return conn.execute("select from pg_roles where rolname = 'loom_owner'").fetchone() is not None


@pytest.mark.parametrize(
    ("version", "old"),
    [("0.7.4", True), ("0.8", False), ("0.8.6", False), ("0.10.0", False), ("1.0", False)],
)
def test_a_version_without_iterative_scans_counts_as_missing(version: str, old: bool) -> None:
    assert is_too_old("vector", version) is old


def test_an_additions_migration_whose_text_changed_is_refused(
    clean_database: Database, tmp_path: Path
) -> None:
    need_vectors(clean_database.connect())
    root = shipped_copy(tmp_path / "sql")
    path = root / "extensions" / "vector" / "migrations" / "0001_embedding.sql"
    path.write_text(path.read_text(encoding="utf-8") + "-- more\n", encoding="utf-8")
    assert status(clean_database.dsn(), root=root).changed == (ADDED,)
    with pytest.raises(MigrationError, match=ADDED):
        migrate(clean_database.dsn(), log=lambda _line: None, root=root)


def test_a_release_freezes_them_too(tmp_path: Path) -> None:
    root = shipped_copy(tmp_path / "sql")
    assert ADDED in freeze(root)
    assert freeze(root) == ()
    path = root / "extensions" / "vector" / "migrations" / "0001_embedding.sql"
    path.write_text(path.read_text(encoding="utf-8") + "-- more\n", encoding="utf-8")
    with pytest.raises(SqlTreeError, match=f"{ADDED} was released"):
        SqlTree.read(root)


def test_the_digest_of_functions_is_over_additions_too(tmp_path: Path) -> None:
    root = shipped_copy(tmp_path / "sql")
    before = SqlTree.read(root).functions_sha256
    path = root / "extensions" / "vector" / "grants.sql"
    path.write_text(path.read_text(encoding="utf-8") + "-- more\n", encoding="utf-8")
    assert SqlTree.read(root).functions_sha256 != before

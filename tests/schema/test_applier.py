"""What the applier does to one database."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import psycopg
import pytest

from loom.migrate import (
    MigrationError,
    SqlTreeError,
    expected,
    migrate,
    migrate_connection,
    status,
)
from loom.migrate_status import check_server
from loom.sql_tree import freeze
from tests.calls import mint_token, operate
from tests.cluster import Cluster
from tests.databases import Database
from tests.schema.trees import GRANTS, GREET, TABLES, shipped_copy, small_tree

Lines = list[str]

# Every catalog row that the applier could have touched, by the transaction that wrote it last.
_WRITTEN_BY = """
select 'pg_proc', oid::text, xmin::text from pg_proc where pronamespace = 'loom'::regnamespace
union all
select 'pg_class', oid::text, xmin::text from pg_class where relnamespace = 'loom'::regnamespace
union all select 'pg_namespace', oid::text, xmin::text from pg_namespace
union all select 'pg_authid', oid::text, xmin::text from pg_authid
union all select 'pg_db_role_setting', setrole::text, xmin::text from pg_db_role_setting
union all select 'pg_auth_members', roleid || '/' || member, xmin::text from pg_auth_members
union all
select 'pg_database', oid::text, xmin::text from pg_database where datname = current_database()
union all select 'migration', name, xmin::text from loom.migration
union all select 'functions_digest', sha256, xmin::text from loom.functions_digest
order by 1, 2, 3
"""


@pytest.fixture
def empty(cluster: Cluster, templates: object) -> Database:
    """A database without Loom, on a server whose roles are there."""
    name = f"{cluster.prefix}_empty"
    with cluster.maintenance() as conn:
        conn.execute(f"drop database if exists {name} with (force)".encode())
    cluster.create(name)
    return Database(cluster, name)


def _functions(database: Database) -> list[str]:
    with psycopg.connect(database.dsn()) as conn:
        rows = conn.execute(
            "select proname from pg_proc where pronamespace = to_regnamespace('loom') order by 1"
        ).fetchall()
    return [name for (name,) in rows]


def test_the_shipped_tree_makes_a_database_that_is_current(empty: Database) -> None:
    before = status(empty.dsn())
    assert not before.bootstrapped
    assert not before.current
    log: Lines = []
    report = migrate(empty.dsn(), log=log.append)
    assert report.migrations == before.pending
    assert report.functions_applied
    assert [line for line in log if line.startswith("migration")] == [
        f"migration {name} applied" for name in before.pending
    ]
    after = status(empty.dsn())
    assert after.current
    assert after.applied == before.pending
    assert expected().migration == after.applied[-1]


def test_health_tells_what_the_applier_stored(clean_database: Database) -> None:
    health = clean_database.connect("loom_gateway").execute("select loom.health()").fetchone()
    assert health is not None
    assert health[0]["migration"] == expected().migration
    assert health[0]["functions_sha256"] == expected().functions_sha256


def test_a_second_run_changes_nothing(clean_database: Database) -> None:
    conn = clean_database.connect()
    before = conn.execute(_WRITTEN_BY.encode()).fetchall()
    log: Lines = []
    assert not migrate(clean_database.dsn(), log=log.append).changed
    assert log == []
    assert conn.execute(_WRITTEN_BY.encode()).fetchall() == before


def test_functions_applied_again_work_as_before(clean_database: Database, tmp_path: Path) -> None:
    root = shipped_copy(tmp_path / "sql")
    with (root / "grants.sql").open("a", encoding="utf-8") as grants:
        grants.write("-- another digest\n")
    assert not status(clean_database.dsn(), root=root).functions_current
    report = migrate(clean_database.dsn(), log=lambda _line: None, root=root)
    assert report.functions_applied
    assert report.migrations == ()
    conn = clean_database.connect()
    mint_token(conn, org="acme")
    operate(conn, "working_memory.set", org="acme", namespace="n", content="kept")


def test_o67_everything_is_in_schema_loom(clean_database: Database) -> None:
    conn = clean_database.connect()
    elsewhere = conn.execute(
        """
        select 'relation ' || oid::regclass from pg_class
        where relnamespace not in (
          'loom'::regnamespace, 'pg_catalog'::regnamespace, 'information_schema'::regnamespace,
          'pg_toast'::regnamespace)
        union all
        select 'function ' || oid::regprocedure from pg_proc
        where pronamespace not in (
          'loom'::regnamespace, 'pg_catalog'::regnamespace, 'information_schema'::regnamespace)
          -- An extension's own, in the schema that was made for it.
          and not (pronamespace::regnamespace::text = 'loom_vector' and exists (
            select from pg_depend where classid = 'pg_proc'::regclass and objid = pg_proc.oid
              and deptype = 'e'))
        union all
        select 'schema ' || nspname from pg_namespace
        where nspname not in
            ('loom', 'loom_vector', 'public', 'pg_catalog', 'information_schema', 'pg_toast')
          and nspname !~ '^pg_(toast_)?temp'
        """
    ).fetchall()
    assert elsewhere == []


def test_a_broken_function_is_refused_and_nothing_of_the_set_stays(
    empty: Database, tmp_path: Path
) -> None:
    broken = GREET.replace("greet", "stutter").replace("return 'hello", "retrun 'hello")
    root = small_tree(tmp_path, functions={"greet": GREET, "stutter": broken})
    with pytest.raises(MigrationError, match=r"loom\.stutter.* is broken: syntax error"):
        migrate(empty.dsn(), log=lambda _line: None, root=root)
    assert _functions(empty) == []
    assert not status(empty.dsn(), root=root).functions_current


def test_a_broken_sql_language_function_is_refused(empty: Database, tmp_path: Path) -> None:
    broken = """create or replace function loom.words(p_id integer) returns text
language sql stable
set search_path = loom, pg_temp
as $$ select no_such_column from note where id = p_id $$;
comment on function loom.words(integer) is 'Breaks.';
"""
    root = small_tree(tmp_path, functions={"words": broken})
    with pytest.raises(MigrationError, match=r"words.* is broken: .*no_such_column"):
        migrate(empty.dsn(), log=lambda _line: None, root=root)
    # The same function is sound once the column is there: it was judged by its own search path.
    (tmp_path / "functions" / "words.sql").write_text(broken.replace("no_such_column", "words"))
    assert migrate(empty.dsn(), log=lambda _line: None, root=root).functions_applied


def test_a_file_that_does_not_run_is_named_with_its_line(empty: Database, tmp_path: Path) -> None:
    root = small_tree(tmp_path, grants=GRANTS + "\ngrant execute on nothing;\n")
    with pytest.raises(MigrationError, match=r"^grants\.sql:4: syntax error"):
        migrate(empty.dsn(), log=lambda _line: None, root=root)


def test_a_function_that_no_file_declares_is_refused(empty: Database, tmp_path: Path) -> None:
    root = small_tree(tmp_path)
    migrate(empty.dsn(), log=lambda _line: None, root=root)
    with psycopg.connect(empty.dsn()) as conn:
        conn.execute("create function loom.planted() returns integer language sql return 1")
    with pytest.raises(MigrationError, match=r"no file declares: loom\.planted\(\)"):
        migrate(empty.dsn(), log=lambda _line: None, root=root)
    (tmp_path / "functions" / "greet.sql").write_text(GREET.replace("hello", "good day"))
    with pytest.raises(MigrationError, match=r"no file declares: loom\.planted\(\)"):
        migrate(empty.dsn(), log=lambda _line: None, root=root)
    assert not status(empty.dsn(), root=root).functions_current


def test_a_changed_signature_leaves_nothing_behind_unseen(empty: Database, tmp_path: Path) -> None:
    root = small_tree(tmp_path)
    migrate(empty.dsn(), log=lambda _line: None, root=root)
    (tmp_path / "functions" / "greet.sql").write_text(
        GREET.replace("p_name text", "p_name varchar, p_times integer").replace(
            "greet(text)", "greet(varchar, integer)"
        )
    )
    with pytest.raises(MigrationError, match=r"loom\.greet\(text\)"):
        migrate(empty.dsn(), log=lambda _line: None, root=root)
    (tmp_path / "gone.sql").write_text("drop function if exists loom.greet(text);")
    migrate(empty.dsn(), log=lambda _line: None, root=root)
    assert _functions(empty) == ["greet"]


def test_what_is_gone_stays_until_what_called_it_is_replaced(
    empty: Database, tmp_path: Path
) -> None:
    root = small_tree(tmp_path)
    migrate(empty.dsn(), log=lambda _line: None, root=root)
    (tmp_path / "functions" / "greet.sql").rename(tmp_path / "functions" / "wave.sql")
    (tmp_path / "gone.sql").write_text("drop function if exists loom.greet(text);")
    (tmp_path / "functions" / "wave.sql").write_text(GREET.replace("greet", "wave"))
    (tmp_path / "grants.sql").write_text("grant execute on function loom.nothing() to loom_api;")
    with pytest.raises(MigrationError, match=r"grants\.sql"):
        migrate(empty.dsn(), log=lambda _line: None, root=root)
    assert _functions(empty) == ["greet"]
    (tmp_path / "grants.sql").write_text("-- none")
    migrate(empty.dsn(), log=lambda _line: None, root=root)
    assert _functions(empty) == ["wave"]


def test_functions_belong_to_loom_api_and_those_of_migrations_to_loom_owner(
    empty: Database, tmp_path: Path
) -> None:
    helper = GREET.replace("create or replace", "create").replace("greet", "_helper")
    root = small_tree(tmp_path, migrations={"0001_first": TABLES + helper})
    migrate(empty.dsn(), log=lambda _line: None, root=root)
    with psycopg.connect(empty.dsn()) as conn:
        owners = conn.execute(
            "select proname::text, proowner::regrole::text from pg_proc "
            "where pronamespace = 'loom'::regnamespace order by 1"
        ).fetchall()
        creators = conn.execute(
            "select rolname from pg_roles where rolname ^@ 'loom_' "
            "and has_schema_privilege(oid, 'loom', 'create')"
        ).fetchall()
    assert owners == [("_helper", "loom_owner"), ("greet", "loom_api")]
    assert creators == [("loom_owner",)]


def test_a_failing_migration_keeps_those_before_it(empty: Database, tmp_path: Path) -> None:
    root = small_tree(
        tmp_path,
        migrations={"0001_first": TABLES, "0002_second": "create table loom.more ();\nselect 1/0;"},
    )
    with pytest.raises(MigrationError, match=r"migrations/0002_second\.sql.*division by zero"):
        migrate(empty.dsn(), log=lambda _line: None, root=root)
    found = status(empty.dsn(), root=root)
    assert (found.applied, found.pending) == (("0001_first",), ("0002_second",))
    (tmp_path / "migrations" / "0002_second.sql").write_text("create table loom.more ();")
    assert migrate(empty.dsn(), log=lambda _line: None, root=root).migrations == ("0002_second",)


def test_an_unqualified_name_goes_nowhere(empty: Database, tmp_path: Path) -> None:
    root = small_tree(tmp_path, migrations={"0001_first": "create table stray (id integer);"})
    with pytest.raises(MigrationError, match="no schema has been selected"):
        migrate(empty.dsn(), log=lambda _line: None, root=root)


def test_o73_all_of_it_fits_into_a_callers_transaction(empty: Database) -> None:
    with psycopg.connect(empty.dsn()) as conn:
        assert migrate_connection(conn, log=lambda _line: None).functions_applied
        assert mint_token(conn, org="acme").answer["org"] == "acme"
        conn.rollback()
    assert not status(empty.dsn()).bootstrapped
    with psycopg.connect(empty.dsn()) as conn:
        migrate_connection(conn, log=lambda _line: None)
    assert status(empty.dsn()).current


def test_o74_a_database_newer_than_the_code_is_refused(empty: Database, tmp_path: Path) -> None:
    newer = small_tree(
        tmp_path / "newer", migrations={"0001_first": TABLES, "0002_second": "select 1;"}
    )
    older = small_tree(tmp_path / "older", functions={})
    migrate(empty.dsn(), log=lambda _line: None, root=newer)
    with pytest.raises(MigrationError, match=r"newer than this code.*0002_second"):
        migrate(empty.dsn(), log=lambda _line: None, root=older)
    assert status(empty.dsn(), root=older).unknown == ("0002_second",)
    assert status(empty.dsn(), root=newer).current, "the refusal changed nothing"


def test_o74_what_is_pending_is_listed_and_status_changes_nothing(
    empty: Database, tmp_path: Path
) -> None:
    root = small_tree(tmp_path)
    migrate(empty.dsn(), log=lambda _line: None, root=root)
    (tmp_path / "migrations" / "0002_second.sql").write_text("create table loom.more ();")
    found = status(empty.dsn(), root=root)
    assert (found.applied, found.pending) == (("0001_first",), ("0002_second",))
    assert status(empty.dsn(), root=root) == found


def test_an_applied_migration_whose_text_changed_is_refused(
    empty: Database, tmp_path: Path
) -> None:
    root = small_tree(tmp_path)
    migrate(empty.dsn(), log=lambda _line: None, root=root)
    (tmp_path / "migrations" / "0001_first.sql").write_text(TABLES + "-- changed\n")
    with pytest.raises(MigrationError, match="0001_first have other text"):
        migrate(empty.dsn(), log=lambda _line: None, root=root)


def test_a_released_migration_whose_text_changed_is_refused(
    empty: Database, tmp_path: Path
) -> None:
    root = small_tree(tmp_path)
    freeze(root)
    (tmp_path / "migrations" / "0001_first.sql").write_text(TABLES + "-- changed\n")
    with pytest.raises(SqlTreeError, match="0001_first was released and its text has changed"):
        migrate(empty.dsn(), log=lambda _line: None, root=root)
    assert not status_of_empty(empty)


def status_of_empty(database: Database) -> bool:
    """Whether the database has Loom's schema, judged by the shipped files."""
    return status(database.dsn()).bootstrapped


def test_another_encoding_is_refused(cluster: Cluster) -> None:
    name = f"{cluster.prefix}_ascii"
    provider = "locale_provider libc" if cluster.version >= 150000 else ""
    with cluster.maintenance() as conn:
        conn.execute(f"drop database if exists {name}".encode())
        conn.execute(
            f"create database {name} template template0 encoding 'SQL_ASCII' {provider} "
            "lc_collate 'C' lc_ctype 'C'".encode()
        )
    with pytest.raises(MigrationError, match="is SQL_ASCII; Loom needs UTF8"):
        migrate(cluster.dsn(name), log=lambda _line: None)


@pytest.mark.parametrize(
    ("server_version", "in_recovery", "reason"),
    [(140012, False, "PostgreSQL 14; Loom needs 15"), (150000, True, "standby")],
)
def test_a_server_that_cannot_carry_loom_is_refused(
    server_version: int, in_recovery: bool, reason: str
) -> None:
    answer = SimpleNamespace(fetchone=lambda: ("UTF8", in_recovery))
    server = SimpleNamespace(
        info=SimpleNamespace(server_version=server_version, dbname="x"),
        execute=lambda _query: answer,
    )
    with pytest.raises(MigrationError, match=reason):
        check_server(cast("psycopg.Connection[Any]", server))


def test_a_schema_loom_of_someone_else_is_refused(empty: Database) -> None:
    with psycopg.connect(empty.dsn()) as conn:
        conn.execute("create schema loom")
    with pytest.raises(MigrationError, match="schema loom that belongs to"):
        migrate(empty.dsn(), log=lambda _line: None)

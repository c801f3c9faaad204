"""The doctor's checks, each on a database that is well and on one that is not."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import psycopg
import pytest

from loom import doctor
from loom.doctor import Finding
from tests.cluster import Cluster
from tests.databases import Database

Connection = psycopg.Connection[Any]


def test_a_healthy_database_has_no_failure(clean_database: Database) -> None:
    logins = [("migration", clean_database.dsn())]
    if clean_database.cluster.own:
        logins += [("gateway", clean_database.dsn("loom_gateway"))]
        logins += [("worker", clean_database.dsn("loom_worker"))]
    findings = list(doctor.examine(logins, "required", has_model=False))
    assert {finding.level for finding in findings} <= {"ok", "info"}
    assert [finding.level for finding in findings if finding.check == "model"] == ["info"]
    shown = doctor.table(findings)
    for finding in findings:
        assert finding.check in shown


def test_a_database_that_does_not_answer_is_the_only_finding() -> None:
    dsn = "host=127.0.0.1 port=1 dbname=x user=y"
    (finding,) = doctor.examine([("migration", dsn)], "required", has_model=True)
    assert (finding.check, finding.level) == ("database", "failure")


def test_a_server_that_is_too_old_is_found(db: Connection) -> None:
    assert doctor.check_server(db).level == "ok"

    class Old:
        class info:
            server_version = 140012

    finding = doctor.check_server(Old())  # type: ignore[arg-type]
    assert finding.level == "failure"
    assert "14.12" in finding.text


def test_an_index_of_words_that_are_mostly_gone_is_found(
    db: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(doctor, "WORDS_LEAST", 0)
    assert doctor.check_words(db).level == "ok"
    # Words that no row has any more, but the index keeps.
    db.execute(
        "insert into loom.memory_text"
        " (org, memory_id, namespace, user_id, plane, language, content_sha256, words)"
        " select 'acme', gen_random_uuid(), 'n', 'u', 'memory', 'simple', md5(n::text),"
        " to_tsvector('simple', string_agg(md5(n || ' ' || m), ' '))"
        " from generate_series(1, 100) n, generate_series(1, 100) m group by n"
    )
    monkeypatch.setattr(doctor, "WORDS_TIMES", 0.5)
    finding = doctor.check_words(db)
    assert finding.level == "warning"
    assert "`loom reindex`" in finding.hint
    monkeypatch.setattr(doctor, "WORDS_LEAST", 2**30)
    assert doctor.check_words(db).level == "ok"


def test_another_encoding_is_found(cluster: Cluster, db: Connection) -> None:
    assert doctor.check_encoding(db).level == "ok"
    name = psycopg.sql.Identifier(f"{cluster.prefix}_latin")
    with cluster.maintenance() as conn:
        conn.execute(
            psycopg.sql.SQL(
                "create database {} encoding 'LATIN1' locale 'C' template template0"
            ).format(name)
        )
        try:
            with cluster.connect(f"{cluster.prefix}_latin") as latin:
                assert doctor.check_encoding(latin).level == "failure"
        finally:
            conn.execute(psycopg.sql.SQL("drop database {}").format(name))


def test_a_missing_role_is_found(db: Connection, monkeypatch: pytest.MonkeyPatch) -> None:
    assert doctor.check_roles(db).level == "ok"
    monkeypatch.setattr(doctor, "ROLES", (*doctor.ROLES, "loom_nobody"))
    finding = doctor.check_roles(db)
    assert finding.level == "failure"
    assert "loom_nobody" in finding.text


def test_a_schema_that_is_not_current_is_found(clean_database: Database) -> None:
    assert doctor.check_schema(clean_database.dsn()).level == "ok"
    conn = clean_database.connect()
    conn.execute("update loom.functions_digest set sha256 = 'other'")
    assert "functions" in doctor.check_schema(clean_database.dsn()).text
    conn.execute("delete from loom.migration where name = '0001_foundation'")
    finding = doctor.check_schema(clean_database.dsn())
    assert (finding.level, "0001_foundation" in finding.text) == ("failure", True)
    conn.execute("insert into loom.migration (name, sha256) values ('9999_later', '00')")
    assert "9999_later" in doctor.check_schema(clean_database.dsn()).text


def test_a_login_that_may_not_read_the_record_is_told_by_the_health(
    clean_database: Database,
) -> None:
    if not clean_database.cluster.own:
        pytest.skip("on a server of the user's loom_gateway may have a password")
    gateway = clean_database.dsn("loom_gateway")
    assert doctor.check_schema(gateway).level == "ok"
    clean_database.connect().execute("update loom.functions_digest set sha256 = 'other'")
    assert doctor.check_schema(gateway).level == "failure"


def test_pgvector_is_never_a_failure(db: Connection) -> None:
    row = db.execute("select from pg_available_extensions where name = 'vector'").fetchone()
    if row is None:
        assert doctor.check_vector(db).level == "info"
        return
    assert doctor.check_vector(db).level == "ok"
    db.execute("drop table loom.embedding")
    found = doctor.check_vector(db)
    assert (found.level, found.hint) == ("warning", "Run `loom migrate`.")
    db.execute("drop extension vector cascade")
    found = doctor.check_vector(db)
    assert found.level == "info"
    assert "create extension vector" in found.hint


@pytest.mark.parametrize(
    "grant",
    [
        "grant select on loom.working_memory to loom_viewer",
        "grant update (content) on loom.working_memory to loom_gateway",
        "grant truncate on loom.audit to loom_test_viewer",
        "grant insert on loom.token to public",
    ],
)
def test_a_client_with_a_right_on_a_table_is_found(db: Connection, grant: str) -> None:
    assert doctor.check_table_rights(db).level == "ok"
    db.execute(grant.encode())
    finding = doctor.check_table_rights(db)
    assert finding.level == "failure"
    assert grant.split(" on ")[1].split()[0].removeprefix("loom.") in finding.text


def test_a_function_that_everybody_may_call_is_found(db: Connection) -> None:
    assert doctor.check_public_rights(db).level == "ok"
    db.execute("grant execute on function loom.health() to public")
    finding = doctor.check_public_rights(db)
    assert (finding.level, "health" in finding.text) == ("failure", True)


@pytest.mark.parametrize(
    "change",
    [
        "alter role loom_gateway superuser",
        "alter role loom_worker bypassrls",
        "alter role loom_viewer createrole",
        "grant loom_owner to loom_gateway",
    ],
)
def test_a_client_that_can_step_around_the_policies_is_found(db: Connection, change: str) -> None:
    assert doctor.check_mighty_roles(db).level == "ok"
    db.execute(change.encode())
    finding = doctor.check_mighty_roles(db)
    assert finding.level == "failure"


def test_open_mode_is_told_and_warned_of_where_tokens_are_required(db: Connection) -> None:
    assert doctor.check_open_mode(db, "required").level == "ok"
    db.execute("select loom.open_mode_set(60)")
    assert doctor.check_open_mode(db, "open").level == "info"
    assert doctor.check_open_mode(db, "required").level == "warning"


def test_a_missing_model_is_told_and_is_no_failure() -> None:
    assert doctor.check_model(True) == Finding("model", "ok", "configured")
    finding = doctor.check_model(False)
    assert finding.level == "info"
    assert "builds wait" in finding.text
    assert "LOOM_MODEL_BASE_URL" in finding.hint


def test_embeddings_are_of_the_model_of_the_settings(db: Connection) -> None:
    assert doctor.check_embeddings(db, None).level == "info"
    vectors = db.execute("select loom.embedding_progress() -> 'vectors'").fetchone() == (True,)
    if not vectors:
        finding = doctor.check_embeddings(db, "first")
        assert (finding.level, "needs pgvector" in finding.text) == ("warning", True)
        return
    assert doctor.check_embeddings(db, "first").level == "warning"  # nobody has added it
    db.execute("""select loom.embedding_model_add('{"model": "first"}')""")
    assert doctor.check_embeddings(db, "first").level == "info"
    finding = doctor.check_embeddings(db, None)  # it is built, and the settings know nothing of it
    assert (finding.level, "searches go by none" in finding.text) == ("warning", True)
    db.execute("""select loom.embedding_model_activate('{"model": "first"}')""")
    assert doctor.check_embeddings(db, "first") == Finding(
        "embeddings", "ok", "searches go by first"
    )
    for other in ("second", None):
        finding = doctor.check_embeddings(db, other)
        assert (finding.level, "searches go by first" in finding.text) == ("warning", True)


def test_a_login_is_tried_and_a_superuser_is_refused_as_the_apis(database: Database) -> None:
    @contextmanager
    def superuser() -> Iterator[Connection]:
        yield database.connect()

    assert doctor.check_login("migration", superuser).level == "ok"  # type: ignore[arg-type]
    assert doctor.check_login("gateway", superuser).level == "failure"  # type: ignore[arg-type]

    def nobody() -> Connection:
        return psycopg.connect("host=127.0.0.1 port=1 dbname=x user=y")

    assert doctor.check_login("gateway", nobody).level == "failure"


class Pooler:
    """Hands server sessions to statements as a pooler in transaction mode does: in turn."""

    def __init__(self, *sessions: Connection) -> None:
        self._sessions = list(sessions)

    @contextmanager
    def connect(self) -> Iterator[Pooler]:
        yield self

    def execute(self, statement: Any, parameters: Any = None) -> Any:
        self._sessions.append(self._sessions.pop(0))
        return self._sessions[-1].execute(statement, parameters)


def test_o65_a_pooler_in_transaction_mode_is_found(database: Database) -> None:
    alone = Pooler(database.connect())
    assert doctor.check_pooler("gateway", alone.connect).level == "failure"  # type: ignore[arg-type]
    three = Pooler(*(database.connect() for _ in range(3)))
    assert doctor.check_pooler("gateway", three.connect).level == "failure"  # type: ignore[arg-type]

    @contextmanager
    def session() -> Iterator[Connection]:
        yield database.connect()

    assert doctor.check_pooler("gateway", session).level == "ok"  # type: ignore[arg-type]


def test_long_lists_are_cut_short_and_hints_stand_below() -> None:
    finding = Finding("roles", "failure", doctor._some(["a", "b", "c", "d", "e", "f", "g"]))
    assert finding.text == "a, b, c, d, e and 2 more"
    lines = doctor.table([replace(finding, hint="Do this."), Finding("x", "ok", "y")]).split("\n")
    assert [line.split()[0] for line in lines] == ["failure", "Do", "ok"]

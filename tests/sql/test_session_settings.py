"""No setting of a session is a permission, a switch or a clock, and none changes an answer."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import psycopg
import pytest
from psycopg import sql

from tests.calls import Answer, Token, acting_as, operate, refused
from tests.cluster import Cluster
from tests.databases import Clock, Database, Templates, copy_of
from tests.sql.doors import as_service, batch, through_api, wm

Connection = psycopg.Connection[Any]
Mint = Callable[..., Token]

HARMLESS = {
    "search_path": "pg_temp, public",
    "standard_conforming_strings": "off",
    "backslash_quote": "on",
    "escape_string_warning": "off",
    "quote_all_identifiers": "on",
    "transform_null_equals": "on",
    "array_nulls": "off",
    "extra_float_digits": "-15",
    "bytea_output": "escape",
    "xmloption": "document",
    "default_text_search_config": "pg_catalog.german",
    "lc_numeric": "C",
    "enable_indexscan": "off",
    "enable_seqscan": "off",
    "plan_cache_mode": "force_generic_plan",
    "constraint_exclusion": "on",
    "from_collapse_limit": "1",
    "plpgsql.extra_warnings": "none",
    "client_min_messages": "debug5",
}

HOSTILE_TEXT = "one\r\n<two> & 'three' \\ \x01 ```` %s"


def everything(db: Connection) -> list[Answer]:
    """Answers of every kind of operation; the same ones for the same clock."""
    return [
        wm(db, "set", content=HOSTILE_TEXT, block_key="a\n\x01\\"),
        wm(db, "append", addition="x", separator="\\n", block_key="a\n\x01\\"),
        wm(db, "replace", old="\\", new="/", block_key="a\n\x01\\"),
        wm(db, "get", block_key="a\n\x01\\"),
        wm(db, "list"),
        wm(db, "render"),
        wm(db, "render", format="markdown", layered=True, block_keys=["a\n\x01\\"]),
        *batch(db, {"op": "working_memory.get", "org": "acme", "namespace": "main"}, {"op": "x"}),
        wm(db, "delete", block_key="a\n\x01\\"),
    ]


def answers_under(cluster: Cluster, dbname: str, setting: str | None) -> list[Answer]:
    """What a new session answers, whose functions are all parsed and planned under the setting."""
    with cluster.connect(dbname) as conn, conn.transaction(force_rollback=True):
        Clock(conn).set(datetime(2026, 3, 1, 12, 0, tzinfo=UTC))
        if setting is not None:
            conn.execute("select set_config(%s, %s, true)", (setting, HARMLESS[setting]))
        return everything(conn)


@pytest.fixture(scope="module")
def expected(cluster: Cluster, templates: Templates) -> list[Answer]:
    return answers_under(cluster, copy_of(cluster, templates.base).name, None)


@pytest.mark.parametrize("setting", HARMLESS)
def test_a_setting_of_the_session_changes_no_answer(
    db: Connection, cluster: Cluster, expected: list[Answer], setting: str
) -> None:
    assert answers_under(cluster, db.info.dbname, setting) == expected


def test_a_client_that_turns_row_security_off_is_refused_rather_than_shown_more(
    services: Connection,
) -> None:
    wm(services, "set", agent=None, content="x")
    services.execute("set local row_security = off")
    with refused(services, "42501"):
        as_service(services, "loom_test_viewer", "working_memory.get", org="acme", namespace="main")


@pytest.mark.parametrize("login", ["loom_test_viewer", "loom_test_writer", "loom_test_admin"])
def test_o64_a_spoofed_org_changes_nothing(services: Connection, login: str) -> None:
    wm(services, "set", org="other", agent=None, content="other's")
    for local in (True, False):
        services.execute("select set_config('loom.org', 'other', %s)", (local,))
        answer = as_service(services, login, "working_memory.get", org="acme", namespace="main")
        assert (answer["org"], answer["found"]) == ("acme", False)
        with refused(services, "LM302"):
            as_service(services, login, "working_memory.get", org="other", namespace="main")
        with refused(services, "42501"), acting_as(services, login):
            services.execute("select from loom.working_memory")


def test_o64_nothing_of_one_call_is_left_for_the_next(db: Connection, mint: Mint) -> None:
    first = mint(role="admin", namespace="main", read_user_id=None)
    other = mint(org="other", namespace="main")
    through_api(db, first, "working_memory.set", content="first's", user_id="u", agent="a")
    receipt = through_api(db, other, "working_memory.set", content="other's")
    assert (receipt["org"], receipt["user_id"], receipt["agent"]) == ("other", "-", "-")
    with refused(db, "LM301"):
        through_api(db, None, "working_memory.get")


def test_objects_in_a_temporary_schema_are_never_looked_at(services: Connection) -> None:
    wm(services, "set", agent=None, content="true")
    with acting_as(services, "loom_test_viewer"):
        for table in ("working_memory", "operation", "token", "service_binding", "org"):
            statement = sql.SQL("create temporary table {} (like pg_class)")
            services.execute(statement.format(sql.Identifier(table)))
        services.execute(
            "create function pg_temp._now() returns timestamptz language sql"
            " as $$ select timestamptz '1999-01-01' $$"
        )
        services.execute(
            "create function pg_temp.coalesce_text(text, text) returns text language sql"
            " as $$ select 'false' $$"
        )
        services.execute(
            "create operator pg_temp.|| (leftarg = text, rightarg = text,"
            " function = pg_temp.coalesce_text)"
        )
        services.execute("set local search_path = pg_temp, pg_catalog, loom")
        got = operate(services, "working_memory.get", org="acme", namespace="main")
        rendered = operate(services, "working_memory.render", org="acme", namespace="main")
    assert got["content"] == "true"
    assert rendered["text"] == '<working-memory block="scratchpad">true</working-memory>'


@pytest.mark.parametrize("isolation", [b"repeatable read", b"serializable"], ids=bytes.decode)
def test_every_isolation_level_serves(db: Connection, cluster: Cluster, isolation: bytes) -> None:
    with cluster.connect(db.info.dbname) as conn, conn.transaction(force_rollback=True):
        conn.execute(b"set transaction isolation level " + isolation)
        assert wm(conn, "set", content="x")["version"] == 1
        assert wm(conn, "append", addition="y")["version"] == 2
        assert wm(conn, "delete")["version"] == 3


def test_the_clock_is_the_servers_own(clean_database: Database) -> None:
    conn = clean_database.connect()
    with conn.transaction():
        first = wm(conn, "set", content="x")["updated_at"]
        second = wm(conn, "set", content="x")["updated_at"]
        started = conn.execute("select loom._ts(now())").fetchone()
    # Time goes on within a transaction: it is that of the call.
    assert started is not None
    assert started[0] < first < second

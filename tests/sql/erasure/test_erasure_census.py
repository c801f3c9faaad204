"""The census at the end of an erasure: a plane that keeps a row takes the whole erasure back."""

from __future__ import annotations

import pytest
from psycopg import sql

from tests.calls import Connection, operate, refused
from tests.sql.erasure.rows_of import erase, fill, rows_of
from tests.sql.facts import audited

# Tables of a user's rows that have no plane of their own: the state row, which keeps the epoch, and
# the names of stored answers, which go with these.
_APART = {"user_state", "idempotency_user"}


def _keep_rows_of(conn: Connection, table: str) -> None:
    """What a forgotten condition, a policy or a broken trigger would come to."""
    conn.execute(
        "create function loom.keep() returns trigger language plpgsql"
        " set search_path = loom, pg_temp as 'begin return null; end'"
    )
    conn.execute(
        sql.SQL(
            "create trigger keep before delete on {} for each row execute function loom.keep()"
        ).format(sql.Identifier("loom", table))
    )


@pytest.mark.parametrize(
    ("table", "plane"),
    [
        ("working_memory", "working_memory"),
        ("memory", "structured_profile"),
        ("memory_version", "memory_version"),
        ("memory_source", "memory_version"),
        ("profile_activity", "activity"),
        ("build", "work"),
        ("model_usage", "work"),
        ("loom_thread", "loom_thread"),
        ("loom_thread_version", "loom_thread"),
        ("loom_turn", "loom_thread"),
        ("loom_weaving_part", "loom_thread"),
        ("loom_weaving_change", "loom_thread"),
        ("idempotency", "idempotency"),
    ],
)
def test_a_row_that_stays_takes_the_erasure_back(db: Connection, table: str, plane: str) -> None:
    fill(db, "u1")
    before = rows_of(db, "u1")
    _keep_rows_of(db, table)
    with refused(db, "LM502") as refusal:
        erase(db)
    assert refusal.detail == {"plane": plane}
    assert rows_of(db, "u1") == before
    assert audited(db, "erasure.request") == []
    epochs = db.execute("select epoch from loom.user_state where user_id = 'u1'").fetchall()
    assert epochs == [(0,)]
    # It is for those rows alone: a user without any in that plane is erased.
    other = {"org": "acme", "namespace": "n", "user_id": "u2"}
    if table.startswith("memory") or table == "build":
        operate(db, "working_memory.set", **other, content="text")
        assert erase(db, "u2")["working_memory"] == 1
    else:
        operate(db, "memory.set", **other, memory_key="k", value=1)
        assert erase(db, "u2")["memory"] == 1


def test_the_census_looks_into_the_namespaces_erased(db: Connection) -> None:
    fill(db, "u1", namespace="main")
    fill(db, "u1", namespace="other")
    db.execute(
        "create function loom.keep() returns trigger language plpgsql"
        " set search_path = loom, pg_temp as 'begin return null; end'"
    )
    db.execute(
        "create trigger keep before delete on loom.memory for each row"
        " when (old.namespace = 'other') execute function loom.keep()"
    )
    assert erase(db, namespaces=["main"])["memory"] == 6
    with refused(db, "LM502"):
        erase(db, namespaces=["other"])


def test_every_table_with_a_users_rows_is_a_plane(db: Connection) -> None:
    rows = db.execute(
        "select c.relname::text from pg_class c join pg_attribute a on a.attrelid = c.oid"
        " where c.relnamespace = 'loom'::regnamespace and c.relkind in ('r', 'p')"
        " and a.attname = 'user_id' and not a.attisdropped"
    ).fetchall()
    planes = db.execute("select table_name::text from loom.erasure_plane").fetchall()
    assert {table for (table,) in rows} - _APART == {table for (table,) in planes} - {"idempotency"}


def test_every_plane_has_an_index_that_leads_with_org_and_user(db: Connection) -> None:
    rows = db.execute(
        "select distinct table_name::text from loom.erasure_plane where table_name <> 'idempotency'"
    ).fetchall()
    for (table,) in [*rows, ("idempotency_user",)]:
        led = db.execute(
            "select array_agg(a.attname::text order by k.place) from pg_index as i"
            " cross join lateral unnest(i.indkey) with ordinality as k (attnum, place)"
            " join pg_attribute as a on a.attrelid = i.indrelid and a.attnum = k.attnum"
            " where i.indrelid = %s::regclass and k.place <= 2 group by i.indexrelid",
            (f"loom.{table}",),
        ).fetchall()
        assert (["org", "user_id"],) in led, table

"""The views for operators: who may read them, what they tell, and that they tell no text."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest
from psycopg import sql
from psycopg.types.json import Jsonb

from tests.calls import acting_as, call, mint_token, operate, refused
from tests.cluster import CLIENT_ROLES, SERVICES

Connection = psycopg.Connection[Any]

CANARY = "canary-7f"

_VIEWS = """
select relname::text from pg_class
where relnamespace = 'loom'::regnamespace and relkind in ('v', 'm') order by 1
"""


def _views(conn: Connection) -> list[str]:
    return [name for (name,) in conn.execute(_VIEWS.encode()).fetchall()]


def _rows(conn: Connection, view: str, **where: str) -> list[dict[str, Any]]:
    """Rows of a view as an operator's login sees them."""
    query = sql.SQL("select to_jsonb(v) from {} as v where true").format(
        sql.Identifier("loom", view)
    )
    for column, value in where.items():
        query += sql.SQL(" and {} = {}").format(sql.Identifier(column), sql.Literal(value))
    with acting_as(conn, "loom_test_operator"):
        return [row for (row,) in conn.execute(query).fetchall()]


def _fill(conn: Connection, org: str, user: str) -> dict[str, Any]:
    """Rows of a user in every plane, their texts with the canary; the locked row's receipt."""
    where = {"org": org, "namespace": "n", "user_id": user}
    own = {**where, "agent": CANARY, "session_id": CANARY}
    operate(conn, "working_memory.set", **own, run_id=CANARY, block_key=CANARY, content=CANARY)
    operate(conn, "memory.set", **own, memory_key=CANARY, value={CANARY: [CANARY]}, tags=[CANARY])
    operate(conn, "memory.set", **own, memory_key=CANARY, value="shorter")
    operate(conn, "memory.set", **own, memory_key="gone", value=CANARY)
    operate(conn, "memory.delete", **own, memory_key="gone")
    operate(conn, "profile.set", **own, label=f"{CANARY}s", value=CANARY)
    operate(conn, "profile.set", **where, label="structured_profile", value={})
    conn.execute(
        "select loom.execute('working_memory.append', %s, %s)",
        (Jsonb({**where, "addition": CANARY}), f"{CANARY} {user}"),
    )
    token = mint_token(conn, org=org, label=CANARY)
    reads = [{"user_id": user, "label": f"{CANARY}s", "reads": 2}]
    with acting_as(conn, "loom_gateway"):
        call(conn, token, "profile.activity_record", namespace="n", agent=CANARY, reads=reads)
    return operate(conn, "memory.lock", **own, memory_key=CANARY, reason=CANARY)


def test_operators_read_the_views_and_no_other_client_does(db: Connection) -> None:
    assert _views(db) == ["v_locks", "v_user_rows"]
    operators = {"loom_operator", "loom_test_operator"}
    for view in _views(db):
        for client in {*CLIENT_ROLES, *SERVICES}:
            query = sql.SQL("select * from {}").format(sql.Identifier("loom", view))
            with acting_as(db, client):
                if client in operators:
                    assert db.execute(query).fetchall() == []
                else:
                    with refused(db, "42501"):
                        db.execute(query)


def test_operators_only_read_the_views(db: Connection) -> None:
    for view in _views(db):
        row = db.execute(
            "select has_table_privilege('loom_operator', %s, 'insert, update, delete, truncate')",
            (f"loom.{view}",),
        ).fetchone()
        assert row == (False,), view


def test_no_view_shows_a_text_of_a_caller(db: Connection) -> None:
    _fill(db, "acme", "u-1")
    for view in _views(db):
        shown = _rows(db, view)
        assert shown, view
        assert CANARY not in str(shown), view


def test_operators_see_every_org_without_entering_one(db: Connection) -> None:
    for org in ("acme", "zenith"):
        _fill(db, org, "u-1")
    db.execute("select set_config('loom.org', '', true)")
    for view in _views(db):
        assert {row["org"] for row in _rows(db, view)} == {"acme", "zenith"}, view


def test_the_locks_in_force_are_shown_by_id(db: Connection) -> None:
    where = {"org": "acme", "namespace": "n"}
    receipts = {
        key: operate(db, "memory.set", **where, memory_key=key, value=key)
        for key in ("open", "held", "timed", "over", "off")
    }
    locks: dict[str, dict[str, Any]] = {
        "held": {},
        "timed": {"mode": "no_delete", "until": "2999-01-01T00:00:00Z"},
        "over": {"until": "2999-01-01T00:00:00Z"},
        "off": {},
    }
    for key, lock in locks.items():
        operate(db, "memory.lock", **where, memory_key=key, reason="why", **lock)
    operate(db, "memory.unlock", **where, memory_key="off")
    # A lock cannot be made to end in the past.
    db.execute("update loom.memory set lock_until = now() where memory_key = 'over'")
    shown = {row["memory_id"]: row for row in _rows(db, "v_locks")}
    assert set(shown) == {receipts["held"]["memory_id"], receipts["timed"]["memory_id"]}
    held = shown[receipts["held"]["memory_id"]]
    assert (held["mode"], held["until"], held["memory_type"]) == ("read_only", None, "semantic")
    assert (held["org"], held["namespace"]) == ("acme", "n")
    assert held["locked_at"] is not None
    assert held["locked_by"]
    timed = shown[receipts["timed"]["memory_id"]]
    assert timed["mode"] == "no_delete"
    assert timed["until"].startswith("2999-01-01T00:00:00")


def test_a_users_rows_are_counted_by_plane(db: Connection) -> None:
    _fill(db, "acme", "u-1")
    _fill(db, "acme", "u-2")
    found = {row["plane"]: row for row in _rows(db, "v_user_rows", org="acme", user_id="u-1")}
    counts = {plane: (row["total"], row["live"]) for plane, row in found.items()}
    assert counts == {
        "working_memory": (2, 2),
        "memory": (2, 1),
        # set, set, lock; set, delete; two sections. Lock and deletion hold no value.
        "memory_version": (7, 5),
        "profile": (1, 1),
        "structured_profile": (1, 1),
        "activity": (1, 1),
        "idempotency": (1, 1),
    }
    assert found["memory"]["characters"] == len('"shorter"')
    assert found["memory"]["oldest_at"] <= found["memory"]["newest_at"]
    assert found["idempotency"]["namespace"] is None
    assert {row["namespace"] for row in found.values()} == {"n", None}


def test_the_numbers_are_those_of_an_erasure(db: Connection) -> None:
    """Also holds the view to the list of planes: a new plane needs a part in it."""
    _fill(db, "acme", "u-1")
    planes = db.execute("select distinct plane from loom.erasure_plane").fetchall()
    found = {row["plane"]: row for row in _rows(db, "v_user_rows", org="acme", user_id="u-1")}
    assert set(found) == {plane for (plane,) in planes}
    removed = operate(db, "erasure.request", org="acme", user_id="u-1")["removed"]
    assert {plane: row["total"] for plane, row in found.items()} == {
        plane: count for plane, count in removed.items() if count
    }
    assert _rows(db, "v_user_rows", org="acme", user_id="u-1") == []


@pytest.mark.parametrize(
    ("query", "index"),
    [
        ("select * from loom.v_locks", "memory_lock_idx"),
        ("select * from loom.v_locks where org = 'acme'", "memory_lock_idx"),
    ],
)
def test_locks_are_found_without_reading_every_row(db: Connection, query: str, index: str) -> None:
    db.execute("set local enable_seqscan = off")
    db.execute("set local enable_bitmapscan = off")
    plan = "\n".join(line for (line,) in db.execute(f"explain {query}".encode()).fetchall())
    assert index in plan

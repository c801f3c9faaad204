"""Migration 0006 on a database that holds facts already: each counts as if it were written now."""

from __future__ import annotations

from datetime import datetime, timedelta

from loom.sql_tree import SqlTree
from tests.calls import Connection
from tests.databases import Database
from tests.sql.facts import fact
from tests.sql.structured_profile.source_rules import check, states

_FORGET = (
    "alter table loom.memory disable trigger user",
    "update loom.memory set source_part = null, changes_at = null",
    "update loom.user_state set source_digest = default, source_count = default,"
    " sources_changed_at = null, next_change_at = null",
    "delete from loom.build",
)


def backfill() -> str:
    """The part of the migration that counts what was there before."""
    (text,) = (each.text for each in SqlTree.read().migrations if each.name.startswith("0006"))
    start = text.index("-- Rows from before")
    return text[start : text.index("alter table loom.profile_schema enable", start)]


def now(conn: Connection) -> datetime:
    row = conn.execute("select clock_timestamp()").fetchone()
    assert row is not None
    return row[0]  # type: ignore[no-any-return]


def test_facts_from_before_count_and_their_users_have_builds(database: Database) -> None:
    conn = database.connect()
    later = (now(conn) + timedelta(days=1)).isoformat()
    for user in ("u1", "u2", "-"):
        place = {"user_id": user}
        fact(conn, "set", **place, memory_key="a", value="same")
        fact(conn, "set", **place, memory_key="b", value="same", confidence=0.5)
        fact(conn, "set", **place, memory_key="until", value=1, valid_to=later, ttl_seconds=9000)
        fact(conn, "set", **place, memory_key="high", value=2, sensitivity="high", expires_at=later)
        fact(conn, "set", **place, memory_key="waits", value=2)
        fact(conn, "set", **place, memory_key="other", value=3, tags=["about:other"])
        fact(conn, "set", **place, memory_key="tagged", value=4, tags=["plain"])
        fact(conn, "set", **place, memory_key="story", value=5, memory_type="episodic")
        fact(conn, "set", **place, memory_key="gone", value=6)
        fact(conn, "delete", **place, memory_key="gone")
    fact(conn, "set", user_id="u3", memory_key="story", value=5, memory_type="episodic")
    before = states(conn)
    builds = conn.execute("select user_id, row_state from loom.build order by 1").fetchall()
    for statement in _FORGET:
        conn.execute(statement.encode())
    conn.execute(backfill().encode())
    check(conn, now(conn))
    assert {owner: (state.digest, state.count) for owner, state in before.items()} == {
        owner: (state.digest, state.count) for owner, state in states(conn).items()
    }
    found = conn.execute("select user_id, row_state from loom.build order by 1").fetchall()
    assert found == builds == [("u1", None), ("u2", None)]

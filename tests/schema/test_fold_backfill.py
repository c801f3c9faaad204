"""Migration 0008 on a database that holds facts already: each counts as if it were written now."""

from __future__ import annotations

from datetime import timedelta

from loom.sql_tree import SqlTree
from tests.databases import Database
from tests.schema.test_backfill import now
from tests.sql.facts import fact, section
from tests.sql.structured_profile.building import FOLD, settings, take
from tests.sql.structured_profile.source_rules import check, states

_FORGET = (
    "update loom.user_state set fold_digest = default, fold_count = default",
    "delete from loom.build where kind = 'profile_consolidation'",
)
_BUILDS = "select user_id::text, row_state::text from loom.build where kind = %s order by 1"


def backfill() -> str:
    """The part of the migration that counts what was there before."""
    (text,) = (each.text for each in SqlTree.read().migrations if each.name.startswith("0008"))
    start = text.index("-- Rows from before")
    return text[start : text.index("-- For operators", start)]


def test_preferences_from_before_count_and_their_users_have_builds(database: Database) -> None:
    conn = database.connect()
    later = (now(conn) + timedelta(days=1)).isoformat()
    for user in ("u1", "u2", "-"):
        place = {"user_id": user, "memory_type": "preference"}
        fact(conn, "set", **place, memory_key="a", value="same")
        fact(conn, "set", **place, memory_key="b", value="same", confidence=0.5)
        fact(conn, "set", **{**place, "memory_type": "decision"}, memory_key="c", value="same")
        fact(conn, "set", **{**place, "memory_type": "semantic"}, memory_key="d", value="other")
        fact(conn, "set", **place, memory_key="until", value=1, valid_to=later, ttl_seconds=9000)
        fact(conn, "set", **place, memory_key="tagged", value=3, tags=["about:other"])
    fact(conn, "set", user_id="u3", memory_key="home", value="Ulm")
    high = {"memory_type": "preference", "sensitivity": "high", "expires_at": later}
    fact(conn, "set", user_id="u4", memory_key="a", value="held back", **high)
    fact(conn, "set", user_id="u4", memory_key="b", value="held back", memory_type="preference")
    section(conn, "set", user_id="u5", agent="-", label="consolidated_profile", value="mine")
    before = states(conn)
    builds = conn.execute(_BUILDS, (FOLD,)).fetchall()
    for statement in _FORGET:
        conn.execute(statement.encode())
    conn.execute(backfill().encode())
    check(conn, now(conn))
    assert states(conn) == before
    assert {state.fold_count for state in before.values()} == {0, 3}
    found = conn.execute(_BUILDS, (FOLD,)).fetchall()
    assert found == builds == [("u1", None), ("u2", None), ("u4", None), ("u5", "void")]
    settings(conn, FOLD, enabled=True)
    assert sorted(take(conn, kind=FOLD)) == ["u1", "u2", "u5"]

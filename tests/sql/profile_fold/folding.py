"""Users whose preferences and decisions are folded, as a worker does it step by step."""

from __future__ import annotations

from typing import Any

from tests.calls import Answer, Connection
from tests.sql.facts import fact, history
from tests.sql.structured_profile import building
from tests.sql.structured_profile.building import FOLD, Lease

U1 = {"user_id": "u1"}
LABEL = "consolidated_profile"
ROW = {**U1, "memory_key": LABEL, "agent": "-"}


def switch(conn: Connection, enabled: bool = True, **more: Any) -> None:
    """Switches the fold on or off, as the applier does."""
    building.settings(conn, FOLD, enabled=enabled, **more)


def prefers(conn: Connection, value: Any = "tea", **fields: Any) -> str:
    """Writes a preference; its id."""
    told = fact(conn, "set", **{**U1, "value": value, "memory_type": "preference", **fields})
    return told["memory_id"]  # type: ignore[no-any-return]


def take(conn: Connection, limit: int = 1000, **place: Any) -> list[str]:
    """Opens or continues a pass of folds, claims, and says whom."""
    return building.take(conn, limit, kind=FOLD, **place)


def lease(conn: Connection, user: str = "u1", **place: Any) -> Lease:
    """Claims the one user whose fold is due."""
    return building.lease(conn, user, kind=FOLD, **place)


def fold(conn: Connection, text: Any = "Likes tea.", user: str = "u1", **place: Any) -> Answer:
    """Folds the one user that is due; what the completion answered."""
    return building.finish(conn, lease(conn, user, **place), text)


def row(conn: Connection, user: str = "u1") -> Answer:
    """The section, as `memory.get` reads it."""
    return fact(conn, "get", **{**ROW, "user_id": user})


def texts(conn: Connection) -> list[Any]:
    """What each version of user u1's section says, oldest first."""
    return [version["value"] for version in history(conn, **ROW)]


def build_row(conn: Connection, user: str = "u1", **place: Any) -> Answer:
    """What is kept of a user's fold; empty where there is nothing."""
    return building.build_row(conn, user, kind=FOLD, **place)


def is_current(conn: Connection, user: str = "u1") -> bool:
    """Whether the section says what the facts of now were folded into."""
    build = build_row(conn, user)
    state = conn.execute(
        "select fold_digest::text, fold_count from loom.user_state where user_id = %s", (user,)
    ).fetchone()
    assert state is not None
    built = (build["row_state"], build["built_digest"], build["built_count"])
    return built == ("served", *state)

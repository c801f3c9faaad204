"""Searches in tests: asking, and what was found by its keys."""

from __future__ import annotations

from typing import Any

from tests.calls import Answer, Connection, operate
from tests.sql.doors import IDENTITY
from tests.sql.facts import fact

USER = {"user_id": "u1"}


def ask(conn: Connection, query: str, /, **request: Any) -> Answer:
    """Runs `memory.search` directly, for user u1 where the test does not say otherwise."""
    return operate(conn, "memory.search", **{**IDENTITY, **USER, "query": query, **request})


def found(conn: Connection, query: str, /, **request: Any) -> list[str]:
    """The keys that a search finds, best first."""
    return [item["memory_key"] for item in ask(conn, query, **request)["items"]]


def query(conn: Connection, said: str, /, **request: Any) -> Answer:
    """Runs `search.query` directly, for user u1 where the test does not say otherwise."""
    return operate(conn, "search.query", **{**IDENTITY, **USER, "query": said, **request})


def facts(conn: Connection, values: dict[str, Any], /, **request: Any) -> None:
    """Facts of user u1 by their keys."""
    for key, value in values.items():
        fact(conn, "set", **{**USER, "memory_key": key, "value": value, **request})


def language(conn: Connection, name: str) -> None:
    """Gives the namespace a text search configuration."""
    operate(conn, "namespace.update", org="acme", namespace="main", text_search_language=name)


def texts(conn: Connection) -> dict[str, str]:
    """Which configuration made what each row is found by, by its key."""
    rows = conn.execute(
        "select memory_key, language from loom.memory_text join loom.memory using (org, memory_id)"
    ).fetchall()
    return dict(rows)

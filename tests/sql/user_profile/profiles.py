"""User profiles in tests: calling their operations."""

from __future__ import annotations

from typing import Any

from tests.calls import Answer, Connection, operate

PLACE: Answer = {"org": "acme", "namespace": "main", "user_id": "u1"}
"""Whose profile `up` means, where a test does not say otherwise."""


def up(conn: Connection, verb: str, /, **request: Any) -> Answer:
    """Runs `user_profile.<verb>` directly, as the login of the connection."""
    return operate(conn, f"user_profile.{verb}", **{**PLACE, **request})


def tell(conn: Connection, *texts: str, **request: Any) -> Answer:
    """Updates by messages of the user's."""
    return up(conn, "update", signals=[{"text": text} for text in texts], **request)


def add(conn: Connection, key: str, value: str, **request: Any) -> Answer:
    """Applies a delta that adds one fact."""
    ops = [{"op": "add", "key": key, "value": value}]
    return up(conn, "apply", delta={"fact_ops": ops}, **request)


def facts(answer: Answer) -> dict[str, str]:
    """The facts of an answer's profile, in their order."""
    return {fact["key"]: fact["value"] for fact in answer["profile"]["facts"]}


def count(conn: Connection, table: str) -> int:
    """How many rows a table has."""
    row = conn.execute(f"select count(*) from loom.{table}".encode()).fetchone()  # noqa: S608
    assert row is not None
    return int(row[0])

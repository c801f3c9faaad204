"""Looms in tests: short ways to make one and to look at it."""

from __future__ import annotations

from typing import Any

from tests.calls import Answer, Connection, operate

PLACE: Answer = {"org": "acme", "namespace": "main"}
INTERACTION = "00000000-0000-4000-8000-000000000001"
RUN = "00000000-0000-4000-8000-000000000002"
NOBODY = "00000000-0000-4000-8000-0000000000ff"
"""A uuid that is nothing's."""


def looms(conn: Connection, verb: str, /, **request: Any) -> Answer:
    """Runs `looms.<verb>` in acme/main, as the login of the connection."""
    return operate(conn, f"looms.{verb}", **{**PLACE, **request})


def make(conn: Connection, name: str = "plans", /, **request: Any) -> str:
    """A new loom's id."""
    loom_id: str = looms(conn, "create", name=name, **request)["entity"]["id"]
    return loom_id


def add(conn: Connection, loom: str, text: str, /, **request: Any) -> Answer:
    """A new thread."""
    thread: Answer = looms(conn, "thread_add", loomId=loom, text=text, **request)["entity"]
    return thread


def bind(conn: Connection, /, **request: Any) -> list[Answer]:
    """The bindings of a run."""
    bindings: list[Answer] = looms(conn, "bind", **request)["bindings"]
    return bindings


def texts(conn: Connection, loom: str, /, **request: Any) -> list[str]:
    """The texts of a loom's live threads, everyone's, oldest first."""
    request = {"readScope": "namespace", "pageSize": 200, **request}
    page = looms(conn, "thread_list", loomId=loom, **request)
    return [thread["text"] for thread in reversed(page["items"])]

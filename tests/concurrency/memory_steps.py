"""Steps of the memory plane, for one user unless they say otherwise, and what is left behind."""

from __future__ import annotations

from typing import Any

from tests.calls import Answer, Connection, operate
from tests.concurrency.callers import Step, step

KEY = "k"
PLACE: Answer = {"org": "acme", "namespace": "dev"}
USER: Answer = {"user_id": "u1"}


def fact(verb: str, /, **request: Any) -> Step:
    """`memory.<verb>` of user u1 on the key `k`."""
    return step(f"memory.{verb}", **{**USER, "memory_key": KEY, **request})


def section(verb: str, /, **request: Any) -> Step:
    """`profile.<verb>` of user u1 on the label `k`."""
    return step(f"profile.{verb}", **{**USER, "label": KEY, **request})


def read(conn: Connection, verb: str = "get", /, **request: Any) -> Answer:
    """Runs a read of `memory` for user u1 and the key `k`."""
    return operate(conn, f"memory.{verb}", **{**PLACE, **USER, "memory_key": KEY, **request})


def versions(conn: Connection, **request: Any) -> list[Answer]:
    """The history of a row, oldest first."""
    return list(reversed(read(conn, "history", limit=200, **request)["items"]))


def check_history(conn: Connection, **request: Any) -> list[Answer]:
    """The history of a row, which has no gap, rises strictly in time and ends with the row."""
    found = versions(conn, **request)
    assert [version["version"] for version in found] == list(range(1, len(found) + 1))
    times = [version["recorded_at"] for version in found]
    assert times == sorted(set(times))
    row = read(conn, **request)
    if row["found"]:
        assert row["version"] == len(found)
        assert row["value"] == found[-1]["value"]
    return found

"""Races with two real connections: the rival runs in a thread, and one waits until it waits."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Generic, TypeVar

import psycopg

Connection = psycopg.Connection[Any]
Result = TypeVar("Result")

_POLL_SECONDS = 0.005


class Rival(Generic[Result]):
    """Something that runs on a connection of its own and is expected to block.

    Start it, `wait_until_blocked`, let go of what blocks it, then ask for its `result`.
    """

    def __init__(self, conn: Connection, work: Callable[[], Result]) -> None:
        self.pid = conn.info.backend_pid
        executor = ThreadPoolExecutor(1, thread_name_prefix="rival")
        self._future = executor.submit(work)
        executor.shutdown(wait=False)

    @property
    def done(self) -> bool:
        return self._future.done()

    def result(self, seconds: float = 10.0) -> Result:
        """What the work returned; raises what it raised, or TimeoutError."""
        return self._future.result(seconds)


def wait_until(holds: Callable[[], bool], what: str, *, seconds: float = 10.0) -> None:
    """Returns once something can be observed; else an AssertionError that names it."""
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline, f"not within {seconds:g} seconds: {what}"
        time.sleep(_POLL_SECONDS)


def wait_until_blocked(
    observer: Connection, rival: Rival[Any] | int, *, by: int | None = None, seconds: float = 10.0
) -> None:
    """Returns once the server says that a session waits for a lock (of the session `by`).

    `rival` is a Rival or a backend's pid. Raises AssertionError when it finished instead of
    blocking, or did not block in time.
    """
    pid = rival if isinstance(rival, int) else rival.pid

    def blocked() -> bool:
        row = observer.execute("select pg_blocking_pids(%s)", (pid,)).fetchone()
        blockers: list[int] = row[0] if row else []
        if blockers and (by is None or by in blockers):
            return True
        if isinstance(rival, Rival) and rival.done:
            raise AssertionError(f"session {pid} finished instead of waiting: {rival.result()!r}")
        return False

    wait_until(blocked, f"session {pid} waits for a lock", seconds=seconds)

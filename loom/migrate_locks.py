"""A step of a migration on a database that is in use: it waits for writers, and they for it."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from typing import Any, Final

import psycopg
from psycopg import errors

Connection = psycopg.Connection[Any]

LOCK_TIMEOUT: Final = "500ms"
"""How long a step queues for a table. Whoever comes meanwhile queues behind it, so it does not wait
there while a long transaction ends. Less than the server's deadlock_timeout: where a step and a
writer wait for each other it is the step that gives way, before the server ends either."""

_LONGEST_PAUSE_SECONDS: Final = 1.0
_LOG_WAIT_SECONDS: Final = 5.0


def among_writers(
    conn: Connection, step: Callable[[], None], wait_seconds: float, log: Callable[[str], None]
) -> None:
    """Run `step` in a transaction, and once more as often as a lock is not to be had at once.

    Between two tries, in which writers go on, it pauses. Raises what `step` raises, and the last
    refusal of a lock once `wait_seconds` are over.
    """
    started = time.monotonic()
    next_line = started + _LOG_WAIT_SECONDS
    while True:
        try:
            with conn.transaction():
                conn.execute(f"set local lock_timeout = '{LOCK_TIMEOUT}'".encode())
                step()
            return
        except (errors.LockNotAvailable, errors.DeadlockDetected):
            now = time.monotonic()
            if now - started >= wait_seconds:
                raise
            if now >= next_line:
                log("waiting for transactions that hold what is to be changed")
                next_line = now + _LOG_WAIT_SECONDS
        time.sleep(random.uniform(0, _LONGEST_PAUSE_SECONDS))

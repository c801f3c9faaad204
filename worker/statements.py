"""One statement of a worker's: what it answers, also when it meets another's locks at first."""

from __future__ import annotations

from typing import Any, Final

import psycopg

from loom.worker.handlers import Connection

TRIES: Final = 3
"""Of a statement that met another's locks, or whose connection was lost: what a model was paid for
is not given up for that."""

MET_LOCKS: Final = (
    psycopg.errors.DeadlockDetected,
    psycopg.errors.LockNotAvailable,
    psycopg.errors.SerializationFailure,
)


async def value_of(connection: Connection, statement: bytes, *parameters: object) -> Any:
    """The first value of the first row, None without one; at most ``TRIES`` times."""
    for tries_left in reversed(range(TRIES)):
        try:
            row = await (await connection.execute(statement, parameters)).fetchone()
        except MET_LOCKS:
            if not tries_left:
                raise
        else:
            return row[0] if row else None
    raise AssertionError("the last try returns or raises")

"""Changing a value that others may be changing too: read it, change it, write it by its hash.

Appends and replacements inside a section need none of this: they run in the database. This is for
a change that only the program can make. A write that finds another value than the one that was
read is refused, and the change is made again from the new one.
"""

from __future__ import annotations

import random
from collections.abc import Awaitable, Callable
from typing import Any, Final

from loom.client import Answer, Client
from loom.errors import AlreadyExists, StaleWrite

TRIES: Final = 10
"""How often a change is made anew before its last refusal is raised."""

FIRST_PAUSE: Final = 0.01
LONGEST_PAUSE: Final = 0.5

Read = Callable[[], Awaitable[Answer]]
Write = Callable[..., Awaitable[Answer]]


async def edit(client: Client, read: Read, write: Write, change: Callable[[Any], Any]) -> Answer:
    """Write ``change`` of what is read; answers the receipt of the write that succeeded.

    ``change`` is given the current value, or None where there is none, and may be called several
    times. ``write`` takes the new value with either ``if_match_sha256`` or ``if_absent``.
    """
    absent = False
    tries = 0
    while True:
        tries += 1
        found = {} if absent else await read()
        try:
            if found.get("found"):
                sha256 = found["content_sha256"]
                return await write(change(found["value"]), if_match_sha256=sha256)
            return await write(change(None), if_absent=True)
        except (StaleWrite, AlreadyExists) as late:
            if tries == TRIES:
                raise
            # Nothing is current at the place of the write: what was read stands elsewhere in reach
            # (of user -, say), or is gone since. Then the next try makes the row.
            absent = isinstance(late, StaleWrite) and late.current_sha256 is None
        await client.pause(random.uniform(0, min(LONGEST_PAUSE, FIRST_PAUSE * 2.0**tries)))

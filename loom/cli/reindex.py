"""`loom reindex`, and what does the same every minute while `loom up` runs."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final

import psycopg

from loom import word_index
from loom.index_builds import IndexBusyError
from loom.installation import Installation

Say = Callable[[str], None]

LOOK_SECONDS: Final = 60.0
LONGEST_WAIT: Final = 3600.0
"""Between two looks, when one after the other fails: a build that is lost costs as much."""

STOP_SECONDS: Final = 5.0
"""How long a build is asked to end by whoever stops, who then leaves it to the server."""

_AS_LAUNCHER: Final[dict[str, Any]] = {"application_name": "loom up", "connect_timeout": 10}


def reindex(installation: Installation, *, always: bool = False) -> int:
    """Build the index of words anew where that is worth it, or in any case, and say so."""
    with psycopg.connect(installation.migration_dsn, autocommit=True) as conn:
        before = word_index.sizes(conn)
        if before is None:
            print("there is no schema yet; `loom migrate` makes it")
            return 1
        if word_index.renew(conn, always=always):
            print(f"index of words: {before}; built anew: {word_index.sizes(conn)}")
        else:
            print(f"index of words: {before}; nothing to do")
    return 0


class Reindexer:
    """Looks at the index of words as the migration login ``dsn``, and builds it anew when due."""

    def __init__(self, dsn: str, say: Say) -> None:
        self._dsn = dsn
        self._say = say

    async def keep(self) -> None:
        """Look every minute until cancelled, and less often while that fails."""
        wait = LOOK_SECONDS
        while True:
            await asyncio.sleep(wait)
            look = _Look(self._dsn)
            try:
                failure = await look.result()
            except asyncio.CancelledError:
                await look.cut_off()
                raise
            if failure is None:
                wait = LOOK_SECONDS
            else:
                wait = min(2 * wait, LONGEST_WAIT)
                self._say(f"index of words: {failure}; looked at again in {wait:g} seconds")


class _Look:
    """One look, in a thread of its own that nobody waits for at the end: a server that hangs must
    not keep the launcher from stopping."""

    def __init__(self, dsn: str) -> None:
        self._dsn = dsn
        self._conn: psycopg.Connection[Any] | None = None
        self._loop = asyncio.get_running_loop()
        self._failure: asyncio.Future[str | None] = self._loop.create_future()
        threading.Thread(target=self._run, name="index of words", daemon=True).start()

    async def result(self) -> str | None:
        """Why it failed, None when it did not."""
        return await asyncio.shield(self._failure)

    async def cut_off(self) -> None:
        """Cancel statement after statement, whichever it is at."""
        deadline = self._loop.time() + STOP_SECONDS
        asking: threading.Thread | None = None
        while not self._failure.done() and self._loop.time() < deadline:
            if self._conn is not None and not (asking and asking.is_alive()):
                asking = threading.Thread(target=self._cancel, args=(self._conn,), daemon=True)
                asking.start()
            await asyncio.wait({self._failure}, timeout=0.1)

    def _run(self) -> None:
        failure = None
        try:
            with psycopg.connect(self._dsn, autocommit=True, **_AS_LAUNCHER) as conn:
                self._conn = conn
                word_index.renew(conn)
        except IndexBusyError:
            pass  # another session's build is as good
        except psycopg.Error as failed:
            # Whatever it is, Loom runs without a new index.
            failure = " ".join(filter(None, (type(failed).__name__, failed.sqlstate)))
        with suppress(RuntimeError):  # the loop has ended: nobody asks any more
            self._loop.call_soon_threadsafe(self._tell, failure)

    def _tell(self, failure: str | None) -> None:
        if not self._failure.done():
            self._failure.set_result(failure)

    def _cancel(self, conn: psycopg.Connection[Any]) -> None:
        with suppress(psycopg.Error):
            conn.cancel_safe(timeout=STOP_SECONDS)

"""`loom reindex`, and what does the same every minute while `loom up` runs."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final

import psycopg

from loom import word_index
from loom.index_builds import IndexBusyError
from loom.installation import Installation

Say = Callable[[str], None]

LOOK_SECONDS: Final = 60.0
CANCEL_SECONDS: Final = 1.0

_AS_LAUNCHER: Final[dict[str, Any]] = {"application_name": "loom up", "connect_timeout": 10}


def reindex(installation: Installation, *, always: bool = False) -> int:
    """Build the index of words anew where that is worth it, or in any case, and say so."""
    with psycopg.connect(installation.migration_dsn, autocommit=True) as conn:
        before = word_index.sizes(conn)
        if before is None:
            print("there is no schema yet; `loom migrate` makes it")
            return 1
        built = word_index.renew(conn, always=always)
        if built is not None:
            print(f"index of words: {before}; built anew: {built}")
        else:
            print(f"index of words: {before}; nothing to do")
    return 0


class Reindexer:
    """Looks at the index of words as the migration login ``dsn``, and builds it anew when due."""

    def __init__(self, dsn: str, say: Say) -> None:
        self._dsn = dsn
        self._say = say
        self._conn: psycopg.Connection[Any] | None = None
        self._fresh_share = 0.0
        self._stopping = False

    async def keep(self) -> None:
        """Look every minute until cancelled; what fails is tried again at the next look."""
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            looking = asyncio.create_task(asyncio.to_thread(self._look))
            try:
                await asyncio.shield(looking)
            except asyncio.CancelledError:
                await self._cut_off(looking)
                raise

    def _look(self) -> None:
        try:
            with psycopg.connect(self._dsn, autocommit=True, **_AS_LAUNCHER) as conn:
                self._conn = conn
                built = word_index.renew(conn, fresh_share=self._fresh_share)
            if built is not None:
                self._fresh_share = built.share
        except IndexBusyError:
            return  # another launcher's build is as good
        except psycopg.OperationalError as failed:
            if not self._stopping:
                self._say(f"index of words: {type(failed).__name__}; looked at again in a minute")

    async def _cut_off(self, looking: asyncio.Task[None]) -> None:
        """Cancel statement after statement of the look, whichever it is at."""
        self._stopping = True
        while not looking.done():
            if self._conn is not None:
                with suppress(psycopg.Error):
                    await asyncio.to_thread(self._conn.cancel_safe, timeout=CANCEL_SECONDS)
            await asyncio.wait({looking}, timeout=0.1)

"""A connection to Loom's database over which operations are called, one statement each."""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from loom.profile.model import ProfileError

if TYPE_CHECKING:
    import psycopg

    from loom.installation import Installation

_STATEMENT: Final = b"select loom.execute(%s, %s, null)"

# What was asked for and cannot be had, as opposed to what went wrong. A text with U+0000
# is 22P05, one with half of a surrogate pair 22P02.
_REFUSED: Final = ("LM0", "LM4", "22P05", "22P02")

Answer = Mapping[str, Any]


class ProfileDatabase:
    """The database ``dsn``: a connection string, or the data folder of an embedded server; None for
    that of the installation (LOOM_DATABASE_URL, LOOM_DATA_DIR). An embedded server is started where
    it does not run, and brought up to date. Threads may share it."""

    def __init__(self, dsn: str | None) -> None:
        self._lock = threading.RLock()
        self._connection: psycopg.Connection[Any] | None = None
        self._installation: Installation | None = None
        self._dsn = dsn if dsn is not None and _is_connection_string(dsn) else self._open(dsn)

    def close(self) -> None:
        """End the connection, and give the share in the embedded server back."""
        with self._lock:
            if self._connection is not None:
                self._connection.close()
                self._connection = None
            if self._installation is not None:
                self._installation.close()
                self._installation = None

    def call(self, op: str, request: Mapping[str, Any]) -> Answer:
        """Run an operation in one round trip.

        Raises ``ProfileError`` for a request that cannot be carried out, and what psycopg raises.
        """
        import psycopg

        with self._lock:
            connection = self._connected()
            try:
                row = connection.execute(_STATEMENT, (op, json.dumps(request))).fetchone()
            except psycopg.Error as error:
                if connection.broken:  # the next call opens another
                    connection.close()
                if (error.sqlstate or "").startswith(_REFUSED):
                    raise ProfileError(_told(error)) from error
                raise
        assert row is not None
        answer: Answer = row[0]
        return answer

    def _connected(self) -> psycopg.Connection[Any]:
        import psycopg

        if self._connection is None or self._connection.closed:
            self._connection = psycopg.connect(
                self._dsn, autocommit=True, prepare_threshold=0, application_name="loom profile"
            )
        return self._connection

    def _open(self, folder: str | None) -> str:
        from loom.installation import Installation
        from loom.settings import Settings

        settings = Settings.from_environment()
        if folder is not None:
            settings = replace(settings, database_url=None, data_dir=Path(folder))
        installation = Installation(settings, lambda _line: None)
        installation.open()
        self._installation = installation
        if installation.is_embedded:  # a server of the user's is migrated on request only
            installation.migrate(in_passing=True)
        return installation.migration_dsn


def _is_connection_string(dsn: str) -> bool:
    return "=" in dsn or "://" in dsn


def _told(refusal: psycopg.Error) -> str:
    diag = refusal.diag
    return " ".join(part for part in (diag.message_primary, diag.message_detail) if part)

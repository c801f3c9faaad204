"""The database of an installation, as a process of it uses it: the embedded server or the user's.

On the embedded server a process holds a share for as long as it runs, brings the schema up to date
and starts the server again when it dies. A server of the user's is only ever migrated on request.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Self

from loom.database import GATEWAY, WORKER, Logins, resolve
from loom.embedded import EmbeddedError, EmbeddedServer, Server
from loom.heeded import Heeded
from loom.migrate import Report, migrate
from loom.settings import Settings, SettingsError

LOOK_SECONDS = 0.5
LONGEST_BACKOFF = 10.0


class Installation:
    """The database that ``settings`` name, open from ``open`` (or ``with``) to ``close``.

    ``say`` gets what a person should know. ``logins`` and ``bin_dir`` are there once it is open.
    ``alone``: no embedded server is wanted, because the caller's own login is named.
    """

    logins: Logins
    _server: Server

    def __init__(
        self, settings: Settings, say: Callable[[str], None], *, alone: bool = False
    ) -> None:
        self.is_embedded = settings.database_url is None and not alone
        self._settings = settings
        self._say = say
        self._lock = threading.Lock()
        self._closed = threading.Event()
        self._embedded: EmbeddedServer | None = None
        self.bin_dir: Path | None = None

    def __enter__(self) -> Self:
        self.open()
        return self

    def __exit__(self, *failure: object) -> None:
        self.close()

    @property
    def migration_dsn(self) -> str:
        """The migration login. Raises ``SettingsError`` where only other logins are named."""
        if self.logins.migration is None:
            raise SettingsError("LOOM_DATABASE_URL", "is not set; this needs the migration login")
        return self.logins.migration

    def open(self) -> None:
        """Take a share in the embedded server, or read the user's logins.

        Raises ``EmbeddedError`` or ``SettingsError``.
        """
        if not self.is_embedded:
            self.logins = resolve(self._settings, None)
            return
        self._embedded = EmbeddedServer(
            self._settings.data_dir, logins=(GATEWAY, WORKER), say=self._say
        )
        self._server = self._embedded.acquire()
        self.bin_dir = self._server.bin_dir
        self.logins = resolve(self._settings, self._server)
        threading.Thread(target=self._keep_alive, name="embedded server", daemon=True).start()

    def close(self) -> None:
        """Give the share back; the last process to do so stops the server."""
        self._closed.set()
        if self._embedded is not None:
            with self._lock:
                self._embedded.release()

    def migrate(self, *, in_passing: bool = False) -> Report:
        """Bring the schema up to date. Raises what ``loom.migrate.migrate`` raises.

        ``in_passing``: for a command about something else, which leaves out the roles.
        """

        def log(line: str) -> None:
            if not (in_passing and line.startswith("role ")):
                self._say(line)

        return migrate(
            self.migration_dsn,
            passwords=self.logins.passwords,
            heeded=Heeded.of(self._settings),
            log=log,
        )

    def _keep_alive(self) -> None:
        """Start the embedded server again when it dies, ever less often if it dies at once."""
        wait = LOOK_SECONDS
        while not self._closed.wait(wait):
            try:
                wait = min(wait * 2, LONGEST_BACKOFF) if self._revived() else LOOK_SECONDS
            except (EmbeddedError, OSError) as error:
                self._say(f"PostgreSQL died and does not start again: {error}")
                wait = min(wait * 2, LONGEST_BACKOFF)

    def _revived(self) -> bool:
        with self._lock:
            if self._closed.is_set() or self._embedded is None:
                return False
            died, self._server = self._server, self._embedded.ensure_running()
        if died == self._server:
            return False
        self._say("PostgreSQL had died and is running again")
        return True

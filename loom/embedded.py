"""The PostgreSQL server that comes with the install: shared by all processes of a data folder.

The first process to ask starts it, the last one to leave stops it, and one that is killed counts
as gone: what it held are locks that the system takes back. Inside a data folder:

- ``start.lock``: held while the server is looked for, started or stopped;
- ``users.lock``: held, shared, by each process that uses the server;
- ``postgres/``: the server's home (``data``, ``run`` with the socket, ``server.log``), owned by
  the account that runs it; root's home may be a link to a place that account can reach.
"""

from __future__ import annotations

import fcntl
import os
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType

import psycopg
from psycopg.conninfo import make_conninfo

from loom.embedded_account import place
from loom.embedded_cluster import PORT, Cluster, Running
from loom.embedded_process import is_server
from loom.postgres_binaries import EmbeddedError, find

__all__ = ["EmbeddedError", "EmbeddedServer", "Server", "drop_empty_time_zone"]

DATABASE = "loom"


@dataclass(frozen=True)
class Server:
    """A running server; ``version`` as PostgreSQL counts it (18.6: 180006)."""

    pid: int
    version: int
    data: Path
    socket_dir: Path
    bin_dir: Path

    def dsn(self, user: str = "postgres", dbname: str = DATABASE) -> str:
        """The connection string of a login, over the Unix socket; no password is needed."""
        # An empty hostaddr keeps a PGHOSTADDR of the environment from leading elsewhere.
        return make_conninfo(
            host=str(self.socket_dir), hostaddr="", port=PORT, user=user, dbname=dbname
        )

    def alive(self) -> bool:
        """Whether the server still runs (a look at its process, not a connection)."""
        return is_server(self.pid, self.data)


class EmbeddedServer:
    """This process's share in the server of a data folder.

    ``settings`` are PostgreSQL settings that replace the defaults when this process is the one
    that starts the server. ``logins`` are further database logins that may come in over the
    socket (only servers older than 16 need them named). ``say`` gets what a person should know.
    One object is for one thread at a time; several objects, in one process or many, share.
    """

    def __init__(
        self,
        data_dir: Path,
        *,
        settings: Mapping[str, str] | None = None,
        logins: Sequence[str] = (),
        say: Callable[[str], None] | None = None,
    ) -> None:
        # One name for one folder: the server's is compared with ours.
        self._data_dir = data_dir.resolve()
        self._settings = dict(settings or {})
        self._logins = tuple(logins)
        self._say = say or _to_stderr
        self._users: int | None = None
        self._cluster: Cluster | None = None
        self._server: Server | None = None

    def acquire(self) -> Server:
        """Take a share: find the server or start it, with the database ``loom`` in it.

        The first call on a machine takes a second or two. EmbeddedError when there is none to
        be had.
        """
        if self._users is not None:
            return self.ensure_running()
        drop_empty_time_zone()
        self._make_data_dir()
        try:
            with self._start_lock():
                self._users = _open(self._data_dir / "users.lock")
                fcntl.flock(self._users, fcntl.LOCK_SH)
                return self._find_or_start()
        except BaseException:
            self.release()
            raise

    def ensure_running(self) -> Server:
        """The server of the share that is held, started anew if it died."""
        if self._users is None:
            raise EmbeddedError("the share in the server was given back, or never taken")
        if self._server is not None and self._server.alive():
            return self._server
        with self._start_lock():
            return self._find_or_start()

    def release(self) -> None:
        """Give the share back, and stop the server if no other process has one."""
        if self._users is None:
            return
        users, self._users, self._server = self._users, None, None
        try:
            with self._start_lock():
                if _only_user(users):
                    self._stop()
        finally:
            os.close(users)
            self._cluster = None

    def __enter__(self) -> Server:
        return self.acquire()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.release()

    def _make_data_dir(self) -> None:
        try:
            self._data_dir.parent.mkdir(parents=True, exist_ok=True)
            if not self._data_dir.exists():
                _make_whole(self._data_dir)
        except OSError as error:
            raise EmbeddedError(
                f"the data folder {self._data_dir} cannot be made ({error.strerror}): "
                "name another in LOOM_DATA_DIR"
            ) from error

    @contextmanager
    def _start_lock(self) -> Iterator[None]:
        lock = _open(self._data_dir / "start.lock")
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield
        finally:
            # Closing alone would leave the lock to a child that was forked meanwhile.
            fcntl.flock(lock, fcntl.LOCK_UN)
            os.close(lock)

    def _find_or_start(self) -> Server:
        placement = place(self._data_dir, find())
        if placement.notice:
            self._say(placement.notice)
        cluster = Cluster(placement, self._settings, self._logins)
        cluster.create()
        self._cluster = cluster
        running = cluster.running()
        changed = cluster.configure()
        if running is None:
            running = cluster.start(self._say)
        elif changed:
            cluster.reload(running)
        self._server = _with_database(cluster, running)
        return self._server

    def _stop(self) -> None:
        running = self._cluster.running() if self._cluster else None
        if self._cluster and running:
            self._cluster.stop(running)


def drop_empty_time_zone() -> None:
    """Take an empty PGTZ out of this process's environment: with it every connection fails."""
    if os.environ.get("PGTZ") == "":
        del os.environ["PGTZ"]


def _make_whole(folder: Path) -> None:
    """Make the folder, so that nobody sees it before its rights are as they should be. Of several
    processes that do so at once, each goes on with the one that is there then."""
    fresh = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
    # Root's server runs as another account, which passes through this folder.
    fresh.chmod(0o711 if os.geteuid() == 0 else 0o700)
    try:
        fresh.rename(folder)  # over one that another process just made, if that is still empty
    except OSError:
        fresh.rmdir()
        if not folder.is_dir():
            raise


def _open(path: Path) -> int:
    try:
        return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise EmbeddedError(
            f"{path} cannot be opened ({error.strerror}): run as the user that the data folder "
            "belongs to, or name another in LOOM_DATA_DIR"
        ) from error


def _only_user(users: int) -> bool:
    """Give up the shared lock; whether nobody else holds one."""
    fcntl.flock(users, fcntl.LOCK_UN)
    try:
        fcntl.flock(users, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _with_database(cluster: Cluster, running: Running) -> Server:
    """The server, with the database made in it if it is missing."""
    found = Server(running.pid, 0, cluster.data, running.socket_dir, cluster.binaries.folder)
    try:
        with psycopg.connect(found.dsn(dbname="postgres"), autocommit=True) as connection:
            rows = connection.execute("select from pg_database where datname = %s", [DATABASE])
            if rows.fetchone() is None:
                connection.execute("create database loom")
            return replace(found, version=connection.info.server_version)
    except psycopg.Error as error:
        raise EmbeddedError(f"the server runs and refuses us: {error}") from error


def _to_stderr(text: str) -> None:
    sys.stderr.write(f"loom: {text}\n")

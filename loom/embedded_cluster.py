"""One database cluster of the embedded server: made, configured, started, found and stopped.

Nothing here locks: the caller holds the data folder's start lock.
"""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import socket
import stat
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from loom.embedded_account import Placement
from loom.embedded_process import POLL_SECONDS, exists, gone_within, is_server, servers_in
from loom.postgres_binaries import EmbeddedError

PORT = 5432

_SOCKET = f".s.PGSQL.{PORT}"
# The system's limit is 107 bytes on Linux and 103 on macOS.
_LONGEST_SOCKET_PATH = 103
_LARGEST_LOG_BYTES = 10_000_000
_START_SECONDS = 600.0
_STOP_SECONDS = 60.0
_ORPHAN_SECONDS = 5.0

_LOGINS = ("postgres", "loom_gateway", "loom_worker")
_SETTINGS = {
    "listen_addresses": "",
    "timezone": "UTC",
    "log_timezone": "UTC",
    # Refusals are errors to the server and daily bread to us: whoever asked is told, and the log
    # neither grows by them nor holds what a user wrote.
    "log_min_messages": "log",
    "log_min_error_statement": "panic",
    "log_checkpoints": "off",
    "log_line_prefix": "%m [%p] %q%u@%d ",
    # The statements are short: compiling them costs more than it gives.
    "jit": "off",
}


@dataclass(frozen=True)
class Running:
    """A server that takes connections: its process id and the folder of its socket."""

    pid: int
    socket_dir: Path


class Cluster:
    """The cluster in ``<home>/data``, its socket folder and its log, run by one account."""

    def __init__(
        self, placement: Placement, settings: Mapping[str, str], logins: Sequence[str]
    ) -> None:
        self.binaries = placement.binaries
        self.data = placement.home / "data"
        self._home = placement.home
        self._account = placement.account
        self._settings = _SETTINGS | dict(settings)
        self._logins = tuple(dict.fromkeys((*_LOGINS, *logins)))
        self._log = placement.home / "server.log"

    def create(self) -> None:
        """Make the cluster if there is none; EmbeddedError if it is another release's."""
        stored = self.data / "PG_VERSION"
        if stored.exists():
            self._check_release(stored.read_text().strip())
            return
        # Made beside its place and renamed, so that a cluster cut short is never taken for one.
        fresh = self._home / "data.new"
        failure = ""
        for locale in self._locales():
            shutil.rmtree(fresh, ignore_errors=True)
            fresh.mkdir(mode=0o700)
            self._account.own(fresh, 0o700)
            done = self._account.run(self._initdb(fresh, locale))
            if done.returncode == 0:
                fresh.rename(self.data)
                return
            failure = (done.stderr or done.stdout).strip()
        raise EmbeddedError(f"the database could not be made in {self._home}: {failure}")

    def configure(self) -> bool:
        """Write who may log in as whom; whether that differs from what was written before."""
        users = self._account.os_users
        # `all` as a name in this file came with PostgreSQL 16; before it each login is named, and
        # those that other processes asked for stay.
        if self.binaries.major >= 16:
            lines = [f'loom "{user}" all' for user in users]
        else:
            lines = [f'loom "{user}" "{name}"' for user in users for name in self._logins]
            kept = (self.data / "pg_ident.conf").read_text().splitlines()
            lines += [line for line in kept if line.startswith("loom ") and line not in lines]
        written = self._write("pg_ident.conf", "".join(f"{line}\n" for line in lines))
        return self._write("pg_hba.conf", "local all all peer map=loom\n") or written

    def running(self) -> Running | None:
        """The server of this cluster once it takes connections; None when there is none."""
        deadline = time.monotonic() + _START_SECONDS
        while (lines := self._pid_file()) and is_server(int(lines[0]), self.data):
            if _ready(lines):
                return Running(int(lines[0]), Path(lines[4]))
            if time.monotonic() > deadline:
                raise EmbeddedError(f"the server {lines[0]} does not get ready; see {self._log}")
            time.sleep(POLL_SECONDS)  # it starts, recovers or stops
        return None

    def start(self, say: Callable[[str], None]) -> Running:
        """Start the server and wait until it takes connections; EmbeddedError when it does not."""
        socket_dir = self._socket_dir()
        self._clear_stale(socket_dir)
        offset = self._open_log()
        pid = self._spawn(socket_dir)
        told = time.monotonic()
        deadline = told + _START_SECONDS
        while exists(pid) and time.monotonic() < deadline:
            lines = self._pid_file()
            if _ready(lines) and int(lines[0]) == pid:
                return Running(pid, socket_dir)
            if time.monotonic() - told > 5:
                told = time.monotonic()
                say("PostgreSQL is still starting (after a crash it first repairs its files)")
            time.sleep(POLL_SECONDS)
        said = self._log.read_bytes()[offset:].decode(errors="replace").strip()
        raise EmbeddedError(f"PostgreSQL did not start; {self._log} says:\n{said}")

    def reload(self, running: Running) -> None:
        """Have the server read its login files again; later connections are judged by them."""
        os.kill(running.pid, signal.SIGHUP)

    def stop(self, running: Running) -> None:
        """Stop the server, open transactions rolled back, and wait until it is gone."""
        # Fast; and if that hangs, at once: the next start then recovers and nothing is lost.
        for how in (signal.SIGINT, signal.SIGQUIT):
            with suppress(ProcessLookupError):
                os.kill(running.pid, how)
            if gone_within([running.pid], self.data, _STOP_SECONDS):
                return
        raise EmbeddedError(f"the server {running.pid} does not stop; see {self._log}")

    def _check_release(self, stored: str) -> None:
        if stored == str(self.binaries.major):
            return
        raise EmbeddedError(
            f"the data in {self.data} was made by PostgreSQL {stored}, and the server in "
            f"{self.binaries.folder} is {self.binaries.major}: name the bin folder of a "
            f"PostgreSQL {stored} in LOOM_PG_BIN, or start anew in another LOOM_DATA_DIR"
        )

    def _locales(self) -> Iterator[str]:
        yield "C.UTF-8"  # not on every system, where initdb then says so
        if self.binaries.major < 17:
            yield "en_US.UTF-8"
        yield "C"

    def _initdb(self, folder: Path, locale: str) -> list[str]:
        argv = [self.binaries.program("initdb"), "-D", str(folder), "-U", "postgres"]
        argv += ["-E", "UTF8", f"--locale={locale}", "--auth=peer", "--data-checksums"]
        if self.binaries.major >= 17:
            argv += ["--locale-provider=builtin", "--builtin-locale=C.UTF-8"]
        if self._settings.get("fsync") == "off":
            argv.append("--no-sync")
        return argv

    def _write(self, name: str, text: str) -> bool:
        path = self.data / name
        if path.read_text() == text:
            return False
        fresh = self.data / f"{name}.new"
        fresh.write_text(text)
        self._account.own(fresh, 0o600)
        fresh.replace(path)
        return True

    def _pid_file(self) -> list[str]:
        try:
            return (self.data / "postmaster.pid").read_text().splitlines()
        except FileNotFoundError:
            return []

    def _clear_stale(self, socket_dir: Path) -> None:
        """Remove what a killed server left: its lock files and processes of it that still work."""
        lines = self._pid_file()
        if len(lines) > 4 and _answers(Path(lines[4])):
            raise EmbeddedError(
                f"a server that is not among the processes seen here (another container's?) "
                f"uses {self.data}: stop it first"
            )
        orphans = servers_in(self.data)
        for how in (signal.SIGQUIT, signal.SIGKILL):
            for pid in orphans:
                with suppress(ProcessLookupError):
                    os.kill(pid, how)
            if gone_within(orphans, self.data, _ORPHAN_SECONDS):
                break
        # PostgreSQL would refuse to start if their pid has been given to another process since.
        (self.data / "postmaster.pid").unlink(missing_ok=True)
        (socket_dir / f"{_SOCKET}.lock").unlink(missing_ok=True)

    def _socket_dir(self) -> Path:
        folder = self._home / "run"
        if not _fits(folder):
            folder = self._short_socket_dir()
        with suppress(FileExistsError):
            folder.mkdir(mode=0o700)
            self._account.own(folder, 0o700)
        found = folder.lstat()
        private = stat.S_ISDIR(found.st_mode) and not found.st_mode & 0o077
        if not private or found.st_uid != self._account.uid:
            raise EmbeddedError(f"{folder}, for the socket, is not a folder of ours alone")
        return folder

    def _short_socket_dir(self) -> Path:
        name = f"loom-{self._account.uid}-{sha256(os.fsencode(self.data)).hexdigest()[:16]}"
        for root in (Path(tempfile.gettempdir()), Path("/tmp")):
            if _fits(root / name) and self._account.enters(root):
                return root / name
        raise EmbeddedError("no folder for the socket with a short path: set TMPDIR to one")

    def _open_log(self) -> int:
        """Set an overlong log aside, make a missing one; the length of what it already holds."""
        if self._log.exists() and self._log.stat().st_size > _LARGEST_LOG_BYTES:
            self._log.replace(self._log.with_suffix(".log.1"))
        self._log.touch(mode=0o600)
        self._account.own(self._log, 0o600)
        return self._log.stat().st_size

    def _spawn(self, socket_dir: Path) -> int:
        quoted = str(socket_dir).replace('"', '""')
        settings = self._settings | {
            "port": str(PORT),
            "unix_socket_directories": f'"{quoted}"',
            "unix_socket_permissions": "0700",
        }
        argv = [self.binaries.program("postgres"), "-D", str(self.data)]
        for name, value in settings.items():
            argv += ["-c", f"{name}={value}"]
        # The shell ends at once, so that the server is init's child and waits for no one to reap
        # it; it stays in the session made for the shell, where no terminal's Ctrl-C reaches it.
        with self._log.open("ab") as log:
            done = self._account.run(
                ["/bin/sh", "-c", f"{shlex.join(argv)} >&2 & echo $!"], stderr=log
            )
        if done.returncode != 0:
            raise EmbeddedError(f"PostgreSQL could not be started; see {self._log}")
        return int(done.stdout)


def _ready(lines: Sequence[str]) -> bool:
    return len(lines) > 7 and lines[7].strip() == "ready"


def _fits(folder: Path) -> bool:
    # A comma ends a host's name for the clients.
    return len(os.fsencode(folder / _SOCKET)) <= _LONGEST_SOCKET_PATH and "," not in str(folder)


def _answers(socket_dir: Path) -> bool:
    with socket.socket(socket.AF_UNIX) as client:
        try:
            client.connect(str(socket_dir / _SOCKET))
        except OSError:
            return False
    return True

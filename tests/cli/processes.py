"""Real processes of the ``loom`` command, and a look at which of them are left."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

SECONDS = 60.0
"""How long anything may take; only a failure takes that long."""


def loom(*arguments: str, env: Mapping[str, str], seconds: float = SECONDS) -> Done:
    """Run a command to its end. `env` are `LOOM_*` variables; no others of these are there."""
    done = subprocess.run(
        [sys.executable, "-m", "loom.cli", *arguments],
        env=environment(env),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=seconds,
        check=False,
    )
    assert "Traceback" not in done.stderr, done.stderr
    return Done(done.returncode, done.stdout, done.stderr)


@dataclass(frozen=True)
class Done:
    """How a command ended."""

    code: int
    out: str
    err: str


def environment(variables: Mapping[str, str]) -> dict[str, str]:
    """This process's environment with these `LOOM_*` variables, and the server's folder."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("LOOM_") or name == "LOOM_PG_BIN"
    }
    return {**kept, "LOOM_WORKER_POLL_SECONDS": "1", **variables}


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def until(what: str, happened: Callable[[], object], seconds: float = SECONDS) -> None:
    """Return as soon as it has happened."""
    deadline = time.monotonic() + seconds
    while not happened():
        assert time.monotonic() < deadline, f"{what}: did not happen within {seconds:g} seconds"
        time.sleep(0.02)


class Process:
    """A running command, and what it has printed so far."""

    def __init__(self, *arguments: str, env: Mapping[str, str]) -> None:
        self.out: list[str] = []
        self.err: list[str] = []
        self.process = subprocess.Popen(
            [sys.executable, "-m", "loom.cli", *arguments],
            env=environment(env),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        streams = ((self.process.stdout, self.out), (self.process.stderr, self.err))
        self._readers = [threading.Thread(target=_read, args=each, daemon=True) for each in streams]
        for reader in self._readers:
            reader.start()

    @property
    def said(self) -> str:
        """All that was printed."""
        return "".join((*self.out, *self.err))

    def wait_for(self, words: str) -> str:
        """Wait for a line with these words; return it."""

        def found() -> list[str]:
            lines = [line for line in (*self.out, *self.err) if words in line]
            assert lines or self.process.poll() is None, self.said
            return lines

        until(f"a line with {words!r}", found)
        return found()[0]

    def stop(self, number: signal.Signals = signal.SIGTERM) -> int:
        """Send a signal; return the exit code."""
        if self.process.poll() is None:
            self.process.send_signal(number)
        return self.ended()

    def ended(self) -> int:
        """Wait for the end and the last line; return the exit code."""
        code = self.process.wait(SECONDS)
        for reader in self._readers:
            reader.join(SECONDS)
        return code

    def kill(self) -> None:
        """End it by force if it still runs."""
        self.process.kill()
        self.ended()


@contextmanager
def started(*arguments: str, env: Mapping[str, str]) -> Iterator[Process]:
    """A command that runs during the block."""
    process = Process(*arguments, env=env)
    try:
        yield process
    finally:
        process.kill()
    assert "Traceback" not in process.said


class Up(Process):
    """A running `loom up` in open mode, unless told otherwise."""

    def __init__(self, data_dir: Path, *, port: int | None = None, **variables: str) -> None:
        self.data_dir = data_dir
        self.port = port or free_port()
        env = {"LOOM_DATA_DIR": str(data_dir), "LOOM_PORT": str(self.port), "LOOM_AUTH": "open"}
        super().__init__("up", env={**env, **variables})

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def ready(self) -> Up:
        """Wait for the line after which everything works."""
        self.wait_for("Ctrl-C")
        return self

    def child(self, command: str) -> int:
        """The process id of `serve` or `worker`."""
        found = [pid for pid in children(self.process.pid) if command in arguments(pid)]
        return found[0] if found else 0

    def new_child(self, command: str, old: int) -> int:
        """Wait until another process has taken the place of `old`."""
        until(f"another {command}", lambda: self.child(command) not in (0, old))
        return self.child(command)

    def postmaster(self) -> int:
        """The process id of the embedded server, 0 when there is none."""
        try:
            lines = (self.data_dir / "postgres/data/postmaster.pid").read_text().splitlines()
        except FileNotFoundError:
            return 0
        return int(lines[0]) if lines and running(int(lines[0])) else 0

    def processes(self) -> list[int]:
        """Everything it runs: itself, the children, the database."""
        pids = (self.process.pid, self.child("serve"), self.child("worker"), self.postmaster())
        return [pid for pid in pids if pid]

    def kill(self) -> None:
        """End what is left of it, the database in order."""
        left = self.processes()
        for pid in left:
            if pid != self.postmaster():
                _send(pid, signal.SIGKILL)
        self.ended()
        server = self.postmaster()
        if server:
            _send(server, signal.SIGINT)
            until("the database has ended", lambda: not running(server))


def _read(stream: IO[str], lines: list[str]) -> None:
    with stream:
        lines.extend(stream)


def _send(pid: int, number: signal.Signals) -> None:
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return


def children(parent: int) -> list[int]:
    """The process ids of the children of a process."""
    pids = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            stat = (entry / "stat").read_text(errors="replace").rpartition(")")[2].split()
        except OSError:
            continue
        if int(stat[1]) == parent and stat[0] != "Z":
            pids.append(int(entry.name))
    return pids


def arguments(pid: int) -> list[str]:
    try:
        return (Path("/proc") / str(pid) / "cmdline").read_text(errors="replace").split("\0")
    except OSError:
        return []


def running(pid: int) -> bool:
    """Whether the process runs; one that ended and nobody has asked for yet does not."""
    try:
        stat = (Path("/proc") / str(pid) / "stat").read_text(errors="replace")
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] not in ("Z", "X")

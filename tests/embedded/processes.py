"""Processes of the tests: sharers of a server, and commands run as another user of the system."""

from __future__ import annotations

import json
import os
import pwd
import shutil
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]


class Sharer:
    """A process that holds a share in the server of a folder; see tests/embedded/sharer.py."""

    def __init__(
        self,
        folder: Path,
        *logins: str,
        env: Mapping[str, str] | None = None,
        prefix: Sequence[str] = (),
    ) -> None:
        argv = [*prefix, sys.executable, "-m", "tests.embedded.sharer", str(folder), *logins]
        self.process = subprocess.Popen(
            argv,
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": str(ROOT), **(env or {})},
        )
        self._facts: dict[str, Any] | None = None

    @property
    def facts(self) -> dict[str, Any]:
        """What it printed about the server: pid, dsn, socket_dir; or error. Waits for it."""
        if self._facts is None:
            assert self.process.stdout
            self._facts = json.loads(self.process.stdout.readline())
        return self._facts

    @property
    def pid(self) -> int:
        """The server's process id."""
        return int(self.facts["pid"])

    def leave(self) -> None:
        """Have it give its share back, and wait until it has."""
        out, _ = self.process.communicate("", timeout=90)
        assert out.strip().endswith("gone")

    def kill(self) -> None:
        """Kill it as `kill -9` does."""
        self.process.send_signal(signal.SIGKILL)
        self.process.communicate(timeout=30)

    def __enter__(self) -> Sharer:
        """Waits until it has its share."""
        assert self.facts
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self.process.poll() is None:
            self.process.communicate("", timeout=90)


def as_user(name: str, *capabilities: str) -> list[str]:
    """The prefix that runs a command as another user, who is given these capabilities.

    `dac_read_search` lets that user through the folders on the way to Python and the checkout,
    which may be closed to others; `dac_override` also through a folder of mode 0700 and a socket
    of another. Skips where this user cannot become another.
    """
    setpriv = shutil.which("setpriv")
    if os.geteuid() != 0 or setpriv is None:
        pytest.skip("only root, with setpriv, can run a process as another user")
    user = pwd.getpwnam(name)
    prefix = [setpriv, f"--reuid={user.pw_uid}", f"--regid={user.pw_gid}", "--clear-groups"]
    if capabilities:
        given = ",".join(f"+{capability}" for capability in capabilities)
        prefix += [f"--inh-caps={given}", f"--ambient-caps={given}"]
    return prefix

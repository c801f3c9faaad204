"""Killing parts of a running `loom up` with SIGKILL, and waiting until it has mended itself."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections import Counter
from collections.abc import Callable
from random import Random

from tests.chaos.workload import Workload
from tests.cli.processes import Up, arguments, children, running

RECOVERY_SECONDS = 60.0
PROGRESS = 10
"""Writes that must be answered after a fault before the next one."""

SHORTEST_PAUSE, LONGEST_PAUSE = 0.05, 1.0

FIRST = ("API", "worker", "PostgreSQL")
"""What every run kills, however short it is."""


class Faults:
    """Injects faults into an installation while a workload runs on it."""

    def __init__(self, up: Up, workload: Workload, seed: int) -> None:
        self.injected: Counter[str] = Counter()
        self._up = up
        self._workload = workload
        self._random = Random(seed)
        self._kinds: dict[str, Callable[[], list[int]]] = {
            "API": lambda: [up.child("serve")],
            "worker": lambda: [up.child("worker")],
            "PostgreSQL": lambda: [up.postmaster()],
            "a session of PostgreSQL": self._session,
            "API and PostgreSQL": lambda: [up.child("serve"), up.postmaster()],
        }

    async def inject(self, seconds: float) -> None:
        """One fault after another for so long, each kind once before any comes again."""
        deadline = time.monotonic() + seconds
        deck = self._random.sample(FIRST, k=len(FIRST))
        while time.monotonic() < deadline or not self.injected.keys() >= set(FIRST):
            if not deck:
                deck = self._random.sample(list(self._kinds), k=len(self._kinds))
            kind = deck.pop()
            killed = [pid for pid in self._kinds[kind]() if pid]
            if not killed:  # it ends of itself just now
                deck.append(kind)
                await asyncio.sleep(SHORTEST_PAUSE)
                continue
            for pid in killed:
                kill(pid)
            self.injected[kind] += 1
            await self._recovered(kind)
            await asyncio.sleep(self._random.uniform(SHORTEST_PAUSE, LONGEST_PAUSE))

    async def _recovered(self, kind: str) -> None:
        """Wait until writes are answered again and every part runs, to be killed next."""
        try:
            await self._workload.more(PROGRESS, RECOVERY_SECONDS)
            async with asyncio.timeout(RECOVERY_SECONDS):
                while len(self._up.processes()) < 4:  # noqa: ASYNC110
                    await asyncio.sleep(0.05)
        except TimeoutError:
            raise AssertionError(
                f"{kind} was killed, and {RECOVERY_SECONDS:g} s later not all is well: answers "
                f"{dict(self._workload.statuses)}, sent again {self._workload.retries}; "
                f"running {self._up.processes()}; the launcher said:\n{self._up.said[-4000:]}"
            ) from None

    def _session(self) -> list[int]:
        """One of the server's processes that work for the API; its end takes all of them along."""
        server = self._up.postmaster()
        sessions = [pid for pid in children(server) if "loom_gateway" in " ".join(arguments(pid))]
        return [self._random.choice(sessions)] if sessions else []


def kill(pid: int) -> None:
    """End a process without a word to it."""
    if running(pid):
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            return

"""Faults in a running installation: parts killed with SIGKILL, a worker held beyond its lease, and
connections that break; and the wait until it has mended itself.
"""

from __future__ import annotations

import asyncio
import signal
import time
from collections import Counter
from random import Random
from typing import Final

import psycopg

from tests.chaos.load import Load
from tests.chaos.proxy import BREAKS
from tests.chaos.site import Site, send
from tests.cli.processes import arguments, children

RECOVERY_SECONDS: Final = 60.0
PROGRESS: Final = 20
"""Writes that must be answered after a fault before the next one."""

SHORTEST_PAUSE, LONGEST_PAUSE = 0.05, 1.5
SHORTEST_CALM, LONGEST_CALM = 0.1, 0.9
"""Between two breaks of a connection."""

HELD_SECONDS: Final = 3.0
BEYOND_ANY_LEASE: Final = {"seconds": 301}

FIRST: Final = ("API", "worker", "PostgreSQL")
"""What every run kills, however short it is."""

END_SESSIONS: Final = """
select pg_terminate_backend(pid) from pg_stat_activity
where usename in ('loom_gateway', 'loom_worker')
"""

KINDS: Final = (
    *FIRST,
    "a session of PostgreSQL",
    "API and PostgreSQL",
    "all sessions ended",
    "worker held beyond its lease",
)
"""What is done to processes; connections break beside it, as `proxy.BREAKS` says."""


class Faults:
    """Injects faults into an installation while a load runs on it."""

    def __init__(self, site: Site, load: Load, seed: int) -> None:
        self._killed: Counter[str] = Counter()
        self._site = site
        self._load = load
        self._random = Random(seed)

    @property
    def injected(self) -> Counter[str]:
        """What happened, by kind."""
        breaks: Counter[str] = Counter()
        for relay in self._site.relays:
            breaks += relay.happened
        return self._killed + breaks

    async def inject(self, seconds: float) -> None:
        """One kill after another for so long, each kind once before any comes again; and all the
        time connections break."""
        breaking = asyncio.create_task(self._break())
        try:
            await self._strike(time.monotonic() + seconds)
        finally:
            breaking.cancel()
            await asyncio.gather(breaking, return_exceptions=True)

    async def _strike(self, deadline: float) -> None:
        deck = self._random.sample(FIRST, k=len(FIRST))
        while time.monotonic() < deadline or not self._killed.keys() >= set(FIRST):
            if not deck:
                deck = self._random.sample(KINDS, k=len(KINDS))
            kind = deck.pop()
            if await self._inflict(kind):
                self._killed[kind] += 1
                await self._recovered(kind)
            else:  # it ends of itself just now
                deck.append(kind)
            await asyncio.sleep(self._random.uniform(SHORTEST_PAUSE, LONGEST_PAUSE))

    async def _break(self) -> None:
        while True:
            self._random.choice(self._site.relays).arm(self._random.choice(BREAKS))
            await asyncio.sleep(self._random.uniform(SHORTEST_CALM, LONGEST_CALM))

    async def _recovered(self, kind: str) -> None:
        """Wait until writes are answered again and every part runs, to be killed next."""
        try:
            await self._load.more(PROGRESS, RECOVERY_SECONDS)
            async with asyncio.timeout(RECOVERY_SECONDS):
                while not self._site.whole:  # noqa: ASYNC110
                    await asyncio.sleep(0.05)
        except TimeoutError:
            raise AssertionError(
                f"{kind}, and {RECOVERY_SECONDS:g} s later not all is well: answers "
                f"{dict(self._load.statuses)}, sent again {self._load.retries}; "
                f"running {self._site.parts()}; the launchers said:\n{self._site.said}"
            ) from None

    async def _inflict(self, kind: str) -> bool:
        """Do it; whether there was something to do it to."""
        if kind == "worker held beyond its lease":
            return await self._hold()
        if kind == "all sessions ended":
            return await asyncio.to_thread(self._end_sessions)
        pids = self._victims(kind)
        for pid in pids:
            send(pid, signal.SIGKILL)
        return any(pids)

    def _victims(self, kind: str) -> list[int]:
        match kind:
            case "API":
                return [self._one_of("serve")]
            case "worker":
                return [self._one_of("worker")]
            case "PostgreSQL":
                return [self._site.postmaster]
            case "a session of PostgreSQL":
                return [self._session()]
        return [self._one_of("serve"), self._site.postmaster]

    async def _hold(self) -> bool:
        """Stop a worker, let its leases end and others take its work; then let it go on."""
        pid = self._one_of("worker")
        if not pid:
            return False
        send(pid, signal.SIGSTOP)
        try:
            await self._site.set_forward(**BEYOND_ANY_LEASE)
            await asyncio.sleep(HELD_SECONDS)
        finally:
            send(pid, signal.SIGCONT)
        return True

    def _end_sessions(self) -> bool:
        """As a server does that ends what is idle too long: in order, and without asking."""
        try:
            with self._site.connect() as conn:
                ended = conn.execute(END_SESSIONS).fetchall()
        except (psycopg.OperationalError, OSError):  # it is away just now
            return False
        return bool(ended)

    def _one_of(self, command: str) -> int:
        return self._random.choice(self._site.ups).child(command)

    def _session(self) -> int:
        """One of the server's processes that work for an API; its end takes all of them along."""
        server = self._site.postmaster
        sessions = [pid for pid in children(server) if "loom_gateway" in " ".join(arguments(pid))]
        return self._random.choice(sessions) if sessions else 0

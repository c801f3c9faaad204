"""One run of chaos on an installation of its own, and its report."""

from __future__ import annotations

import asyncio
import json
import signal
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final

from tests.chaos import census
from tests.chaos.census import Census
from tests.chaos.faults import Faults
from tests.chaos.final import everything
from tests.chaos.history import Final as Standing
from tests.chaos.history import Verdict, check
from tests.chaos.instruments import Connection
from tests.chaos.load import CLIENTS, Load, client
from tests.chaos.site import LAUNCHERS, Site, send
from tests.cli.processes import running, until

MOST_SECONDS: Final = 180.0
"""How much longer than asked a run may take, to the answer of the last write."""

DRAIN_SECONDS: Final = 120.0
LOOK_SECONDS: Final = 0.25
LOOKS: Final = 12
"""So many, and what has failed meanwhile is to be tried again."""

BEYOND_ALL_WAITS: Final = {"hours": 1}
"""No lease is longer, and no wait after the first few failures."""


Prepare = Callable[[Connection], None]


@dataclass(frozen=True)
class Result:
    """What was done, what came of it, and what is wrong."""

    seconds: float
    seed: int
    faults: dict[str, int]
    load: Load
    verdict: Verdict
    census: Census
    work: dict[str, int] = field(default_factory=dict)

    @property
    def clean(self) -> bool:
        """Whether nothing is wrong, and no request met an error that nobody planned."""
        return self.verdict.clean and self.census.clean and not self.load.statuses[500]

    def report(self) -> str:
        """All of it, to be read."""
        load = self.load
        asked = Counter(each.outcome for each in load.history.operations)
        return "\n".join(
            [
                f"{CLIENTS} clients, {LAUNCHERS} APIs, {LAUNCHERS} workers, {self.seconds:.0f} s,"
                f" seed {self.seed}",
                f"faults: {sum(self.faults.values())} ({_counts(self.faults)})",
                f"acknowledged: {load.history.acknowledged} writes;"
                f" unanswered: {load.history.unanswered}",
                f"acts: {_counts(load.kinds)}",
                f"answers: {_counts(load.statuses)}; sent again: {load.retries};"
                f" longest time without an acknowledged write: {load.longest_silence:.1f} s",
                f"compare and swap: {len(load.history.operations)} operations on"
                f" {len({each.key for each in load.history.operations})} keys ({_counts(asked)})",
                f"users erased: {len(load.history.erased)}; work: {_counts(self.work)}",
                self.verdict.report(),
                self.census.report(),
            ]
        )

    def as_json(self) -> str:
        """The figures, for a file."""
        load = self.load
        told: dict[str, Any] = {
            "seconds": round(self.seconds, 1),
            "seed": self.seed,
            "clients": CLIENTS,
            "faults": self.faults,
            "acknowledged": load.history.acknowledged,
            "unanswered": load.history.unanswered,
            "acts": dict(sorted(load.kinds.items())),
            "answers": {str(status): count for status, count in sorted(load.statuses.items())},
            "sent_again": load.retries,
            "longest_silence_seconds": round(load.longest_silence, 2),
            "erased": len(load.history.erased),
            "operations": [asdict(each) for each in load.history.operations],
            "work": self.work,
            "found": {**asdict(self.verdict), **asdict(self.census)},
        }
        return json.dumps(told, indent=1, default=str)

    def write(self, folder: Path) -> Path:
        """The report and the figures, histories of compare-and-swap too; the report's file."""
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "chaos.json").write_text(self.as_json())
        report = folder / "chaos.txt"
        report.write_text(f"{self.report()}\n")
        return report


def _counts(counter: dict[Any, int]) -> str:
    return ", ".join(f"{name} {count}" for name, count in sorted(counter.items()))


def chaos(seconds: float, seed: int, prepare: Prepare | None = None) -> Result:
    """Break one part after another under load; all that was acknowledged must be there.

    `prepare` gets a connection of the owner before the load begins."""
    return asyncio.run(_chaos(seconds, seed, prepare))


async def _chaos(seconds: float, seed: int, prepare: Prepare | None) -> Result:
    async with Site(seed) as site:
        if prepare is not None:
            with site.connect() as conn:
                prepare(conn)
        load = Load(site.urls, site.token, seed)
        faults = Faults(site, load, seed)
        started = time.monotonic()
        try:
            async with asyncio.timeout(seconds + MOST_SECONDS), load.running():
                await faults.inject(seconds)
        except TimeoutError:
            raise AssertionError(
                f"some client never got an answer: {load.statuses}; it was said:\n{site.said}"
            ) from None
        seconds = time.monotonic() - started
        assert all(up.process.poll() is None for up in site.ups), site.said
        return await _judged(site, load, seed, seconds, dict(faults.injected))


def blackout(writes: int, seed: int) -> Result:
    """Kill everything at once under load, the launchers too, and start it all again."""
    return asyncio.run(_blackout(writes, seed))


async def _blackout(writes: int, seed: int) -> Result:
    async with Site(seed) as site:
        load = Load(site.urls, site.token, seed)
        started = time.monotonic()
        async with load.cut_off():
            await load.more(writes)
            parts = site.parts()
            for pid in parts:
                send(pid, signal.SIGKILL)
        await asyncio.to_thread(until, "all has ended", lambda: not any(map(running, parts)))
        await site.relaunch()
        return await _judged(site, load, seed, time.monotonic() - started, {"everything": 1})


async def _judged(
    site: Site, load: Load, seed: int, seconds: float, faults: dict[str, int]
) -> Result:
    """Let the workers finish, and look at all that is there."""
    waiting = await _drain(site)
    async with client(site.urls[0], site.token) as api:
        final = await everything(api, load.history)
    with site.connect() as conn:
        # Turns are listed by no operation.
        final.items["turn"] = census.turns(conn)
        counted = census.take(conn, load.history, _texts(final), waiting)
        work = census.work(conn)
    return Result(seconds, seed, faults, load, check(load.history, final), counted, work)


async def _drain(site: Site) -> list[str]:
    """The clock ends the leases of workers that were killed, and every wait; then nothing is left
    to be done. What is left all the same."""
    site.clear()
    deadline = time.monotonic() + DRAIN_SECONDS
    with site.connect() as conn:
        while time.monotonic() < deadline:
            await site.set_forward(**BEYOND_ALL_WAITS)
            for _ in range(LOOKS):
                if not census.left(conn):
                    return []
                await asyncio.sleep(LOOK_SECONDS)
        return census.left(conn)


def _texts(final: Standing) -> dict[str, str | None]:
    return {name: row.content for name, row in final.rows.items()}

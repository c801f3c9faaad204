"""One run of chaos on an installation of its own, and its report."""

from __future__ import annotations

import asyncio
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psycopg

from loom.embedded import EmbeddedServer
from tests.chaos.faults import Faults, kill
from tests.chaos.history import Row, Verdict, check
from tests.chaos.workload import CLIENTS, Workload, everything
from tests.cli.processes import Up, running, until

MOST_SECONDS = 180.0
"""How much longer than asked a run may take, to the answer of the last write."""

DURABLE = {"fsync": "on", "synchronous_commit": "on", "full_page_writes": "on"}


@dataclass(frozen=True)
class Result:
    """What was done, what came of it, and what is wrong."""

    seconds: float
    faults: dict[str, int]
    workload: Workload
    verdict: Verdict

    def report(self) -> str:
        """All of it, to be read."""
        work = self.workload
        kinds = ", ".join(f"{kind} {count}" for kind, count in sorted(work.kinds.items()))
        faults = ", ".join(f"{kind} {count}" for kind, count in sorted(self.faults.items()))
        return "\n".join(
            [
                f"{CLIENTS} clients, {self.seconds:.0f} s",
                f"killed: {sum(self.faults.values())} times ({faults})",
                f"writes acknowledged: {work.acknowledged} ({kinds})",
                f"answers: {dict(sorted(work.statuses.items()))}, sent again: {work.retries}",
                f"longest time without an acknowledged write: {work.longest_silence:.1f} s",
                self.verdict.report(),
            ]
        )


@contextmanager
def data_folder() -> Iterator[Path]:
    """A data folder for one installation, on the disk."""
    # Root's server runs as another account, which cannot enter pytest's own folder.
    made = Path(tempfile.mkdtemp(prefix="loom-chaos-"))
    made.chmod(0o755)
    try:
        yield made / "data"
    finally:
        shutil.rmtree(made, ignore_errors=True)


def chaos(seconds: float, seed: int) -> Result:
    """Kill one part after another under a write load; all that was acknowledged must be there."""
    with data_folder() as folder:
        up = Up(folder).ready()
        try:
            require_durable(folder)
            workload = Workload(up.url, seed)
            faults = Faults(up, workload, seed)
            started = time.monotonic()
            final = asyncio.run(_under_fire(workload, faults, seconds))
            seconds = time.monotonic() - started
            assert up.process.poll() is None, up.said
        finally:
            up.kill()
        return Result(seconds, dict(faults.injected), workload, check(workload.history, final))


async def _under_fire(workload: Workload, faults: Faults, seconds: float) -> dict[str, Row]:
    async with asyncio.timeout(seconds + MOST_SECONDS), workload.running():
        await faults.inject(seconds)
    return await everything(workload.url)


def blackout(writes: int, seed: int) -> Result:
    """Kill everything at once under a write load, the launcher too, and start it all again."""
    with data_folder() as folder:
        up = Up(folder).ready()
        try:
            require_durable(folder)
            workload = Workload(up.url, seed)
            started = time.monotonic()
            asyncio.run(_until_dark(workload, up, writes))
            up.ended()
            again = Up(folder, port=up.port).ready()
            try:
                final = asyncio.run(everything(again.url))
            finally:
                again.kill()
        finally:
            up.kill()
        faults = {"everything": 1}
        return Result(time.monotonic() - started, faults, workload, check(workload.history, final))


async def _until_dark(workload: Workload, up: Up, writes: int) -> None:
    async with workload.cut_off():
        await workload.more(writes)
        parts = up.processes()
        for pid in parts:
            kill(pid)
    await asyncio.to_thread(until, "all has ended", lambda: not any(map(running, parts)))


def require_durable(folder: Path) -> None:
    """Fail when the server may lose what it acknowledged: then a run would show nothing."""
    with EmbeddedServer(folder) as server, psycopg.connect(server.dsn()) as conn:
        for name, value in DURABLE.items():
            row = conn.execute("select current_setting(%s)", (name,)).fetchone()
            assert row == (value,), f"{name} is {row}"

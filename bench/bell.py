"""``make bench-bell``: what it costs writers that they wake the worker.

A notification takes a lock of the whole server as its transaction commits, so writers send one only
while a worker sleeps (``loom.worker_bell``). Eight durable writers whose every write makes work due
(the first fact of another user each time) run beside a worker that the bell wakes, and beside one
that only polls; and, to see what is saved, beside none while the bell is armed all the time, so
that every write notifies.
"""

from __future__ import annotations

import argparse
import asyncio
import multiprocessing
import os
import socket
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from typing import Any, Final, Literal

import psycopg
from psycopg.types.json import Jsonb

from bench import machine
from bench.servers import settle, stage
from bench.targets import Ratio
from bench.workloads import ORG
from loom.cli.stand_in import NAME, StandIn
from loom.database import WORKER
from loom.settings import Settings
from loom.worker import listener
from loom.worker import main as worker

Mode = Literal["bell", "poll", "armed"]

_ROOT = Path(__file__).resolve().parents[1]
WRITERS: Final = 8
RATIO: Final = 0.9
POLL_SECONDS: Final = 0.5
"""Of either worker, so that both build as much and the bell alone is the difference."""

MODES: Final[Sequence[Mode]] = ("poll", "bell", "armed")
_SAID: Final[dict[Mode, str]] = {
    "poll": "a worker that polls",
    "bell": "a worker that the bell wakes",
    "armed": "the bell armed all the time, no worker",
}
_SCHEMA: Final = {
    "type": "object",
    "properties": {"likes": {"type": "string", "description": "What they like"}},
}


@dataclass(frozen=True)
class Slice:
    """What happened in one: writes a second, and builds a second."""

    writes: float
    builds: float


def write(dsn: str, prefix: str, start: float, seconds: float, done: Any) -> None:
    """A writer: the first facts of ever other users, each in a commit of its own."""
    written = 0
    with psycopg.connect(dsn, autocommit=True) as connection:
        place = {"org": ORG, "namespace": "bell", "memory_key": "likes", "value": "tea"}
        time.sleep(max(0.0, start - time.monotonic()))
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            body = Jsonb(place | {"user_id": f"{prefix}-{written}"})
            connection.execute(b"select loom.memory_set(%s)", [body])
            written += 1
    done.put(written)


def work(dsn: str, mode: Mode) -> None:
    """A worker with a stand-in for a model, until SIGTERM."""
    if mode == "poll":
        listener._LISTEN = "select 'listen loom_work'"  # as behind a pooler
    sock = socket.create_server(("127.0.0.1", 0))

    async def model() -> None:
        async with StandIn(sock):
            await asyncio.Event().wait()

    context = multiprocessing.get_context("fork")
    process = context.Process(target=lambda: asyncio.run(model()), daemon=True)
    process.start()
    url = f"http://127.0.0.1:{sock.getsockname()[1]}/v1"
    worker.run(Settings(model_base_url=url, model=NAME, worker_poll_seconds=POLL_SECONDS), dsn)
    process.kill()


@contextmanager
def working(dsn: str, mode: Mode) -> Iterator[None]:
    """A worker during the block, which has begun to listen."""
    if mode == "armed":
        yield
        return
    process = multiprocessing.get_context("spawn").Process(target=work, args=(dsn, mode))
    process.start()
    time.sleep(listener.ECHO_SECONDS + 2.0)
    try:
        yield
    finally:
        process.terminate()
        process.join(60)


def measure(admin: str, dsn: str, mode: Mode, number: int, seconds: float) -> Slice:
    """One slice in a mode."""
    context = multiprocessing.get_context("spawn")
    done = context.Queue()
    worker_dsn = psycopg.conninfo.make_conninfo(admin, user=WORKER)
    with psycopg.connect(admin, autocommit=True) as connection:
        connection.execute("select loom.worker_bell_set(%s)", [mode == "armed"])
        with working(worker_dsn, mode):
            start = time.monotonic() + 2.0
            prefixes = [f"{mode}{number}-{writer}" for writer in range(WRITERS)]
            writers = [
                context.Process(target=write, args=(dsn, prefix, start, seconds, done))
                for prefix in prefixes
            ]
            for each in writers:
                each.start()
            written = sum(done.get(timeout=seconds + 60) for _ in writers)
            builds = _built(connection)
            for each in writers:
                each.join()
        # The next slice begins with nobody behind and nobody at it.
        connection.execute("delete from loom.build")
        connection.execute("delete from loom.pass")
        connection.execute("delete from loom.pass_share")
    return Slice(written / seconds, builds / seconds)


def _built(connection: psycopg.Connection[Any]) -> int:
    row = connection.execute(
        "select count(*) from loom.build where org = %s and built_at is not null", [ORG]
    ).fetchone()
    return int(row[0]) if row else 0


def text(slices: dict[Mode, list[Slice]], ratio: Ratio, described: dict[str, Any]) -> str:
    """The report, in Markdown."""
    rows = [
        f"| {_SAID[mode]} | {median(each.writes for each in taken):,.0f} | "
        f"{median(each.builds for each in taken):,.0f} |"
        for mode, taken in slices.items()
    ]
    return "\n".join(
        [
            f"{described['at']}: {described['processors']} × {described['processor']}; "
            f"PostgreSQL {described['postgresql']}; load before {described['load_before']:.2f}",
            "",
            f"{WRITERS} durable writers, each write the first fact of another user; medians.",
            "",
            "| beside | writes/s | builds/s |",
            "|---|--:|--:|",
            *rows,
            "",
            f"{ratio.text}: {ratio.value:.2f}, at least {ratio.target:g}: {ratio.verdict}",
            "",
        ]
    )


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, print, and keep the results."""
    parser = argparse.ArgumentParser(prog="make bench-bell", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="for a first look")
    parser.add_argument("--data", type=Path, default=_ROOT / "build")
    parser.add_argument("--results", type=Path, default=_ROOT / "bench" / "results")
    args = parser.parse_args(argv)
    rounds, seconds = (1, 2.0) if args.quick else (5, 8.0)
    slices: dict[Mode, list[Slice]] = {mode: [] for mode in MODES}
    with stage(args.data, lambda said: print(f"bench: {said}", file=sys.stderr)) as ready:
        described = machine.describe(ready.admin) | {"load_before": os.getloadavg()[0]}
        with psycopg.connect(ready.admin, autocommit=True) as connection:
            request = Jsonb({"org": ORG, "namespace": "bell", "json_schema": _SCHEMA})
            connection.execute(b"select loom.profile_schema_set(%s)", [request])
        settle(ready)
        for number in range(rounds):
            for mode in MODES if number % 2 else reversed(MODES):
                taken = measure(ready.admin, ready.places.conninfo, mode, number, seconds)
                slices[mode].append(taken)
    rates = {mode: median(each.writes for each in taken) for mode, taken in slices.items()}
    said = "writes beside the bell over beside the poll"
    ratio = Ratio(said, WRITERS, rates["bell"] / rates["poll"], RATIO)
    report = text(slices, ratio, described)
    print(report)
    if not args.quick:
        name = f"{datetime.now(UTC).date().isoformat()}-bell.md"
        (args.results / name).write_text(report)
    return 0


if __name__ == "__main__":
    sys.exit(main())

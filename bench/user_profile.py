"""``make bench-user-profile``: user profiles against the SQLite store of the library protoprompt.

The same two things by three doors: an update, in which rules learn from one message of the user's
and the profile's next version is stored, and a read of the whole profile.

- ``sqlite``: protoprompt's own ProfileManager, rules and SqliteProfileStore, on a file;
- ``loom``: Loom's ProfileManager and PostgresProfileStore, one statement an operation;
- ``function``: the SQL function through psycopg, as the login of a trusted service.

One process, and eight at once, each with users of its own; durable commits on the same disk. The
doors take turns in short slices, round after round; what is shown are medians over the rounds.
"""

from __future__ import annotations

import argparse
import asyncio
import multiprocessing
import os
import sqlite3
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from typing import Any, Final, Literal

import psycopg
from protoprompt import profile as protoprompt  # type: ignore[import-untyped]
from psycopg.types.json import Jsonb

from bench import machine
from bench.servers import settle, stage
from bench.workloads import ORG
from loom import profile as loom_profile

Door = Literal["sqlite", "loom", "function"]
What = Literal["update", "get"]

_ROOT = Path(__file__).resolve().parents[1]
DOORS: Final[Sequence[Door]] = ("sqlite", "loom", "function")
WORKLOADS: Final[Sequence[What]] = ("update", "get")
PROCESSES: Final = (1, 8)
USERS: Final = 50
NAMESPACE: Final = "user-profiles"

Doing = Callable[[str, int], None]
"""One operation: on which user, and its number."""


def _said(number: int) -> str:
    """A message that changes the profile each time."""
    return f"I'm a backend dev, I write Python and SQLite. Call me Sam{number}."


@contextmanager
def sqlite(path: str, what: What) -> Iterator[Doing]:
    """protoprompt on its own store."""
    with _opened(path) as store, asyncio.Runner() as runner:
        manager = protoprompt.ProfileManager(store, protoprompt.RuleProfileSource())

        def update(user: str, number: int) -> None:
            signal = protoprompt.Signal(user, "message", _said(number), role="user")
            runner.run(manager.update(user, [signal]))

        def get(user: str, number: int) -> None:
            runner.run(manager.get(user))

        yield update if what == "update" else get


def _opened(path: str) -> Any:
    """The store, which at its opening, too, gives up when others write."""
    for _ in range(20):
        try:
            return protoprompt.SqliteProfileStore(path)
        except sqlite3.OperationalError as locked:
            failure = locked
    raise failure


@contextmanager
def loom(dsn: str, what: What) -> Iterator[Doing]:
    """Loom's manager on Loom's store."""
    place = {"org": ORG, "namespace": NAMESPACE}
    with loom_profile.PostgresProfileStore(dsn, **place) as store, asyncio.Runner() as runner:
        manager = loom_profile.ProfileManager(store)

        def update(user: str, number: int) -> None:
            signal = loom_profile.Signal(user, "message", _said(number), role="user")
            runner.run(manager.update(user, [signal]))

        def get(user: str, number: int) -> None:
            runner.run(manager.get(user))

        yield update if what == "update" else get


@contextmanager
def function(dsn: str, what: What) -> Iterator[Doing]:
    """The SQL function alone."""
    place = {"org": ORG, "namespace": NAMESPACE}
    with psycopg.connect(dsn, autocommit=True, prepare_threshold=0) as connection:

        def update(user: str, number: int) -> None:
            body = {**place, "user_id": user, "signals": [{"text": _said(number)}]}
            connection.execute(b"select loom.user_profile_update(%s)", [Jsonb(body)])

        def get(user: str, number: int) -> None:
            body = {**place, "user_id": user}
            connection.execute(b"select loom.user_profile_get(%s)", [Jsonb(body)])

        yield update if what == "update" else get


_OPEN: Final[dict[Door, Any]] = {"sqlite": sqlite, "loom": loom, "function": function}


def work(
    door: Door, where: str, what: What, who: int, start: float, seconds: float, done: Any
) -> None:
    """One process: operations from ``start`` on; how many went well, and how many not."""
    well = badly = number = 0
    with ExitStack() as stack:
        do = stack.enter_context(_OPEN[door](where, what))
        # Those that are read have a profile.
        for user in range(USERS):
            _tried(do, f"{door}-{who}-{user}", user)
        time.sleep(max(0.0, start - time.monotonic()))
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            number += 1
            if _tried(do, f"{door}-{who}-{number % USERS}", USERS + number):
                well += 1
            else:
                badly += 1
    done.put((well, badly))


def _tried(do: Doing, user: str, number: int) -> bool:
    try:
        do(user, number)
    except sqlite3.OperationalError:  # "database is locked": the other store's own time-out
        return False
    return True


def measure(
    door: Door, where: str, what: What, processes: int, seconds: float
) -> tuple[float, int]:
    """One slice: operations a second, and how many failed."""
    context = multiprocessing.get_context("spawn")
    done = context.Queue()
    start = time.monotonic() + 3.0 + processes / 2
    workers = [
        context.Process(target=work, args=(door, where, what, who, start, seconds, done))
        for who in range(processes)
    ]
    for each in workers:
        each.start()
    counts = [done.get(timeout=seconds + 120) for _ in workers]
    for each in workers:
        each.join()
    return sum(well for well, _ in counts) / seconds, sum(badly for _, badly in counts)


def text(
    rates: dict[tuple[What, int, Door], list[float]],
    failed: dict[Door, int],
    described: dict[str, Any],
) -> str:
    """The report, in Markdown."""
    lines = []
    for what in WORKLOADS:
        for processes in PROCESSES:
            told = {door: median(rates[what, processes, door]) for door in DOORS}
            lines.append(
                f"| {what}, {processes} {'process' if processes == 1 else 'processes'} | "
                + " | ".join(f"{told[door]:,.0f}" for door in DOORS)
                + f" | {told['loom'] / told['sqlite']:.2f} |"
            )
    return "\n".join(
        [
            f"{described['at']}: {described['processors']} × {described['processor']}; "
            f"PostgreSQL {described['postgresql']}; load before {described['load_before']:.2f}",
            "",
            "Operations a second, medians. An update learns by rules from one message and stores "
            "the next version; Loom keeps every version, protoprompt the last.",
            "",
            "| | protoprompt on SQLite | Loom's manager and store | SQL function | Loom / SQLite |",
            "|---|--:|--:|--:|--:|",
            *lines,
            "",
            f"Failed: {', '.join(f'{door} {failed[door]}' for door in DOORS)} "
            "(SQLite: `database is locked`).",
            "",
        ]
    )


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, print, and keep the results."""
    parser = argparse.ArgumentParser(prog="make bench-user-profile", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="for a first look")
    parser.add_argument("--data", type=Path, default=_ROOT / "build")
    parser.add_argument("--results", type=Path, default=_ROOT / "bench" / "results")
    args = parser.parse_args(argv)
    rounds, seconds = (1, 1.0) if args.quick else (3, 3.0)
    rates: dict[tuple[What, int, Door], list[float]] = {}
    failed: dict[Door, int] = dict.fromkeys(DOORS, 0)
    with stage(args.data, lambda said: print(f"bench: {said}", file=sys.stderr)) as ready:
        described = machine.describe(ready.admin) | {"load_before": os.getloadavg()[0]}
        settle(ready)
        file = args.data / f"profiles-{os.getpid()}.db"
        try:
            for number in range(rounds):
                for processes in PROCESSES:
                    for door in DOORS if number % 2 else tuple(reversed(DOORS)):
                        where = str(file) if door == "sqlite" else ready.places.conninfo
                        # An update first: what is read has been written.
                        for what in WORKLOADS:
                            rate, bad = measure(door, where, what, processes, seconds)
                            rates.setdefault((what, processes, door), []).append(rate)
                            failed[door] += bad
        finally:
            for left in args.data.glob(f"{file.name}*"):
                left.unlink()
    report = text(rates, failed, described)
    print(report)
    if not args.quick:
        name = f"{datetime.now(UTC).date().isoformat()}-user-profile.md"
        (args.results / name).write_text(report)
    return 0


if __name__ == "__main__":
    sys.exit(main())

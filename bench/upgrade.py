"""``make bench-upgrade``: how long writers wait while a database of the first schema is upgraded.

A million rows under the first migrations, sixteen writers with blind sets of blocks and facts, each
of them timed, and `loom migrate` beside them. What is told is the longest time that a write
waited, in all and by step of the migration.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from statistics import median
from typing import Any, Final, NamedTuple

import psycopg
from psycopg.types.json import Jsonb

from bench import machine
from bench.first_schema import NAMESPACE, ROWS_A_USER, fill, first_schema
from bench.workloads import ORG
from loom.embedded import EmbeddedServer, Server
from loom.migrate import migrate, status

_ROOT: Final = Path(__file__).resolve().parents[1]
_SERVICE: Final = "bench_service"
WRITERS: Final = 16
QUIET_SECONDS: Final = 3.0
"""Of writing before the migration begins, and after it has ended."""


class Write(NamedTuple):
    """One write: of which operation, when it began and ended (of the monotonic clock), and the
    SQLSTATE of its refusal."""

    op: str
    began: float
    ended: float
    sqlstate: str | None

    @property
    def seconds(self) -> float:
        """How long it took."""
        return self.ended - self.began


class Step(NamedTuple):
    """A line of `loom migrate`, and when it began (the line before) and ended."""

    said: str
    began: float
    ended: float


@dataclass(frozen=True)
class Outcome:
    """A run: what there was, what the migration said, and all writes."""

    machine: Mapping[str, Any]
    rows: Mapping[str, int]
    steps: Sequence[Step]
    writes: Sequence[Write]

    @property
    def during(self) -> list[Write]:
        """The writes that met the migration."""
        return _within(self.writes, self.steps[0].began, self.steps[-1].ended)

    @property
    def refused(self) -> Counter[str]:
        """The refusals, by operation and SQLSTATE."""
        return Counter(f"{each.op} {each.sqlstate}" for each in self.writes if each.sqlstate)


@dataclass
class Writers:
    """Sixteen threads, each with a connection of its own, and what they wrote so far."""

    dsn: str
    users: int
    writes: list[Write] = field(default_factory=list)
    _stop: threading.Event = field(default_factory=threading.Event)

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Write during the block. Raises what a writer met that was no refusal."""
        with ThreadPoolExecutor(WRITERS) as threads:
            running = [threads.submit(self.write, number) for number in range(WRITERS)]
            try:
                yield
            finally:
                self._stop.set()
            for each in running:
                each.result()

    def write(self, number: int) -> None:
        """What one of them does until the end: every other set is of a block, and of a fact."""
        random = Random(number)
        with psycopg.connect(self.dsn, autocommit=True) as connection:
            connection.prepare_threshold = 0
            n = 0
            while not self._stop.is_set():
                n += 1
                place = {"org": ORG, "namespace": NAMESPACE, "agent": "agent"}
                place["user_id"] = f"user-{random.randrange(self.users)}"
                key, text = random.randrange(ROWS_A_USER), f"Another text, {number}.{n}."
                if n % 2:
                    op, body = "working_memory_set", {"block_key": f"block-{key}", "content": text}
                else:
                    op, body = "memory_set", {"memory_key": f"fact-{key}", "value": text}
                self.writes.append(_timed(connection, op, place | body))


def _timed(connection: psycopg.Connection[Any], op: str, body: Mapping[str, Any]) -> Write:
    began, sqlstate = time.monotonic(), None
    try:
        connection.execute(_STATEMENTS[op], [Jsonb(body)])
    except psycopg.Error as error:
        if error.sqlstate is None:
            raise
        sqlstate = error.sqlstate
    return Write(op, began, time.monotonic(), sqlstate)


_STATEMENTS: Final = {
    "working_memory_set": b"select loom.working_memory_set(%s)",
    "memory_set": b"select loom.memory_set(%s)",
}


def run(parent: Path, rows: int, quiet: float, say: Callable[[str], None]) -> Outcome:
    """Make the database, upgrade it under load, and look that it is current."""
    load = os.getloadavg()[0]
    parent.mkdir(parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix="upgrade-", dir=parent))
    folder.chmod(0o711)  # root's server runs as another account, which passes through
    try:
        with EmbeddedServer(folder / "data", logins=(_SERVICE,), say=say) as server:
            described = machine.describe(server.dsn()) | {"load_before": load}
            say(f"filling a database of the first schema with {rows:,} rows")
            filled = _first(server, folder / "sql", rows)
            writers = Writers(server.dsn(_SERVICE), filled["user_state"])
            with writers.writing():
                time.sleep(quiet)
                say("migrating")
                steps = _migrated(server.dsn(), folder)
                time.sleep(quiet)
            current = status(server.dsn())
            if not current.current:
                raise RuntimeError(f"not current after the migration: {current}")
            return Outcome(described, filled, steps, writers.writes)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _first(server: Server, tree: Path, rows: int) -> dict[str, int]:
    migrate(server.dsn(), log=lambda line: None, root=first_schema(tree))
    with psycopg.connect(server.dsn(), autocommit=True) as connection:
        connection.execute(f"create role {_SERVICE} login in role loom_writer".encode())
        connection.execute("select loom.service_bind(%s, %s)", [_SERVICE, ORG])
        place = Jsonb({"org": ORG, "namespace": NAMESPACE, "content": "the namespace is made"})
        connection.execute("select loom.working_memory_set(%s)", [place])
        return fill(connection, rows)


def _migrated(dsn: str, folder: Path) -> list[Step]:
    """Run `loom migrate`; its lines, with their times."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("LOOM_")}
    env |= {"LOOM_DATABASE_URL": dsn, "LOOM_DATA_DIR": str(folder / "migrate")}
    steps: list[Step] = []
    began = time.monotonic()
    with subprocess.Popen(
        [sys.executable, "-u", "-m", "loom.cli", "migrate"],
        env=env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as process:
        assert process.stdout is not None
        for line in process.stdout:
            now = time.monotonic()
            steps.append(Step(line.strip(), steps[-1].ended if steps else began, now))
    if process.returncode != 0:
        raise RuntimeError("\n".join(step.said for step in steps))
    return steps


def _within(writes: Sequence[Write], began: float, ended: float) -> list[Write]:
    return [each for each in writes if each.ended >= began and each.began <= ended]


def _longest(writes: Sequence[Write], op: str) -> float:
    return max((each.seconds for each in writes if each.op == op), default=0.0)


def text(outcome: Outcome) -> str:
    """The report, in Markdown."""
    m, steps = outcome.machine, outcome.steps
    before = [each for each in outcome.writes if each.ended < steps[0].began]
    ops = tuple(_STATEMENTS)
    longest = max((each.seconds for each in outcome.during), default=0.0)
    refused = ", ".join(f"{what} × {count}" for what, count in outcome.refused.items())
    rows = ", ".join(f"{name} {count:,}" for name, count in outcome.rows.items())
    return "\n".join(
        [
            f"{m['at']}: {m['processors']} × {m['processor']}; PostgreSQL {m['postgresql']}; "
            f"load before {m['load_before']:.2f}",
            "",
            f"{sum(outcome.rows.values()):,} rows of the first schema ({rows}), {WRITERS} writers.",
            "",
            f"The migration took {steps[-1].ended - steps[0].began:.1f} s. The longest time that a "
            f"write waited: **{longest:.2f} s**. Writes meanwhile: {len(outcome.during):,}; "
            f"refused, of all: {refused or 'none'}. Before it, a write took "
            f"{median(each.seconds for each in before) * 1e3:.1f} ms (median), at most "
            f"{max(each.seconds for each in before) * 1e3:.0f} ms.",
            "",
            "The longest write that met a step, in seconds:",
            "",
            f"| step | took | {' | '.join(ops)} |",
            f"|---|--:|{'--:|' * len(ops)}",
            *(_row(outcome.writes, step, ops) for step in steps),
            "",
        ]
    )


def _row(writes: Sequence[Write], step: Step, ops: Sequence[str]) -> str:
    met = _within(writes, step.began, step.ended)
    waits = " | ".join(f"{_longest(met, op):.2f}" for op in ops)
    return f"| {step.said} | {step.ended - step.began:.2f} | {waits} |"


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, print, and keep the results."""
    parser = argparse.ArgumentParser(prog="make bench-upgrade", description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000, help="in all (a million)")
    parser.add_argument("--quiet-seconds", type=float, default=QUIET_SECONDS)
    parser.add_argument("--data", type=Path, default=_ROOT / "build")
    parser.add_argument("--results", type=Path, default=_ROOT / "bench" / "results")
    today = datetime.now(UTC).date().isoformat()
    parser.add_argument("--keep-as", default=f"{today}-upgrade", help="name of the page, '' none")
    args = parser.parse_args(argv)
    outcome = run(
        args.data,
        args.rows,
        args.quiet_seconds,
        lambda said: print(f"bench: {said}", file=sys.stderr, flush=True),
    )
    report = text(outcome)
    print(report)
    if args.keep_as:
        args.results.mkdir(parents=True, exist_ok=True)
        (args.results / f"{args.keep_as}.md").write_text(report)
    return 1 if outcome.refused else 0


if __name__ == "__main__":
    sys.exit(main())

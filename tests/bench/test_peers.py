"""The bench beside the peers: what it counts, and what it makes of the numbers."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from bench.peers.raw_upserts import Pgbench, PgbenchError, Upserts, script
from bench.peers.report import PeerOutcome, text, write
from bench.peers.survivors import (
    Kept,
    Writer,
    count,
    line_of,
    ours,
    survivors,
)
from bench.peers.targets import AppCpu, beside_peers, plain_ratios, set_over_upsert
from bench.peers.workloads import (
    GET_BY_TASKS,
    PEER_GET,
    PEER_SET,
    PEER_WORKLOADS,
    SET_BY_TASKS,
)
from bench.report import Outcome
from bench.rounds import Cell, Numbers, Plan
from bench.workloads import ORG, Workload
from loom.types import OPERATIONS
from tests.bench.test_report import MACHINE, NUMBERS
from tests.concurrency.callers import WRITER
from tests.databases import Database
from tests.embedded.folders import program_folder

PLAN = Plan(PEER_WORKLOADS, seconds=6.0, rounds=1)
KEPT = Kept("LangGraph, get and put", 17, 320, 640, 0.5)


def cells(**by_door: Numbers) -> dict[Cell, Numbers]:
    """Every cell of the plan, all of a door with the same numbers."""
    return {cell: by_door.get(cell.door, NUMBERS) for cell in PLAN.cells}


def outcome(upserts: float = 4000.0, **by_door: Numbers) -> PeerOutcome:
    run = Outcome(
        MACHINE, PLAN, {cell: [n] for cell, n in cells(**by_door).items()}, {}, 500.0, 0.1
    )
    return PeerOutcome(
        run, [NUMBERS], [Upserts(upserts, 2.0, 9.0, 90.0)], "pgbench", [KEPT], "store 1.0"
    )


@pytest.mark.parametrize(
    ("kept", "lines"),
    [
        (0, ""),
        (4, "0.0\n0.1\n1.0\n1.1"),
        (1, "0.0\n0.0\n0.0"),  # there three times, and one line
        (1, "11.0\n1.0"),  # a line of another's, in which one of ours is a part
        (0, "0.2\n2.0"),  # nobody's
        (2, "0.10.0\n1.1\n0.0"),
    ],
)
def test_lines_that_are_there_are_counted_once_and_whole(kept: int, lines: str) -> None:
    assert survivors(lines, writers=2, appends=2) == kept


def test_no_line_is_like_another() -> None:
    lines = [line_of(writer, n) for writer in range(32) for n in range(10)]
    assert len(set(lines)) == 320
    assert survivors("\n".join(lines), 32, 10) == 320


class SharedText:
    """A text that writers read and write back, each letting the others go first in between."""

    def __init__(self) -> None:
        self.text = ""

    async def append(self, line: str) -> int:
        text = self.text
        await asyncio.sleep(0)
        self.text = f"{text}\n{line}"
        return 1

    async def read(self) -> str:
        return self.text


def test_what_one_writer_puts_back_over_anothers_line_is_counted_as_lost() -> None:
    shared = SharedText()

    @asynccontextmanager
    async def open_writer() -> AsyncIterator[Writer]:
        yield shared

    found = asyncio.run(count("blind", open_writer, writers=4, appends=3))
    # All read, then all write: of each turn the last one's line is left.
    assert (found.kept, found.of, found.tries) == (3, 12, 12)


@pytest.mark.parametrize("way", ["Loom, append", "Loom, get and set if unchanged"])
def test_o20_all_lines_of_all_writers_are_there(database: Database, way: str) -> None:
    database.connect().execute("select loom.service_bind(%s, %s)", (WRITER, ORG))
    opening = ours(database.dsn(WRITER))[way]
    found = asyncio.run(count(way, opening, writers=8, appends=5))
    assert (found.way, found.kept, found.of) == (way, 40, 40)
    assert found.tries >= 40


@pytest.mark.parametrize(
    ("sets", "upserts", "verdict"),
    [
        (1600.0, 4000.0, "reached"),
        (1599.0, 4000.0, "not reached"),
        (1000.0, 2500.0, "reached"),
        (1600.0, 2400.0, "not reached"),  # a slow disk: it is to be 0.7 there
        (1680.0, 2400.0, "reached"),
    ],
)
def test_sets_by_http_are_judged_by_what_the_disk_allows(
    sets: float, upserts: float, verdict: str
) -> None:
    assert set_over_upsert(sets, upserts).verdict == verdict


@pytest.mark.parametrize(
    ("ours_us", "litestar_us", "reached"),
    [(160.0, 10.0, True), (161.0, 64.0, False), (250.0, 100.0, True), (251.0, 100.0, False)],
)
def test_the_apis_cpu_is_judged_by_itself_or_by_plain_litestars(
    ours_us: float, litestar_us: float, reached: bool
) -> None:
    assert AppCpu(ours_us, litestar_us).reached is reached


def test_ours_is_held_against_each_store_with_each_number_of_clients() -> None:
    half = replace(NUMBERS, ops_per_second=500.0, app_us=40.0)
    beside = [*beside_peers(cells(b=half, i=half))]
    assert {each.rate for each in beside} == {0.5}
    # 100 µs of client, application and server together, where the store's are 160.
    assert {each.cpu for each in beside} == {0.625}
    assert len(beside) == 5 * 2 * 2 + 2 * 3
    held = {(each.ours.workload.name, each.theirs.workload.name, each.theirs) for each in beside}
    assert ("memory.set", "set", Cell(PEER_SET, 16, "f")) in held
    assert (GET_BY_TASKS.name, GET_BY_TASKS.name, Cell(GET_BY_TASKS, 1, "h")) in held


def test_functions_are_judged_against_statements_that_write_the_same() -> None:
    slow = replace(NUMBERS, ops_per_second=599.0)
    judged = [each for each in plain_ratios(cells(b=slow)) if each.target is not None]
    assert [each.clients for each in judged] == [16] * 5
    assert {each.verdict for each in judged} == {"not reached"}
    over = {each.text for each in plain_ratios(cells()) if "c over a" in each.text}
    assert len(over) == 4


def test_the_report_says_what_was_reached_and_what_was_lost() -> None:
    said = text(outcome(c=replace(NUMBERS, app_us=200.0), d=replace(NUMBERS, app_us=70.0)))
    assert said.count("200 µs, 2.86 ×") == 2
    assert "plain upserts by pgbench, 2.00 ms each" in said
    row = next(line for line in said.splitlines() if "LangGraph, get and put" in line)
    assert [cell.strip() for cell in row.split("|")[2:5]] == ["17 of 320", "2.00", "0.50"]
    tables = [line for line in said.splitlines() if line.startswith("|")]
    assert len({len(line) for line in tables}) == said.count("\n|--")


def test_the_plain_upserts_are_medians_over_the_rounds() -> None:
    rounds = [
        Upserts(3000.0, 1.0, 9.0, 1.0),
        Upserts(1.0, 5.0, 8.0, 2.0),
        Upserts(9.0, 3.0, 7.0, 3.0),
    ]
    assert replace(outcome(), upserts=rounds).median_upserts == Upserts(9.0, 3.0, 8.0, 2.0)


def test_what_is_kept_says_what_is_printed(tmp_path: Path) -> None:
    made = outcome(upserts=2000.0)
    write(made, tmp_path, "run")
    assert (tmp_path / "run.md").read_text() == text(made)
    kept = json.loads((tmp_path / "run.json").read_text())
    assert kept["survivors"][0]["kept"] == 17
    assert kept["app_cpu"]["16"]["reached"] is True
    assert kept["upserts"] == {
        "by": "pgbench",
        "rounds": [made.median_upserts._asdict()],
    }
    assert [each["verdict"] for each in kept["ratios"] if each["clients"] == 64] == ["not reached"]
    assert len(kept["cells"]) == len(PLAN.cells)


@pytest.mark.parametrize("workload", PEER_WORKLOADS, ids=lambda workload: workload.name)
def test_a_workloads_requests_are_requests_of_its_operation(workload: Workload) -> None:
    for each in (workload, *(seeding for seeding, _ in workload.seed)):
        for client, n in ((0, 0), (15, 7)):
            msgspec.convert(each.request(client, n), OPERATIONS[each.op].request)


def test_the_tasks_of_one_process_do_what_the_clients_do() -> None:
    for tasks, clients in ((SET_BY_TASKS, PEER_SET), (GET_BY_TASKS, PEER_GET)):
        assert (tasks.op, tasks.request(3, 5)) == (clients.op, clients.request(3, 5))
        assert tasks.tasks == max(clients.clients)


def test_pgbench_runs_door_as_statement_with_a_value_for_each_parameter() -> None:
    made = script()
    assert "%(" not in made
    assert "on conflict" in made and "sha256" in made and "version + 1" in made
    for variable in (":client_id::text", ":block::text", ":number::text || :content::text"):
        assert variable in made


@pytest.fixture
def program_dir() -> Iterator[Path]:
    """A folder of the test's own from which programs can be run."""
    with program_folder() as folder:
        yield folder


def pgbench(folder: Path, says: str) -> Pgbench:
    """One that says so instead of running."""
    program = folder / "pgbench"
    program.write_text(f"#!/bin/sh\n{says}\n")
    program.chmod(0o755)
    return Pgbench(folder, "host=/nowhere port=5432 user=someone dbname=loom", folder)


def test_what_pgbench_says_is_read(program_dir: Path) -> None:
    says = (
        "number of transactions actually processed: 4000",
        "latency average = 1.500 ms",
        "tps = 5333.25 (without initial connection time)",
    )
    made = pgbench(program_dir, "\n".join(f"echo '{each}'" for each in says))
    assert made.there
    server = iter((10.0, 10.5))
    done = made.run(1, lambda: next(server))
    assert (done.ops_per_second, done.mean_ms, done.server_us) == (5333.25, 1.5, 125.0)
    assert done.client_us == pytest.approx(made.cpu_seconds / 4000 * 1e6)


def test_pgbench_is_told_where_the_server_is_and_no_other_setting_of_the_users(
    program_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PGOPTIONS", "-c synchronous_commit=off")
    made = pgbench(program_dir, 'echo "$PGHOST $PGUSER $PGDATABASE ${PGOPTIONS-none}" >&2')
    with pytest.raises(PgbenchError, match=r"^/nowhere someone loom none$"):
        made.run(1, lambda: 0.0)


@pytest.mark.parametrize("says", ["echo refused >&2; exit 1", "echo refused"])
def test_a_pgbench_that_fails_or_says_no_rate_fails_the_run(program_dir: Path, says: str) -> None:
    with pytest.raises(PgbenchError, match="refused"):
        pgbench(program_dir, says).run(1, lambda: 0.0)


def test_a_server_without_pgbench_is_seen(tmp_path: Path) -> None:
    conninfo = "host=/nowhere port=5432 user=someone dbname=loom"
    assert not Pgbench(tmp_path / "bin", conninfo, tmp_path).there

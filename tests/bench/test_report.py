"""What is made of the numbers: medians, ratios, verdicts, the table."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from bench.report import Outcome, text, write
from bench.rounds import Cell, Numbers, Plan, medians
from bench.targets import Ratio
from bench.workloads import BATCH, BATCH_OF_SETS, CLIENTS, GET, SET, WORKLOADS, Workload
from loom.types import OPERATIONS

NUMBERS = Numbers(1000.0, 1.0, 2.0, 10.0, 100.0, 50.0)
ERASURES = {1_000: 0.01, 10_000: 0.1, 40_000: 0.8}
MACHINE = {
    "at": "2026-01-01T00:00:00+00:00",
    "processor": "a processor",
    "processors": 2,
    "memory_mib": 1,
    "kernel": "Linux",
    "python": "3.11",
    "postgresql": "18",
    "settings": {"fsync": "on"},
    "file_system": "ext4",
    "load_before": 0.0,
}


def outcome(workloads: list[Workload], **by_door: Numbers) -> Outcome:
    """A run in which every cell of a door has the same numbers."""
    plan = Plan(workloads, seconds=6.0, rounds=1)
    rounds = {cell: [by_door.get(cell.door, NUMBERS)] for cell in plan.cells}
    return Outcome(MACHINE, plan, rounds, ERASURES, flush_us=500.0, others=0.1)


def verdicts(found: Outcome, words: str) -> list[tuple[int | None, float, str]]:
    return [(each.clients, each.value, each.verdict) for each in found.ratios if words in each.text]


def test_a_median_is_taken_of_each_number_for_itself() -> None:
    rounds = [
        NUMBERS,
        replace(NUMBERS, ops_per_second=5.0, p99_ms=9.0),
        replace(NUMBERS, ops_per_second=2000.0, p99_ms=1.0),
    ]
    assert medians(rounds) == NUMBERS


@pytest.mark.parametrize(("ops", "verdict"), [(600.0, "reached"), (599.0, "not reached")])
def test_the_function_is_judged_against_plain_sql_at_16_clients(ops: float, verdict: str) -> None:
    found = outcome([SET], b=replace(NUMBERS, ops_per_second=ops))
    assert verdicts(found, "b over a") == [(1, ops / 1000, ""), (16, ops / 1000, verdict)]


def test_a_get_is_judged_by_the_apps_cpu_and_by_its_rate() -> None:
    found = outcome([GET], d=replace(NUMBERS, app_us=199.0, ops_per_second=600.0))
    assert [verdict for *_, verdict in verdicts(found, "app CPU")] == ["", "not reached"]
    assert [verdict for *_, verdict in verdicts(found, "c over d, ops/s")] == ["", "reached"]


def test_a_batch_is_judged_over_http_with_each_number_of_clients() -> None:
    plan = Plan([SET, BATCH_OF_SETS], seconds=6.0, rounds=1)
    thrice = replace(NUMBERS, ops_per_second=3000.0)
    numbers = {c: [thrice if c.workload is BATCH_OF_SETS else NUMBERS] for c in plan.cells}
    found = Outcome(MACHINE, plan, numbers, {}, 500.0, 0.0)
    assert verdicts(found, "door c") == [(1, 3.0, "not reached"), (16, 3.0, "reached")]
    assert [verdict for *_, verdict in verdicts(found, "door b")] == ["", ""]


def test_an_erasure_is_to_be_linear() -> None:
    found = verdicts(outcome([SET]), "erasure")
    assert [value for _, value, _ in found] == pytest.approx([1.0, 0.5])
    assert [verdict for *_, verdict in found] == ["reached", "not reached"]


def test_a_ratio_at_its_target_has_reached_it() -> None:
    assert Ratio("", 1, 2.0, 2.0).verdict == "reached"


def test_what_is_kept_says_what_is_printed_and_holds_every_round(tmp_path: Path) -> None:
    found = outcome([SET, GET])
    write(found, tmp_path, "run")
    assert (tmp_path / "run.md").read_text() == text(found)
    kept = json.loads((tmp_path / "run.json").read_text())
    assert [(cell["workload"], cell["clients"], cell["door"]) for cell in kept["cells"]] == [
        (cell.workload.name, cell.clients, cell.door) for cell in found.plan.cells
    ]
    assert all(len(cell["rounds"]) == 1 for cell in kept["cells"])
    assert kept["machine"]["flush_us"] == 500.0


def test_each_line_of_a_table_is_as_wide_as_the_others() -> None:
    lines = [line for line in text(outcome([*WORKLOADS])).splitlines() if line.startswith("|")]
    ratio_lines = [line for line in lines if "reached" in line or "to reach" in line]
    assert len({len(line) for line in ratio_lines}) == 1
    assert len({len(line) for line in lines}) == 3


def test_all_slices_together_take_the_time_that_was_asked_for() -> None:
    plan = Plan(WORKLOADS, seconds=150.0, rounds=7)
    assert plan.slice_seconds * len(plan.cells) * plan.rounds == pytest.approx(150.0)
    assert {cell.clients for cell in plan.cells} == set(CLIENTS)
    assert len(set(plan.cells)) == len(plan.cells)


@pytest.mark.parametrize("workload", WORKLOADS, ids=lambda workload: workload.name)
def test_a_workloads_requests_are_requests_of_its_operation(workload: Workload) -> None:
    for client, n in ((0, 0), (15, 7)):
        request = workload.request(client, n)
        msgspec.convert(request, OPERATIONS[workload.op].request)
    assert workload.raw_sql
    assert workload.writes_a_call == (BATCH if workload.op == "batch" else 1)
    assert Cell(workload, 16, "a") in Plan([workload], 1.0, 1).cells

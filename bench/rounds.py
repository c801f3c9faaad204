"""The run: rounds of short slices, in which the doors take turns."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median, quantiles
from typing import Final, NamedTuple

from bench.client import Report
from bench.cpu import Meter
from bench.fleet import Fleet
from bench.workloads import Workload

_WARM_UP_SECONDS: Final = 0.1


class Cell(NamedTuple):
    """What is measured: a workload, through a door, by so many clients."""

    workload: Workload
    clients: int
    door: str


@dataclass(frozen=True)
class Numbers:
    """Of one slice, or the medians of several. Operations count what a batch holds; the times are
    those of a call; CPU is microseconds an operation."""

    ops_per_second: float
    p50_ms: float
    p99_ms: float
    client_us: float
    app_us: float
    server_us: float


@dataclass(frozen=True)
class Plan:
    """How much to measure. `seconds` is what all slices take together."""

    workloads: Sequence[Workload]
    seconds: float
    rounds: int

    @property
    def cells(self) -> list[Cell]:
        """All that is measured in a round, doors next to each other."""
        return [
            Cell(workload, clients, door)
            for workload in self.workloads
            for clients in workload.clients
            for door in workload.doors
        ]

    @property
    def slice_seconds(self) -> float:
        """How long one cell is measured in one round."""
        return self.seconds / self.rounds / len(self.cells)


def run(
    plan: Plan,
    fleet: Fleet,
    meter: Meter,
    *,
    when_warm: Callable[[], None],
    before_round: Callable[[], None],
) -> Mapping[Cell, list[Numbers]]:
    """Warm up, then measure. Each cell's rounds."""
    found: dict[Cell, list[Numbers]] = {cell: [] for cell in plan.cells}
    for cell in plan.cells:
        if cell.clients == max(cell.workload.clients):
            _measure(cell, fleet, meter, min(_WARM_UP_SECONDS, plan.slice_seconds))
    when_warm()
    for number in range(plan.rounds):
        before_round()
        for cell in _turned(plan.cells, number):
            found[cell].append(_measure(cell, fleet, meter, plan.slice_seconds))
    return found


def medians(rounds: Sequence[Numbers]) -> Numbers:
    """The median of each number."""
    return Numbers(*(median(column) for column in zip(*map(_columns, rounds), strict=True)))


def _columns(numbers: Numbers) -> tuple[float, ...]:
    return tuple(vars(numbers).values())


def _turned(cells: Sequence[Cell], number: int) -> list[Cell]:
    """The cells in another order each round: no door always follows the same one."""
    doors = sorted({cell.door for cell in cells})
    turn = number % len(doors)
    doors = doors[turn:] + doors[:turn]
    place = {(cell.workload.name, cell.clients): i for i, cell in reversed([*enumerate(cells)])}
    return sorted(
        cells, key=lambda cell: (place[cell.workload.name, cell.clients], doors.index(cell.door))
    )


def _measure(cell: Cell, fleet: Fleet, meter: Meter, seconds: float) -> Numbers:
    before: dict[str, float] = {}
    reports = fleet.run(
        cell.clients,
        cell.workload.name,
        cell.door,
        seconds,
        lambda: before.update(meter.read()),
    )
    after = meter.read()
    return numbers_of(cell, reports, {name: after[name] - before[name] for name in after})


def numbers_of(cell: Cell, reports: Sequence[Report], cpu: Mapping[str, float]) -> Numbers:
    """A slice's numbers, of its clients' reports and the seconds of CPU that each group used."""
    size = cell.workload.writes_a_call
    times = sorted(each for report in reports for each in report.nanoseconds)
    each = 1e6 / (len(times) * size)
    cuts = quantiles(times, n=100, method="inclusive") if len(times) > 1 else times * 99
    return Numbers(
        ops_per_second=sum(len(r.nanoseconds) * size / r.seconds for r in reports),
        p50_ms=cuts[49] / 1e6,
        p99_ms=cuts[98] / 1e6,
        client_us=sum(report.cpu_seconds for report in reports) * each,
        app_us=cpu.get(cell.door, 0.0) * each,
        server_us=cpu["server"] * each,
    )

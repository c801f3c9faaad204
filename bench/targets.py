"""The ratios that matter, each beside what it is to reach."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Final, NamedTuple

from bench.rounds import Cell, Numbers
from bench.workloads import BATCH_OF_SETS, CLIENTS, GET, SET, Workload

FUNCTION_OVER_PLAIN: Final = 0.6
GET_CPU_OVER_LITESTAR: Final = 2.0
GET_OPS_OVER_LITESTAR: Final = 1.5
BATCH_OVER_SINGLE: Final = {1: 4.0, 16: 2.5}
# Rows a second, each size against the one before: an erasure takes so many times as long.
ERASURE_OVER_SMALLER: Final = 0.7
# How many clients the first two are to be reached with.
AT_CLIENTS: Final = 16


class Ratio(NamedTuple):
    """A ratio, and the least it should be (None: it is only shown)."""

    text: str
    clients: int | None
    value: float
    target: float | None

    @property
    def verdict(self) -> str:
        """What became of the target."""
        if self.target is None:
            return ""
        return "reached" if self.value >= self.target else "not reached"


def ratios(found: Mapping[Cell, Numbers]) -> Iterator[Ratio]:
    """All ratios of what was measured."""
    workloads = list(dict.fromkeys(cell.workload for cell in found))
    for workload in workloads:
        yield from function_over_plain(found, workload)
    if GET in workloads:
        yield from _get_over_litestar(found)
    if SET in workloads and BATCH_OF_SETS in workloads:
        yield from _batch_over_single(found)


def erasure_ratios(seconds: Mapping[int, float]) -> Iterator[Ratio]:
    """Whether an erasure's time grows as its rows do; `seconds` by rows."""
    for (few, short), (many, long) in pairwise(sorted(seconds.items())):
        text = f"erasure of {many} rows over {few}, rows/s"
        yield Ratio(text, None, (many / long) / (few / short), ERASURE_OVER_SMALLER)


def function_over_plain(found: Mapping[Cell, Numbers], workload: Workload) -> Iterator[Ratio]:
    """The SQL function over plain statements that do the same writes."""
    for clients in workload.clients:
        judged = clients == AT_CLIENTS and not workload.contended
        plain = found[Cell(workload, clients, "a")]
        function = found[Cell(workload, clients, "b")]
        yield Ratio(
            f"{workload.name}: b over a, ops/s",
            clients,
            function.ops_per_second / plain.ops_per_second,
            FUNCTION_OVER_PLAIN if judged else None,
        )


def _get_over_litestar(found: Mapping[Cell, Numbers]) -> Iterator[Ratio]:
    for clients in CLIENTS:
        ours, plain = (found[Cell(GET, clients, door)] for door in "cd")
        judged = clients == AT_CLIENTS
        yield Ratio(
            f"{GET.name}: c over d, app CPU",
            clients,
            plain.app_us / ours.app_us,
            GET_CPU_OVER_LITESTAR if judged else None,
        )
        yield Ratio(
            f"{GET.name}: c over d, ops/s",
            clients,
            ours.ops_per_second / plain.ops_per_second,
            GET_OPS_OVER_LITESTAR if judged else None,
        )


def _batch_over_single(found: Mapping[Cell, Numbers]) -> Iterator[Ratio]:
    for door in "cba":
        for clients in CLIENTS:
            batch, single = (found[Cell(each, clients, door)] for each in (BATCH_OF_SETS, SET))
            yield Ratio(
                f"{BATCH_OF_SETS.name} over single sets, door {door}, sets/s",
                clients,
                batch.ops_per_second / single.ops_per_second,
                BATCH_OVER_SINGLE.get(clients) if door == "c" else None,
            )

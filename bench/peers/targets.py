"""What the run is held against: the hot path's targets, and the peers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from bench.peers.workloads import (
    GET_BY_TASKS,
    MEMORY_GET,
    MEMORY_SET,
    PACK,
    PEER_BATCH,
    PEER_GET,
    PEER_SET,
    SET_BY_TASKS,
)
from bench.rounds import Cell, Numbers
from bench.targets import Ratio, function_over_plain

APP_US: Final = 160.0
APP_OVER_LITESTAR: Final = 2.5
CONNECTIONS: Final = 64
"""On how many the sets by HTTP are made that are held against plain upserts."""

SET_OVER_UPSERT: Final = 0.4
# Where the disk lets the plain upserts do fewer, what we add to them weighs less.
SLOW_UPSERTS: Final = 2500.0
SET_OVER_SLOW_UPSERT: Final = 0.7
_PEER_OF: Final = {
    PEER_SET: PEER_SET,
    PEER_GET: PEER_GET,
    PEER_BATCH: PEER_BATCH,
    MEMORY_SET: PEER_SET,
    MEMORY_GET: PEER_GET,
}


class AppCpu(NamedTuple):
    """The API's CPU for a get: reached at so many microseconds, or so many times a plain one's."""

    ours_us: float
    litestar_us: float

    @property
    def reached(self) -> bool:
        """Whether either holds."""
        return self.ours_us <= APP_US or self.ours_us <= APP_OVER_LITESTAR * self.litestar_us


class Beside(NamedTuple):
    """Ours over theirs: operations a second, and CPU of client and server for one."""

    ours: Cell
    theirs: Cell
    rate: float
    cpu: float


def app_cpu(found: Mapping[Cell, Numbers], clients: int) -> AppCpu:
    """A get's, with so many clients."""
    ours, litestar = (found[Cell(PEER_GET, clients, door)].app_us for door in "cd")
    return AppCpu(ours, litestar)


def set_over_upsert(ours: float, upserts: float) -> Ratio:
    """Durable sets by HTTP a second over the plain upserts of pgbench."""
    target = SET_OVER_SLOW_UPSERT if upserts < SLOW_UPSERTS else SET_OVER_UPSERT
    return Ratio("set by HTTP over plain upserts, ops/s", CONNECTIONS, ours / upserts, target)


def plain_ratios(found: Mapping[Cell, Numbers]) -> Iterator[Ratio]:
    """The SQL functions, and HTTP, over plain statements with the same writes."""
    for workload in _PEER_OF:
        yield from function_over_plain(found, workload)
    for workload in (PEER_SET, PEER_GET, PEER_BATCH, PACK):
        for clients in workload.clients:
            http, plain = (found[Cell(workload, clients, door)] for door in "ca")
            value = http.ops_per_second / plain.ops_per_second
            yield Ratio(f"{workload.name}: c over a, ops/s", clients, value, None)


def beside_peers(found: Mapping[Cell, Numbers]) -> Iterator[Beside]:
    """Our SQL functions beside LangGraph's stores doing what comes nearest."""
    for workload, peer in _PEER_OF.items():
        for clients in workload.clients:
            for door in "ef":
                yield _beside(found, Cell(workload, clients, "b"), Cell(peer, clients, door))
    for workload in (SET_BY_TASKS, GET_BY_TASKS):
        for door in "fgh":
            yield _beside(found, Cell(workload, 1, "i"), Cell(workload, 1, door))


def _beside(found: Mapping[Cell, Numbers], ours: Cell, theirs: Cell) -> Beside:
    mine, its = found[ours], found[theirs]
    return Beside(
        ours, theirs, mine.ops_per_second / its.ops_per_second, cpu_us(mine) / cpu_us(its)
    )


def cpu_us(numbers: Numbers) -> float:
    """All CPU that an operation takes, of client, API and server."""
    return numbers.client_us + numbers.app_us + numbers.server_us

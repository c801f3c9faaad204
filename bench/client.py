"""A client: a process of its own, which does what it is told and measures itself."""

from __future__ import annotations

import time
from array import array
from multiprocessing.connection import Connection
from typing import NamedTuple

import psycopg

from bench.doors import Call, Doors, Places
from bench.http_client import HttpError
from bench.workloads import WORKLOADS, Workload


class Order(NamedTuple):
    """Run a workload through a door, from `start` (of the monotonic clock) for `seconds`."""

    workload: str
    door: str
    start: float
    seconds: float


class Report(NamedTuple):
    """What a client did: the time of each call in nanoseconds; seconds gone by, and of CPU."""

    nanoseconds: array[int]
    seconds: float
    cpu_seconds: float


class Client:
    """Keeps its doors open, and its place in each workload's requests, between the slices."""

    def __init__(self, number: int, places: Places) -> None:
        self._number = number
        self._doors = Doors(places)
        self._workloads = {workload.name: workload for workload in WORKLOADS}
        self._next: dict[tuple[str, bool], int] = {}
        for workload in WORKLOADS:
            self._seed(workload)

    def run(self, order: Order) -> Report:
        """Do a slice. Raises whatever a call raises: a refusal has no place in a benchmark."""
        workload = self._workloads[order.workload]
        call = self._doors.call(order.door, workload)
        # Doors b, c and d go on where one of them stopped: their data is the same.
        place = (order.workload, order.door == "a")
        n = self._next.get(place, 0)
        times = array("Q")
        time.sleep(max(0.0, order.start - time.monotonic()))
        began = time.monotonic()
        cpu = time.process_time()
        n = self._repeat(call, workload, n, began + order.seconds, times)
        report = Report(times, time.monotonic() - began, time.process_time() - cpu)
        self._next[place] = n
        return report

    def close(self) -> None:
        """End the connections."""
        self._doors.close()

    def _repeat(self, call: Call, workload: Workload, n: int, end: float, times: array[int]) -> int:
        request, client, clock = workload.request, self._number, time.perf_counter_ns
        while time.monotonic() < end:
            body = request(client, n)
            before = clock()
            call(body)
            times.append(clock() - before)
            n += 1
        return n

    def _seed(self, workload: Workload) -> None:
        for other, times in workload.seed:
            for door in "ab":
                call = self._doors.call(door, other)
                for n in range(times):
                    call(other.request(self._number, n))


def main(number: int, places: Places, orders: Connection) -> None:
    """The process: None when it is ready, then a report for each order; a text when it failed."""
    try:
        client = Client(number, places)
        orders.send(None)
        while (order := orders.recv()) is not None:
            orders.send(client.run(order))
        client.close()
    except (HttpError, psycopg.Error, OSError) as error:
        orders.send(f"client {number}: {error!r}")

"""A client: a process of its own, which does what it is told and measures itself."""

from __future__ import annotations

import time
from array import array
from collections.abc import Callable, Sequence
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


Work = Callable[[int, float, "array[int]"], int]
"""Requests from the n-th on until a time, each one's nanoseconds noted; the next one's number."""


class Client:
    """Keeps its doors open, and its place in each workload's requests, between the slices."""

    def __init__(self, number: int, doors: Doors, workloads: Sequence[Workload]) -> None:
        self._number = number
        self._doors = doors
        self._workloads = {workload.name: workload for workload in workloads}
        self._next: dict[tuple[str, str], int] = {}
        for workload in workloads:
            self._seed(workload)

    def run(self, order: Order) -> Report:
        """Do a slice. Raises whatever a call raises: a refusal has no place in a benchmark."""
        workload = self._workloads[order.workload]
        work = self._work(order.door, workload)
        # Doors to the same data go on where one of them stopped.
        place = (order.workload, self._doors.data(order.door))
        n = self._next.get(place, 0)
        times = array("Q")
        time.sleep(max(0.0, order.start - time.monotonic()))
        began = time.monotonic()
        cpu = time.process_time()
        n = work(n, began + order.seconds, times)
        report = Report(times, time.monotonic() - began, time.process_time() - cpu)
        self._next[place] = n
        return report

    def close(self) -> None:
        """End the connections."""
        self._doors.close()

    def _work(self, door: str, workload: Workload) -> Work:
        call: Call = self._doors.call(door, workload)
        request, client, clock = workload.request, self._number, time.perf_counter_ns

        def work(n: int, end: float, times: array[int]) -> int:
            while time.monotonic() < end:
                body = request(client, n)
                before = clock()
                call(body)
                times.append(clock() - before)
                n += 1
            return n

        return work

    def _seed(self, workload: Workload) -> None:
        for other, times in workload.seed:
            for door in set(self._doors.seeding) & set(workload.doors):
                call = self._doors.call(door, other)
                for n in range(times):
                    call(other.request(self._number, n))


def main(number: int, places: Places, orders: Connection) -> None:
    """The process of a client of ``make bench``."""
    serve(number, orders, lambda: Client(number, Doors(places), WORKLOADS))


def serve(number: int, orders: Connection, make: Callable[[], Client]) -> None:
    """None when the client is ready, then a report for each order; a text when it failed."""
    try:
        client = make()
        orders.send(None)
        while (order := orders.recv()) is not None:
            orders.send(client.run(order))
        client.close()
    except (HttpError, psycopg.Error, OSError) as error:
        orders.send(f"client {number}: {error!r}")

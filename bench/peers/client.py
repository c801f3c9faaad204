"""A client that has the peers' doors too, and does the asynchronous ones with tasks."""

from __future__ import annotations

import asyncio
import time
from array import array
from multiprocessing.connection import Connection

from bench.client import Client, Work, serve
from bench.doors import Places
from bench.peers.doors import ASYNC_DOORS, PeerDoors
from bench.peers.functions import AsyncCall
from bench.peers.workloads import PEER_WORKLOADS, TaskWorkload
from bench.workloads import Workload

# Tasks stand for clients, and have users of their own: beyond those of the client processes.
_FIRST_TASK = 1000


class PeerClient(Client):
    """Does the asynchronous doors natively, in one loop for the whole slice."""

    _doors: PeerDoors

    def __init__(self, number: int, places: Places) -> None:
        super().__init__(number, PeerDoors(places), PEER_WORKLOADS)
        self._seeded: set[tuple[str, str]] = set()

    def _work(self, door: str, workload: Workload) -> Work:
        if door not in ASYNC_DOORS:
            return super()._work(door, workload)
        tasks = workload.tasks if isinstance(workload, TaskWorkload) else 1
        users = [self._number] if tasks == 1 else range(_FIRST_TASK, _FIRST_TASK + tasks)
        calls = self._doors.async_calls(door, workload, tasks)
        if tasks > 1:
            self._seed_tasks(door, workload, users)

        def work(n: int, end: float, times: array[int]) -> int:
            async def together() -> list[int]:
                return await asyncio.gather(
                    *(
                        _repeat(call, workload, user, n, end, times)
                        for call, user in zip(calls, users, strict=True)
                    )
                )

            return max(self._doors.await_(together()))

        return work

    def _seed_tasks(self, door: str, workload: Workload, users: range | list[int]) -> None:
        seeded = (self._doors.data(door), workload.name)
        if seeded in self._seeded:
            return
        self._seeded.add(seeded)
        for other, times in workload.seed:
            call = self._doors.call("e" if seeded[0] == "langgraph" else "b", other)
            for user in users:
                for n in range(times):
                    call(other.request(user, n))


async def _repeat(
    call: AsyncCall, workload: Workload, user: int, n: int, end: float, times: array[int]
) -> int:
    request, clock = workload.request, time.perf_counter_ns
    while time.monotonic() < end:
        body = request(user, n)
        before = clock()
        await call(body)
        times.append(clock() - before)
        n += 1
    return n


def main(number: int, places: Places, orders: Connection) -> None:
    """The process of a client of ``make bench-peers``."""
    serve(number, orders, lambda: PeerClient(number, places))

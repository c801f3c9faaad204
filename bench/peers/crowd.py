"""One process with many HTTP connections, each with one request under way."""

from __future__ import annotations

import select
import time
from array import array
from typing import Final

import msgspec

from bench.client import Report
from bench.http_client import HttpClient, HttpError
from bench.workloads import Workload
from loom.types import path_of

# Each connection has a user of its own, beyond those of the other clients.
_FIRST_USER: Final = 2000
_PATIENCE: Final = 30.0


class Crowd:
    """So many connections; a request follows on each as soon as its answer is there."""

    def __init__(self, address: tuple[str, int], token: str, size: int) -> None:
        self._clients = [HttpClient(address, token) for _ in range(size)]
        self._next = [0] * size

    def run(self, workload: Workload, seconds: float) -> Report:
        """Requests for so long. The answers to the last ones are waited for and count too."""
        path, clock, times = path_of(workload.op), time.perf_counter_ns, array("Q")
        sent = [0] * len(self._clients)
        for client in self._clients:
            client.refresh()
        places = {client.fileno(): place for place, client in enumerate(self._clients)}

        def send(place: int) -> None:
            request = workload.request(_FIRST_USER + place, self._next[place])
            self._next[place] += 1
            body = msgspec.json.encode(request)
            sent[place] = clock()
            self._clients[place].send(path, body)

        began, cpu = time.monotonic(), time.process_time()
        with select.epoll() as readable:
            for descriptor in places:
                readable.register(descriptor, select.EPOLLIN)
            for place in places.values():
                send(place)
            waiting = len(places)
            while waiting:
                ready = readable.poll(_PATIENCE)
                if not ready:
                    raise HttpError(f"no answer within {_PATIENCE:g} s")
                going = time.monotonic() < began + seconds
                for descriptor, _ in ready:
                    place = places[descriptor]
                    # An answer is small and is sent at once: what is not there yet follows.
                    self._clients[place].receive()
                    times.append(clock() - sent[place])
                    if going:
                        send(place)
                    else:
                        waiting -= 1
        return Report(times, time.monotonic() - began, time.process_time() - cpu)

    def close(self) -> None:
        """End the connections."""
        for client in self._clients:
            client.close()

"""The load: clients on threads of one process of its own, as fast as they can or at a pace."""

from __future__ import annotations

import multiprocessing
import threading
import time
from array import array
from collections import Counter
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from random import Random
from types import TracebackType
from typing import Final, NamedTuple, Self

import msgspec

from bench.http_client import HttpClient, HttpError
from bench.soak.operations import Where, drawn
from loom.types import path_of

CLIENTS: Final = 12
_LATE_SECONDS: Final = 1.0
_PATIENCE: Final = 60.0


class Target(NamedTuple):
    """Where the clients go."""

    api: tuple[str, int]
    token: str
    looms: tuple[str, ...]


@dataclass
class Tally:
    """What happened since the last one: the times of calls in nanoseconds; how often each operation
    was done; what was refused or failed; how often a client was too late for its pace."""

    nanoseconds: array[int] = field(default_factory=lambda: array("Q"))
    ops: Counter[str] = field(default_factory=Counter)
    errors: Counter[str] = field(default_factory=Counter)
    late: int = 0


class Load:
    """The clients' process, as the one that measures sees it."""

    def __init__(self, target: Target) -> None:
        context = multiprocessing.get_context("spawn")
        self._orders, theirs = context.Pipe()
        self._process: BaseProcess = context.Process(
            target=_main, args=(target, theirs), daemon=True
        )
        self._process.start()
        theirs.close()

    def __enter__(self) -> Self:
        self.tally()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._process.kill()
        self._process.join()

    def pace(self, ops_per_second: float | None) -> None:
        """From now on so many operations a second together, None: as many as there can be, 0: none.
        The call returns once the calls under way have ended."""
        self._orders.send(("pace", ops_per_second))
        self._receive()

    def tally(self) -> Tally:
        """What happened since the last one."""
        self._orders.send(("tally", None))
        told = self._receive()
        assert isinstance(told, Tally)
        return told

    def _receive(self) -> object:
        if not self._orders.poll(_PATIENCE):
            raise TimeoutError("the clients do not answer")
        return self._orders.recv()


def _main(target: Target, orders: Connection) -> None:
    clients = _Clients(target)
    while True:
        order, value = orders.recv()
        if order == "pace":
            clients.pace(value)
            orders.send(None)
        else:
            orders.send(clients.tally())


class _Clients:
    """Client threads, which all end when the pace changes."""

    def __init__(self, target: Target) -> None:
        self._target = target
        self._lock = threading.Lock()
        self._tally = Tally()
        self._threads: list[threading.Thread] = []
        self._stop = threading.Event()
        self._round = 0

    def tally(self) -> Tally:
        with self._lock:
            told, self._tally = self._tally, Tally()
        gone = sum(not thread.is_alive() for thread in self._threads)
        if gone:
            told.errors["a client that ended"] += gone
        return told

    def pace(self, ops_per_second: float | None) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join()
        self._stop = threading.Event()
        self._round += 1
        clients = 0 if ops_per_second == 0 else CLIENTS
        self._threads = [
            threading.Thread(target=self._run, args=(number, ops_per_second, self._stop))
            for number in range(clients)
        ]
        for thread in self._threads:
            thread.daemon = True
            thread.start()

    def _run(self, number: int, rate: float | None, stop: threading.Event) -> None:
        writer = self._round * CLIENTS + number
        random, n = Random(writer), 0
        client = HttpClient(self._target.api, self._target.token)
        step = CLIENTS / rate if rate else 0.0
        due = time.monotonic() + step * number / CLIENTS
        while not stop.wait(max(0.0, due - time.monotonic())):
            n += 1
            call, key = drawn(Where(random, writer, n, self._target.looms))
            body = msgspec.json.encode(call.request)
            before, failure = time.perf_counter_ns(), ""
            try:
                client.post(path_of(call.op), body, key)
            except HttpError as error:
                failure = _told(str(error))
            except OSError as error:
                failure = type(error).__name__
                client.close()
                client = HttpClient(self._target.api, self._target.token)
            took, due = time.perf_counter_ns() - before, due + step
            late = rate is not None and time.monotonic() - due > _LATE_SECONDS
            if late:
                due = time.monotonic()
            with self._lock:
                self._tally.nanoseconds.append(took)
                self._tally.ops[call.op] += 1
                self._tally.late += late
                if failure:
                    self._tally.errors[f"{call.op}: {failure}"] += 1
        client.close()


def _told(answer: str) -> str:
    """Status and code of a refusal."""
    head, _, body = answer.partition("\r\n\r\n")
    code = body.partition('"code":"')[2].partition('"')[0]
    return f"{head.split(' ', 2)[1]} {code}".strip()

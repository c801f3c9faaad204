"""The clients, as the process that gives the orders sees them."""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Callable, Sequence
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from types import TracebackType
from typing import Final, Self

from bench import client
from bench.client import Order, Report
from bench.doors import Places

# By then every client has its order, and sleeps until the start.
_HEAD_START: Final = 0.005
_PATIENCE: Final = 120.0


Main = Callable[[int, Places, Connection], None]
"""A client's process: its number, where the doors are, and the pipe its orders come by."""


class FleetError(Exception):
    """A client failed, ended or does not answer."""


class Fleet:
    """So many client processes, numbered from 0."""

    def __init__(self, size: int, places: Places, main: Main = client.main) -> None:
        context = multiprocessing.get_context("spawn")
        self._clients: list[tuple[BaseProcess, Connection]] = []
        for number in range(size):
            ours, theirs = context.Pipe()
            process = context.Process(target=main, args=(number, places, theirs), daemon=True)
            process.start()
            theirs.close()
            self._clients.append((process, ours))

    def __enter__(self) -> Self:
        for process, orders in self._clients:
            _receive(process, orders)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for process, orders in self._clients:
            if kind is None:
                orders.send(None)
                process.join(_PATIENCE)
            process.kill()

    @property
    def pids(self) -> list[int]:
        """The clients' processes."""
        return [process.pid for process, _ in self._clients if process.pid is not None]

    def run(
        self, clients: int, workload: str, door: str, seconds: float, meter: Callable[[], object]
    ) -> Sequence[Report]:
        """Have the first `clients` run a slice together. `meter` is called just before it."""
        chosen = self._clients[:clients]
        meter()
        order = Order(workload, door, time.monotonic() + _HEAD_START, seconds)
        for _, orders in chosen:
            orders.send(order)
        return [_receive(process, orders) for process, orders in chosen]


def _receive(process: BaseProcess, orders: Connection) -> Report:
    if not orders.poll(_PATIENCE):
        raise FleetError(f"{process.name} does not answer")
    try:
        said: Report | str = orders.recv()
    except EOFError:
        raise FleetError(f"{process.name} ended (exit code {process.exitcode})") from None
    if isinstance(said, str):
        raise FleetError(said)
    return said

"""CPU time of processes, to the nanosecond, as Linux's scheduler counts it."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

_PROC = Path("/proc")
_TICKS = os.sysconf("SC_CLK_TCK")


def process_seconds(pid: int) -> float:
    """What the live threads of a process have run so far; 0 for a process that is gone."""
    return _sum_ns((_PROC / str(pid) / "task").glob("*/schedstat")) / 1e9


def family(parent: int) -> list[int]:
    """A process and its children: a PostgreSQL server and its backends."""
    found = [parent]
    for entry in _PROC.glob("[0-9]*/stat"):
        try:
            # pid (name) state parent …; the name may hold anything.
            text = entry.read_text(errors="replace")
        except OSError:
            continue  # it ended meanwhile
        if int(text.rpartition(")")[2].split()[1]) == parent:
            found.append(int(entry.parent.name))
    return found


class Machine(NamedTuple):
    """Seconds of CPU time that all processors were busy, and that there were, since the start."""

    busy: float
    all: float


def machine() -> Machine:
    """What the whole machine has done so far, to a tick."""
    fields = [int(each) for each in (_PROC / "stat").read_text().split("\n", 1)[0].split()[1:9]]
    idle = fields[3] + fields[4]
    return Machine((sum(fields) - idle) / _TICKS, sum(fields) / _TICKS)


class Meter:
    """Groups of processes whose CPU time is read together."""

    def __init__(self, server: int, apps: Mapping[str, int]) -> None:
        self._server = server
        self._apps = dict(apps)

    def read(self) -> dict[str, float]:
        """Seconds so far: of ``server`` (all its processes), and of each app by its name."""
        server = sum(process_seconds(pid) for pid in family(self._server))
        return {"server": server} | {name: process_seconds(pid) for name, pid in self._apps.items()}


class Watch:
    """How much of the machine anything but our own processes uses, from here on."""

    def __init__(self, server: int, pids: Sequence[int]) -> None:
        self._server = server
        self._pids = tuple(pids)
        self._before = machine(), self._ours()

    def others(self) -> float:
        """The share of all processors' time, 0 to 1."""
        (busy, every), ours = machine(), self._ours()
        (busy_before, every_before), ours_before = self._before
        used = (busy - busy_before) - (ours - ours_before)
        return max(0.0, used / (every - every_before))

    def _ours(self) -> float:
        return sum(process_seconds(pid) for pid in (*family(self._server), *self._pids))


def _sum_ns(paths: Iterable[Path]) -> int:
    total = 0
    for path in paths:
        try:
            total += int(path.read_text().split()[0])
        except OSError:
            continue  # the thread ended meanwhile
    return total

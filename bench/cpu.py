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


def server_seconds(postmaster: int) -> float:
    """What a PostgreSQL server's processes have run so far, those that have ended too."""
    return sum(process_seconds(pid) for pid in family(postmaster)) + _ended_children(postmaster)


def _ended_children(parent: int) -> float:
    """Seconds of the children that a process has seen end, to a tick."""
    fields = (_PROC / str(parent) / "stat").read_text(errors="replace").rpartition(")")[2].split()
    return (int(fields[13]) + int(fields[14])) / _TICKS


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
        server = server_seconds(self._server)
        return {"server": server} | {name: process_seconds(pid) for name, pid in self._apps.items()}


class Watch:
    """How much of the machine anything but our own processes uses, from here on."""

    def __init__(self, server: int, pids: Sequence[int]) -> None:
        self._server = server
        self._pids = tuple(pids)
        self._before = machine(), self._ours()

    def others(self, ended: float = 0.0) -> float:
        """The share of all processors' time, 0 to 1. `ended` is what others of ours, who are gone,
        have used."""
        (busy, every), ours = machine(), self._ours()
        (busy_before, every_before), ours_before = self._before
        used = (busy - busy_before) - (ours - ours_before) - ended
        return max(0.0, used / (every - every_before))

    def _ours(self) -> float:
        return server_seconds(self._server) + sum(map(process_seconds, self._pids))


def _sum_ns(paths: Iterable[Path]) -> int:
    total = 0
    for path in paths:
        try:
            total += int(path.read_text().split()[0])
        except OSError:
            continue  # the thread ended meanwhile
    return total

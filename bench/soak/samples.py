"""What is looked at every few seconds: memory and CPU of the processes, tables, and what is due."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import quantiles
from typing import Any, Final, NamedTuple, Self

import psycopg

from bench.cpu import family
from bench.soak.installation import Installation
from bench.soak.load import Load, Tally

_TICKS: Final = os.sysconf("SC_CLK_TCK")
_MEMORY: Final = re.compile(r"^(Rss|Pss): +(\d+) kB", re.MULTILINE)

_TABLES: Final = """
select relname, n_live_tup, n_dead_tup, pg_table_size(relid), pg_indexes_size(relid)
from pg_stat_user_tables where schemaname = 'loom'
"""
_DUE: Final = """
select kind, (told ->> 'oldest_due_seconds')::float
from jsonb_each(loom.work_metrics() -> 'kinds') as work (kind, told)
union all
select 'user_profile', extract(epoch from clock_timestamp() - min(due_at))
from loom.user_profile_task where due_at <= clock_timestamp()
"""
_WORK: Final = "select kind || ': ' || outcome, total from loom.work_count"
_HAS_TUPLE_STATS: Final = """
select count(*) from pg_available_extensions where name = 'pgstattuple'
"""
_TUPLE_STATS: Final = """
select table_name, (told.stat).dead_tuple_percent, (told.stat).free_percent
from (
  select relname as table_name, public.pgstattuple(relid) as stat
  from pg_stat_user_tables where schemaname = 'loom'
) as told
"""


class Memory(NamedTuple):
    """Of one process, in KiB: resident pages, and these with shared ones counted in parts."""

    rss: int
    pss: int


class Table(NamedTuple):
    """Rows as the server's statistics count them, and bytes."""

    live: int
    dead: int
    table_bytes: int
    index_bytes: int

    @property
    def bytes(self) -> int:
        """All it takes on the disk."""
        return self.table_bytes + self.index_bytes


class TupleStats(NamedTuple):
    """Of a table's pages, as pgstattuple reads them: per cent that is dead, and that is free."""

    dead: float
    free: float


@dataclass(frozen=True)
class Sample:
    """One look. `seconds` since the paced load began; rates and times are since the look before."""

    seconds: float
    memory: Mapping[str, Memory]
    cpu: Mapping[str, float]
    """Of one processor, 1.0 is all of it; by process, of the server with all its backends."""
    tables: Mapping[str, Table]
    oldest_due: Mapping[str, float]
    """Seconds, by kind of work; 0 where nothing is due."""
    work: Mapping[str, int]
    """How often work ended so far, by kind and outcome."""
    ops_per_second: float
    p50_ms: float
    p99_ms: float
    errors: int
    late: int


@dataclass
class Sampler:
    """Takes samples of an installation under a load."""

    installation: Installation
    load: Load
    connection: psycopg.Connection[Any]
    began: float = 0.0
    ops: dict[str, int] = field(default_factory=dict)
    errors: dict[str, int] = field(default_factory=dict)
    _last: float = 0.0
    _cpu: dict[str, float] = field(default_factory=dict)

    def begin(self) -> Self:
        """What happened until now counts for nothing."""
        self.load.tally()
        self._cpu = self._processor_seconds()
        self.began = self._last = time.monotonic()
        return self

    def take(self) -> Sample:
        """Look now. Raises `ProcessLookupError` or `FileNotFoundError` for a process that ended."""
        tally, now, cpu = self.load.tally(), time.monotonic(), self._processor_seconds()
        took = now - self._last
        used = {name: (cpu[name] - before) / took for name, before in self._cpu.items()}
        self._last, self._cpu = now, cpu
        self._count(tally)
        times = tally.nanoseconds
        cuts = quantiles(times, n=100, method="inclusive") if len(times) > 1 else [0.0] * 99
        return Sample(
            now - self.began,
            {name: memory(pid) for name, pid in self.installation.processes.items()},
            used,
            tables(self.connection),
            self._oldest_due(),
            dict(self.connection.execute(_WORK).fetchall()),
            len(times) / took,
            cuts[49] / 1e6,
            cuts[98] / 1e6,
            sum(tally.errors.values()),
            tally.late,
        )

    def _count(self, tally: Tally) -> None:
        for counted, more in ((self.ops, tally.ops), (self.errors, tally.errors)):
            for name, times in more.items():
                counted[name] = counted.get(name, 0) + times

    def _oldest_due(self) -> dict[str, float]:
        return {kind: float(age or 0) for kind, age in self.connection.execute(_DUE).fetchall()}

    def _processor_seconds(self) -> dict[str, float]:
        server = self.installation.postmaster
        # A backend that ended is in what its parent has waited for.
        seconds = sum(map(_own_seconds, family(server))) + _ended_seconds(server)
        own = {name: _own_seconds(pid) for name, pid in self.installation.processes.items()}
        return own | {"PostgreSQL": seconds}


def memory(pid: int) -> Memory:
    """What a process holds."""
    text = Path(f"/proc/{pid}/smaps_rollup").read_text()
    found = {name: int(kib) for name, kib in _MEMORY.findall(text)}
    return Memory(found["Rss"], found["Pss"])


def tables(connection: psycopg.Connection[Any]) -> dict[str, Table]:
    """All tables of Loom."""
    rows: Sequence[tuple[Any, ...]] = connection.execute(_TABLES).fetchall()
    return {row[0]: Table(*row[1:]) for row in rows}


def tuple_stats(connection: psycopg.Connection[Any]) -> dict[str, TupleStats]:
    """What pgstattuple reads in each table; empty where the server does not offer it."""
    offered = connection.execute(_HAS_TUPLE_STATS).fetchone()
    if offered != (1,):
        return {}
    connection.execute("create extension if not exists pgstattuple schema public")
    rows = connection.execute(_TUPLE_STATS).fetchall()
    return {name: TupleStats(float(dead), float(free)) for name, dead, free in rows}


def _own_seconds(pid: int) -> float:
    return sum(_times(pid)[:2]) / _TICKS


def _ended_seconds(pid: int) -> float:
    return sum(_times(pid)[2:]) / _TICKS


def _times(pid: int) -> list[int]:
    """User and system time of a process, and of its children that it has waited for, in ticks."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(errors="replace")
    except OSError:
        return [0, 0, 0, 0]  # it ended meanwhile
    return [int(each) for each in text.rpartition(")")[2].split()[11:15]]

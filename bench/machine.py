"""What the numbers were measured on: the machine, the server, and what one flush to disk takes."""

from __future__ import annotations

import os
import platform
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any, Final

import psycopg

_IN_MEMORY: Final = frozenset({"tmpfs", "ramfs", "devtmpfs"})
_SETTINGS: Final = (
    "fsync",
    "synchronous_commit",
    "full_page_writes",
    "wal_sync_method",
    "shared_buffers",
    "max_connections",
)
# What PostgreSQL flushes for a small commit: one page of its log.
_PAGE: Final = bytes(8192)


class NotDurableError(Exception):
    """Commits of this server would not reach a disk."""


def describe(conninfo: str) -> dict[str, Any]:
    """Machine and server in words and numbers. Raises `NotDurableError`."""
    with psycopg.connect(conninfo) as connection:
        settings = {name: _show(connection, name) for name in _SETTINGS}
        version = _show(connection, "server_version")
        disk = file_system(Path(_show(connection, "data_directory")))
    off = [name for name in ("fsync", "synchronous_commit") if settings[name] != "on"]
    if off or disk in _IN_MEMORY:
        raise NotDurableError(f"data on {disk}, switched off: {', '.join(off) or 'nothing'}")
    return {
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "processor": _processor(),
        "processors": os.cpu_count(),
        "memory_mib": os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") >> 20,
        "kernel": f"{platform.system()} {platform.release()} {platform.machine()}",
        "python": platform.python_version(),
        "postgresql": version,
        "settings": settings,
        "file_system": disk,
    }


def file_system(path: Path) -> str:
    """The kind of file system that `path` is on, as the kernel calls it."""
    device = path.stat().st_dev
    number = f"{os.major(device)}:{os.minor(device)}"
    for line in Path("/proc/self/mountinfo").read_text().splitlines():
        before, _, after = line.partition(" - ")
        if before.split()[2] == number:
            return after.split()[0]
    return "unknown"


class FlushProbe:
    """Times a page's way to the disk in a folder, a few at a time between the slices."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / "flush-probe"
        self._path.write_bytes(_PAGE)
        self.seconds: list[float] = []

    def measure(self, times: int) -> None:
        """Write and flush a page so many times."""
        descriptor = os.open(self._path, os.O_WRONLY)
        try:
            for _ in range(times):
                started = perf_counter()
                os.pwrite(descriptor, _PAGE, 0)
                os.fdatasync(descriptor)
                self.seconds.append(perf_counter() - started)
        finally:
            os.close(descriptor)

    @property
    def median_us(self) -> float:
        """Microseconds."""
        return median(self.seconds) * 1e6


def _show(connection: psycopg.Connection[Any], name: str) -> str:
    row = connection.execute("select current_setting(%s)", [name]).fetchone()
    assert row is not None
    return str(row[0])


def _processor() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.processor() or "unknown"

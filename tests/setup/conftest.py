"""A folder for the small programs that stand in for the real ones, and the package as a wheel."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.embedded.folders import program_folder

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def program_dir() -> Iterator[Path]:
    """A folder of the test's own from which programs can be run."""
    with program_folder() as folder:
        yield folder


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The package, built as `make wheel` does from a copy of the checkout."""
    copy = tmp_path_factory.mktemp("checkout")
    for name in ("loom", "app", "worker", "sql", "tests"):
        shutil.copytree(ROOT / name, copy / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, copy)
    target = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation"]
    subprocess.run([*build, "--no-index", "--wheel-dir", str(target), str(copy)], check=True)
    (built,) = target.iterdir()
    return built

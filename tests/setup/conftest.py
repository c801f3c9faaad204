"""A folder for the small programs that stand in for the real ones."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.embedded.folders import program_folder


@pytest.fixture
def program_dir() -> Iterator[Path]:
    """A folder of the test's own from which programs can be run."""
    with program_folder() as folder:
        yield folder

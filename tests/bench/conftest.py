"""What tests of benches share: a server with all that is measured before it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from bench.servers import Stage, stage

_BUILD = Path(__file__).resolve().parents[2] / "build"


@pytest.fixture(scope="module")
def running() -> Iterator[Stage]:
    """Up for the tests of one file."""
    with stage(_BUILD, print) as ready:
        yield ready

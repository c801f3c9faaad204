"""Stores for the tests of loom.profile."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.profile.stores import KINDS, store


@pytest.fixture(params=KINDS)
def any_store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Any]:
    """Each of Loom's stores, empty."""
    database = request.getfixturevalue("database") if request.param == "postgres" else None
    with store(request.param, database, tmp_path) as opened:
        yield opened


@pytest.fixture(params=["memory", "sqlite"])
def keyed_store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Any]:
    """Each store that keeps its records under one text."""
    with store(request.param, None, tmp_path) as opened:
        yield opened

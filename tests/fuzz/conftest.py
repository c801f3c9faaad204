"""What the fuzzes share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.cluster import Cluster
from tests.databases import Database, Templates, copy_of
from tests.http.conftest import NO_LOGIN


@pytest.fixture(scope="module")
def fuzzed(cluster: Cluster, templates: Templates) -> Iterator[Database]:
    """A database of a module's own, in which its fuzzes commit."""
    if not cluster.own:
        pytest.skip(NO_LOGIN)
    own = copy_of(cluster, templates.base)
    yield own
    own.close()

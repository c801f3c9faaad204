"""A served database for the tests of the API."""

from __future__ import annotations

import io
import logging
from collections.abc import Iterator
from typing import Any

import msgspec
import psycopg
import pytest

from loom.logs import JsonLines
from tests.calls import mint_token
from tests.cluster import Cluster
from tests.databases import Database, Templates, copy_of
from tests.http.api import Api, running

NO_LOGIN = "on a server of the user's, loom_gateway may have a password that tests do not know"


@pytest.fixture(autouse=True)
def gateway_can_log_in(request: pytest.FixtureRequest) -> None:
    """Skips a test with a database of its own where the gateway's login is not the tests'."""
    if "database" in request.fixturenames and not request.getfixturevalue("cluster").own:
        pytest.skip(NO_LOGIN)


@pytest.fixture(scope="module")
def served(cluster: Cluster, templates: Templates) -> Iterator[Database]:
    """The database of a module's `api`."""
    if not cluster.own:
        pytest.skip(NO_LOGIN)
    own = copy_of(cluster, templates.base)
    yield own
    own.close()


@pytest.fixture(scope="module")
def admin(served: Database) -> psycopg.Connection[Any]:
    """The migration login of `served`."""
    return served.connect()


@pytest.fixture(scope="module")
def api(served: Database, admin: psycopg.Connection[Any]) -> Iterator[Api]:
    """A server that requires tokens, with an admin token of org `acme`, namespace `n`."""
    with running(served) as server:
        server.token = mint_token(admin, org="acme", role="admin", namespace="n").text
        yield server


class LogLines:
    """What was logged while a test ran, as the lines would be written."""

    def __init__(self) -> None:
        self._stream = io.StringIO()
        self.handler = logging.StreamHandler(self._stream)
        self.handler.setFormatter(JsonLines())
        # The tests' own client runs in this process too.
        self.handler.addFilter(lambda record: not record.name.startswith(("httpx2", "httpcore2")))

    @property
    def text(self) -> str:
        """All of it."""
        return self._stream.getvalue()

    @property
    def lines(self) -> list[dict[str, Any]]:
        """Line by line."""
        return [msgspec.json.decode(line) for line in self.text.splitlines()]


@pytest.fixture
def log_lines() -> Iterator[LogLines]:
    """Records every log line of the test."""
    recorded = LogLines()
    root = logging.getLogger()
    level = root.level
    root.addHandler(recorded.handler)
    root.setLevel(logging.DEBUG)
    yield recorded
    root.removeHandler(recorded.handler)
    root.setLevel(level)

"""Fixtures for all tests. Those without a database need none of them.

`db` for tests that can roll back (about 1 ms), `database` for those that must commit (about 25 ms).
Both come migrated, empty, and with a clock that runs until a test stops it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import Any

import psycopg
import pytest

from tests.calls import Token, mint_token
from tests.cluster import Cluster, own_server, users_server
from tests.databases import Clock, Database, Templates, copy_of, make_templates

Connection = psycopg.Connection[Any]


@pytest.fixture(scope="session")
def cluster() -> Iterator[Cluster]:
    """The session's server: the user's when LOOM_DATABASE_URL names one, else one of our own."""
    url = os.environ.get("LOOM_DATABASE_URL")
    with users_server(url) if url else own_server(preload="pg_stat_statements") as running:
        yield running


@pytest.fixture(scope="session")
def templates(cluster: Cluster) -> Templates:
    return make_templates(cluster)


@pytest.fixture(scope="session")
def _shared(cluster: Cluster, templates: Templates) -> Iterator[Connection]:
    shared = copy_of(cluster, templates.base)
    yield shared.connect()
    shared.close()


@pytest.fixture
def db(_shared: Connection) -> Iterator[Connection]:
    """A connection as the migration login, inside a transaction that is rolled back."""
    with _shared.transaction(force_rollback=True):
        yield _shared


@pytest.fixture
def database(cluster: Cluster, templates: Templates) -> Iterator[Database]:
    """A database of the test's own."""
    own = copy_of(cluster, templates.base)
    yield own
    own.close()


@pytest.fixture
def clean_database(cluster: Cluster, templates: Templates) -> Iterator[Database]:
    """A database of the test's own, exactly as the applier makes it: no test clock in it."""
    own = copy_of(cluster, templates.clean)
    yield own
    own.close()


@pytest.fixture
def clock(db: Connection) -> Clock:
    """The clock that `db` sees. For a `database`, make `Clock(connection)`."""
    return Clock(db)


@pytest.fixture
def mint(db: Connection) -> Callable[..., Token]:
    """Mints tokens in `db`: `mint(role="viewer", org="acme", read_user_id="u1")`."""

    def mint_in_db(**request: Any) -> Token:
        return mint_token(db, **request)

    return mint_in_db

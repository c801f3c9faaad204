"""A server without Loom's roles, for tests of what the applier does to a whole cluster."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from psycopg import sql

from tests.cluster import Cluster, own_server


@pytest.fixture(scope="session")
def _bare_server() -> Iterator[Cluster]:
    with own_server() as running:
        yield running


@pytest.fixture
def bare(_bare_server: Cluster) -> Cluster:
    """A server of our own (also beside one of the user's) without a database or role of Loom."""
    with _bare_server.maintenance() as conn:
        databases = conn.execute(
            "select datname from pg_database where not datistemplate and datname <> 'postgres'"
        ).fetchall()
        for (name,) in databases:
            conn.execute(sql.SQL("drop database {} with (force)").format(sql.Identifier(name)))
        # Roles made by a role that goes away are granted by it, so its grants go first.
        roles = conn.execute("select rolname from pg_roles where rolname ^@ 'loom_'").fetchall()
        for (name,) in roles:
            conn.execute(sql.SQL("drop owned by {} cascade").format(sql.Identifier(name)))
        for (name,) in roles:
            conn.execute(sql.SQL("drop role if exists {}").format(sql.Identifier(name)))
    return _bare_server

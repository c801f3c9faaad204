"""A real server and database for the tests of the SDK, and agents that talk to them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from loom import Agent
from tests.calls import mint_token
from tests.cluster import Cluster
from tests.databases import Database, Templates, copy_of
from tests.http.api import Api, running


@pytest.fixture(scope="module")
def served(cluster: Cluster, templates: Templates) -> Iterator[Database]:
    """The database of a module's `api`."""
    if not cluster.own:
        pytest.skip("on a server of the user's loom_gateway may have a password")
    own = copy_of(cluster, templates.base)
    yield own
    own.close()


@pytest.fixture(scope="module")
def api(served: Database) -> Iterator[Api]:
    """A server that requires tokens, with an admin token of org `acme`."""
    with running(served) as server:
        server.token = mint_token(served.connect(), org="acme", role="admin").text
        yield server


@pytest.fixture
def bot(api: Api, request: pytest.FixtureRequest) -> Callable[..., Agent]:
    """Makes agents that share a namespace with no other test."""

    def agent(**options: Any) -> Agent:
        named = {"org": "acme", "namespace": request.node.name[:200], "agent": "triage-bot"}
        if "client" not in options:
            options = {"base_url": api.url, "api_key": api.token, **options}
        return Agent(**{**named, **options})

    return agent

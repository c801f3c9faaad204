"""What the tests of the command share."""

from __future__ import annotations

import pytest

from tests.databases import Database


@pytest.fixture
def clean_database(clean_database: Database) -> Database:
    """On our own server only: the commands give the API's and the worker's logins passwords of
    their own, which on a server of the user's are somebody's already."""
    if not clean_database.cluster.own:
        pytest.skip("would change logins of a server of the user's")
    return clean_database

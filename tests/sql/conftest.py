"""What tests of the operations share: the services of `tests.cluster`, bound to the org acme."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest

from tests.cluster import SERVICES

Connection = psycopg.Connection[Any]


@pytest.fixture
def services(db: Connection) -> Connection:
    """`db`, in which every test service may call operations for the org acme."""
    for login in SERVICES:
        db.execute("select loom.service_bind(%s, 'acme')", (login,))
    return db

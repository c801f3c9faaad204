"""Fixtures of the races."""

from __future__ import annotations

import multiprocessing
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor

import pytest

from tests.concurrency.callers import ADMIN, WRITER
from tests.databases import Database

PROCESSES = 8


@pytest.fixture(scope="session")
def pool() -> Iterator[ProcessPoolExecutor]:
    """Eight processes that stay for all tests, since starting one costs more than a race."""
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(PROCESSES, mp_context=spawn) as running:
        yield running


@pytest.fixture
def acme(database: Database) -> Database:
    """A database in which the services' logins may work for org acme."""
    with database.connect() as conn:
        for login in (WRITER, ADMIN):
            conn.execute("select loom.service_bind(%s, 'acme')", (login,))
    return database

"""loom.health: what the API and the worker compare with their own files."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import psycopg
import pytest

from tests.calls import Answer, acting_as, refused

Connection = psycopg.Connection[Any]


def health(db: Connection) -> Answer:
    row = db.execute("select loom.health()").fetchone()
    assert row is not None
    return row[0]  # type: ignore[no-any-return]


def test_it_names_the_schemas_state(db: Connection) -> None:
    answer = health(db)
    # Of the product's own, not of what an extension adds.
    last = db.execute("select max(name) from loom.migration where strpos(name, '/') = 0").fetchone()
    digest = db.execute("select sha256 from loom.functions_digest").fetchone()
    assert (answer["migration"],) == last
    assert (answer["functions_sha256"],) == digest
    assert answer["server_version"] == db.info.server_version
    assert (answer["open_mode"], answer["workers"]) == (False, [])


def test_it_shows_open_mode(db: Connection) -> None:
    db.execute("select loom.open_mode_set(60)")
    assert health(db)["open_mode"] is True
    db.execute("select loom.open_mode_clear()")
    assert health(db)["open_mode"] is False


def test_it_shows_workers_and_how_long_they_have_been_silent(db: Connection) -> None:
    worker = str(uuid4())
    db.execute("select loom.worker_beat(%s)", (worker,))
    (shown,) = health(db)["workers"]
    assert shown["worker_id"] == worker
    assert shown["started_at"] == shown["last_seen_at"]
    assert shown["started_at"].endswith("Z")
    assert 0 <= shown["seconds_since"] < 60


@pytest.mark.parametrize("login", ["loom_gateway", "loom_worker", "loom_test_operator"])
def test_gateway_worker_and_operator_may_ask(db: Connection, login: str) -> None:
    with acting_as(db, login):
        assert health(db)["migration"]


@pytest.mark.parametrize("login", ["loom_test_viewer", "loom_test_writer", "loom_test_admin"])
def test_services_may_not(db: Connection, login: str) -> None:
    with refused(db, "42501"), acting_as(db, login):
        health(db)

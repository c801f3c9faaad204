"""loom.worker_beat and loom.worker_gone: which workers are alive."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

import psycopg
import pytest

from tests.calls import acting_as, refused
from tests.databases import Clock

Connection = psycopg.Connection[Any]

NOON = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


def beat(db: Connection, worker: str) -> None:
    with acting_as(db, "loom_worker"):
        db.execute("select loom.worker_beat(%s)", (worker,))


def workers(db: Connection) -> list[Any]:
    return db.execute(
        "select worker_id::text, started_at, last_seen_at from loom.worker order by started_at"
    ).fetchall()


def test_a_first_beat_makes_a_row_and_the_next_ones_keep_it_fresh(
    db: Connection, clock: Clock
) -> None:
    worker = str(uuid4())
    clock.set(NOON)
    beat(db, worker)
    assert workers(db) == [(worker, NOON, NOON)]
    later = clock.advance(seconds=30)
    beat(db, worker)
    assert workers(db) == [(worker, NOON, later)]


def test_workers_silent_for_more_than_a_day_are_forgotten(db: Connection, clock: Clock) -> None:
    killed, alive = str(uuid4()), str(uuid4())
    clock.set(NOON)
    beat(db, killed)
    clock.advance(days=1)
    beat(db, alive)
    assert len(workers(db)) == 2
    clock.advance(microseconds=1)
    beat(db, alive)
    assert [row[0] for row in workers(db)] == [alive]


def test_a_worker_that_stops_in_order_takes_its_row_along(db: Connection) -> None:
    stopped, alive = str(uuid4()), str(uuid4())
    beat(db, stopped)
    beat(db, alive)
    with acting_as(db, "loom_worker"):
        db.execute("select loom.worker_gone(%s)", (stopped,))
        db.execute("select loom.worker_gone(%s)", (stopped,))
    assert [row[0] for row in workers(db)] == [alive]


@pytest.mark.parametrize(
    "login",
    [
        "loom_gateway",
        "loom_test_viewer",
        "loom_test_writer",
        "loom_test_admin",
        "loom_test_operator",
    ],
)
def test_only_the_worker_beats(db: Connection, login: str) -> None:
    for statement in (
        b"select loom.worker_beat(gen_random_uuid())",
        b"select loom.worker_gone(gen_random_uuid())",
    ):
        with refused(db, "42501"), acting_as(db, login):
            db.execute(statement)


def test_a_beat_of_no_worker_is_refused(db: Connection) -> None:
    with acting_as(db, "loom_worker"), refused(db, "LM001") as refusal:
        db.execute("select loom.worker_beat(null)")
    assert refusal.detail["field"] == "p_worker_id"
    assert workers(db) == []

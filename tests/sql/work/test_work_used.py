"""loom.work_used: what calls of a model took, for whom, and in sum."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import pytest
from psycopg.rows import dict_row
from psycopg.types.json import Jsonb

from tests.calls import Answer, Connection, refused
from tests.databases import Clock
from tests.sql.erasure.rows_of import erase, rows_of
from tests.sql.facts import NOON, fact
from tests.sql.structured_profile.building import (
    KIND,
    as_worker,
    build_row,
    complete,
    due,
    fail,
    lease,
    model_call,
    read,
    rest,
    set_schema,
    used,
)

U1 = {"user_id": "u1"}


@pytest.fixture(autouse=True)
def _noon(db: Connection, clock: Clock) -> None:
    clock.set(NOON)
    set_schema(db)


def usage(db: Connection) -> list[Answer]:
    with db.cursor(row_factory=dict_row) as cursor:
        return cursor.execute("select * from loom.model_usage order by at, outcome").fetchall()


def days(db: Connection) -> list[tuple[Any, ...]]:
    return db.execute(
        "select org, day::text, purpose, model, outcome, calls, prompt_tokens, completion_tokens,"
        " milliseconds from loom.model_day order by 1, 2, 3, 4, 5"
    ).fetchall()


def tokens(db: Connection) -> Any:
    row = db.execute("select loom.work_metrics() -> 'model_tokens'").fetchone()
    assert row is not None
    return row[0]


def test_each_call_is_a_row_of_its_user(db: Connection) -> None:
    fact(db, "set", **U1, value="tea")
    taken = lease(db)
    read(db, taken)
    refused_format = model_call(0, 0, outcome="FORMAT_REFUSED", milliseconds=9)
    used(db, refused_format, model_call(100, 20), taken=taken)
    first, second = usage(db)
    assert {key: first[key] for key in ("org", "namespace", "user_id", "purpose", "model")} == {
        "org": "acme",
        "namespace": "main",
        "user_id": "u1",
        "purpose": KIND,
        "model": "gpt",
    }
    assert (first["at"], first["outcome"], first["milliseconds"]) == (NOON, "FORMAT_REFUSED", 9)
    assert (second["outcome"], second["prompt_tokens"], second["completion_tokens"]) == (
        *("OK", 100, 20),
    )
    # The lease is as it was.
    assert complete(db, taken, {"name": "Sam"})["outcome"] == "written"


def test_it_is_added_up_by_day_and_how_it_ended(db: Connection, clock: Clock) -> None:
    used(db, model_call(100, 20), model_call(1, 2), model_call(5, 0, outcome="CUT_OFF"))
    used(db, model_call(10, 1))
    used(db, 7, org="beta")
    clock.set(NOON.replace(hour=23, minute=59, second=59))
    used(db, 1)
    clock.advance(seconds=1)
    used(db, 1000)
    assert days(db) == [
        ("acme", "2026-03-01", KIND, "gpt", "CUT_OFF", 1, 5, 0, 70),
        ("acme", "2026-03-01", KIND, "gpt", "OK", 4, 112, 23, 280),
        ("acme", "2026-03-02", KIND, "gpt", "OK", 1, 1000, 0, 70),
        ("beta", "2026-03-01", KIND, "gpt", "OK", 1, 7, 0, 70),
    ]
    assert tokens(db) == {KIND: 112 + 23 + 5 + 1000 + 7}


def test_the_day_is_that_of_utc_whatever_the_session_is_set_to(
    db: Connection, clock: Clock
) -> None:
    clock.set(NOON.replace(hour=23, minute=30))
    db.execute("set local timezone = 'Asia/Tokyo'")
    used(db, 1)
    assert days(db)[0][1] == "2026-03-01"


def test_what_came_after_the_lease_names_nobody(db: Connection, clock: Clock) -> None:
    fact(db, "set", **U1, value="tea")
    taken = lease(db)
    clock.advance(seconds=300)
    used(db, 5, taken=taken)
    fail(db, taken)
    used(db, 6)
    assert [(row["user_id"], row["prompt_tokens"]) for row in usage(db)] == [("-", 5), ("-", 6)]


def test_o70_an_erasure_takes_the_rows_and_leaves_the_sums(db: Connection) -> None:
    fact(db, "set", **U1, value="tea")
    taken = lease(db)
    used(db, 5, taken=taken)
    assert rows_of(db, "u1")["model_usage"]
    erase(db)
    assert rows_of(db, "u1") == {}
    # The model was still thinking.
    used(db, 6, taken=taken)
    assert rows_of(db, "u1") == {}
    assert [row[5:7] for row in days(db)] == [(2, 11)]


def test_numbers_that_no_provider_can_mean_are_cut(db: Connection) -> None:
    """What was built is not lost for them."""
    used(db, {**model_call(), "prompt_tokens": 1e30, "completion_tokens": -7, "milliseconds": 1.9})
    (row,) = usage(db)
    assert (row["prompt_tokens"], row["completion_tokens"], row["milliseconds"]) == (
        *(2147483647, 0, 1),
    )


@pytest.mark.parametrize(
    "calls",
    [
        *(None, {}, [], "text", [1], [[]], [{}]),
        [{**model_call(), "outcome": "the user said: hello"}],
        [{**model_call(), "outcome": None}],
        [{**model_call(), "prompt_tokens": "7"}],
        [{**model_call(), "completion_tokens": None}],
        [model_call(), {key: 1 for key in model_call() if key != "milliseconds"}],
    ],
    ids=str,
)
def test_calls_of_another_shape_are_refused(db: Connection, calls: Any) -> None:
    with refused(db, "LM001") as refusal, as_worker(db):
        db.execute(
            "select loom.work_used('acme', 'main', %s, 'structured_profile', 'm', %s)",
            (uuid4(), Jsonb(calls)),
        )
    assert refusal.detail["field"] == "p_calls"
    assert usage(db) == []


def test_claims_and_ends_are_counted(db: Connection, clock: Clock) -> None:
    """What a released lease was is claimed again, and what was lost is found at a claim."""
    fact(db, "set", **U1, value="tea")
    fail(db, lease(db), "released", "WORKER_STOPPED")
    fail(db, lease(db))
    rest(db, clock, 300)
    lease(db)
    # Its worker has died; the backoff of the second attempt is longer than the lease.
    rest(db, clock, 600)
    taken = lease(db)
    assert build_row(db)["last_error"] == "LEASE_LOST"
    read(db, taken)
    assert complete(db, taken, {"name": "Sam"})["outcome"] == "written"
    assert complete(db, taken, {"name": "Sam"})["outcome"] == "lost"
    assert due(db) == {}
    counted = db.execute("select outcome, total, last_at from loom.work_count order by 1")
    assert [(outcome, total) for outcome, total, _ in counted.fetchall()] == [
        *(("claimed", 4), ("failed", 1), ("lost", 1), ("released", 1), ("written", 1)),
    ]

"""loom.work_settings: the waits and bounds of a kind of work."""

from __future__ import annotations

from typing import Any

import pytest
from psycopg.types.json import Jsonb

from tests.calls import Connection, refused
from tests.databases import Clock
from tests.sql.facts import NOON, fact
from tests.sql.structured_profile.building import due, pass_row, set_schema, settings

DEFAULTS = {
    "enabled": True,
    "memory_limit": 100,
    "max_users_per_pass": 20,
    "max_pass_seconds": 600,
    "interval_seconds": 60,
    "idle_interval_seconds": 600,
    "cooldown_seconds": 600,
    "backoff_base_seconds": 300,
    "backoff_cap_seconds": 21600,
    "refusal_retry_seconds": 21600,
    "lease_seconds": 300,
}

_STORED = """
select jsonb_build_object('enabled', enabled, 'memory_limit', memory_limit,
  'max_users_per_pass', max_users_per_pass,
  'max_pass_seconds', extract(epoch from max_pass)::float,
  'interval_seconds', extract(epoch from pass_interval)::float,
  'idle_interval_seconds', extract(epoch from idle_interval)::float,
  'cooldown_seconds', extract(epoch from cooldown)::float,
  'backoff_base_seconds', extract(epoch from backoff_base)::float,
  'backoff_cap_seconds', extract(epoch from backoff_cap)::float,
  'refusal_retry_seconds', extract(epoch from refusal_retry)::float,
  'lease_seconds', extract(epoch from lease)::float)
from loom.work_kind where kind = 'structured_profile'
"""


def _stored(db: Connection) -> Any:
    row = db.execute(_STORED).fetchone()
    assert row is not None
    return row[0]


def test_the_defaults_are_the_seeds(db: Connection) -> None:
    assert _stored(db) == DEFAULTS


@pytest.mark.parametrize(
    ("name", "value"),
    [
        (name, False if value is True else 7 if name in ("memory_limit",) else value + 7)
        for name, value in DEFAULTS.items()
    ],
)
def test_each_is_set_alone(db: Connection, name: str, value: object) -> None:
    settings(db, **{name: value})
    assert _stored(db) == {**DEFAULTS, name: value}
    settings(db)
    assert _stored(db) == {**DEFAULTS, name: value}


def test_parts_of_seconds_are_kept(db: Connection) -> None:
    settings(db, cooldown_seconds=0.25)
    assert _stored(db)["cooldown_seconds"] == 0.25


def test_an_unknown_kind_is_refused(db: Connection) -> None:
    with refused(db, "LM001") as refusal:
        db.execute("select loom.work_settings('nothing', %s)", (Jsonb({}),))
    assert refusal.detail["field"] == "p_kind"


def test_settings_end_the_wait_that_former_ones_began(db: Connection, clock: Clock) -> None:
    clock.set(NOON)
    set_schema(db)
    due(db)
    assert pass_row(db)["not_before"] is not None
    settings(db, idle_interval_seconds=5)
    assert due(db) == {}
    assert pass_row(db)["not_before"] == clock.advance(seconds=5)


def test_a_pass_under_way_keeps_its_budget_and_the_next_has_the_new_one(
    db: Connection, clock: Clock
) -> None:
    clock.set(NOON)
    set_schema(db)
    fact(db, "set", user_id="u1", value="tea")
    assert due(db) == {"main": 20}
    settings(db, max_users_per_pass=7)
    assert due(db) == {"main": 20}
    clock.advance(seconds=600)
    assert due(db) == {"main": 7}

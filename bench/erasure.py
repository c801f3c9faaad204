"""How long an erasure takes, by how many rows the user has: it should be so many times as long."""

from __future__ import annotations

from collections.abc import Mapping
from statistics import median
from time import perf_counter
from typing import Any, Final

import psycopg

from bench.functions import answer
from bench.workloads import ORG

SIZES: Final = (1_000, 10_000, 40_000)

_USER: Final = {"org": ORG, "namespace": "support", "agent": "learner", "user_id": "leaving"}
_FACT: Final = {"memory_key": "fact-0", "value": "The user prefers short answers."}

# Facts like the one that is there, whatever columns a fact has; and their first versions.
_MULTIPLY: Final = (
    """
    insert into loom.memory
    select copy.* from loom.memory as fact, generate_series(1, %(more)s) as n
    cross join lateral jsonb_populate_record(fact, jsonb_build_object(
      'memory_id', gen_random_uuid(), 'memory_key', 'fact-' || n)) as copy
    where fact.org = %(org)s and fact.user_id = %(user_id)s
    """,
    """
    insert into loom.memory_version
    select copy.* from loom.memory_version as first
    join loom.memory as fact on fact.org = first.org and fact.user_id = first.user_id
      and fact.memory_id <> first.memory_id
    cross join lateral jsonb_populate_record(first, jsonb_build_object(
      'memory_id', fact.memory_id)) as copy
    where first.org = %(org)s and first.user_id = %(user_id)s
    """,
)


def measure(conninfo: str, times: int) -> Mapping[int, float]:
    """Seconds of an erasure by rows removed; medians of so many. For the migration login."""
    with psycopg.connect(conninfo, autocommit=True) as connection:
        return {size: median(_erase(connection, size) for _ in range(times)) for size in SIZES}


def _erase(connection: psycopg.Connection[Any], size: int) -> float:
    """Fill a user with `size` rows, half of them facts and half their versions, and erase it."""
    answer(connection, "memory.set", _USER | _FACT)
    for statement in _MULTIPLY:
        connection.execute(statement, _USER | {"more": size // 2 - 1})
    connection.execute("vacuum (analyze) loom.memory, loom.memory_version")
    request = {name: _USER[name] for name in ("org", "user_id")}
    started = perf_counter()
    removed = answer(connection, "erasure.request", request)["removed"]
    seconds = perf_counter() - started
    if removed["memory"] + removed["memory_version"] != size:  # beside the user's row of work
        raise ValueError(f"{size} rows were to be erased, and these were: {removed}")
    return seconds

"""Whatever is written, and whatever time does, a user's source digest is that of its sources."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import Any

import psycopg
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.calls import Answer, Connection, operate
from tests.databases import Clock
from tests.sql.doors import execute
from tests.sql.facts import NOON
from tests.sql.structured_profile.building import FOLD
from tests.sql.structured_profile.building import settings as switch
from tests.sql.structured_profile.source_rules import (
    check,
    moments,
    states,
    stored_rows,
)
from tests.sql.worker_rows import worker_writes

# Most steps meet in one identity, so that they find rows there, and these have twins.
PLACE = {"namespace": "main", "agent": "coder", "user_id": "u1", "session_id": "-"}
PLACES = st.sampled_from(
    [PLACE] * 16
    + [{**PLACE, "user_id": user} for user in ("u2", "u2", "-")]
    + [{**PLACE, "namespace": "other"}, {**PLACE, "agent": "-"}, {**PLACE, "session_id": "s"}]
)
KEYS = st.sampled_from(
    ["a", "a", "b", "b", "b", "c", "d", "d", "structured_profile", "consolidated_profile"]
)
TAGS = st.sampled_from(["forget", "about:other", "attribute:health", "t", "attribute", "about:me"])
# Seconds from now, and those of other steps again: moments fall together.
SPANS = st.sampled_from([-60.0, 0.0, 0.000001, 0.000002, 1.0, 60.0, 60.0, 120.0])

SET = st.fixed_dictionaries(
    {"value": st.sampled_from(["x", "x", "x", "y", {"k": [1]}, "a katholisch cook", None])},
    optional={
        "memory_type": st.sampled_from(
            [
                *("semantic", "semantic", "preference", "preference", "decision"),
                *("episodic", "procedural", "profile"),
            ]
        ),
        "tags": st.lists(TAGS, max_size=2),
        "confidence": st.sampled_from([1, 0.5, 0.123, 0]),
        "sensitivity": st.sampled_from(["high", "normal", "normal", "low"]),
        "valid_at": SPANS,
        "valid_to": SPANS,
        "expires_at": SPANS,
        "clear_valid": st.just(True),
        "clear_expiry": st.just(True),
        "pinned": st.booleans(),
        "dry_run": st.sampled_from([True, False, False]),
    },
)
LABEL = st.fixed_dictionaries(
    {},
    optional={
        "sensitivity": st.sampled_from(["high", "normal"]),
        "tags": st.fixed_dictionaries(
            {}, optional={name: st.lists(TAGS, max_size=2) for name in ("add", "remove", "replace")}
        ),
    },
)
NONE: st.SearchStrategy[Answer] = st.just({})
VERBS: list[tuple[int, str, st.SearchStrategy[Answer]]] = [
    (10, "memory.set", SET),
    (3, "memory.delete", NONE),
    (2, "memory.restore", NONE),
    (2, "memory.revert", st.fixed_dictionaries({"version": st.integers(1, 5)})),
    (1, "memory.lock", st.just({"reason": "r", "ttl_seconds": 60})),
    (2, "memory.unlock", NONE),
    (1, "memory.pin", NONE),
    (2, "memory.unpin", NONE),
    (4, "memory.label", LABEL),
    (1, "memory.redact", st.just({"reason": "r"})),
    (1, "profile.set", st.just({"value": "x"})),
    (1, "profile.append", st.just({"addition": "x"})),
    (1, "profile.delete", NONE),
]


def weighted(*choices: tuple[int, Any, st.SearchStrategy[Any]]) -> st.SearchStrategy[Any]:
    """A choice and what goes with it, as often as its weight says; `one_of` would level them."""
    names = [place for place, (weight, _, _) in enumerate(choices) for _ in range(weight)]
    return st.sampled_from(names).flatmap(
        lambda place: st.tuples(st.just(choices[place][1]), choices[place][2])
    )


ONE = st.tuples(PLACES, KEYS, weighted(*VERBS))
MANY = st.lists(ONE, min_size=1, max_size=4)
STEP = weighted(
    (24, "one", ONE),
    (1, "batch", MANY),
    (1, "atomic batch", MANY),
    (1, "twice", ONE),
    (2, "rolled back", MANY),
    (1, "erase", st.sampled_from(["u1", "u2", "u2"])),
    (1, "keep house", st.integers(1, 3)),
    (1, "worker", st.sampled_from(["x", "z"])),
    (1, "fold", st.booleans()),
    (1, "settle", st.none()),
    (5, "to a moment", st.tuples(st.integers(0, 9), st.integers(-1, 1))),
    (1, "wait", st.sampled_from([0.000001, 1.0, 60.0, 14 * 86400.0])),
)
# By their number first: lists of any length are mostly short ones.
STEPS = st.integers(1, 50).flatmap(lambda steps: st.lists(STEP, min_size=steps, max_size=steps))


@contextmanager
def perhaps(conn: Connection) -> Iterator[None]:
    """The block may be refused by Loom; then nothing of it is left."""
    try:
        with conn.transaction():
            yield
    except psycopg.Error as error:
        assert (error.sqlstate or "").startswith("LM"), error


class History:
    """Steps on a database with a stopped clock, each of which is checked."""

    def __init__(self, conn: Connection, clock: Clock) -> None:
        self.conn, self.clock = conn, clock
        self.now = clock.set(NOON)
        self.repeats = 0
        self.following: dict[Any, datetime | None] = {}

    def request(self, step: tuple[Answer, str, tuple[str, Answer]]) -> tuple[str, Answer]:
        """The step's operation and request, with its times as of now."""
        place, key, (op, fields) = step
        fields = {
            name: (self.now + timedelta(seconds=value)).isoformat()
            if name in ("valid_at", "valid_to", "expires_at")
            else value
            for name, value in fields.items()
        }
        named = "label" if op.startswith("profile.") else "memory_key"
        return op, {"org": "acme", **place, named: key, **fields}

    def take(self, kind: str, what: Any) -> None:
        getattr(self, f"_{kind.replace(' ', '_')}")(what)

    def _one(self, step: Any) -> None:
        op, request = self.request(step)
        with perhaps(self.conn):
            operate(self.conn, op, **request)
            self.check_settled(request["namespace"], request["user_id"])

    def _batch(self, steps: Any, atomic: bool = False) -> None:
        requests = [{"op": op, **request} for op, request in map(self.request, steps)]
        with perhaps(self.conn):
            operate(self.conn, "batch", requests=requests, atomic=atomic)

    def _atomic_batch(self, steps: Any) -> None:
        self._batch(steps, atomic=True)

    def _twice(self, step: Any) -> None:
        op, request = self.request(step)
        self.repeats += 1
        for _ in range(2):
            with perhaps(self.conn):
                execute(self.conn, op, key=f"key {self.repeats}", **request)

    def _rolled_back(self, steps: Any) -> None:
        with self.conn.transaction(force_rollback=True):
            for step in steps:
                self._one(step)
            check(self.conn, self.now)

    def _erase(self, user: str) -> None:
        operate(self.conn, "erasure.request", org="acme", user_id=user)

    def _keep_house(self, most: int) -> None:
        self.conn.execute("select loom.housekeeping_memory(%s)", (most,))

    def _worker(self, value: str) -> None:
        worker_writes(self.conn, "structured_profile", value, user_id="u1")

    def _fold(self, enabled: bool) -> None:
        switch(self.conn, FOLD, enabled=enabled)

    def _wait(self, seconds: float) -> None:
        self.now = self.clock.advance(seconds=seconds)

    def check_settled(self, namespace: str, user: str) -> None:
        """A write, accepted or without effect, leaves nothing that time has done untold."""
        state = states(self.conn).get(("acme", namespace, user))
        assert state is None or state.next_change_at is None or state.next_change_at > self.now

    def _to_a_moment(self, aim: tuple[int, int]) -> None:
        """To one of the ends that lie ahead, or a microsecond before or after it."""
        place, offset = aim
        rows = stored_rows(self.conn)
        ends = {end for row in rows for end in (row.expires_at, row.valid_to) if end}
        ahead = sorted(end for end in ends if end > self.now)
        if ahead:
            at = ahead[place % len(ahead)] + timedelta(microseconds=offset)
            self.now = self.clock.set(max(at, self.now))

    def _settle(self, _: None = None) -> None:
        for owner in states(self.conn):
            self.conn.execute("select loom._settle(%s, %s, %s, %s)", (*owner, self.now))

    def check(self) -> None:
        """By the rules; and a moment that has passed stays the first one until it is settled."""
        rows = stored_rows(self.conn)
        check(self.conn, self.now, rows)
        for owner, state in states(self.conn).items():
            if state.next_change_at and state.next_change_at <= self.now:
                assert state.next_change_at == self.following[owner]
            self.following[owner] = state.next_change_at
        self.check_twins()
        self.check_known()

    def check_known(self) -> None:
        """Whoever has something to fold has a build; switched on, one that is listed, or that
        nobody has looked at since."""
        builds = self.conn.execute(
            "select org::text, namespace::text, user_id::text,"
            " not enabled or listed_at is not null or schema_rev < recipe_rev"
            " from loom.build join loom.work_kind using (kind) where kind = %s",
            (FOLD,),
        ).fetchall()
        known = {(org, namespace, user): is_known for org, namespace, user, is_known in builds}
        for owner, state in states(self.conn).items():
            assert state.fold_count == 0 or known.get(owner), owner

    def check_twins(self) -> None:
        """What repeats another row by `duplicate_of` is no source, whenever that is settled."""
        both = self.conn.execute(
            "select memory_id from loom.memory join loom.user_state using (org, namespace, user_id)"
            " where source_part is not null and loom._duplicate_of(memory, %s) is not null"
            " and (next_change_at is null or next_change_at > %s)",
            (self.now, self.now),
        ).fetchall()
        assert both == []


@settings(
    max_examples=100,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(steps=STEPS)
def test_o36_after_any_history_the_digest_is_that_of_the_sources(
    db: Connection, clock: Clock, steps: list[tuple[str, Any]]
) -> None:
    with db.transaction(force_rollback=True):
        story = History(db, clock)
        for kind, what in steps:
            story.take(kind, what)
            story.check()
        story.take("settle", None)
        story.check()
        rows = stored_rows(db)
        assert {owner for owner, state in states(db).items() if state.next_change_at} >= set(
            moments(rows, story.now)
        )

"""Any sequence of writes on two keys leaves them as a small model in Python says they must be."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import psycopg
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.calls import Answer, refused
from tests.databases import Clock
from tests.sql.canonical_json import canonical
from tests.sql.facts import NOON, fact, hash_of, history

Connection = psycopg.Connection[Any]

KEYS = ("one", "two")

# Few values that meet often; the JSON of some is longer than their text.
VALUES = st.sampled_from(["a", "b", "\n\n", None, {"k": 1}, [1.0, 2], ""])
CONDITIONS = st.sampled_from([None, None, None, "current", "stale"])

SET = st.fixed_dictionaries(
    {"value": VALUES},
    optional={
        "tags": st.sampled_from([["x"], ["y", "x"], []]),
        "char_limit": st.integers(1, 8),
        "memory_type": st.sampled_from(["semantic", "profile"]),
        "valid_at": st.just("2026-01-01T00:00:00.000000Z"),
        "clear_valid": st.booleans(),
        "ttl_seconds": st.sampled_from([1, 60]),
        "pinned": st.booleans(),
        "if_absent": st.booleans(),
        "if_match": CONDITIONS,
        "dry_run": st.just(True),
    },
)
WRITES = st.one_of(
    st.tuples(st.just("set"), SET),
    st.tuples(st.just("delete"), st.fixed_dictionaries({}, optional={"if_match": CONDITIONS})),
    st.tuples(st.just("restore"), st.just({})),
    st.tuples(st.just("revert"), st.fixed_dictionaries({"version": st.integers(1, 6)})),
    st.tuples(st.just("lock"), st.just({"reason": "r", "ttl_seconds": 60})),
    st.tuples(st.sampled_from(["pin", "unpin", "unlock"]), st.just({})),
    st.tuples(st.just("wait"), st.sampled_from([{"seconds": 1}, {"seconds": 60}, {"days": 14}])),
)


@dataclass(frozen=True)
class State:
    """What one version of a row says; value is None where `gone`, times are seconds since noon."""

    value: Any = None
    gone: bool = True
    memory_type: str = "semantic"
    char_limit: int = 262144
    tags: tuple[str, ...] = ()
    valid_at: str | None = None
    expires_at: float | None = None
    pinned: bool = False
    locked_until: float | None = None


@dataclass
class Row:
    """A row: its versions, the oldest first, and when it was deleted."""

    versions: list[State] = field(default_factory=list)
    born: int = 0
    deleted_at: float = 0.0

    @property
    def newest(self) -> State:
        return self.versions[-1] if self.versions else State()

    def live(self, now: float) -> bool:
        expires = self.newest.expires_at
        return not self.newest.gone and (expires is None or expires > now)


class Model:
    """Two rows and a clock. `apply` does a write, or says with which SQLSTATE it is refused."""

    def __init__(self) -> None:
        self.rows = {key: Row() for key in KEYS}
        self.now = 0.0
        self.writes = 0

    def apply(self, key: str, verb: str, fields: Answer) -> str | None:
        row = self.rows[key]
        live = row.live(self.now)
        refusal = self._guard(row, verb, fields, live)
        if refusal is not None:
            return refusal
        after: State | str | None = getattr(self, f"_{verb}")(row, fields, live)
        if isinstance(after, str):
            return after
        if after is not None and not fields.get("dry_run"):
            self.writes += 1
            row.born = row.born or self.writes
            row.versions.append(after)
        return None

    def _guard(self, row: Row, verb: str, fields: Answer, live: bool) -> str | None:
        if fields.get("if_absent"):
            if fields.get("if_match") is not None:
                return "LM001"
            if live:
                return "LM202"
        if verb == "restore" and live:
            return None
        if verb in ("pin", "lock") and not live:
            return "LM102"
        if verb in ("unpin", "unlock") and not row.versions:
            return "LM102"
        if verb == "revert" and not self._had(row, fields["version"]):
            return "LM102"
        locked = (row.newest.locked_until or 0) > self.now
        # The model's caller is an admin, who replaces and takes off locks.
        if live and locked and verb not in ("lock", "unlock"):
            return "LM205"
        condition = fields.get("if_match")
        return "LM201" if condition is not None and (not live or condition == "stale") else None

    def _had(self, row: Row, version: int) -> bool:
        return (
            version <= len(row.versions)
            and not row.versions[version - 1].gone
            and not (row.newest.gone and row.deleted_at <= self.now - 14 * 86400)
        )

    def _set(self, row: Row, fields: Answer, live: bool) -> State | str | None:
        old = row.newest if live else State()
        memory_type = fields.get("memory_type") or old.memory_type
        most = 65536 if memory_type == "profile" else 262144
        limit = old.char_limit if live else (8192 if memory_type == "profile" else most)
        limit = fields.get("char_limit") or min(limit, most)
        if len(canonical(fields["value"])) > limit:
            return "LM402"
        changed = not live or hash_of(old.value) != hash_of(fields["value"])
        keeps = not changed and not fields.get("clear_valid")
        new = State(
            value=fields["value"],
            gone=False,
            memory_type=memory_type,
            char_limit=limit,
            tags=tuple(sorted(fields.get("tags") or old.tags)),
            valid_at=fields.get("valid_at") or (old.valid_at if keeps else None),
            expires_at=self.now + fields["ttl_seconds"]
            if "ttl_seconds" in fields
            else old.expires_at,
            pinned=fields.get("pinned", old.pinned),
            locked_until=old.locked_until,
        )
        if changed and old.pinned and new.pinned:
            return "LM204"
        return new if changed or new != old else None

    def _delete(self, row: Row, fields: Answer, live: bool) -> State | None:
        if not live:
            return None
        row.deleted_at = self.now
        return self._but(row.newest, gone=True, value=None)

    def _restore(self, row: Row, fields: Answer, live: bool) -> State | str | None:
        if live:
            return None
        if not row.newest.gone or row.deleted_at <= self.now - 14 * 86400 or not row.versions:
            return "LM102"
        last = next(state for state in reversed(row.versions) if not state.gone)
        if last.expires_at is not None and last.expires_at <= self.now:
            return "LM102"
        return self._but(last, pinned=row.newest.pinned, locked_until=row.newest.locked_until)

    def _revert(self, row: Row, fields: Answer, live: bool) -> State | str:
        wanted, newest = row.versions[fields["version"] - 1], row.newest
        if not newest.gone and newest.pinned and hash_of(wanted.value) != hash_of(newest.value):
            return "LM204"
        expires = newest.expires_at if live else wanted.expires_at
        return self._but(
            wanted,
            pinned=newest.pinned,
            locked_until=newest.locked_until,
            expires_at=expires if expires is None or expires > self.now else None,
        )

    def _pin(self, row: Row, fields: Answer, live: bool) -> State | None:
        return None if row.newest.pinned else self._but(row.newest, pinned=True)

    def _unpin(self, row: Row, fields: Answer, live: bool) -> State | None:
        return self._but(row.newest, pinned=False) if row.newest.pinned else None

    def _lock(self, row: Row, fields: Answer, live: bool) -> State:
        return self._but(row.newest, locked_until=self.now + fields["ttl_seconds"])

    def _unlock(self, row: Row, fields: Answer, live: bool) -> State | None:
        unlocked = row.newest.locked_until is None
        return None if unlocked else self._but(row.newest, locked_until=None)

    @staticmethod
    def _but(state: State, **changes: Any) -> State:
        return State(**{**state.__dict__, **changes})

    def canonical_row(self, key: str) -> str | None:
        """The key whose row this one repeats, or None."""
        row = self.rows[key]
        twins = [
            name
            for name, twin in self.rows.items()
            if twin.live(self.now)
            and twin.newest.memory_type == row.newest.memory_type
            and hash_of(twin.newest.value) == hash_of(row.newest.value)
        ]
        oldest = min(twins, key=lambda name: self.rows[name].born)
        return None if oldest == key else oldest


def check(db: Connection, model: Model) -> None:
    """Holds get and history of both keys to the model."""
    ids = {key: fact(db, "get", memory_key=key)["memory_id"] for key in KEYS}
    for key, row in model.rows.items():
        got = fact(db, "get", memory_key=key)
        assert got["found"] is row.live(model.now), key
        assert got["version"] == (len(row.versions) or None)
        if got["found"]:
            newest = row.newest
            assert hash_of(got["value"]) == got["content_sha256"] == hash_of(newest.value)
            for name in ("memory_type", "char_limit", "valid_at", "pinned"):
                assert got[name] == getattr(newest, name), name
            assert got["tags"] == list(newest.tags)
            assert (got["lock"] is not None) is ((newest.locked_until or 0) > model.now)
            twin = model.canonical_row(key)
            assert got["duplicate_of"] == (None if twin is None else ids[twin])
        versions = history(db, memory_key=key)
        assert [version["content_sha256"] for version in versions] == [
            None if state.gone else hash_of(state.value) for state in row.versions
        ]
        times = [version["recorded_at"] for version in versions]
        assert times == sorted(set(times))


@settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(writes=st.lists(st.tuples(st.sampled_from(KEYS), WRITES), max_size=14))
def test_any_sequence_of_writes_leaves_what_the_model_says(
    db: Connection, clock: Clock, writes: list[tuple[str, tuple[str, Answer]]]
) -> None:
    with db.transaction(force_rollback=True):
        clock.set(NOON)
        model = Model()
        for key, (verb, fields) in writes:
            # A second a step, so that no version is pushed past the clock by the one before.
            clock.advance(**({"seconds": 1} if verb != "wait" else fields))
            model.now += 1 if verb != "wait" else fields.get("seconds", 14 * 86400)
            if verb == "wait":
                continue
            current = model.rows[key].newest.value if model.rows[key].live(model.now) else None
            request = {name: value for name, value in fields.items() if name != "if_match"}
            if fields.get("if_match") is not None:
                stale = fields["if_match"] == "stale"
                request["if_match_sha256"] = hash_of("stale" if stale else current)
            refusal = model.apply(key, verb, fields)
            if refusal is None:
                fact(db, verb, memory_key=key, **request)
            else:
                with refused(db, refusal):
                    fact(db, verb, memory_key=key, **request)
        check(db, model)

"""What each user's source digests must be, worked out from the rows alone by rules of its own: that
of all sources, and that of those among them which the fold reads.

A fact's moments are those at which time alone changes the digest: the end of a source, or of a row
that is no source but holds back a younger twin that would be one.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from uuid import UUID

from psycopg.rows import class_row

from tests.calls import Connection

Owner = tuple[str, str, str]
"""org, namespace, user_id."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)

_ROWS = """
select memory.org::text, memory.namespace::text, memory.agent::text, memory.user_id::text,
  memory.session_id::text, memory.memory_key::text, memory.memory_id, memory.memory_type::text,
  memory.content_sha256, memory.confidence::numeric, memory.tags, memory.sensitivity::text,
  memory.valid_at, memory.valid_to, memory.expires_at, memory.changed_at, memory.created_at,
  memory.deleted_at is not null or memory.redacted_at is not null as gone,
  memory.source_part::text as part, memory.changes_at
from loom.memory
"""
_STATES = """
select (org, namespace, user_id)::text, org::text, namespace::text, user_id::text,
  source_digest::text as digest, source_count, next_change_at, sources_changed_at,
  fold_digest::text as fold_digest, fold_count
from loom.user_state
"""


@dataclass(frozen=True)
class Row:
    """A memory row, and what the database keeps beside it: its part and its moment."""

    org: str
    namespace: str
    agent: str
    user_id: str
    session_id: str
    memory_key: str
    memory_id: UUID
    memory_type: str
    content_sha256: str | None
    confidence: Decimal
    tags: list[str]
    sensitivity: str
    valid_at: datetime | None
    valid_to: datetime | None
    expires_at: datetime | None
    changed_at: datetime
    created_at: datetime
    gone: bool
    part: str | None
    changes_at: datetime | None

    @property
    def owner(self) -> Owner:
        return self.org, self.namespace, self.user_id

    @property
    def group(self) -> tuple[str | None, ...]:
        identity = (self.org, self.namespace, self.agent, self.user_id, self.session_id)
        return (*identity, self.memory_type, self.content_sha256)

    @property
    def age(self) -> tuple[datetime, bytes]:
        return self.created_at, self.memory_id.bytes

    def current(self, at: datetime) -> bool:
        return not self.gone and (self.expires_at is None or self.expires_at > at)

    def eligible(self, at: datetime) -> bool:
        """Whether it is a source, if no older row says the same."""
        return (
            self.user_id != "-"
            and self.memory_type in {"semantic", "preference", "decision"}
            and self.sensitivity != "high"
            and not any(
                tag in {"about:other", "forget"} or tag.startswith("attribute:")
                for tag in self.tags
            )
            and self.current(at)
            and not (self.valid_to is not None and self.valid_to <= at)
        )

    def hashed(self) -> int:
        """What it adds to the digest when it is a source."""
        date = (self.valid_at or self.changed_at) - _EPOCH
        text = (
            f"{self.memory_id}|{self.content_sha256}|{self.confidence:.3f}|{date // _MICROSECOND}"
        )
        return int.from_bytes(hashlib.sha256(text.encode()).digest()[:16])


@dataclass(frozen=True)
class State:
    """What the database keeps of a user."""

    digest: int
    count: int
    next_change_at: datetime | None
    sources_changed_at: datetime | None
    fold_digest: int
    fold_count: int


@dataclass(frozen=True)
class Sources:
    """What a user's rows come to at a time: the part of each source, by its memory_id."""

    parts: dict[UUID, int]

    @property
    def digest(self) -> int:
        folded = 0
        for part in self.parts.values():
            folded ^= part
        return folded

    @property
    def count(self) -> int:
        return len(self.parts)


NOTHING = Sources({})


def bits(part: str) -> int:
    assert len(part) == 128
    return int(part, 2)


def stored_rows(conn: Connection) -> list[Row]:
    """All memory rows there are."""
    with conn.cursor(row_factory=class_row(Row)) as cursor:
        return cursor.execute(_ROWS).fetchall()


def states(conn: Connection) -> dict[Owner, State]:
    """What is kept of each user."""
    return {
        (org, namespace, user): State(bits(digest), count, following, changed, bits(fold), folded)
        for _, org, namespace, user, digest, count, following, changed, fold, folded in (
            conn.execute(_STATES)
        )
    }


def canonical(rows: Iterable[Row], at: datetime) -> dict[tuple[str | None, ...], Row]:
    """Of rows that say the same, the oldest current one."""
    oldest: dict[tuple[str | None, ...], Row] = {}
    for row in rows:
        if row.current(at) and (row.group not in oldest or row.age < oldest[row.group].age):
            oldest[row.group] = row
    return oldest


def sources(rows: Iterable[Row], at: datetime) -> dict[Owner, Sources]:
    """The sources at a time, of each user that has any."""
    found: dict[Owner, Sources] = defaultdict(lambda: Sources({}))
    for row in canonical(rows, at).values():
        if row.eligible(at):
            found[row.owner].parts[row.memory_id] = row.hashed()
    return dict(found)


def folded(rows: Iterable[Row], at: datetime) -> dict[Owner, Sources]:
    """The same of those that the fold reads."""
    types = {row.memory_id: row.memory_type for row in rows}
    return {
        owner: Sources(
            {
                memory_id: part
                for memory_id, part in told.parts.items()
                if types[memory_id] in {"preference", "decision"}
            }
        )
        for owner, told in sources(rows, at).items()
    }


def moments(rows: Iterable[Row], at: datetime) -> dict[Owner, datetime]:
    """When time alone first changes a user's digest after a time, without another write."""
    of_user: dict[Owner, list[Row]] = defaultdict(list)
    for row in rows:
        of_user[row.owner].append(row)
    first = {}
    for owner, own in of_user.items():
        now = sources(own, at).get(owner, NOTHING)
        ends = {end for row in own for end in (row.expires_at, row.valid_to) if end and end > at}
        for end in sorted(ends):
            if sources(own, end).get(owner, NOTHING) != now:
                first[owner] = end
                break
    return first


def held_back(rows: list[Row], at: datetime) -> dict[Owner, set[datetime]]:
    """Ends of rows that are no source and have a younger current twin, whatever that is."""
    found: dict[Owner, set[datetime]] = defaultdict(set)
    for group, oldest in canonical(rows, at).items():
        if (
            not oldest.eligible(at)
            and oldest.expires_at is not None
            and any(row.group == group and row.current(at) and row is not oldest for row in rows)
        ):
            found[oldest.owner].add(oldest.expires_at)
    return found


def check(conn: Connection, at: datetime, rows: list[Row] | None = None) -> None:
    """Holds every user's digests, counts, parts and next moment to the rules.

    Of a user whose next moment has passed nothing is known but that; else all must hold at `at`:
    the digest is that of the sources, and the next moment is the first at which that changes, or an
    earlier one at which a row that is no source ends and a twin of it may have to be looked at.
    """
    rows = stored_rows(conn) if rows is None else rows
    expected, firsts, early = sources(rows, at), moments(rows, at), held_back(rows, at)
    for_fold = folded(rows, at)
    kept = states(conn)
    unsettled = {
        owner
        for owner, state in kept.items()
        if state.next_change_at is not None and state.next_change_at <= at
    }
    assert set(expected) <= set(kept)
    for owner in set(kept) - unsettled:
        state, told = kept[owner], expected.get(owner, NOTHING)
        assert (state.digest, state.count) == (told.digest, told.count), owner
        fold = for_fold.get(owner, NOTHING)
        assert (state.fold_digest, state.fold_count) == (fold.digest, fold.count), owner
        first, following = firsts.get(owner), state.next_change_at
        if following != first:
            assert following is not None and following in early[owner], (owner, following, first)
            assert first is None or following < first, owner
    for row in rows:
        if row.owner not in unsettled:
            part = expected.get(row.owner, NOTHING).parts.get(row.memory_id)
            assert (None if row.part is None else bits(row.part)) == part, row

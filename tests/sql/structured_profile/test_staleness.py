"""What makes a structured profile stale and what does not; by time, to the microsecond."""

from __future__ import annotations

from typing import Any

import pytest

from tests.calls import Answer, Connection, operate, refused
from tests.databases import Clock
from tests.sql.doors import batch, execute
from tests.sql.facts import NOON
from tests.sql.structured_profile.served import SCHEMA, USER, serve, set_schema, status
from tests.sql.structured_profile.source_rules import check, states, stored_rows

Write = tuple[str, Answer]


def fact(verb: str, key: str = "likes", /, **fields: Any) -> Write:
    """`memory.<verb>` of u1."""
    return f"memory.{verb}", {**USER, "agent": "coder", "memory_key": key, **fields}


def told(key: str = "likes", /, **fields: Any) -> Write:
    """A fact, tea where nothing else is said."""
    return fact("set", key, **{"value": "tea", **fields})


def section(verb: str, /, **fields: Any) -> Write:
    return f"profile.{verb}", {**USER, "agent": "coder", "label": "persona", **fields}


def block(verb: str, /, **fields: Any) -> Write:
    return f"working_memory.{verb}", {**USER, "agent": "coder", **fields}


def tags(**change: list[str]) -> Write:
    return fact("label", tags=change)


WAIT = ("wait", {"seconds": 60})
TOLD = [told()]

STALE: dict[str, tuple[list[Write], Write]] = {
    "a new fact": (TOLD, told("job", value="cook")),
    "a new fact of another agent": (TOLD, told("likes", agent="other")),
    "a new fact of a session": (TOLD, told("likes", session_id="s")),
    "a fact that becomes true later": (TOLD, told("job", value=1, valid_at="2030-01-01T00:00:00Z")),
    "the same as another type": (TOLD, told("job", memory_type="decision")),
    "edited": (TOLD, told(value="coffee")),
    "reverted": ([told(value="coffee"), told()], fact("revert", version=1)),
    "reverted to the same": (TOLD, fact("revert", version=1)),
    "restored": ([told("job", value=1), *TOLD, fact("delete")], fact("restore")),
    "told again after deletion": ([told("job", value=1), *TOLD, fact("delete")], told()),
    "deleted": ([told("job", value=1), *TOLD], fact("delete")),
    "the last one deleted": (TOLD, fact("delete")),
    "another confidence": (TOLD, told(confidence=0.999)),
    "another date": (TOLD, told(valid_at="2026-01-01T00:00:00Z")),
    "no date": ([told(valid_at="2026-01-01T00:00:00Z")], told(clear_valid=True)),
    "restated": (TOLD, told()),
    "told again with other metadata": (TOLD, told(source_trace="t")),
    "becomes high": (TOLD, fact("label", sensitivity="high")),
    "is high no longer": ([told(sensitivity="high")], fact("label", sensitivity="normal")),
    "becomes episodic": (TOLD, told(memory_type="episodic")),
    "becomes a preference": (TOLD, told(memory_type="preference")),
    "becomes a section": (TOLD, told(memory_type="profile")),
    "is episodic no longer": ([told(memory_type="episodic")], told(memory_type="semantic")),
    "is a section no longer": ([told(memory_type="profile")], told(memory_type="decision")),
    "about someone else": (TOLD, tags(add=["about:other"])),
    "about someone else no longer": ([told(tags=["about:other"])], tags(remove=["about:other"])),
    "a protected attribute": (TOLD, tags(add=["attribute:health"])),
    "a protected attribute no longer": ([told(tags=["attribute:x"])], tags(replace=["x"])),
    "to be forgotten": (TOLD, tags(add=["forget"])),
    "to be forgotten no longer": ([told(tags=["forget", "x"])], tags(remove=["forget"])),
    "locked": (TOLD, fact("lock", reason="r")),
    "locked anew": ([*TOLD, fact("lock", reason="r")], fact("lock", reason="s")),
    "unlocked": ([*TOLD, fact("lock", reason="r")], fact("unlock")),
    "expires": ([told(ttl_seconds=60)], WAIT),
    "passes its valid_to": ([told(valid_to="2026-03-01T12:01:10Z")], ("wait", {"seconds": 70})),
    "an expiry in the past": (TOLD, told(expires_at="2020-01-01T00:00:00Z")),
    "a valid_to in the past": (TOLD, told(valid_to="2020-01-01T00:00:00Z")),
    "the canonical of twins deleted": ([*TOLD, told("same")], fact("delete")),
    "the canonical of twins expires": ([told(ttl_seconds=60), told("same")], WAIT),
    "the canonical of twins edited": ([*TOLD, told("same")], told(value="coffee")),
    "the canonical of twins high": ([*TOLD, told("same")], fact("label", sensitivity="high")),
    "one that held back its twin expires": (
        [told("job", value=1), told(ttl_seconds=60, sensitivity="high"), told("same")],
        WAIT,
    ),
    "one past its valid_to that held back its twin expires": (
        [
            told(valid_to="2026-03-01T12:00:30Z", ttl_seconds=90),
            told("same"),
            ("wait", {"seconds": 30}),
            told("job", value=1),
        ],
        WAIT,
    ),
    "one that held back its twin deleted": (
        [told("job", value=1), told(sensitivity="high"), told("same")],
        fact("delete"),
    ),
    "one that held back its twin high no longer": (
        [told("job", value=1), told(sensitivity="high"), told("same")],
        fact("label", sensitivity="low"),
    ),
    "an older twin restored": ([*TOLD, told("same"), fact("delete")], fact("restore")),
    "another schema": (TOLD, ("schema", {"sha256": "1" * 64})),
}

FIRST = {
    "is high no longer",
    "is episodic no longer",
    "is a section no longer",
    "about someone else no longer",
    "a protected attribute no longer",
    "to be forgotten no longer",
}
"""The cases in which nothing was a source before."""

HIGH = [*TOLD, told("secret", value=1, sensitivity="high", ttl_seconds=60)]

NOT_STALE: dict[str, tuple[list[Write], Write]] = {
    "time": (TOLD, ("wait", {"days": 1000})),
    "pinned": (TOLD, fact("pin")),
    "unpinned": ([told(pinned=True)], fact("unpin")),
    "unlocked, but not locked": (TOLD, fact("unlock")),
    "other tags": (TOLD, tags(add=["x", "attribute", "about:me", "attributes:x"])),
    "low": (TOLD, fact("label", sensitivity="low")),
    "labelled as it is": (TOLD, fact("label", sensitivity="normal", tags={"remove": ["x"]})),
    "a dated one restated": ([told(valid_at="2026-01-01T00:00:00Z")], told()),
    "a dated one locked": ([told(valid_at="2026-01-01T00:00:00Z")], fact("lock", reason="r")),
    "a high fact": (TOLD, told("job", value=1, sensitivity="high")),
    "a high fact edited": (HIGH, told("secret", value=2)),
    "a high fact deleted": (HIGH, fact("delete", "secret")),
    "a high fact expires": (HIGH, WAIT),
    "a high fact's valid_to": (
        [*TOLD, told("secret", value=1, sensitivity="high", valid_to="2026-03-01T12:01:10Z")],
        ("wait", {"seconds": 70}),
    ),
    "a fact about someone else": (TOLD, told("job", value=1, tags=["about:other"])),
    "a protected attribute": (TOLD, told("job", value="a katholisch cook")),
    "an episodic fact": (TOLD, told("job", memory_type="episodic")),
    "an episodic fact expires": ([*TOLD, told("x", memory_type="episodic", ttl_seconds=60)], WAIT),
    "a procedural fact": (TOLD, told("job", memory_type="procedural")),
    "a fact of nobody's": (TOLD, told("job", user_id="-")),
    "a fact of another user": (TOLD, told("job", user_id="u2")),
    "a fact of another namespace": (TOLD, told("job", namespace="other")),
    "a fact of another org": (TOLD, told("job", org="other")),
    "a fact that has expired": (TOLD, told("job", value=1, expires_at="2020-01-01T00:00:00Z")),
    "a fact past its valid_to": (TOLD, told("job", value=1, valid_to="2020-01-01T00:00:00Z")),
    "a twin": (TOLD, told("same")),
    "a twin restated": ([*TOLD, told("same")], told("same")),
    "a twin deleted": ([*TOLD, told("same")], fact("delete", "same")),
    "a twin edited to high": ([*TOLD, told("same")], fact("label", "same", sensitivity="high")),
    "a twin expires": ([*TOLD, told("same", ttl_seconds=60)], WAIT),
    "a twin passes its valid_to": (
        [*TOLD, told("same", valid_to="2026-03-01T12:01:10Z")],
        ("wait", {"seconds": 70}),
    ),
    "one past its valid_to expires": (
        [*TOLD, told("job", value=1, valid_to="2020-01-01T00:00:00Z", ttl_seconds=60)],
        WAIT,
    ),
    "a deletion of nothing": (TOLD, fact("delete", "nothing")),
    "a dry run": (TOLD, told(value="coffee", dry_run=True)),
    "another section": (TOLD, section("set", value="x")),
    "a section appended to": ([*TOLD, section("set", value="x")], section("append", addition="y")),
    "a section deleted": ([*TOLD, section("set", value="x")], section("delete")),
    "another agent's section of that name": (
        TOLD,
        section("set", label="structured_profile", value="x"),
    ),
    "working memory": (TOLD, block("set", content="x")),
    "working memory appended to": (
        [*TOLD, block("set", content="x")],
        block("append", addition="y"),
    ),
    "read": (TOLD, fact("get")),
    "listed": (TOLD, ("memory.list", USER)),
    "rendered": (TOLD, ("profile.render", USER)),
    "the profile read": (TOLD, ("profile.structured", {**USER, "explain": True})),
    "the profile pinned": (TOLD, fact("pin", "structured_profile", agent="-")),
    "the profile locked": (TOLD, fact("lock", "structured_profile", agent="-", reason="r")),
    "another user erased": ([*TOLD, told("x", user_id="u2")], ("erase", {"user_id": "u2"})),
    "house kept": ([*TOLD, told("x", value=1), fact("delete", "x")], ("keep house", {"days": 15})),
    "a title and another order": (TOLD, ("schema", {})),
}


def do(db: Connection, clock: Clock, write: Write) -> None:
    """Performs a write, or what else happens."""
    op, fields = write
    match op:
        case "wait":
            clock.advance(**fields)
        case "keep house":
            clock.advance(**fields)
            assert db.execute("select loom.housekeeping_memory(100)").fetchone() == (1,)
        case "erase":
            operate(db, "erasure.request", org="acme", **fields)
        case "schema":
            properties = dict(reversed(SCHEMA["properties"].items()))  # type: ignore[attr-defined]
            set_schema(db, {**SCHEMA, "title": "t", "properties": properties}, **fields)
        case _:
            operate(db, op, **fields)


def sources_match(db: Connection) -> Any:
    """What `explain` says of the sources."""
    return operate(db, "profile.structured", **USER, explain=True)["explain"]["sources_match"]


@pytest.fixture(autouse=True)
def _noon(clock: Clock) -> None:
    clock.set(NOON)


def served(db: Connection, clock: Clock, writes: list[Write]) -> None:
    """Writes, a second after each other, and has a profile built of it."""
    for write in writes:
        do(db, clock, write)
        clock.advance(seconds=1)
    set_schema(db)
    serve(db)
    assert status(db) == "ready"


@pytest.mark.parametrize("case", STALE)
def test_o36_stale(db: Connection, clock: Clock, case: str) -> None:
    before, change = STALE[case]
    served(db, clock, before)
    clock.advance(seconds=1)
    was = status(db)
    do(db, clock, change)
    check(db, clock.advance(seconds=0))
    # Without a source before there was nothing to build.
    assert (was, status(db)) == ("ready", "stale" if case not in FIRST else "pending")


@pytest.mark.parametrize("case", NOT_STALE)
def test_o36_not_stale(db: Connection, clock: Clock, case: str) -> None:
    before, change = NOT_STALE[case]
    served(db, clock, before)
    assert status(db) == "ready"
    before_it = states(db)["acme", "main", "u1"]
    clock.advance(seconds=1)
    do(db, clock, change)
    assert status(db) == "ready"
    after = states(db)["acme", "main", "u1"]
    assert (before_it.digest, before_it.count) == (after.digest, after.count)
    assert before_it.sources_changed_at == after.sources_changed_at


@pytest.mark.parametrize(
    "fields",
    [{"ttl_seconds": 60}, {"valid_to": "2026-03-01T12:01:00Z"}],
    ids=["expiry", "valid_to"],
)
def test_stale_from_the_microsecond_on_at_which_a_fact_ends(
    db: Connection, clock: Clock, fields: Answer
) -> None:
    operate(db, *told("job", value=1)[:1], **told("job", value=1)[1])
    operate(db, told()[0], **told(**fields)[1])
    set_schema(db)
    serve(db)
    clock.advance(seconds=60, microseconds=-1)
    assert (status(db), sources_match(db)) == ("ready", True)
    clock.advance(microseconds=1)
    assert (status(db), sources_match(db)) == ("stale", False)
    # As long as nobody has settled it, and then because of the digest.
    clock.advance(days=1000)
    assert status(db) == "stale"
    db.execute("select loom._settle('acme', 'main', 'u1', loom._now())")
    assert (status(db), sources_match(db)) == ("stale", False)
    check(db, clock.advance(seconds=0))
    serve(db)
    assert status(db) == "ready"


def test_an_end_that_lets_a_first_fact_count_is_no_longer_ready(
    db: Connection, clock: Clock
) -> None:
    for write in (told(ttl_seconds=60, sensitivity="high"), told("same")):
        do(db, clock, write)
        clock.advance(microseconds=1)
    set_schema(db)
    serve(db)
    assert status(db) == "ready"  # there is nothing to build: the older one is held back
    clock.set(NOON)
    clock.advance(seconds=60, microseconds=-1)
    assert status(db) == "ready"
    clock.advance(microseconds=1)
    assert status(db) == "pending"
    serve(db)
    assert status(db) == "ready"
    check(db, clock.advance(seconds=0))


def test_a_redacted_source_takes_the_profile_with_it(db: Connection, clock: Clock) -> None:
    served(db, clock, [*TOLD, told("job", value=1)])
    do(db, clock, fact("redact", reason="r"))
    assert status(db) == "pending"
    check(db, clock.advance(seconds=0))
    served(db, clock, [])


def test_o36_a_to_b_to_a_is_ready_again(db: Connection, clock: Clock) -> None:
    served(db, clock, [told(valid_at="2026-01-01T00:00:00Z")])
    for value, expected in (("coffee", "stale"), ("tea", "ready")):
        do(db, clock, told(value=value, valid_at="2026-01-01T00:00:00Z"))
        assert status(db) == expected
    set_schema(db, sha256="1" * 64)
    assert status(db) == "stale"
    set_schema(db)
    assert status(db) == "ready"


def test_a_write_that_is_taken_back_changes_nothing(db: Connection, clock: Clock) -> None:
    served(db, clock, TOLD)
    before = states(db)
    with db.transaction(force_rollback=True):
        do(db, clock, told(value="coffee"))
        assert status(db) == "stale"
    with refused(db, "LM406"):
        do(db, clock, told("x" * 300))
    with refused(db, "LM201"):
        do(db, clock, told(value="coffee", if_match_sha256="0" * 64))
    op, fields = told(value="coffee")
    batch(db, {"op": op, **fields, "if_match_sha256": "0" * 64}, {"op": "memory.get", **USER})
    with refused(db, "LM201"):
        batch(
            db,
            {"op": op, **fields},
            {"op": op, **fields, "if_match_sha256": "0" * 64},
            atomic=True,
        )
    assert status(db) == "ready"
    assert states(db) == before


def test_a_repeat_under_one_key_counts_once(db: Connection, clock: Clock) -> None:
    served(db, clock, TOLD)
    op, fields = told()
    answer = execute(db, op, key="k", **fields)
    assert status(db) == "stale"
    clock.advance(seconds=600)
    serve(db)
    assert status(db) == "ready"
    assert execute(db, op, key="k", **fields) == answer
    assert status(db) == "ready"


def test_erased_and_told_anew(db: Connection, clock: Clock) -> None:
    served(db, clock, [*TOLD, told("same")])
    operate(db, "erasure.request", org="acme", user_id="u1")
    state = states(db)["acme", "main", "u1"]
    assert (state.digest, state.count, state.next_change_at) == (0, 0, None)
    assert stored_rows(db) == []
    assert status(db) == "ready"
    do(db, clock, told())
    assert status(db) == "pending"


@pytest.mark.parametrize("field", ["valid_to", "expires_at"])
def test_a_version_recorded_ahead_of_the_clock_is_judged_by_the_clock(
    db: Connection, clock: Clock, field: str
) -> None:
    ends = "2026-03-01T12:00:00.000001Z"
    do(db, clock, told(**{field: ends}))
    for change in (told(), fact("pin"), fact("lock", reason="r"), fact("unlock"), told("same")):
        # Each is recorded a microsecond after the one before, though the clock stands still.
        do(db, clock, change)
        check(db, NOON)
    assert states(db)["acme", "main", "u1"].count == 1

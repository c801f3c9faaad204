"""What a read may show: read_scope and a token's bounds, by key, by id, by list, cursor and time.

All paths are held to one predicate over the same rows, so that none of them shows more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import product
from typing import Any

import psycopg
import pytest

from tests.calls import Answer, Token, refused
from tests.databases import Clock
from tests.sql.doors import through_api
from tests.sql.facts import NOON, fact, section

Connection = psycopg.Connection[Any]
Mint = Callable[..., Token]

USERS = ("-", "u", "v", "u%")
SESSIONS = ("-", "s", "t")
ROWS = {f"{user}/{session}": (user, session) for user, session in product(USERS, SESSIONS)}
"""Keys of the rows, each at another user and session."""


@dataclass(frozen=True)
class Reader:
    """A token's bounds, what its requests say, and whose rows these then reach."""

    users: tuple[str, ...]
    sessions: tuple[str, ...] = SESSIONS
    bounds: Answer = field(default_factory=dict)
    says: Answer = field(default_factory=dict)

    def reaches(self, key: str) -> bool:
        user, session = ROWS[key]
        return user in self.users and session in self.sessions


PINNED: Answer = {"read_user_id": "u"}
BOUND: Answer = {"read_user_id": "u", "session_id": "s"}
OWN_SESSION: Answer = {"read_scope": "own_session", "session_id": "s"}

READERS = {
    "nobody named": Reader(("-",)),
    "a user named": Reader(("u", "-"), says={"user_id": "u"}),
    "a user and own_user named": Reader(
        ("u", "-"), says={"user_id": "u", "read_scope": "own_user", "session_id": "s"}
    ),
    "a user's session": Reader(("u", "-"), ("s", "-"), says={"user_id": "u", **OWN_SESSION}),
    "everyone's session": Reader(("-",), ("s", "-"), says=OWN_SESSION),
    "the namespace": Reader(USERS, says={"read_scope": "namespace"}),
    "the namespace and a user named": Reader(
        USERS, says={"read_scope": "namespace", "user_id": "u", "session_id": "s"}
    ),
    "a namespace's token": Reader(
        USERS, bounds={"namespace": "main"}, says={"read_scope": "namespace"}
    ),
    "pinned": Reader(("u", "-"), bounds=PINNED),
    "pinned and named": Reader(("u", "-"), bounds=PINNED, says={"user_id": "u"}),
    "pinned, naming everyone": Reader(("-",), bounds=PINNED, says={"user_id": "-"}),
    "pinned, in a session": Reader(("u", "-"), ("s", "-"), bounds=PINNED, says=OWN_SESSION),
    "bound": Reader(("u", "-"), ("s", "-"), bounds=BOUND),
    "bound, asking for its user": Reader(
        ("u", "-"), ("s", "-"), bounds=BOUND, says={"read_scope": "own_user"}
    ),
    "bound, naming no session": Reader(("u", "-"), ("-",), bounds=BOUND, says={"session_id": "-"}),
    "bound, naming nobody": Reader(("-",), ("s", "-"), bounds=BOUND, says={"user_id": "-"}),
}


@pytest.fixture
def ids(db: Connection, clock: Clock) -> dict[str, str]:
    """Ids by key of rows of type profile, which every kind of read shows, two versions each."""
    clock.set(NOON)
    made = {}
    for key, (user, session) in ROWS.items():
        row: Answer = {"label": key, "user_id": user, "session_id": session, "agent": "b"}
        made[key] = section(db, "set", value=f"old {key}", **row)["memory_id"]
        section(db, "set", value=f"new {key}", **row)
    clock.advance(seconds=1)
    return made


@pytest.fixture(params=READERS)
def reader(request: pytest.FixtureRequest) -> Reader:
    return READERS[request.param]


@pytest.fixture
def read(db: Connection, mint: Mint, reader: Reader) -> Callable[..., Answer]:
    token = mint(role="viewer", **reader.bounds)

    def read_as_token(op: str, **request: Any) -> Answer:
        namespace = {} if "namespace" in reader.bounds else {"namespace": "main"}
        return through_api(db, token, op, **{**namespace, **reader.says, **request})

    return read_as_token


def reached(reader: Reader) -> set[str]:
    return {key for key in ROWS if reader.reaches(key)}


@pytest.mark.parametrize(
    "past", [{}, {"as_of": "2026-03-01T12:00:00.000000Z"}], ids=["now", "then"]
)
def test_by_key_and_by_id(
    ids: dict[str, str], read: Callable[..., Answer], reader: Reader, past: Answer
) -> None:
    shown = {key for key in ROWS if read("memory.get", memory_key=key, **past)["found"]}
    assert shown == reached(reader)
    for key, memory_id in ids.items():
        got = read("memory.get", memory_id=memory_id, **past)
        assert got["found"] is reader.reaches(key)
        if not reader.reaches(key):
            assert got["status"] == "absent"
            assert set(got.values()) == {False, None, "absent"}
        # To say which version one has opens nothing.
        compared = read("memory.get", memory_id=memory_id, if_version=2, **past)
        assert compared["found"] is reader.reaches(key)


def test_by_history(ids: dict[str, str], read: Callable[..., Answer], reader: Reader) -> None:
    for key, memory_id in ids.items():
        for name in ({"memory_key": key}, {"memory_id": memory_id}):
            page = read("memory.history", **name)
            versions = [item["version"] for item in page["items"]]
            assert versions == ([2, 1] if reader.reaches(key) else [])
            assert page["found"] is reader.reaches(key)
            # Nor does a cursor.
            older = read("memory.history", **name, cursor="2")
            assert len(older["items"]) == reader.reaches(key)


@pytest.mark.parametrize(("op", "name"), [("memory.list", "memory_key"), ("profile.list", "label")])
def test_by_list_and_by_anyones_cursor(
    db: Connection,
    ids: dict[str, str],
    read: Callable[..., Answer],
    reader: Reader,
    op: str,
    name: str,
) -> None:
    assert {item[name] for item in read(op)["items"]} == reached(reader)
    everything = fact(db, "list", read_scope="namespace")["items"]
    assert len(everything) == len(ROWS)
    for place, item in enumerate(everything):
        cursor = f"{item['created_at']}/{item['memory_id']}"
        rest = {later["memory_key"] for later in everything[place + 1 :]}
        assert {item[name] for item in read(op, cursor=cursor)["items"]} == rest & reached(reader)


def test_a_list_shows_no_more_when_asked_for_what_is_gone(
    db: Connection, ids: dict[str, str], read: Callable[..., Answer], reader: Reader
) -> None:
    for key, (user, session) in ROWS.items():
        section(db, "delete", label=key, user_id=user, session_id=session, agent="b")
    assert read("memory.list")["items"] == []
    shown = {item["memory_key"] for item in read("memory.list", include_deleted=True)["items"]}
    assert shown == reached(reader)


def test_by_render(ids: dict[str, str], read: Callable[..., Answer], reader: Reader) -> None:
    rendered = read("profile.render")
    assert {part["label"] for part in rendered["sections"]} == reached(reader)
    assert {key for key in ROWS if f">new {key}</section>" in rendered["text"]} == reached(reader)
    named = read("profile.render", labels=list(ROWS))
    assert {part["label"] for part in named["sections"]} == reached(reader)
    omitted = read("profile.render", char_budget=1)
    assert {part["label"] for part in omitted["omitted"]} == reached(reader)


READS: list[tuple[str, Answer]] = [
    *[(op, {"memory_key": "u/s"}) for op in ("memory.get", "memory.history")],
    *[(op, {}) for op in ("memory.list", "profile.list", "profile.render", "profile.activity")],
]

WRITES: list[tuple[str, Answer]] = [
    *[(f"memory.{verb}", {}) for verb in ("delete", "restore", "pin", "unpin", "label")],
    *[("memory.set", {"value": 1}), ("memory.revert", {"version": 1})],
    ("memory.lock", {"reason": "r"}),
    *(("profile.set", {"value": 1}), ("profile.append", {"addition": "x"})),
    *[("profile.replace", {"old": "n", "new": "x"}), ("profile.delete", {})],
]


def denied() -> Iterator[tuple[Answer, Answer, str]]:
    """Bounds of a token, what it says, and the SQLSTATE it gets."""
    yield PINNED, {"user_id": "v"}, "LM302"
    yield PINNED, {"user_id": "u%"}, "LM302"
    yield PINNED, {"read_scope": "namespace"}, "LM302"
    yield BOUND, {"session_id": "t"}, "LM302"
    yield BOUND, {"user_id": "v"}, "LM302"
    yield BOUND, {"read_scope": "namespace"}, "LM302"
    yield {"namespace": "main"}, {"namespace": "other"}, "LM302"
    yield {}, {"org": "other"}, "LM302"
    yield {}, {"read_scope": "own_session"}, "LM003"
    yield {}, {"read_scope": "own_session", "session_id": "-"}, "LM003"
    yield {}, {"read_scope": "everything"}, "LM001"


@pytest.mark.parametrize(("op", "request_"), READS, ids=[op for op, _ in READS])
def test_a_read_beyond_the_bounds_is_refused(
    db: Connection, mint: Mint, op: str, request_: Answer
) -> None:
    for bounds, says, sqlstate in denied():
        token = mint(role="viewer", **bounds)
        with refused(db, sqlstate) as refusal:
            through_api(db, token, op, **{"namespace": "main", **request_, **says})
        if sqlstate == "LM003":
            assert refusal.detail == {"field": "session_id"}


@pytest.mark.parametrize(("op", "request_"), WRITES, ids=[op for op, _ in WRITES])
def test_o62_a_write_beyond_the_bounds_is_refused_and_changes_nothing(
    db: Connection, ids: dict[str, str], mint: Mint, op: str, request_: Answer
) -> None:
    before = fact(db, "list", read_scope="namespace", include_deleted=True)
    for bounds, says in [
        (PINNED, {"user_id": "-"}),
        (PINNED, {"user_id": "v"}),
        (BOUND, {"session_id": "-"}),
        (BOUND, {"session_id": "t"}),
        ({"namespace": "main"}, {"namespace": "other"}),
        ({}, {"org": "other"}),
    ]:
        for key in ROWS:
            name = {"label" if op.startswith("profile") else "memory_key": key, "agent": "b"}
            with refused(db, "LM302"):
                token = mint(role="writer", **bounds)
                through_api(db, token, op, **{"namespace": "main", **name, **request_, **says})
    assert fact(db, "list", read_scope="namespace", include_deleted=True) == before


def test_a_pinned_token_writes_under_its_own_user_and_session(db: Connection, mint: Mint) -> None:
    for bounds, session in ((PINNED, "-"), (BOUND, "s")):
        token = mint(role="writer", **bounds)
        receipt = through_api(
            db, token, "memory.set", namespace="main", memory_key="k", value="mine"
        )
        assert (receipt["user_id"], receipt["session_id"]) == ("u", session)


def test_o61_an_id_of_another_namespace_or_org_is_not_there(db: Connection, mint: Mint) -> None:
    elsewhere = {
        "namespace": fact(db, "set", namespace="other", value="canary")["memory_id"],
        "org": fact(db, "set", org="other", value="canary")["memory_id"],
    }
    for place, memory_id in elsewhere.items():
        for op in ("memory.get", "memory.history"):
            answer = through_api(
                db,
                mint(role="admin"),
                op,
                **{"namespace": "main", "memory_id": memory_id, "read_scope": "namespace"},
            )
            assert (answer["found"], answer["memory_id"]) == (False, None), place

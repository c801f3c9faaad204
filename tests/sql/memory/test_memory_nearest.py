"""Which row a key means: that of exactly the request's identity, else the nearest in reach."""

from __future__ import annotations

from itertools import product
from random import Random
from typing import Any

import psycopg
import pytest

from tests.databases import Clock
from tests.sql.facts import NOON, fact, history, value_of

Connection = psycopg.Connection[Any]

ME = {"user_id": "u", "session_id": "s", "agent": "a"}
LEVELS = {"user_id": ("u", "-", "v", "w"), "session_id": ("s", "-", "t"), "agent": ("a", "-", "b")}
"""Of each id: the request's own, unset, and those of others in byte order."""


def identities() -> list[dict[str, str]]:
    """Every identity, the nearest to `ME` first: by what each id is, then by the ids themselves."""
    every = [dict(zip(LEVELS, ids, strict=True)) for ids in product(*LEVELS.values())]
    return sorted(every, key=distance)


def distance(identity: dict[str, str]) -> tuple[Any, ...]:
    """0 for the request's own id, 1 for the unset one, 2 for any other; ties in byte order."""
    kinds = [
        (0 if identity[level] == ME[level] else 1 if identity[level] == "-" else 2)
        for level in LEVELS
    ]
    return (*kinds, *(identity[level].encode() for level in LEVELS))


def name(identity: dict[str, str]) -> str:
    return "/".join(identity[level] for level in LEVELS)


def write(db: Connection, identities: list[dict[str, str]]) -> None:
    """Writes a row that holds its own name at each identity, in no order that means anything."""
    for identity in Random(1).sample(identities, len(identities)):
        fact(db, "set", value=name(identity), **identity)


def test_the_nearest_row_is_by_user_then_session_then_agent(db: Connection) -> None:
    write(db, identities())
    for identity in identities():
        got = fact(db, "get", **ME, read_scope="namespace")
        assert got["value"] == name(identity)
        assert {level: got[level] for level in LEVELS} == identity
        past = fact(db, "history", **ME, read_scope="namespace")
        assert past["items"][0]["value"] == name(identity)
        # Past the operations, since a history shows what is left of a deleted row first.
        db.execute(
            "delete from loom.memory where (user_id, session_id, agent) = (%s, %s, %s)",
            tuple(identity.values()),
        )
    assert fact(db, "get", **ME, read_scope="namespace")["found"] is False


@pytest.mark.parametrize("scope", ["own_user", "own_session", None])
def test_a_row_beyond_the_scope_is_not_near_at_all(db: Connection, scope: str | None) -> None:
    write(db, identities())
    reach = [
        identity
        for identity in identities()
        if identity["user_id"] in ("u", "-")
        and (scope != "own_session" or identity["session_id"] in ("s", "-"))
    ]
    for identity in reach:
        assert value_of(db, **ME, read_scope=scope) == name(identity)
        fact(db, "delete", **identity)
    got = fact(db, "get", **ME, read_scope=scope)
    assert (got["found"], got["status"]) == (False, "deleted")


def test_with_no_user_named_only_rows_of_no_user_are_near(db: Connection) -> None:
    fact(db, "set", value="u's", user_id="u")
    assert fact(db, "get")["found"] is False
    fact(db, "set", value="everyone's", agent="other", session_id="s")
    got = fact(db, "get")
    assert (got["value"], got["agent"], got["session_id"]) == ("everyone's", "other", "s")


def test_ids_of_others_come_in_byte_order(db: Connection) -> None:
    users = ["b", "B", "é", "a", "😀", "\uff61", "a%"]
    for user in users:
        fact(db, "set", value=user, user_id=user)
    for user in sorted(users, key=str.encode):
        assert value_of(db, user_id="me", read_scope="namespace") == user
        fact(db, "delete", user_id=user)


def test_o59_ids_that_look_alike_are_not_near(db: Connection) -> None:
    for user in ("john-doe", "john%", "john", "john_doe2", "JOHN_DOE", "%", "_"):
        fact(db, "set", value=user, user_id=user)
    assert fact(db, "get", user_id="john_doe")["found"] is False
    fact(db, "set", value="mine", user_id="john_doe")
    assert value_of(db, user_id="john_doe") == "mine"


def test_another_namespace_or_key_is_never_near(db: Connection) -> None:
    fact(db, "set", value="x", namespace="other")
    fact(db, "set", value="x", memory_key="likes ")
    assert fact(db, "get", read_scope="namespace")["found"] is False


def test_a_row_that_is_no_longer_current_makes_way_for_the_nearest(
    db: Connection, clock: Clock
) -> None:
    clock.set(NOON)
    fact(db, "set", value="everyone's")
    fact(db, "set", value="u's", user_id="u", ttl_seconds=60)
    assert value_of(db, user_id="u") == "u's"
    clock.advance(seconds=60)
    assert value_of(db, user_id="u") == "everyone's"
    fact(db, "set", value="u's", user_id="u")
    fact(db, "delete", user_id="u")
    assert value_of(db, user_id="u") == "everyone's"


def test_where_nothing_is_current_the_state_of_the_exact_row_is_told(db: Connection) -> None:
    receipt = fact(db, "set", value="u's", user_id="u")
    fact(db, "delete", user_id="u")
    fact(db, "set", value="everyone's")
    fact(db, "delete")
    got = fact(db, "get", user_id="u")
    assert (got["status"], got["memory_id"]) == ("deleted", receipt["memory_id"])


def test_the_history_of_a_key_is_that_of_the_exact_row_though_it_ended(db: Connection) -> None:
    fact(db, "set", value="everyone's")
    fact(db, "set", value="u's", user_id="u")
    fact(db, "delete", user_id="u")
    assert [version["change"] for version in history(db, user_id="u")] == ["set", "delete"]
    assert [version["change"] for version in history(db, user_id="v")] == ["set"]


def test_a_write_never_means_a_near_row(db: Connection) -> None:
    fact(db, "set", value="everyone's")
    assert fact(db, "delete", user_id="u")["found"] is False
    assert fact(db, "set", value="u's", user_id="u")["created"] is True
    assert (value_of(db), value_of(db, user_id="u")) == ("everyone's", "u's")

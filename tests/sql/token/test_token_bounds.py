"""What a token reaches: its org, its namespace, its user, its session, for as long as it lives."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

import psycopg
import pytest

from tests.calls import Token, acting_as, call, operate, refused
from tests.databases import Clock
from tests.sql.doors import through_api, wm

Connection = psycopg.Connection[Any]
Mint = Callable[..., Token]

NOON = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
WRITES: dict[str, dict[str, str]] = {
    "working_memory.set": {"content": "x"},
    "working_memory.append": {"addition": "x"},
    "working_memory.replace": {"old": "x", "new": "y"},
    "working_memory.delete": {},
}
READS = ("working_memory.get", "working_memory.list", "working_memory.render")


def test_org_and_namespace_come_from_the_token_when_left_out(db: Connection, mint: Mint) -> None:
    receipt = through_api(db, mint(namespace="main"), "working_memory.set", content="x")
    assert (receipt["org"], receipt["namespace"]) == ("acme", "main")


def test_an_unbound_token_must_name_a_namespace(db: Connection, mint: Mint) -> None:
    for request in ({}, {"namespace": None}, {"namespace": "-"}):
        with refused(db, "LM003") as refusal:
            through_api(db, mint(), "working_memory.set", content="x", **request)
        assert refusal.detail == {"field": "namespace"}


@pytest.mark.parametrize("op", [*WRITES, *READS])
def test_naming_another_org_or_namespace_is_refused(db: Connection, mint: Mint, op: str) -> None:
    token = mint(namespace="main")
    for place, reason in (
        ({"org": "other"}, "org is not the token's"),
        ({"org": "ACME"}, "org is not the token's"),
        ({"namespace": "other"}, "namespace is not the token's"),
        ({"namespace": "Main"}, "namespace is not the token's"),
    ):
        with refused(db, "LM302") as refusal:
            through_api(db, token, op, **{**WRITES.get(op, {}), **place})
        assert refusal.detail == {"reason": reason}
    with refused(db, "LM003") as refusal:
        through_api(db, token, op, **WRITES.get(op, {}), namespace="-")
    assert refusal.detail == {"field": "namespace"}


@pytest.mark.parametrize("op", WRITES)
def test_a_viewer_writes_nothing(db: Connection, mint: Mint, op: str) -> None:
    with refused(db, "LM302") as refusal:
        through_api(db, mint(role="viewer", namespace="main"), op, **WRITES[op])
    assert refusal.detail == {"reason": "role", "needed": "writer"}


def test_a_pinned_tokens_user_is_its_default(db: Connection, mint: Mint) -> None:
    token = mint(namespace="main", read_user_id="u1")
    receipt = through_api(db, token, "working_memory.set", content="mine")
    assert (receipt["user_id"], receipt["session_id"]) == ("u1", "-")
    assert through_api(db, token, "working_memory.get")["content"] == "mine"
    assert through_api(db, token, "working_memory.get", user_id="u1")["content"] == "mine"


@pytest.mark.parametrize("op", [*WRITES, *READS])
def test_a_pinned_token_never_names_another_user(db: Connection, mint: Mint, op: str) -> None:
    wm(db, "set", agent=None, user_id="u2", content="x")
    token = mint(namespace="main", read_user_id="u1")
    for user in ("u2", "U1", "u", "u1 ", "%"):
        with refused(db, "LM302") as refusal:
            through_api(db, token, op, **WRITES.get(op, {}), user_id=user)
        assert refusal.detail == {"reason": "user_id is outside the token's bounds"}


@pytest.mark.parametrize("op", READS)
def test_a_pinned_token_reads_what_is_no_users(db: Connection, mint: Mint, op: str) -> None:
    wm(db, "set", agent=None, content="shared")
    token = mint(role="viewer", namespace="main", read_user_id="u1")
    answer = through_api(db, token, op, user_id="-")
    assert answer.get("items") or answer.get("blocks") or answer["found"]


@pytest.mark.parametrize("op", WRITES)
def test_a_pinned_token_does_not_write_what_is_no_users(
    db: Connection, mint: Mint, op: str
) -> None:
    wm(db, "set", agent=None, content="x")
    token = mint(namespace="main", read_user_id="u1")
    with refused(db, "LM302") as refusal:
        through_api(db, token, op, **WRITES[op], user_id="-")
    assert refusal.detail == {"reason": "user_id is outside the token's bounds"}
    assert wm(db, "get", agent=None)["version"] == 1


def test_a_pinned_token_renders_the_layers_around_its_user(db: Connection, mint: Mint) -> None:
    wm(db, "set", content="agent's", block_key="a")
    wm(db, "set", content="u2's", block_key="b", user_id="u2")
    wm(db, "set", content="u1's", block_key="c", user_id="u1")
    token = mint(role="viewer", namespace="main", read_user_id="u1")
    rendered = through_api(db, token, "working_memory.render", agent="coder", layered=True)
    assert [(b["block_key"], b["layer"]) for b in rendered["blocks"]] == [
        ("c", "user"),
        ("a", "agent"),
    ]


def test_a_session_bound_tokens_session_is_its_default(db: Connection, mint: Mint) -> None:
    token = mint(namespace="main", read_user_id="u1", session_id="s1")
    receipt = through_api(db, token, "working_memory.set", content="x")
    assert (receipt["user_id"], receipt["session_id"]) == ("u1", "s1")


@pytest.mark.parametrize("op", [*WRITES, *READS])
def test_a_session_bound_token_never_names_another_session(
    db: Connection, mint: Mint, op: str
) -> None:
    token = mint(namespace="main", read_user_id="u1", session_id="s1")
    with refused(db, "LM302") as refusal:
        through_api(db, token, op, **WRITES.get(op, {}), session_id="s2")
    assert refusal.detail == {"reason": "session_id is outside the token's bounds"}
    wm(db, "set", agent=None, user_id="u1", session_id="-", content="x")
    if op in READS:
        through_api(db, token, op, session_id="-")
        return
    with refused(db, "LM302") as refusal:
        through_api(db, token, op, **WRITES[op], session_id="-")
    assert refusal.detail == {"reason": "session_id is outside the token's bounds"}


def test_a_pinned_token_without_a_session_bound_uses_any_session(
    db: Connection, mint: Mint
) -> None:
    token = mint(namespace="main", read_user_id="u1")
    for session in ("-", "s1", "s2"):
        receipt = through_api(db, token, "working_memory.set", content="x", session_id=session)
        assert receipt["session_id"] == session


def test_a_tokens_bounds_hold_inside_a_batch(db: Connection, mint: Mint) -> None:
    wm(db, "set", agent=None, user_id="u2", content="x")
    token = mint(namespace="main", read_user_id="u1", session_id="s1")
    requests = [
        {"op": "working_memory.set", "content": "x"},
        {"op": "working_memory.get", "user_id": "u2"},
        {"op": "working_memory.set", "content": "x", "user_id": "-"},
        {"op": "working_memory.set", "content": "x", "session_id": "s2"},
        {"op": "working_memory.get", "namespace": "other"},
        {"op": "token.list"},
    ]
    results = through_api(db, token, "batch", requests=requests)["results"]
    assert [result["status"] for result in results] == [200, 403, 403, 403, 403, 403]
    assert results[0]["result"]["user_id"] == "u1"


def test_no_setting_widens_a_token(db: Connection, mint: Mint) -> None:
    wm(db, "set", agent=None, user_id="u2", content="u2's")
    wm(db, "set", org="other", agent=None, content="other's")
    token = mint(role="viewer", namespace="main", read_user_id="u1")
    for setting in ("loom.org", "loom.user_id", "loom.role", "loom.namespace", "loom.open_mode"):
        db.execute("select set_config(%s, 'other', false)", (setting,))
    assert through_api(db, token, "working_memory.get")["found"] is False
    with refused(db, "LM302"):
        through_api(db, token, "working_memory.get", user_id="u2")
    with refused(db, "LM302"):
        through_api(db, token, "working_memory.get", org="other")


def test_an_expired_token_is_refused_from_its_last_moment_on(
    db: Connection, mint: Mint, clock: Clock
) -> None:
    clock.set(NOON)
    token = mint(namespace="main", ttl_seconds=60)
    clock.advance(seconds=59.999999)
    through_api(db, token, "working_memory.get")
    clock.advance(microseconds=1)
    with refused(db, "LM301") as refusal:
        through_api(db, token, "working_memory.get")
    assert refusal.detail == {}
    assert refusal.hint


def test_only_the_very_secret_in_the_very_org_is_a_token(db: Connection, mint: Mint) -> None:
    token, other = mint(namespace="main"), mint(org="other", namespace="main")
    attempts = [
        (token.org_id, other.secret_sha256),
        (other.org_id, token.secret_sha256),
        (uuid4(), token.secret_sha256),
        (None, token.secret_sha256),
        (token.org_id, b""),
        (token.org_id, token.secret_sha256[:31]),
        (token.org_id, token.secret_sha256.hex().encode()),
    ]
    for org_id, secret_sha256 in attempts:
        with refused(db, "LM301"), acting_as(db, "loom_gateway"):
            db.execute(
                "select loom.call(%s, %s, 'working_memory.get', '{}')", (org_id, secret_sha256)
            )


def test_a_use_is_stamped_at_most_once_a_minute(db: Connection, mint: Mint, clock: Clock) -> None:
    def last_use() -> str | None:
        (item,) = operate(db, "token.list", org="acme")["items"]
        return item["last_used_at"]  # type: ignore[no-any-return]

    clock.set(NOON)
    token = mint(role="viewer", namespace="main")
    assert last_use() is None
    through_api(db, token, "working_memory.get")
    assert last_use() == "2026-03-01T12:00:00.000000Z"
    for seconds in (1, 58, 1):
        clock.advance(seconds=seconds)
        through_api(db, token, "working_memory.get")
    assert last_use() == "2026-03-01T12:00:00.000000Z"
    clock.advance(microseconds=1)
    through_api(db, token, "working_memory.get")
    assert last_use() == "2026-03-01T12:01:00.000001Z"


def test_a_stamp_writes_the_row_only_when_it_is_due(
    db: Connection, mint: Mint, clock: Clock
) -> None:
    clock.set(NOON)
    token = mint(role="viewer", namespace="main")
    through_api(db, token, "working_memory.get")
    before = db.execute("select ctid from loom.token").fetchall()
    clock.advance(seconds=30)
    through_api(db, token, "working_memory.get")
    assert db.execute("select ctid from loom.token").fetchall() == before


def test_a_token_in_a_superusers_hands_is_still_no_pass(db: Connection, mint: Mint) -> None:
    # Only loom_gateway's word about the caller is taken.
    with refused(db, "LM001") as refusal:
        call(db, mint(namespace="main"), "working_memory.get")
    assert refusal.detail["field"] == "_caller"

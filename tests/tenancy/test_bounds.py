"""Tokens with bounds: pinned to a user, to a session, to a namespace. None reaches beyond."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import psycopg
import pytest
from psycopg.types.json import Jsonb

from tests.calls import Answer, Token, acting_as, call, mint_token, operate, refused
from tests.tenancy.orgs import Connection, rows_by_org, text_of
from tests.tenancy.requests import own_fields

USERS = ("-", "u", "U", "u%", "\u00fc", "u\u0308")
SESSIONS = ("-", "s", "S")
NAMESPACES = ("n", "N", "n%")

SETTINGS = (
    "loom.org",
    "loom.namespace",
    "loom.user_id",
    "loom.read_user_id",
    "loom.session_id",
    "loom.role",
    "loom.actor",
    "loom.is_admin",
    "loom.bound_user",
    "loom.bypass",
)
"""Settings a client might hope to be believed by."""


def _canary(*place: str) -> str:
    return f"canary of {'/'.join(place)};"


@pytest.fixture
def filled(db: Connection) -> Connection:
    """Org acme with a block in each namespace, user and session; the text names its place."""
    for namespace in NAMESPACES:
        for user in USERS:
            for session in SESSIONS:
                place = {"namespace": namespace, "user_id": user, "session_id": session}
                text = _canary(namespace, user, session)
                operate(db, "working_memory.set", org="acme", **place, content=text)
                for key in ("a", "a%", "scratchpad"):
                    operate(db, "memory.set", org="acme", **place, memory_key=key, value=text)
                for label in ("persona", "persona%"):
                    operate(db, "profile.set", org="acme", **place, label=label, value=text)
    return db


_ADMINS = "admins"

# What spans the sessions of a user is closed to a token of one of them.
_UNBOUNDED = {
    *("profile.structured", "profile.structured_build"),
    *("user_profile.update", "user_profile.apply", "user_profile.put", "user_profile.get"),
    *("user_profile.history", "user_profile.render", "user_profile.reset", "user_profile.delete"),
}

# Of which all else would be gone.
_APART = {"batch", "erasure.request"}
# A model answers it, which no batch waits for.
_ALONE = {"memory.ask"}


def _requests(conn: Connection) -> Iterator[tuple[str, str, list[str], Answer]]:
    """Operation, mode, identity and own fields of all but batches and erasures; reads first.

    The mode of what only an admin may do, which no token here is, is `_ADMINS`.
    """
    rows = conn.execute(
        "select op, case when role = 'admin' then %s else mode end, identity from loom.operation"
        " order by mode, op",
        (_ADMINS,),
    ).fetchall()
    for op, mode, identity in rows:
        for own in own_fields(op):
            if op not in _APART:
                yield op, mode, identity, own


def _try(conn: Connection, token: Token, op: str, request: Answer) -> tuple[bool, str]:
    """Whether it was refused as outside the bounds, and what it answered."""
    try:
        with conn.transaction():
            return False, text_of(call(conn, token, op, **request))
    except psycopg.Error as error:
        return error.sqlstate == "LM302", text_of(error.diag.message_detail)


def _try_in_a_batch(conn: Connection, token: Token, op: str, request: Answer) -> tuple[bool, str]:
    results = call(conn, token, "batch", requests=[{"op": op, **request}])["results"]
    answer = text_of(results)
    # What cannot stand in a batch is refused there to everyone.
    return results[0]["status"] == 403 or "cannot stand in a batch" in answer, answer


def _identity(identity: list[str], **ids: str) -> Answer:
    return {field: value for field, value in ids.items() if field in identity}


def _texts_outside(allowed: set[tuple[str, str, str]]) -> list[str]:
    return [
        _canary(namespace, user, session)
        for namespace in NAMESPACES
        for user in USERS
        for session in SESSIONS
        if (namespace, user, session) not in allowed
    ]


def _blocks(conn: Connection) -> dict[tuple[str, str, str], str]:
    rows = conn.execute(
        "select namespace, user_id, session_id, to_jsonb(t)::text from loom.working_memory as t"
        " union all"
        " select namespace, user_id, session_id, to_jsonb(t)::text from loom.memory as t"
        " order by 1, 2, 3, 4"
    ).fetchall()
    found: dict[tuple[str, str, str], str] = {}
    for namespace, user, session, row in rows:
        found[namespace, user, session] = found.get((namespace, user, session), "") + row
    return found


_Places = set[tuple[str, str, str]]

BOUNDS: dict[str, tuple[Answer, _Places, _Places]] = {
    # What is minted; where it reads; where it writes.
    "user": (
        {"read_user_id": "u"},
        {(n, u, s) for n in NAMESPACES for u in ("u", "-") for s in SESSIONS},
        {(n, "u", s) for n in NAMESPACES for s in SESSIONS},
    ),
    "user and namespace": (
        {"read_user_id": "u", "namespace": "n"},
        {("n", u, s) for u in ("u", "-") for s in SESSIONS},
        {("n", "u", s) for s in SESSIONS},
    ),
    "session": (
        {"read_user_id": "u", "session_id": "s"},
        {(n, u, s) for n in NAMESPACES for u in ("u", "-") for s in ("s", "-")},
        {(n, "u", "s") for n in NAMESPACES},
    ),
    "namespace": (
        {"namespace": "n"},
        {("n", u, s) for u in USERS for s in SESSIONS},
        {("n", u, s) for u in USERS for s in SESSIONS},
    ),
}


_PLACES_OF: dict[str, Callable[[_Places, _Places], _Places]] = {
    "read": lambda readable, _writable: readable,
    "write": lambda _readable, writable: writable,
    _ADMINS: lambda _readable, _writable: set(),
}


@pytest.mark.parametrize("batched", [False, True], ids=["alone", "in a batch"])
@pytest.mark.parametrize("bounds", BOUNDS)
def test_o61_a_bound_token_reads_and_writes_within_its_bounds_by_every_operation(
    filled: Connection, bounds: str, batched: bool
) -> None:
    minted, readable, writable = BOUNDS[bounds]
    token = mint_token(filled, org="acme", **minted)
    before = _blocks(filled)
    hidden = _texts_outside(readable)
    seen: set[str] = set()
    wanted = list(_requests(filled))
    with acting_as(filled, "loom_gateway"):
        for op, mode, identity, own in wanted:
            if batched and op in _ALONE:
                continue
            for place in before if "user_id" in identity else [("n", "u", "s")]:
                ids = _identity(
                    identity,
                    **dict(zip(("namespace", "user_id", "session_id"), place, strict=True)),
                )
                attempt = _try_in_a_batch if batched else _try
                outside, text = attempt(filled, token, op, {**ids, **own})
                if "user_id" in identity:
                    places = _PLACES_OF[mode](readable, writable)
                    allowed = place in places and not (bounds == "session" and op in _UNBOUNDED)
                    assert outside is not allowed, (op, place, text)
                assert not [canary for canary in hidden if canary in text], (op, place)
                seen.update(canary for canary in [_canary(*place)] if canary in text)
    assert seen == {_canary(*place) for place in readable}
    after = _blocks(filled)
    assert {place for place in before if after[place] != before[place]} == writable


@pytest.mark.parametrize("bounds", BOUNDS)
def test_a_layered_render_stays_within_the_bounds(filled: Connection, bounds: str) -> None:
    minted, readable, _ = BOUNDS[bounds]
    for number, (namespace, user, session) in enumerate(sorted(_blocks(filled))):
        operate(
            filled,
            "working_memory.set",
            org="acme",
            namespace=namespace,
            user_id=user,
            session_id=session,
            block_key=f"only here {number}",
            content=_canary(namespace, user, session),
        )
    token = mint_token(filled, org="acme", **minted)
    hidden = _texts_outside(readable)
    with acting_as(filled, "loom_gateway"):
        for namespace, user, session in sorted(readable):
            text = call(
                filled,
                token,
                "working_memory.render",
                namespace=namespace,
                user_id=user,
                session_id=session,
                run_id="r",
                layered=True,
                limit=100,
            )["text"]
            assert _canary(namespace, user, session) in text
            assert not [canary for canary in hidden if canary in text]


def test_ids_default_to_the_bounds(filled: Connection) -> None:
    token = mint_token(filled, org="acme", namespace="n", read_user_id="u", session_id="s")
    with acting_as(filled, "loom_gateway"):
        block = call(filled, token, "working_memory.get")
        assert block["content"] == _canary("n", "u", "s")
        assert call(filled, token, "working_memory.append", addition="x")["user_id"] == "u"


def test_o63_no_setting_widens_a_bound(filled: Connection) -> None:
    token = mint_token(filled, org="acme", namespace="n", read_user_id="u", session_id="s")
    before = _blocks(filled)
    with acting_as(filled, "loom_gateway"):
        for value in ("U", "-", "acme", "admin", "on", "*"):
            for setting in SETTINGS:
                filled.execute("select set_config(%s, %s, false)", (setting, value))
            assert call(filled, token, "working_memory.get")["content"] == _canary("n", "u", "s")
            for place in ({"user_id": "U"}, {"session_id": "S"}, {"namespace": "N"}):
                with refused(filled, "LM302"):
                    call(filled, token, "working_memory.get", **place)
                with refused(filled, "LM302"):
                    call(filled, token, "working_memory.set", content="x", **place)
            with refused(filled, "LM302"):
                call(filled, token, "token.list")
    assert _blocks(filled) == before


def test_a_bound_token_cannot_replay_what_another_token_did(filled: Connection) -> None:
    """The answer stored under a key belongs to the token that made it."""
    wide = mint_token(filled, org="acme")
    pinned = mint_token(filled, org="acme", read_user_id="u")
    request = {"namespace": "n", "user_id": "U", "addition": "x"}
    with acting_as(filled, "loom_gateway"):
        call(filled, wide, "working_memory.append", key="k", **request)
        with refused(filled, "LM302"):
            call(filled, pinned, "working_memory.append", key="k", **request)
        request["user_id"] = "u"
        answer = call(filled, pinned, "working_memory.append", key="k", **request)
        assert answer["user_id"] == "u"


@pytest.mark.parametrize("role", ["viewer", "writer"])
def test_a_pinned_token_is_never_admin(filled: Connection, role: str) -> None:
    with refused(filled, "LM001"):
        mint_token(filled, org="acme", role="admin", read_user_id="u")
    token = mint_token(filled, org="acme", role=role, read_user_id="u", namespace="n")
    admin_only = filled.execute("select op from loom.operation where role = 'admin'").fetchall()
    assert admin_only
    with acting_as(filled, "loom_gateway"):
        for (op,) in admin_only:
            for own in own_fields(op):
                with refused(filled, "LM302") as refusal:
                    call(filled, token, op, **own)
                assert refusal.detail == {"reason": "role", "needed": "admin"}
        with refused(filled, "LM302"):
            call(filled, token, "working_memory.set", content="x", read_only=True)


def test_an_admin_bound_to_a_namespace_manages_its_tokens_only(filled: Connection) -> None:
    bound = mint_token(filled, org="acme", role="admin", namespace="n")
    tokens = [mint_token(filled, org="acme", **each) for each in ({}, {"namespace": "N"})]
    own = mint_token(filled, org="acme", namespace="n")
    before = rows_by_org(filled)["acme"]["token"]
    with acting_as(filled, "loom_gateway"):
        listed = call(filled, bound, "token.list")["items"]
        assert {item["namespace"] for item in listed} == {"n"}
        for token in tokens:
            token_id = token.answer["token_id"]
            assert call(filled, bound, "token.revoke", token_id=token_id)["found"] is False
        for wider in ({"namespace": "N"}, {"namespace": "-"}):
            with refused(filled, "LM302"):
                call(filled, bound, "token.mint", role="viewer", **wider)
        minted = call(filled, bound, "token.mint", role="admin")
        assert minted["namespace"] == "n"
        token_id = own.answer["token_id"]
        assert call(filled, bound, "token.revoke", token_id=token_id)["found"] is True
        names = call(filled, bound, "namespace.list")["items"]
        assert [item["namespace"] for item in names] == ["n"]
        with refused(filled, "LM301"):
            call(filled, own, "working_memory.get", namespace="n")
    kept = rows_by_org(filled)["acme"]["token"]
    foreign = [row for row in before if '"namespace": "n"' not in row]
    assert [row for row in kept if '"namespace": "n"' not in row] == foreign


@pytest.mark.parametrize("bounds", BOUNDS)
def test_a_cursor_holds_a_position_and_no_right(filled: Connection, bounds: str) -> None:
    """Cursors made in one place, by an unbound token, are used in another by a bound one."""
    minted, _, _ = BOUNDS[bounds]
    wide, bound = mint_token(filled, org="acme"), mint_token(filled, org="acme", **minted)
    place: dict[str, Any] = {"namespace": "n", "user_id": "u", "session_id": "s"}
    for user in ("u", "U"):
        for number in range(3):
            operate(
                filled,
                "working_memory.set",
                org="acme",
                **{**place, "user_id": user},
                block_key=f"{user} {number}",
                content="x",
            )
    with acting_as(filled, "loom_gateway"):
        page = call(filled, wide, "working_memory.list", **{**place, "user_id": "U"}, limit=1)
        cursor = page["next_cursor"]
        items = call(filled, bound, "working_memory.list", **place, cursor=cursor)["items"]
        assert {item["user_id"] for item in items} == {"u"}


def test_a_service_names_any_user_of_its_org(filled: Connection) -> None:
    """The other side of the bounds: a service and an unpinned token have none inside their org."""
    filled.execute("select loom.service_bind('loom_test_writer', 'acme')")
    with acting_as(filled, "loom_test_writer"):
        for user in USERS:
            row = filled.execute(
                "select loom.working_memory_get(%s)",
                (Jsonb({"org": "acme", "namespace": "n", "user_id": user, "session_id": "s"}),),
            ).fetchone()
            assert row is not None
            assert row[0]["content"] == _canary("n", user, "s")

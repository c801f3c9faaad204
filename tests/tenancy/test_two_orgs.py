"""Every operation, by every door, as one of several orgs with colliding ids.

Whatever a caller names, no row of another org changes and no trace of one is in an answer.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import psycopg
import pytest

from tests.calls import Answer, acting_as, call, refused
from tests.tenancy.orgs import (
    COLLIDING,
    Connection,
    Org,
    attempts,
    rows_by_org,
    seed_all,
    tables_of_orgs,
    text_of,
)
from tests.tenancy.requests import NO_TOKEN, execute

Door = Callable[[Connection, Org, str, Answer], Answer]

SERVICE = "loom_test_admin"


def _by_token(conn: Connection, org: Org, op: str, request: Answer) -> Answer:
    return call(conn, org.token, op, **request)


def _by_service(conn: Connection, org: Org, op: str, request: Answer) -> Answer:
    return execute(conn, op, request)


def _in_open_mode(conn: Connection, org: Org, op: str, request: Answer) -> Answer:
    return call(conn, None, op, **request)


DOORS: dict[str, tuple[str, Door]] = {
    "token": ("loom_gateway", _by_token),
    "service": (SERVICE, _by_service),
    "open mode": ("loom_gateway", _in_open_mode),
}


@pytest.fixture
def orgs(db: Connection) -> list[Org]:
    seeded = seed_all(db)
    kept = rows_by_org(db)
    for org in seeded:
        # Otherwise a table added later would be watched over while it is empty.
        assert set(kept[org.name]) == {*tables_of_orgs(db), "org"}
    return seeded


# Among them what only the API may do, and what the caller's own earlier attempts brought about.
_EXPECTED = {
    *("LM001", "LM003", "LM101", "LM102", "LM103", "LM202", "LM204", "LM205", "LM302", "LM403"),
    "LM405",
    "LM501",  # the database asks no model
}


def _play(conn: Connection, door: Door, org: Org, op: str, request: Answer) -> Answer | None:
    """The answer, or None where the operation was refused, and then for an expected reason."""
    try:
        with conn.transaction():
            return door(conn, org, op, request)
    except psycopg.Error as error:
        assert error.sqlstate in _EXPECTED, (op, request, error)
        return None


@pytest.mark.parametrize("door_name", DOORS)
def test_o59_o61_no_operation_shows_or_changes_another_org(
    db: Connection, orgs: list[Org], door_name: str
) -> None:
    login, door = DOORS[door_name]
    db.execute("select loom.open_mode_set(60)")
    # All orgs are looked at each time; each is the caller by one door, some by every door.
    for org in orgs if door_name == "token" else orgs[::4]:
        with db.transaction(force_rollback=True):
            db.execute("select loom.service_bind(%s, %s)", (SERVICE, org.name))
            others = [other for other in orgs if other is not org]
            foreign_ids = [other.token.answer["token_id"] for other in others]
            wanted = list(attempts(db, org.name, foreign_ids))
            before = rows_by_org(db)

            seen = set()
            with acting_as(db, login):
                for op, request in wanted:
                    answer = text_of(_play(db, door, org, op, request))
                    for other in others:
                        for trace in other.traces:
                            # The caller itself named the others' tokens.
                            if trace not in foreign_ids:
                                assert trace not in answer, (org.name, other.name, op, request)
                    if org.canary in answer:
                        seen.add(op)

            assert {"working_memory.get", "working_memory.render", "batch"} <= seen
            assert {"namespace.list", "namespace.get", "token.list"} <= seen
            assert {"memory.get", "memory.list", "memory.history", "profile.render"} <= seen
            assert {"profile.activity", "blacklist.list"} <= seen
            assert {"memory.search", "search.query"} <= seen
            after = rows_by_org(db)
            for other in others:
                assert after[other.name] == before[other.name], (org.name, other.name)
            assert after[org.name] != before[org.name]


def test_a_token_is_refused_for_another_org_by_every_operation(
    db: Connection, orgs: list[Org]
) -> None:
    requests = _one_of_each(db, [other.name for other in orgs[1:]])
    with acting_as(db, "loom_gateway"):
        for op, request in requests:
            with refused(db, "LM302") as refusal:
                call(db, orgs[0].token, op, **request)
            assert refusal.detail == {"reason": "org is not the token's"}


def test_a_service_is_refused_for_an_org_it_is_not_bound_to_by_every_operation(
    db: Connection, orgs: list[Org]
) -> None:
    db.execute("select loom.service_bind(%s, %s)", (SERVICE, orgs[0].name))
    requests = _one_of_each(db, [other.name for other in orgs[1:]])
    with acting_as(db, SERVICE):
        for op, request in requests:
            with refused(db, "LM302") as refusal:
                _by_service(db, orgs[0], op, request)
            assert refusal.detail == {"reason": "database role not bound to the org"}


def test_a_secret_of_one_org_is_none_in_another(db: Connection, orgs: list[Org]) -> None:
    """The org's uuid is the caller's word for it; the secret is looked up inside that org."""
    with acting_as(db, "loom_gateway"):
        for one, other in pairwise(orgs):
            with refused(db, "LM301"):
                db.execute(
                    "select loom.call(%s, %s, 'namespace.list', '{}', null)",
                    (other.token.org_id, one.token.secret_sha256),
                )


def test_o62_a_token_of_another_org_cannot_be_revoked(db: Connection, orgs: list[Org]) -> None:
    with acting_as(db, "loom_gateway"):
        for other in orgs[1:]:
            token_id = other.token.answer["token_id"]
            answer = call(db, orgs[0].token, "token.revoke", token_id=token_id)
            assert answer["found"] is False
            assert call(db, other.token, "namespace.list")["items"]


@pytest.mark.parametrize("door_name", ["service", "open mode"])
def test_o61_a_key_used_in_one_org_is_free_in_another(
    db: Connection, orgs: list[Org], door_name: str
) -> None:
    """The same caller, the same key, the same request but for the org."""
    request = {"namespace": "a", "user_id": "a", "addition": "x"}
    answers = []
    db.execute("select loom.open_mode_set(60)")
    for org in orgs:
        db.execute("select loom.service_bind(%s, %s)", (SERVICE, org.name))
        with acting_as(db, DOORS[door_name][0]):
            if door_name == "service":
                wanted = {"org": org.name, **request}
                answers.append(execute(db, "working_memory.append", wanted, "key a"))
            else:
                answers.append(
                    call(db, None, "working_memory.append", key="key a", org=org.name, **request)
                )
    assert [answer["org"] for answer in answers] == [org.name for org in orgs]


def test_names_are_kept_apart_as_they_were_given(db: Connection, orgs: list[Org]) -> None:
    assert [org.token.answer["org"] for org in orgs] == list(COLLIDING)
    assert len({org.token.org_id for org in orgs}) == len(COLLIDING)


def test_ids_are_kept_apart_inside_an_org(db: Connection) -> None:
    """The same table of ids as users, agents, sessions, runs, namespaces and keys of one org."""
    fields = ("namespace", "agent", "user_id", "session_id", "run_id", "block_key")
    base = dict.fromkeys(fields, "a")
    places: list[dict[str, Any]] = [
        {**base, field: value} for field in fields for value in COLLIDING if value != "a"
    ]
    for number, place in enumerate([base, *places]):
        _by_operator(db, "working_memory.set", content=f"text {number}", **place)
    for number, place in enumerate([base, *places]):
        block = _by_operator(db, "working_memory.get", **place)
        assert block["content"] == f"text {number}", place
    _by_operator(db, "working_memory.delete", **base)
    for number, place in enumerate(places, start=1):
        rendered = _by_operator(
            db, "working_memory.render", **{key: place[key] for key in fields[:-1]}
        )
        assert f"text {number}<" in rendered["text"], place


def _by_operator(conn: Connection, op: str, **request: Any) -> Answer:
    return execute(conn, op, {"org": "one", **request})


def _one_of_each(conn: Connection, names: list[str]) -> list[tuple[str, Answer]]:
    """For each org a request of every operation."""
    found: dict[tuple[str, str], Answer] = {}
    for name in names:
        for op, request in attempts(conn, name, [NO_TOKEN]):
            found.setdefault((name, op), request)
    return [(op, request) for (_, op), request in found.items()]

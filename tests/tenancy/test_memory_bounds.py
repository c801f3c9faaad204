"""Memory within the bounds of a pinned token: by key, id, cursor, version, as of a time."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest

from tests.calls import Answer, Token, acting_as, call, mint_token, operate, refused
from tests.tenancy.orgs import Connection, text_of

USERS = ("-", "u", "U", "u%", "u\u0308")
SESSIONS = ("-", "s", "S")
AGENTS = ("-", "a")

Place = tuple[str, str, str]
"""User, session and agent."""

PINNED: dict[str, tuple[Answer, tuple[str, ...], tuple[str, ...]]] = {
    # What is minted; the users and the sessions whose rows it reads.
    "user": ({"read_user_id": "u"}, ("u", "-"), SESSIONS),
    "session": ({"read_user_id": "u", "session_id": "s"}, ("u", "-"), ("s", "-")),
}


def _canary(place: Place) -> str:
    return "canary of " + "/".join(place) + ";"


def _ids(place: Place) -> Answer:
    return dict(zip(("user_id", "session_id", "agent"), place, strict=True))


@pytest.fixture
def rows(db: Connection) -> dict[Place, str]:
    """Rows of one key in every place of namespace n, with their ids; two versions each."""
    made = {}
    for place in product(USERS, SESSIONS, AGENTS):
        for version in ("old", "new"):
            request = {"memory_key": "k", "value": f"{_canary(place)} {version}"}
            answer = operate(db, "memory.set", org="acme", namespace="n", **_ids(place), **request)
        operate(
            db,
            "profile.set",
            org="acme",
            namespace="n",
            **_ids(place),
            label="section " + "/".join(place),
            value=_canary(place),
        )
        made[place] = answer["memory_id"]
    return made


def _token(db: Connection, bounds: str, **more: Any) -> tuple[Token, set[Place]]:
    minted, users, sessions = PINNED[bounds]
    token = mint_token(db, org="acme", namespace="n", **minted, **more)
    return token, set(product(users, sessions, AGENTS))


def _shown(answer: Answer) -> set[Place]:
    """The places whose text is anywhere in an answer."""
    text = text_of(answer)
    places = product(USERS, SESSIONS, AGENTS)
    return {place for place in places if _canary(place) in text}


@pytest.mark.parametrize("bounds", PINNED)
def test_o61_by_id_a_pinned_token_reads_its_own_rows(
    db: Connection, rows: dict[Place, str], bounds: str
) -> None:
    token, readable = _token(db, bounds)
    with acting_as(db, "loom_gateway"):
        for place, memory_id in rows.items():
            for more in ({}, {"as_of": "9999-01-01T00:00:00Z"}):
                answer = call(db, token, "memory.get", memory_id=memory_id, **more)
                assert answer["found"] is (place in readable), place
                assert _shown(answer) == ({place} if place in readable else set())
            told = call(db, token, "memory.get", memory_id=memory_id, if_version=2)
            assert told["found"] is (place in readable)
            if place not in readable:
                # Not even that there is such a row, or what became of it.
                assert (told["status"], told["memory_id"]) == ("absent", None)
            answer = call(db, token, "memory.history", memory_id=memory_id)
            assert (answer["found"], len(answer["items"])) == (
                (True, 2) if place in readable else (False, 0)
            )


@pytest.mark.parametrize("bounds", PINNED)
def test_o61_by_key_a_pinned_token_reads_what_is_nearest_in_its_reach(
    db: Connection, rows: dict[Place, str], bounds: str
) -> None:
    token, _ = _token(db, bounds)
    past = "9999-01-01T00:00:00Z"
    with acting_as(db, "loom_gateway"):
        for place in rows:
            named = {"memory_key": "k", **_ids(place)}
            reads = [("memory.get", {}), ("memory.get", {"as_of": past}), ("memory.history", {})]
            for op, more in reads:
                if place[0] in ("u", "-") and (bounds == "user" or place[1] in ("s", "-")):
                    assert _shown(call(db, token, op, **named, **more)) == {place}
                else:
                    with refused(db, "LM302"):
                        call(db, token, op, **named, **more)
        # Under identities that have no row of their own.
        for agent in ("other", "A"):
            answer = call(db, token, "memory.get", memory_key="k", agent=agent)
            session = "s" if bounds == "session" else "-"
            assert _shown(answer) == {("u", session, "-")}


@pytest.mark.parametrize("bounds", PINNED)
def test_a_key_that_only_others_have_is_not_there(
    db: Connection, rows: dict[Place, str], bounds: str
) -> None:
    token, readable = _token(db, bounds)
    for place in rows:
        if place not in readable:
            operate(
                db,
                "memory.set",
                org="acme",
                namespace="n",
                **_ids(place),
                memory_key="x",
                value=_canary(place),
            )
    with acting_as(db, "loom_gateway"):
        for op in ("memory.get", "memory.history"):
            for agent in ("a", "-", "other"):
                answer = call(db, token, op, memory_key="x", agent=agent)
                assert (answer["found"], answer["memory_id"]) == (False, None)
        assert call(db, token, "memory.list", key_prefix="x")["items"] == []
        assert call(db, token, "profile.list", label="x")["items"] == []


@pytest.mark.parametrize("bounds", PINNED)
def test_o61_lists_and_renders_show_its_own_rows_and_no_others(
    db: Connection, rows: dict[Place, str], bounds: str
) -> None:
    token, readable = _token(db, bounds)
    with acting_as(db, "loom_gateway"):
        listed = call(db, token, "memory.list", include_deleted=True, limit=200)
        rendered = call(db, token, "profile.render")
        sections = call(db, token, "profile.list", limit=200)
        for answer in (listed, rendered):
            assert _shown(answer) == readable
        assert len(sections["items"]) == len(rendered["sections"]) == len(readable)
        hidden = ["section " + "/".join(place) for place in rows if place not in readable]
        named = call(db, token, "profile.render", labels=hidden[:50])
        assert (named["sections"], named["omitted"]) == ([], [])
        for op in ("memory.list", "profile.list", "profile.render", "profile.activity"):
            with refused(db, "LM302"):
                call(db, token, op, read_scope="namespace")


@pytest.mark.parametrize("op", ["memory.list", "profile.list"])
@pytest.mark.parametrize("bounds", PINNED)
def test_a_cursor_of_another_reach_holds_a_position_and_no_right(
    db: Connection, rows: dict[Place, str], bounds: str, op: str
) -> None:
    token, readable = _token(db, bounds)
    wide = mint_token(db, org="acme", namespace="n")
    owners = set()
    with acting_as(db, "loom_gateway"):
        page = call(db, wide, op, read_scope="namespace", limit=7)
        while page["next_cursor"] is not None:
            cursor = page["next_cursor"]
            items = call(db, token, op, cursor=cursor, limit=200)["items"]
            owners |= {(item["user_id"], item["session_id"], item["agent"]) for item in items}
            page = call(db, wide, op, read_scope="namespace", limit=7, cursor=cursor)
        versions = call(db, token, "memory.history", memory_id=rows["U", "-", "-"], cursor="2")
    assert owners <= readable
    assert owners
    assert versions["items"] == []


def _stored(db: Connection) -> set[tuple[str, str, str, str]]:
    """Each row with its place."""
    rows = db.execute("select user_id, session_id, agent, to_jsonb(m)::text from loom.memory as m")
    return {(user, session, agent, row) for user, session, agent, row in rows.fetchall()}


@pytest.mark.parametrize("bounds", PINNED)
def test_o62_writes_reach_its_own_rows_and_no_others(
    db: Connection, rows: dict[Place, str], bounds: str
) -> None:
    token, _ = _token(db, bounds)
    writes: list[tuple[str, Answer]] = [
        ("memory.set", {"memory_key": "k", "value": "attack"}),
        ("memory.delete", {"memory_key": "k"}),
        ("memory.restore", {"memory_key": "k"}),
        ("memory.revert", {"memory_key": "k", "version": 1}),
        ("memory.lock", {"memory_key": "k", "reason": "attack"}),
        ("memory.pin", {"memory_key": "k"}),
        ("memory.label", {"memory_key": "k", "tags": {"add": ["attack"]}}),
        ("profile.append", {"label": "k", "addition": "attack"}),
        ("profile.delete", {"label": "k"}),
    ]
    own = [place for place in rows if place[0] == "u" and (bounds == "user" or place[1] == "s")]
    before = _stored(db)
    with acting_as(db, "loom_gateway"):
        for place in rows:
            for op, fields in writes:
                if place not in own:
                    with refused(db, "LM302"):
                        call(db, token, op, **_ids(place), **fields)
    assert _stored(db) == before
    with acting_as(db, "loom_gateway"):
        for place in own:
            call(db, token, "memory.set", **_ids(place), memory_key="k", value="mine")
    after = _stored(db)
    assert {row[:3] for row in before ^ after} == set(own)


def test_an_id_of_another_namespace_or_org_is_none(db: Connection) -> None:
    made = [
        operate(
            db,
            "memory.set",
            org=org,
            namespace=namespace,
            user_id="u",
            memory_key="k",
            value="canary",
        )["memory_id"]
        for org, namespace in (("acme", "other"), ("theirs", "n"))
    ]
    operate(db, "memory.set", org="acme", namespace="n", user_id="u", memory_key="k", value="mine")
    admin = mint_token(db, org="acme", role="admin", namespace="n")
    wide = mint_token(db, org="acme", role="admin")
    with acting_as(db, "loom_gateway"):
        for memory_id in made:
            for token in (admin, wide):
                named = {"memory_id": memory_id, "namespace": "n", "user_id": "u"}
                for op in ("memory.get", "memory.history"):
                    answer = call(db, token, op, **named, read_scope="namespace")
                    assert answer["found"] is False
                with refused(db, "LM102"):
                    call(db, token, "memory.redact", **named, reason="attack")
    left = db.execute("select count(*) from loom.memory where value = '\"canary\"'").fetchone()
    assert left == (2,)


def test_a_blacklist_is_of_its_namespace_and_of_its_org(db: Connection) -> None:
    bound = mint_token(db, org="acme", role="admin", namespace="n")
    with acting_as(db, "loom_gateway"):
        for scope in ("org", None):
            with refused(db, "LM302"):
                call(db, bound, "blacklist.add", pattern="x", scope=scope, namespace="other")
        for op, fields in (
            ("blacklist.add", {"pattern": "x"}),
            ("blacklist.list", {}),
            ("blacklist.remove", {"blacklist_id": "00000000-0000-0000-0000-000000000000"}),
        ):
            with refused(db, "LM302"):
                call(db, bound, op, scope="org", **fields)
        with refused(db, "LM302"):
            call(db, bound, "audit.list")
        with refused(db, "LM302"):
            call(db, bound, "org.set_model_calls", enabled=False)
        call(db, bound, "blacklist.add", pattern="secret")
    for place in ({"org": "acme", "namespace": "other"}, {"org": "theirs", "namespace": "n"}):
        operate(db, "memory.set", **place, memory_key="k", value="a secret")
    with refused(db, "LM407"):
        operate(db, "memory.set", org="acme", namespace="n", memory_key="k", value="a secret")
    operate(db, "blacklist.add", org="acme", pattern="confidential", scope="org")
    operate(db, "memory.set", org="theirs", namespace="n", memory_key="k", value="confidential")
    for namespace in ("n", "other", "new"):
        with refused(db, "LM407"):
            operate(
                db,
                "profile.append",
                org="acme",
                namespace=namespace,
                label="k",
                addition="confidential",
            )
    theirs = operate(db, "blacklist.list", org="theirs", scope="org")
    assert theirs["items"] == []

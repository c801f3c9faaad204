"""Whose rows a search reaches: the named user's and those of -, of a session, of the namespace."""

from __future__ import annotations

from collections.abc import Callable

from tests.calls import Connection, Token, operate, refused
from tests.sql.doors import IDENTITY, through_api, wm
from tests.sql.facts import fact
from tests.sql.search.searching import ask, facts, found, query

Mint = Callable[..., Token]
PLACES = [(user, session) for user in ("u1", "u2", "-") for session in ("s1", "s2", "-")]


def fill(conn: Connection) -> None:
    for user, session in PLACES:
        ids = {"user_id": user, "session_id": session, "agent": f"agent of {user}"}
        fact(conn, "set", **ids, memory_key=f"{user} {session}", value=f"tea {user} {session}")


def test_own_user_is_the_default_and_reaches_the_user_and_everyones(db: Connection) -> None:
    fill(db)
    assert {key.split()[0] for key in found(db, "tea")} == {"u1", "-"}
    assert {key.split()[0] for key in found(db, "tea", user_id="-")} == {"-"}
    assert len(found(db, "tea")) == 6


def test_own_session_reaches_the_session_and_what_has_none(db: Connection) -> None:
    fill(db)
    reached = found(db, "tea", read_scope="own_session", session_id="s1")
    assert sorted(reached) == ["- -", "- s1", "u1 -", "u1 s1"]
    with refused(db, "LM003"):
        ask(db, "tea", read_scope="own_session")


def test_a_session_is_not_hidden_by_the_users_other_sessions(db: Connection) -> None:
    """There are more rows of the user than full text ranks; those of the session are ranked."""
    db.execute(
        "select loom.memory_set(jsonb_build_object('org', 'acme', 'namespace', 'main', 'user_id',"
        " 'u1', 'session_id', 'other', 'memory_key', 'k' || n, 'value', 'tea number ' || n))"
        " from generate_series(1, 1500) as n"
    )
    facts(db, {"mine": "more tea"}, session_id="s1")
    facts(db, {"free": "tea for all sessions"})
    reached = found(db, "tea", read_scope="own_session", session_id="s1")
    assert sorted(reached) == ["free", "mine"]


def test_the_namespace_must_be_asked_for(db: Connection) -> None:
    fill(db)
    fact(db, "set", namespace="other", user_id="u1", memory_key="elsewhere", value="tea")
    assert len(found(db, "tea", read_scope="namespace")) == len(PLACES)


def test_a_pinned_token_searches_its_own_rows(db: Connection, mint: Mint) -> None:
    fill(db)
    token = mint(role="viewer", read_user_id="u2")
    answer = through_api(db, token, "memory.search", namespace="main", query="tea", limit=100)
    assert {item["user_id"] for item in answer["items"]} == {"u2", "-"}
    for wrong in ({"read_scope": "namespace"}, {"user_id": "u1"}):
        with refused(db, "LM302"):
            through_api(db, token, "memory.search", namespace="main", query="tea", **wrong)
    bound = mint(role="viewer", read_user_id="u2", session_id="s1")
    answer = through_api(db, bound, "search.query", namespace="main", query="tea", limit=100)
    assert {(item["user_id"], item["session_id"]) for item in answer["memories"]} == {
        (user, session) for user in ("u2", "-") for session in ("s1", "-")
    }


def test_the_scratchpad_is_that_of_the_named_run_and_session(db: Connection) -> None:
    place = {"agent": "coder", "user_id": "u1", "session_id": "s1"}
    wm(db, "set", **place, run_id="r1", block_key="state", content="of the run")
    wm(db, "set", **place, block_key="state", content="of the session")
    wm(db, "set", **place, block_key="plan", content="the plan")
    wm(db, "set", user_id="u1", block_key="wide", content="of the user")
    wm(db, "set", **{**place, "user_id": "u2"}, run_id="r1", block_key="theirs", content="not mine")
    answer = ask(db, "tea", session_id="s1", run_id="r1")
    assert [
        (block["block_key"], block["layer"], block["content"]) for block in answer["scratchpad"]
    ] == [("state", "run", "of the run"), ("plan", "session", "the plan")]
    of_session = query(db, "tea", session_id="s1")["scratchpad"]
    assert [block["content"] for block in of_session] == ["the plan", "of the session"]
    assert ask(db, "tea", run_id="another")["scratchpad"] == []
    assert "scratchpad" not in ask(db, "tea")


def test_a_pinned_token_sees_no_scratchpad_of_another(db: Connection, mint: Mint) -> None:
    wm(db, "set", user_id="u1", run_id="r", content="of u1")
    token = mint(role="viewer", read_user_id="u2")
    request = {"namespace": "main", "agent": "coder", "run_id": "r", "query": "tea"}
    assert through_api(db, token, "memory.search", **request)["scratchpad"] == []


def test_two_orgs_with_the_same_ids_see_their_own(db: Connection) -> None:
    for org in ("acme", "acme2", "acm"):
        fact(db, "set", org=org, user_id="u1", memory_key="k", value=f"canary of {org}")
        operate(db, "profile.set", **{**IDENTITY, "org": org}, label="l", value=f"canary {org}")
    for org in ("acme", "acme2", "acm"):
        for scope in ("own_user", "namespace"):
            answer = query(db, "canary", org=org, read_scope=scope, profile=True)
            rows = [*answer["memories"], *answer["profile"]]
            assert [row["org"] for row in rows] == [org, org]


def test_the_database_asks_no_model(db: Connection) -> None:
    with refused(db, "LM501") as refusal:
        operate(db, "memory.ask", **IDENTITY, query="what is it")
    assert refusal.detail == {"reason": "NO_MODEL"}
    with refused(db, "LM001"):
        operate(db, "memory.ask", **IDENTITY)
    with refused(db, "LM003"):
        operate(db, "memory.ask", **IDENTITY, query="x", read_scope="own_session")

"""What a worker builds of all sessions of a user is read by no token of one of them."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest

from tests.calls import Answer, Connection, Token, acting_as, call, mint_token
from tests.databases import Clock
from tests.sql.facts import NOON, fact, section
from tests.sql.profile_fold.folding import LABEL, fold, prefers, switch
from tests.sql.structured_profile.building import build, set_schema
from tests.tenancy.orgs import text_of
from tests.vectors import embed, has_vectors, worked

SAID = "tea7of7session7s1"
"""Said in session s1 alone; one word, for searches."""

BUILT = ("structured_profile", LABEL)
USER: Answer = {"user_id": "u1"}


@pytest.fixture
def built(db: Connection, clock: Clock) -> dict[str, str]:
    """A user whose structured profile and fold say what was said in session s1; their ids."""
    clock.set(NOON)
    switch(db)
    set_schema(db)
    prefers(db, SAID, session_id="s1")
    build(db, answer={"name": SAID})
    fold(db, f"Likes {SAID}.")
    clock.advance(hours=1)
    return {key: fact(db, "get", **USER, agent="-", memory_key=key)["memory_id"] for key in BUILT}


def _reads(ids: dict[str, str]) -> list[tuple[str, Answer]]:
    """Every way to a row or to a section."""
    named = [{"memory_key": key} for key in BUILT]
    named += [{"memory_id": memory_id} for memory_id in ids.values()]
    return [
        *(("memory.get", each) for each in named),
        *(("memory.get", {**each, "as_of": "2026-03-01T12:30:00Z"}) for each in named),
        *(("memory.history", each) for each in named),
        *(("memory.list", {"limit": 200, **more}) for more in ({}, {"include_deleted": True})),
        ("memory.list", {"source_class": "derived"}),
        *(("profile.render", more) for more in ({}, {"labels": list(BUILT)})),
        ("profile.list", {}),
        *((op, {"query": SAID, **VECTOR}) for op in ("memory.search", "search.query")),
        ("search.query", {"query": SAID, "profile": True}),
        *(("context.pack", {"query": SAID, **more}) for more in ({}, {"labels": list(BUILT)})),
    ]


VECTOR: Answer = {"query_embedding": {"model": "m", "vector": [1, 0, 0]}}


def _shown(conn: Connection, token: Token, ids: dict[str, str]) -> dict[str, int]:
    """How many of the reads of each operation showed what was said, of those that went through."""
    found: dict[str, int] = {}
    with acting_as(conn, "loom_gateway"):
        for op, request in _reads(ids):
            where: dict[str, Any] = {"namespace": "main", **USER, **request}
            try:
                with conn.transaction():
                    answer = call(conn, token, op, **where)
            except psycopg.Error as error:
                assert error.sqlstate == "LM302", (op, request, error)
                continue
            text = text_of({**answer, "query": None})
            # A list of sections has no texts.
            seen = any(key in text for key in BUILT) if op == "profile.list" else SAID in text
            found[op] = found.get(op, 0) + seen
    return found


@pytest.mark.parametrize("since", ["built", "written over", "deleted"])
def test_o61_a_token_of_another_session_is_not_shown_what_was_built(
    db: Connection, clock: Clock, built: dict[str, str], since: str
) -> None:
    if has_vectors(db):
        worked(db, "embedding_model_add", model="m")
        worked(db, "embedding_advance")
        embed(db, {"": [1, 0, 0]}, org="acme", model="m")
    for key in BUILT:
        if since == "written over":
            section(db, "set", **USER, agent="-", label=key, value=f"Not {SAID} any more.")
        elif since == "deleted":
            section(db, "delete", **USER, agent="-", label=key)
    pinned = {"namespace": "main", "read_user_id": "u1"}
    other = mint_token(db, role="viewer", **pinned, session_id="s2")
    assert set(_shown(db, other, built).values()) == {0}
    # The same reads show it to a token of the whole user.
    whole = _shown(db, mint_token(db, role="viewer", **pinned), built)
    assert whole["memory.history"] == 4
    assert whole["memory.get"] == (8 if since != "deleted" else 4)
    if since != "deleted":
        assert min(whole.values()) > 0, whole


def test_o61_nor_does_it_learn_what_the_user_is_called(
    db: Connection, built: dict[str, str]
) -> None:
    pinned = {"namespace": "main", "read_user_id": "u1"}
    other = mint_token(db, role="viewer", **pinned, session_id="s2")
    whole = mint_token(db, role="viewer", **pinned)
    with acting_as(db, "loom_gateway"):
        for token, named in ((whole, True), (other, False)):
            answer = call(db, token, "search.query", **USER, query=f"Where is {SAID}?")
            assert answer["about_user"] is named

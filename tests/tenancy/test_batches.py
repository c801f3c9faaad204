"""Items of a batch: each is judged as if it were sent by itself, inside the batch's org."""

from __future__ import annotations

from typing import Any

import pytest

from tests.calls import Answer, Token, acting_as, call, mint_token, operate, refused
from tests.tenancy.orgs import Connection, rows_by_org
from tests.tenancy.requests import execute

ITEM: Answer = {"op": "working_memory.append", "namespace": "n", "addition": "x"}


@pytest.fixture
def two(db: Connection) -> Connection:
    for org in ("mine", "theirs", "dev"):
        operate(db, "working_memory.set", org=org, namespace="n", content=f"of {org}")
    db.execute("select loom.service_bind('loom_test_writer', 'mine')")
    db.execute("select loom.open_mode_set(60)")
    return db


def _run(conn: Connection, door: str, token: Token, key: str | None, **batch: Any) -> Answer:
    if door == "service":
        with acting_as(conn, "loom_test_writer"):
            return execute(conn, "batch", {"org": "mine", **batch}, key)
    with acting_as(conn, "loom_gateway"):
        if door == "token":
            return call(conn, token, "batch", key=key, **batch)
        return call(conn, None, "batch", key=key, **{"org": "mine", **batch})


@pytest.mark.parametrize("key", [None, "k"])
@pytest.mark.parametrize("door", ["token", "service", "open mode"])
def test_an_item_without_an_org_is_of_the_batchs(
    two: Connection, door: str, key: str | None
) -> None:
    """Left out or null, which is the same."""
    token = mint_token(two, org="mine")
    before = rows_by_org(two)
    items = [ITEM, {**ITEM, "org": None}, {**ITEM, "org": "mine"}]
    answer = _run(two, door, token, key, requests=items)
    assert [result["status"] for result in answer["results"]] == [200] * 3
    assert {result["result"]["org"] for result in answer["results"]} == {"mine"}
    assert _run(two, door, token, key, requests=items)["results"][0]["result"]["version"] == (
        5 if key is None else 2
    )
    after = rows_by_org(two)
    assert (after["theirs"], after["dev"]) == (before["theirs"], before["dev"])


@pytest.mark.parametrize("org", ["theirs", "MINE", "mine ", "-", "*", "", 5, ["mine"], {"a": "b"}])
@pytest.mark.parametrize("door", ["token", "service", "open mode"])
@pytest.mark.parametrize("place", [0, 1])
def test_an_item_of_another_org_is_refused_with_its_batch(
    two: Connection, door: str, org: object, place: int
) -> None:
    token = mint_token(two, org="mine")
    before = rows_by_org(two)
    items = [ITEM, ITEM]
    items[place] = {**ITEM, "org": org}
    batch = {"org": "mine", "requests": items, "atomic": True}
    with refused(two, "LM001"):
        _run(two, door, token, None, **batch)
    assert rows_by_org(two) == before


def test_a_batch_named_by_its_first_item_is_still_of_the_tokens_org(two: Connection) -> None:
    token = mint_token(two, org="mine")
    for items in ([{**ITEM, "org": "theirs"}], [ITEM, {**ITEM, "org": "theirs"}]):
        with refused(two, "LM302"), acting_as(two, "loom_gateway"):
            call(two, token, "batch", requests=items)
        with refused(two, "LM302"), acting_as(two, "loom_test_writer"):
            execute(two, "batch", {"requests": items})


def test_items_are_bound_as_their_token_is(two: Connection) -> None:
    token = mint_token(two, org="mine", namespace="n", read_user_id="u", session_id="s")
    items = [
        {"op": "working_memory.append", "addition": "x", **where}
        for where in (
            {},
            {"user_id": "u", "session_id": "s", "namespace": "n"},
            {"user_id": "v"},
            {"user_id": "-"},
            {"session_id": "t"},
            {"namespace": "m"},
        )
    ]
    with acting_as(two, "loom_gateway"):
        answer = call(two, token, "batch", requests=items, key="k")
    assert [result["status"] for result in answer["results"]] == [200, 200, 403, 403, 403, 403]
    stored = two.execute(
        "select distinct user_id, session_id from loom.working_memory where user_id <> '-'"
    ).fetchall()
    assert stored == [("u", "s")]

"""loom.embedding_claim, _store and _fail: due texts get vectors, and only of what they say."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest

from tests.calls import Connection, acting_as, operate, refused
from tests.databases import Clock
from tests.sql.doors import IDENTITY
from tests.sql.facts import NOON, fact
from tests.sql.search.searching import USER, facts
from tests.vectors import Answer, active_model, embed, need_vectors, worked

MODEL = "m"
PLACE = {"org": "acme", "model": MODEL}
CALL = {"outcome": "OK", "prompt_tokens": 7, "completion_tokens": 0, "milliseconds": 3}


@pytest.fixture
def model(db: Connection) -> Iterator[Connection]:
    """`db` with an active model and nothing in it."""
    need_vectors(db)
    active_model(db, MODEL)
    yield db


def claim(conn: Connection, **request: Any) -> Answer:
    with acting_as(conn, "loom_worker"):
        return worked(conn, "embedding_claim", **{**PLACE, **request})


def items(claimed: Answer, vector: Any = (1, 0, 0)) -> list[Answer]:
    """The claimed texts with a vector."""
    return [
        {
            "memory_id": item["memory_id"],
            "content_sha256": item["content_sha256"],
            "embedding": list(vector),
        }
        for item in claimed["items"]
    ]


def store(conn: Connection, claimed: Answer, **request: Any) -> Answer:
    wanted = {**PLACE, "lease_id": claimed["lease_id"], "items": items(claimed), **request}
    with acting_as(conn, "loom_worker"):
        return worked(conn, "embedding_store", **wanted)


def fail(conn: Connection, claimed: Answer, outcome: str, **request: Any) -> int:
    wanted = {**PLACE, "lease_id": claimed["lease_id"], "outcome": outcome, "error": "TIMEOUT"}
    with acting_as(conn, "loom_worker"):
        return worked(conn, "embedding_fail", **{**wanted, **request})["ended"]  # type: ignore[no-any-return]


def vectors(conn: Connection) -> int:
    row = conn.execute("select count(*) from loom.embedding").fetchone()
    assert row is not None
    return int(row[0])


def due(conn: Connection) -> int:
    row = conn.execute("select count(*) from loom.embedding_due").fetchone()
    assert row is not None
    return int(row[0])


def test_a_written_text_is_due_and_a_stored_vector_ends_that(model: Connection) -> None:
    facts(model, {"favourite_drink": "green tea"})
    claimed = claim(model)
    assert [item["text"] for item in claimed["items"]] == ["favourite drink: green tea"]
    assert (claimed["dimension"], claimed["stop"]) == (None, None)
    assert claim(model)["items"] == []
    assert store(model, claimed) == {"stored": 1, "refused": 0, "dimension": 3}
    assert (vectors(model), due(model)) == (1, 0)
    facts(model, {"favourite_drink": "green tea"}, confidence=0.5)
    assert due(model) == 0


def test_nothing_is_due_while_no_model_is_in_use(db: Connection) -> None:
    facts(db, {"k": "tea"})
    assert due(db) == 0


def test_a_text_changed_while_the_provider_thinks_keeps_no_old_vector(model: Connection) -> None:
    facts(model, {"a": "old", "b": "stays"})
    claimed = claim(model)
    facts(model, {"a": "new"})
    assert store(model, claimed) == {"stored": 1, "refused": 1, "dimension": 3}
    again = claim(model)
    assert [item["text"] for item in again["items"]] == ["a: new"]
    # Nor with a lease of its own and the hash of before.
    wrong = [
        {**item, "content_sha256": claimed["items"][0]["content_sha256"]} for item in items(again)
    ]
    stale = [
        item for item in wrong if item["content_sha256"] != again["items"][0]["content_sha256"]
    ]
    assert store(model, again, items=stale)["stored"] == 0
    assert store(model, again)["stored"] == 1


@pytest.mark.parametrize("how", ["delete", "redact", "erase"])
def test_a_row_gone_while_the_provider_thinks_gets_nothing(model: Connection, how: str) -> None:
    facts(model, {"a": "old"})
    claimed = claim(model)
    if how == "erase":
        operate(model, "erasure.request", org="acme", user_id="u1")
    else:
        reason = {"reason": "why"} if how == "redact" else {}
        fact(model, how, **USER, memory_key="a", **reason)
    assert store(model, claimed) == {"stored": 0, "refused": 1, "dimension": 3}
    assert (vectors(model), due(model)) == (0, 0)


def test_vectors_go_with_their_rows(model: Connection) -> None:
    facts(model, {"a": "x", "b": "y", "c": "z"})
    store(model, claim(model))
    fact(model, "delete", **USER, memory_key="a")
    fact(model, "redact", **USER, memory_key="b", reason="why")
    assert vectors(model) == 1
    fact(model, "restore", **USER, memory_key="a")
    assert due(model) == 1
    removed = operate(model, "erasure.request", org="acme", user_id="u1")["removed"]
    assert removed["embedding"] == 1
    assert (vectors(model), due(model)) == (0, 0)


@pytest.mark.parametrize(
    "vector",
    [
        [1, 0],
        [1, 0, 0, 0],
        [],
        [0, 0, 0],
        [1, 0, "x"],
        [1, 0, None],
        [1, 0, 1e39],
        [1, 0, [0]],
        [1e-40, 0, 0],
        "[1,0,0]",
        None,
        [1] * 16001,
    ],
    ids=range(12),
)
def test_o79_a_vector_of_another_size_or_kind_refuses_the_request(
    model: Connection, vector: Any
) -> None:
    facts(model, {"first": "a"})
    store(model, claim(model))
    facts(model, {"k": "b"})
    claimed = claim(model)
    wrong = [{**item, "embedding": vector} for item in items(claimed)]
    with refused(model, "LM001") as refusal:
        store(model, claimed, items=wrong)
    assert refusal.detail["field"] == "items"
    assert vectors(model) == 1
    assert store(model, claimed)["stored"] == 1


def test_o80_the_first_vectors_say_the_size(model: Connection) -> None:
    facts(model, {"a": "x", "b": "y"})
    claimed = claim(model)
    mixed = items(claimed)
    mixed[0]["embedding"] = [1, 0]
    with refused(model, "LM001"):
        store(model, claimed, items=mixed)
    assert store(model, claimed)["dimension"] == 3
    assert claim(model)["dimension"] == 3


@pytest.mark.parametrize(
    "wrong",
    [
        {"items": []},
        {"items": {}},
        {"items": None},
        {"items": [1]},
        {"items": [{}]},
        {"lease_id": "x"},
        {"lease_id": None},
        {"model": "unknown"},
        {"org": ""},
        {"calls": []},
        {"more": 1},
    ],
)
def test_a_wrong_request_is_refused(model: Connection, wrong: Answer) -> None:
    facts(model, {"k": "b"})
    with refused(model, "LM001"):
        store(model, claim(model), **wrong)


def test_only_the_holder_of_the_lease_stores(model: Connection, clock: Clock) -> None:
    clock.set(NOON)
    facts(model, {"k": "b"})
    lost = claim(model, lease_seconds=60)
    clock.advance(seconds=60)
    held = claim(model)
    assert len(held["items"]) == 1
    assert store(model, lost)["stored"] == 0
    assert store(model, held)["stored"] == 1


def test_a_failed_text_waits_longer_each_time_and_is_given_up(
    model: Connection, clock: Clock
) -> None:
    clock.set(NOON)
    facts(model, {"k": "b"})
    for attempt in range(7):
        assert fail(model, claim(model), "failed") == 1
        wait = timedelta(minutes=2**attempt)
        clock.set(clock.advance() + wait - timedelta(microseconds=1))
        assert claim(model)["items"] == []
        clock.advance(microseconds=1)
    assert fail(model, claim(model), "failed") == 1
    clock.advance(days=400)
    assert claim(model)["items"] == []
    (progress,) = worked(model, "embedding_advance")["models"]
    assert (progress["due"], progress["given_up"]) == (0, 1)
    facts(model, {"k": "changed"})
    assert len(claim(model)["items"]) == 1


def test_a_failed_text_is_tried_alone(model: Connection, clock: Clock) -> None:
    clock.set(NOON)
    facts(model, {"bad": "x", "good": "y"})
    fail(model, claim(model), "failed")
    facts(model, {"new": "z"})
    assert [item["text"] for item in claim(model)["items"]] == ["new: z"]
    clock.advance(minutes=1)
    assert len(claim(model)["items"]) == 1
    assert len(claim(model)["items"]) == 1


def test_waiting_and_released_use_no_attempt_up(model: Connection, clock: Clock) -> None:
    clock.set(NOON)
    facts(model, {"a": "x", "b": "y"})
    fail(model, claim(model), "waiting", retry_seconds=90)
    clock.advance(seconds=89)
    assert claim(model)["items"] == []
    clock.advance(seconds=1)
    claimed = claim(model)
    assert len(claimed["items"]) == 2
    assert fail(model, claimed, "released") == 2
    assert len(claim(model)["items"]) == 2


@pytest.mark.parametrize(
    "wrong", [{"outcome": "lost"}, {"error": "what it said"}, {"retry_seconds": -1}]
)
def test_a_failure_is_told_in_codes(model: Connection, wrong: Answer) -> None:
    facts(model, {"a": "x"})
    with refused(model, "LM001"):
        fail(model, claim(model), **{"outcome": "failed", **wrong})


def test_calls_count_for_the_org(model: Connection) -> None:
    facts(model, {"a": "x", "b": "y"})
    store(model, claim(model, limit=1), calls=[CALL])
    fail(model, claim(model), "failed", calls=[{**CALL, "outcome": "TIMEOUT"}])
    rows = model.execute(
        "select purpose, model, outcome, prompt_tokens from loom.model_day order by outcome"
    ).fetchall()
    assert rows == [("embedding", MODEL, "OK", 7), ("embedding", MODEL, "TIMEOUT", 7)]


def test_an_org_that_calls_no_model_or_is_at_its_cap_has_none_made(model: Connection) -> None:
    facts(model, {"a": "x"})
    operate(model, "org.set_model_calls", org="acme", enabled=False)
    assert (claim(model)["items"], claim(model)["stop"]) == ([], "MODEL_CALLS_OFF")
    assert worked(model, "embedding_places", model=MODEL)["orgs"] == []
    operate(model, "org.set_model_calls", org="acme", enabled=True)
    assert [place["org"] for place in worked(model, "embedding_places", model=MODEL)["orgs"]] == [
        "acme"
    ]
    model.execute("select loom.model_daily_token_cap(7)")
    store(model, claim(model), calls=[CALL])
    facts(model, {"b": "y"})
    assert (claim(model)["items"], claim(model)["stop"]) == ([], "MODEL_TOKEN_CAP")


def test_places_are_the_orgs_with_something_due_the_longest_first(
    model: Connection, clock: Clock
) -> None:
    clock.set(NOON)
    for org in ("zenith", "acme", "beta"):
        fact(model, "set", **{**IDENTITY, "org": org}, memory_key="k", value="x")
        clock.advance(seconds=1)
    assert embed(model, {"x": [1, 0]}, org="beta", model=MODEL)["stored"] == 1
    orgs = [place["org"] for place in worked(model, "embedding_places", model=MODEL)["orgs"]]
    assert orgs == ["zenith", "acme"]


def test_no_org_waits_behind_others_that_come_first_by_name(
    model: Connection, clock: Clock
) -> None:
    clock.set(NOON)
    for org in ("zenith", "acme", "beta", "citron"):
        fact(model, "set", **{**IDENTITY, "org": org}, memory_key="k", value="x")
        clock.advance(seconds=1)
    places = worked(model, "embedding_places", model=MODEL, limit=2)["orgs"]
    assert [place["org"] for place in places] == ["zenith", "acme"]


def test_a_claim_is_of_one_org_and_no_more_than_asked(model: Connection) -> None:
    facts(model, {f"k{n}": f"x{n}" for n in range(5)})
    fact(model, "set", **{**IDENTITY, "org": "other"}, memory_key="k", value="x")
    assert len(claim(model, limit=3)["items"]) == 3
    assert len(claim(model, limit=256)["items"]) == 2


def test_what_is_of_high_sensitivity_goes_to_no_provider(model: Connection, clock: Clock) -> None:
    clock.set(NOON)
    facts(model, {"secret": "the door code"}, sensitivity="high")
    facts(model, {"plain": "the garden"})
    assert [item["text"] for item in claim(model)["items"]] == ["plain: the garden"]
    assert due(model) == 1
    fact(model, "label", **USER, memory_key="secret", sensitivity="normal")
    clock.advance(days=400)
    worked(model, "embedding_advance")
    # The other's lease is over, and it is tried alone.
    texts = [item["text"] for _ in range(2) for item in claim(model)["items"]]
    assert texts == ["plain: the garden", "secret: the door code"]


def test_a_long_text_is_cut(model: Connection) -> None:
    facts(model, {"k": "😀" * 9000})
    (item,) = claim(model)["items"]
    assert len(item["text"]) == 8000


@pytest.mark.parametrize("function", ["embedding_claim", "embedding_store", "embedding_model_add"])
def test_others_may_not(model: Connection, function: str) -> None:
    for login in ("loom_test_admin", "loom_gateway"):
        with acting_as(model, login), refused(model, "42501"):
            worked(model, function, **PLACE)

"""model.admit: whether the API may send a query to an embedding model."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.calls import Answer, Connection, Token, operate, refused
from tests.databases import Clock
from tests.sql.doors import as_service, batch, execute, through_api
from tests.sql.facts import NOON, fact

Mint = Callable[..., Token]

PLACE = {"org": "acme", "namespace": "main"}


def admit(db: Connection, token: Token, model: str = "embedder", **more: Any) -> Answer:
    return through_api(db, token, "model.admit", **{**PLACE, "model": model, **more})


def model(db: Connection, name: str, state: str, dimension: int | None) -> None:
    db.execute(
        "insert into loom.embedding_model (model, dimension, state, created_at) "
        "values (%s, %s, %s, now())",
        (name, dimension, state),
    )


def test_without_a_model_there_is_nothing_to_compare_with(db: Connection, mint: Mint) -> None:
    assert admit(db, mint(role="viewer")) == {"stop": None, "embedded": False}


@pytest.mark.parametrize(
    ("state", "dimension", "embedded"),
    [("active", 3, True), ("active", None, False), ("building", 3, False), ("retired", 3, False)],
)
def test_searches_go_by_the_active_model_once_it_has_vectors(
    db: Connection, mint: Mint, state: str, dimension: int | None, embedded: bool
) -> None:
    model(db, "embedder", state, dimension)
    fact(db, "set", value="tea")
    token = mint(role="viewer")
    assert admit(db, token)["embedded"] is embedded
    assert admit(db, token, "Embedder")["embedded"] is False


def test_in_a_namespace_without_texts_there_is_nothing_to_compare_with(
    db: Connection, mint: Mint
) -> None:
    """So no question leaves for it, and no record of a call makes it."""
    model(db, "embedder", "active", 3)
    fact(db, "set", namespace="other", value="tea")
    operate(db, "memory.set", org="other", namespace="main", memory_key="k", value="tea")
    token = mint(role="viewer")
    assert admit(db, token)["embedded"] is False
    assert admit(db, token, namespace="other")["embedded"] is True


def test_calls_that_are_switched_off_are_not_made(db: Connection, mint: Mint) -> None:
    operate(db, "org.set_model_calls", org="acme", enabled=False)
    assert admit(db, mint(role="viewer"))["stop"] == "MODEL_CALLS_OFF"
    assert admit(db, mint(role="viewer", org="other"), org="other")["stop"] is None


def test_nor_are_any_beyond_the_days_tokens(db: Connection, mint: Mint, clock: Clock) -> None:
    clock.set(NOON)
    db.execute("select loom.model_daily_token_cap(10)")
    token = mint(role="viewer")
    call = {"outcome": "OK", "prompt_tokens": 10, "completion_tokens": 0, "milliseconds": 5}
    assert admit(db, token)["stop"] is None
    through_api(
        db, token, "model.record", **PLACE, purpose="query_embedding", model="m", calls=[call]
    )
    assert admit(db, token)["stop"] == "MODEL_TOKEN_CAP"
    clock.advance(hours=12)
    assert admit(db, token)["stop"] is None


def test_a_model_is_named(db: Connection, mint: Mint) -> None:
    token = mint(role="viewer")
    with refused(db, "LM001") as refusal:
        through_api(db, token, "model.admit", **PLACE)
    assert refusal.detail["field"] == "model"
    with refused(db, "LM406"):
        admit(db, token, "x" * 201)


def test_a_token_of_another_namespace_is_refused(db: Connection, mint: Mint) -> None:
    with refused(db, "LM302"):
        admit(db, mint(role="viewer", namespace="other"))


@pytest.mark.parametrize("role", ["viewer", "writer", "admin"])
def test_it_is_the_apis_alone(services: Connection, db: Connection, role: str) -> None:
    with refused(services, "LM302") as refusal:
        as_service(services, f"loom_test_{role}", "model.admit", **PLACE, model="m")
    assert refusal.detail == {"reason": "only the API does this"}


def test_no_operator_asks_by_any_door(db: Connection) -> None:
    with refused(db, "LM302"):
        operate(db, "model.admit", **PLACE, model="m")
    with refused(db, "LM302"):
        execute(db, "model.admit", **PLACE, model="m")
    (result,) = batch(db, {"op": "model.admit", **PLACE, "model": "m"})
    assert (result["status"], result["error"]["field"]) == (400, "op")

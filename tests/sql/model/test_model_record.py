"""model.record: what the API's calls of models took."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.calls import Answer, Connection, Token, operate, refused
from tests.databases import Clock
from tests.sql.doors import as_service, batch, execute, through_api
from tests.sql.facts import NOON

Mint = Callable[..., Token]

PLACE = {"org": "acme", "namespace": "main"}
CALL: Answer = {"outcome": "OK", "prompt_tokens": 7, "completion_tokens": 2, "milliseconds": 30}
REQUEST: Answer = {**PLACE, "purpose": "ask", "model": "m", "calls": [CALL]}


def record(db: Connection, token: Token, **more: Any) -> int:
    answer = through_api(db, token, "model.record", **{**REQUEST, **more})
    return answer["recorded"]  # type: ignore[no-any-return]


def test_calls_are_kept_one_by_one_and_in_sums(db: Connection, mint: Mint, clock: Clock) -> None:
    clock.set(NOON)
    token = mint(role="viewer")
    failed = {**CALL, "outcome": "MODEL_TIMEOUT", "prompt_tokens": 0}
    assert record(db, token, calls=[CALL, failed, CALL]) == 3
    assert record(db, token, purpose="query_embedding", model="e") == 1
    rows = db.execute(
        "select org, namespace, user_id, purpose, model, outcome, prompt_tokens, milliseconds "
        "from loom.model_usage order by purpose, outcome, prompt_tokens"
    ).fetchall()
    own = ("acme", "main", "-")
    assert rows == [
        (*own, "ask", "m", "MODEL_TIMEOUT", 0, 30),
        *([(*own, "ask", "m", "OK", 7, 30)] * 2),
        (*own, "query_embedding", "e", "OK", 7, 30),
    ]
    sums = db.execute(
        "select purpose, calls, prompt_tokens, completion_tokens from loom.v_usage order by 1"
    ).fetchall()
    assert sums == [("ask", 3, 14, 6), ("query_embedding", 1, 7, 2)]


def test_the_metrics_count_them(db: Connection, mint: Mint) -> None:
    record(db, mint(role="viewer"))
    row = db.execute("select loom.work_metrics() #> '{model_tokens,ask}'").fetchone()
    assert row == (9,)


def test_a_pinned_token_records_too_and_names_nobody(db: Connection, mint: Mint) -> None:
    token = mint(role="viewer", namespace="main", read_user_id="u")
    assert record(db, token) == 1
    assert db.execute("select user_id from loom.model_usage").fetchall() == [("-",)]


@pytest.mark.parametrize(
    "wrong",
    [
        {"purpose": "structured_profile"},
        {"purpose": None},
        {"model": None},
        {"calls": None},
        {"calls": "none"},
        {"calls": []},
        {"calls": [{}]},
        {"calls": [{**CALL, "outcome": "the user said"}]},
        {"calls": [{**CALL, "prompt_tokens": "7"}]},
    ],
    ids=str,
)
def test_what_is_no_record_is_refused(db: Connection, mint: Mint, wrong: Answer) -> None:
    with refused(db, "LM001"):
        record(db, mint(role="viewer"), **wrong)
    assert db.execute("select count(*) from loom.model_usage").fetchone() == (0,)


def test_numbers_that_no_column_holds_are_cut_to_what_one_does(db: Connection, mint: Mint) -> None:
    call = {**CALL, "prompt_tokens": 10**30, "milliseconds": -1}
    assert record(db, mint(role="viewer"), calls=[call]) == 1
    rows = db.execute("select prompt_tokens, milliseconds from loom.model_usage").fetchall()
    assert rows == [(2**31 - 1, 0)]


@pytest.mark.parametrize("role", ["viewer", "writer", "admin"])
def test_it_is_the_apis_alone(services: Connection, role: str) -> None:
    with refused(services, "LM302"):
        as_service(services, f"loom_test_{role}", "model.record", **REQUEST)
    assert services.execute("select count(*) from loom.model_usage").fetchone() == (0,)


def test_no_operator_records_by_any_door(db: Connection) -> None:
    with refused(db, "LM302"):
        operate(db, "model.record", **REQUEST)
    with refused(db, "LM302"):
        execute(db, "model.record", **REQUEST)
    (result,) = batch(db, {"op": "model.record", **REQUEST})
    assert (result["status"], result["error"]["field"]) == (400, "op")

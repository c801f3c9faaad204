"""loom.batch: several operations of one org in one statement and one commit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import psycopg
import pytest

from tests.calls import Answer, Token, acting_as, operate, refused
from tests.sql.doors import IDENTITY, as_service, batch, through_api, wm
from tests.sql.texts import exactly, sha256

Connection = psycopg.Connection[Any]
Mint = Callable[..., Token]


def item(verb: str, **fields: Any) -> Answer:
    return {"op": f"working_memory.{verb}", **IDENTITY, **fields}


def statuses(results: list[Answer]) -> list[int]:
    return [result["status"] for result in results]


def test_items_run_in_order_and_see_each_other(db: Connection) -> None:
    results = batch(
        db,
        item("set", content="one"),
        item("append", addition="two"),
        item("replace", old="one", new="1"),
        item("get"),
        item("delete"),
        item("get"),
        item("append", addition="again"),
    )
    assert statuses(results) == [200] * 7
    assert results[3]["result"]["content"] == "1\ntwo"
    assert results[5]["result"]["found"] is False
    assert [results[n]["result"]["version"] for n in (0, 1, 2, 4, 6)] == [1, 2, 3, 4, 5]
    assert all(set(result) == {"status", "result"} for result in results)


def test_an_item_answers_what_the_operation_alone_answers(db: Connection) -> None:
    wm(db, "set", content="x")
    for verb in ("get", "list", "render"):
        assert batch(db, item(verb)) == [{"status": 200, "result": wm(db, verb)}]


def test_a_refused_item_answers_its_error_and_leaves_the_others(db: Connection) -> None:
    wm(db, "set", content="live")
    results = batch(
        db,
        item("set", content="a", block_key="a"),
        item("set", content="x", if_match_sha256="stale"),
        item("set", content="b", block_key="b"),
    )
    assert statuses(results) == [200, 409, 200]
    assert results[1]["error"].pop("hint")
    assert results[1] == {
        "status": 409,
        "error": {
            "code": "STALE_WRITE",
            "message": "Another write came first.",
            "category": "conflict",
            "retryable": True,
            "current_sha256": sha256("live"),
            "current_version": 1,
        },
    }
    assert wm(db, "get", block_key="b")["content"] == "b"


@pytest.mark.parametrize(
    ("request_", "status", "code", "fields"),
    [
        (item("set", content=1), 400, "INVALID_REQUEST", {"field", "reason"}),
        (item("get", surprise=1), 400, "INVALID_REQUEST", {"field", "reason"}),
        ({"op": "working_memory.get"}, 400, "IDENTITY_INCOMPLETE", {"field"}),
        ({"op": "no.such"}, 404, "UNKNOWN_OPERATION", set()),
        (item("replace", old="a", new="b"), 404, "WORKING_MEMORY_BLOCK_NOT_FOUND", set()),
        (item("set", content="x", block_key="live", if_absent=True), 409, "ALREADY_EXISTS", set()),
        (
            item("replace", block_key="live", old="live", new="x", expected_count=2),
            *(409, "COUNT_MISMATCH", {"replacements"}),
        ),
        (item("replace", block_key="live", old="dead", new="x"), 422, "SUBSTRING_NOT_FOUND", set()),
        (
            item("set", content=exactly(4097)),
            *(422, "WORKING_MEMORY_LIMIT_EXCEEDED", {"value_length", "char_limit", "overage"}),
        ),
        (
            item("get", user_id=exactly(201)),
            *(422, "LIMIT_EXCEEDED", {"what", "limit", "value", "unit"}),
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_every_error_is_an_item_error(
    db: Connection, request_: Answer, status: int, code: str, fields: set[str]
) -> None:
    wm(db, "set", content="live", block_key="live")
    (result,) = batch(db, request_, org="acme")
    error = result["error"]
    assert (set(result), result["status"], error["code"]) == ({"status", "error"}, status, code)
    assert set(error) == {"code", "message", "category", "retryable", "hint"} | fields


def test_locks_and_rights_are_item_errors_too(services: Connection) -> None:
    wm(services, "set", content="x", read_only=True)
    results = as_service(
        services,
        "loom_test_writer",
        "batch",
        requests=[
            item("append", addition="y"),
            {"op": "namespace.update", "org": "acme", "namespace": "main"},
            item("get"),
        ],
    )["results"]
    assert statuses(results) == [423, 403, 200]
    assert results[0]["error"]["reason"] == "read_only"
    assert (results[1]["error"]["code"], results[1]["error"]["needed"]) == (
        "AUTH_INSUFFICIENT",
        "admin",
    )


def test_a_viewer_reads_in_a_batch_and_writes_nothing(services: Connection) -> None:
    results = as_service(
        services,
        "loom_test_viewer",
        "batch",
        requests=[item("get"), item("set", content="x"), item("list")],
    )["results"]
    assert statuses(results) == [200, 403, 200]


def test_fifty_items_of_which_every_third_is_refused(db: Connection) -> None:
    requests: list[Answer] = [
        item("append", addition=f"line {number}")
        if number % 3
        else item("append", addition="never", if_match_sha256="stale")
        for number in range(50)
    ]
    results = batch(db, *requests)
    assert statuses(results) == [200 if number % 3 else 409 for number in range(50)]
    lines = [f"line {number}" for number in range(50) if number % 3]
    assert wm(db, "get")["content"] == "\n".join(lines)
    assert wm(db, "get")["version"] == len(lines)


def test_an_atomic_batch_is_all_or_nothing(db: Connection) -> None:
    with refused(db, "LM403") as refusal:
        batch(
            db,
            item("set", content="a", block_key="a", namespace="fresh"),
            item("replace", block_key="a", namespace="fresh", old="z", new="x"),
            item("set", content=1),
            atomic=True,
        )
    assert refusal.detail == {}
    assert wm(db, "get", block_key="a", namespace="fresh")["found"] is False
    assert operate(db, "namespace.list", org="acme")["items"] == []
    results = batch(db, item("set", content="a"), item("get"), atomic=True)
    assert statuses(results) == [200, 200]


@pytest.mark.parametrize("requests", [[], [{"op": "namespace.list"}] * 51])
def test_a_batch_has_one_to_fifty_items(db: Connection, requests: list[Answer]) -> None:
    with refused(db, "LM001") as refusal:
        operate(db, "batch", org="acme", requests=requests)
    assert refusal.detail == {"field": "requests", "reason": "must be a list of 1 to 50 requests"}


@pytest.mark.parametrize("wrong", [1, None, "x", [], {}, {"op": None}, {"op": 1}, {"op": []}])
def test_each_item_is_an_object_with_an_op(db: Connection, wrong: Any) -> None:
    with refused(db, "LM001") as refusal:
        operate(db, "batch", org="acme", requests=[{"op": "namespace.list"}, wrong])
    assert refusal.detail == {"field": "requests[1]", "reason": "must be an object with an op"}


def test_a_batch_within_a_batch_is_refused(db: Connection) -> None:
    inner = {"op": "batch", "requests": [{"op": "namespace.list"}]}
    results = batch(db, {"op": "namespace.list"}, inner, org="acme")
    assert statuses(results) == [200, 400]
    assert results[1]["error"]["field"] == "op"


def test_a_secret_is_not_minted_within_a_batch(db: Connection, mint: Mint) -> None:
    token = mint(role="admin")
    (result,) = through_api(db, token, "batch", requests=[{"op": "token.mint", "role": "viewer"}])[
        "results"
    ]
    assert (result["status"], result["error"]["field"]) == (400, "op")
    assert len(operate(db, "token.list", org="acme")["items"]) == 1


def test_an_item_of_another_org_is_refused_with_the_whole_batch(db: Connection) -> None:
    with refused(db, "LM001") as refusal:
        batch(db, item("set", content="x"), item("set", content="x", org="other"))
    assert refusal.detail == {
        "field": "requests[1].org",
        "reason": "is another org than the batch's",
    }
    assert wm(db, "get")["found"] is False


def test_a_batch_of_another_org_than_the_tokens_is_refused(db: Connection, mint: Mint) -> None:
    token = mint(namespace="main")
    with refused(db, "LM302"):
        through_api(db, token, "batch", org="other", requests=[{"op": "working_memory.get"}])
    with refused(db, "LM302"):
        through_api(db, token, "batch", requests=[{"op": "working_memory.get", "org": "other"}])


def test_the_org_is_that_of_the_first_item_which_names_one(db: Connection) -> None:
    results = batch(db, {"op": "namespace.list"}, {"op": "namespace.list", "org": "acme"})
    assert statuses(results) == [200, 200]
    nulls: list[Answer] = [
        {"op": "namespace.list", "org": None},
        {"op": "namespace.list", "org": "acme"},
    ]
    assert statuses(batch(db, *nulls)) == [200, 200]
    with refused(db, "LM003") as refusal:
        batch(db, {"op": "namespace.list"})
    assert refusal.detail == {"field": "org"}


def test_an_item_whose_org_is_null_is_of_the_batchs_org(db: Connection) -> None:
    db.execute("select loom.open_mode_set(60)")
    requests: list[Answer] = [
        {"op": "working_memory.set", "org": "acme", "namespace": "main", "content": "x"},
        {"op": "working_memory.get", "org": None, "namespace": "main"},
    ]
    results = through_api(db, None, "batch", requests=requests)["results"]
    assert [result["result"]["org"] for result in results] == ["acme", "acme"]
    (direct,) = batch(db, requests[1], org="acme")
    assert direct["result"]["content"] == "x"


def test_a_fault_of_the_server_ends_the_whole_batch(db: Connection) -> None:
    db.execute(
        "create or replace function loom._working_memory_receipt(p_block loom.working_memory,"
        " p_created boolean) returns jsonb language plpgsql immutable"
        " as $$ begin return 1 / (p_block.value_length - 13); end $$"
    )
    with refused(db, "22012"):
        batch(db, {"op": "namespace.list", "org": "acme"}, item("set", content=exactly(13)))
    assert operate(db, "namespace.list", org="acme")["items"] == []


def test_an_items_time_and_actor_are_those_of_a_single_call(services: Connection) -> None:
    requests = [item("set", content="x"), item("list")]
    with acting_as(services, "loom_test_writer"):
        results = batch(services, *requests)
    (listed,) = results[1]["result"]["items"]
    assert listed["updated_by"] == "service:loom_test_writer"

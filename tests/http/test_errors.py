"""Each error by HTTP status and body, and the error table against the database's."""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable
from typing import Any

import psycopg
import pytest

from loom.app.errors import ERRORS, Refusal, from_database
from loom.gateway import DatabaseRefusal
from tests.calls import mint_token
from tests.http.api import Api, Json, detail
from tests.http.conftest import LogLines
from tests.http.memory_cases import CASES as MEMORY_CASES

Connection = psycopg.Connection[Any]

_RAISED = re.compile(r"errcode = '(LM\d+)',\s+message = '((?:[^']|'')*)'")


class Case:
    """A way to meet an error: `provoke` makes the request, `fields` is what it must say."""

    def __init__(
        self, status: int, fields: Json, provoke: Callable[[Api, Connection], Any]
    ) -> None:
        self.status = status
        self.fields = fields
        self.provoke = provoke


def _key() -> str:
    return f"block-{uuid.uuid4().hex}"


def _stale(api: Api, admin: Connection) -> Any:
    return api.call(
        "working_memory.set", {"content": "x", "block_key": _key(), "if_match_sha256": "0" * 64}
    )


def _exists(api: Api, admin: Connection) -> Any:
    body = {"content": "x", "block_key": _key(), "if_absent": True}
    assert api.call("working_memory.set", body).status_code == 200
    return api.call("working_memory.set", body)


def _miscounted(api: Api, admin: Connection) -> Any:
    key = _key()
    api.call("working_memory.set", {"content": "a a", "block_key": key})
    return api.call(
        "working_memory.replace",
        {"old": "a", "new": "b", "expected_count": 1, "block_key": key},
    )


def _locked(api: Api, admin: Connection) -> Any:
    key = _key()
    api.call("working_memory.set", {"content": "x", "block_key": key, "read_only": True})
    writer = mint_token(admin, org="acme", role="writer", namespace="n").text
    return api.call("working_memory.set", {"content": "y", "block_key": key}, token=writer)


def _viewer_writes(api: Api, admin: Connection) -> Any:
    viewer = mint_token(admin, org="acme", role="viewer", namespace="n").text
    return api.call("working_memory.set", {"content": "x"}, token=viewer)


def _absent_substring(api: Api, admin: Connection) -> Any:
    key = _key()
    api.call("working_memory.set", {"content": "a", "block_key": key})
    return api.call("working_memory.replace", {"old": "zz", "new": "b", "block_key": key})


def _of_a_loom(api: Api, what: str) -> Any:
    loom = api.call("looms.create", {"name": _key()}).json()["entity"]["id"]
    op = {"thread": "looms.thread_delete", "weaving": "looms.weaving_get"}[what]
    return api.call(op, {"loomId": loom, f"{what}Id": str(uuid.uuid4())})


def _no_namespace(api: Api, admin: Connection) -> Any:
    token = mint_token(admin, org="acme", role="writer").text
    return api.call("working_memory.get", token=token)


def _key_used_twice(api: Api, admin: Connection) -> Any:
    headers = {"Idempotency-Key": uuid.uuid4().hex}
    body = {"addition": "x", "block_key": _key()}
    assert api.call("working_memory.append", body, headers=headers).status_code == 200
    body["addition"] = "y"
    return api.call("working_memory.append", body, headers=headers)


CASES = {
    "INVALID_REQUEST": Case(
        400,
        {"field": "colour", "reason": "is not a field of this operation"},
        lambda api, admin: api.call("working_memory.get", {"colour": 1}),
    ),
    "INVALID_TEXT": Case(
        422,
        {"path": "$.content"},
        lambda api, admin: api.post("working_memory.set", rb'{"content": "a\u0000"}'),
    ),
    "IDENTITY_INCOMPLETE": Case(400, {"field": "namespace"}, _no_namespace),
    "UNKNOWN_OPERATION": Case(404, {}, lambda api, admin: api.call("working_memory.burn")),
    "METHOD_NOT_ALLOWED": Case(
        405, {}, lambda api, admin: api.client.put(api.url + "/v1/working_memory.set")
    ),
    "WORKING_MEMORY_BLOCK_NOT_FOUND": Case(
        404,
        {},
        lambda api, admin: api.call(
            "working_memory.replace", {"old": "a", "new": "b", "block_key": _key()}
        ),
    ),
    "LOOM_NOT_FOUND": Case(
        404, {}, lambda api, admin: api.call("looms.get", {"loomId": str(uuid.uuid4())})
    ),
    "THREAD_NOT_FOUND": Case(404, {}, lambda api, admin: _of_a_loom(api, "thread")),
    "WEAVING_NOT_FOUND": Case(404, {}, lambda api, admin: _of_a_loom(api, "weaving")),
    "STALE_WRITE": Case(409, {"current_sha256": None, "current_version": None}, _stale),
    "ALREADY_EXISTS": Case(409, {}, _exists),
    "COUNT_MISMATCH": Case(409, {"replacements": 2}, _miscounted),
    "LOCKED": Case(423, {"reason": "read_only", "until": None}, _locked),
    "IDEMPOTENCY_CONFLICT": Case(409, {"reason": "with another request"}, _key_used_twice),
    "AUTH_REQUIRED": Case(
        401,
        {},
        lambda api, admin: api.call(
            "working_memory.get", token="loom_" + "0" * 32 + "_" + "0" * 64
        ),
    ),
    "AUTH_INSUFFICIENT": Case(403, {"reason": "role", "needed": "writer"}, _viewer_writes),
    "WORKING_MEMORY_LIMIT_EXCEEDED": Case(
        422,
        {"value_length": 5, "char_limit": 4, "overage": 1},
        lambda api, admin: api.call(
            "working_memory.set", {"content": "12345", "char_limit": 4, "block_key": _key()}
        ),
    ),
    "SUBSTRING_NOT_FOUND": Case(422, {}, _absent_substring),
    "LIMIT_EXCEEDED": Case(
        422,
        {"what": "block_key", "limit": 80, "value": 81, "unit": "characters"},
        lambda api, admin: api.call("working_memory.get", {"block_key": "k" * 81}),
    ),
    "PROFILE_SCHEMA_INVALID": Case(
        422,
        {"path": "$.properties", "reason": "must be an object of 1 to 64 properties"},
        lambda api, admin: api.call(
            "profile_schema.set", {"json_schema": {"type": "object", "properties": {}}}
        ),
    ),
    # Of a server without a model; how one fails is in test_ask.py.
    "MODEL_UNAVAILABLE": Case(
        503,
        {"reason": "NO_MODEL"},
        lambda api, admin: api.call("memory.ask", {"query": "what is it"}),
    ),
    "PAYLOAD_TOO_LARGE": Case(
        413,
        {"limit": 1048576},
        lambda api, admin: api.post("working_memory.set", b" " * (1024 * 1024 + 1)),
    ),
}

# These need a database of their own, which they break: test_broken_database.py.
ELSEWHERE = {"UNAVAILABLE", "INTERNAL"}


@pytest.mark.parametrize("code", CASES)
def test_each_error_has_its_status_and_fields(
    api: Api, admin: Connection, log_lines: LogLines, code: str
) -> None:
    case = CASES[code]
    response = case.provoke(api, admin)
    assert detail(response, case.status, code) == case.fields


@pytest.mark.parametrize("name", MEMORY_CASES)
def test_each_error_of_memory_has_its_status_and_fields(
    api: Api, admin: Connection, name: str
) -> None:
    met = MEMORY_CASES[name]
    assert detail(met.provoke(api, admin), met.status, met.code) == met.fields


def test_every_code_is_met() -> None:
    of_memory = {met.code for met in MEMORY_CASES.values()}
    assert set(CASES) | of_memory | ELSEWHERE == {error.code for error in ERRORS}


def test_the_error_table_is_the_databases(admin: Connection) -> None:
    rows = admin.execute(
        "select sqlstate, code, http_status, category, retryable from loom.error_code"
    ).fetchall()
    ours = {(e.sqlstate, e.code, e.status, e.category, e.retryable) for e in ERRORS if e.sqlstate}
    assert ours == set(rows)


def test_every_error_raised_in_sql_has_its_one_sentence(admin: Connection) -> None:
    sources = admin.execute(
        "select prosrc from pg_proc where pronamespace = 'loom'::regnamespace"
    ).fetchall()
    raised = {
        (sqlstate, sentence.replace("''", "'"))
        for (source,) in sources
        for sqlstate, sentence in _RAISED.findall(source)
    }
    assert len(raised) > 10
    assert raised <= {(error.sqlstate, error.message) for error in ERRORS}


def test_the_hint_says_what_to_do(api: Api) -> None:
    error = api.call("working_memory.get", {"colour": 1}).json()["detail"]
    assert error["hint"] == "Remove the field or correct its name."


def test_a_path_that_nothing_answers_at_is_told_where_to_look(api: Api) -> None:
    for path in ("/", "/v1/working_memory.burn"):
        error = api.client.post(api.url + path, json={}).json()["detail"]
        assert "/docs" in error["hint"]
    error = api.client.get(api.url + "/v1/working_memory.get").json()["detail"]
    assert "by POST" in error["hint"]


def test_a_stale_write_tells_the_current_hash(api: Api) -> None:
    key = _key()
    written = api.call("working_memory.set", {"content": "x", "block_key": key}).json()
    stale = {"content": "y", "block_key": key, "if_match_sha256": "0" * 64}
    fields = detail(api.call("working_memory.set", stale), 409, "STALE_WRITE")
    assert fields == {"current_sha256": written["content_sha256"], "current_version": 1}


@pytest.mark.parametrize("sqlstate", ["40001", "57014", "55P03", "57P01", "53300", "08006"])
def test_a_passing_trouble_of_the_database_is_503(sqlstate: str) -> None:
    refusal = from_database(DatabaseRefusal(sqlstate, "deadlock on 'secret'", "secret", None))
    if sqlstate == "40001":  # the pool turns this into DatabaseUnavailable when retries are spent
        assert refusal.error.code == "INTERNAL"
        return
    assert (refusal.error.code, refusal.error.status) == ("UNAVAILABLE", 503)
    assert b"secret" not in refusal.body("r")


@pytest.mark.parametrize("sqlstate", ["XX000", "22P02", "42501", "23505", "LM999", "P0001"])
def test_any_other_error_of_the_database_says_nothing_of_itself(sqlstate: str) -> None:
    refusal = from_database(
        DatabaseRefusal(sqlstate, "value 'secret'", '{"a": "secret"}', "secret")
    )
    assert refusal.error.code == "INTERNAL"
    assert refusal.unexpected
    assert refusal.fields == {}
    assert b"secret" not in refusal.body("r")


def test_a_field_cannot_replace_the_common_part() -> None:
    refused = from_database(DatabaseRefusal("LM001", "m", '{"code": "OK", "field": "f"}', None))
    assert isinstance(refused, Refusal)
    assert b'"code":"INVALID_REQUEST"' in refused.body("r")


def test_o8_a_refusal_is_logged_at_info_without_a_trace_and_counted(
    api: Api, log_lines: LogLines
) -> None:
    before = _refusals(api, "STALE_WRITE")
    response = _stale(api, None)  # type: ignore[arg-type]
    (line,) = [
        x for x in log_lines.lines if x.get("request_id") == response.headers["x-request-id"]
    ]
    assert line["level"] == "info"
    assert (line["op"], line["code"], line["status"]) == ("working_memory.set", "STALE_WRITE", 409)
    assert response.json()["detail"]["hint"]
    assert line["ms"] > 0
    assert "frames" not in line
    assert _refusals(api, "STALE_WRITE") == before + 1


def test_o5_refusals_are_counted_by_operation_and_code(api: Api) -> None:
    before = _refusals(api, "WORKING_MEMORY_LIMIT_EXCEEDED")
    for _ in range(3):
        body = {"content": "12345", "char_limit": 4, "block_key": _key()}
        assert api.call("working_memory.set", body).status_code == 422
    assert _refusals(api, "WORKING_MEMORY_LIMIT_EXCEEDED") == before + 3


def test_logs_hold_no_text_of_a_caller(api: Api, admin: Connection, log_lines: LogLines) -> None:
    mark = "s3cret"
    key = f"{mark}-{_key()}"
    identity = {"agent": mark, "user_id": mark, "session_id": mark, "block_key": key}
    api.call("working_memory.set", {**identity, "content": mark})
    api.call("working_memory.set", {**identity, "content": mark, "if_absent": True})
    api.call("working_memory.replace", {**identity, "old": mark * 2, "new": mark})
    api.call("working_memory.get", {**identity, mark: mark})
    api.post("working_memory.set", f'{{"content": "{mark}\\u0000"}}'.encode())
    api.post("working_memory.set", f'{{"content": "{mark}'.encode())
    api.call("working_memory.get", token=f"loom_{mark}")
    api.client.get(f"{api.url}/{mark}")
    assert len(log_lines.lines) >= 5
    assert mark not in log_lines.text


def _refusals(api: Api, code: str) -> float:
    """How many sets of blocks were refused so, by the metrics."""
    counter = f'loom_refusals_total{{code="{code}",op="working_memory.set"}}'
    for line in api.get("/metrics").text.splitlines():
        if line.startswith(counter):
            return float(line.rpartition(" ")[2])
    return 0.0

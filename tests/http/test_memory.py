"""Memory, profile, erasure and audit over HTTP: what only the wire can show."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import psycopg
import pytest

from tests.calls import mint_token
from tests.http.api import Api, Json, detail
from tests.http.memory_cases import fresh, section, stored

Connection = psycopg.Connection[Any]


def sha256(canonical: str) -> str:
    return hashlib.sha256(canonical.encode()).hexdigest()


def get(api: Api, receipt: Json) -> Json:
    response = api.call("memory.get", {"memory_key": receipt["memory_key"]})
    assert response.status_code == 200
    row: Json = response.json()
    return row


@pytest.mark.parametrize(
    ("value", "canonical"),
    [
        (None, "null"),
        (False, "false"),
        (0, "0"),
        ("", '""'),
        ([], "[]"),
        ({"b": 1, "a": None}, '{"a":null,"b":1}'),
        ('é \u2028 </profile> \\ "', '"é \u2028 </profile> \\\\ \\""'),
    ],
)
def test_any_json_is_stored_and_comes_back(api: Api, value: Any, canonical: str) -> None:
    receipt = stored(api, value)
    assert receipt["content_sha256"] == sha256(canonical)
    assert receipt["value_length"] == len(canonical)
    row = get(api, receipt)
    assert row["found"] is True
    assert row["value"] == value
    assert type(row["value"]) is type(value)


@pytest.mark.parametrize(
    ("written", "canonical"),
    [
        ("1e20", "100000000000000000000"),
        ("1e21", "1e+21"),
        ("0.000001", "0.000001"),
        ("0.0000001", "1e-7"),
        ("-0", "0"),
        ("9007199254740992", "9007199254740992"),
        ("1.50", "1.5"),
    ],
)
def test_a_number_is_hashed_as_every_json_writer_would_write_it(
    api: Api, written: str, canonical: str
) -> None:
    body = f'{{"memory_key": "{fresh()}", "value": {written}}}'
    response = api.post("memory.set", body.encode())
    assert response.json()["content_sha256"] == sha256(canonical)


@pytest.mark.parametrize("written", ["9007199254740993", "1e400", "-1e99999"])
def test_a_number_that_no_double_holds_is_refused_with_its_place(api: Api, written: str) -> None:
    body = f'{{"memory_key": "k", "value": {{"a": [0, {written}]}}}}'
    error = detail(api.post("memory.set", body.encode()), 400, "INVALID_REQUEST")
    assert error["field"] == "$.value.a[1]"


def test_o38_text_that_cannot_be_stored_is_refused_with_its_place(api: Api) -> None:
    body = rb'{"memory_key": "k", "value": {"notes": ["a\u0000b"]}}'
    assert detail(api.post("memory.set", body), 422, "INVALID_TEXT") == {"path": "$.value.notes[0]"}


def test_a_value_that_is_left_out_is_not_null(api: Api) -> None:
    error = detail(api.call("memory.set", {"memory_key": "k"}), 400, "INVALID_REQUEST")
    assert error == {"field": "value", "reason": "is required"}


def test_the_largest_value_goes_through_and_one_character_more_does_not(api: Api) -> None:
    receipt = stored(api, "x" * 262_142)
    assert (receipt["value_length"], receipt["fill_ratio"]) == (262_144, 1)
    body = {"memory_key": fresh(), "value": "x" * 262_143}
    error = detail(api.call("memory.set", body), 422, "CHAR_LIMIT_EXCEEDED")
    assert error == {"value_length": 262_145, "char_limit": 262_144, "overage": 1}


def test_a_stale_write_tells_the_current_hash(api: Api) -> None:
    receipt = stored(api)
    body = {"memory_key": receipt["memory_key"], "value": "y", "if_match_sha256": "0" * 64}
    error = detail(api.call("memory.set", body), 409, "STALE_WRITE")
    assert error == {"current_sha256": receipt["content_sha256"], "current_version": 1}


def test_a_write_is_in_every_read_at_once(api: Api) -> None:
    ids = {"user_id": fresh("user"), "session_id": "s", "agent": "a"}
    label = fresh("label")
    assert api.call("profile.set", {"label": label, "value": "brief & <b>", **ids}).is_success
    read = api.call("memory.get", {"memory_key": label, **ids}).json()
    assert (read["found"], read["value"], read["memory_type"]) == (True, "brief & <b>", "profile")
    (listed,) = api.call("memory.list", {"memory_type": "profile", **ids}).json()["items"]
    assert listed["memory_id"] == read["memory_id"]
    (version,) = api.call("memory.history", {"memory_key": label, **ids}).json()["items"]
    assert (version["version"], version["change"]) == (1, "set")
    (shown,) = api.call("profile.list", {"label": label, **ids}).json()["items"]
    assert "value" not in shown
    rendered = api.call("profile.render", {"labels": [label], **ids}).json()
    assert rendered["text"] == (
        f'<profile>\n<section label="{label}" user="{ids["user_id"]}" session="s">'
        "brief &amp; &lt;b&gt;</section>\n</profile>"
    )
    assert rendered["sections"][0]["content_sha256"] == read["content_sha256"]


def test_o20_an_append_needs_no_read(api: Api) -> None:
    label = section(api, "one")
    receipt = api.call("profile.append", {"label": label, "addition": "two"}).json()
    assert (receipt["version"], receipt["value_length"]) == (2, len('"one\\ntwo"'))
    replaced = api.call("profile.replace", {"label": label, "old": "\n", "new": ", "}).json()
    assert replaced["replacements"] == 1
    assert api.call("memory.get", {"memory_key": label}).json()["value"] == "one, two"


def test_o71_one_call_removes_a_user_and_tells_how_much(api: Api, admin: Connection) -> None:
    user = fresh("user")
    stored(api, user_id=user)
    own = mint_token(admin, org="acme", namespace="n", read_user_id=user).text
    removed = api.call("erasure.request", {}, token=own).json()["removed"]
    assert (removed["memory"], removed["memory_version"]) == (1, 1)
    again = api.call("erasure.request", {"user_id": user}).json()["removed"]
    assert set(again.values()) == {0}
    other = mint_token(admin, org="acme", namespace="n").text
    error = detail(
        api.call("erasure.request", {"user_id": user}, token=other), 403, "AUTH_INSUFFICIENT"
    )
    assert error["reason"]
    error = detail(api.call("erasure.request", {"user_id": "-"}), 400, "INVALID_REQUEST")
    assert error["field"] == "user_id"


def test_what_was_done_is_told_under_admin_without_values(api: Api, admin: Connection) -> None:
    token = mint_token(admin, org="acme", role="admin").text
    key = stored(api, "SECRETIVE")["memory_key"]
    assert api.call("memory.pin", {"memory_key": key}).is_success
    assert api.call("org.set_model_calls", {"enabled": False}, token=token).json() == {
        "org": "acme",
        "model_calls": False,
    }
    page = api.call("audit.list", {"limit": 200}, token=token)
    actions = [item["action"] for item in page.json()["items"]]
    assert {"memory.pin", "org.set_model_calls", "token.mint"} <= set(actions)
    assert "SECRETIVE" not in page.text
    assert api.client.post(f"{api.url}/v1/audit.list", json={}).status_code == 404
    detail(api.call("audit.list"), 403, "AUTH_INSUFFICIENT")  # bounded to a namespace


def test_a_page_of_rows_ends_where_its_values_are_a_megabyte(api: Api, admin: Connection) -> None:
    token = mint_token(admin, org="acme", namespace=fresh("namespace")).text
    for number in range(6):
        body = {"memory_key": str(number), "value": "x" * 250_000}
        assert api.call("memory.set", body, token=token).is_success
    seen: list[str] = []
    cursor = None
    pages = 0
    while True:
        page = api.call("memory.list", {"cursor": cursor}, token=token).json()
        seen += [item["memory_key"] for item in page["items"]]
        pages += 1
        cursor = page["next_cursor"]
        if cursor is None:
            break
    assert seen == list("543210")
    assert pages == 2


def test_a_batch_answers_each_item_with_its_own_error(api: Api) -> None:
    key = fresh()
    batch = {
        "requests": [
            {"op": "memory.set", "memory_key": key, "value": None},
            {"op": "memory.restore", "memory_key": fresh()},
            {"op": "memory.get", "memory_key": key},
        ]
    }
    results = api.call("batch", batch).json()["results"]
    assert [result["status"] for result in results] == [200, 404, 200]
    assert results[1]["error"]["code"] == "MEMORY_NOT_FOUND"
    assert json.dumps(results[2]["result"]["value"]) == "null"

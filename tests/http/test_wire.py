"""What a request and its answer look like, whatever the operation."""

from __future__ import annotations

import re

import pytest

from tests.http.api import Api, detail

ID = re.compile(r"[A-Za-z0-9._:-]{1,64}")


def test_an_operation_answers_the_flat_object_of_the_database(api: Api) -> None:
    written = api.call("working_memory.set", {"content": "on call: Mo"})
    assert written.status_code == 200
    assert written.headers["content-type"] == "application/json"
    assert written.json()["value_length"] == 11
    read = api.call("working_memory.get")
    assert read.json()["content"] == "on call: Mo"
    assert read.json()["org"] == "acme"


def test_a_good_request_id_is_kept_and_answered(api: Api) -> None:
    response = api.call("working_memory.get", headers={"X-Request-Id": "run-7:try.1_a"})
    assert response.headers["x-request-id"] == "run-7:try.1_a"
    refused = api.call("working_memory.get", {"x": 1}, headers={"X-Request-Id": "run-7"})
    assert refused.json()["detail"]["request_id"] == "run-7"


@pytest.mark.parametrize("given", [b"", b"x" * 65, b"a b", b'a"b', "ä".encode()])
def test_a_request_id_that_is_long_or_odd_is_replaced(api: Api, given: bytes) -> None:
    response = api.client.get(api.url + "/v1/health", headers={b"X-Request-Id": given})
    assert response.headers["x-request-id"].encode() != given
    assert ID.fullmatch(response.headers["x-request-id"])


def test_request_ids_differ(api: Api) -> None:
    ids = {api.call("working_memory.get").headers["x-request-id"] for _ in range(5)}
    assert len(ids) == 5


@pytest.mark.parametrize("path", ["/v1/working_memory.burn", "/v1/", "/v1", "/v1/admin/x.y"])
def test_an_unknown_operation_is_404(api: Api, path: str) -> None:
    response = api.client.post(api.url + path, json={})
    assert detail(response, 404, "UNKNOWN_OPERATION") == {}


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "/nowhere",
        "/working_memory.get",
        "/v2/working_memory.get",
        "/v1x",
        "/v1/working_memory%2Eget",
        "/v1/working_memory.get/",
        "/v1/token.mint",
        "/metrics/more",
        "//v1/working_memory.get",
    ],
)
def test_a_wrong_path_is_404_in_the_error_shape(api: Api, path: str) -> None:
    for method in ("GET", "POST"):
        response = api.client.request(method, api.url + path)
        assert detail(response, 404, "UNKNOWN_OPERATION") == {}


@pytest.mark.parametrize("method", ["GET", "HEAD", "PUT", "PATCH", "DELETE"])
def test_an_operation_answers_405_to_another_method(api: Api, method: str) -> None:
    response = api.client.request(method, api.url + "/v1/working_memory.get")
    assert response.headers["allow"] == "POST, OPTIONS"
    if method == "HEAD":
        assert response.status_code == 405
        assert response.content == b""
    else:
        assert detail(response, 405, "METHOD_NOT_ALLOWED") == {}


@pytest.mark.parametrize("path", ["/v1/health", "/v1/ready", "/metrics", "/docs"])
def test_a_page_answers_405_to_post(api: Api, path: str) -> None:
    response = api.client.post(api.url + path)
    assert response.headers["allow"] == "GET, HEAD, OPTIONS"
    assert detail(response, 405, "METHOD_NOT_ALLOWED") == {}


def test_options_names_the_methods_and_allows_no_other_origin(api: Api) -> None:
    for path, methods in (
        ("/v1/working_memory.get", "POST, OPTIONS"),
        ("/v1/health", "GET, HEAD, OPTIONS"),
    ):
        response = api.client.options(api.url + path, headers={"Origin": "https://evil.example"})
        assert response.status_code == 204
        assert response.headers["allow"] == methods
        assert not [name for name in response.headers if name.startswith("access-control")]


def test_head_of_a_page_has_its_length_and_no_body(api: Api) -> None:
    got = api.client.get(api.url + "/docs")
    head = api.client.head(api.url + "/docs")
    assert head.status_code == 200
    assert head.headers["content-length"] == got.headers["content-length"]
    assert head.content == b""


@pytest.mark.parametrize(
    "kind", ["application/json", "text/plain", "application/x-www-form-urlencoded"]
)
def test_the_content_type_need_not_be_exact(api: Api, kind: str) -> None:
    assert api.post("working_memory.get", b"{}", headers={"Content-Type": kind}).status_code == 200


def test_a_query_string_changes_nothing(api: Api) -> None:
    url = api.url + "/v1/working_memory.get?org=other"
    response = api.client.post(url, content=b"{}", headers={"Authorization": f"Bearer {api.token}"})
    assert response.status_code == 200


def test_requests_may_be_pipelined_on_one_connection(api: Api) -> None:
    request = (
        f"POST /v1/working_memory.get HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n"
        f"Authorization: Bearer {api.token}\r\n\r\n{{}}"
    ).encode()
    with api.socket() as connection:
        connection.sendall(request * 3)
        answer = b""
        while answer.count(b"HTTP/1.1 200 OK") < 3:
            part = connection.recv(65536)
            assert part, answer
            answer += part


def test_a_client_that_goes_away_half_way_is_no_error(api: Api, log_lines: object) -> None:
    with api.socket() as connection:
        connection.sendall(
            b"POST /v1/working_memory.get HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n"
            + f"Authorization: Bearer {api.token}\r\n\r\n{{".encode()
        )
    assert api.call("working_memory.get").status_code == 200
    assert "error" not in [line["level"] for line in log_lines.lines]  # type: ignore[attr-defined]


def test_a_batch_answers_each_of_its_requests(api: Api) -> None:
    requests = [
        {"op": "working_memory.set", "block_key": "batched", "content": "x"},
        {"op": "working_memory.get", "block_key": "batched", "colour": 1},
    ]
    response = api.call("batch", {"requests": requests})
    assert response.status_code == 200
    written, refused = response.json()["results"]
    assert (written["status"], written["result"]["value_length"]) == (200, 1)
    assert (refused["status"], refused["error"]["code"]) == (400, "INVALID_REQUEST")

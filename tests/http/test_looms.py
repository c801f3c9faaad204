"""The routes of looms, outside /v1: the same operations, told by method, path and query."""

from __future__ import annotations

import uuid
from typing import Any

import httpx2
import msgspec
import psycopg
import pytest

from loom.app.errors import Refusal
from loom.app.looms import ROUTES, request_of, routes_at, with_fields
from loom.types import OPERATIONS
from tests.calls import mint_token, operate
from tests.http.api import Api, Json, check_answer, detail

Connection = psycopg.Connection[Any]

ID = "3f2b8c1e-5d4a-4e6b-9c7d-2a1b0c9d8e7f"


def ask(
    api: Api, method: str, path: str, body: Any = None, *, token: str | None = None, **options: Any
) -> httpx2.Response:
    """Asks a route with a token; its answer is held to the type of its operation."""
    headers = {"Authorization": f"Bearer {token or api.token}", **options.pop("headers", {})}
    if body is not None:
        options["content"] = body if isinstance(body, bytes) else msgspec.json.encode(body)
    response = api.client.request(method, api.url + path, headers=headers, **options)
    raw = path.partition("?")[0].encode()
    routes, _ = routes_at(raw)
    if response.status_code == 200:
        operation = OPERATIONS[routes[method].op]
        msgspec.json.decode(response.content, type=operation.answer, strict=True)
    if method in routes:
        check_answer(routes[method].path, method.lower(), response)
    return response


def new(api: Api, **request: Any) -> Json:
    """A new loom."""
    answer = ask(api, "PUT", "/looms", {"name": f"loom {uuid.uuid4()}", **request})
    assert answer.status_code == 200, answer.text
    loom: Json = answer.json()["entity"]
    return loom


def test_a_loom_lives_by_its_routes(api: Api, admin: Connection) -> None:
    loom = new(api, description="d", settings={"nightWeaving": False, "quietMinutes": 0})
    path = f"/looms/by-id/{loom['id']}"
    assert ask(api, "GET", path).json() == loom
    by_sql = operate(admin, "looms.get", org="acme", namespace="n", loomId=loom["id"])
    assert by_sql == loom
    changed = ask(api, "PATCH", path, {"settings": {"quietMinutes": None}}).json()["entity"]
    assert changed["settings"]["quietMinutes"] is None
    assert changed["settings"]["nightWeaving"] is False
    thread = ask(api, "POST", f"{path}/threads", {"text": "t", "tags": ["a"]}).json()["entity"]
    assert ask(api, "GET", f"{path}/threads").json()["items"] == [thread]
    turn = ask(api, "POST", f"{path}/activity", {"text": "t", "processId": ID}).json()
    assert turn["lastActivityProcessId"] == ID
    (binding,) = ask(api, "POST", "/looms/bind", {"loomId": loom["id"]}).json()["bindings"]
    assert binding["threadCount"] == 1
    assert ask(api, "GET", f"{path}/inspection").json()["pendingActivity"]["turns"] == 1
    weaving = ask(api, "POST", f"{path}/weavings", {"dryRun": True}).json()["entity"]
    assert ask(api, "GET", f"{path}/weavings").json()["items"] == [weaving]
    told = ask(api, "GET", f"{path}/weavings/{weaving['id']}").json()
    assert told == {**weaving, "changes": []}
    refusal = ask(api, "POST", f"{path}/weavings/{weaving['id']}/revert")
    assert detail(refusal, 400, "INVALID_REQUEST")["field"] == "weavingId"
    gone = ask(api, "DELETE", f"{path}/threads/{thread['id']}").json()["entity"]
    assert gone["deletedAt"]
    deleted = ask(api, "GET", f"{path}/threads?includeDeleted=true&pageSize=1").json()
    assert (deleted["items"], deleted["pageSize"]) == ([gone], 1)
    assert ask(api, "DELETE", path).json() == {"id": loom["id"], "threads": 0}
    assert detail(ask(api, "GET", path), 404, "LOOM_NOT_FOUND") == {}


def test_a_namespaces_looms_are_paged(api: Api) -> None:
    space = new(api)["namespaceId"]
    new(api)
    path = f"/looms/by-namespace/{space}"
    whole = ask(api, "GET", path).json()
    page = ask(api, "GET", f"{path}?page=2&pageSize=1").json()
    assert page["items"] == whole["items"][1:2]
    assert (page["page"], page["pageSize"], page["total"]) == (2, 1, whole["total"])
    past = ask(api, "GET", f"{path}?page=900&pageSize=200").json()
    assert (past["items"], past["total"]) == ([], whole["total"])


def test_weaving_now_needs_no_body(api: Api) -> None:
    path = f"/looms/by-id/{new(api)['id']}/weavings"
    assert ask(api, "POST", path).json()["entity"]["dryRun"] is False
    assert ask(api, "POST", path, b" \n").status_code == 200
    assert ask(api, "POST", path, {}).status_code == 200


@pytest.mark.parametrize("query", ["page=0", "page=x", "page=1.5", "page=", "pageSize=201"])
def test_a_page_out_of_range_is_refused_by_name(api: Api, query: str) -> None:
    path = f"/looms/by-id/{new(api)['id']}/threads?{query}"
    assert detail(ask(api, "GET", path), 400, "INVALID_REQUEST")["field"] in ("page", "pageSize")


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("surprise=1", "surprise"),
        ("page=1&page=2", "page"),
        (f"loomId={ID}", "loomId"),
        ("includeDeleted=yes", "includeDeleted"),
        ("readScope=all", "readScope"),
        ("%00=1", "\x00"),
    ],
)
def test_a_query_is_judged_like_any_request(api: Api, query: str, field: str) -> None:
    path = f"/looms/by-id/{new(api)['id']}/threads?{query}"
    if field == "\x00":
        detail(ask(api, "GET", path), 422, "INVALID_TEXT")
        return
    assert detail(ask(api, "GET", path), 400, "INVALID_REQUEST")["field"] == field


def test_a_field_of_the_body_is_not_passed_over_in_the_query(api: Api) -> None:
    path = f"/looms/by-id/{new(api)['id']}/weavings"
    refusal = ask(api, "POST", f"{path}?dryRun=true")
    assert detail(refusal, 400, "INVALID_REQUEST")["field"] == "dryRun"
    assert ask(api, "GET", path).json()["total"] == 0
    assert ask(api, "POST", f"{path}?").status_code == 200


@pytest.mark.parametrize(
    "query",
    ["a=%ff", "a=ä".encode("latin-1").decode("latin-1"), "&".join("abc=1" for _ in range(51))],
)
def test_a_query_that_is_none_is_refused(query: str) -> None:
    routes, in_path = routes_at(f"/looms/by-id/{ID}/threads".encode())
    with pytest.raises(Refusal) as refused:
        request_of(routes["GET"], in_path, query.encode("latin-1"), b"")
    assert refused.value.error.code == "INVALID_REQUEST"


@pytest.mark.parametrize(
    "identifier", ["x", "1", f"{ID}0", "%7B%7D", "%2e%2e", "%ff", ID.replace("-", "")]
)
def test_an_id_that_is_no_uuid_is_refused_by_name(api: Api, identifier: str) -> None:
    for method, path in (("GET", ""), ("PATCH", ""), ("DELETE", ""), ("GET", "/inspection")):
        response = ask(
            api, method, f"/looms/by-id/{identifier}{path}", {} if method == "PATCH" else None
        )
        assert detail(response, 400, "INVALID_REQUEST")["field"] == "loomId"


def test_o38_a_nul_in_a_path_is_a_text_that_cannot_be_stored(api: Api) -> None:
    for method, path in (("GET", "/looms/by-id/a%00"), ("POST", "/looms/by-id/a%00/threads")):
        response = ask(api, method, path, {"text": "t"} if method == "POST" else None)
        assert detail(response, 422, "INVALID_TEXT") == {"path": "$.loomId"}


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"[]",
        b"{",
        b'{"a":1,}',
        b'{"text": "a"',
        b'{"text":"a"}}',
        b"null",
        b'"}',
        b'{"a":"}',
        b"[}",
    ],
)
def test_a_body_that_is_no_object_stays_none(api: Api, body: bytes) -> None:
    path = f"/looms/by-id/{new(api)['id']}/threads"
    response = ask(api, "POST", path, body)
    assert detail(response, 400, "INVALID_REQUEST")["field"] in (None, "text")


def test_the_path_says_which_loom_whatever_the_body_says(api: Api) -> None:
    one, other = new(api), new(api)
    body = {"text": "t", "loomId": other["id"]}
    thread = ask(api, "POST", f"/looms/by-id/{one['id']}/threads", body).json()["entity"]
    assert thread["loomId"] == one["id"]


@pytest.mark.parametrize(
    ("body", "request_"),
    [
        (b"", b'{"a":"x"}'),
        (b"{}", b'{"a":"x"}'),
        (b" { \n} ", b'{"a":"x"}'),
        (b'{"b": 1e400 }', b'{"b": 1e400,"a":"x"}'),
        (b"[1]", b"[1]"),
        (b"{", b"{"),
    ],
)
def test_what_came_goes_on_as_it_came(body: bytes, request_: bytes) -> None:
    assert with_fields(body, {"a": "x"}) == request_
    assert with_fields(body, {}) == body


def test_a_path_answers_to_its_methods_alone(api: Api) -> None:
    for path in {route.path for route in ROUTES}:
        concrete = path.replace("{loomId}", ID).replace("{threadId}", ID).replace("{weavingId}", ID)
        concrete = concrete.replace("{namespaceId}", ID)
        methods = {route.method for route in ROUTES if route.path == path}
        allow = ", ".join([*(r.method for r in ROUTES if r.path == path), "OPTIONS"])
        for method in {"GET", "PUT", "PATCH", "POST", "DELETE"} - methods:
            response = api.client.request(method, api.url + concrete)
            assert detail(response, 405, "METHOD_NOT_ALLOWED") == {}
            assert response.headers["allow"] == allow
        options = api.client.options(api.url + concrete)
        assert (options.status_code, options.headers["allow"]) == (204, allow)


@pytest.mark.parametrize(
    "path",
    ["/loomsx", "/looms/", "/looms/by-id", "/looms/by-id/", f"/looms/{ID}", "/looms/by-id/a/b/c"],
)
def test_another_path_is_404(api: Api, path: str) -> None:
    for method in ("GET", "POST"):
        assert detail(ask(api, method, path), 404, "UNKNOWN_OPERATION") == {}


def test_a_token_is_needed(api: Api) -> None:
    for route in ROUTES:
        path = route.path
        for name in route.fields:
            path = path.replace(f"{{{name}}}", ID)
        response = api.client.request(route.method, api.url + path)
        assert response.status_code == 401, route
        assert detail(response, 401, "AUTH_REQUIRED")


def test_roles_and_bounds_hold_as_everywhere(api: Api, admin: Connection) -> None:
    loom = new(api)
    path = f"/looms/by-id/{loom['id']}"
    viewer = mint_token(admin, org="acme", role="viewer", namespace="n").text
    assert ask(api, "GET", path, token=viewer).status_code == 200
    refusal = ask(api, "POST", f"{path}/weavings", token=viewer)
    assert detail(refusal, 403, "AUTH_INSUFFICIENT")["needed"] == "writer"
    pinned = mint_token(admin, org="acme", namespace="n", read_user_id="u1").text
    assert ask(api, "POST", f"{path}/threads", {"text": "t"}, token=pinned).status_code == 200
    for method, where, body in (
        ("PUT", "/looms", {"name": "x"}),
        ("PATCH", path, {}),
        ("DELETE", path, None),
        ("POST", f"{path}/weavings", None),
        ("POST", f"{path}/weavings/{ID}/revert", None),
    ):
        detail(ask(api, method, where, body, token=pinned), 403, "AUTH_INSUFFICIENT")


def test_o61_another_orgs_or_namespaces_loom_is_404_by_every_route(
    api: Api, admin: Connection
) -> None:
    loom = new(api)["id"]
    tokens = [
        mint_token(admin, org="other", role="admin").text,
        mint_token(admin, org="acme", role="admin", namespace="second").text,
    ]
    for route in ROUTES:
        if "loomId" not in route.fields:
            continue
        path = route.path.replace("{loomId}", loom)
        path = path.replace("{threadId}", ID).replace("{weavingId}", ID)
        body = {"text": "t"} if route.path.endswith(("/threads", "/activity")) else {}
        for token in tokens:
            response = ask(api, route.method, path, body if route.has_body else None, token=token)
            assert detail(response, 404, "LOOM_NOT_FOUND") == {}, route


def test_an_idempotency_key_is_heeded(api: Api) -> None:
    path = f"/looms/by-id/{new(api)['id']}/threads"
    headers = {"Idempotency-Key": uuid.uuid4().hex}
    first = ask(api, "POST", path, {"text": "once"}, headers=headers)
    again = ask(api, "POST", path, {"text": "once"}, headers=headers)
    assert first.json() == again.json()
    assert ask(api, "GET", path).json()["total"] == 1


def test_a_route_is_counted_as_its_operation(api: Api) -> None:
    new(api)
    assert 'loom_requests_total{code="OK",op="looms.create"}' in api.get("/metrics").text


def test_every_route_is_described_and_every_operation_has_one(api: Api) -> None:
    paths = api.get("/v1/openapi.json").json()["paths"]
    for route in ROUTES:
        described = paths[route.path][route.method.lower()]
        assert described["operationId"] == f"rest.{route.op}"
        named = {each["name"] for each in described["parameters"] if each["in"] == "path"}
        assert named == set(route.fields)
        assert ("requestBody" in described) == route.has_body
        if route.has_body:
            schema = described["requestBody"]["content"]["application/json"]["schema"]
            assert not named & set(schema["properties"])
    assert {route.op for route in ROUTES} == {op for op in OPERATIONS if op.startswith("looms.")}

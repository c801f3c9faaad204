"""Health, readiness, metrics, the OpenAPI description and its page: without a token."""

from __future__ import annotations

import re
import uuid
from html.parser import HTMLParser
from typing import Any

import psycopg
import pytest
from prometheus_client.parser import text_string_to_metric_families

from loom.app.errors import ERRORS
from loom.app.health import Readiness
from loom.gateway import Patience
from loom.types import OPERATIONS
from tests.databases import Database
from tests.http.api import Api, Json, check_schema, detail, running

Connection = psycopg.Connection[Any]


def test_health_says_that_the_process_is_up(api: Api) -> None:
    response = api.get("/v1/health")
    assert response.status_code == 200
    assert response.json()["status"] == "up"


def test_health_needs_no_database(database: Database) -> None:
    with running(database, patience=Patience(wait=0.2, look=0.02)) as api:
        _take_away(database)
        assert api.get("/v1/health").status_code == 200


def test_ready_tells_of_database_schema_and_worker(api: Api, admin: Connection) -> None:
    admin.execute("delete from loom.worker")
    response = api.get("/v1/ready")
    assert response.status_code == 200
    checks = {"database": "ok", "schema": "ok", "worker": "none", "model": "not configured"}
    assert response.json() == {"status": "ready", "checks": checks}


def test_ready_tells_a_running_worker_from_a_silent_one(api: Api, admin: Connection) -> None:
    worker = uuid.uuid4()
    admin.execute("select loom.worker_beat(%s)", (worker,))
    assert api.get("/v1/ready").json()["checks"]["worker"] == "running"
    admin.execute("update loom.worker set last_seen_at = last_seen_at - interval '1 hour'")
    assert api.get("/v1/ready").json()["checks"]["worker"] == "silent"
    admin.execute("delete from loom.worker")


def test_not_ready_when_the_schema_is_another_versions(database: Database) -> None:
    with running(database) as api:
        database.connect().execute("update loom.functions_digest set sha256 = repeat('0', 64)")
        fields = detail(api.get("/v1/ready"), 503, "UNAVAILABLE")
        assert fields["checks"]["schema"] == "other"
        assert fields["reason"] == "not ready"


def test_not_ready_without_a_database_and_ready_again_with_it(database: Database) -> None:
    with running(database, patience=Patience(wait=0.2, look=0.02)) as api:
        _take_away(database)
        response = api.get("/v1/ready")
        assert detail(response, 503, "UNAVAILABLE")["checks"]["database"] == "unavailable"
        assert response.headers["retry-after"] == "1"
        _give_back(database)
        # The pool tries again at its own pace; each of these waits for it a little.
        assert any(api.get("/v1/ready").status_code == 200 for _ in range(50))


def test_a_worker_is_not_needed_to_be_ready() -> None:
    assert Readiness("ok", "ok", "none", "not configured").ready
    assert not Readiness("ok", "other", "running", "configured").ready
    assert not Readiness("unavailable", "unknown", "unknown", "configured").ready
    assert not Readiness("ok", "ok", "stalled", "configured").ready


def test_metrics_count_requests_by_operation_and_code(api: Api) -> None:
    before = _samples(api)
    api.call("working_memory.get")
    api.call("working_memory.get", {"colour": 1})
    api.call("working_memory.burn")
    after = _samples(api)

    def grown(name: str, **labels: str) -> float:
        key = (name, tuple(sorted(labels.items())))
        return after.get(key, 0.0) - before.get(key, 0.0)

    assert grown("loom_requests_total", op="working_memory.get", code="OK") == 1
    assert grown("loom_requests_total", op="working_memory.get", code="INVALID_REQUEST") == 1
    assert grown("loom_refusals_total", op="working_memory.get", code="INVALID_REQUEST") == 1
    assert grown("loom_refusals_total", op="working_memory.get", code="OK") == 0
    assert grown("loom_requests_total", op="-", code="UNKNOWN_OPERATION") == 1
    assert grown("loom_request_seconds_count", op="working_memory.get") == 2
    assert grown("loom_request_seconds_bucket", op="working_memory.get", le="+Inf") == 2
    assert 0 < grown("loom_request_seconds_sum", op="working_memory.get") < 10


def test_metrics_show_the_pool(api: Api) -> None:
    api.call("working_memory.get")
    samples = _samples(api)
    assert samples["loom_pool_open", (("lane", "read"),)] >= 1
    assert samples["loom_pool_limit", (("lane", "write"),)] == 16
    assert samples["loom_pool_waiting", (("lane", "read"),)] == 0
    assert samples["loom_pool_events_total", (("event", "opened"), ("lane", "read"))] >= 1


def test_what_callers_type_makes_no_new_series(api: Api) -> None:
    api.call("working_memory.get")
    before = set(_samples(api))
    for n in range(20):
        api.client.post(f"{api.url}/v1/made.up_{n}")
        api.client.get(f"{api.url}/made-up-{n}")
    assert {name for name in set(_samples(api)) - before if "made" in str(name)} == set()


def test_openapi_has_every_operation_and_resolves(api: Api) -> None:
    document = api.get("/v1/openapi.json").json()
    assert document["openapi"].startswith("3.1")
    for operation in OPERATIONS.values():
        described = document["paths"][operation.path]["post"]
        assert described["operationId"] == operation.op
        assert described["summary"] == operation.summary
        assert {"200", "400", "401", "403", "413", "422", "500", "503"} <= set(
            described["responses"]
        )
        assert ("409" in described["responses"]) == (operation.mode == "write")
    for reference in _references(document):
        target: Any = document
        for step in reference.removeprefix("#/").split("/"):
            target = target[step]


def test_openapi_schemas_are_valid_json_schema(api: Api) -> None:
    document = api.get("/v1/openapi.json").json()
    schemas = list(document["components"]["schemas"].values())
    for response in document["components"]["responses"].values():
        schemas.append(response["content"]["application/json"]["schema"])
    assert len(schemas) > 2 * len(OPERATIONS)
    for schema in schemas:
        check_schema(schema)


def test_openapi_describes_every_error(api: Api) -> None:
    responses = api.get("/v1/openapi.json").json()["components"]["responses"]
    described = {
        (int(name.removeprefix("Error")), code)
        for name, response in responses.items()
        for code in response["content"]["application/json"]["schema"]["properties"]["detail"][
            "properties"
        ]["code"]["enum"]
    }
    assert described == {(error.status, error.code) for error in ERRORS}


class _Links(HTMLParser):
    """Collects what a page would load, and its anchors."""

    def __init__(self) -> None:
        super().__init__()
        self.loads: list[str] = []
        self.ids: set[str] = set()
        self.targets: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag in ("script", "img", "link", "iframe"):
            self.loads.append(tag)
        if given.get("id"):
            self.ids.add(str(given["id"]))
        if (given.get("href") or "").startswith("#"):
            self.targets.add(str(given["href"])[1:])


def test_the_docs_page_stands_on_its_own(api: Api) -> None:
    response = api.get("/docs")
    assert response.headers["content-type"] == "text/html; charset=utf-8"
    assert "default-src 'none'" in response.headers["content-security-policy"]
    page = _Links()
    page.feed(response.text)
    assert page.loads == []
    assert set(OPERATIONS) <= page.ids
    assert page.targets <= page.ids
    assert not re.search(r"(?:src|@import|url\()", response.text)


def _samples(api: Api) -> dict[tuple[str, tuple[tuple[str, str], ...]], float]:
    page = api.get("/metrics")
    assert page.headers["content-type"].startswith("text/plain; version=0.0.4")
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(page.text)
        for sample in family.samples
    }


def _references(node: Any) -> list[str]:
    if isinstance(node, dict):
        own = [node["$ref"]] if isinstance(node.get("$ref"), str) else []
        return own + [found for value in node.values() for found in _references(value)]
    if isinstance(node, list):
        return [found for value in node for found in _references(value)]
    return []


def _take_away(database: Database) -> None:
    """Let the gateway in no more, and end its sessions."""
    with database.cluster.maintenance() as conn:
        conn.execute(f'alter database "{database.name}" allow_connections false'.encode())
        conn.execute(
            "select pg_terminate_backend(pid, 5000) from pg_stat_activity"
            " where datname = %s and usename = 'loom_gateway'",
            (database.name,),
        )


def _give_back(database: Database) -> None:
    with database.cluster.maintenance() as conn:
        conn.execute(f'alter database "{database.name}" allow_connections true'.encode())


@pytest.mark.parametrize(
    "path", ["/v1/health", "/v1/ready", "/metrics", "/docs", "/v1/openapi.json"]
)
def test_a_page_needs_no_token_and_no_open_mode(api: Api, path: str) -> None:
    assert "authorization" not in api.client.headers
    response = api.get(path, headers={"Via": "1.1 proxy"})
    assert response.status_code == 200


def test_pages_that_change_are_not_cached(api: Api) -> None:
    for path in ("/v1/health", "/v1/ready", "/metrics"):
        assert api.get(path).headers["cache-control"] == "no-store"


def test_ready_shows_no_text_of_the_database(database: Database) -> None:
    with running(database, patience=Patience(wait=0.2, look=0.02)) as api:
        _take_away(database)
        answer: Json = api.get("/v1/ready").json()
        assert database.name not in str(answer)
        _give_back(database)

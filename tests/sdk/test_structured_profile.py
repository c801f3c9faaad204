"""`client.profile.structured` against a real server and database, with a worker's part by hand."""

from __future__ import annotations

import ast
import asyncio
import inspect
from collections.abc import Callable
from typing import Any

import pytest
from psycopg.types.json import Jsonb

from loom import Agent
from loom.errors import AuthInsufficient, IdentityIncomplete, InvalidRequest
from tests.calls import mint_token
from tests.databases import Database
from tests.http.api import Api
from tests.sdk.agents import using

EXAMPLE = """
from loom import Agent
schema = {
    "type": "object",
    "properties": {
        "preferred_name": {"type": "string", "description": "What the user asks to be called"},
        "timezone": {"type": "string", "description": "IANA time zone, e.g. Europe/Berlin"},
        "languages": {
            "type": "array",
            "items": {"type": "string"},
            "description": "Languages they speak",
        },
    },
}
async with Agent(org="acme", namespace="support", agent="chat", api_key=ADMIN_TOKEN) as admin:
    await admin.client.profile_schema.set({"json_schema": schema})
async with Agent(org="acme", namespace="support", agent="chat") as bot:
    out = await bot.client.profile.structured({"user_id": "u-42"})
"""
BUILT = {"preferred_name": "Sam", "timezone": "Europe/Berlin", "languages": ["en", "de"]}
SCHEMA = {
    "type": "object",
    "properties": {"name": {"type": "string", "description": "What to call them"}},
}


def run_example(api: Api) -> dict[str, Any]:
    """What the example has in `out`."""
    known: dict[str, Any] = {"ADMIN_TOKEN": api.token}
    coroutine = eval(
        compile(EXAMPLE, "example", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT), known
    )
    assert inspect.iscoroutine(coroutine)
    asyncio.run(coroutine)
    return known["out"]  # type: ignore[no-any-return]


def build(served: Database, namespace: str, answer: object, named: str) -> list[str]:
    """Builds the one user that is due as a worker does, each property from the facts read."""
    with served.connect("loom_worker") as worker:
        worker.execute("select from loom.work_due('structured_profile')")
        row = worker.execute(
            "select lease_id from loom.work_claim('acme', %s, 'structured_profile', 1)",
            (namespace,),
        ).fetchone()
        assert row is not None
        (lease,) = row
        row = worker.execute("select loom.work_read('acme', %s)", (lease,)).fetchone()
        assert row is not None
        ids: list[str] = [source["memory_id"] for source in row[0]["sources"]]
        done = worker.execute(
            "select loom.work_complete('acme', %s, %s, %s)",
            (lease, Jsonb(answer), Jsonb({named: ids})),
        ).fetchone()
        assert done is not None
        assert done[0]["outcome"] == "written"
        return ids


def test_the_seeds_example_runs_as_it_stands(
    api: Api, served: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOOM_BASE_URL", api.url)
    monkeypatch.setenv("LOOM_API_KEY", mint_token(served.connect(), role="viewer").text)
    nothing = dict.fromkeys(BUILT)
    unbuilt = dict.fromkeys(("built_at", "memory_id", "version", "version_text"))
    assert run_example(api) == {"status": "ready", "profile": nothing, **unbuilt}

    async def learn(agent: Agent) -> None:
        await agent.memory.set("name", "goes by Sam", user_id="u-42")

    using(Agent(org="acme", namespace="support", api_key=api.token), learn)
    assert run_example(api) == {"status": "pending", "profile": nothing, **unbuilt}
    ids = build(served, "support", BUILT, "preferred_name")
    out = run_example(api)
    assert (out["status"], out["profile"]) == ("ready", BUILT)
    assert (out["version"], out["version_text"]) == (1, "1")
    assert out["built_at"]
    assert out["memory_id"]
    assert set(out) == {"status", "profile", *unbuilt}

    async def explain(agent: Agent) -> dict[str, Any]:
        return await agent.client.profile.structured({"user_id": "u-42", "explain": True})

    explained = using(Agent(org="acme", namespace="support"), explain)["explain"]
    assert explained == {
        "source_count": 1,
        "sources_match": True,
        "schema_match": True,
        "attempts": 0,
        "sources": {"preferred_name": ids},
        **dict.fromkeys(("due_at", "listed_at", "last_error", "next_attempt_at", "refused")),
    }


def test_a_build_can_be_asked_for(bot: Callable[..., Agent]) -> None:
    async def work(agent: Agent) -> None:
        profile = agent.client.profile
        assert await profile.structured_build({"user_id": "u"}) == {"queued": False, "due_at": None}
        await agent.memory.set("name", "goes by Sam", user_id="u")
        await agent.client.profile_schema.set({"json_schema": SCHEMA})
        asked = await profile.structured_build({"user_id": "u"})
        assert asked["queued"] is True
        assert asked["due_at"]

    using(bot(), work)


def test_a_pinned_token_reads_its_own_user(bot: Callable[..., Agent], served: Database) -> None:
    token = mint_token(served.connect(), role="viewer", read_user_id="u-1").text

    async def work(agent: Agent) -> None:
        for request in ({}, {"user_id": "u-1"}):
            assert (await agent.client.profile.structured(request))["status"] == "no_schema"
        with pytest.raises(AuthInsufficient):
            await agent.client.profile.structured({"user_id": "u-2"})

    using(bot(api_key=token), work)


def test_a_token_of_one_session_is_refused_and_an_agents_session_does_not_matter(
    bot: Callable[..., Agent], served: Database
) -> None:
    bounds = {"read_user_id": "u-1", "session_id": "s-1"}
    token = mint_token(served.connect(), role="writer", **bounds).text

    async def refused(agent: Agent) -> None:
        profile = agent.client.profile
        for method in (profile.structured, profile.structured_build):
            with pytest.raises(IdentityIncomplete) as incomplete:
                await method({})
            assert incomplete.value.field == "session_id"
            with pytest.raises(AuthInsufficient):
                await method({"session_id": "s-1"})

    async def free(agent: Agent) -> None:
        assert (await agent.client.profile.structured({}))["status"] == "no_schema"

    async def nobody(agent: Agent) -> None:
        with pytest.raises(InvalidRequest) as invalid:
            await agent.client.profile.structured({})
        assert invalid.value.field == "user_id"

    using(bot(api_key=token), refused)
    using(bot(user_id="u-1", session_id="s-1"), free)
    using(bot(), nobody)

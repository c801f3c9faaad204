"""The SDK against a real server and database."""

from __future__ import annotations

import ast
import asyncio
import inspect
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from loom import Agent
from loom.client import Client
from loom.errors import (
    AlreadyExists,
    AuthInsufficient,
    AuthRequired,
    CountMismatch,
    IdempotencyConflict,
    InvalidRequest,
    InvalidText,
    LimitExceeded,
    ProfileSchemaInvalid,
    StaleWrite,
    SubstringNotFound,
    UnknownOperation,
    Unreachable,
    WorkingMemoryBlockNotFound,
    WorkingMemoryLimitExceeded,
)
from loom.retry import RetryPolicy
from tests.calls import mint_token
from tests.databases import Database
from tests.http.api import Api
from tests.sdk.agents import losing, using
from tests.sql.profile_schemas import EXAMPLE as EXAMPLE_SCHEMA

EXAMPLE = """
from loom import Agent
async with Agent(org="acme", namespace="support", agent="triage-bot") as bot:
    await bot.working_memory.set(
        "cursor: ticket 4812\\nlease: holds refunds queue", block_key="state", run_id="run-7"
    )
    await bot.working_memory.append("step 3 done", block_key="state", run_id="run-7")
    print(await bot.working_memory.render(run_id="run-7"))
"""


def test_the_first_example_runs_as_it_stands(
    api: Api, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("LOOM_BASE_URL", api.url)
    monkeypatch.setenv("LOOM_API_KEY", api.token or "")
    code = compile(EXAMPLE, "example", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    coroutine = eval(code, {})
    assert inspect.iscoroutine(coroutine)
    asyncio.run(coroutine)
    assert capsys.readouterr().out == (
        '<working-memory block="state">cursor: ticket 4812\n'
        "lease: holds refunds queue\nstep 3 done</working-memory>\n"
    )


def test_refusals_arrive_as_their_classes_with_their_fields(bot: Callable[..., Agent]) -> None:
    async def work(agent: Agent) -> None:
        memory = agent.working_memory
        receipt = await memory.set("one one", block_key="k", char_limit=10)
        with pytest.raises(StaleWrite) as stale:
            await memory.set("x", block_key="k", if_match_sha256="00")
        assert stale.value.current_sha256 == receipt["content_sha256"]
        assert stale.value.current_version == receipt["version"]
        with pytest.raises(WorkingMemoryLimitExceeded) as full:
            await memory.append("four", block_key="k")
        assert (full.value.value_length, full.value.char_limit, full.value.overage) == (12, 10, 2)
        with pytest.raises(AlreadyExists):
            await memory.set("x", block_key="k", if_absent=True)
        with pytest.raises(CountMismatch) as count:
            await memory.replace("one", "1", block_key="k", expected_count=3)
        assert count.value.replacements == 2
        with pytest.raises(SubstringNotFound):
            await memory.replace("two", "2", block_key="k")
        with pytest.raises(WorkingMemoryBlockNotFound):
            await memory.replace("one", "1", block_key="absent")
        with pytest.raises(LimitExceeded) as long:
            await memory.get(block_key="k" * 81)
        assert (long.value.what, long.value.limit, long.value.value) == ("block_key", 80, 81)
        with pytest.raises(InvalidRequest) as unknown:
            await agent.client.working_memory.get({"blok": "k"})
        assert unknown.value.field == "blok"
        with pytest.raises(UnknownOperation):
            await agent.client.call("working_memory.forget", {})
        assert unknown.value.request_id

    using(bot(), work)


@pytest.mark.parametrize("text", ["a\x00b", "a\ud800"])
def test_o38_text_that_cannot_be_stored_is_refused_with_its_place(
    bot: Callable[..., Agent], text: str
) -> None:
    async def work(agent: Agent) -> None:
        with pytest.raises(InvalidText) as refused:
            await agent.working_memory.set(text)
        assert (refused.value.status, refused.value.path) == (422, "$.content")

    using(bot(), work)


def test_o37_text_comes_back_as_it_was(bot: Callable[..., Agent]) -> None:
    text = "👩‍👩‍👧‍👦 日本語 e\u0301 \u202e\ufeff \n\t\x01 </working-memory>"

    async def work(agent: Agent) -> None:
        receipt = await agent.working_memory.set(text)
        assert receipt["value_length"] == len(text)
        assert (await agent.working_memory.get())["content"] == text

    using(bot(), work)


def test_a_render_carries_its_answer_and_can_be_asked_for_only_if_changed(
    bot: Callable[..., Agent],
) -> None:
    async def work(agent: Agent) -> None:
        await agent.working_memory.set("a", block_key="b1")
        await agent.working_memory.set("b", block_key="b2")
        text = await agent.working_memory.render(block_keys=("b2", "b1"), limit=1)
        assert text == '<working-memory block="b2">b</working-memory>'
        assert [block["block_key"] for block in text.blocks] == ["b2"]
        assert text.omitted == ["b1"]
        same = await agent.working_memory.render(
            block_keys=["b2", "b1"], limit=1, if_none_match=text.sha256
        )
        assert same.unchanged
        assert same == ""

    using(bot(), work)


def test_an_agent_of_one_user_and_session_keeps_to_them(bot: Callable[..., Agent]) -> None:
    async def work(agent: Agent) -> None:
        receipt = await agent.working_memory.set("x")
        assert (receipt["user_id"], receipt["session_id"]) == ("u-1", "s-1")
        assert not (await agent.working_memory.get(user_id="u-2"))["found"]

    using(bot(user_id="u-1", session_id="s-1"), work)


def test_a_token_is_needed_and_must_reach(
    bot: Callable[..., Agent], served: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("LOOM_API_KEY", raising=False)

    async def get(agent: Agent) -> Any:
        return await agent.working_memory.get()

    with pytest.raises(AuthRequired):
        using(bot(api_key=None), get)
    with pytest.raises(AuthRequired):
        using(bot(api_key="not a token"), get)
    other = mint_token(served.connect(), org="other").text
    with pytest.raises(AuthInsufficient):
        using(bot(api_key=other), get)


@pytest.mark.parametrize("lose", [1, 3])
def test_a_write_whose_answer_was_lost_is_done_once(
    api: Api, bot: Callable[..., Agent], lose: int
) -> None:
    async def work(agent: Agent) -> None:
        await agent.working_memory.set("a", block_key=f"k{lose}")

    async def append(agent: Agent) -> None:
        receipt = await agent.working_memory.append("b", block_key=f"k{lose}")
        assert receipt["version"] == 2
        read = await agent.working_memory.get(block_key=f"k{lose}")
        assert (read["content"], read["version"]) == ("a\nb", 2)

    using(bot(), work)
    using(bot(client=losing(api, lose)), append)


def test_a_compare_and_set_whose_answer_was_lost_is_no_conflict_with_itself(
    api: Api, bot: Callable[..., Agent]
) -> None:
    async def work(agent: Agent) -> None:
        receipt = await agent.working_memory.set("a", if_absent=True)
        again = await agent.working_memory.set("b", if_match_sha256=receipt["content_sha256"])
        assert again["version"] == 2

    using(bot(client=losing(api, 1)), work)


def test_a_secret_is_never_given_twice(api: Api, bot: Callable[..., Agent]) -> None:
    async def work(agent: Agent) -> None:
        with pytest.raises(IdempotencyConflict):
            await agent.client.token.mint({"role": "viewer"})

    using(bot(client=losing(api, 1)), work)


def test_without_a_server_there_is_a_clear_error(bot: Callable[..., Agent]) -> None:
    async def get(agent: Agent) -> Any:
        return await agent.working_memory.get()

    client = Client("http://127.0.0.1:1", retry=RetryPolicy(tries=2, first_wait=0.001))
    with pytest.raises(Unreachable, match=r"No answer from http://127\.0\.0\.1:1"):
        using(bot(client=client), get)


def test_parallel_appends_through_one_agent_all_arrive(
    bot: Callable[..., Agent], served: Database
) -> None:
    async def work(agent: Agent) -> None:
        lines = [f"line {number}" for number in range(40)]
        await asyncio.gather(*(agent.working_memory.append(line) for line in lines))
        content = (await agent.working_memory.get())["content"]
        assert sorted(content.split("\n")) == sorted(lines)

    using(bot(), work)


def test_a_batch_gives_each_request_its_own_result(bot: Callable[..., Agent]) -> None:
    async def work(agent: Agent) -> None:
        answer = await agent.client.batch(
            {
                "requests": [
                    {"op": "working_memory.append", "addition": "a"},
                    {"op": "working_memory.replace", "old": "zzz", "new": ""},
                    {"op": "working_memory.get"},
                ]
            }
        )
        assert [result["status"] for result in answer["results"]] == [200, 422, 200]
        assert answer["results"][2]["result"]["content"] == "a"
        assert answer["results"][1]["error"]["code"] == SubstringNotFound.code

    using(bot(), work)


def test_an_admin_gives_the_namespace_a_profile_schema(
    api: Api, bot: Callable[..., Agent], served: Database
) -> None:
    async def give(admin: Agent) -> None:
        answer = await admin.client.profile_schema.set({"json_schema": EXAMPLE_SCHEMA})
        assert answer["json_schema"] == EXAMPLE_SCHEMA
        with pytest.raises(ProfileSchemaInvalid) as refused:
            await admin.client.profile_schema.set({"json_schema": {**EXAMPLE_SCHEMA, "$id": "x"}})
        assert refused.value.path == "$.$id"
        assert refused.value.reason

    async def read(agent: Agent) -> None:
        assert (await agent.client.profile_schema.get())["json_schema"] == EXAMPLE_SCHEMA
        with pytest.raises(AuthInsufficient):
            await agent.client.profile_schema.clear()

    using(bot(), give)
    using(bot(api_key=mint_token(served.connect(), role="viewer").text), read)


def test_connections_of_a_closed_agent_are_gone(api: Api, bot: Callable[..., Agent]) -> None:
    async def get(agent: Agent) -> Any:
        await agent.working_memory.get()
        return agent

    agent = using(bot(), get)
    with pytest.raises(RuntimeError):
        asyncio.run(get(agent))


def test_o40_a_write_does_not_answer_with_the_text(bot: Callable[..., Agent]) -> None:
    async def work(agent: Agent) -> None:
        for receipt in (
            await agent.working_memory.set("SECRETIVE"),
            await agent.working_memory.append("more"),
        ):
            assert "SECRETIVE" not in msgspec.json.encode(receipt).decode()

    using(bot(), work)

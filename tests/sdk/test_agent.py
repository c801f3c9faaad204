"""The Agent: positional texts, whose ids are sent, and what a render is."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import httpx2
import pytest

from loom import Agent, Rendered
from tests.sdk.scripted import OK, Script


def ask(script: Script, work: Callable[[Agent], Awaitable[Any]], **ids: Any) -> Any:
    async def whole() -> Any:
        named = {"org": "acme", "namespace": "support", "agent": "bot", **ids}
        async with Agent(**named, client=script.client()) as bot:
            return await work(bot)

    return asyncio.run(whole())


OWN = {"org": "acme", "namespace": "support", "agent": "bot"}


@pytest.mark.parametrize(
    ("work", "op", "sent"),
    [
        (
            lambda bot: bot.working_memory.set("text", block_key="state", run_id="r"),
            "working_memory.set",
            {"content": "text", "block_key": "state", "run_id": "r"},
        ),
        (
            lambda bot: bot.working_memory.append("more", separator=""),
            "working_memory.append",
            {"addition": "more", "separator": ""},
        ),
        (
            lambda bot: bot.working_memory.replace("a", "", expected_count=1),
            "working_memory.replace",
            {"old": "a", "new": "", "expected_count": 1},
        ),
        (
            lambda bot: bot.working_memory.delete(if_match_sha256="00"),
            "working_memory.delete",
            {"if_match_sha256": "00"},
        ),
        (lambda bot: bot.working_memory.get(), "working_memory.get", {}),
        (
            lambda bot: bot.working_memory.list(include_deleted=True, limit=3, cursor="c"),
            "working_memory.list",
            {"include_deleted": True, "limit": 3, "cursor": "c"},
        ),
    ],
)
def test_each_method_sends_its_texts_and_the_agents_ids(
    work: Callable[[Agent], Awaitable[Any]], op: str, sent: dict[str, Any]
) -> None:
    script = Script(OK)
    assert ask(script, work) == {"found": False}
    assert script.requests[0].url.path == f"/v1/{op}"
    assert script.body() == {**OWN, **sent}


def test_a_methods_ids_win_over_the_agents() -> None:
    script = Script(OK)
    ask(
        script,
        lambda bot: bot.working_memory.get(user_id="u-2", agent="other"),
        user_id="u-1",
        session_id="s-1",
    )
    assert script.body() == {**OWN, "agent": "other", "user_id": "u-2", "session_id": "s-1"}


def test_o9_what_is_not_said_is_not_sent() -> None:
    script = Script(OK)
    ask(script, lambda bot: bot.working_memory.set("x", description=None, read_only=None))
    assert script.body() == {**OWN, "content": "x"}


def test_false_and_empty_are_sent() -> None:
    script = Script(OK)
    ask(script, lambda bot: bot.working_memory.set("", read_only=False, description=""))
    assert script.body() == {**OWN, "content": "", "read_only": False, "description": ""}


def test_a_render_is_a_string_that_carries_its_answer() -> None:
    answer = {
        "text": '<working-memory block="k">é</working-memory>',
        "sha256": "ab",
        "blocks": [{"block_key": "k", "layer": "run", "content_sha256": "c", "fill_ratio": 0.1}],
        "omitted": ["z"],
        "omitted_count": 1,
    }
    text = ask(
        Script(httpx2.Response(200, json=answer)),
        lambda bot: bot.working_memory.render(run_id="r", block_keys=("k", "z"), limit=1),
    )
    assert isinstance(text, Rendered)
    assert text == answer["text"]
    assert f"{text}!" == answer["text"] + "!"
    assert (text.sha256, text.unchanged, text.omitted) == ("ab", False, ["z"])
    assert text.blocks[0]["fill_ratio"] == 0.1
    assert text.answer == answer


def test_o44_an_unchanged_render_says_so_and_has_no_text() -> None:
    text = ask(
        Script(httpx2.Response(200, json={"unchanged": True, "sha256": "ab"})),
        lambda bot: bot.working_memory.render(if_none_match="ab"),
    )
    assert (text, text.unchanged, text.sha256, text.blocks) == ("", True, "ab", [])


def test_the_client_adds_the_agents_ids_too() -> None:
    script = Script(OK, OK)

    async def work(bot: Agent) -> None:
        await bot.client.namespace.get()
        await bot.client.working_memory.get({"agent": "other"})

    ask(script, work)
    assert script.body(0) == {"org": "acme", "namespace": "support"}
    assert script.body(1) == {**OWN, "agent": "other"}

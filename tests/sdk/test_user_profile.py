"""`bot.user_profile` against a real server and database."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from loom import Agent
from loom.errors import InvalidRequest, LimitExceeded, StaleWrite
from tests.http.api import Api
from tests.sdk.agents import losing, using


def test_a_profile_grows_from_what_a_user_says(bot: Callable[..., Agent]) -> None:
    async def work(agent: Agent) -> None:
        profile = agent.user_profile
        first = await profile.update("I'm a backend dev, I write Python and SQLite.")
        assert first["profile"]["facts"] == [
            {"key": "role", "value": "backend dev"},
            {"key": "tech_stack", "value": "Python, SQLite"},
        ]
        second = await profile.update([{"kind": "feedback", "text": "I like short answers."}])
        assert second["version"] == 2
        text = await profile.render(language="de")
        assert text == (
            "Profil des Nutzers:\n- role: backend dev\n- tech_stack: Python, SQLite\n"
            "- verbosity: concise\n- language: en"
        )
        assert (await profile.render(language="de", if_none_match=text.sha256)).unchanged
        assert (await profile.get(as_of_version=1))["profile"] == first["profile"]
        assert [each["version"] for each in (await profile.history())["items"]] == [2, 1]
        assert (await profile.reset(if_version=2))["version"] == 3
        assert (await profile.delete())["tombstoned"]
        assert not (await profile.get())["found"]

    using(bot(user_id="u-1", session_id="s-1"), work)


def test_refusals_arrive_as_their_classes(bot: Callable[..., Agent]) -> None:
    async def work(agent: Agent) -> None:
        await agent.user_profile.apply({"summary": "x"})
        with pytest.raises(StaleWrite) as stale:
            await agent.user_profile.apply({"summary": "y"}, if_version=0)
        assert stale.value.current_version == 1
        with pytest.raises(InvalidRequest) as wrong:
            await agent.user_profile.apply({"traits": {"style": "playful"}})
        assert wrong.value.field == "style"
        with pytest.raises(LimitExceeded) as full:
            await agent.user_profile.apply({"topics": [str(number) for number in range(51)]})
        assert (full.value.what, full.value.limit, full.value.value) == ("topics", 50, 51)

    using(bot(user_id="u-2"), work)


def test_an_update_whose_answer_was_lost_is_done_once(api: Api, bot: Callable[..., Agent]) -> None:
    async def work(agent: Agent) -> None:
        queued = await agent.user_profile.update("Call me Sam.", source="llm")
        assert queued["queued"]
        assert (await agent.user_profile.get())["pending"] == 1
        applied = await agent.user_profile.apply({"summary": "x"}, if_version=0)
        assert applied["version"] == 1

    using(bot(user_id="u-3", client=losing(api, 1)), work)


def test_o20_parallel_updates_through_one_agent_all_arrive(bot: Callable[..., Agent]) -> None:
    async def work(agent: Agent) -> None:
        deltas = [
            {"fact_ops": [{"op": "add", "key": f"k{number}", "value": "v"}]} for number in range(20)
        ]
        await asyncio.gather(*(agent.user_profile.apply(delta) for delta in deltas))
        read = await agent.user_profile.get()
        assert (read["version"], len(read["profile"]["facts"])) == (20, 20)

    using(bot(user_id="u-4"), work)

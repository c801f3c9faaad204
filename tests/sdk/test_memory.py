"""`bot.memory` and `bot.profile` against a real server and database."""

from __future__ import annotations

import ast
import asyncio
import inspect
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from loom import Agent
from loom.errors import (
    AlreadyExists,
    Blacklisted,
    CharLimitExceeded,
    Locked,
    MemoryNotFound,
    NotText,
    PinnedConflict,
    StaleWrite,
    SubstringNotFound,
)
from tests.calls import mint_token
from tests.databases import Database
from tests.http.api import Api
from tests.sdk.agents import losing, using

EXAMPLE = """
from loom import Agent
async with Agent(org="acme", namespace="desk", agent="triage-bot") as bot:
    await bot.profile.set("persona", "Short answers. Name the ticket. No refunds by chat.")
    await bot.profile.append("preferences", "Wants invoices in EUR.", user_id="u-42")
    system = await bot.profile.render(user_id="u-42", read_scope="own_user")
    print(system)
"""


def test_the_profile_example_runs_as_it_stands(
    api: Api, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("LOOM_BASE_URL", api.url)
    monkeypatch.setenv("LOOM_API_KEY", api.token or "")
    code = compile(EXAMPLE, "example", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    coroutine = eval(code, {})
    assert inspect.iscoroutine(coroutine)
    asyncio.run(coroutine)
    assert capsys.readouterr().out == (
        "<profile>\n"
        '<section label="persona">Short answers. Name the ticket. No refunds by chat.</section>\n'
        '<section label="preferences" user="u-42">Wants invoices in EUR.</section>\n'
        "</profile>\n"
    )


def test_a_fact_from_its_first_word_to_its_last(bot: Callable[..., Agent]) -> None:
    async def work(agent: Agent) -> None:
        memory = agent.memory
        first = await memory.set("plan", {"tier": "free"}, memory_type="decision", tags=["crm"])
        assert (first["created"], first["version"], first["status"]) == (True, 1, "current")
        again = await memory.set("plan", {"tier": "free"})
        assert (again["noop"], again["version"]) == (True, 1)
        await memory.set("plan", {"tier": "team"}, if_match_sha256=first["content_sha256"])
        read = await memory.get("plan")
        assert (read["value"], read["memory_type"], read["tags"]) == (
            {"tier": "team"},
            "decision",
            ["crm"],
        )
        assert (await memory.get("plan", if_version=2))["unchanged"] is True
        assert (await memory.get(memory_id=read["memory_id"]))["version"] == 2
        await memory.label("plan", add=["vip"], remove=["crm"], sensitivity="high")
        assert (await memory.get("plan"))["tags"] == ["vip"]
        assert (await memory.delete("plan"))["tombstoned"] is True
        assert (await memory.get("plan"))["status"] == "deleted"
        assert (await memory.restore("plan"))["restored"] is True
        await memory.revert("plan", 1)
        assert (await memory.get("plan"))["value"] == {"tier": "free"}
        versions = (await memory.history("plan"))["items"]
        assert [version["change"] for version in versions] == [
            "revert",
            "restore",
            "delete",
            "label",
            "set",
            "set",
        ]

    using(bot(), work)


def test_null_is_stored_and_read_as_null(bot: Callable[..., Agent]) -> None:
    async def work(agent: Agent) -> None:
        for plane in (agent.memory, agent.profile):
            receipt = await plane.set(f"{plane.group} null", None)
            assert receipt["value_length"] == len("null")
            read = await plane.get(f"{plane.group} null")
            assert (read["found"], read["value"]) == (True, None)

    using(bot(), work)


def test_pins_locks_and_who_may_undo_them(
    bot: Callable[..., Agent], api: Api, served: Database
) -> None:
    until = datetime.now(UTC) + timedelta(hours=1)
    writer = mint_token(served.connect(), org="acme").text

    async def guard(agent: Agent) -> None:
        await agent.memory.set("plan", "a")
        await agent.memory.pin("plan")
        with pytest.raises(PinnedConflict):
            await agent.memory.set("plan", "b")
        await agent.memory.unpin("plan")
        await agent.memory.lock("plan", "under review", until=until)

    async def meet(agent: Agent) -> None:
        with pytest.raises(Locked) as locked:
            await agent.memory.set("plan", "b")
        assert locked.value.reason == "under review"
        assert locked.value.until == until.strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        with pytest.raises(Locked):
            await agent.memory.delete("plan")

    async def undo(agent: Agent) -> None:
        await agent.memory.unlock("plan")
        assert (await agent.memory.set("plan", "b"))["noop"] is False

    using(bot(), guard)
    using(bot(api_key=writer), meet)
    using(bot(), undo)


def test_as_of_a_time_reads_what_was_recorded_then(bot: Callable[..., Agent]) -> None:
    async def work(agent: Agent) -> None:
        first = await agent.memory.set("k", "old")
        await agent.memory.set("k", "new")
        at = datetime.fromisoformat(first["updated_at"])
        assert (await agent.memory.get("k", as_of=at))["value"] == "old"
        before = await agent.memory.get("k", as_of=at - timedelta(microseconds=1))
        assert before["found"] is False

    using(bot(), work)


def test_refusals_arrive_as_their_classes_with_their_fields(bot: Callable[..., Agent]) -> None:
    async def work(agent: Agent) -> None:
        receipt = await agent.profile.set("l", "x", char_limit=5)
        with pytest.raises(CharLimitExceeded) as long:
            await agent.profile.append("l", "yy")
        assert (long.value.value_length, long.value.char_limit, long.value.overage) == (7, 5, 2)
        with pytest.raises(StaleWrite) as stale:
            await agent.profile.append("l", "y", if_match_sha256="0" * 64)
        assert stale.value.current_sha256 == receipt["content_sha256"]
        with pytest.raises(SubstringNotFound):
            await agent.profile.replace("l", "z", "y")
        with pytest.raises(AlreadyExists):
            await agent.profile.set("l", "y", if_absent=True)
        await agent.profile.set("list", ["x"])
        with pytest.raises(NotText):
            await agent.profile.append("list", "y")
        with pytest.raises(MemoryNotFound):
            await agent.memory.restore("absent")
        await agent.client.blacklist.add({"pattern": "mercury", "reason": "a code name"})
        with pytest.raises(Blacklisted) as blacklisted:
            await agent.memory.set("k", ["about Mercury"])
        assert blacklisted.value.reason == "a code name"

    using(bot(), work)


def test_a_section_is_read_by_its_label_and_a_fact_is_not(bot: Callable[..., Agent]) -> None:
    async def work(agent: Agent) -> None:
        await agent.profile.set("style", "brief")
        await agent.memory.set("fact", "x")
        assert (await agent.profile.get("style", user_id="u"))["value"] == "brief"
        assert (await agent.profile.get("fact"))["found"] is False
        assert (await agent.profile.get("absent"))["found"] is False
        listed = (await agent.profile.list())["items"]
        assert [section["label"] for section in listed] == ["style"]
        await agent.profile.delete("style")
        assert (await agent.profile.get("style"))["found"] is False
        assert await agent.profile.render() == ""

    using(bot(), work)


def test_a_render_can_be_asked_for_only_if_changed(bot: Callable[..., Agent]) -> None:
    async def work(agent: Agent) -> None:
        await agent.profile.set("a", "first")
        await agent.profile.set("b", {"x": 1})
        text = await agent.profile.render(labels=["b", "a"], format="markdown")
        assert [section["label"] for section in text.sections] == ["b", "a"]
        same = await agent.profile.render(
            labels=["b", "a"], format="markdown", if_none_match=text.sha256
        )
        assert (same, same.unchanged) == ("", True)
        short = await agent.profile.render(char_budget=len(text) // 2)
        assert short.omitted
        assert (await agent.profile.activity())["clients"] == []

    using(bot(), work)


def test_o20_parallel_appends_all_arrive(bot: Callable[..., Agent]) -> None:
    async def work(agent: Agent) -> None:
        lines = [f"line {number}" for number in range(32)]
        await asyncio.gather(*(agent.profile.append("log", line) for line in lines))
        text = (await agent.profile.get("log"))["value"]
        assert sorted(text.split("\n")) == sorted(lines)

    using(bot(), work)


@pytest.mark.parametrize("plane", ["memory", "profile"])
def test_o15_parallel_edits_all_arrive(bot: Callable[..., Agent], plane: str) -> None:
    """Each reads, changes and writes by the hash it read; who is late does it again."""

    async def work(agent: Agent) -> None:
        facts = getattr(agent, plane)

        def add(number: int) -> Callable[[Any], Any]:
            return lambda numbers: [*(numbers or []), number]

        await asyncio.gather(*(facts.edit("numbers", add(number)) for number in range(8)))
        read = await facts.get("numbers")
        assert sorted(read["value"]) == list(range(8))
        assert read["version"] == 8

    using(bot(), work)


def test_an_edit_for_a_user_leaves_the_shared_section_alone(bot: Callable[..., Agent]) -> None:
    async def work(agent: Agent) -> None:
        await agent.profile.set("style", "for all")
        await agent.profile.edit("style", lambda text: "own" if text is None else text, user_id="u")
        assert (await agent.profile.get("style", user_id="u"))["value"] == "own"
        assert (await agent.profile.get("style"))["value"] == "for all"

    using(bot(), work)


@pytest.mark.parametrize("lose", [1, 3])
def test_a_write_whose_answer_was_lost_is_done_once(
    api: Api, bot: Callable[..., Agent], lose: int
) -> None:
    async def lossy(agent: Agent) -> None:
        assert (await agent.profile.append("log", "a"))["version"] == 1
        with_ttl = await agent.memory.set("k", "v", ttl_seconds=60)
        assert with_ttl["version"] == 1

    async def look(agent: Agent) -> None:
        assert (await agent.profile.get("log"))["value"] == "a"
        assert len((await agent.memory.history("k"))["items"]) == 1

    using(bot(client=losing(api, lose)), lossy)
    using(bot(), look)


def test_an_edit_whose_answer_was_lost_is_no_conflict_with_itself(
    api: Api, bot: Callable[..., Agent]
) -> None:
    async def seed(agent: Agent) -> None:
        await agent.memory.set("k", 1)

    async def lossy(agent: Agent) -> None:
        # The lost answer is that of the read, then that of the write.
        receipt = await agent.memory.edit("k", lambda value: value + 1)
        assert receipt["version"] == 2

    using(bot(), seed)
    using(bot(client=losing(api, 2)), lossy)


def test_an_agent_of_one_user_and_session_keeps_to_them(bot: Callable[..., Agent]) -> None:
    async def work(agent: Agent) -> None:
        receipt = await agent.memory.set("k", "x")
        assert (receipt["user_id"], receipt["session_id"]) == ("u-1", "s-1")
        assert not (await agent.memory.get("k", user_id="u-2"))["found"]

    using(bot(user_id="u-1", session_id="s-1"), work)


def test_o40_a_write_does_not_answer_with_the_value(bot: Callable[..., Agent]) -> None:
    async def work(agent: Agent) -> None:
        for receipt in (
            await agent.memory.set("k", "SECRETIVE"),
            await agent.profile.set("l", "SECRETIVE"),
            await agent.profile.append("l", "more"),
            await agent.memory.pin("k"),
        ):
            assert "SECRETIVE" not in str(receipt)

    using(bot(), work)

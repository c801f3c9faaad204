"""Every answer of the server is of the type that the SDK declares for it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import msgspec
import pytest

from loom import Agent
from loom.errors import ModelUnavailable
from loom.types import OPERATIONS
from tests.sdk.agents import using
from tests.sql.profile_schemas import EXAMPLE

Answer = dict[str, Any]


class Asker:
    """Asks as an agent, holds each answer to its type, and keeps which operations were asked."""

    def __init__(self, agent: Agent) -> None:
        self._client = agent.client
        self.asked: set[str] = set()

    async def __call__(self, op: str, **body: Any) -> Answer:
        """Neither a field that the type lacks nor one that the answer lacks."""
        self.asked.add(op)
        answer = await self._client.call(op, body)
        typed = msgspec.convert(answer, OPERATIONS[op].answer, strict=True)
        assert msgspec.to_builtins(typed) == _without_defaults(answer, typed), op
        return answer


def _without_defaults(answer: Answer, typed: msgspec.Struct) -> Answer:
    # Types that differ by what was found leave out what is null.
    if not typed.__struct_config__.omit_defaults:
        return answer
    names, defaults = typed.__struct_fields__[::-1], typed.__struct_defaults__[::-1]
    known = {name: _plain(value) for name, value in zip(names, defaults, strict=False)}
    missing = object()
    return {name: value for name, value in answer.items() if value != known.get(name, missing)}


def _plain(default: Any) -> Any:
    return default.factory() if hasattr(default, "factory") else default


async def _working_memory(ask: Asker) -> None:
    await ask("working_memory.set", content="a\nb", description="d")
    await ask("working_memory.append", addition="c")
    await ask("working_memory.replace", old="a", new="z")
    assert (await ask("working_memory.get"))["content"] == "z\nb\nc"
    await ask("working_memory.render")
    sha256 = (await ask("working_memory.render", limit=1))["sha256"]
    assert (await ask("working_memory.render", if_none_match=sha256))["unchanged"]
    await ask("working_memory.delete", block_key="never")
    await ask("working_memory.delete")
    assert (await ask("working_memory.get"))["tombstoned"] is True
    page = await ask("working_memory.list", include_deleted=True)
    assert len(page["items"]) == 1


async def _memory(ask: Asker) -> None:
    await ask("memory.set", memory_key="new", value=1, dry_run=True)
    receipt = await ask("memory.set", memory_key="k", value={"a": [None, 1.5]}, tags=["t"])
    assert (await ask("memory.get", memory_key="absent"))["status"] == "absent"
    read = await ask("memory.get", memory_key="k")
    assert read["value"] == {"a": [None, 1.5]}
    assert (await ask("memory.get", memory_key="k", if_version=read["version"]))["unchanged"]
    await ask("memory.set", memory_key="null", value=None, confidence=0.5, ttl_seconds=9)
    assert (await ask("memory.get", memory_key="null"))["value"] is None
    await ask("memory.label", memory_key="k", tags={"add": ["u"]}, sensitivity="high")
    await ask("memory.pin", memory_key="k")
    await ask("memory.unpin", memory_key="k")
    await ask("memory.lock", memory_key="k", reason="why", ttl_seconds=60)
    assert (await ask("memory.get", memory_key="k"))["lock"]["mode"] == "read_only"
    await ask("memory.unlock", memory_key="k")
    await ask("memory.revert", memory_key="k", version=1)
    await ask("memory.delete", memory_key="never")
    await ask("memory.delete", memory_key="k")
    assert (await ask("memory.get", memory_id=receipt["memory_id"]))["status"] == "deleted"
    assert (await ask("memory.restore", memory_key="k"))["restored"] is True
    assert len((await ask("memory.history", memory_key="k"))["items"]) == 9
    await ask("memory.redact", memory_key="k", reason="why")
    await ask("memory.history", memory_id=receipt["memory_id"], limit=1)
    page = await ask("memory.list", include_deleted=True, limit=1)
    assert page["next_cursor"]
    await _search(ask)


async def _search(ask: Asker) -> None:
    await ask("memory.set", memory_key="drink", value="green tea", user_id="seeker")
    await ask("profile.set", label="likes", value="tea", user_id="seeker")
    await ask("working_memory.set", content="brewing", run_id="r", user_id="seeker")
    found = await ask(
        "memory.search", query="which tea?", user_id="seeker", run_id="r", explain=True
    )
    assert [item["memory_key"] for item in found["items"]] == ["drink"]
    assert found["scratchpad"][0]["content"] == "brewing"
    assert (await ask("memory.search", query="?"))["items"] == []
    both = await ask("search.query", query="what do I like", user_id="seeker", explain=True)
    assert [section["label"] for section in both["profile"]] == ["likes"]
    with pytest.raises(ModelUnavailable):
        await ask("memory.ask", query="which tea?", user_id="seeker")
    await ask("profile.delete", label="likes", user_id="seeker")


async def _profile(ask: Asker) -> None:
    await ask("profile.set", label="style", value="brief")
    await ask("profile.append", label="style", addition="kind", user_id="u")
    await ask("profile.replace", label="style", old="brief", new="terse")
    await ask("profile.list")
    await ask("profile.render", user_id="u", char_budget=40)
    rendered = await ask("profile.render", user_id="u", format="markdown")
    assert len(rendered["sections"]) == 2
    assert await ask("profile.render", if_none_match=rendered["sha256"], format="markdown")
    await ask("profile.activity")
    await ask("profile.delete", label="style")
    await ask("profile.structured", user_id="u")
    explained = await ask("profile.structured", user_id="u", explain=True)
    assert (explained["status"], explained["explain"]["source_count"]) == ("no_schema", 0)
    assert (await ask("profile.structured_build", user_id="u"))["queued"] is False


async def _user_profile(ask: Asker) -> None:
    signals = [{"id": "1", "text": "Call me Sam."}]
    assert (await ask("user_profile.get", user_id="u"))["found"] is False
    assert (await ask("user_profile.update", user_id="u", signals=signals))["version"] == 1
    queued = await ask("user_profile.update", user_id="u", signals=[{"text": "x"}], source="llm")
    assert queued["queued"] is True
    await ask("user_profile.apply", user_id="u", delta={"topics": ["sql"]}, scope={"kind": "k"})
    await ask("user_profile.put", user_id="u", profile={"summary": "x"}, document="{}")
    read = await ask("user_profile.get", user_id="u", include_document=True)
    assert (read["document"], read["pending"]) == ("{}", 1)
    rendered = await ask("user_profile.render", user_id="u")
    assert await ask("user_profile.render", user_id="u", if_none_match=rendered["sha256"])
    await ask("user_profile.reset", user_id="u")
    await ask("user_profile.delete", user_id="u")
    page = await ask("user_profile.history", user_id="u", limit=3)
    assert (len(page["items"]), page["items"][0]["profile"]) == (3, None)


async def _context(ask: Asker) -> None:
    await ask("working_memory.set", content="cursor", block_key="state")
    await ask("profile.set", label="long", value="x" * 500)
    await ask("memory.set", memory_key="drink", value="prefers tea to coffee")
    await ask("memory.set", memory_key="vendor", value="chose tea", memory_type="decision")
    pack = await ask("context.pack", query="which tea?", token_budget=120)
    assert [len(section["items"]) for section in pack["sections"]] == [1, 0, 0, 1, 1]
    same = await ask("context.pack", token_budget=120, if_none_match=pack["stable_hash"])
    assert same["unchanged"] is True


async def _looms(ask: Asker) -> None:
    loom = (await ask("looms.create", name="plans", settings={"quietMinutes": 3}))["entity"]["id"]
    await ask("looms.update", loomId=loom, description="d", settings={"nightWeaving": True})
    assert (await ask("looms.get", loomId=loom))["settings"]["effectiveNightWeaving"] is True
    thread = (await ask("looms.thread_add", loomId=loom, text="t", tags=["a"]))["entity"]["id"]
    await ask("looms.thread_add", loomId=loom, text="own", agent="a")
    await ask("looms.activity", loomId=loom, text="t", agent="a", processId=loom)
    (binding,) = (await ask("looms.bind", loomId=loom, agents=["a"]))["bindings"]
    assert binding["threadCount"] == 2
    await ask("looms.thread_delete", loomId=loom, threadId=thread)
    assert (await ask("looms.thread_list", loomId=loom, includeDeleted=True))["total"] == 2
    assert (await ask("looms.list"))["total"] == 1
    weaving = (await ask("looms.weave", loomId=loom))["entity"]["id"]
    await ask("looms.weaving_get", loomId=loom, weavingId=weaving)
    await ask("looms.weaving_list", loomId=loom)
    assert len((await ask("looms.inspection", loomId=loom))["weavings"]) == 1
    await ask("looms.delete", loomId=loom)


async def _governance(ask: Asker) -> None:
    entry = await ask("blacklist.add", pattern="secret", reason="why")
    await ask("blacklist.add", pattern="s.cret", pattern_type="regex", scope="org")
    await ask("blacklist.list")
    await ask("blacklist.remove", blacklist_id=entry["blacklist_id"])
    assert (await ask("erasure.request", user_id="u"))["removed"]["profile"] == 1
    await ask("profile_schema.set", json_schema=EXAMPLE)
    assert (await ask("profile_schema.get"))["json_schema"] == EXAMPLE
    await ask("profile_schema.clear")
    assert (await ask("profile_schema.get"))["found"] is False
    await ask("org.set_model_calls", enabled=True)
    await ask("audit.list", limit=2)


async def _administration(ask: Asker) -> None:
    await ask("namespace.update", quiet_minutes=3, weaver_model="m")
    assert (await ask("namespace.get"))["found"] is True
    await ask("namespace.list", limit=1)
    minted = await ask("token.mint", role="viewer", ttl_seconds=60)
    await ask("token.list", limit=1)
    await ask("token.revoke", token_id=minted["token_id"])
    requests = [{"op": "working_memory.get"}, {"op": "working_memory.get", "limit": 1}]
    await ask("batch", requests=requests)


def test_every_answer_is_exactly_of_its_declared_type(bot: Callable[..., Agent]) -> None:
    parts: list[Callable[[Asker], Awaitable[None]]] = [
        _working_memory,
        _memory,
        _profile,
        _user_profile,
        _context,
        _looms,
        _governance,
        _administration,
    ]

    async def work(agent: Agent) -> set[str]:
        ask = Asker(agent)
        # What only a worker brings about: tests/worker hold its answer to its type.
        ask.asked.add("looms.weaving_revert")
        assert (await ask("namespace.get"))["found"] is False
        for part in parts:
            await part(ask)
        return ask.asked

    assert using(bot(), work) == set(OPERATIONS)

"""What an API tells of all that is there, when the load has ended."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from typing import Any

from loom.client import Client
from loom.errors import LoomNotFound
from tests.chaos.history import Final, History, Row
from tests.chaos.model import WOVEN

REGISTER = "register-"
"""How the rows begin whose histories are judged by themselves."""


async def everything(api: Client, history: History) -> Final:
    """All rows as they are now, tombstones too, and the threads of all looms."""
    final = Final()
    await _blocks(api, final)
    await _memory(api, final)
    await _sections(api, final, _rows(history, "section-"))
    for user in _rows(history, "facts-"):
        final.rows[user] = await _facts(api, user)
    for user in (*_rows(history, "told-"), *_rows(history, "heard-")):
        final.rows[user] = await _name(api, user)
    for ids in history.bound.values():
        for loom in ids:
            final.items["thread"] += await _threads(api, loom)
    return final


def _rows(history: History, prefix: str) -> list[str]:
    shared = {write.row for write in history.shared}
    names = shared | history.own.keys() | history.latest.keys()
    return sorted(name for name in names if name.startswith(prefix))


async def _blocks(api: Client, final: Final) -> None:
    async for item in _listed(api, "working_memory.list", {"include_deleted": True}):
        key = item["block_key"]
        if not key.startswith(REGISTER):
            block = await api.call("working_memory.get", {"block_key": key})
            final.rows[key] = Row(block.get("content"), block["version"])


async def _memory(api: Client, final: Final) -> None:
    """Facts, whoever's they are: their keys are told apart."""
    body = {"include_deleted": True, "read_scope": "namespace"}
    async for item in _listed(api, "memory.list", body):
        key = item["memory_key"]
        if item["memory_type"] == "profile" or item["user_id"].startswith("erased-"):
            continue  # read by themselves, and by the census
        if not key.startswith(REGISTER):
            final.rows[key] = await _row(api, item["memory_id"])


async def _sections(api: Client, final: Final, labels: Iterable[str]) -> None:
    for label in labels:
        found = await api.call("memory.get", {"memory_key": label})
        if found.get("memory_id"):
            final.rows[label] = await _row(api, found["memory_id"])


async def _row(api: Client, memory_id: str) -> Row:
    body = {"memory_id": memory_id, "read_scope": "namespace"}
    kept = [each async for each in _listed(api, "memory.history", body)]
    versions = tuple(each["value"] for each in reversed(kept))
    return Row(versions[-1], kept[0]["version"], versions)


async def _facts(api: Client, user: str) -> Row:
    """A shared profile: its facts, in their order, are the lines."""
    found = await api.call("user_profile.get", {"user_id": user})
    if not found["found"]:
        return Row(None, 0)
    facts = [fact["value"] for fact in found["profile"]["facts"]]
    return Row("\n".join(facts), found["version"])


async def _name(api: Client, user: str) -> Row:
    """An own profile: the text is its one fact, in each version."""
    versions = []
    async for each in _listed(api, "user_profile.history", {"user_id": user}):
        facts = {fact["key"]: fact["value"] for fact in each["profile"]["facts"]}
        versions.append(facts.get("name"))
    versions.reverse()
    return Row(versions[-1] if versions else None, len(versions), tuple(versions))


async def _threads(api: Client, loom: str) -> list[str]:
    """The threads that clients wrote, without the model's."""
    texts, page = [], 1
    while True:
        body = {"loomId": loom, "readScope": "namespace", "page": page, "pageSize": 200}
        try:
            answer = await api.call("looms.thread_list", body)
        except LoomNotFound:
            return []  # it is lost with what was in it
        texts += [each["text"] for each in answer["items"] if not each["text"].startswith(WOVEN)]
        if page * 200 >= answer["total"]:
            return texts
        page += 1


async def _listed(api: Client, op: str, body: dict[str, Any]) -> AsyncIterator[dict[str, Any]]:
    """The items of all pages of a list."""
    cursor = None
    while True:
        page = await api.call(op, {**body, "limit": 200, "cursor": cursor})
        for item in page["items"]:
            yield item
        cursor = page["next_cursor"]
        if cursor is None:
            return

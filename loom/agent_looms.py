"""``bot.looms``: named long-term memories that agents weave across conversations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypedDict, Unpack

from loom.agent_plane import Plane, ReadScope
from loom.client import Answer

Scope = Literal["interaction", "agent", "input", "run"]


class LoomIds(TypedDict, total=False):
    """Where a loom is, where that is not the Agent's own place."""

    org: str
    namespace: str


class LoomUserIds(LoomIds, total=False):
    """The same, and whose threads and turns are meant."""

    user_id: str


class Looms(Plane):
    """Looms, their threads and turns, and the weaving of these at night."""

    group = "looms"

    async def create(
        self,
        name: str,
        *,
        description: str | None = None,
        settings: Mapping[str, Any] | None = None,
        **ids: Unpack[LoomIds],
    ) -> Answer:
        """Make a loom; answers it under ``entity``."""
        return await self._call(
            "create", ids, name=name, description=description, settings=settings
        )

    async def get(self, loom_id: str, **ids: Unpack[LoomIds]) -> Answer:
        """One loom."""
        return await self._call("get", ids, loomId=loom_id)

    async def list(
        self, *, page: int | None = None, page_size: int | None = None, **ids: Unpack[LoomIds]
    ) -> Answer:
        """A page of the namespace's looms: ``items``, ``page``, ``pageSize`` and ``total``."""
        return await self._call("list", ids, page=page, pageSize=page_size)

    async def update(
        self,
        loom_id: str,
        *,
        name: str | None = None,
        description: str | None = None,
        settings: Mapping[str, Any] | None = None,
        **ids: Unpack[LoomIds],
    ) -> Answer:
        """Change a loom. A setting that is None inherits; one that is left out stays."""
        return await self._call(
            "update", ids, loomId=loom_id, name=name, description=description, settings=settings
        )

    async def delete(self, loom_id: str, **ids: Unpack[LoomIds]) -> Answer:
        """Remove a loom with all that stands in it."""
        return await self._call("delete", ids, loomId=loom_id)

    async def bind(
        self,
        scope: Scope | None = None,
        *,
        loom_id: str | None = None,
        interaction_id: str | None = None,
        process_id: str | None = None,
        scope_value: str | None = None,
        seed_from_loom_id: str | None = None,
        agents: Sequence[str] | None = None,
        read_scope: ReadScope | None = None,
        **ids: Unpack[LoomUserIds],
    ) -> Answer:
        """Bind looms to the agents of a run, this Agent's alone where none are named.

        Answers ``bindings``, each with ``agent``, ``loom``, ``wakeUpText``, ``threadCount`` and
        ``seeded``.
        """
        own = self._client.ids.get("agent")
        return await self._call(
            "bind",
            _user(ids),
            scope=scope,
            loomId=loom_id,
            interactionId=interaction_id,
            processId=process_id,
            scopeValue=scope_value,
            seedFromLoomId=seed_from_loom_id,
            agents=[own] if agents is None and own is not None else agents,
            readScope=read_scope,
        )

    async def add_thread(
        self,
        loom_id: str,
        text: str,
        *,
        agent: str | None = None,
        tags: Sequence[str] | None = None,
        **ids: Unpack[LoomUserIds],
    ) -> Answer:
        """Weave a thread into a loom, shared unless it names the ``agent`` whose own it is."""
        return await self._call(
            "thread_add", _user(ids), loomId=loom_id, text=text, agent=agent, tags=tags
        )

    async def threads(
        self,
        loom_id: str,
        *,
        agent: str | None = None,
        include_deleted: bool | None = None,
        read_scope: ReadScope | None = None,
        page: int | None = None,
        page_size: int | None = None,
        **ids: Unpack[LoomUserIds],
    ) -> Answer:
        """A page of a loom's threads, newest first."""
        return await self._call(
            "thread_list",
            _user(ids),
            loomId=loom_id,
            agent=agent,
            includeDeleted=include_deleted,
            readScope=read_scope,
            page=page,
            pageSize=page_size,
        )

    async def delete_thread(self, loom_id: str, thread_id: str, **ids: Unpack[LoomIds]) -> Answer:
        """Delete a thread; answers the tombstone under ``entity``."""
        return await self._call("thread_delete", ids, loomId=loom_id, threadId=thread_id)

    async def activity(
        self,
        loom_id: str,
        text: str,
        *,
        agent: str | None = None,
        process_id: str | None = None,
        credentials: str | None = None,
        model: str | None = None,
        **ids: Unpack[LoomUserIds],
    ) -> Answer:
        """Record a turn, this Agent's unless another is named, for the next weaving."""
        return await self._call(
            "activity",
            _user(ids),
            loomId=loom_id,
            text=text,
            agent=agent or self._client.ids.get("agent"),
            processId=process_id,
            credentials=credentials,
            model=model,
        )

    async def inspection(
        self, loom_id: str, *, read_scope: ReadScope | None = None, **ids: Unpack[LoomUserIds]
    ) -> Answer:
        """What stands in a loom, when it is next woven, and what its last weavings changed."""
        return await self._call("inspection", _user(ids), loomId=loom_id, readScope=read_scope)

    async def weave(
        self, loom_id: str, *, dry_run: bool | None = None, **ids: Unpack[LoomIds]
    ) -> Answer:
        """Ask for a loom to be woven now; answers the weaving under ``entity``, whose progress
        `weaving` tells."""
        return await self._call("weave", ids, loomId=loom_id, dryRun=dry_run)

    async def weaving(
        self,
        loom_id: str,
        weaving_id: str,
        *,
        read_scope: ReadScope | None = None,
        **ids: Unpack[LoomUserIds],
    ) -> Answer:
        """One weaving with its ``state`` and ``changes``."""
        return await self._call(
            "weaving_get",
            _user(ids),
            loomId=loom_id,
            weavingId=weaving_id,
            readScope=read_scope,
        )

    async def weavings(
        self,
        loom_id: str,
        *,
        page: int | None = None,
        page_size: int | None = None,
        **ids: Unpack[LoomIds],
    ) -> Answer:
        """A page of a loom's weavings, newest first."""
        return await self._call("weaving_list", ids, loomId=loom_id, page=page, pageSize=page_size)

    async def revert(self, loom_id: str, weaving_id: str, **ids: Unpack[LoomIds]) -> Answer:
        """Take a weaving back, as far as nothing came after it."""
        return await self._call("weaving_revert", ids, loomId=loom_id, weavingId=weaving_id)


def _user(ids: LoomUserIds) -> dict[str, Any]:
    """The ids as the wire names them: looms say ``userId``."""
    named: dict[str, Any] = dict(ids)
    if "user_id" in named:
        named["userId"] = named.pop("user_id")
    return named

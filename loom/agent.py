"""What an agent's author meets first.

async with Agent(org="acme", namespace="support", agent="triage-bot") as bot:
    await bot.working_memory.set("cursor: ticket 4812", block_key="state")
    await bot.memory.set("plan", "enterprise", user_id="u-42")
    print(await bot.profile.render(user_id="u-42"), await bot.working_memory.render())
"""

from __future__ import annotations

from collections.abc import Sequence
from types import TracebackType
from typing import Literal, Self, Unpack

from loom.agent_context import Context
from loom.agent_looms import Looms
from loom.agent_memory import Memory
from loom.agent_plane import Plane, RunIds
from loom.agent_profile import Profile
from loom.agent_user_profile import UserProfile
from loom.client import Answer, Client
from loom.rendered import Rendered


class WorkingMemory(Plane):
    """Small named blocks of text: leases, cursors, checkpoints, "where was I"."""

    group = "working_memory"

    async def set(
        self,
        content: str,
        *,
        block_key: str | None = None,
        char_limit: int | None = None,
        if_match_sha256: str | None = None,
        if_absent: bool | None = None,
        description: str | None = None,
        read_only: bool | None = None,
        **ids: Unpack[RunIds],
    ) -> Answer:
        """Replace a block's content, or create the block; answers the receipt."""
        return await self._call(
            "set",
            ids,
            content=content,
            block_key=block_key,
            char_limit=char_limit,
            if_match_sha256=if_match_sha256,
            if_absent=if_absent,
            description=description,
            read_only=read_only,
        )

    async def append(
        self,
        addition: str,
        *,
        separator: str | None = None,
        block_key: str | None = None,
        if_match_sha256: str | None = None,
        **ids: Unpack[RunIds],
    ) -> Answer:
        """Add text at the end of a block, or create the block with it; answers the receipt."""
        return await self._call(
            "append",
            ids,
            addition=addition,
            separator=separator,
            block_key=block_key,
            if_match_sha256=if_match_sha256,
        )

    async def replace(
        self,
        old: str,
        new: str,
        *,
        block_key: str | None = None,
        expected_count: int | None = None,
        if_match_sha256: str | None = None,
        **ids: Unpack[RunIds],
    ) -> Answer:
        """Replace every occurrence of ``old``; answers the receipt and ``replacements``."""
        return await self._call(
            "replace",
            ids,
            old=old,
            new=new,
            block_key=block_key,
            expected_count=expected_count,
            if_match_sha256=if_match_sha256,
        )

    async def delete(
        self,
        *,
        block_key: str | None = None,
        if_match_sha256: str | None = None,
        **ids: Unpack[RunIds],
    ) -> Answer:
        """Delete a block; answers ``found``, ``tombstoned`` and the version."""
        return await self._call("delete", ids, block_key=block_key, if_match_sha256=if_match_sha256)

    async def get(self, *, block_key: str | None = None, **ids: Unpack[RunIds]) -> Answer:
        """One block with its text; ``{"found": False}`` when there is none."""
        return await self._call("get", ids, block_key=block_key)

    async def list(
        self,
        *,
        limit: int | None = None,
        cursor: str | None = None,
        include_deleted: bool | None = None,
        **ids: Unpack[RunIds],
    ) -> Answer:
        """A page of blocks without their text: ``items`` and ``next_cursor``."""
        return await self._call(
            "list", ids, limit=limit, cursor=cursor, include_deleted=include_deleted
        )

    async def render(
        self,
        *,
        block_keys: Sequence[str] | None = None,
        limit: int | None = None,
        format: Literal["xml", "markdown"] | None = None,
        layered: bool | None = None,
        if_none_match: str | None = None,
        **ids: Unpack[RunIds],
    ) -> Rendered:
        """The blocks in scope as one text for a prompt."""
        answer = await self._call(
            "render",
            ids,
            block_keys=block_keys,
            limit=limit,
            format=format,
            layered=layered,
            if_none_match=if_none_match,
        )
        return Rendered.of(answer)


class Agent:
    """One agent's way to its memory.

    ``org`` and ``namespace`` are the token's when left out, ``user_id`` and ``session_id`` are
    for an agent that serves one of each; a method's own ids win. ``api_key`` and ``base_url``
    fall back to ``LOOM_API_KEY`` and ``LOOM_BASE_URL``. ``client`` has every operation, with the
    same ids added. Use it as an async context manager, or call ``close``.
    """

    def __init__(
        self,
        org: str | None = None,
        namespace: str | None = None,
        agent: str | None = None,
        *,
        user_id: str | None = None,
        session_id: str | None = None,
        api_key: str | None = None,
        base_url: str | None = None,
        client: Client | None = None,
    ) -> None:
        ids = {
            "org": org,
            "namespace": namespace,
            "agent": agent,
            "user_id": user_id,
            "session_id": session_id,
        }
        self.client = client or Client(base_url, api_key)
        self.client.ids.update({name: value for name, value in ids.items() if value is not None})
        self.working_memory = WorkingMemory(self.client)
        self.memory = Memory(self.client)
        self.profile = Profile(self.client)
        self.user_profile = UserProfile(self.client)
        self.context = Context(self.client)
        self.looms = Looms(self.client)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connections."""
        await self.client.close()

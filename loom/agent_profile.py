"""``bot.profile``: sections of text that an agent is told each time, without asking."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any, Literal, Unpack

from loom.agent_edit import edit
from loom.agent_plane import Ids, Plane, ReadScope, moment
from loom.client import Answer
from loom.rendered import Rendered


class Profile(Plane):
    """Sections, each a memory row of type profile whose key is the section's label."""

    group = "profile"

    async def set(
        self,
        label: str,
        value: Any,
        *,
        char_limit: int | None = None,
        if_match_sha256: str | None = None,
        if_absent: bool | None = None,
        **ids: Unpack[Ids],
    ) -> Answer:
        """Write a section, or create it; answers the receipt. ``value`` is text or any JSON."""
        return await self._call(
            "set",
            ids,
            {"value": value},
            label=label,
            char_limit=char_limit,
            if_match_sha256=if_match_sha256,
            if_absent=if_absent,
        )

    async def append(
        self,
        label: str,
        addition: str,
        *,
        separator: str | None = None,
        if_match_sha256: str | None = None,
        **ids: Unpack[Ids],
    ) -> Answer:
        """Add text at the end of a section, or create it; answers the receipt.

        No addition of many writers is lost. A caller who names ``if_match_sha256`` wants it only
        after that very text, and gets ``StaleWrite`` where another write came first.
        """
        return await self._call(
            "append",
            ids,
            label=label,
            addition=addition,
            separator=separator,
            if_match_sha256=if_match_sha256,
        )

    async def replace(
        self,
        label: str,
        old: str,
        new: str,
        *,
        expected_count: int | None = None,
        if_match_sha256: str | None = None,
        **ids: Unpack[Ids],
    ) -> Answer:
        """Replace every occurrence of ``old``; answers the receipt and ``replacements``."""
        return await self._call(
            "replace",
            ids,
            label=label,
            old=old,
            new=new,
            expected_count=expected_count,
            if_match_sha256=if_match_sha256,
        )

    async def edit(self, label: str, change: Callable[[Any], Any], **ids: Unpack[Ids]) -> Answer:
        """Write ``change(value)``, made again from the newer value when another write comes first.

        ``change`` is given None where there is no section yet, and may be called several times.
        When the others never let up, the last ``StaleWrite`` or ``AlreadyExists`` is raised.
        """

        async def read() -> Answer:
            return await self.get(label, **ids)

        async def write(value: Any, **condition: Any) -> Answer:
            return await self.set(label, value, **condition, **ids)

        return await edit(self._client, read, write, change)

    async def get(
        self,
        label: str,
        *,
        as_of: str | datetime | None = None,
        if_version: int | None = None,
        read_scope: ReadScope | None = None,
        **ids: Unpack[Ids],
    ) -> Answer:
        """One section with its value, of exactly this identity or else the nearest in reach.

        ``{"found": False}`` when there is none, and when the row of this key is no section.
        """
        answer = await self._send(
            "memory.get",
            ids,
            memory_key=label,
            as_of=moment(as_of),
            if_version=if_version,
            read_scope=read_scope,
        )
        # Without its value a row does not tell its type; the caller knows it by its version.
        if answer.get("unchanged") or answer.get("memory_type") in ("profile", None):
            return answer
        return {"found": False, "status": "absent"}

    async def list(
        self,
        *,
        label: str | None = None,
        read_scope: ReadScope | None = None,
        limit: int | None = None,
        cursor: str | None = None,
        **ids: Unpack[Ids],
    ) -> Answer:
        """A page of sections without their values: ``items`` and ``next_cursor``."""
        return await self._call(
            "list", ids, label=label, read_scope=read_scope, limit=limit, cursor=cursor
        )

    async def delete(
        self, label: str, *, if_match_sha256: str | None = None, **ids: Unpack[Ids]
    ) -> Answer:
        """Delete a section; ``memory.restore`` brings it back for 14 days."""
        return await self._call("delete", ids, label=label, if_match_sha256=if_match_sha256)

    async def render(
        self,
        *,
        labels: Sequence[str] | None = None,
        format: Literal["xml", "markdown"] | None = None,
        scope: Literal["namespace", "this_agent"] | None = None,
        read_scope: ReadScope | None = None,
        char_budget: int | None = None,
        if_none_match: str | None = None,
        **ids: Unpack[Ids],
    ) -> Rendered:
        """The sections in reach, of every agent unless ``scope`` says otherwise, as one text."""
        answer = await self._call(
            "render",
            ids,
            labels=labels,
            format=format,
            scope=scope,
            read_scope=read_scope,
            char_budget=char_budget,
            if_none_match=if_none_match,
        )
        return Rendered.of(answer)

    async def activity(
        self,
        *,
        lookback_days: int | None = None,
        read_scope: ReadScope | None = None,
        **ids: Unpack[Ids],
    ) -> Answer:
        """Which clients read which sections, and when: ``clients``."""
        return await self._call("activity", ids, lookback_days=lookback_days, read_scope=read_scope)

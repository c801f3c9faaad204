"""``bot.user_profile``: a profile that grows from what a user says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypedDict, Unpack

from loom.agent_plane import Plane
from loom.client import Answer
from loom.rendered import Rendered

Body = Mapping[str, Any]


class UserIds(TypedDict, total=False):
    """Whose profile is meant, where that is not the Agent's own user."""

    org: str
    namespace: str
    user_id: str
    session_id: str


class Scope(TypedDict, total=False):
    """Keeps several profiles of one user apart."""

    tenant: str
    user: str
    thread: str
    kind: str


class UserProfile(Plane):
    """One user's facts, traits and preferences, with every version of them."""

    group = "user_profile"

    async def update(
        self,
        signals: str | Sequence[Body | str],
        *,
        source: Literal["rules", "llm", "composite"] | None = None,
        scope: Scope | None = None,
        if_version: int | None = None,
        dry_run: bool | None = None,
        **ids: Unpack[UserIds],
    ) -> Answer:
        """Learn from what the user said; answers the profile. A text is a message of the user's.

        With ``llm`` and ``composite`` the worker asks a model, and the answer has ``queued``.
        """
        told = [signals] if isinstance(signals, str) else signals
        return await self._call(
            "update",
            ids,
            signals=[{"text": each} if isinstance(each, str) else each for each in told],
            source=source,
            scope=scope,
            if_version=if_version,
            dry_run=dry_run,
        )

    async def apply(
        self,
        delta: Body,
        *,
        scope: Scope | None = None,
        signal_ids: Sequence[str] | None = None,
        if_version: int | None = None,
        dry_run: bool | None = None,
        **ids: Unpack[UserIds],
    ) -> Answer:
        """Merge a delta; answers the profile. Of many writers at once none is lost."""
        return await self._call(
            "apply",
            ids,
            delta=delta,
            scope=scope,
            signal_ids=signal_ids,
            if_version=if_version,
            dry_run=dry_run,
        )

    async def put(
        self,
        profile: Body,
        *,
        source: str | None = None,
        version: int | None = None,
        document: str | None = None,
        scope: Scope | None = None,
        if_version: int | None = None,
        if_absent: bool | None = None,
        **ids: Unpack[UserIds],
    ) -> Answer:
        """Write a whole profile over the one that stands; ``document`` is kept beside it."""
        return await self._call(
            "put",
            ids,
            profile=profile,
            source=source,
            version=version,
            document=document,
            scope=scope,
            if_version=if_version,
            if_absent=if_absent,
        )

    async def get(
        self,
        *,
        as_of_version: int | None = None,
        scope: Scope | None = None,
        include_document: bool | None = None,
        signal_ids: Sequence[str] | None = None,
        **ids: Unpack[UserIds],
    ) -> Answer:
        """The profile, now or as a version was; the empty one and not ``found`` without one."""
        return await self._call(
            "get",
            ids,
            as_of_version=as_of_version,
            scope=scope,
            include_document=include_document,
            signal_ids=signal_ids,
        )

    async def history(
        self,
        *,
        as_of_version: int | None = None,
        scope: Scope | None = None,
        limit: int | None = None,
        cursor: str | None = None,
        **ids: Unpack[UserIds],
    ) -> Answer:
        """A page of versions, newest first: ``found``, ``items`` and ``next_cursor``."""
        return await self._call(
            "history", ids, as_of_version=as_of_version, scope=scope, limit=limit, cursor=cursor
        )

    async def render(
        self,
        *,
        format: Literal["text", "xml"] | None = None,
        language: str | None = None,
        scope: Scope | None = None,
        if_none_match: str | None = None,
        **ids: Unpack[UserIds],
    ) -> Rendered:
        """The profile as one text for a prompt; empty when nothing is known."""
        answer = await self._call(
            "render",
            ids,
            format=format,
            language=language,
            scope=scope,
            if_none_match=if_none_match,
        )
        return Rendered.of(answer)

    async def reset(
        self, *, scope: Scope | None = None, if_version: int | None = None, **ids: Unpack[UserIds]
    ) -> Answer:
        """Begin anew; the history stays."""
        return await self._call("reset", ids, scope=scope, if_version=if_version)

    async def delete(
        self, *, scope: Scope | None = None, if_version: int | None = None, **ids: Unpack[UserIds]
    ) -> Answer:
        """End the profile with a tombstone; the history stays until the user is erased."""
        return await self._call("delete", ids, scope=scope, if_version=if_version)

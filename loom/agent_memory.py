"""``bot.memory``: facts with versions, one row a key, for what a later session should find."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, Literal, Unpack

from loom.agent_edit import edit
from loom.agent_plane import Ids, Plane, ReadScope, RunIds, moment
from loom.client import Answer

MemoryType = Literal["semantic", "episodic", "procedural", "preference", "decision", "profile"]
Sensitivity = Literal["low", "normal", "high"]
Names = Sequence[str]


class Memory(Plane):
    """Facts. Writes answer a receipt, without the value; reads answer rows with their metadata."""

    group = "memory"

    async def set(
        self,
        key: str,
        value: Any,
        *,
        memory_type: MemoryType | None = None,
        tags: Names | None = None,
        confidence: float | None = None,
        source_class: Literal["stated", "observed", "imported"] | None = None,
        source_trace: str | None = None,
        valid_at: str | datetime | None = None,
        valid_to: str | datetime | None = None,
        clear_valid: bool | None = None,
        ttl_seconds: int | None = None,
        expires_at: str | datetime | None = None,
        clear_expiry: bool | None = None,
        pinned: bool | None = None,
        sensitivity: Sensitivity | None = None,
        char_limit: int | None = None,
        if_match_sha256: str | None = None,
        if_absent: bool | None = None,
        dry_run: bool | None = None,
        **ids: Unpack[Ids],
    ) -> Answer:
        """Write the value of a key: anything JSON can say, None as null."""
        return await self._call(
            "set",
            ids,
            {"value": value},
            memory_key=key,
            memory_type=memory_type,
            tags=tags,
            confidence=confidence,
            source_class=source_class,
            source_trace=source_trace,
            valid_at=moment(valid_at),
            valid_to=moment(valid_to),
            clear_valid=clear_valid,
            ttl_seconds=ttl_seconds,
            expires_at=moment(expires_at),
            clear_expiry=clear_expiry,
            pinned=pinned,
            sensitivity=sensitivity,
            char_limit=char_limit,
            if_match_sha256=if_match_sha256,
            if_absent=if_absent,
            dry_run=dry_run,
        )

    async def edit(self, key: str, change: Callable[[Any], Any], **ids: Unpack[Ids]) -> Answer:
        """Write ``change(value)``, made again from the newer value when another write comes first.

        ``change`` is given None where there is no value yet, and may be called several times. When
        the others never let up, the last ``StaleWrite`` or ``AlreadyExists`` is raised.
        """

        async def read() -> Answer:
            return await self.get(key, **ids)

        async def write(value: Any, **condition: Any) -> Answer:
            return await self.set(key, value, **condition, **ids)

        return await edit(self._client, read, write, change)

    async def get(
        self,
        key: str | None = None,
        *,
        memory_id: str | None = None,
        as_of: str | datetime | None = None,
        if_version: int | None = None,
        read_scope: ReadScope | None = None,
        **ids: Unpack[Ids],
    ) -> Answer:
        """One row by its key or its id; by key, else the nearest in reach.

        ``{"found": False, "status": …}`` when there is none; ``unchanged`` and no value when
        ``if_version`` is still current.
        """
        return await self._call(
            "get",
            ids,
            memory_key=key,
            memory_id=memory_id,
            as_of=moment(as_of),
            if_version=if_version,
            read_scope=read_scope,
        )

    async def list(
        self,
        *,
        memory_type: MemoryType | None = None,
        tags: Names | None = None,
        key_prefix: str | None = None,
        source_class: Literal["stated", "observed", "imported", "derived"] | None = None,
        include_deleted: bool | None = None,
        read_scope: ReadScope | None = None,
        limit: int | None = None,
        cursor: str | None = None,
        **ids: Unpack[Ids],
    ) -> Answer:
        """A page of rows in reach, newest first: ``items`` and ``next_cursor``."""
        return await self._call(
            "list",
            ids,
            memory_type=memory_type,
            tags=tags,
            key_prefix=key_prefix,
            source_class=source_class,
            include_deleted=include_deleted,
            read_scope=read_scope,
            limit=limit,
            cursor=cursor,
        )

    async def search(
        self,
        query: str,
        *,
        memory_type: Literal["semantic", "episodic", "procedural", "preference", "decision"]
        | None = None,
        tags: Names | None = None,
        source_class: Literal["stated", "observed", "imported", "derived"] | None = None,
        read_scope: ReadScope | None = None,
        limit: int | None = None,
        explain: bool | None = None,
        query_embedding: Mapping[str, Any] | None = None,
        **ids: Unpack[RunIds],
    ) -> Answer:
        """Facts in reach that a question finds, best first: ``items`` and ``legs``.

        With a session or run named also ``scratchpad``, its blocks. The server makes the query's
        vector, where it has a model; ``query_embedding`` is one of your own: model and vector.
        """
        return await self._call(
            "search",
            ids,
            query=query,
            memory_type=memory_type,
            tags=tags,
            source_class=source_class,
            read_scope=read_scope,
            limit=limit,
            explain=explain,
            query_embedding=query_embedding,
        )

    async def ask(
        self,
        query: str,
        *,
        read_scope: ReadScope | None = None,
        limit: int | None = None,
        **ids: Unpack[RunIds],
    ) -> Answer:
        """An answer in words from the facts in reach, and from the blocks of a named session or
        run: ``answer``, None where they do not hold it, and ``memory_ids``.

        The server's model makes it; ``ModelUnavailable`` without one. It is not asked again by
        itself, since each try may be paid for.
        """
        return await self._call("ask", ids, query=query, read_scope=read_scope, limit=limit)

    async def history(
        self,
        key: str | None = None,
        *,
        memory_id: str | None = None,
        read_scope: ReadScope | None = None,
        limit: int | None = None,
        cursor: str | None = None,
        **ids: Unpack[Ids],
    ) -> Answer:
        """A page of a row's versions, newest first: ``found``, ``items`` and ``next_cursor``."""
        return await self._call(
            "history",
            ids,
            memory_key=key,
            memory_id=memory_id,
            read_scope=read_scope,
            limit=limit,
            cursor=cursor,
        )

    async def delete(
        self, key: str, *, if_match_sha256: str | None = None, **ids: Unpack[Ids]
    ) -> Answer:
        """Delete a row, which can be restored for 14 days; answers ``found``, ``tombstoned``."""
        return await self._call("delete", ids, memory_key=key, if_match_sha256=if_match_sha256)

    async def restore(
        self, key: str, *, if_match_sha256: str | None = None, **ids: Unpack[Ids]
    ) -> Answer:
        """Bring a deleted row back; ``restored`` is False for one that was not deleted."""
        return await self._call("restore", ids, memory_key=key, if_match_sha256=if_match_sha256)

    async def revert(
        self, key: str, version: int, *, if_match_sha256: str | None = None, **ids: Unpack[Ids]
    ) -> Answer:
        """Write an older version's content as a new version."""
        return await self._call(
            "revert", ids, memory_key=key, version=version, if_match_sha256=if_match_sha256
        )

    async def lock(
        self,
        key: str,
        reason: str,
        *,
        mode: Literal["read_only", "no_delete"] | None = None,
        until: str | datetime | None = None,
        ttl_seconds: int | None = None,
        **ids: Unpack[Ids],
    ) -> Answer:
        """Guard a row against change, or only against deletion; ``reason`` is told to others."""
        return await self._call(
            "lock",
            ids,
            memory_key=key,
            reason=reason,
            mode=mode,
            until=moment(until),
            ttl_seconds=ttl_seconds,
        )

    async def unlock(self, key: str, **ids: Unpack[Ids]) -> Answer:
        """Take a lock off; for admins."""
        return await self._call("unlock", ids, memory_key=key)

    async def pin(self, key: str, **ids: Unpack[Ids]) -> Answer:
        """Hold a row's value: another one is refused with ``PinnedConflict``."""
        return await self._call("pin", ids, memory_key=key)

    async def unpin(self, key: str, **ids: Unpack[Ids]) -> Answer:
        """Let a pinned row's value be changed again."""
        return await self._call("unpin", ids, memory_key=key)

    async def label(
        self,
        key: str,
        *,
        add: Names | None = None,
        remove: Names | None = None,
        replace: Names | None = None,
        sensitivity: Sensitivity | None = None,
        **ids: Unpack[Ids],
    ) -> Answer:
        """Change a row's tags (replaced first, then added to, then taken from) and sensitivity."""
        changes = {"add": add, "remove": remove, "replace": replace}
        tags = {what: names for what, names in changes.items() if names is not None}
        return await self._call(
            "label", ids, memory_key=key, tags=tags or None, sensitivity=sensitivity
        )

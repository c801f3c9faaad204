"""From signals to the next version of a profile."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any, Final

from loom.profile.merge import merge, same_content
from loom.profile.model import ProfileDelta, Signal, UserProfile
from loom.profile.rules import RuleProfileSource
from loom.profile.scope import MemoryScope
from loom.profile.source import ProfileProtocol
from loom.profile.store.asynchronous import as_async_profile, refuse_unknown_scopes
from loom.profile.store.keyed import ProfileStore

TRIES: Final = 32
"""How often a delta is merged anew because another writer came first."""


class ProfileManager:
    """Learns from signals by a source (the rules, unless another is given) and keeps profiles in a
    store, of one scope where one is given.

    With a store that merges for itself, as all of Loom's do, an update is one step there. With any
    other it reads, merges, and writes only over what was read, as often as it takes. A store whose
    methods block runs on threads. ``clock`` gives the time of a change where the store has none.
    """

    def __init__(
        self,
        store: ProfileStore | Any,
        source: ProfileProtocol | None = None,
        *,
        scope: MemoryScope | None = None,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        if scope is not None and not scope.is_empty:
            refuse_unknown_scopes(store)
        self.scope = scope
        self._inner = store
        self._store = as_async_profile(store)
        self._source = source or RuleProfileSource()
        self._clock = clock

    async def update(self, user_id: str, signals: Sequence[Signal]) -> UserProfile:
        """Merge what the signals tell of the user; the profile as it stands then.

        A signal with an id is merged once. ``ValueError`` for a signal of another user.
        """
        if any(signal.user_id not in ("", user_id) for signal in signals):
            raise ValueError("a signal is of another user than the profile")
        if signals and type(self._source) is RuleProfileSource and self._can("update"):
            return await self._of_store("update", user_id, signals)
        fresh = await self._fresh(user_id, signals)
        if not fresh:  # all were merged before; no model is asked about them again
            return await self.get(user_id) or UserProfile(user_id)
        delta = await self._source.extract(user_id, fresh)
        ids = [signal.id for signal in fresh if signal.id]
        if len(ids) < len(fresh) and not self._can("unmerged"):
            # A store drops a delta of which it has had all ids, and here something else is in it.
            ids = []
        return await self._apply(user_id, delta, ids)

    async def apply(self, user_id: str, delta: ProfileDelta) -> UserProfile:
        """Merge a delta; the profile as it stands then."""
        return await self._apply(user_id, delta, [])

    async def get(self, user_id: str) -> UserProfile | None:
        """The user's profile, None when there is none."""
        found: UserProfile | None = await self._store.get(user_id, **self._scoped)
        return found

    async def reset(self, user_id: str) -> UserProfile:
        """Begin anew: the next version is empty. An empty profile stays as it is."""
        if self._can("reset"):
            return await self._of_store("reset", user_id, now=self._now())
        found = await self.get(user_id)
        if found and same_content(found, UserProfile(user_id)):
            return found
        version = found.version + 1 if found else 1
        fresh = UserProfile(user_id, version=version, updated_at=self._now(), source="reset")
        await self._store.put(fresh, **self._scoped)
        return fresh

    async def delete(self, user_id: str) -> None:
        """End the user's profile, if there is one."""
        await self._store.delete(user_id, **self._scoped)

    @property
    def _scoped(self) -> dict[str, MemoryScope]:
        return {} if self.scope is None or self.scope.is_empty else {"scope": self.scope}

    def _can(self, method: str) -> bool:
        """Whether the store does this for itself; others may mean something else by the name."""
        merges = getattr(self._inner, "merges_profiles", False) is True
        return merges and hasattr(self._inner, method)

    def _now(self) -> str:
        return self._clock().astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")

    async def _fresh(self, user_id: str, signals: Sequence[Signal]) -> list[Signal]:
        """The signals that have not been merged yet, each once."""
        told: dict[str, Signal] = {}
        for place, signal in enumerate(signals):
            told.setdefault(f"id {signal.id}" if signal.id else f"place {place}", signal)
        fresh = list(told.values())
        ids = [signal.id for signal in fresh if signal.id]
        if ids and self._can("unmerged"):
            unmerged = await self._store.unmerged(user_id, ids, **self._scoped)
            fresh = [signal for signal in fresh if not signal.id or signal.id in unmerged]
        return fresh

    async def _apply(self, user_id: str, delta: ProfileDelta, ids: list[str]) -> UserProfile:
        if self._can("apply"):
            return await self._of_store("apply", user_id, delta, signal_ids=ids, now=self._now())
        for _ in range(TRIES):
            found = await self.get(user_id)
            profile = found or UserProfile(user_id)
            merged = merge(profile, delta, now=self._now())
            if merged is profile:
                return profile
            if not hasattr(self._inner, "compare_and_put"):
                await self._store.put(merged, **self._scoped)
                return merged
            expected = found.version if found else None
            if await self._store.compare_and_put(merged, expected_version=expected, **self._scoped):
                return merged
        raise RuntimeError(f"other writers came first {TRIES} times")

    async def _of_store(self, method: str, *arguments: Any, **named: Any) -> UserProfile:
        profile: UserProfile = await getattr(self._store, method)(
            *arguments, **named, **self._scoped
        )
        return profile

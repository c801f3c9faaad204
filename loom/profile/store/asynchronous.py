"""A store whose methods block, for use in an event loop."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable
from typing import Any

from loom.profile.model import UserProfile
from loom.profile.scope import MemoryScope


class AsyncProfileStore:
    """Each method of a store on a thread. A scope that the store does not know is a ``ValueError``:
    without it another profile would be read, or written over."""

    def __init__(self, store: Any) -> None:
        self.store = store

    @property
    def supports_profile_scopes(self) -> bool:
        """Whether the store takes scopes."""
        return bool(getattr(self.store, "supports_profile_scopes", False))

    @property
    def merges_profiles(self) -> bool:
        """Whether the store merges for itself."""
        return getattr(self.store, "merges_profiles", False) is True

    def __getattr__(self, name: str) -> Callable[..., Any]:
        """What only some stores can do is there when the store has it."""
        method = getattr(self.store, name)

        async def call(*arguments: Any, scope: MemoryScope | None = None, **named: Any) -> Any:
            return await self._on_a_thread(method, scope, *arguments, **named)

        return call

    async def get(self, user_id: str, *, scope: MemoryScope | None = None) -> UserProfile | None:
        """As the store's."""
        found: UserProfile | None = await self._on_a_thread(self.store.get, scope, user_id)
        return found

    async def put(self, profile: UserProfile, *, scope: MemoryScope | None = None) -> None:
        """As the store's."""
        await self._on_a_thread(self.store.put, scope, profile)

    async def delete(self, user_id: str, *, scope: MemoryScope | None = None) -> None:
        """As the store's."""
        await self._on_a_thread(self.store.delete, scope, user_id)

    async def _on_a_thread(
        self, method: Callable[..., Any], scope: MemoryScope | None, *arguments: Any, **named: Any
    ) -> Any:
        if scope is not None and not scope.is_empty:
            refuse_unknown_scopes(self.store)
            named["scope"] = scope
        return await asyncio.to_thread(method, *arguments, **named)


def refuse_unknown_scopes(store: Any) -> None:
    """``ValueError`` for a store that does not say that it keeps scopes apart."""
    if getattr(store, "supports_profile_scopes", False) is not True:
        raise ValueError(
            "a MemoryScope needs a store with supports_profile_scopes = True: without one the "
            "profiles of several scopes would be one"
        )


def as_async_profile(store: Any) -> Any:
    """The store itself where its methods are asynchronous, else a wrapper on threads."""
    return store if inspect.iscoroutinefunction(store.get) else AsyncProfileStore(store)

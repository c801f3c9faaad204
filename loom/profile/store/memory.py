"""Profiles in memory, for tests and for processes that need them no longer than they live."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from typing import Any

from loom.profile.model import UserProfile
from loom.profile.store.keyed import KeyedProfileStore, copy_of


class InMemoryProfileStore(KeyedProfileStore):
    """One process's profiles."""

    def __init__(self) -> None:
        super().__init__()
        self._profiles: dict[str, UserProfile] = {}
        self._signals: dict[str, set[str]] = {}

    def _transaction(self) -> AbstractContextManager[Any]:
        return self._lock

    def _read(self, key: str) -> UserProfile | None:
        found = self._profiles.get(key)
        return None if found is None else copy_of(found)

    def _write(self, key: str, profile: UserProfile) -> None:
        self._profiles[key] = copy_of(profile)

    def _remove(self, key: str) -> None:
        self._profiles.pop(key, None)

    def _known_signals(self, key: str, ids: Sequence[str]) -> set[str]:
        return self._signals.get(key, set()).intersection(ids)

    def _note_signals(self, key: str, ids: Iterable[str]) -> None:
        self._signals.setdefault(key, set()).update(ids)

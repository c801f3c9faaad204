"""What a store does, and how one does it that keeps its records under one text each."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Any, ClassVar, Protocol

from loom.profile.merge import merge, same_content
from loom.profile.model import ProfileDelta, UserProfile
from loom.profile.scope import MemoryScope


class ProfileStore(Protocol):
    """What a manager needs of a store, which may be asynchronous as well. One that takes scopes
    says so by ``supports_profile_scopes = True`` and takes a keyword ``scope`` in each method; one
    that merges for itself, by ``apply`` and ``reset``, says so by ``merges_profiles = True``."""

    def get(self, user_id: str) -> UserProfile | None:
        """The user's profile, None when there is none."""
        ...

    def put(self, profile: UserProfile) -> None:
        """Write a profile over the one that stands."""
        ...

    def delete(self, user_id: str) -> None:
        """Remove the user's profile, if there is one."""
        ...

    def compare_and_put(self, profile: UserProfile, *, expected_version: int | None) -> bool:
        """Write only over this version, None for no profile; whether it was written."""
        ...


class KeyedProfileStore(ABC):
    """A store that finds a record by ``MemoryScope.storage_key``.

    A key of a scope can also be the plain id of somebody else, written before there were scopes,
    and the other way round. A record of another user reads as absent, and writing over it is a
    ``ValueError``.
    """

    supports_profile_scopes: ClassVar[bool] = True
    merges_profiles: ClassVar[bool] = True

    def __init__(self) -> None:
        self._lock = threading.RLock()

    @abstractmethod
    def _transaction(self) -> AbstractContextManager[Any]:
        """Alone with the records, of all threads and processes, and all or nothing."""

    @abstractmethod
    def _read(self, key: str) -> UserProfile | None: ...

    @abstractmethod
    def _write(self, key: str, profile: UserProfile) -> None: ...

    @abstractmethod
    def _remove(self, key: str) -> None: ...

    @abstractmethod
    def _known_signals(self, key: str, ids: Sequence[str]) -> set[str]: ...

    @abstractmethod
    def _note_signals(self, key: str, ids: Iterable[str]) -> None: ...

    def get(self, user_id: str, *, scope: MemoryScope | None = None) -> UserProfile | None:
        """The user's profile of the scope, None when there is none."""
        scope = scope or MemoryScope()
        with self._lock:
            found = self._read(scope.storage_key(user_id))
        return found if found is not None and found.user_id == user_id else None

    def put(self, profile: UserProfile, *, scope: MemoryScope | None = None) -> None:
        """Write a profile over the one that stands."""
        with self._transaction():
            key, _ = self._owned(profile.user_id, scope)
            self._write(key, profile)

    def delete(self, user_id: str, *, scope: MemoryScope | None = None) -> None:
        """Remove the user's profile of the scope, if there is one."""
        with self._transaction():
            key, _ = self._owned(user_id, scope)
            self._remove(key)

    def compare_and_put(
        self,
        profile: UserProfile,
        *,
        expected_version: int | None,
        scope: MemoryScope | None = None,
    ) -> bool:
        """Write only over this version, None for no profile; whether it was written."""
        with self._transaction():
            key, found = self._owned(profile.user_id, scope)
            if (found.version if found else None) != expected_version:
                return False
            self._write(key, profile)
            return True

    def apply(
        self,
        user_id: str,
        delta: ProfileDelta,
        *,
        signal_ids: Sequence[str] = (),
        now: str = "",
        scope: MemoryScope | None = None,
    ) -> UserProfile:
        """Merge a delta, alone with the record: of many writers none is lost.

        When it was made from signals that have all been merged, nothing changes.
        """
        with self._transaction():
            key, found = self._owned(user_id, scope)
            profile = found or UserProfile(user_id)
            known = self._known_signals(key, signal_ids)
            if signal_ids and known.issuperset(signal_ids):
                return profile
            self._note_signals(key, set(signal_ids) - known)
            merged = merge(profile, delta, now=now)
            if merged is not profile:
                self._write(key, merged)
            return merged

    def reset(
        self, user_id: str, *, now: str = "", scope: MemoryScope | None = None
    ) -> UserProfile:
        """Begin anew: the next version is empty. An empty profile stays as it is."""
        with self._transaction():
            key, found = self._owned(user_id, scope)
            if found and same_content(found, UserProfile(user_id)):
                return found
            version = found.version + 1 if found else 1
            fresh = UserProfile(user_id, version=version, updated_at=now, source="reset")
            self._write(key, fresh)
            return fresh

    def unmerged(
        self, user_id: str, signal_ids: Sequence[str], *, scope: MemoryScope | None = None
    ) -> set[str]:
        """Which of these signals have not been merged yet."""
        with self._lock:
            key, _ = self._owned(user_id, scope)
            return set(signal_ids) - self._known_signals(key, signal_ids)

    def _owned(self, user_id: str, scope: MemoryScope | None) -> tuple[str, UserProfile | None]:
        """Key and record of a user and scope; ``ValueError`` over the record of another user."""
        key = (scope or MemoryScope()).storage_key(user_id)
        found = self._read(key)
        if found is not None and found.user_id != user_id:
            raise ValueError(
                "the key of this scope and user is the plain id of another record, which is left "
                "as it is: move that record before this scope is used"
            )
        return key, found


def copy_of(profile: UserProfile) -> UserProfile:
    """A copy that shares nothing that can be changed."""
    return replace(
        profile,
        traits=replace(profile.traits),
        preferences=replace(profile.preferences, topics=list(profile.preferences.topics)),
        facts=dict(profile.facts),
    )

"""Profiles in Loom's database: each method is one statement, an operation of ``user_profile.*``."""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from types import TracebackType
from typing import Any, ClassVar, Final, Self

from loom.profile.model import (
    ProfileDelta,
    Signal,
    UserProfile,
    content_of,
    profile_of,
    wire_of,
)
from loom.profile.scope import MemoryScope
from loom.profile.store.database import Answer, ProfileDatabase

STALE: Final = frozenset({"LM201", "LM202"})
"""Another version stands there, or one where none was to be."""


class PostgresProfileStore:
    """The profiles of a namespace. ``dsn`` is a connection string of a login that may call
    operations there (a trusted service's, or the migration login), or the data folder of an
    embedded server. Without it, it is the installation's own: its embedded server, unless the
    environment names another.

    Scopes are columns. ``apply`` and ``update`` merge inside the database, so that of many writers
    none is lost. Close it, or use it as a context manager; threads may share it.
    """

    supports_profile_scopes: ClassVar[bool] = True
    merges_profiles: ClassVar[bool] = True

    def __init__(
        self, dsn: str | None = None, *, org: str = "dev", namespace: str = "local"
    ) -> None:
        self._place = {"org": org, "namespace": namespace}
        self._database = ProfileDatabase(dsn)
        # A store that is left open, as in a short script, takes its connection with it, and its
        # share in the embedded server.
        self.close = weakref.finalize(self, self._database.close)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def get(self, user_id: str, *, scope: MemoryScope | None = None) -> UserProfile | None:
        """The user's profile of the scope, None when there is none."""
        answer = self._call("get", user_id, scope)
        return profile_of(user_id, answer) if answer["found"] else None

    def put(self, profile: UserProfile, *, scope: MemoryScope | None = None) -> None:
        """Write a profile, with the version it has, over the one that stands."""
        self._put(profile, scope)

    def delete(self, user_id: str, *, scope: MemoryScope | None = None) -> None:
        """End the user's profile of the scope, if there is one."""
        self._call("delete", user_id, scope)

    def compare_and_put(
        self,
        profile: UserProfile,
        *,
        expected_version: int | None,
        scope: MemoryScope | None = None,
    ) -> bool:
        """Write only over this version, None for no profile; whether it was written."""
        if expected_version is None:
            return self._put(profile, scope, if_absent=True)
        return self._put(profile, scope, if_version=expected_version)

    def apply(
        self,
        user_id: str,
        delta: ProfileDelta,
        *,
        signal_ids: Sequence[str] = (),
        now: str = "",
        scope: MemoryScope | None = None,
    ) -> UserProfile:
        """Merge a delta, in one transaction of the database, whose clock it is: ``now`` is for
        stores that have none."""
        told = {"delta": wire_of(delta), "signal_ids": list(signal_ids)}
        return profile_of(user_id, self._call("apply", user_id, scope, **told))

    def update(
        self, user_id: str, signals: Sequence[Signal], *, scope: MemoryScope | None = None
    ) -> UserProfile:
        """Learn from signals by the database's own rules, in one transaction."""
        told = [_wire(each) for each in signals]
        return profile_of(user_id, self._call("update", user_id, scope, signals=told))

    def unmerged(
        self, user_id: str, signal_ids: Sequence[str], *, scope: MemoryScope | None = None
    ) -> set[str]:
        """Which of these signals have not been merged yet."""
        answer = self._call("get", user_id, scope, signal_ids=list(signal_ids))
        return set(signal_ids).difference(answer["merged_signal_ids"])

    def reset(
        self, user_id: str, *, now: str = "", scope: MemoryScope | None = None
    ) -> UserProfile:
        """Begin anew: the next version is empty."""
        return profile_of(user_id, self._call("reset", user_id, scope))

    def _put(self, profile: Any, scope: MemoryScope | None, **condition: Any) -> bool:
        """Whether it was written: False where the condition does not hold."""
        import psycopg

        try:
            self._call("put", profile.user_id, scope, **self._given(profile), **condition)
        except psycopg.Error as refusal:
            if refusal.sqlstate not in STALE:
                raise
            return False
        return True

    def _given(self, profile: Any) -> dict[str, Any]:
        """What ``user_profile.put`` is to write."""
        return {
            "profile": content_of(profile),
            "source": profile.source,
            "version": profile.version,
        }

    def _call(self, verb: str, user_id: str, scope: MemoryScope | None, **fields: Any) -> Answer:
        request = {**self._place, "user_id": user_id, **fields}
        if scope is not None:
            parts = ("tenant", "user", "thread", "kind")
            request["scope"] = {part: getattr(scope, part) for part in parts}
        return self._database.call(f"user_profile.{verb}", request)


def _wire(signal: Signal) -> dict[str, Any]:
    told: dict[str, Any] = {"kind": signal.kind, "role": signal.role, "text": signal.text}
    if signal.id:
        told["id"] = signal.id
    return told

"""The stores of Loom, each empty, and a few of others' making."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from loom.profile import (
    InMemoryProfileStore,
    PostgresProfileStore,
    SqliteProfileStore,
    UserProfile,
    as_async_profile,
)
from tests.databases import Database

KINDS = ("memory", "sqlite", "postgres")


@contextmanager
def store(kind: str, database: Database | None, folder: Path) -> Iterator[Any]:
    """A store of a kind, closed at the end."""
    if kind == "memory":
        yield InMemoryProfileStore()
    elif kind == "sqlite":
        with SqliteProfileStore(folder / "profiles.db") as opened:
            yield opened
    else:
        assert database is not None
        with PostgresProfileStore(database.dsn()) as opened:
            yield opened


class PlainStore:
    """What somebody else's store may be: a dict, without scopes and without a merge of its own."""

    def __init__(self) -> None:
        self.profiles: dict[str, UserProfile] = {}
        self.calls: list[str] = []

    def get(self, user_id: str) -> UserProfile | None:
        self.calls.append("get")
        return self.profiles.get(user_id)

    def put(self, profile: UserProfile) -> None:
        self.calls.append("put")
        self.profiles[profile.user_id] = profile

    def update(self, *_: object) -> None:
        raise AssertionError("it means something else by this")

    apply = reset = unmerged = update

    def delete(self, user_id: str) -> None:
        self.calls.append("delete")
        self.profiles.pop(user_id, None)


class ComparingStore(PlainStore):
    """The same with a compare-and-put, before which `before` happens once."""

    def __init__(self, before: Callable[[], None] | None = None) -> None:
        super().__init__()
        self.before = before

    def compare_and_put(self, profile: UserProfile, *, expected_version: int | None) -> bool:
        self.calls.append("compare_and_put")
        if self.before is not None:
            before, self.before = self.before, None
            before()
        found = self.profiles.get(profile.user_id)
        if (found.version if found else None) != expected_version:
            return False
        self.profiles[profile.user_id] = profile
        return True


class AwaitedStore:
    """An asynchronous store around one whose methods block."""

    supports_profile_scopes = True

    def __init__(self, inner: Any) -> None:
        self._inner = as_async_profile(inner)

    async def get(self, user_id: str, **scope: Any) -> UserProfile | None:
        found: UserProfile | None = await self._inner.get(user_id, **scope)
        return found

    async def put(self, profile: UserProfile, **scope: Any) -> None:
        await self._inner.put(profile, **scope)

    async def delete(self, user_id: str, **scope: Any) -> None:
        await self._inner.delete(user_id, **scope)

    async def compare_and_put(self, profile: UserProfile, **conditions: Any) -> bool:
        return bool(await self._inner.compare_and_put(profile, **conditions))

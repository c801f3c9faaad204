"""Where profiles are kept: in Loom's database, in an SQLite file, or in memory."""

from __future__ import annotations

from loom.profile.store.asynchronous import as_async_profile
from loom.profile.store.keyed import ProfileStore
from loom.profile.store.memory import InMemoryProfileStore
from loom.profile.store.postgres import PostgresProfileStore
from loom.profile.store.sqlite import SqliteProfileStore

__all__ = [
    "InMemoryProfileStore",
    "PostgresProfileStore",
    "ProfileStore",
    "SqliteProfileStore",
    "as_async_profile",
]

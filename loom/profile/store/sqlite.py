"""Profiles in an SQLite file, which several processes may share."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from os import PathLike, fspath
from types import TracebackType
from typing import Any, Final, Self

from loom.profile.model import TRAITS, Preferences, Traits, UserProfile
from loom.profile.store.keyed import KeyedProfileStore

BUSY_SECONDS: Final = 30.0
"""How long a writer waits for another process."""

# The first table is that of the library whose files may be opened here.
_TABLES: Final = (
    "create table if not exists profiles"
    " (user_id text primary key, json text not null, version integer not null default 0)",
    "create table if not exists profile_signals"
    " (user_id text not null, signal_id text not null, primary key (user_id, signal_id))"
    " without rowid",
)


class SqliteProfileStore(KeyedProfileStore):
    """The profiles of a file, or of ``:memory:``. Close it, or use it as a context manager."""

    def __init__(self, path: str | PathLike[str] = ":memory:") -> None:
        super().__init__()
        self._connection = sqlite3.connect(
            fspath(path), timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False
        )
        with self._lock:
            self._connection.execute("pragma journal_mode = wal")
            for statement in _TABLES:
                self._connection.execute(statement)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __del__(self) -> None:
        # A store that is left open, as in a short script, takes its connection with it.
        if hasattr(self, "_connection"):
            self._connection.close()

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._connection.close()

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        with self._lock:
            self._connection.execute("begin immediate")
            try:
                yield
            except BaseException:
                self._connection.execute("rollback")
                raise
            self._connection.execute("commit")

    def _read(self, key: str) -> UserProfile | None:
        row = self._connection.execute(
            "select json from profiles where user_id = ?", (key,)
        ).fetchone()
        return None if row is None else _profile(json.loads(row[0]))

    def _write(self, key: str, profile: UserProfile) -> None:
        self._connection.execute(
            "insert into profiles (user_id, json, version) values (?, ?, ?)"
            " on conflict (user_id) do update"
            " set json = excluded.json, version = excluded.version",
            (key, json.dumps(asdict(profile), ensure_ascii=False), profile.version),
        )

    def _remove(self, key: str) -> None:
        self._connection.execute("delete from profiles where user_id = ?", (key,))

    def _known_signals(self, key: str, ids: Sequence[str]) -> set[str]:
        rows = self._connection.execute(
            "select signal_id from profile_signals"
            " where user_id = ? and signal_id in (select value from json_each(?))",
            (key, json.dumps(list(ids))),
        )
        return {signal_id for (signal_id,) in rows}

    def _note_signals(self, key: str, ids: Iterable[str]) -> None:
        self._connection.executemany(
            "insert or ignore into profile_signals values (?, ?)", [(key, each) for each in ids]
        )


def _profile(stored: dict[str, Any]) -> UserProfile:
    traits, preferences = stored.get("traits") or {}, stored.get("preferences") or {}
    return UserProfile(
        user_id=stored["user_id"],
        traits=Traits(**{name: traits.get(name) or "" for name in TRAITS}),
        preferences=Preferences(
            format=preferences.get("format") or "",
            language=preferences.get("language") or "",
            topics=list(preferences.get("topics") or ()),
        ),
        facts=dict(stored.get("facts") or {}),
        summary=stored.get("summary") or "",
        updated_at=stored.get("updated_at") or "",
        version=stored.get("version") or 0,
        source=stored.get("source") or "",
    )

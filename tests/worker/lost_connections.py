"""Workers whose connections to the database are lost."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest

from tests.calls import Connection


def cut(conn: Connection) -> None:
    """The server ends what connections workers have."""
    conn.execute(
        "select pg_terminate_backend(pid, 5000) from pg_stat_activity"
        " where datname = current_database() and usename = 'loom_worker'"
    )


def lost_after(monkeypatch: pytest.MonkeyPatch, conn: Connection, words: bytes) -> list[bytes]:
    """The first statement with these words is done, but its answer is never heard. Returns the list
    to which such statements are added as they are sent."""
    execute = psycopg.AsyncConnection.execute
    sent: list[bytes] = []

    async def unheard(self: Any, statement: Any, *arguments: Any) -> Any:
        cursor = await execute(self, statement, *arguments)
        if words in statement:
            sent.append(statement)
            if len(sent) == 1:
                cut(conn)
                await execute(self, b"select 'never sent'")
        return cursor

    monkeypatch.setattr(psycopg.AsyncConnection, "execute", unheard)
    return sent

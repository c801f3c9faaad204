"""A connection under a lease: what is tried again when it is lost, and for how long."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import psycopg
import pytest

from loom.worker import lasting_connection
from loom.worker.lasting_connection import LastingConnection
from tests.databases import Database
from tests.worker.test_worker import login


class Silent:
    """A connection over which nothing comes any more; whoever gives up waiting closes it, as
    psycopg does."""

    closed = False

    async def execute(self, *_: object) -> Any:
        try:
            await asyncio.Event().wait()
        finally:
            self.closed = True


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lasting_connection, "SILENT_SECONDS", 0.01)


def test_a_connection_that_falls_silent_is_replaced(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def whole() -> None:
        connection = await psycopg.AsyncConnection.connect(login(database), autocommit=True)

        async def another(lost: Any) -> Any:
            assert lost.closed
            monkeypatch.setattr(lasting_connection, "SILENT_SECONDS", 30.0)
            return connection

        monkeypatch.setattr(lasting_connection, "another", another)
        lasting = LastingConnection(Silent(), "kind")  # type: ignore[arg-type]
        lasting.lives(time.monotonic(), 60.0)
        assert await lasting.value(b"select 1") == 1
        await lasting.close()
        assert connection.closed

    asyncio.run(whole())


@pytest.mark.parametrize("seconds_left", [0.0, -1.0])
def test_nor_is_it_waited_for_when_there_is_nothing_to_save(seconds_left: float) -> None:
    async def whole() -> None:
        lasting = LastingConnection(Silent(), "kind")  # type: ignore[arg-type]
        lasting.lives(time.monotonic(), seconds_left)
        with pytest.raises(TimeoutError):
            await lasting.value(b"select 1")

    asyncio.run(whole())

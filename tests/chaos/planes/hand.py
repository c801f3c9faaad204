"""One client's hand: how it asks, and how it notes what it asked and was told."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from random import Random
from typing import Any

from loom.client import Client
from loom.errors import ServerFault
from tests.chaos.history import History, Write

ROUND = 25
"""Writes of a client before it moves on to the next shared rows: those of all fit into one."""

Act = Callable[[], Awaitable[bool]]


class Hand:
    """`patient` sends a request again, under the same key, until it is answered; `hasty` asks once,
    and lives with not knowing. `answered` is told of each write that was acknowledged, `sent_again`
    of each request that was."""

    patient: Client
    hasty: Client

    def __init__(
        self,
        number: int,
        history: History,
        random: Random,
        answered: Callable[[], None],
        sent_again: Callable[[], None],
    ) -> None:
        self.number = number
        self.history = history
        self.random = random
        self.answered = answered
        self.written = 0
        self.retries = 0
        self._sent_again = sent_again

    async def pause(self, seconds: float) -> None:
        """Between two tries of one request."""
        self.retries += 1
        self._sent_again()
        await asyncio.sleep(seconds)

    def next(self) -> str:
        """A text of its own for the next write: one word, so that a search finds it."""
        self.written += 1
        return f"w{self.number}x{self.written}"

    @property
    def round(self) -> int:
        """Which shared rows it writes to now."""
        return self.written // ROUND

    async def call(self, op: str, body: Mapping[str, Any], key: str | None = None) -> Any:
        """Ask until there is an answer; raises the refusal. `key` makes a write happen once."""
        return await self.patient.call(op, body, idempotency_key=key)

    async def once(self, op: str, body: Mapping[str, Any]) -> Any:
        """Ask once. Raises the refusal, or `Unheard` when what became of it is not known."""
        try:
            return await self.hasty.call(op, body)
        except ServerFault as failure:
            raise Unheard from failure

    async def write(
        self, writes: list[Write], row: str, text: str | None, op: str, body: Mapping[str, Any]
    ) -> Any:
        """Make a write and note it, before it is sent and when it is answered."""
        write = self.begin(writes, Write(row, text, None))
        answer = await self.call(op, body, f"{op}-{text or self.next()}")
        self.done(writes, write, answer.get("version", 0))
        return answer

    def begin(self, writes: list[Write], write: Write) -> Write:
        """Note a write that is about to be sent."""
        writes.append(write)
        return write

    def done(self, writes: list[Write], write: Write, version: int) -> None:
        """Note what it was told."""
        place = next(n for n in range(len(writes) - 1, -1, -1) if writes[n] is write)
        writes[place] = Write(write.row, write.text, version, write.together)
        self.answered()


class Unheard(Exception):
    """Whether a request was carried out is not known."""


def now() -> float:
    """The clock of recorded histories."""
    return time.monotonic()

"""Clients that write and read in all planes until told to stop, and note it all."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from random import Random
from typing import Any

import httpx2

from loom.client import Client
from loom.errors import LoomError
from loom.retry import RetryPolicy
from tests.chaos.history import History
from tests.chaos.planes.erasure import Erasure
from tests.chaos.planes.hand import Act, Hand
from tests.chaos.planes.looms import Looms
from tests.chaos.planes.memory import Memory
from tests.chaos.planes.profile import Profile
from tests.chaos.planes.reading import Reading
from tests.chaos.planes.registers import Registers
from tests.chaos.planes.structured_profile import StructuredProfile
from tests.chaos.planes.user_profile import UserProfile
from tests.chaos.planes.working_memory import WorkingMemory

PLACE = {"org": "chaos", "namespace": "main", "agent": "writer"}
CLIENTS = 16

PLANES: dict[str, type[Any]] = {
    "working memory": WorkingMemory,
    "memory": Memory,
    "profile": Profile,
    "structured profile": StructuredProfile,
    "user profile": UserProfile,
    "looms": Looms,
    "reading": Reading,
    "erasure": Erasure,
    "registers": Registers,
}

# A patient client outlives any restart: the SDK sends the same request again under the same key.
PATIENT = RetryPolicy(tries=100_000, first_wait=0.02, longest_wait=0.25)
HASTY = RetryPolicy(tries=1)
ANSWER_SECONDS = 4.0
"""What a client waits for an answer: less than the relay holds one back that is to be late."""


class Load:
    """The clients of one run, over these addresses in turn, and what they wrote and were told."""

    def __init__(self, urls: Sequence[str], token: str, seed: int) -> None:
        self.history = History()
        self.kinds: Counter[str] = Counter()
        self.statuses: Counter[int] = Counter()
        self.acknowledged = 0
        self.retries = 0
        self.longest_silence = 0.0
        self._urls = urls
        self._token = token
        self._seed = seed
        self._stop = asyncio.Event()
        self._answered = asyncio.Event()
        self._last_answer = time.monotonic()

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Write during the block; at its end each client brings its last write to an answer."""
        async with asyncio.TaskGroup() as group:
            for number in range(CLIENTS):
                group.create_task(self._act(number))
            await self.more(CLIENTS)
            try:
                yield
            finally:
                self._stop.set()

    @asynccontextmanager
    async def cut_off(self) -> AsyncIterator[None]:
        """Write during the block; at its end the clients are gone, their last writes unanswered."""
        clients = [asyncio.create_task(self._act(number)) for number in range(CLIENTS)]
        try:
            await self.more(CLIENTS)
            yield
        finally:
            for each in clients:
                each.cancel()
            ends = await asyncio.gather(*clients, return_exceptions=True)
        for end in ends:
            if not isinstance(end, asyncio.CancelledError) and end is not None:
                raise end

    async def more(self, count: int, seconds: float = 60.0) -> None:
        """Wait until so many more writes have been answered."""
        target = self.acknowledged + count
        async with asyncio.timeout(seconds):
            while self.acknowledged < target:
                self._answered.clear()
                await self._answered.wait()

    async def _act(self, number: int) -> None:
        """One client: acts in all planes, each chosen by its weight."""
        random = Random(self._seed * 1000 + number)
        url = self._urls[number % len(self._urls)]
        counting = _Counting(self.statuses)
        hand = Hand(number, self.history, random, self._heard, self._sent_again)
        patient = client(url, self._token, PATIENT, sleep=hand.pause, transport=counting)
        hasty = client(url, self._token, HASTY, transport=_Counting(self.statuses))
        async with patient, hasty:
            hand.patient, hand.hasty = patient, hasty
            acts: list[tuple[str, Act]] = []
            weights: list[int] = []
            for plane, kind in PLANES.items():
                for name, act in kind(hand).acts.items():
                    acts.append((f"{plane}: {name}", act))
                    weights.append(kind.WEIGHTS[name])
            while not self._stop.is_set():
                name, act = random.choices(acts, weights)[0]
                try:
                    if await act():
                        self.kinds[name] += 1
                except LoomError as refusal:  # of what must not be refused: the run goes on
                    self.history.refused.append(f"{name}: {refusal}")

    def _heard(self) -> None:
        self.acknowledged += 1
        now = time.monotonic()
        self.longest_silence = max(self.longest_silence, now - self._last_answer)
        self._last_answer = now
        self._answered.set()

    def _sent_again(self) -> None:
        self.retries += 1


class _Counting(httpx2.AsyncHTTPTransport):
    """The SDK's transport, which notes what was answered: the SDK hides what it sends again."""

    def __init__(self, statuses: Counter[int]) -> None:
        super().__init__()
        self._statuses = statuses

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send a request, note the answer's status."""
        response = await super().handle_async_request(request)
        self._statuses[response.status_code] += 1
        return response


def client(
    url: str,
    token: str,
    retry: RetryPolicy = PATIENT,
    *,
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    transport: httpx2.AsyncBaseTransport | None = None,
) -> Client:
    """A client of the SDK that acts in the place of a run."""
    return Client(
        url, token, ids=PLACE, retry=retry, timeout=ANSWER_SECONDS, sleep=sleep, transport=transport
    )

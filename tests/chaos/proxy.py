"""A relay between two parties whose connections break: it stalls, and cuts in the middle.

It stands between a client and an API, or between an API and PostgreSQL; it knows nothing of what
passes through it but in which direction. A break is armed, waits for the next bytes it is meant
for, happens to them once, and is counted then.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import suppress
from types import TracebackType
from typing import Final, Literal, Self

Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]

Break = Literal["request cut", "answer cut", "answer lost", "answer late", "stall"]

UPWARDS: Final[frozenset[Break]] = frozenset({"request cut"})
"""What happens to bytes on their way to the server; all else happens to those on their way back."""

BREAKS: Final[tuple[Break, ...]] = (
    "request cut",  # half of it arrives, and then the end
    "answer cut",  # the request is carried out, half of the answer comes back
    "answer lost",  # the request is carried out, and nothing comes back
    "answer late",  # it comes back when the client has given up waiting
    "stall",  # nothing moves in any connection for a while
)

CHUNK: Final = 65536


class Proxy:
    """A relay to where `connect` leads, as an asynchronous context manager.

    It listens on a free port of the loopback address, or on the Unix socket `path`. `late` is how
    long an answer is held back that is to be late, `still` how long a stall takes, in seconds.
    """

    def __init__(
        self,
        connect: Callable[[], Awaitable[Streams]],
        *,
        path: str | None = None,
        late: float = 5.0,
        still: float = 0.5,
    ) -> None:
        self.happened: Counter[str] = Counter()
        self.port = 0
        self._connect = connect
        self._path = path
        self._late = late
        self._still = still
        self._armed: list[Break] = []
        self._moving = asyncio.Event()
        self._moving.set()
        self._open: set[asyncio.Task[None]] = set()
        self._server: asyncio.Server | None = None

    async def __aenter__(self) -> Self:
        if self._path is None:
            self._server = await asyncio.start_server(self._relay, "127.0.0.1", 0)
            self.port = self._server.sockets[0].getsockname()[1]
        else:
            self._server = await asyncio.start_unix_server(self._relay, self._path)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        assert self._server is not None
        self._server.close()
        for task in self._open:
            task.cancel()
        await asyncio.gather(*self._open, return_exceptions=True)

    def arm(self, what: Break) -> None:
        """Have this happen to the next bytes that it can happen to."""
        self._armed.append(what)

    def disarm(self) -> None:
        """From now on all goes well."""
        self._armed.clear()
        self._moving.set()

    async def _relay(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._open.add(task)
        ends = [writer]
        try:
            with suppress(OSError, asyncio.CancelledError):  # asyncio would report a cancellation
                upstream, up = await self._connect()
                ends.append(up)
                pumps = [
                    asyncio.create_task(self._pump(reader, up, upwards=True)),
                    asyncio.create_task(self._pump(upstream, writer, upwards=False)),
                ]
                try:
                    await asyncio.wait(pumps, return_when=asyncio.FIRST_COMPLETED)
                finally:
                    for pump in pumps:
                        pump.cancel()
                    await asyncio.gather(*pumps, return_exceptions=True)
        finally:
            for end in ends:
                end.transport.abort()  # no orderly end: what was cut is cut
            self._open.discard(task)

    async def _pump(
        self, source: asyncio.StreamReader, sink: asyncio.StreamWriter, *, upwards: bool
    ) -> None:
        """Pass bytes on until the source ends or a break ends it."""
        with suppress(OSError):
            while data := await source.read(CHUNK):
                await self._moving.wait()
                what = self._next(upwards=upwards)
                if what is not None:
                    self.happened[what] += 1
                if what == "stall":
                    await self._stall()
                elif what == "answer late":
                    await asyncio.sleep(self._late)
                elif what is not None:
                    sink.write(b"" if what == "answer lost" else data[: len(data) // 2])
                    return  # what the system has not taken by now goes with the connection
                sink.write(data)
                await sink.drain()

    def _next(self, *, upwards: bool) -> Break | None:
        for place, what in enumerate(self._armed):
            if (what in UPWARDS) == upwards:
                return self._armed.pop(place)
        return None

    async def _stall(self) -> None:
        self._moving.clear()
        try:
            await asyncio.sleep(self._still)
        finally:
            self._moving.set()


def to_port(port: int) -> Callable[[], Awaitable[Streams]]:
    """The way to a port of the loopback address."""

    async def connect() -> Streams:
        return await asyncio.open_connection("127.0.0.1", port)

    return connect


def to_socket(path: str) -> Callable[[], Awaitable[Streams]]:
    """The way to a Unix socket."""

    async def connect() -> Streams:
        return await asyncio.open_unix_connection(path)

    return connect

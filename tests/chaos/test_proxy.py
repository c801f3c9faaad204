"""The relay passes on what it gets; each break happens once, and to what it is meant for."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tests.chaos.proxy import BREAKS, Break, Proxy, to_port, to_socket

ASKED = b"x" * 1000


@asynccontextmanager
async def echo() -> AsyncIterator[tuple[int, list[bytes]]]:
    """A server that sends back what it gets; its port, and what it got."""
    got: list[bytes] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while data := await reader.read(65536):
                got.append(data)
                writer.write(data)
                await writer.drain()
        except ConnectionResetError:
            got.append(b"reset")
        finally:
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    try:
        yield server.sockets[0].getsockname()[1], got
    finally:
        server.close()


async def ask(proxy: Proxy, times: int = 1) -> bytes:
    """Send something on a new connection, so often; what comes back until all or the end."""
    reader, writer = await asyncio.open_connection("127.0.0.1", proxy.port)
    back = b""
    try:
        for _ in range(times):
            writer.write(ASKED)
            back += await reader.readexactly(len(ASKED))
    except asyncio.IncompleteReadError as ended:
        back += ended.partial
    except ConnectionResetError:
        pass
    finally:
        writer.transport.abort()
    return back


def through(test: Callable[[Proxy, list[bytes]], Awaitable[None]]) -> None:
    async def run() -> None:
        async with echo() as (port, got), Proxy(to_port(port), late=0.3, still=0.3) as proxy:
            async with asyncio.timeout(10):
                await test(proxy, got)

    asyncio.run(run())


def test_all_is_passed_on_both_ways() -> None:
    async def test(proxy: Proxy, got: list[bytes]) -> None:
        assert await ask(proxy, times=3) == ASKED * 3
        assert b"".join(got) == ASKED * 3
        assert not proxy.happened

    through(test)


@pytest.mark.parametrize(
    ("what", "arrives", "comes_back"),
    [("request cut", 500, 0), ("answer cut", 1000, 500), ("answer lost", 1000, 0)],
)
def test_a_connection_is_cut_once_and_in_the_middle(
    what: Break, arrives: int, comes_back: int
) -> None:
    async def test(proxy: Proxy, got: list[bytes]) -> None:
        proxy.arm(what)
        back = await ask(proxy)
        # The bytes before a reset may be lost on the way, but no others come.
        assert len(back) in {0, comes_back}
        while len(b"".join(got).removesuffix(b"reset")) < arrives:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
        assert len(b"".join(got).removesuffix(b"reset")) == arrives
        assert proxy.happened == {what: 1}
        assert await ask(proxy) == ASKED

    through(test)


@pytest.mark.parametrize("what", ["answer late", "stall"])
def test_what_is_held_back_arrives_in_the_end(what: Break) -> None:
    async def test(proxy: Proxy, got: list[bytes]) -> None:
        proxy.arm(what)
        answer = asyncio.create_task(ask(proxy))
        while not proxy.happened[what]:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
        assert b"".join(got) == ASKED
        assert not answer.done()
        other = asyncio.create_task(ask(proxy))
        # A stall holds up all connections, a late answer its own.
        first = await asyncio.wait([answer, other], return_when=asyncio.FIRST_COMPLETED)
        assert (other in first[0]) or what == "stall"
        assert await answer == await other == ASKED
        assert proxy.happened == {what: 1}

    through(test)


def test_what_was_armed_and_taken_back_does_not_happen() -> None:
    async def test(proxy: Proxy, got: list[bytes]) -> None:
        for what in BREAKS:
            proxy.arm(what)
        proxy.disarm()
        assert await ask(proxy) == ASKED
        assert not proxy.happened

    through(test)


def test_who_is_not_there_is_not_reached_and_the_relay_goes_on(tmp_path: Path) -> None:
    async def run() -> None:
        there = str(tmp_path / "there")
        async with echo() as (port, _), Proxy(to_socket(there)) as proxy:
            assert await ask(proxy) == b""
            async with Proxy(to_port(port), path=there):
                assert await ask(proxy) == ASKED

    asyncio.run(run())

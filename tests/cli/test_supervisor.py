"""Children: started again when they end, stopped in order, never left behind."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from loom.cli.supervisor import Child, describe
from tests.cli.processes import running, until


class Scripted(Child):
    """A child that runs a script instead of a command of ours."""

    def __init__(self, script: str, *, fds: tuple[int, ...] = ()) -> None:
        self.said: list[str] = []
        super().__init__("child", (), env=dict(os.environ), fds=fds, say=self.said.append)
        self._argv = (sys.executable, "-c", script)

    @property
    def pid(self) -> int:
        return self.process.pid if self.process else 0


async def changes(child: Scripted, old: int) -> int:
    """Wait for another process than `old`."""
    async with asyncio.timeout(30):
        while child.pid in (0, old):  # noqa: ASYNC110
            await asyncio.sleep(0.01)
    return child.pid


def keep(child: Scripted, test: Callable[[Scripted], Awaitable[None]]) -> None:
    async def whole() -> None:
        keeper = asyncio.create_task(child.keep())
        try:
            await test(child)
        finally:
            await child.stop(grace=5)
            async with asyncio.timeout(30):
                await keeper

    asyncio.run(whole())


SLEEP = "import time; time.sleep(600)"
STUBBORN = (
    "import signal, sys, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); "
    "print('ready', flush=True); time.sleep(600)"
)


def test_a_killed_child_is_started_again_and_that_is_said() -> None:
    async def test(child: Scripted) -> None:
        old = await changes(child, 0)
        os.kill(old, signal.SIGKILL)
        assert await changes(child, old) != old
        assert child.said == ["child ended (killed by SIGKILL); starting it again"]
        assert (child.ends, child.last_code) == (1, -signal.SIGKILL)

    keep(Scripted(SLEEP), test)


def test_a_child_that_ends_at_once_is_started_ever_more_slowly(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    waits: list[float] = []

    async def wait_for(waiting: Awaitable[object], seconds: float) -> object:
        waits.append(seconds)
        if len(waits) == 8:
            await child.stop()
        raise TimeoutError

    child = Scripted("raise SystemExit(3)")

    async def whole() -> None:
        with monkeypatch.context() as patched:
            patched.setattr(asyncio, "wait_for", _closing(wait_for))
            await child.keep()

    asyncio.run(whole())
    assert waits == [0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 10.0, 10.0]
    assert child.last_code == 3


def _closing(wait_for: Callable[..., Awaitable[object]]) -> Callable[..., Awaitable[object]]:
    """Closes the coroutine that it does not await."""

    async def instead(waiting: object, seconds: float) -> object:
        waiting.close()  # type: ignore[attr-defined]
        return await wait_for(waiting, seconds)

    return instead


def test_a_child_that_does_not_stop_is_killed() -> None:
    async def whole() -> None:
        read, write = os.pipe()
        child = Scripted(STUBBORN.replace("'ready'", "'ready', file=open(int(sys.argv[1]), 'w')"))
        child._argv = (*child._argv, str(write))
        child._fds = (write,)
        keeper = asyncio.create_task(child.keep())
        await asyncio.to_thread(os.read, read, 5)
        await child.stop(grace=0.05)
        await keeper
        os.close(read)
        os.close(write)
        assert child.last_code == -signal.SIGKILL
        assert "is killed" in child.said[0]

    asyncio.run(whole())


def test_a_stopped_child_is_not_started_again() -> None:
    async def test(child: Scripted) -> None:
        await changes(child, 0)

    child = Scripted(SLEEP)
    keep(child, test)
    assert child.said == []
    assert not running(child.pid)


def test_a_child_ends_in_order_when_its_parent_is_gone(tmp_path: Path) -> None:
    out = tmp_path / "out"
    script = (
        "import signal, sys, threading\n"
        "from pathlib import Path\n"
        "from loom.cli.supervisor import end_with_parent\n"
        "told = threading.Event()\n"
        f"def stop(*_): Path({str(out)!r}).write_text('in order'); told.set()\n"
        "signal.signal(signal.SIGTERM, stop)\n"
        "end_with_parent(int(sys.argv[1]))\n"
        "told.wait(60)\n"
    )

    async def whole() -> None:
        lifeline, held = os.pipe()
        child = Scripted(script, fds=(lifeline,))
        child._argv = (*child._argv, str(lifeline))
        keeper = asyncio.create_task(child.keep())
        pid = await changes(child, 0)
        os.close(held)
        await asyncio.to_thread(until, "the child has ended", lambda: not running(pid))
        keeper.cancel()
        await asyncio.gather(keeper, return_exceptions=True)
        await child.stop()
        os.close(lifeline)

    asyncio.run(whole())
    assert out.read_text() == "in order"


@pytest.mark.parametrize(
    ("code", "words"),
    [(0, "exit code 0"), (7, "exit code 7"), (-9, "killed by SIGKILL"), (-200, "signal 200")],
)
def test_an_exit_status_is_told_in_words(code: int, words: str) -> None:
    assert words in describe(code)

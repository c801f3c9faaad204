"""Keeping child processes running, and making sure that none outlives the parent.

Every child gets the read end of a pipe whose write end only the parent holds. When the parent ends,
in whatever way, the pipe closes and the child stops itself in order.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress

FIRST_BACKOFF = 0.2
LONGEST_BACKOFF = 10.0
# A child that ran this long was healthy: its next end starts the backoff anew.
HEALTHY_SECONDS = 10.0
# Longer than the API waits for requests under way (20) and then records what they cost.
GRACE_SECONDS = 25.0


class Child:
    """A process that is started again whenever it ends, until it is stopped.

    ``argv`` goes to this Python's ``-m loom.cli``; ``fds`` are handed down under their numbers.
    ``say`` gets a line for each end and start.
    """

    def __init__(
        self,
        name: str,
        argv: Sequence[str],
        *,
        env: Mapping[str, str],
        fds: Sequence[int],
        say: Callable[[str], None],
    ) -> None:
        self.name = name
        self.process: asyncio.subprocess.Process | None = None
        self.ends = 0
        self.last_code = 0
        self._argv = (sys.executable, "-m", "loom.cli", *argv)
        self._env = dict(env)
        self._fds = tuple(fds)
        self._say = say
        self._stopping = asyncio.Event()

    async def keep(self) -> None:
        """Run the child and start it again when it ends, ever more slowly if it ends at once."""
        loop = asyncio.get_running_loop()
        backoff = FIRST_BACKOFF
        while not self._stopping.is_set():
            started = loop.time()
            self.process = await asyncio.create_subprocess_exec(
                *self._argv,
                env=self._env,
                stdin=asyncio.subprocess.DEVNULL,
                pass_fds=self._fds,
                # Ctrl-C in a terminal reaches the whole foreground group; what stops, and in which
                # order, is for the parent to say.
                start_new_session=True,
            )
            if self._stopping.is_set():  # stopped while it was being made
                self._send(signal.SIGTERM)
            code = await self.process.wait()
            self.last_code = code
            self.ends += 1
            if self._stopping.is_set():
                return
            if loop.time() - started >= HEALTHY_SECONDS:
                backoff = FIRST_BACKOFF
            self._say(f"{self.name} ended ({describe(code)}); starting it again")
            with suppress(TimeoutError):
                await asyncio.wait_for(self._stopping.wait(), backoff)
            backoff = min(backoff * 2, LONGEST_BACKOFF)

    async def stop(self, grace: float = GRACE_SECONDS) -> None:
        """Ask the child to end; end it by force when it has not within ``grace`` seconds."""
        self._stopping.set()
        if self.process is None or self.process.returncode is not None:
            return
        self._send(signal.SIGTERM)
        try:
            await asyncio.wait_for(self.process.wait(), grace)
        except TimeoutError:
            self._say(f"{self.name} did not stop within {grace:g} seconds and is killed")
            self.kill()
            await self.process.wait()

    def kill(self) -> None:
        """End the child by force, now."""
        self._stopping.set()
        self._send(signal.SIGKILL)

    def _send(self, number: signal.Signals) -> None:
        if self.process is not None and self.process.returncode is None:
            with suppress(ProcessLookupError):
                self.process.send_signal(number)


def describe(code: int) -> str:
    """An exit status in words."""
    if code >= 0:
        return f"exit code {code}"
    try:
        return f"killed by {signal.Signals(-code).name}"
    except ValueError:
        return f"killed by signal {-code}"


def end_with_parent(lifeline: int) -> None:
    """In a child: send SIGTERM to this process when the parent's end of the pipe closes."""

    def watch() -> None:
        with os.fdopen(lifeline, "rb", buffering=0) as pipe:
            pipe.read(1)
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=watch, name="lifeline", daemon=True).start()

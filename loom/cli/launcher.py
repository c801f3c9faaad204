"""``loom up``: database, API and worker as one command, for development and small installations.

The launcher holds what must not be lost when a child dies: the listening socket (so that the
address stays taken and callers wait instead of being refused), a share in the embedded server, and
open mode's row, which it renews under the migration login. Under that it also builds the index of
words anew when most of it is old.
"""

from __future__ import annotations

import asyncio
import os
import shlex
import shutil
import signal
import socket
import sys
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from contextlib import AsyncExitStack, suppress
from typing import Any

import httpx2

from loom.app.main import listen
from loom.cli.open_mode import OpenMode
from loom.cli.reindex import Reindexer
from loom.cli.supervisor import Child, describe
from loom.installation import Installation
from loom.settings import Settings, is_loopback

READY_SECONDS = 60.0

Say = Callable[[str], None]
Session = Callable[[str], Awaitable[None]]


class LauncherError(Exception):
    """Loom cannot be started; the text says why and what to do."""


def up(settings: Settings, say: Say, session: Session | None = None) -> None:
    """Run everything until SIGINT or SIGTERM; ``say`` gets what the person should know.

    ``session`` is called with the URL when all is up, in place of the welcome, and all stops when
    it returns. Raises ``LauncherError``, and what preparing the database or ``session`` raises.
    """
    if settings.auth == "open" and not is_loopback(settings.host):
        raise LauncherError("Open mode needs a loopback address: set LOOM_HOST to 127.0.0.1.")
    with _listen(settings) as listener:
        asyncio.run(_Launcher(settings, listener, say, session).run())


class _Launcher:
    def __init__(
        self, settings: Settings, listener: socket.socket, say: Say, session: Session | None
    ) -> None:
        self._settings = settings
        self._listener = listener
        self._say = say
        self._session = session
        self._installation = Installation(settings, say)
        self._stop = asyncio.Event()
        self._children: list[Child] = []
        self._open_mode: OpenMode | None = None

    async def run(self) -> None:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            # Under nohup a closed terminal is to be ignored.
            if number != signal.SIGHUP or signal.getsignal(number) != signal.SIG_IGN:
                loop.add_signal_handler(number, self._on_signal)
        async with AsyncExitStack() as stack:
            stack.callback(self._installation.close)
            await asyncio.to_thread(self._installation.open)
            await asyncio.to_thread(self._installation.migrate, in_passing=True)
            if self._stop.is_set():
                return
            if self._settings.auth == "open":
                self._open_mode = OpenMode(self._installation.migration_dsn)
                stack.push_async_callback(self._open_mode.end)
                await self._open_mode.begin()
            keepers = [asyncio.create_task(each) for each in self._keepers(stack)]
            stack.push_async_callback(_cancel, keepers)
            stack.push_async_callback(self._stop_children)
            await self._until_ready()
            ends = [asyncio.create_task(each) for each in (self._stop.wait(), self._visit())]
            # A keeper ends only by failing in a way that nothing here can mend.
            await asyncio.wait((*ends, *keepers), return_when=asyncio.FIRST_COMPLETED)
            for each in (*ends, *keepers):
                if each.done():
                    each.result()
            await _cancel(ends)
            self._say("Stopping.")

    def _on_signal(self) -> None:
        if self._stop.is_set():
            for child in self._children:
                child.kill()
        self._stop.set()

    def _keepers(self, stack: AsyncExitStack) -> list[Coroutine[Any, Any, None]]:
        """What runs all the time: the children, and what keeps the rest alive."""
        lifeline, held = os.pipe()
        stack.callback(os.close, held)
        stack.callback(os.close, lifeline)
        logins = self._installation.logins
        env = {name: value for name, value in os.environ.items() if name != "LOOM_DATABASE_URL"}
        env["LOOM_GATEWAY_DATABASE_URL"] = logins.gateway
        env["LOOM_WORKER_DATABASE_URL"] = logins.worker
        given = self._listener.fileno()
        ends = ("--lifeline", str(lifeline))
        self._children = [
            Child(
                "API",
                ("serve", "--socket", str(given), *ends),
                env=env,
                fds=(given, lifeline),
                say=self._say,
            ),
            Child("worker", ("worker", *ends), env=env, fds=(lifeline,), say=self._say),
        ]
        reindexer = Reindexer(self._installation.migration_dsn, self._say)
        keepers = [*(child.keep() for child in self._children), reindexer.keep()]
        if self._open_mode is not None:
            keepers.append(self._open_mode.keep())
        return keepers

    async def _until_ready(self) -> None:
        """Wait until the API answers for the database; a child that ends before that is fatal."""
        url = _url(self._listener)
        loop = asyncio.get_running_loop()
        deadline = loop.time() + READY_SECONDS
        # No proxy of the environment: open mode would refuse what comes through one.
        async with httpx2.AsyncClient(trust_env=False, timeout=5) as http:
            while not self._stop.is_set():
                for child in self._children:
                    if child.ends:
                        raise LauncherError(
                            f"The {child.name} did not start ({describe(child.last_code)}); "
                            "what it said is above."
                        )
                if loop.time() > deadline:
                    raise LauncherError(f"The API was not ready within {READY_SECONDS:g} seconds.")
                with suppress(httpx2.TransportError):
                    if (await http.get(f"{url}/v1/ready")).is_success:
                        return
                await self._pause(0.05)

    async def _visit(self) -> None:
        """The session, where there is one; else the welcome, and nothing more."""
        url = _url(self._listener)
        if self._session is not None:
            await self._session(url)
            return
        if not self._stop.is_set():
            self._say(welcome(self._settings, url))
        await self._stop.wait()

    async def _stop_children(self) -> None:
        await asyncio.gather(*(child.stop() for child in self._children))

    async def _pause(self, seconds: float) -> None:
        with suppress(TimeoutError):
            await asyncio.wait_for(self._stop.wait(), seconds)


async def _cancel(tasks: Sequence[asyncio.Task[Any]]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


def _listen(settings: Settings) -> socket.socket:
    try:
        return listen(settings.host, settings.port)
    except OSError as error:
        where = f"{settings.host} port {settings.port}"
        raise LauncherError(
            f"Cannot listen on {where}: {error.strerror or error}. Is Loom running already? "
            "LOOM_PORT names another port."
        ) from error


def _url(listener: socket.socket) -> str:
    """A URL of the listener that works from this machine."""
    host, port = listener.getsockname()[:2]
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def welcome(settings: Settings, url: str) -> str:
    """What is printed when all is up, with a command that works as it stands."""
    lines = [f"Loom is up: {url} (documentation: {url}/docs)"]
    body = """{"agent": "me", "content": "where was I"}"""
    if settings.auth == "open":
        lines.append("Open mode: requests from this machine need no token. Try it:")
        lines.append(f"  curl {_no_proxy()}{url}/v1/working_memory.set -d '{body}'")
    else:
        lines.append("Requests need a token; make the first one with:")
        lines.append(f"  {_program()} token mint --org acme --role admin")
    lines.append("Ctrl-C stops everything.")
    return "\n".join(lines)


def _program() -> str:
    """`loom` as it can be typed where it was started: with its folder when that is not on PATH."""
    started_as = sys.argv[0]
    if shutil.which("loom") or os.path.basename(started_as) != "loom":
        return "loom"
    return shlex.quote(started_as)


def _no_proxy() -> str:
    """For curl: open mode does not answer proxies, and curl would take the environment's."""
    proxies = ("http_proxy", "all_proxy", "ALL_PROXY")
    return "--noproxy '*' " if any(os.environ.get(name) for name in proxies) else ""

"""An installation for one run: two launchers, each with API and worker, on one database.

    client ── relay ──▶ API ── relay ──▶ PostgreSQL ◀── relay ── worker ──▶ model

The launchers share the embedded server of one data folder, as `loom up` does on one machine.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import tempfile
from collections.abc import Iterator
from contextlib import AsyncExitStack, contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import Final, Self

import psycopg
from psycopg.conninfo import make_conninfo

from loom.embedded_cluster import PORT
from tests.chaos.instruments import Clock, Connection, install
from tests.chaos.load import PLACE, client
from tests.chaos.model import Model
from tests.chaos.planes.structured_profile import SCHEMA
from tests.chaos.proxy import Proxy, Streams, to_port
from tests.cli.processes import Up, loom, running
from tests.model_endpoint import ModelEndpoint

LAUNCHERS: Final = 2
DATABASE_SECONDS: Final = 60.0
SOCKET: Final = f".s.PGSQL.{PORT}"

# What waits in production for minutes is to happen often in one.
BRISK: Final = {
    "LOOM_AUTH": "required",
    "LOOM_WORKER_CONCURRENCY": "4",
    "LOOM_MODEL": "scripted",
    "LOOM_EMBEDDING_MODEL": "by words",
    "LOOM_MODEL_TIMEOUT_SECONDS": "10",
    "LOOM_STRUCTURED_PROFILE_COOLDOWN_SECONDS": "0",
    "LOOM_STRUCTURED_PROFILE_INTERVAL_SECONDS": "1",
    "LOOM_STRUCTURED_PROFILE_IDLE_INTERVAL_SECONDS": "1",
    "LOOM_STRUCTURED_PROFILE_SCAN_MAX_AGE_SECONDS": "1",
    "LOOM_STRUCTURED_PROFILE_MAX_USERS_PER_PASS": "1000",
    "LOOM_STRUCTURED_PROFILE_BACKOFF_BASE_SECONDS": "1",
    "LOOM_STRUCTURED_PROFILE_BACKOFF_CAP_SECONDS": "2",
    "LOOM_STRUCTURED_PROFILE_REFUSAL_RETRY_SECONDS": "1",
    "LOOM_STRUCTURED_PROFILE_LEASE_SECONDS": "60",
    "LOOM_PROFILE_CONSOLIDATION_ENABLED": "on",
    "LOOM_PROFILE_CONSOLIDATION_COOLDOWN_SECONDS": "0",
    "LOOM_NIGHT_WEAVING_INTERVAL_SECONDS": "1",
    "LOOM_NIGHT_WEAVING_LEASE_SECONDS": "60",
}


class Site:
    """All of it, as an asynchronous context manager. `urls` lead to the APIs through the relays."""

    def __init__(self, seed: int) -> None:
        self.ups: list[Up] = []
        self.urls: list[str] = []
        self.token = ""
        self.relays: list[Proxy] = []
        self.clock = Clock(self.connect)
        self.model = Model(seed)
        self._started_ups: list[Up] = []
        self._env: dict[str, str] = dict(BRISK)
        self._stack = AsyncExitStack()

    async def __aenter__(self) -> Self:
        try:
            self.folder = self._stack.enter_context(data_folder())
            self._stack.callback(self._stop)
            endpoint = self._stack.enter_context(ModelEndpoint(answer=self.model))
            for purpose in ("MODEL", "EMBEDDING"):
                self._env[f"LOOM_{purpose}_BASE_URL"] = endpoint.url
            for login in ("gateway", "worker"):
                self._env[f"LOOM_{login.upper()}_DATABASE_URL"] = await self._to_database(login)
            # At once: who comes first makes the database, and both bring its schema up to date.
            await asyncio.gather(*(self._launch() for _ in range(LAUNCHERS)))
            self.token = await asyncio.to_thread(self._mint)
            with self.connect() as conn:
                require_durable(conn)
                install(conn)
            async with client(self.urls[0], self.token) as api:
                await api.call("profile_schema.set", {"json_schema": SCHEMA})
        except BaseException:
            await self._stack.aclose()
            raise
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self._stack.aclose()

    @property
    def postmaster(self) -> int:
        """The database's first process, 0 when there is none."""
        return self.ups[0].postmaster()

    @property
    def whole(self) -> bool:
        """Whether every part runs."""
        return all(len(up.processes()) == 4 for up in self.ups)

    @property
    def said(self) -> str:
        """The last words of the launchers."""
        return "\n".join(up.said[-3000:] for up in self.ups)

    def parts(self) -> list[int]:
        """The process ids of all that runs."""
        return list({pid for up in self.ups for pid in up.processes()})

    def connect(self) -> Connection:
        """A connection of the owner, past the relays. Raises what psycopg raises."""
        folder = Path(self._socket()).parent
        return psycopg.connect(
            host=str(folder), port=PORT, user="postgres", dbname="loom", autocommit=True
        )

    async def set_forward(self, **amount: float) -> None:
        """Set the database's clock forward, as soon as there is a database."""
        async with asyncio.timeout(DATABASE_SECONDS):
            while True:
                try:
                    return await asyncio.to_thread(lambda: self.clock.forward(**amount))
                except (psycopg.OperationalError, OSError):
                    await asyncio.sleep(0.05)

    def clear(self) -> None:
        """No more breaks, and a model that answers well: what is on its way arrives."""
        self.model.reliable = True
        for relay in self.relays:
            relay.disarm()

    async def relaunch(self) -> None:
        """Start everything again where it was, after all of it was killed."""
        for old in self.ups:
            await asyncio.to_thread(old.ended)
        self.ups = await asyncio.gather(*(self._started(port=old.port) for old in self.ups))

    async def _launch(self) -> None:
        up = await self._started()
        self.ups.append(up)
        relay = await self._stack.enter_async_context(Proxy(to_port(up.port)))
        self.relays.append(relay)
        self.urls.append(f"http://127.0.0.1:{relay.port}")

    async def _started(self, port: int | None = None) -> Up:
        up = Up(self.folder, port=port, **self._env)
        self._started_ups.append(up)
        return await asyncio.to_thread(up.ready)

    def _stop(self) -> None:
        """End all of it; the launchers first, or one would start again what another ends."""
        for up in self._started_ups:
            for pid in up.processes():
                if pid != up.postmaster():
                    send(pid, signal.SIGKILL)
        for up in self._started_ups:
            up.kill()

    async def _to_database(self, login: str) -> str:
        """A relay for a login; the connection string that leads through it."""
        folder = self.folder.parent / login
        folder.mkdir(mode=0o700)
        relay = Proxy(self._reach_database, path=str(folder / SOCKET))
        self.relays.append(await self._stack.enter_async_context(relay))
        return make_conninfo(host=str(folder), port=PORT, user=f"loom_{login}", dbname="loom")

    async def _reach_database(self) -> Streams:
        return await asyncio.open_unix_connection(self._socket())

    def _socket(self) -> str:
        """Where the server says that it listens, which may be elsewhere after each start."""
        lines = (self.folder / "postgres/data/postmaster.pid").read_text().splitlines()
        if len(lines) < 5:
            raise ConnectionRefusedError("the server is starting")
        return f"{lines[4]}/{SOCKET}"

    def _mint(self) -> str:
        asked = ("token", "mint", "--org", PLACE["org"], "--role", "admin")
        done = loom(*asked, env={**self._env, "LOOM_DATA_DIR": str(self.folder)})
        assert done.code == 0, done.err
        return done.out.splitlines()[-1]


def send(pid: int, number: signal.Signals) -> None:
    """A signal to a process, if it still runs."""
    if pid and running(pid):
        with suppress(ProcessLookupError):
            os.kill(pid, number)


@contextmanager
def data_folder() -> Iterator[Path]:
    """A data folder for one installation, on the disk."""
    # Root's server runs as another account, which cannot enter pytest's own folder.
    made = Path(tempfile.mkdtemp(prefix="loom-chaos-"))
    made.chmod(0o755)
    try:
        yield made / "data"
    finally:
        shutil.rmtree(made, ignore_errors=True)


def require_durable(conn: Connection) -> None:
    """Fail when the server may lose what it acknowledged: then a run would show nothing."""
    for name in ("fsync", "synchronous_commit", "full_page_writes"):
        row = conn.execute("select current_setting(%s)", (name,)).fetchone()
        assert row == ("on",), f"{name} is {row}"

"""The server that is measured, with schema and plain table, and the HTTP servers before it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from socket import socket
from typing import Final

import httpx2
import psycopg

from bench.doors import Places
from bench.workloads import ORG
from loom.app.main import listen
from loom.database import GATEWAY
from loom.embedded import EmbeddedServer, Server
from loom.migrate import migrate
from loom.settings import Settings

SERVICE: Final = "bench_service"
_RAW: Final = Path(__file__).parent / "raw"
_READY_SECONDS: Final = 30.0
_STOP_SECONDS: Final = 30.0


@dataclass(frozen=True)
class Stage:
    """All that runs: where the clients go, what is measured, and where its data is."""

    places: Places
    admin: str
    postmaster: int
    apps: Mapping[str, int]
    """The process of each HTTP server, by its door."""
    folder: Path
    programs: Path
    """The folder of the server's programs."""


@contextmanager
def stage(
    parent: Path, say: Callable[[str], None], settings: Mapping[str, str] | None = None
) -> Iterator[Stage]:
    """Set everything up in a new folder under `parent`, and take it down again. `settings` are
    the database server's, beside those that Loom gives it.

    Raises what the embedded server and the applier raise, `OSError`, `subprocess` errors.
    """
    parent.mkdir(parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix="bench-", dir=parent))
    folder.chmod(0o711)  # root's server runs as another account, which passes through
    with ExitStack() as stack:
        stack.callback(shutil.rmtree, folder, ignore_errors=True)
        server = _database(stack, folder / "data", say, settings or {})
        token = _prepare(server)
        apps, addresses = _http_servers(stack, server, folder)
        places = Places(server.dsn(SERVICE), addresses["c"], addresses["d"], token)
        for address in addresses.values():
            _wait_for(address)
        yield Stage(places, server.dsn(), server.pid, apps, server.data.parent, server.bin_dir)


def settle(stage: Stage) -> None:
    """Gather the statistics that a database in use has: without them some plans are bad ones."""
    with psycopg.connect(stage.admin, autocommit=True) as connection:
        connection.execute("vacuum (analyze)")


def _database(
    stack: ExitStack, data: Path, say: Callable[[str], None], settings: Mapping[str, str]
) -> Server:
    embedded = EmbeddedServer(data, logins=(SERVICE,), settings=settings, say=say)
    server = stack.enter_context(embedded)
    # The server may have had to keep its data elsewhere.
    home = server.data.parent
    stack.push(lambda *_: shutil.rmtree(home, ignore_errors=True))
    stack.callback(embedded.release)
    migrate(server.dsn(), log=lambda text: None)
    return server


def _prepare(server: Server) -> str:
    """The plain table, the service login that may use it and the operations, and a token."""
    with psycopg.connect(server.dsn(), autocommit=True) as connection:
        connection.execute("create role bench_service login in role loom_writer")
        connection.execute("select loom.service_bind(%s, %s)", [SERVICE, ORG])
        for path in sorted(_RAW.glob("table*.sql")):
            connection.execute(path.read_bytes())
        connection.execute("grant usage on schema bench to bench_service")
        connection.execute(
            "grant select, insert, update, delete on all tables in schema bench to bench_service"
        )
        request = psycopg.types.json.Jsonb({"org": ORG, "role": "writer"})
        row = connection.execute("select loom.token_mint(%s) ->> 'token'", [request]).fetchone()
        assert row is not None
        return str(row[0])


def _http_servers(
    stack: ExitStack, server: Server, folder: Path
) -> tuple[dict[str, int], dict[str, tuple[str, int]]]:
    lifeline, held = os.pipe()
    stack.callback(os.close, held)
    stack.callback(os.close, lifeline)
    env = {name: value for name, value in os.environ.items() if not name.startswith("LOOM_")}
    env |= {
        "LOOM_AUTH": "required",
        "LOOM_DATA_DIR": str(folder / "app"),
        "LOOM_GATEWAY_DATABASE_URL": server.dsn(GATEWAY),
        "LOOM_LOG_LEVEL": "warning",
    }
    defaults = Settings.from_environment({"LOOM_AUTH": "required"})
    connections = defaults.read_connections + defaults.write_connections
    listeners = {door: stack.enter_context(listen("127.0.0.1", 0)) for door in "cd"}
    number = {door: str(listener.fileno()) for door, listener in listeners.items()}
    commands = {
        "c": ("loom.cli", "serve", "--socket", number["c"], "--lifeline", str(lifeline)),
        "d": ("bench.plain_app", number["d"], str(lifeline), str(connections), server.dsn(GATEWAY)),
    }
    apps = {
        door: stack.enter_context(_process(command, env, (lifeline, listeners[door].fileno())))
        for door, command in commands.items()
    }
    return apps, {door: _address(listener) for door, listener in listeners.items()}


@contextmanager
def _process(
    module: Sequence[str], env: Mapping[str, str], descriptors: Sequence[int]
) -> Iterator[int]:
    process = subprocess.Popen(
        [sys.executable, "-m", *module],
        env=env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        pass_fds=descriptors,
    )
    try:
        yield process.pid
    finally:
        process.terminate()
        try:
            process.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _address(listener: socket) -> tuple[str, int]:
    host, port = listener.getsockname()[:2]
    return host, port


def _wait_for(address: tuple[str, int]) -> None:
    """Until the server answers HTTP, whatever it answers."""
    url = "http://{}:{}/v1/ready".format(*address)
    deadline = time.monotonic() + _READY_SECONDS
    with httpx2.Client(trust_env=False, timeout=_READY_SECONDS) as http:
        while True:
            try:
                http.get(url)
            except httpx2.TransportError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.05)
            else:
                return

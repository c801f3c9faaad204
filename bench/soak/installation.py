"""The installation under load: `loom up` in a folder of its own, and where its parts are."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import psycopg
from psycopg.types.json import Jsonb

from bench.cpu import family
from bench.soak import model
from bench.workloads import ORG
from loom.embedded import EmbeddedServer

_READY_SECONDS: Final = 120.0
_STOP_SECONDS: Final = 60.0
_UP: Final = "Loom is up: "

_SETTINGS: Final = {
    "LOOM_AUTH": "required",
    "LOOM_PORT": "0",
    "LOOM_LOG_LEVEL": "warning",
    "LOOM_MODEL": model.NAME,
    "LOOM_EMBEDDING_MODEL": model.NAME,
    # Every kind of work goes on all the time, where it would wait for minutes.
    "LOOM_STRUCTURED_PROFILE_COOLDOWN_SECONDS": "20",
    "LOOM_STRUCTURED_PROFILE_INTERVAL_SECONDS": "1",
    "LOOM_STRUCTURED_PROFILE_IDLE_INTERVAL_SECONDS": "1",
    "LOOM_STRUCTURED_PROFILE_SCAN_MAX_AGE_SECONDS": "20",
    "LOOM_STRUCTURED_PROFILE_MAX_USERS_PER_PASS": "1000",
    "LOOM_PROFILE_CONSOLIDATION_ENABLED": "on",
    "LOOM_PROFILE_CONSOLIDATION_COOLDOWN_SECONDS": "20",
    "LOOM_PROFILE_CONSOLIDATION_MAX_USERS_PER_PASS": "1000",
    "LOOM_NIGHT_WEAVING_DEFAULT": "on",
    "LOOM_NIGHT_WEAVING_QUIET_MINUTES": "0",
    "LOOM_NIGHT_WEAVING_INTERVAL_SECONDS": "2",
}


@dataclass(frozen=True)
class Installation:
    """All that runs: the API's address and an admin's token for it, the superuser's connection
    string, and the processes."""

    api: tuple[str, int]
    token: str
    admin: str
    postmaster: int
    processes: Mapping[str, int]
    """Those whose memory is to stay flat, by name."""
    log: Path

    def log_errors(self) -> list[str]:
        """What the processes have written of errors: lines of that level, tracebacks, and that one
        of them ended."""
        lines = self.log.read_text(errors="replace").splitlines()
        return [line for line in lines if _is_error(line)]


@contextmanager
def installation(parent: Path) -> Iterator[Installation]:
    """Set everything up in a new folder under `parent`, and take it down again."""
    parent.mkdir(parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix="soak-", dir=parent)).resolve()
    folder.chmod(0o711)  # root's server runs as another account, which passes through
    with ExitStack() as stack:
        stack.callback(shutil.rmtree, folder, ignore_errors=True)
        url = stack.enter_context(model.endpoint())
        log = folder / "log"
        launcher, said = stack.enter_context(_up(folder / "data", url, log))
        server = stack.enter_context(EmbeddedServer(folder / "data"))
        children = {_command(pid): pid for pid in family(launcher)}
        parts = urlsplit(said)
        assert parts.hostname is not None
        assert parts.port is not None
        yield Installation(
            (parts.hostname, parts.port),
            _token(server.dsn()),
            server.dsn(),
            server.pid,
            {"API": children["serve"], "worker": children["worker"]},
            log,
        )


@contextmanager
def _up(data: Path, model_url: str, log: Path) -> Iterator[tuple[int, str]]:
    """`loom up`: its process and the URL that it told."""
    env = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("LOOM_") or name == "LOOM_PG_BIN"
    }
    env |= _SETTINGS | {
        "LOOM_DATA_DIR": str(data),
        "LOOM_MODEL_BASE_URL": model_url,
        "LOOM_EMBEDDING_BASE_URL": model_url,
    }
    with log.open("wb") as written:
        process = subprocess.Popen(
            [sys.executable, "-m", "loom.cli", "up"],
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=written,
            stderr=subprocess.STDOUT,
        )
    try:
        yield process.pid, _url(process, log)
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _url(process: subprocess.Popen[bytes], log: Path) -> str:
    deadline = time.monotonic() + _READY_SECONDS
    while True:
        text = log.read_text(errors="replace")
        if _UP in text:
            return text.partition(_UP)[2].split(" ", 1)[0]
        if process.poll() is not None or time.monotonic() > deadline:
            raise RuntimeError(f"`loom up` did not start:\n{text}")
        time.sleep(0.1)


def _command(pid: int) -> str:
    """`serve` or `worker` of `python -m loom.cli serve …`."""
    words = Path(f"/proc/{pid}/cmdline").read_text(errors="replace").split("\0")
    place = words.index("loom.cli") if "loom.cli" in words else -1
    return words[place + 1] if 0 <= place < len(words) - 1 else ""


def _token(dsn: str) -> str:
    with psycopg.connect(dsn, autocommit=True) as connection:
        request = Jsonb({"org": ORG, "role": "admin"})
        row = connection.execute("select loom.token_mint(%s) ->> 'token'", [request]).fetchone()
        assert row is not None
        return str(row[0])


def _is_error(line: str) -> bool:
    if not line.startswith("{"):
        return line.startswith(("Traceback", "API ended", "worker ended"))
    try:
        told: Any = json.loads(line)
    except ValueError:
        return False  # the line is being written just now
    return str(told.get("level", "")).lower() in ("error", "critical")

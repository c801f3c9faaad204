"""The plain upsert that a set is held against, by pgbench: the least that such writes can cost."""

from __future__ import annotations

import os
import re
import resource
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Final, NamedTuple

from psycopg.conninfo import conninfo_to_dict

from bench.workloads import BATCH, ORG, SET

CLIENTS: Final = 8
_DONE: Final = re.compile(r"^number of transactions actually processed: ([0-9]+)", re.MULTILINE)
_RATE: Final = re.compile(r"^tps = ([0-9.]+)", re.MULTILINE)
_LATENCY: Final = re.compile(r"^latency average = ([0-9.]+) ms", re.MULTILINE)
# Door a's parameters, as pgbench's variables: each of its clients is a user with ten blocks.
_PARAMETERS: Final = {
    "org": f"'{ORG}'",
    "namespace": "'support'",
    "agent": "'writer'",
    "user_id": "'pgbench-' || :client_id::text",
    "block_key": "'block-' || :block::text",
    "content": "(:number::text || :content::text)",
}
_ENVIRONMENT: Final = {"host": "PGHOST", "port": "PGPORT", "user": "PGUSER", "dbname": "PGDATABASE"}


class PgbenchError(Exception):
    """pgbench failed; the text is what it said."""


class Upserts(NamedTuple):
    """Upserts a second, the mean time of one, and microseconds of CPU for one."""

    ops_per_second: float
    mean_ms: float
    client_us: float
    server_us: float


class Pgbench:
    """Runs door a's statement of a set, prepared, with eight clients."""

    def __init__(self, programs: Path, conninfo: str, folder: Path) -> None:
        self.cpu_seconds = 0.0
        """What it has used of the machine so far."""
        self._program = programs / "pgbench"
        self._script = folder / "upsert.pgbench"
        self._script.write_text(script())
        place = conninfo_to_dict(conninfo)
        self._env = {name: value for name, value in os.environ.items() if name[:2] != "PG"} | {
            variable: str(place[name]) for name, variable in _ENVIRONMENT.items()
        }

    @property
    def there(self) -> bool:
        """Whether the server came with pgbench."""
        return self._program.exists()

    def run(self, seconds: int, server_seconds: Callable[[], float]) -> Upserts:
        """Upserts for so long; `server_seconds` reads the server's CPU time. Raises
        `PgbenchError`."""
        text = SET.request(0, 0)["content"]
        command = [str(self._program), "-n", "-M", "prepared", "-c", str(CLIENTS), "-j", "2"]
        command += ["-T", str(seconds), "-D", f"content={text}", "-f", str(self._script)]
        server, client = server_seconds(), _ended_seconds()
        done = subprocess.run(command, env=self._env, capture_output=True, text=True, check=False)
        client, server = _ended_seconds() - client, server_seconds() - server
        found = [each.search(done.stdout) for each in (_DONE, _RATE, _LATENCY)]
        if done.returncode or not all(found):
            raise PgbenchError(done.stderr or done.stdout)
        self.cpu_seconds += client
        upserts, rate, latency = (float(each[1]) for each in found if each)
        return Upserts(rate, latency, client / upserts * 1e6, server / upserts * 1e6)


def _ended_seconds() -> float:
    """The CPU time of all child processes that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def script() -> str:
    """Door a's statement with pgbench's variables."""
    upsert = SET.raw_sql
    for name, expression in _PARAMETERS.items():
        upsert = upsert.replace(f"%({name})s", expression)
    chosen = f"\\set block random(0, {BATCH - 1})\n\\set number random(1, 1000000000)\n"
    return f"{chosen}{upsert.rstrip()};\n"

"""``loom up``: all from one command, alive through the death of any part, gone at the end."""

from __future__ import annotations

import ast
import asyncio
import inspect
import json
import os
import shutil
import signal
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2
import psycopg
import pytest

from loom import Agent
from loom.client import Client
from loom.embedded import EmbeddedServer
from loom.retry import RetryPolicy
from tests.cli.processes import Up, free_port, running, until
from tests.sdk.test_server import EXAMPLE

STALL_SECONDS = 50.0
"""Far longer than any restart; a request that nobody answers takes longer."""

pytestmark = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks into /proc")


@contextmanager
def folder() -> Iterator[Path]:
    """A data folder for one installation."""
    # Not pytest's own folder: others cannot enter it, and root's server runs as another user.
    made = Path(tempfile.mkdtemp(prefix="loom-up-"))
    made.chmod(0o755)
    yield made / "data"
    shutil.rmtree(made)


@pytest.fixture
def data_dir() -> Iterator[Path]:
    with folder() as made:
        yield made


@pytest.fixture(scope="module")
def up() -> Iterator[Up]:
    """One that the tests of this module share; each leaves it running."""
    with folder() as made:
        started = Up(made).ready()
        yield started
        started.kill()


def patient(up: Up, agent: str) -> Agent:
    """An agent that outlives any restart."""
    retry = RetryPolicy(tries=200, first_wait=0.05, longest_wait=0.2)
    client = Client(up.url, retry=retry, timeout=2 * STALL_SECONDS)
    return Agent(org="acme", namespace="support", agent=agent, client=client)


async def note(up: Up, text: str, agent: str = "bot") -> list[str]:
    """Append a line and return all lines."""
    async with patient(up, agent) as bot:
        await bot.working_memory.append(text)
        return str((await bot.working_memory.get())["content"]).split("\n")


def query(data_dir: Path, statement: str) -> Any:
    """Ask the embedded database, which is started for it if it does not run."""
    with EmbeddedServer(data_dir) as server, psycopg.connect(server.dsn()) as conn:
        row = conn.execute(statement.encode()).fetchone()
        return row[0] if row else None


def test_the_printed_curl_works_as_printed(up: Up) -> None:
    if shutil.which("curl") is None:
        pytest.skip("no curl on this machine")
    (command,) = (line for line in up.out if line.strip().startswith("curl"))
    done = subprocess.run(command, shell=True, capture_output=True, text=True, check=True)
    answer = json.loads(done.stdout)
    assert (answer["org"], answer["namespace"], answer["version"]) == ("dev", "local", 1)
    assert any(f"{up.url}" in line for line in up.out)


def test_the_first_example_runs_as_it_stands(
    up: Up, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("LOOM_BASE_URL", up.url)
    monkeypatch.delenv("LOOM_API_KEY", raising=False)
    coroutine = eval(compile(EXAMPLE, "example", "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT), {})
    assert inspect.iscoroutine(coroutine)
    asyncio.run(coroutine)
    assert capsys.readouterr().out.startswith('<working-memory block="state">cursor: ticket 4812\n')


def test_api_and_worker_log_in_as_themselves_and_know_no_other_login(up: Up) -> None:
    def logins() -> Any:
        return query(
            up.data_dir,
            "select array_agg(distinct usename::text order by usename::text) "
            "from pg_stat_activity where datname = 'loom' and pid <> pg_backend_pid() "
            "and usename is not null and application_name <> 'loom up'",
        )

    until("both are there", lambda: logins() == ["loom_gateway", "loom_worker"])
    for command in ("serve", "worker"):
        env = (Path("/proc") / str(up.child(command)) / "environ").read_text()
        assert "LOOM_DATABASE_URL" not in env
        assert "user=postgres" not in env


def test_each_part_is_replaced_when_it_is_killed_and_nothing_is_lost(up: Up) -> None:
    lines = asyncio.run(note(up, "start", "killed"))
    for command in ("serve", "worker"):
        pid = up.child(command)
        os.kill(pid, signal.SIGKILL)
        lines = asyncio.run(note(up, f"{command} killed", "killed"))
        assert up.new_child(command, pid)
    until("the new worker shows itself", lambda: len(_workers(up)) >= 2)
    server = up.postmaster()
    os.kill(server, signal.SIGKILL)
    lines = asyncio.run(note(up, "database killed", "killed"))
    assert lines == ["start", "serve killed", "worker killed", "database killed"]
    assert up.postmaster() not in (0, server)
    assert up.process.poll() is None


def _workers(up: Up) -> list[str]:
    health = query(up.data_dir, "select loom.health()")
    return [worker["worker_id"] for worker in health["workers"]]


def test_acknowledged_writes_survive_kills_in_the_middle_of_a_write_load(up: Up) -> None:
    acknowledged: list[str] = []
    enough, one_more = asyncio.Event(), asyncio.Event()

    async def write(number: int, bot: Agent) -> None:
        count = 0
        while not enough.is_set():
            key = f"{number}-{count}"
            await bot.working_memory.set(key, block_key=key)
            acknowledged.append(key)
            one_more.set()
            count += 1

    async def more(count: int) -> None:
        target = len(acknowledged) + count
        while len(acknowledged) < target:
            one_more.clear()
            await one_more.wait()

    async def whole() -> set[str]:
        # No request may be left without an answer, however the connection under it ended.
        async with asyncio.timeout(STALL_SECONDS), patient(up, "load") as bot:
            writers = [asyncio.create_task(write(number, bot)) for number in range(8)]
            await more(50)
            for kill in (up.child("serve"), up.postmaster(), up.child("worker")):
                os.kill(kill, signal.SIGKILL)
                await more(50)
            enough.set()
            await asyncio.gather(*writers)
            return await all_keys(bot)

    async def all_keys(bot: Agent) -> set[str]:
        keys: set[str] = set()
        cursor = None
        while True:
            page = await bot.working_memory.list(limit=200, cursor=cursor)
            keys.update(item["block_key"] for item in page["items"])
            cursor = page["next_cursor"]
            if cursor is None:
                return keys

    stored = asyncio.run(whole())
    assert len(acknowledged) >= 200
    assert set(acknowledged) <= stored


def test_a_signal_leaves_nothing_behind_not_even_after_a_killed_launcher(data_dir: Path) -> None:
    up = Up(data_dir).ready()
    try:
        asyncio.run(note(up, "before"))
        orphans = [up.child("serve"), up.child("worker")]
        up.process.kill()
        until("the children have ended", lambda: not any(running(pid) for pid in orphans))
        up.ended()
        again = Up(data_dir, port=up.port).ready()
        try:
            assert asyncio.run(note(again, "after")) == ["before", "after"]
            parts = again.processes()
            assert len(parts) == 4
            assert again.stop(signal.SIGINT) == 0
            assert [pid for pid in parts if running(pid)] == []
        finally:
            again.kill()
        assert "Traceback" not in again.said
        with socket.socket() as probe:  # the port is free again
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(("127.0.0.1", up.port))
        assert query(data_dir, "select count(*) from loom.open_mode") == 0
    finally:
        up.kill()


@pytest.mark.slow
def test_a_closed_terminal_stops_everything_too(data_dir: Path) -> None:
    up = Up(data_dir).ready()
    try:
        parts = up.processes()
        assert up.stop(signal.SIGHUP) == 0
        assert [pid for pid in parts if running(pid)] == []
    finally:
        up.kill()


def test_a_second_installation_on_the_port_is_refused_with_a_word(up: Up, data_dir: Path) -> None:
    other = Up(data_dir, port=up.port)
    assert other.ended() == 1
    assert "LOOM_PORT" in other.said
    assert str(up.port) in other.said
    assert "Traceback" not in other.said
    assert not data_dir.exists()
    assert up.process.poll() is None


def test_two_installations_share_one_database(up: Up) -> None:
    other = Up(up.data_dir).ready()
    try:
        asyncio.run(note(up, "from one", "two"))
        lines = asyncio.run(note(other, "from the other", "two"))
        assert lines == ["from one", "from the other"]
        server = up.postmaster()
        assert other.stop(signal.SIGINT) == 0
        assert running(server)
        assert asyncio.run(note(up, "still open", "two"))[-1] == "still open"
    finally:
        other.kill()


def test_with_tokens_required_nothing_is_open_and_the_first_token_is_explained(
    data_dir: Path,
) -> None:
    up = Up(data_dir, LOOM_AUTH="required", LOOM_PORT="0").ready()
    try:
        assert "loom token mint" in up.said
        url = next(word for word in up.said.split() if word.startswith("http://"))
        with httpx2.Client(trust_env=False, timeout=30) as http:
            assert http.post(f"{url}/v1/working_memory.get", json={}).status_code == 401
        assert query(data_dir, "select count(*) from loom.open_mode") == 0
        parts = up.processes()
        assert up.stop(signal.SIGTERM) == 0
        assert [pid for pid in parts if running(pid)] == []
    finally:
        up.kill()


def test_open_mode_is_for_this_machine_alone(data_dir: Path) -> None:
    up = Up(data_dir, port=free_port(), LOOM_HOST="0.0.0.0")
    assert up.ended() == 1
    assert "loopback" in up.said
    assert not data_dir.exists()

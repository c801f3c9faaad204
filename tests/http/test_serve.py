"""The server as a process: start, refusal to start, and a stop that finishes what is under way."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import httpx2
import pytest

from tests.calls import mint_token
from tests.databases import Database
from tests.races import wait_until_blocked

_SERVE = """
import sys
from loom.app.main import serve
from loom.settings import Settings
serve(Settings(port=int(sys.argv[2])), sys.argv[1], on_ready=lambda url: print(url, flush=True))
"""


@contextmanager
def serving(dsn: str, port: int = 0) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A serving process and its URL."""
    process = subprocess.Popen(
        [sys.executable, "-c", _SERVE, dsn, str(port)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        yield process, process.stdout.readline().strip()
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_after_the_requests_under_way(database: Database, number: int) -> None:
    admin = database.connect()
    token = mint_token(admin, org="acme", role="admin", namespace="n").text
    headers = {"Authorization": f"Bearer {token}"}
    answers: list[httpx2.Response] = []
    with serving(database.dsn("loom_gateway")) as (process, url):

        def write() -> None:
            with httpx2.Client(trust_env=False, headers=headers, timeout=30) as client:
                answers.append(client.post(f"{url}/v1/working_memory.set", json={"content": "x"}))

        idle = socket.create_connection((httpx2.URL(url).host, httpx2.URL(url).port or 0))
        blocker = database.connect()
        with blocker.transaction():
            blocker.execute("lock table loom.working_memory in access exclusive mode")
            writer = threading.Thread(target=write)
            writer.start()
            wait_until_blocked(admin, _gateway_waiting(database))
            process.send_signal(number)
            _wait_until_closed_to_new_connections(url)
            assert process.poll() is None
        writer.join(30)
        assert process.wait(30) == 0
        assert [answer.status_code for answer in answers] == [200]
        idle.close()


def test_an_address_in_use_is_an_os_error(database: Database) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with serving(database.dsn("loom_gateway"), port) as (process, url):
            assert url == ""
            _, errors = process.communicate(timeout=30)
            assert process.returncode != 0
            assert "OSError" in errors


def test_it_refuses_a_schema_that_is_not_its_own(database: Database) -> None:
    database.connect().execute("update loom.functions_digest set sha256 = repeat('0', 64)")
    with serving(database.dsn("loom_gateway")) as (process, url):
        assert url == ""
        _, errors = process.communicate(timeout=30)
        assert process.returncode != 0
        assert "SchemaMismatch" in errors
        assert "loom migrate" in errors


def test_it_refuses_a_database_without_the_schema(database: Database) -> None:
    with serving(database.cluster.dsn("postgres", "loom_gateway")) as (process, url):
        assert url == ""
        _, errors = process.communicate(timeout=30)
        assert "SchemaMismatch" in errors


def _gateway_waiting(database: Database) -> int:
    """The pid of the gateway's session, once there is one that runs a call."""
    observer = database.connect()
    while True:
        row = observer.execute(
            "select pid from pg_stat_activity where usename = 'loom_gateway' and state = 'active'"
            " and datname = current_database() and query like 'SELECT loom.call%'"
        ).fetchone()
        if row:
            return int(row[0])


def _wait_until_closed_to_new_connections(url: str) -> None:
    where = httpx2.URL(url)
    while True:
        try:
            socket.create_connection((where.host, where.port or 0), timeout=5).close()
        except ConnectionResetError:
            continue  # it was let in just before the listener was closed
        except ConnectionRefusedError:
            return

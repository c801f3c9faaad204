"""The wheel in an empty environment: the SDK by itself, and the server, without the checkout."""

from __future__ import annotations

import json
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest

from tests.cli.processes import free_port, until
from tests.embedded.folders import public_parent, temporary
from tests.setup.environments import Installed

SESSION = """
import asyncio
from loom import Agent

async def main():
    async with Agent(org="acme", namespace="support", agent="triage") as bot:
        await bot.working_memory.set("ticket 4812", block_key="state")
        print(await bot.working_memory.render())

asyncio.run(main())
"""

PLACES = """
import importlib.util, json, loom.app.main, loom.worker.main, loom.sql_tree
names = ("app", "worker", "sql", "tests", "scripts", "docs")
print(json.dumps({
    "strangers": [name for name in names if importlib.util.find_spec(name)],
    "modules": [m.__file__ for m in (loom, loom.app.main, loom.worker.main)],
    "sql": str(loom.sql_tree.default_root()),
    "migrations": len(loom.sql_tree.SqlTree.read().migrations),
}))
"""


@pytest.fixture(scope="module")
def sdk(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Installed:
    """What `pip install loom-memory` makes."""
    return Installed(tmp_path_factory.mktemp("sdk"), wheel)


@pytest.fixture(scope="module")
def server(wheel: Path) -> Iterator[Installed]:
    """What `pip install 'loom-memory[server]'` makes."""
    with temporary(public_parent(), 0o755) as folder:
        yield Installed(folder, wheel, "server")


def test_only_packages_of_ours_are_installed(sdk: Installed) -> None:
    assert {name for name in sdk.own if not name.endswith(".dist-info")} == {"loom"}
    for name in ("py.typed", "sql/operations.sql", "sql/migrations/frozen.txt", "app/main.py"):
        assert (sdk.packages / "loom" / name).is_file(), name


def test_the_sdk_works_without_a_package_of_the_server(sdk: Installed) -> None:
    assert not list(sdk.packages.glob("psycopg*"))
    done = sdk.run("python", "-c", "from loom import Agent, Client, LoomError; import loom.types")
    assert (done.returncode, done.stderr) == (0, "")
    # It gets as far as looking for a server.
    done = sdk.run("python", "-c", SESSION, LOOM_BASE_URL=f"http://127.0.0.1:{free_port()}")
    assert "loom.errors.Unreachable" in done.stderr


@pytest.mark.parametrize("command", ["serve", "worker", "up", "migrate", "doctor", "demo"])
def test_without_the_server_its_commands_say_what_to_install(sdk: Installed, command: str) -> None:
    done = sdk.run("loom", command)
    assert done.returncode == 1
    assert "pip install 'loom-memory[server]'" in done.stderr
    assert "Traceback" not in done.stderr


def test_all_is_loaded_from_the_environment(server: Installed) -> None:
    done = server.run("python", "-c", PLACES)
    assert done.returncode == 0, done.stderr
    places = json.loads(done.stdout)
    assert places["strangers"] == []
    assert places["sql"] == str(server.packages / "loom" / "sql")
    assert places["migrations"] > 0
    for module in places["modules"]:
        assert Path(module).is_relative_to(server.packages / "loom")


def test_a_server_of_the_wheel_answers_an_agent(server: Installed) -> None:
    with temporary(public_parent(), 0o755) as folder:
        url = f"http://127.0.0.1:{(port := free_port())}"
        env = {"LOOM_DATA_DIR": str(folder / "loom"), "LOOM_PORT": str(port)}
        with tempfile.TemporaryFile("w+") as said:
            serving = subprocess.Popen(
                [str(server.bin / "loom"), "serve"],
                cwd=server.bin,
                env={"PATH": "/usr/bin:/bin", **env},
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=said,
            )
            try:
                until("the server is ready", lambda: ready(url, serving))
                minted = server.run(
                    "loom", "token", "mint", "--org", "acme", "--role", "writer", **env
                )
                secret = minted.stdout.splitlines()[-1]
                done = server.run("python", "-c", SESSION, LOOM_BASE_URL=url, LOOM_API_KEY=secret)
            finally:
                serving.send_signal(signal.SIGTERM)
                code = serving.wait(60)
                said.seek(0)
                log = said.read()
        assert done.stdout == '<working-memory block="state">ticket 4812</working-memory>\n', (
            done.stderr + log
        )
        assert code == 0, log


def ready(url: str, process: subprocess.Popen[bytes]) -> bool:
    assert process.poll() is None
    try:
        return httpx2.get(f"{url}/v1/ready", trust_env=False).is_success
    except httpx2.TransportError:
        return False

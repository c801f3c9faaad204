"""An empty virtual environment with the wheel in it, and what the wheel says that it needs.

pip installs the wheel. What it needs is linked from the environment of the tests, so that no index
is asked; what its metadata does not ask for is not there.
"""

from __future__ import annotations

import subprocess
import sys
import venv
from collections.abc import Iterator
from importlib.metadata import Distribution, PathDistribution, distribution
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name


class Installed:
    """The wheel in an environment of its own. `extra` is what stands in the brackets for pip."""

    def __init__(self, folder: Path, wheel: Path, extra: str = "") -> None:
        venv.create(folder, with_pip=False, symlinks=True)
        self.bin = folder / "bin"
        (self.packages,) = folder.glob("lib/python3.*/site-packages")
        pip = [sys.executable, "-m", "pip", "--python", str(self.bin / "python"), "install"]
        options = ["--quiet", "--disable-pip-version-check", "--no-deps", "--no-index"]
        subprocess.run([*pip, *options, str(wheel)], check=True)
        self.own = {path.name for path in self.packages.iterdir()}
        (metadata,) = self.packages.glob("loom_memory-*.dist-info")
        for needed in closure(PathDistribution(metadata), extra):
            self._link(needed)

    def run(self, *argv: str, **env: str) -> subprocess.CompletedProcess[str]:
        """A program of the environment, run in it with nothing of the checkout in reach."""
        return subprocess.run(
            [str(self.bin / argv[0]), *argv[1:]],
            cwd=self.bin,
            env={"PATH": "/usr/bin:/bin", **env},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )

    def _link(self, needed: Distribution) -> None:
        for name in {path.parts[0] for path in needed.files or ()} - {"..", "__pycache__"}:
            place = self.packages / name
            if not place.exists():
                place.symlink_to(Path(str(needed.locate_file(name))))


def closure(root: Distribution, extra: str) -> Iterator[Distribution]:
    """The installed distributions that one needs, by its own word and that of those it needs."""
    waiting = [(root, extra)]
    seen: set[tuple[str, str]] = set()
    while waiting:
        dependent, wanted = waiting.pop()
        for line in dependent.requires or ():
            requirement = Requirement(line)
            if requirement.marker and not requirement.marker.evaluate({"extra": wanted}):
                continue
            needed = distribution(requirement.name)
            for each in requirement.extras or {""}:
                if (key := (canonicalize_name(requirement.name), each)) not in seen:
                    seen.add(key)
                    waiting.append((needed, each))
                    yield needed

"""The package: it holds every module and all SQL, and what it needs is pinned."""

from __future__ import annotations

import re
import tomllib
import zipfile
from importlib.metadata import PackageNotFoundError, requires
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[2]
PINNED = ("constraints.txt", "requirements-graphs.txt", "requirements-peers.txt")
FOLDERS = {"loom": "loom", "loom.app": "app", "loom.worker": "worker", "loom.sql": "sql"}


def project() -> dict[str, Any]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text())


def pins() -> dict[str, str]:
    lines = [line for name in PINNED for line in (ROOT / name).read_text().splitlines()]
    found = [line.split("==") for line in lines if not line.startswith("#")]
    return {canonicalize_name(name): version for name, version in found}


def packages() -> set[str]:
    """Every folder with modules in it, by the name that it is imported under."""
    names = set()
    for package, folder in FOLDERS.items():
        for module in (ROOT / folder).rglob("*.py"):
            inner = module.parent.relative_to(ROOT / folder).parts
            names.add(".".join((package, *inner)))
    return names


def test_every_folder_with_modules_is_packaged() -> None:
    assert set(project()["tool"]["setuptools"]["packages"]) == packages()


def test_the_wheel_holds_all_modules_and_all_sql_and_nothing_else(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        held = {name for name in archive.namelist() if ".dist-info/" not in name}
    wanted = {"loom/py.typed"}
    for package, folder in FOLDERS.items():
        for path in (ROOT / folder).rglob("*"):
            if path.suffix in (".py", ".sql", ".txt") and path.is_file():
                wanted.add(f"{package.replace('.', '/')}/{path.relative_to(ROOT / folder)}")
    assert held == wanted


def test_the_sdk_needs_two_packages_only() -> None:
    names = {Requirement(line).name for line in project()["project"]["dependencies"]}
    assert names == {"httpx2", "msgspec"}


@pytest.mark.parametrize("name", [*PINNED, "requirements-model.txt"])
def test_a_pin_is_a_name_and_a_version(name: str) -> None:
    for line in (ROOT / name).read_text().splitlines():
        # No address of an index, no hash, no option: they would tie it to one machine's mirror.
        assert line.startswith("# ") or re.fullmatch(r"[\w.-]+==[\w.!+]+", line), line


def test_everything_that_is_needed_is_pinned() -> None:
    table = project()["project"]
    extras = table["optional-dependencies"]
    waiting = [*table["dependencies"], *(line for each in extras.values() for line in each)]
    pinned = pins()
    seen: set[tuple[str, str]] = set()
    while waiting:
        requirement = Requirement(waiting.pop())
        for extra in requirement.extras or {""}:
            name = canonicalize_name(requirement.name)
            if requirement.marker and not requirement.marker.evaluate({"extra": extra}):
                continue
            assert name in pinned, f"{name} is in no file of pins"
            if (name, extra) not in seen:
                seen.add((name, extra))
                waiting += needed_by(name, extra)


def needed_by(name: str, extra: str) -> list[str]:
    try:
        lines = requires(name) or []
    except PackageNotFoundError:
        return []  # for another kind of machine
    needed = []
    for line in lines:
        requirement = Requirement(line)
        if requirement.marker is None or requirement.marker.evaluate({"extra": extra}):
            requirement.marker = None
            needed.append(str(requirement))
    return needed

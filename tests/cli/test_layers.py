"""Who may import whom: the command line knows all, the API and the worker not each other."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

MAY = {
    "loom/cli": {"loom.app", "loom.worker"},
    "loom": set[str](),
    "app": {"loom.app"},
    "worker": {"loom.worker"},
}


def imported(path: Path) -> Iterator[str]:
    """The modules that a file imports, at its top or inside a function."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module or ""
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def folder_of(path: Path) -> str:
    inside = path.relative_to(ROOT).as_posix()
    return next(folder for folder in MAY if inside.startswith(f"{folder}/"))


@pytest.mark.parametrize("side", ["loom.app", "loom.worker"])
def test_only_the_command_line_imports_the_api_and_the_worker(side: str) -> None:
    files = [
        path for folder in ("loom", "app", "worker") for path in ROOT.glob(f"{folder}/**/*.py")
    ]
    assert files
    for path in files:
        if side in MAY[folder_of(path)]:
            continue
        wrong = [name for name in imported(path) if name == side or name.startswith(f"{side}.")]
        assert wrong == [], f"{path} imports {wrong}"


def test_the_command_line_does_import_them() -> None:
    """So that the rule above looks at what is really there."""
    names = {name for path in ROOT.glob("loom/cli/*.py") for name in imported(path)}
    assert {"loom.app", "loom.worker"} <= names

"""Appliers as real processes: `python -m tests.schema.applier_process DSN [ROOT]`."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from loom.migrate import migrate

_REPOSITORY = Path(__file__).parents[2]


def start(dsn: str, root: Path | None = None) -> subprocess.Popen[str]:
    """Starts a process that has everything imported and waits for a line before it migrates."""
    return subprocess.Popen(
        [sys.executable, "-m", __name__, dsn, *([str(root)] if root else [])],
        cwd=_REPOSITORY,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def run_together(dsns: Sequence[str]) -> list[dict[str, object]]:
    """Runs an applier per DSN at once; returns their reports in the order of the DSNs.

    Raises AssertionError with the error output of one that failed.
    """
    processes = [start(dsn) for dsn in dsns]
    for process in processes:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    reports = []
    for process in processes:
        output, errors = process.communicate(timeout=60)
        assert process.returncode == 0, errors
        reports.append(json.loads(output))
    return reports


def _main(dsn: str, root: str | None = None) -> None:
    print("ready", flush=True)
    sys.stdin.readline()
    report = migrate(dsn, log=lambda _line: None, root=Path(root) if root else None)
    print(
        json.dumps(
            {
                "migrations": report.migrations,
                "functions_applied": report.functions_applied,
                "roles": report.roles,
            }
        )
    )


if __name__ == "__main__":
    _main(*sys.argv[1:])

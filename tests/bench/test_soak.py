"""The soak as a whole, for half a minute: every plane is used, no call fails, samples are kept."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
from pathlib import Path

import pytest

from bench.soak.operations import OPERATIONS

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
KINDS = ("structured_profile", "profile_consolidation", "user_profile", "night_weaving")
NONE = ("refused or failed calls", "work that failed", "errors in the logs")


def test_the_command_runs_all_planes_and_keeps_what_it_saw(tmp_path: Path) -> None:
    data = ROOT / "build" / "soak-test"
    arguments = ["--minutes", "0.6", "--peak-seconds", "3", "--every", "3", "--no-graphs"]
    arguments += ["--data", str(data), "--results", str(tmp_path), "--keep-as", "short"]
    done = subprocess.run(
        [sys.executable, "-m", "bench.soak", *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (tmp_path / "short.md").read_text() in done.stdout, done.stderr
    kept = json.loads((tmp_path / "short.json").read_text())
    assert done.returncode == (0 if all(each["holds"] for each in kept["judged"]) else 1)
    judged = {each["what"]: each for each in kept["judged"]}
    assert [judged[what]["found"] for what in NONE] == ["0"] * len(NONE), judged
    # The rare ones may not have had their turn.
    often = {operation.op for operation in OPERATIONS if operation.weight >= 1}
    assert often <= kept["operations"].keys()
    ended = kept["samples"][-1]["work"]
    assert all(any(name.startswith(f"{kind}: ") for name in ended) for kind in KINDS), ended
    assert ended["embedding: stored"] > 0
    with (tmp_path / "short.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == len(kept["samples"]) >= 12
    assert all(float(row["API pss_kib"]) > 0 < float(row["worker pss_kib"]) for row in rows)
    assert not list(data.iterdir())

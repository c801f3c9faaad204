"""The graphs of a soak: matplotlib is asked for when they are drawn, and for nothing else."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from bench.soak.graphs import draw
from tests.bench.test_soak_verdict import RUN

ROOT = Path(__file__).resolve().parents[2]
NAMES = ["memory", "bytes", "rows", "due", "latency", "cpu"]


class Axes:
    """Takes what is plotted, and whatever else is asked of it."""

    def __init__(self, lines: list[tuple[str, int]]) -> None:
        self._lines = lines

    def plot(self, x: list[float], y: list[float], *, label: str, **_: Any) -> None:
        assert len(x) == len(y)
        self._lines.append((label, len(x)))

    def __getattr__(self, name: str) -> Any:
        return lambda *arguments, **options: None


def test_each_figure_has_its_lines_over_all_samples(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines: list[tuple[str, int]] = []
    figure = SimpleNamespace(savefig=lambda path, **_: path.touch())
    pyplot = SimpleNamespace(subplots=lambda **_: (figure, Axes(lines)), close=lambda closed: None)
    monkeypatch.setitem(sys.modules, "matplotlib", SimpleNamespace(use=lambda backend: None))
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", pyplot)
    drawn = draw(RUN, tmp_path / "figures", "soak")
    assert [path.name for path in drawn] == [f"soak-{name}.png" for name in NAMES]
    assert all(path.exists() for path in drawn)
    assert {label for label, _ in lines} == {
        *("API", "worker", "memory", "audit", "live", "dead", "structured_profile", "embedding"),
        *("p50", "p99", "PostgreSQL"),
    }
    assert {points for _, points in lines} == {len(RUN)}


def test_a_soak_without_graphs_needs_no_matplotlib() -> None:
    told = "import sys, bench.soak.__main__; print('matplotlib' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", told], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "False"

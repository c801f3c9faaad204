"""The graphs of a run, as small PNG files. matplotlib is an extra, imported only here."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, Final

from bench.soak.samples import Sample

Lines = Mapping[str, Sequence[float]]

_TABLES: Final = 6
"""How many tables are drawn: those that came to be the largest."""


def draw(samples: Sequence[Sample], folder: Path, name: str) -> list[Path]:
    """Draw all of them into `folder`. Raises `ImportError` without matplotlib."""
    matplotlib = import_module("matplotlib")
    matplotlib.use("Agg")
    pyplot = import_module("matplotlib.pyplot")
    folder.mkdir(parents=True, exist_ok=True)
    return [
        _figure(pyplot, samples, folder / f"{name}-{each}.png", title, lines(samples))
        for each, (title, lines) in _FIGURES.items()
    ]


def _figure(pyplot: Any, samples: Sequence[Sample], path: Path, title: str, lines: Lines) -> Path:
    figure, axes = pyplot.subplots(figsize=(7, 3), dpi=80)
    minutes = [each.seconds / 60 for each in samples]
    for label, values in lines.items():
        axes.plot(minutes, values, label=label, linewidth=1)
    axes.set_title(title, fontsize=10)
    axes.set_xlabel("minutes")
    axes.set_ylim(bottom=0)
    axes.grid(alpha=0.3)
    axes.legend(fontsize=7, loc="upper left", bbox_to_anchor=(1, 1))
    figure.savefig(path, bbox_inches="tight", metadata={"Software": None})
    pyplot.close(figure)
    return path


def _memory(samples: Sequence[Sample]) -> Lines:
    return {name: [each.memory[name].pss / 1024 for each in samples] for name in samples[0].memory}


def _largest(samples: Sequence[Sample]) -> list[str]:
    last = samples[-1].tables
    return sorted(last, key=lambda name: -last[name].bytes)[:_TABLES]


def _bytes(samples: Sequence[Sample]) -> Lines:
    return {
        name: [each.tables[name].bytes / 2**20 for each in samples] for name in _largest(samples)
    }


def _rows(samples: Sequence[Sample]) -> Lines:
    return {
        "live": [sum(table.live for table in each.tables.values()) for each in samples],
        "dead": [sum(table.dead for table in each.tables.values()) for each in samples],
    }


def _due(samples: Sequence[Sample]) -> Lines:
    kinds = samples[0].oldest_due
    return {kind: [each.oldest_due.get(kind, 0.0) for each in samples] for kind in kinds}


def _speed(samples: Sequence[Sample]) -> Lines:
    return {
        "p50": [each.p50_ms for each in samples],
        "p99": [each.p99_ms for each in samples],
    }


def _cpu(samples: Sequence[Sample]) -> Lines:
    return {name: [each.cpu[name] for each in samples] for name in samples[0].cpu}


_FIGURES: Final[Mapping[str, tuple[str, Callable[[Sequence[Sample]], Lines]]]] = {
    "memory": ("memory (PSS), MiB", _memory),
    "bytes": ("tables with their indexes, MiB (the largest)", _bytes),
    "rows": ("rows of all tables", _rows),
    "due": ("what is due the longest, seconds", _due),
    "latency": ("time of a call, ms", _speed),
    "cpu": ("processors used", _cpu),
}

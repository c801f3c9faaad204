"""What the bench of facts says of a pair, and that it runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.facts import BLACKLIST_MS, Pair, main


@pytest.mark.parametrize(
    ("pair", "verdict"),
    [
        (Pair("a", 100.0, 120.0, 1.2, most=1.25), "kept"),
        (Pair("a", 100.0, 130.0, 1.3, most=1.25), "not kept"),
        (Pair("a", 1_000.0, 20_900.0, 20.9, most_ms=BLACKLIST_MS), "kept"),
        (Pair("a", 1_000.0, 21_100.0, 21.1, most_ms=BLACKLIST_MS), "not kept"),
        (Pair("a", 100.0, 200.0, 2.0), ""),
    ],
)
def test_a_bound_is_of_the_ratio_or_of_the_difference(pair: Pair, verdict: str) -> None:
    assert pair.verdict == verdict


@pytest.mark.slow  # starts a server of its own, and compares for half a minute
def test_a_first_look_prints_all_pairs_and_keeps_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["--quick", "--data", str(tmp_path), "--results", str(tmp_path)]) == 0
    said = capsys.readouterr().out
    assert said.count("versions |") == 3
    assert "two full blacklists" in said and "are folded" in said
    assert list(tmp_path.glob("*.md")) == []

"""API, worker and PostgreSQL killed under a write load: what was acknowledged stays, once."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from tests.chaos.faults import FIRST
from tests.chaos.run import Result, blackout, chaos

pytestmark = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks into /proc")

SEED = 3


def judge(result: Result, capsys: pytest.CaptureFixture[str]) -> None:
    with capsys.disabled():
        print(f"\n{result.report()}")
    assert result.verdict.clean, result.report()
    assert result.workload.statuses[500] == 0, result.report()
    assert result.workload.acknowledged > 100, result.report()


def test_ten_seconds_of_chaos(capsys: pytest.CaptureFixture[str]) -> None:
    result = chaos(10.0, SEED)
    judge(result, capsys)
    assert result.faults.keys() >= set(FIRST), result.report()


@pytest.mark.slow
def test_a_minute_of_chaos(capsys: pytest.CaptureFixture[str]) -> None:
    result = chaos(60.0, time.time_ns() % 1_000_000)
    judge(result, capsys)
    assert len(result.faults) == 5, result.report()


def test_acknowledged_writes_are_there_after_everything_was_killed_at_once(
    capsys: pytest.CaptureFixture[str],
) -> None:
    judge(blackout(writes=300, seed=SEED), capsys)

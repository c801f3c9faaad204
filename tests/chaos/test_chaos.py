"""All planes under load while parts are killed and connections break: what was acknowledged stays.

What each kind of finding means stands with `Verdict` and `Census`. A clean run shows what reports
of users ask for: a build is of what it read or is made anew (O13), of two editors of one version
one is told no (O16), appends and deltas of many writers all stay (O19, O20), a backlog drains when
workers come back, and leases of those that were killed or held up are taken over (O46, O50), what
was erased has no derived rows left (O70), and sessions that the server ends are replaced (O76).
"""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from tests.chaos.faults import FIRST, KINDS
from tests.chaos.load import PLANES
from tests.chaos.proxy import BREAKS
from tests.chaos.run import Result, blackout, chaos
from tests.chaos.sabotage import sabotage

pytestmark = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks into /proc")

SEED = 3


def judge(result: Result, capsys: pytest.CaptureFixture[str], folder: Path) -> None:
    with capsys.disabled():
        print(f"\n{result.report()}")
    assert result.clean, result.report()
    assert result.load.acknowledged > 100, result.report()
    assert {act.partition(":")[0] for act in result.load.kinds} == PLANES.keys()
    assert str(result.report()) in result.write(folder).read_text()
    told = json.loads((folder / "chaos.json").read_text())
    assert len(told["operations"]) == len(result.load.history.operations)


def test_o19_o20_o50_some_seconds_of_chaos(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    result = chaos(4.0, SEED)
    judge(result, capsys, tmp_path)
    assert result.faults.keys() >= set(FIRST), result.report()


@pytest.mark.slow
def test_o13_o16_o46_o70_o76_a_minute_of_chaos(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    result = chaos(60.0, time.time_ns() % 1_000_000)
    judge(result, capsys, tmp_path)
    assert result.faults.keys() == {*KINDS, *BREAKS}, result.report()


@pytest.mark.slow
def test_an_installation_that_loses_and_doubles_is_found_out(
    capsys: pytest.CaptureFixture[str],
) -> None:
    result = chaos(20.0, SEED, sabotage)
    with capsys.disabled():
        print(f"\n{result.report()}")
    found = {**result.verdict.counts, **result.census.counts}
    wanted = ("lost", "doubled", "impossible", "digests_off")
    assert all(found[each] for each in wanted), result.report()


def test_acknowledged_writes_are_there_after_everything_was_killed_at_once(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    judge(blackout(writes=300, seed=SEED), capsys, tmp_path)

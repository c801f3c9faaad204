"""All planes under load while parts are killed and connections break: what was acknowledged stays.

What each kind of finding means stands with `Verdict` and `Census`. Reports of users that a clean
run answers: no write is lost or done twice under races (O14, O16, O19, O20), builds are taken over
from workers that are killed or held up and written once (O13, O50, O51), nothing waits for ever
(O21, O46, O57), what was erased stays so (O70), and connections that die are replaced (O76).
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


def test_o50_o51_o57_o76_some_seconds_of_chaos(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    result = chaos(4.0, SEED)
    judge(result, capsys, tmp_path)
    assert result.faults.keys() >= set(FIRST), result.report()


@pytest.mark.slow
def test_o13_o16_o46_o70_a_minute_of_chaos(
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

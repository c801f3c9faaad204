"""The benchmark itself: every door does the same work, and the command runs."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bench.doors import Doors
from bench.erasure import measure
from bench.machine import NotDurableError, describe
from bench.servers import Stage
from bench.workloads import WORKLOADS, Workload

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def doors(running: Stage) -> Iterator[Doors]:
    opened = Doors(running.places)
    yield opened
    opened.close()


def told(answer: Any) -> list[str]:
    """The hashes that an answer holds, and so the texts: of a row, of an object, of a batch."""
    if isinstance(answer, list | tuple):
        return [each for part in answer for each in told(part)]
    if isinstance(answer, dict):
        return [each for part in answer.values() for each in told(part)]
    return [answer] if isinstance(answer, str) and len(answer) == 64 else []


@pytest.mark.parametrize("workload", WORKLOADS, ids=lambda workload: workload.name)
def test_every_door_does_the_same_work(doors: Doors, workload: Workload) -> None:
    hashes = {}
    for client, door in enumerate(workload.doors):
        call = doors.call(door, workload)
        for seeding, times in workload.seed:
            for n in range(times):
                for reached in {"a" if door == "a" else "b"}:
                    doors.call(reached, seeding)(seeding.request(99, n))
        # A user for each door, since three of them reach the same data.
        number = 99 if workload.seed else 100 + client
        answers = [call(fixed(workload, number, n)) for n in range(3)]
        hashes[door] = [sorted(told(answer)) for answer in answers]
    assert all(hashes["a"]), hashes
    assert all(found == hashes["a"] for found in hashes.values())


def fixed(workload: Workload, client: int, n: int) -> dict[str, Any]:
    """A request with the text of client 0, so that all doors write the same."""
    text = json.dumps(workload.request(client, n)).replace(f'"{client}.', '"0.')
    request: dict[str, Any] = json.loads(text)
    return request


def test_commits_are_durable_and_the_machine_is_named(running: Stage) -> None:
    described = describe(running.admin)
    assert described["settings"]["fsync"] == described["settings"]["synchronous_commit"] == "on"
    assert described["file_system"] not in ("tmpfs", "unknown")
    assert described["processors"] >= 1


def test_a_server_that_does_not_wait_for_the_disk_is_refused(running: Stage) -> None:
    with pytest.raises(NotDurableError, match="synchronous_commit"):
        describe(running.admin + " options='-c synchronous_commit=off'")


def test_the_command_measures_and_keeps_what_it_printed(tmp_path: Path) -> None:
    data = ROOT / "build" / "bench-test"
    arguments = ["--quick", "--seconds", "2", "--rounds", "1", "--only", "get"]
    done = subprocess.run(
        [sys.executable, "-m", "bench", *arguments, "--results", tmp_path, "--data", data],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "quick.md").read_text() in done.stdout
    cells = json.loads((tmp_path / "quick.json").read_text())["cells"]
    assert len(cells) == 8
    assert all(cell["medians"]["ops_per_second"] > 0 for cell in cells)
    assert all(cell["medians"]["server_us"] > 0 for cell in cells)
    assert all((cell["medians"]["app_us"] > 0) == (cell["door"] in "cd") for cell in cells)
    assert not list(data.iterdir())


def test_an_erasure_of_a_full_user_is_timed(running: Stage) -> None:
    assert all(seconds > 0 for seconds in measure(running.admin, 1).values())

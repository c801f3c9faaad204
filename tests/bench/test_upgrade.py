"""The bench of upgrades: a small database of the first schema comes to today's, under load."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from psycopg.types.json import Jsonb

from bench.first_schema import LAST, first_schema
from bench.upgrade import Outcome, Step, Write, Writers, run, text
from loom.migrate import migrate, status
from loom.sql_tree import SqlTree
from tests.cluster import Cluster

ROOT = Path(__file__).resolve().parents[2]
MACHINE = {"at": "now", "processors": 2, "processor": "p", "postgresql": "18", "load_before": 0.0}


def test_the_first_schema_is_a_prefix_of_todays_and_comes_to_it(
    cluster: Cluster, tmp_path: Path
) -> None:
    tree = SqlTree.read(first_schema(tmp_path))
    assert tree.migrations[-1].name == LAST
    assert [each.sha256 for each in tree.migrations] == [
        each.sha256 for each in SqlTree.read().migrations[: len(tree.migrations)]
    ]
    name = f"{cluster.prefix}_first"
    cluster.create(name)
    migrate(cluster.dsn(name), log=lambda line: None, root=tree.root)
    assert status(cluster.dsn(name)).pending == tuple(
        each.record for each in SqlTree.read().migrations[len(tree.migrations) :]
    )
    migrate(cluster.dsn(name), log=lambda line: None)
    assert status(cluster.dsn(name)).current


def test_the_first_schemas_functions_write_with_those_of_today_that_they_call(
    cluster: Cluster, tmp_path: Path
) -> None:
    name = f"{cluster.prefix}_first_writes"
    cluster.create(name)
    migrate(cluster.dsn(name), log=lambda line: None, root=first_schema(tmp_path))
    place = {"org": "acme", "namespace": "n", "user_id": "u"}
    with cluster.connect(name) as conn:
        for op, own in (
            (b"working_memory_set", {"block_key": "a", "content": "x"}),
            (b"memory_set", {"memory_key": "k", "value": "x"}),
        ):
            conn.execute(b"select loom.%b(%%s)" % op, [Jsonb({**place, **own})])
        written = conn.execute(
            "select (select count(*) from loom.working_memory where block_key = 'a'),"
            " (select count(*) from loom.memory where memory_key = 'k')"
        ).fetchone()
    assert written == (1, 1)


def test_the_longest_wait_is_told_by_step_and_operation() -> None:
    steps = [Step("first", 10.0, 11.0), Step("second", 11.0, 14.0)]
    writes = [
        Write("memory_set", 9.0, 9.5, None),
        Write("memory_set", 10.5, 13.5, None),
        Write("working_memory_set", 10.1, 10.3, None),
        Write("working_memory_set", 20.0, 90.0, None),
    ]
    told = text(Outcome(MACHINE, {"memory": 5}, steps, writes))
    assert "write waited: **3.00 s**" in told
    assert "refused, of all: none" in told
    assert "| first | 1.00 | 0.20 | 3.00 |" in told
    assert "| second | 3.00 | 0.00 | 3.00 |" in told


def test_refusals_are_counted_by_operation_and_code() -> None:
    writes = [Write("memory_set", 9.0, 9.5, None), Write("memory_set", 10.0, 10.5, "55P03")]
    told = text(Outcome(MACHINE, {"memory": 5}, [Step("first", 10.0, 11.0)], writes))
    assert "refused, of all: memory_set 55P03 × 1" in told


def test_a_writer_that_ends_early_fails_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    def write(self: Writers, number: int) -> None:
        if number == 7:
            raise KeyError("no refusal")

    monkeypatch.setattr(Writers, "write", write)
    writers, migrated = Writers("", users=1), False
    with pytest.raises(KeyError, match="no refusal"), writers.writing():
        migrated = True
    assert migrated


@pytest.mark.slow
def test_a_few_thousand_rows_are_migrated_under_load() -> None:
    outcome = run(ROOT / "build" / "upgrade-test", 3000, 0.5, print)
    # One block more: that by which the namespace came into being.
    filled = {"user_state": 45, "working_memory": 901, "memory": 900, "memory_version": 1200}
    assert outcome.rows == filled
    assert not outcome.refused
    assert [step.said for step in outcome.steps][-1] == "the schema is up to date"
    assert {each.op for each in outcome.during} == {"working_memory_set", "memory_set"}


@pytest.mark.slow
def test_the_command_keeps_what_it_printed(tmp_path: Path) -> None:
    arguments = ["--rows", "1000", "--quiet-seconds", "0.2", "--keep-as", "small"]
    done = subprocess.run(
        [sys.executable, "-m", "bench.upgrade", *arguments, "--results", tmp_path],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "small.md").read_text() in done.stdout

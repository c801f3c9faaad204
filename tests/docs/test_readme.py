"""The README is true: its calls answer what it shows, its example prints what it shows."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from loom.postgres_binaries import find
from tests.cli.processes import Up, environment, loom
from tests.embedded.folders import public_parent, temporary

pytestmark = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks into /proc")

README = (Path(__file__).resolve().parents[2] / "README.md").read_text()
PRINTED_URL = "http://127.0.0.1:7777"

# What is another each time.
_VARIES = re.compile(r'"(updated_at|request_id)": ?"[^"]*"')


def blocks(kind: str) -> list[str]:
    """The fenced blocks of a kind, without their fences."""
    found = re.findall(r"^```(\w*)\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)
    return [text for each, text in found if each == kind]


@pytest.fixture(scope="module")
def up() -> Iterator[Up]:
    """What `make run` starts, on a folder and a port of its own."""
    with temporary(public_parent(), 0o755) as folder:
        started = Up(folder / "loom")
        try:
            yield started.ready()
        finally:
            started.kill()


def test_the_calls_answer_what_is_shown(up: Up) -> None:
    if shutil.which("curl") is None:
        pytest.skip("there is no curl")
    (session,) = blocks("console")
    lines = [line for line in session.splitlines() if line]
    calls = list(zip(lines[::2], lines[1::2], strict=True))
    assert len(calls) >= 3
    for call, shown in calls:
        argv = shlex.split(call.removeprefix("$ ").replace(PRINTED_URL, up.url))
        answer = subprocess.run([*argv, "-sS", "--noproxy", "*"], capture_output=True, text=True)
        assert fixed(answer.stdout) == fixed(shown), call


def fixed(answer: str) -> Any:
    return json.loads(_VARIES.sub(r'"\1": "…"', answer))


@pytest.mark.parametrize("example", blocks("python"), ids=["blocks", "pack", "looms"])
def test_an_example_prints_what_is_shown(up: Up, tmp_path: Path, example: str) -> None:
    program = tmp_path / "example.py"
    program.write_text(example)
    done = subprocess.run(
        [sys.executable, str(program)],
        env=environment({"LOOM_BASE_URL": up.url}),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout in blocks("")


def test_what_is_printed_at_the_start_is_what_is_shown(up: Up) -> None:
    said = "".join(up.out).replace(up.url, PRINTED_URL)
    (shown,) = [block for block in blocks("") if block.startswith("Loom is up")]
    assert shown.replace("--noproxy '*' ", "") in said.replace("--noproxy '*' ", "")


@pytest.mark.skipif(
    find().major < 16,
    reason="before PostgreSQL 16 the embedded server lets in only logins it was told of",
)
def test_the_sql_session_answers_what_is_shown(up: Up, tmp_path: Path) -> None:
    env = {"LOOM_DATA_DIR": str(up.data_dir)}
    once, then = tmp_path / "once.sql", tmp_path / "then.sql"
    once_text, then_text = blocks("sql")
    once.write_text(once_text)
    then.write_text(then_text)
    done = loom("psql", "--", "-v", "ON_ERROR_STOP=1", "-f", str(once), env=env)
    assert done.code == 0, done.err
    (command,) = re.findall(r"loom psql (-- -U \w+)", README)
    as_billing = ("psql", *command.split())
    done = loom(*as_billing, "-f", str(then), env=env)
    assert done.out.strip() in [block.strip() for block in blocks("")], done.err
    other = """select loom.working_memory_get('{"org": "other", "namespace": "n"}')"""
    done = loom(*as_billing, "-v", "VERBOSITY=sqlstate", "-c", other, env=env)
    assert (done.code, done.err) == (1, "ERROR:  LM302\n")
    done = loom(*as_billing, "-c", "table loom.working_memory", env=env)
    assert (done.code, "permission denied" in done.err) == (1, True)

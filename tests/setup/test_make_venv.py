"""scripts/make-venv: which Python it takes, when it starts over, and what it says if there is none.

The interpreters are small scripts, so nothing is installed.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

TOOLS = ("sh", "cat", "dirname", "mkdir", "rm", "chmod", "cp")

# Answers -c as a real Python does, except that `has` may lack modules; keeps a list of other calls.
PYTHON = """#!/bin/sh
case "$*" in
    *"import venv, ensurepip"*) exit {no_ensurepip} ;;
    *"import venv, pip"*) exit {no_pip} ;;
    *python_version*) echo {version}; exit 0 ;;
    *version_info*) exit {too_old} ;;
    "-m venv"*)
        for folder; do :; done
        mkdir -p "$folder/bin" && cp "$0" "$folder/bin/python" ;;
esac
echo "$(cat '{name_file}') $*" >>'{calls}'
"""


class Machine:
    """A copy of the script in a checkout of its own, and a PATH with only what is put on it."""

    def __init__(self, folder: Path) -> None:
        self.checkout = folder / "checkout"
        self.calls = folder / "calls"
        self._path: list[Path] = []
        self._tools = folder / "tools"
        self._tools.mkdir()
        for tool in TOOLS:
            found = shutil.which(tool)
            assert found
            (self._tools / tool).symlink_to(found)
        (self.checkout / "scripts").mkdir(parents=True)
        shutil.copy(ROOT / "scripts" / "make-venv", self.checkout / "scripts")

    def add_python(
        self, name: str, *, version: str = "3.12.1", ensurepip: bool = True, pip: bool = True
    ) -> None:
        """Put an interpreter last on PATH."""
        too_old = tuple(map(int, version.split(".")))[:2] < (3, 11)
        folder = self._tools.parent / f"path-{len(self._path)}"
        folder.mkdir()
        (folder / "name").write_text(f"{name} {version}")
        text = PYTHON.format(
            no_ensurepip=int(not ensurepip),
            no_pip=int(not pip),
            too_old=int(too_old),
            version=version,
            name_file=folder / "name",
            calls=self.calls,
        )
        self.add_command(folder / name, text)

    def add_command(self, path: Path, text: str) -> None:
        """Put a program last on PATH."""
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        path.chmod(0o755)
        self._path.append(path.parent)

    def run(self, **env: str) -> subprocess.CompletedProcess[str]:
        """Make the environment; what was called is in `log`."""
        self.calls.write_text("")
        path = ":".join(map(str, [*self._path, self._tools]))
        return subprocess.run(
            ["sh", "scripts/make-venv", ".venv"],
            cwd=self.checkout,
            env={"PATH": path, **env},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )

    @property
    def log(self) -> list[str]:
        """The calls of interpreters that were made, but for looks at their version."""
        return self.calls.read_text().splitlines()


@pytest.fixture
def machine(program_dir: Path) -> Machine:
    return Machine(program_dir)


def test_a_shim_that_does_not_work_is_passed_over(machine: Machine, program_dir: Path) -> None:
    machine.add_command(
        program_dir / "shims" / "python3", "#!/bin/sh\necho no such version >&2; exit 127\n"
    )
    machine.add_python("python3", version="3.9.2")
    machine.add_python("python3.13", version="3.13.0")
    done = machine.run()
    assert done.returncode == 0, done.stderr
    assert machine.log[0] == "python3.13 3.13.0 -m venv .venv"


def test_what_is_installed_is_pinned_and_then_marked_as_installed(machine: Machine) -> None:
    machine.add_python("python3")
    assert machine.run().returncode == 0
    installs = [line for line in machine.log if " install " in line]
    assert len(installs) == 2
    assert all("--constraint constraints.txt" in line for line in installs)
    assert installs[1].endswith("--editable .[server,local-embeddings,dev]")
    installed = machine.checkout / ".venv" / ".installed"
    assert installed.read_text().strip() == str(machine.checkout)


def test_an_environment_that_works_is_kept(machine: Machine) -> None:
    machine.add_python("python3")
    machine.run()
    assert machine.run().returncode == 0
    assert not any("-m venv" in line for line in machine.log)
    assert any("--editable" in line for line in machine.log)


def test_an_environment_made_in_another_folder_is_made_anew(machine: Machine) -> None:
    machine.add_python("python3")
    machine.run()
    machine.checkout = machine.checkout.rename(machine.checkout.with_name("moved"))
    assert machine.run().returncode == 0
    assert "-m venv .venv" in machine.log[0]


def test_an_environment_whose_python_is_gone_is_made_anew(machine: Machine) -> None:
    machine.add_python("python3")
    machine.run()
    (machine.checkout / ".venv" / "bin" / "python").unlink()
    assert machine.run().returncode == 0
    assert "-m venv .venv" in machine.log[0]


def test_without_ensurepip_an_installed_pip_will_do(machine: Machine) -> None:
    machine.add_python("python3", ensurepip=False)
    assert machine.run().returncode == 0
    assert machine.log[0].endswith("-m venv --without-pip .venv")
    assert machine.log[1].endswith("-m pip --python .venv/bin/python install --quiet pip")


def test_a_python_that_can_make_none_gives_way_to_one_that_can(machine: Machine) -> None:
    machine.add_python("python3", version="3.13.1", ensurepip=False, pip=False)
    machine.add_python("python3", version="3.11.2")
    assert machine.run().returncode == 0
    assert machine.log[0].startswith("python3 3.11.2 -m venv")


def test_without_ensurepip_and_pip_the_missing_package_is_named(machine: Machine) -> None:
    machine.add_python("python3", ensurepip=False, pip=False)
    done = machine.run()
    assert done.returncode != 0
    assert "python3-venv" in done.stderr
    assert not (machine.checkout / ".venv").exists()


def test_too_old_a_python_is_named(machine: Machine) -> None:
    machine.add_python("python3", version="3.9.2")
    done = machine.run()
    assert done.returncode != 0
    assert "no working Python 3.11 or newer" in done.stderr
    assert "python3 is 3.9.2" in done.stderr


def test_the_python_that_the_user_names_is_taken(machine: Machine) -> None:
    machine.add_python("python3")
    machine.add_python("mine", version="3.14.0")
    assert machine.run(PYTHON="mine").returncode == 0
    assert machine.log[0].startswith("mine 3.14.0 -m venv")
    shutil.rmtree(machine.checkout / ".venv")
    done = machine.run(PYTHON="missing")
    assert done.returncode != 0
    assert "PYTHON=missing is not a working Python" in done.stderr


def test_an_install_that_fails_is_not_marked_as_installed(machine: Machine) -> None:
    machine.add_python("python3")
    machine.run()
    python = machine.checkout / ".venv" / "bin" / "python"
    python.write_text(
        f'#!/bin/sh\ncase "$*" in *pip*) exit 3 ;; *) exec "{sys.executable}" "$@" ;; esac\n'
    )
    assert machine.run().returncode != 0
    assert not (machine.checkout / ".venv" / ".installed").exists()

"""The pages: `make docs` writes them, `--check` finds what is not current, links lead somewhere."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import pytest

from loom.app.errors import ERRORS
from loom.settings import Settings, variable
from scripts.reference.__main__ import PAGES, PARTS, main
from scripts.reference.errors import errors_page
from scripts.reference.markdown import prose
from scripts.reference.settings import ELSEWHERE, settings_page

ROOT = Path(__file__).resolve().parents[2]
SOURCES = ("loom", "app", "worker")

_LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
_HEADING = re.compile(r"^#+ (.*)$", re.MULTILINE)
_FENCE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    """A folder with the pages as they are made now."""
    for name in PARTS:
        shutil.copy(ROOT / "docs" / name, tmp_path)
    assert main([], tmp_path) == 0
    return tmp_path


def test_what_was_just_made_is_current(docs: Path) -> None:
    assert {path.name for path in docs.iterdir()} == {*PAGES, *PARTS}
    assert main(["--check"], docs) == 0


@pytest.mark.parametrize("name", PAGES)
def test_a_page_that_was_changed_is_shown_and_left_as_it_is(
    docs: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    changed = (docs / name).read_text().replace("the", "teh", 1)
    (docs / name).write_text(changed)
    assert main(["--check"], docs) == 1
    shown = capsys.readouterr()
    assert f"--- docs/{name}" in shown.out
    assert shown.out.count("--- docs/") == 1
    assert "make docs" in shown.err
    assert (docs / name).read_text() == changed


def test_a_page_that_is_not_there_is_not_current(docs: Path) -> None:
    (docs / "errors.md").unlink()
    assert main(["--check"], docs) == 1
    assert main([], docs) == 0
    assert main(["--check"], docs) == 0


def test_it_runs_as_a_program_with_an_exit_code() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "scripts.reference", "--wrong"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert "usage" in done.stderr


def test_every_error_is_on_its_page_with_what_to_do() -> None:
    page = errors_page()
    for error in ERRORS:
        row = f"| [`{error.code}`](#{error.code.lower()}) | {error.status} | {error.sqlstate or ''}"
        assert row in page
        section = page.partition(f"\n## {error.code}\n")[2].partition("\n## ")[0]
        assert "What to do" in section, error.code


def test_every_setting_is_on_its_page() -> None:
    page = settings_page()
    for setting in fields(Settings):
        assert f"| `{variable(setting.name)}` |" in page
    assert "a whole number from 0 to 65535" in page
    assert '"required" or "open"' in page
    assert str(Path.home()) not in page


def test_every_variable_that_the_code_reads_is_on_the_page() -> None:
    known = {variable(setting.name) for setting in fields(Settings)} | set(ELSEWHERE)
    read = set()
    for folder in SOURCES:
        for path in (ROOT / folder).rglob("*.py"):
            read |= set(re.findall(r"\bLOOM_[A-Z][A-Z_]*[A-Z]\b", path.read_text()))
    read -= {error.code for error in ERRORS}
    assert read <= known
    assert set(ELSEWHERE) <= read


def pages_with_links() -> list[Path]:
    return [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]


@pytest.mark.parametrize("page", pages_with_links(), ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    for target in _LINK.findall(_FENCE.sub("", page.read_text())):
        if "://" in target:
            continue
        name, _, anchor = target.partition("#")
        leads_to = (page.parent / name).resolve() if name else page
        assert leads_to.exists(), target
        if anchor:
            assert anchor in anchors(leads_to), target


def anchors(page: Path) -> set[str]:
    """The anchors that GitHub gives the headings of a page."""
    headings = _HEADING.findall(_FENCE.sub("", page.read_text()))
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_names_become_code_and_signs_stay_signs() -> None:
    assert prose("every org with *, by loom.service_bind") == (
        "every org with \\*, by `loom.service_bind`"
    )
    assert prose("`a_b *` and block_key < 1") == "`a_b *` and `block_key` \\< 1"
    assert prose("STALE_WRITE. e.g. this") == "STALE_WRITE. `e.g`. this"

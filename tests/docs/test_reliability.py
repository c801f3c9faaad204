"""The table of reports in docs/reliability.md: each of them once, and nothing in it that is not so.

The page is read back here, and the tests are looked for by a way of their own.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from scripts.reference import reports
from scripts.reference.__main__ import PARTS, main
from scripts.reference.reports import numbered_tests

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "reliability.md"

_ROW = re.compile(r"^\| O(\d+) \| ([^|]+) \| ([^|]+) \|$", re.MULTILINE)
_TEST = re.compile(r"`(tests/[\w/]+\.py)::(\w+)`")


def rows() -> dict[int, tuple[str, str]]:
    """Symptom and proof by number; fails where one stands twice."""
    found = _ROW.findall(PAGE.read_text(encoding="utf-8"))
    assert len({number for number, _, _ in found}) == len(found)
    return {int(number): (said, proof) for number, said, proof in found}


def functions(path: Path) -> dict[str, str]:
    """The functions of a file with their docstrings, without importing it."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    defined = (ast.FunctionDef, ast.AsyncFunctionDef)
    found = [node for node in ast.walk(tree) if isinstance(node, defined)]
    return {node.name: ast.get_docstring(node) or "" for node in found}


def test_every_report_stands_in_the_table_once() -> None:
    assert list(rows()) == list(range(1, 81))


def test_every_report_has_tests_or_says_why_not() -> None:
    for number, (said, proof) in rows().items():
        assert said.strip(), number
        assert _TEST.search(proof) or number in reports.NOTES, number


def test_every_test_in_the_table_exists_and_bears_the_number() -> None:
    for number, (_, proof) in rows().items():
        for path, name in _TEST.findall(proof):
            defined = functions(ROOT / path)
            assert name in defined, (path, name)
            named = f"_o{number}_" in name or re.search(rf"\bO{number}\b", defined[name])
            assert named, (number, path, name)


def test_every_test_that_bears_a_number_is_in_the_table() -> None:
    table = {number: set(_TEST.findall(proof)) for number, (_, proof) in rows().items()}
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        place = path.relative_to(ROOT).as_posix()
        for name, docstring in functions(path).items():
            if name.startswith("test_"):
                borne = re.findall(r"_o(\d+)(?=_)", name) + re.findall(r"\bO(\d+)\b", docstring)
                for number in map(int, borne):
                    assert (place, name) in table[number], (number, place, name)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A folder of tests."""
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "test_some.py").write_text(
        "def test_o3_o12_two(): ...\n"
        "class Kept:\n    async def test_one(self):\n        'O12: by its docstring.'\n"
        "def o12_helper(): 'O12'\n"
        "def test_to3_none(): 'NO12'\n"
    )
    return tmp_path / "tests"


def test_numbers_are_read_from_names_and_docstrings(tree: Path) -> None:
    two, one = "tests/test_some.py::test_o3_o12_two", "tests/test_some.py::test_one"
    assert numbered_tests(tree) == {3: [two], 12: [two, one]}


def test_a_report_without_tests_and_reason_makes_no_table(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reports, "numbered_tests", dict)
    with pytest.raises(LookupError, match="no test bears O1"):
        reports.reports_table()


def test_the_rest_of_the_page_is_left_as_it_is(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (page,) = (tmp_path / name for name in PARTS)
    before, after = "# By hand | O1 |\n", "\n## Also by hand\n"
    whole = PAGE.read_text(encoding="utf-8")
    part = whole[whole.index("<!-- From") : whole.rindex("-->\n") + 4]
    page.write_text(before + part.replace("| O1 |", "| O2 |") + after)
    assert main([], tmp_path) == 0
    assert page.read_text() == before + part + after
    page.write_text(page.read_text().replace("| O1 |", "| O2 |"))
    assert main(["--check"], tmp_path) == 1
    assert "docs/reliability.md (made now)" in capsys.readouterr().out


def test_without_its_marks_the_page_is_refused(tmp_path: Path) -> None:
    (page,) = (tmp_path / name for name in PARTS)
    page.write_text("# No marks\n")
    with pytest.raises(LookupError, match="marks"):
        main([], tmp_path)

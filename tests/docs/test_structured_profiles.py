"""The rules in docs/structured-profiles.md: each built one names tests, and they are there."""

from __future__ import annotations

import re
from pathlib import Path

_ROOT = Path(__file__).resolve().parents[2]
_RULE = re.compile(r"^\| (\d+) \| (.+) \| (built|void) \| (.+) \|$", re.MULTILINE)
_TEST = re.compile(r"`([\w/]+\.py)::(test_\w+)`")


def rules() -> list[tuple[str, str, str, str]]:
    page = (_ROOT / "docs" / "structured-profiles.md").read_text(encoding="utf-8")
    return _RULE.findall(page)


def test_the_rules_are_numbered_through() -> None:
    assert [number for number, *_rest in rules()] == [str(n) for n in range(1, len(rules()) + 1)]
    assert len(rules()) >= 90


def test_a_rule_that_is_built_names_its_tests_and_another_says_why_not() -> None:
    for number, _rule, state, shown in rules():
        assert bool(_TEST.findall(shown)) or state != "built", number


def test_the_tests_are_there() -> None:
    for number, _rule, _state, shown in rules():
        for file, name in _TEST.findall(shown):
            text = (_ROOT / "tests" / file).read_text(encoding="utf-8")
            assert f"def {name}(" in text, (number, file, name)

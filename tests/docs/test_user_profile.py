"""The example in docs/user-profile.md prints what the page shows, and the README's does too."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from tests.calls import Connection, operate

_ROOT = Path(__file__).resolve().parents[2]
_BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def test_the_example_prints_what_is_shown() -> None:
    page = (_ROOT / "docs" / "user-profile.md").read_text(encoding="utf-8")
    (_, example), (_, shown) = _BLOCK.findall(page)
    done = subprocess.run(
        [sys.executable, "-c", example], capture_output=True, text=True, check=False
    )
    assert (done.stdout, done.stderr) == (shown, "")


def test_the_readme_shows_what_is_rendered(db: Connection) -> None:
    readme = (_ROOT / "README.md").read_text(encoding="utf-8")
    said = re.search(r'user_profile\.update .*"text": "([^"]*)"', readme)
    shown = re.search(r"    → (User profile:\n(?:      - .*\n)+)", readme)
    assert said is not None
    assert shown is not None
    place = {"org": "acme", "namespace": "main", "user_id": "u-42"}
    operate(db, "user_profile.update", **place, signals=[{"text": said[1]}])
    text = operate(db, "user_profile.render", **place)["text"]
    assert text == shown[1].replace("\n      ", "\n").rstrip("\n")

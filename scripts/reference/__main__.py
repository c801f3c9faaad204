"""`python -m scripts.reference` writes the pages; with `--check` it shows what is not current."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from difflib import unified_diff
from pathlib import Path

from scripts.reference.errors import errors_page
from scripts.reference.operations import operations_page
from scripts.reference.reports import reports_table
from scripts.reference.settings import settings_page

DOCS = Path(__file__).resolve().parents[2] / "docs"

PAGES: Mapping[str, Callable[[], str]] = {
    "operations.md": operations_page,
    "errors.md": errors_page,
    "settings.md": settings_page,
}

PARTS: Mapping[str, Callable[[], str]] = {"reliability.md": reports_table}
"""Pages written by hand, each with one part that is made, between two marks."""

_BEGIN = "<!-- From here to the next mark: made by `make docs` from the tests. -->\n\n"
_END = "<!-- End of what is made. -->\n"

_MARK = "<!-- Made by `make docs` from the product itself: change that, not this page. -->\n\n"


def main(arguments: Sequence[str], docs: Path = DOCS) -> int:
    """Write the pages into `docs`, or compare them; the exit code, 1 where one is not current."""
    if list(arguments) not in ([], ["--check"]):
        print("usage: python -m scripts.reference [--check]", file=sys.stderr)
        return 2
    stale = 0
    for name in (*PAGES, *PARTS):
        path = docs / name
        kept = path.read_text(encoding="utf-8") if path.exists() else ""
        made = _MARK + PAGES[name]() if name in PAGES else _with_part(kept, PARTS[name]())
        if made == kept:
            continue
        if arguments:
            stale += 1
            sys.stdout.writelines(_difference(kept, made, name))
        else:
            path.write_text(made, encoding="utf-8")
            print(f"docs/{name}")
    if stale:
        print("These pages are not current: run `make docs`.", file=sys.stderr)
    return 1 if stale else 0


def _with_part(page: str, part: str) -> str:
    """A page with its part made anew. Raises `LookupError` where the marks are not there."""
    before, begin, rest = page.partition(_BEGIN)
    _, end, after = rest.partition(_END)
    if not end:
        raise LookupError("the page has not both marks around the part that is made")
    return before + begin + part + end + after


def _difference(kept: str, made: str, name: str) -> list[str]:
    old, new = (text.splitlines(keepends=True) for text in (kept, made))
    return list(unified_diff(old, new, f"docs/{name}", f"docs/{name} (made now)"))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

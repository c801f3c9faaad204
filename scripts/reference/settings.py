"""`docs/settings.md`: every setting, from the fields of `loom.settings.Settings`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import MISSING, Field, fields
from pathlib import Path
from typing import Any

from loom.settings import Settings, variable
from scripts.reference.markdown import code, table

_INTRO = """\
# Settings

Loom is set up by environment variables. An empty variable counts as unset; one that cannot be read
stops the process and is named. No setting is read from a file.
"""

# Variables that are read elsewhere than in `Settings`, by those who have no server.
ELSEWHERE = {
    "LOOM_BASE_URL": "SDK: where the server is. Unset: `http://127.0.0.1:7777`.",
    "LOOM_API_KEY": "SDK: the token to send. Unset: none.",
    "LOOM_PG_BIN": (
        "The folder with the PostgreSQL programs of the embedded server. Unset: those that came "
        "with the package, else the newest of `/usr/lib/postgresql`."
    ),
}

_OUTRO = """\
`make run` sets `LOOM_AUTH` to `open` and `LOOM_DATA_DIR` to `.loom` in the checkout where they are
not set. The variables of libpq (`PGSSLMODE`, `PGPASSFILE`, …) hold for what a connection string
leaves out.
"""

# No value is this one: what a setting says of it is what it accepts.
_NO_VALUE = "\N{REPLACEMENT CHARACTER}"


def settings_page() -> str:
    """The page, as Markdown."""
    return "\n".join(_page()).rstrip() + "\n"


def _page() -> Iterator[str]:
    yield _INTRO
    rows = [
        (code(variable(field.name)), _default(field), _accepts(field), field.metadata["doc"])
        for field in fields(Settings)
    ]
    yield from table(("Variable", "Default", "Accepts", "Meaning"), rows)
    yield "## Read elsewhere"
    yield ""
    yield from table(
        ("Variable", "Meaning"), [(code(name), text) for name, text in ELSEWHERE.items()]
    )
    yield _OUTRO


def _default(field: Field[Any]) -> str:
    # A default that is made depends on the machine; the field's text says how.
    if field.default is MISSING or field.default is None:
        return "unset"
    value = field.default
    if isinstance(value, bool):
        return code("on" if value else "off")
    return code(f"{value:g}" if isinstance(value, float) else value)


def _accepts(field: Field[Any]) -> str:
    """What the setting says that it wants, when it is given what it cannot read."""
    try:
        taken = field.metadata["parse"](_NO_VALUE)
    except ValueError as wanted:
        return str(wanted).removeprefix("wants ")
    return "a folder" if isinstance(taken, Path) else "text"

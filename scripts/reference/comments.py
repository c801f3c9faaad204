"""The comments of the SQL functions, read from the files that make them.

A comment is the only documentation of a function: what it does, then `Request:`, `Returns:` and
`Errors:`. A test holds what is read here to what a migrated database says.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from loom.sql_tree import SqlTree

_COMMENT = re.compile(
    r"^comment on function loom\.(\w+)\s*\(([^)]*)\)\s+is\s+'((?:[^']|'')*)';",
    re.IGNORECASE | re.MULTILINE,
)
_SECTION = re.compile(r"^(Request|Returns|Errors): *", re.MULTILINE)


@dataclass(frozen=True)
class Comment:
    """One function and what its comment says. `group` is the folder of its file."""

    function: str
    arguments: str
    group: str
    text: str

    @property
    def about(self) -> str:
        """What the function does: all that stands before the first section."""
        return _SECTION.split(self.text, maxsplit=1)[0].strip()

    def section(self, name: str) -> str:
        """The text of `Request`, `Returns` or `Errors`; empty where it has none."""
        parts = _SECTION.split(self.text)
        sections = dict(zip(parts[1::2], parts[2::2], strict=True))
        return sections.get(name, "").strip()


def read_comments(tree: SqlTree) -> dict[str, Comment]:
    """The comments of all functions in `sql/functions`, by function name."""
    comments = (
        Comment(
            function=name,
            arguments=", ".join(arguments.split(", ")),
            group=script.path.split("/")[-2],
            text=text.replace("''", "'"),
        )
        for script in tree.all_functions
        for name, arguments, text in _COMMENT.findall(script.text)
    )
    return {comment.function: comment for comment in comments}

"""What users of such systems report, and the tests that show how Loom does.

A test that shows one bears its number: `test_o12_…` by its name, or `O12` in its docstring.
"""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path

from scripts.reference.markdown import code, table

ROOT = Path(__file__).resolve().parents[2]

REPORTS: Mapping[int, str] = {
    1: "One way of writing forgets the limit, and a block grows without end",
    2: "A text that fits the limit sent with it is refused by the old one",
    3: "Of a change of limit and text half is applied",
    4: "Near the limit a writer tries again and again, told only that it does not fit",
    5: "Writes are refused for days and nobody notices",
    6: "Limits are fixed and small, and nothing tells that one is near",
    7: "A full block cannot even be made shorter: the edit is of a text that is no longer there",
    8: "Conflicts that are to be expected fill the log with errors and traces",
    9: "A client that leaves fields out, or begins empty, clears what is stored",
    10: "A replacement over several lines never matches, or writes the word for a missing value",
    11: "An empty or blank text to replace matches everywhere",
    12: "Reads and writes slow down with the length of the session",
    13: "What is written while the model thinks is overwritten by its answer",
    14: "The same fact told twice at once is stored twice",
    15: "Nobody knows what becomes of two updates of one row",
    16: "Two editors of one version are both told that it is saved; one edit is gone",
    17: "A page that was open for a while saves over newer text",
    18: "The last writer wins, and nobody is told",
    19: "Writers in several processes spoil each other's memory",
    20: "Of several agents that add to one text, one is kept",
    21: "Writes of several rows deadlock, and the loser's place stays taken",
    22: "An update of a profile loses what it does not speak of",
    23: "A null in a model's answer deletes what is known",
    24: "Values of the wrong type and fields that nobody declared are stored",
    25: "A schema that was never checked breaks the first, empty profile",
    26: "What was stored under an older schema fails to load",
    27: "A preference that has turned round stays as it was",
    28: "The same value is added to a profile again and again",
    29: "Facts seem to be lost while they wait to be worked on",
    30: "A full profile is cut silently and learns no more",
    31: "A profile holds what nobody said, and a correction does not last",
    32: "What the program says about a run becomes a fact about the user",
    33: "Each update sends all former ones to the model, until it fails",
    34: "A read of a profile floods the prompt with internal data",
    35: "A summary ends in the middle of a sentence",
    36: "Profiles that an earlier round missed stay stale for good",
    37: "A cut goes through a character, and the request is no longer valid",
    38: "U+0000 is taken on one path and breaks another, for ever",
    39: "One bad character in a model's answer loses the whole batch",
    40: "Each write makes the prompt anew and answers with the whole text",
    41: "Ids, times and counters in the text keep prompts from ever being the same",
    42: "One write in a session makes everything before it be paid for again",
    43: "Ages in words change at midnight, and nobody sees which part did",
    44: "The same text is sent at each turn although nothing has changed",
    45: "Status lines of a run stand among what could be cached",
    46: "Work is queued and never begun",
    47: "The service calls itself healthy while nothing goes on",
    48: "What falls due while it is quiet is not looked at until the next write",
    49: "The worker's own output makes more work for it",
    50: "What a vanished worker had taken is never given to another",
    51: "A piece of work that ends its worker is begun, and paid for, without end",
    52: "Retries inside retries pay for one failure a dozen times",
    53: "A failure is tried anew at every look, all night",
    54: "Rebuilds that change nothing cost most of all",
    55: "A provider's outage is swallowed, or keeps the server from starting",
    56: "A backlog is worked off one round at a time, or for one tenant only",
    57: "After a restart of the database nobody listens any more",
    58: "A model that may delete takes a quarter of the memory with it",
    59: "An id with a wildcard in it reaches other users",
    60: "A deletion for one user takes everyone's",
    61: "A search shows what belongs to another tenant",
    62: "An update loses the owner, or anyone may delete by id",
    63: "The user is lost on the way, and all share one memory",
    64: "The tenant of the last request stays on a pooled connection",
    65: "Row-level security and notifications fail behind some poolers",
    66: "A stored text closes its element, and what follows reads as instructions",
    67: "Tables must stand in the schema public",
    68: "What was deleted is still served from a cache",
    69: "What was deleted is still found by search",
    70: "What is derived while its source is deleted stays behind",
    71: "There is no way to delete a user, or it takes minutes",
    72: "Servers that start together wait for each other's migration without end",
    73: "The schema cannot be made inside a caller's transaction",
    74: "An upgrade over several versions runs without warning or a way back",
    75: "A request takes two connections, and the pool runs dry",
    76: "A connection that died while idle fails the next write",
    77: "Cleaning up holds up everyone else",
    78: "Vectors of another size stop the server",
    79: "A vector of the wrong size is dropped, and the caller is told that all went well",
    80: "The size of vectors is fixed in the program",
}

NOTES: Mapping[int, str] = {
    17: "Loom has no page to edit memory on. A client that sends back the hash it was given, as "
    "the SDK's edits do, is refused.",
}
"""What is to be said besides the tests."""

_IN_NAME = re.compile(r"(?<=_)o([0-9]+)(?=_)")
_IN_DOCSTRING = re.compile(r"\bO([0-9]+)\b")


def reports_table() -> str:
    """The table, by number."""
    shown = numbered_tests()
    rows = [(f"O{number}", said, _shown(number, shown)) for number, said in REPORTS.items()]
    return "\n".join(table(("", "What is reported", "What shows how Loom does"), rows))


def numbered_tests(folder: Path = ROOT / "tests") -> dict[int, list[str]]:
    """The tests that bear a number, as pytest names them."""
    found: dict[int, list[str]] = defaultdict(list)
    for path in sorted(folder.rglob("test_*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                for number in _numbers(node):
                    place = path.relative_to(folder.parent).as_posix()
                    found[number].append(f"{place}::{node.name}")
    return dict(found)


def _numbers(node: ast.FunctionDef | ast.AsyncFunctionDef) -> list[int]:
    if not node.name.startswith("test_"):
        return []
    named = _IN_NAME.findall(node.name) + _IN_DOCSTRING.findall(ast.get_docstring(node) or "")
    return sorted({int(number) for number in named})


def _shown(number: int, shown: Mapping[int, list[str]]) -> str:
    """The tests of a number a line each, or why there is none."""
    if number not in shown and number not in NOTES:
        raise LookupError(f"no test bears O{number}, and NOTES does not say why")
    return "<br>".join(_lines(number, shown))


def _lines(number: int, shown: Mapping[int, list[str]]) -> Iterator[str]:
    if number in NOTES:
        yield NOTES[number]
    yield from map(code, shown.get(number, ()))

"""Looking for the database's own text in what leaves the server."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import Any

from loom.app.errors import ERRORS
from loom.sql_tree import SqlTree

_WORDS = re.compile(
    r"""
    PL/pgSQL | SQL\ (?:statement|function|state) | SQLSTATE | CONTEXT: | DETAIL: | HINT: | QUERY:
    | \bat\ character\ \d | \bline\ \d+\ at\ | \bpsycopg | \bpg_\w | \blibpq | \bpostgres | PANIC:
    | (?-i:\bLM\d{3}\b | \b(?:22|23|25|40|42|53|54|57)[0-9A-Z]{3}\b | \b(?:XX|P0|F0|HV)\d{3}\b)
    | \bloom\.\w | \bloom_(?:api|owner|gateway|worker|scheduler|search)\b | Traceback
    | \brelation\ " | \bcolumn\ " | \bfunction\ \w+[.(] | \btype\ "?jsonb | \brole\ " | \bschema\ "
    | duplicate\ key | violates\ | check\ constraint | foreign\ key | not-null
    | invalid\ input | invalid\ byte | syntax\ error | out\ of\ range\ for | cannot\ cast
    | permission\ denied | does\ not\ exist | null\ value | row-level\ security
    | canceling\ statement | deadlock | could\ not\ serialize | current\ transaction\ is
    | stack\ depth | out\ of\ memory | server\ closed | connection\ to\ server
    """,
    re.VERBOSE | re.IGNORECASE,
)

_SENTENCE = re.compile(r"\bmessage\s*=\s*'((?:[^']|'')*)'")


@cache
def sentences() -> frozenset[str]:
    """Every message that an error may have: those of the SQL files and of the edge."""
    found = {error.message for error in ERRORS} | {"Nothing answers at this path."}
    for file in SqlTree.read().all_functions:
        found.update(text.replace("''", "'") for text in _SENTENCE.findall(file.text))
    return frozenset(found)


def database_text(answer: Any, sent: str) -> list[str]:
    """What stands in an answer's errors and is the database's own; nothing of what was sent.

    An answer that is no error is somebody's data, in which any word may stand.
    """
    found = []
    for error in _errors(answer):
        if error.get("message") not in sentences():
            found.append(f"message {error.get('message')!r} is none of ours")
        for text in _texts({name: each for name, each in error.items() if name != "request_id"}):
            words = _WORDS.search(text)
            if words and words[0] not in sent:
                found.append(f"{words[0]!r} in {text!r}")
    return found


def _errors(answer: Any) -> Iterator[dict[str, Any]]:
    """The error objects of an answer, a batch's too."""
    if isinstance(answer, dict):
        if isinstance(answer.get("detail"), dict):
            yield answer["detail"]
        for result in answer.get("results") or ():
            if isinstance(result, dict) and isinstance(result.get("error"), dict):
                yield result["error"]


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for name, each in value.items():
            yield name
            yield from _texts(each)
    elif isinstance(value, list):
        for each in value:
            yield from _texts(each)

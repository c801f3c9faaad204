"""`docs/errors.md`: every error, from the error table, the SDK's classes and the SQL functions."""

from __future__ import annotations

import re
from collections.abc import Iterator

from loom.app.errors import ERRORS, ErrorCode
from loom.errors import BY_CODE, Unreachable
from loom.sql_tree import SqlTree
from scripts.reference.markdown import code, codes, link, prose, table

_RAISE = re.compile(r"raise exception using errcode = '(LM\d{3})'(.*?);\n", re.DOTALL)
_HINT = re.compile(r"hint = '((?:[^']|'')*)'")

# What to do about errors that no SQL function raises, so that no HINT says it.
ADVICE = {
    "INVALID_TEXT": "Remove U+0000 and lone surrogates from the text that `path` names.",
    "METHOD_NOT_ALLOWED": "Send operations by POST; pages such as `/v1/ready` answer to GET.",
    "PAYLOAD_TOO_LARGE": "Send less than `limit` bytes: split the request.",
    "UNAVAILABLE": (
        "Wait as long as `Retry-After` says and send it again. Where `outcome` is `unknown`, a "
        "write may have happened: repeat it with the same idempotency key, or read first."
    ),
    "INTERNAL": "Report it with the request id; the server's log has more under that id.",
}

_INTRO = """\
# Errors

Over HTTP an error is one JSON object:

```json
{"detail": {"code": "STALE_WRITE", "message": "Another write came first.",
            "category": "conflict", "retryable": true, "request_id": "…",
            "current_sha256": "…", "current_version": 7, "hint": "…"}}
```

Test for `code`: it is stable, the texts are not. The error's own fields stand beside the common
ones; `hint` says what to do. `retryable` means that the request is worth sending again, after a
conflict having read anew. A 503 carries `Retry-After` (seconds).

In SQL the same error has the SQLSTATE shown here; its fields are a JSON object in DETAIL, what to
do is in HINT. Over HTTP the database's own text never leaves. In the Python SDK each code is a
class of `loom.errors`, its fields are attributes.
"""


def errors_page() -> str:
    """The page, as Markdown."""
    return "\n".join(_page()).rstrip() + "\n"


def hints(tree: SqlTree) -> dict[str, list[str]]:
    """What the functions say is to be done, by SQLSTATE; each text once.

    What operations share comes first, since it is met most.
    """
    found: dict[str, list[str]] = {}
    for script in sorted(tree.all_functions, key=lambda each: "/internal/" not in each.path):
        for sqlstate, rest in _RAISE.findall(script.text):
            texts = found.setdefault(sqlstate, [])
            for text in _HINT.findall(rest):
                if (plain := text.replace("''", "'")) not in texts:
                    texts.append(plain)
    return found


def _page() -> Iterator[str]:
    said = hints(SqlTree.read())
    yield _INTRO
    rows = [
        (
            link(error.code),
            str(error.status),
            error.sqlstate or "",
            error.category,
            "yes" if error.retryable else "",
            codes(error.fields),
        )
        for error in ERRORS
    ]
    yield from table(("Code", "HTTP", "SQLSTATE", "Category", "Retryable", "Fields"), rows)
    for error in ERRORS:
        yield from _error(error, said.get(error.sqlstate or "", []))
    yield "## In the SDK only"
    yield ""
    yield f"`{Unreachable.__name__}` ({code(Unreachable.code)}): {_told(Unreachable)}"


def _error(error: ErrorCode, texts: list[str]) -> Iterator[str]:
    kind = BY_CODE[error.code]
    yield f"## {error.code}"
    yield ""
    yield f"{_told(kind)} In the SDK: `{kind.__name__}`."
    yield ""
    advice = [ADVICE[error.code]] if error.code in ADVICE else texts
    if not advice:
        raise LookupError(
            f"{error.code}: no function says in a HINT what to do; write it into ADVICE"
        )
    if len(advice) == 1:
        yield f"What to do: {prose(advice[0])}"
    else:
        yield "What to do; `hint` in the answer is one of these:"
        yield ""
        for text in advice:
            yield f"- {prose(text)}"
    yield ""


def _told(kind: type) -> str:
    """A class's docstring as one line, with Markdown's code marks."""
    return " ".join((kind.__doc__ or "").split()).replace("``", "`")

"""`docs/operations.md`: every operation, and the functions that are called by SQL alone."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from loom.app.errors import BY_SQLSTATE
from loom.app.openapi import description
from loom.sql_tree import SqlTree
from loom.types import OPERATIONS, Operation
from scripts.reference.comments import Comment, read_comments
from scripts.reference.fields import Field, fields_of
from scripts.reference.markdown import code, codes, link, prose, table

Json = Mapping[str, Any]

# An error in a comment's list, and what stands beside it.
_LISTED = re.compile(r"(LM\d{3})(?: ([^,;.()]+)(?=[,;.]|$))?")
# What no client calls: helpers, triggers.
_INWARD = ("internal", "triggers")

_INTRO = """\
# Operations

An operation is called over HTTP with `POST` and one flat JSON object, and answers one:

```
POST /v1/working_memory.get
Authorization: Bearer loom_…

{"agent": "triage", "block_key": "state"}
```

In SQL the same operation is a function that takes and answers `jsonb`, with the same fields and
the same errors (as SQLSTATE):

```sql
select loom.working_memory_get('{"org": "acme", "namespace": "support", "agent": "triage",
                                 "block_key": "state"}');
```

- A field that is null counts as left out. An unknown field is refused, by every door.
- A body has at most 1 MiB and is nested at most 64 deep. Text is Unicode without U+0000.
- `*` marks a field that a request must have; `?` one that an answer has only where it applies.
- Lengths of text are counted in code points. Times are UTC, ISO 8601, microseconds and `Z`.
- A write may carry an `Idempotency-Key` header (in SQL: `loom.execute`) of at most 200
  characters: sent again within 24 hours it has no second effect and gets the first answer.
- Several operations of one org go together in a [`batch`](#batch).
- Every answer has an `X-Request-Id`: the caller's own, or a new one.
"""

_ERRORS = """\
## Errors of every operation

Each operation names the errors of its own. Beside these any request may be answered with
{everywhere}, and a write that carries an idempotency key with {keyed}.
[Errors](errors.md) says what they mean and what to do.
"""

_EVERYWHERE = ("INVALID_TEXT", "AUTH_REQUIRED", "PAYLOAD_TOO_LARGE", "UNAVAILABLE", "INTERNAL")
_KEYED = "IDEMPOTENCY_CONFLICT"


def operations_page() -> str:
    """The page, as Markdown."""
    return "\n".join(_page(read_comments(SqlTree.read()))).rstrip() + "\n"


def function_of(operation: Operation) -> str:
    """The name of the SQL function behind an operation."""
    return operation.op.replace(".", "_")


def _page(comments: Mapping[str, Comment]) -> Iterator[str]:
    schemas: Json = description(OPERATIONS)["components"]["schemas"]
    yield _INTRO
    rows = [(link(op.op), op.role, op.mode, op.summary) for op in OPERATIONS.values()]
    yield from table(("Operation", "Least role", "Mode", "Does"), rows)
    yield from _identity(schemas)
    yield _ERRORS.format(
        everywhere=", ".join(link(name, "errors.md") for name in _EVERYWHERE),
        keyed=link(_KEYED, "errors.md"),
    )
    for operation in OPERATIONS.values():
        comment = comments.get(function_of(operation))
        if comment is None:
            raise LookupError(f"loom.{function_of(operation)} has no comment in sql/functions")
        yield from _operation(operation, comment, schemas)
    yield from _by_sql_alone(comments)


def _identity(schemas: Json) -> Iterator[str]:
    """The identity fields, described once: they mean the same everywhere."""
    yield "## Identity"
    yield ""
    yield "These say whose data is meant. Each operation names those that it takes."
    yield ""
    found: dict[str, Field] = {}
    for operation in OPERATIONS.values():
        for field in _fields(operation.request, schemas):
            if field.name in operation.identity:
                found.setdefault(field.name, field)
    yield from table(
        ("Field", "Type", "Meaning"),
        [(code(f.name), f.kind.removesuffix(" or null"), f.meaning) for f in found.values()],
    )


def _operation(operation: Operation, comment: Comment, schemas: Json) -> Iterator[str]:
    yield f"## {operation.op}"
    yield ""
    yield f"`POST {operation.path}` · least role {operation.role} · {operation.mode}s"
    yield ""
    yield prose(comment.about)
    yield ""
    yield f"Identity: {codes(operation.identity)}."
    yield ""
    own = [f for f in _fields(operation.request, schemas) if f.name not in operation.identity]
    rows = [
        # Of a request's field null is as good as nothing, so its type does not say it.
        (code(f.name) + (" *" if f.always else ""), f.kind.removesuffix(" or null"), f.meaning)
        for f in own
    ]
    yield from _rows("Request", rows, "Request: no fields beside these.")
    fields = list(_fields(operation.answer, schemas))
    told = [f.name for f in fields if f.name in operation.identity and f.always and not f.meaning]
    rows = [
        (code(f.name) + ("" if f.always else " ?"), f.kind, f.meaning)
        for f in fields
        if f.name not in told
    ]
    if told:
        yield f"The answer names the identity ({codes(told)}), and:"
        yield ""
    yield from _rows("Answer", rows, "Answer: an empty object.")
    yield f"Errors: {_errors(comment)}"
    yield ""


def _rows(head: str, rows: list[tuple[str, str, str]], nothing: str) -> Iterator[str]:
    if rows:
        yield from table((head, "Type", "Meaning"), rows)
    else:
        yield nothing
        yield ""


def _by_sql_alone(comments: Mapping[str, Comment]) -> Iterator[str]:
    """The functions for services, operators and the worker that are no operations."""
    behind = {function_of(operation) for operation in OPERATIONS.values()}
    yield "## By SQL alone"
    yield ""
    yield "Functions that are no operations: for services, operators, the API and the worker."
    yield ""
    for comment in sorted(comments.values(), key=lambda each: (each.group, each.function)):
        if comment.group in _INWARD or comment.function in behind:
            continue
        yield f"### loom.{comment.function}({comment.arguments})"
        yield ""
        yield prose(comment.about)
        yield ""
        for name in ("Request", "Returns"):
            if comment.section(name):
                yield f"{name}: {prose(comment.section(name))}"
                yield ""
        if comment.section("Errors"):
            yield f"Errors: {_errors(comment)}"
            yield ""


def _fields(kind: type, schemas: Json) -> Iterator[Field]:
    return fields_of(schemas[kind.__name__], schemas, above=(kind.__name__,))


def _errors(comment: Comment) -> str:
    """What a comment says of errors, each SQLSTATE by the name of its code."""

    def named(match: re.Match[str]) -> str:
        return _error(match[1]) + (f" ({match[2]})" if match[2] else "")

    return _LISTED.sub(named, prose(comment.section("Errors")))


def _error(sqlstate: str) -> str:
    error = BY_SQLSTATE.get(sqlstate)
    if error is None:
        raise LookupError(f"{sqlstate} is in the comment of a function and not in app/errors.py")
    return link(error.code, "errors.md")

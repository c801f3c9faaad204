"""The routes of looms, outside `/v1`: each is an operation, told by method, path and query.

What stands in the path or the query becomes a field of the operation's request, behind the body's
own, so that it is the one that counts. The rest of the body goes on as it came.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import parse_qsl, unquote

import msgspec

from loom.app.errors import INVALID_REQUEST, Refusal

Fields = dict[str, str | int | bool]

PREFIX: Final = b"/looms"

_SPACE: Final = b" \t\n\r"
_WHOLE: Final = re.compile(r"-?[0-9]{1,18}")
_PLACEHOLDER: Final = re.compile(r"\{(\w+)\}")
_MOST_QUERY_FIELDS: Final = 50

NUMBERS: Final = frozenset({"page", "pageSize"})
FLAGS: Final = frozenset({"includeDeleted"})
"""Of a query, whose values are text, those that are none."""


@dataclass(frozen=True)
class LoomRoute:
    """A method and path, with `{field}` where a field stands, and the operation behind it."""

    method: str
    path: str
    op: str

    @property
    def has_body(self) -> bool:
        """Whether the request's own fields are in a body, or in the query."""
        return self.method not in ("GET", "DELETE")

    @property
    def fields(self) -> tuple[str, ...]:
        """The names of the fields in the path."""
        return tuple(_PLACEHOLDER.findall(self.path))


_LOOM: Final = "/looms/by-id/{loomId}"

ROUTES: Final[tuple[LoomRoute, ...]] = (
    LoomRoute("PUT", "/looms", "looms.create"),
    LoomRoute("POST", "/looms/bind", "looms.bind"),
    LoomRoute("GET", "/looms/by-namespace/{namespaceId}", "looms.list"),
    LoomRoute("GET", _LOOM, "looms.get"),
    LoomRoute("PATCH", _LOOM, "looms.update"),
    LoomRoute("DELETE", _LOOM, "looms.delete"),
    LoomRoute("GET", f"{_LOOM}/threads", "looms.thread_list"),
    LoomRoute("POST", f"{_LOOM}/threads", "looms.thread_add"),
    LoomRoute("DELETE", f"{_LOOM}/threads/{{threadId}}", "looms.thread_delete"),
    LoomRoute("POST", f"{_LOOM}/activity", "looms.activity"),
    LoomRoute("GET", f"{_LOOM}/inspection", "looms.inspection"),
    LoomRoute("GET", f"{_LOOM}/weavings", "looms.weaving_list"),
    LoomRoute("POST", f"{_LOOM}/weavings", "looms.weave"),
    LoomRoute("GET", f"{_LOOM}/weavings/{{weavingId}}", "looms.weaving_get"),
    LoomRoute("POST", f"{_LOOM}/weavings/{{weavingId}}/revert", "looms.weaving_revert"),
)


def _pattern(path: str) -> re.Pattern[bytes]:
    return re.compile(_PLACEHOLDER.sub(r"(?P<\1>[^/]+)", path).encode())


_BY_PATH: Final = tuple(
    (_pattern(path), {route.method: route for route in ROUTES if route.path == path})
    for path in dict.fromkeys(route.path for route in ROUTES)
)


def routes_at(raw_path: bytes) -> tuple[Mapping[str, LoomRoute], Mapping[str, str]]:
    """The routes of a path by method, none where there are none, and what stands in it.

    `/looms/bind` is no loom's: a fixed word is looked for before a field. What is escaped in the
    path and is not UTF-8 is kept apart by characters that no id has.
    """
    for pattern, routes in _BY_PATH:
        match = pattern.fullmatch(raw_path)
        if match is not None:
            return routes, {
                name: unquote(value.decode("latin-1")) for name, value in match.groupdict().items()
            }
    return {}, {}


def request_of(route: LoomRoute, in_path: Mapping[str, str], query: bytes, body: bytes) -> bytes:
    """The operation's request. Raises `Refusal` for a query that gives a field twice, or one of a
    body: to pass over a `dryRun` there would be to weave."""
    if route.has_body:
        for name in _query_fields(query, in_path):
            raise _refuse(name[:200], "is a field of the body", "Send it in the body.")
        return with_fields(body, in_path)
    return msgspec.json.encode({**_query_fields(query, in_path), **in_path})


def with_fields(body: bytes, fields: Mapping[str, Any]) -> bytes:
    """A JSON object with more fields at its end, where the last one of a name counts.

    Nothing of the body is read: what is no object stays none, and is refused as what it is. An
    empty body is an object without fields, where the path has some.
    """
    if not fields:
        return body
    more = msgspec.json.encode(fields)
    whole = body.strip(_SPACE)
    if not whole:
        return more
    if not whole.endswith(b"}"):
        return body
    head = whole[:-1].rstrip(_SPACE)
    return head + (b"" if head == b"{" else b",") + more[1:]


def _query_fields(query: bytes, in_path: Mapping[str, str]) -> Fields:
    try:
        pairs = parse_qsl(
            query.decode("ascii"),
            keep_blank_values=True,
            errors="strict",
            max_num_fields=_MOST_QUERY_FIELDS,
        )
    except ValueError:  # also what is no UTF-8
        raise _refuse(None, "is not a valid query") from None
    found: Fields = {}
    for name, text in pairs:
        if name in found or name in in_path:
            raise _refuse(name[:200], "is given twice")
        found[name] = _value(name, text)
    return found


def _value(name: str, text: str) -> str | int | bool:
    if name in NUMBERS and _WHOLE.fullmatch(text):
        return int(text)
    if name in FLAGS and text in ("true", "false"):
        return text == "true"
    return text  # for the database to judge


def allowed(routes: Mapping[str, LoomRoute]) -> bytes:
    """The methods of a path, for its `Allow` header."""
    methods: Sequence[str] = [*routes, "OPTIONS"]
    return ", ".join(methods).encode()


def _refuse(
    field: str | None, reason: str, hint: str = "Name each field once, in UTF-8."
) -> Refusal:
    return Refusal(INVALID_REQUEST, {"field": field, "reason": reason, "hint": hint})

"""Hostile requests of every operation: a valid one with one field or several that are not."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from random import Random
from typing import Any

import msgspec

from loom.types import OPERATIONS
from tests.calls import Connection
from tests.fuzz.hostile import REQUESTS, VALUES, Raw, obj
from tests.sql.requests import VALID

_PLACE = {"org": "acme", "namespace": "main"}
_KEYS = ("block_key", "memory_key", "label")


@dataclass(frozen=True)
class Operation:
    """What `loom.operation` says of an operation."""

    op: str
    function: str
    reads: bool
    accepted: tuple[str, ...]

    @property
    def group(self) -> str:
        """The part of its name that it shares with those that work on the same rows."""
        return self.op.partition(".")[0]

    @property
    def base(self) -> dict[str, Raw]:
        """Its valid request, each value as JSON text, for the row that is its own."""
        place = {name: value for name, value in _PLACE.items() if name in self.accepted}
        valid = {**(VALID.get(self.op) or {**place, **_required(self.op)}), **self.keys}
        return {name: json.dumps(value) for name, value in valid.items()}

    @property
    def keys(self) -> dict[str, str]:
        """A row of its own: what others make of theirs (locked, pinned) does not stop it."""
        return {name: self.op for name in _KEYS if name in self.accepted}


@dataclass(frozen=True)
class Request:
    """One hostile request, and what is hostile in it."""

    op: Operation
    what: str
    body: Raw


def operations(conn: Connection) -> list[Operation]:
    """Every operation there is; last those that rule over the others' rows."""
    rows = conn.execute(
        "select op, function_name::text, mode = 'read', accepted from loom.operation order by op"
    ).fetchall()
    found = [Operation(op, name, reads, tuple(accepted)) for op, name, reads, accepted in rows]
    with_rows = {each.group for each in found if each.op == f"{each.group}.set"}
    return sorted(found, key=lambda each: each.group not in with_rows)


def _required(op: str) -> dict[str, Any]:
    """What an operation's type says that it needs; nothing where it has no type yet."""
    if op not in OPERATIONS:
        return {}
    (schema,), components = msgspec.json.schema_components([OPERATIONS[op].request])
    found = components[schema["$ref"].rpartition("/")[2]]
    return {name: _example(found["properties"][name], components) for name in found["required"]}


def _example(schema: dict[str, Any], components: dict[str, Any]) -> Any:
    """Some value of a schema."""
    if "$ref" in schema:
        return _example(components[schema["$ref"].rpartition("/")[2]], components)
    if "anyOf" in schema:
        return _example(schema["anyOf"][0], components)
    if "enum" in schema:
        return schema["enum"][0]
    match schema.get("type"):
        case "integer" | "number":
            return schema.get("minimum", 1)
        case "boolean":
            return False
        case "array":
            return [_example(schema.get("items", {}), components)]
        case "object":
            return {}
    return "a"


def hostile_requests(operation: Operation) -> Iterator[Request]:
    """All that are wrong in one field, twice in one field, or wrong as a whole."""
    base = operation.base
    for name in operation.accepted:
        for what, value in VALUES.items():
            yield Request(operation, f"{name}: {what}", obj({**base, name: value}))
        twice = obj({**base, name: "[1]"})[:-1] + "," + obj({name: base.get(name, '"a"')})[1:]
        yield Request(operation, f"{name} twice", twice)
        left = {other: value for other, value in base.items() if other != name}
        yield Request(operation, f"{name} left out", obj(left))
    for what, body in REQUESTS.items():
        yield Request(operation, what, body)


def seeds(found: list[Operation]) -> Iterator[Request]:
    """For each operation the write that makes its own row, in groups whose rows can be set."""
    setters = {each.group: each for each in found if each.op == f"{each.group}.set"}
    for each in found:
        if each.group in setters and each.keys:
            setter = setters[each.group]
            old: dict[str, Raw] = {
                name: '"old"' for name in ("content", "value") if name in setter.accepted
            }
            keys = {name: json.dumps(value) for name, value in each.keys.items()}
            own = {name: value for name, value in keys.items() if name in setter.accepted}
            yield Request(setter, f"seed of {each.op}", obj({**setter.base, **old, **own}))


def plain_reads(found: list[Operation], written: Operation) -> Iterator[Request]:
    """A valid request of each operation that reads what another has written."""
    for each in found:
        if each.reads and each.group == written.group:
            keys = {name: value for name, value in written.base.items() if name in each.keys}
            yield Request(each, "plain", obj({**each.base, **keys}))


def mixed_requests(operation: Operation, random: Random, count: int) -> Iterator[Request]:
    """Some that are wrong in several fields."""
    for _ in range(count):
        names = random.sample(operation.accepted, k=min(3, len(operation.accepted)))
        chosen = {name: random.choice(list(VALUES)) for name in names}
        fields = {**operation.base, **{name: VALUES[what] for name, what in chosen.items()}}
        yield Request(operation, str(chosen), obj(fields))

"""Hostile requests of every operation: a valid one with one field or several that are not."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from random import Random

from tests.calls import Connection
from tests.fuzz.hostile import REQUESTS, VALUES, Raw, obj
from tests.sql.requests import VALID


@dataclass(frozen=True)
class Operation:
    """What `loom.operation` says of an operation."""

    op: str
    function: str
    accepted: tuple[str, ...]

    @property
    def base(self) -> dict[str, Raw]:
        """Its valid request, each value as JSON text."""
        return {name: json.dumps(value) for name, value in VALID.get(self.op, {}).items()}


@dataclass(frozen=True)
class Request:
    """One hostile request, and what is hostile in it."""

    op: Operation
    what: str
    body: Raw


def operations(conn: Connection) -> list[Operation]:
    """Every operation there is."""
    rows = conn.execute(
        "select op, function_name::text, accepted from loom.operation order by op"
    ).fetchall()
    return [Operation(op, function, tuple(accepted)) for op, function, accepted in rows]


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


def mixed_requests(operation: Operation, random: Random, count: int) -> Iterator[Request]:
    """Some that are wrong in several fields."""
    for _ in range(count):
        names = random.sample(operation.accepted, k=min(3, len(operation.accepted)))
        chosen = {name: random.choice(list(VALUES)) for name in names}
        fields = {**operation.base, **{name: VALUES[what] for name, what in chosen.items()}}
        yield Request(operation, str(chosen), obj(fields))

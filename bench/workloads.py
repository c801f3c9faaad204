"""What is measured: one row a workload. Each door runs the same requests on data of its own.

A workload is an operation, the request that a client sends as its n-th, and the plain statement
that does the same: the file in `raw/` with the operation's name, with the request's fields as its
parameters. Requests are small: blocks of about 400 characters, as an agent's notes are.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Final

Request = dict[str, Any]

ORG: Final = "bench"
BATCH: Final = 10
BLOCKS_RENDERED: Final = 5
# A client's appends fill one block to about 1,300 characters, then go on in the next.
APPENDS_A_BLOCK: Final = 20

_RAW: Final = Path(__file__).parent / "raw"
_NOTE: Final = "The user prefers short answers, works on <billing> & asked for the June figures. "


@dataclass(frozen=True)
class Workload:
    """One row of the table. `request(client, n)` is what a client sends as its n-th call."""

    name: str
    op: str
    request: Callable[[int, int], Request]
    doors: str = "abcd"
    raw_op: str = ""
    """The operation whose statement door a runs, where that is not `op`: for a batch, of each."""
    seed: tuple[tuple[Workload, int], ...] = field(default=(), repr=False)
    """Workloads that each client runs first, and how often, so that there is something to read."""

    @cached_property
    def raw_sql(self) -> str:
        """The plain statement, with named parameters."""
        name = (self.raw_op or self.op).replace(".", "_")
        return (_RAW / f"{name}.sql").read_text()

    @cached_property
    def writes_a_call(self) -> int:
        """How many operations one call holds: the batch's size, else 1."""
        return len(self.request(0, 0).get("requests", (None,)))


def _scope(client: int, agent: str) -> Request:
    user = f"user-{client:04}"
    return {"org": ORG, "namespace": "support", "agent": agent, "user_id": user}


def _content(client: int, n: int) -> str:
    return f"{client}.{n} " + _NOTE * 5


def _set(client: int, n: int) -> Request:
    key = {"block_key": f"block-{n % BATCH}", "content": _content(client, n)}
    return _scope(client, "writer") | key


def _append(client: int, n: int) -> Request:
    key = {"block_key": f"log-{n // APPENDS_A_BLOCK}", "addition": f"{client}.{n} {_NOTE}"[:64]}
    return _scope(client, "logger") | key


def _get(client: int, n: int) -> Request:
    return _scope(client, "writer") | {"block_key": f"block-{n % BATCH}"}


def _set_rendered(client: int, n: int) -> Request:
    key = {"block_key": f"part-{n % BLOCKS_RENDERED}", "content": _content(client, n)}
    return _scope(client, "renderer") | key


def _render(client: int, n: int) -> Request:
    return _scope(client, "renderer")


def _batch(client: int, n: int) -> Request:
    items = [_set(client, n * BATCH + item) for item in range(BATCH)]
    return {"org": ORG, "requests": [{"op": "working_memory.set"} | item for item in items]}


SET: Final = Workload("set", "working_memory.set", _set)
GET: Final = Workload("get", "working_memory.get", _get, seed=((SET, BATCH),))
BATCH_OF_SETS: Final = Workload(
    f"batch of {BATCH} sets", "batch", _batch, raw_op="working_memory.set"
)

_RENDERED: Final = Workload("", "working_memory.set", _set_rendered)

WORKLOADS: Final = (
    SET,
    Workload("append", "working_memory.append", _append),
    GET,
    Workload(
        f"render {BLOCKS_RENDERED} blocks",
        "working_memory.render",
        _render,
        seed=((_RENDERED, BLOCKS_RENDERED),),
    ),
    BATCH_OF_SETS,
)

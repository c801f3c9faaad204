"""What is measured: one row a workload. Each door runs the same requests on data of its own.

A workload is an operation, the request that a client sends as its n-th, and the plain statement
that does the same: the file in `raw/` with the operation's name, with the request's fields as its
parameters. Texts are small, as an agent's notes are: about 400 characters.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Final

Request = dict[str, Any]

ORG: Final = "bench"
CLIENTS: Final = (1, 16)
BATCH: Final = 10
BLOCKS: Final = 5
SECTIONS: Final = 8
FACTS: Final = 20
# A client's appends fill one text to about 1,300 characters, then go on in the next.
APPENDS_A_TEXT: Final = 20

_RAW: Final = Path(__file__).parent / "raw"
_NOTE: Final = "The user prefers short answers, works on <billing> & asked for the June figures. "


@dataclass(frozen=True)
class Workload:
    """One row of the table. `request(client, n)` is what a client sends as its n-th call."""

    name: str
    op: str
    request: Callable[[int, int], Request]
    doors: str = "abcd"
    clients: tuple[int, ...] = CLIENTS
    raw_op: str = ""
    """The operation whose statement door a runs, where that is not `op`: for a batch, of each."""
    seed: tuple[tuple[Workload, int], ...] = field(default=(), repr=False)
    """Workloads that each client runs first, and how often, so that there is something to read."""
    contended: bool = False
    """Whether all clients write under the same user, and so wait for one another."""

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
    """A client's own user for each kind of data, so that one's rows are in no other's way."""
    user = f"{agent}-{client:04}"
    return {"org": ORG, "namespace": "support", "agent": agent, "user_id": user}


def _text(client: int, n: int) -> str:
    return f"{client}.{n} " + _NOTE * 5


def _addition(client: int, n: int) -> str:
    return _text(client, n)[:64]


def _set(client: int, n: int) -> Request:
    key = {"block_key": f"block-{n % BATCH}", "content": _text(client, n)}
    return _scope(client, "writer") | key


def _append(client: int, n: int) -> Request:
    key = {"block_key": f"log-{n // APPENDS_A_TEXT}", "addition": _addition(client, n)}
    return _scope(client, "logger") | key


def _get(client: int, n: int) -> Request:
    return _scope(client, "writer") | {"block_key": f"block-{n % BATCH}"}


def _set_rendered(client: int, n: int) -> Request:
    key = {"block_key": f"part-{n % BLOCKS}", "content": _text(client, n)}
    return _scope(client, "renderer") | key


def _render(client: int, n: int) -> Request:
    return _scope(client, "renderer")


def _batch(client: int, n: int) -> Request:
    items = [_set(client, n * BATCH + item) for item in range(BATCH)]
    return {"org": ORG, "requests": [{"op": "working_memory.set"} | item for item in items]}


def _memory_set(client: int, n: int) -> Request:
    fact = {"memory_key": f"fact-{client}-{n % FACTS}", "value": _text(client, n)}
    return _scope(client, "learner") | fact


def _memory_get(client: int, n: int) -> Request:
    return _scope(client, "learner") | {"memory_key": f"fact-{client}-{n % FACTS}"}


def _profile_set(client: int, n: int) -> Request:
    section = {"label": f"section-{n % SECTIONS}", "value": _text(client, n)}
    return _scope(client, "profiler") | section


def _profile_append(client: int, n: int) -> Request:
    label = f"log-{client}-{n // APPENDS_A_TEXT}"
    return _scope(client, "observer") | {"label": label, "addition": _addition(client, n)}


def _profile_render(client: int, n: int) -> Request:
    return _scope(client, "profiler")


def _on_one_user(workload: Workload) -> Workload:
    def request(client: int, n: int) -> Request:
        return workload.request(client, n) | {"user_id": "everyone"}

    return replace(
        workload,
        name=f"{workload.name}, one user",
        request=request,
        doors="ab",
        clients=(max(CLIENTS),),
        contended=True,
    )


SET: Final = Workload("set", "working_memory.set", _set)
GET: Final = Workload("get", "working_memory.get", _get, seed=((SET, BATCH),))
BATCH_OF_SETS: Final = Workload(
    f"batch of {BATCH} sets", "batch", _batch, raw_op="working_memory.set"
)

_RENDERED: Final = Workload("", "working_memory.set", _set_rendered)
_MEMORY_SET: Final = Workload("memory.set", "memory.set", _memory_set, "abc")
_PROFILE_SET: Final = Workload("profile.set", "profile.set", _profile_set, "abc")
_PROFILE_APPEND: Final = Workload("profile.append", "profile.append", _profile_append, "abc")

WORKLOADS: Final = (
    SET,
    Workload("append", "working_memory.append", _append),
    GET,
    Workload(
        f"render {BLOCKS} blocks", "working_memory.render", _render, seed=((_RENDERED, BLOCKS),)
    ),
    BATCH_OF_SETS,
    _MEMORY_SET,
    Workload("memory.get", "memory.get", _memory_get, "abc", seed=((_MEMORY_SET, FACTS),)),
    _PROFILE_SET,
    _PROFILE_APPEND,
    Workload(
        f"profile.render {SECTIONS} sections",
        "profile.render",
        _profile_render,
        "abc",
        seed=((_PROFILE_SET, SECTIONS),),
    ),
    *map(_on_one_user, (_MEMORY_SET, _PROFILE_SET, _PROFILE_APPEND)),
)

"""What is measured beside the peers: the workloads of ``make bench``, through more doors."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from bench.workloads import (
    BATCH_OF_SETS,
    BLOCKS,
    CLIENTS,
    GET,
    ORG,
    SECTIONS,
    SET,
    WORKLOADS,
    Request,
    Workload,
)

TASKS: Final = max(CLIENTS)
_NOTE: Final = "The user prefers short answers, works on <billing> & asked for the June figures. "


@dataclass(frozen=True)
class TaskWorkload(Workload):
    """A workload that one process does with so many tasks at once, each on data of its own."""

    tasks: int = 1


def _of_tasks(workload: Workload) -> TaskWorkload:
    return TaskWorkload(
        f"{workload.name}, {TASKS} tasks",
        workload.op,
        workload.request,
        doors="fghi",
        clients=(1,),
        seed=workload.seed,
        tasks=TASKS,
    )


def _packed(client: int) -> Request:
    user = f"packer-{client:04}"
    return {"org": ORG, "namespace": "support", "agent": "packer", "user_id": user}


def _block(client: int, n: int) -> Request:
    return _packed(client) | {"block_key": f"part-{n % BLOCKS}", "content": _NOTE * 5}


def _section(client: int, n: int) -> Request:
    return _packed(client) | {"label": f"section-{n % SECTIONS}", "value": _NOTE * 5}


def _pack(client: int, n: int) -> Request:
    return _packed(client)


def _named(name: str) -> Workload:
    return next(workload for workload in WORKLOADS if workload.name == name)


PACK: Final = Workload(
    f"pack {BLOCKS} blocks, {SECTIONS} sections",
    "context.pack",
    _pack,
    doors="abc",
    seed=(
        (Workload("", "working_memory.set", _block), BLOCKS),
        (Workload("", "profile.set", _section), SECTIONS),
    ),
)
PEER_SET: Final = replace(SET, doors="abcef")
PEER_GET: Final = replace(GET, doors="abcdef")
PEER_BATCH: Final = replace(BATCH_OF_SETS, doors="abcef")
MEMORY_SET: Final = _named("memory.set")
MEMORY_GET: Final = _named("memory.get")
SET_BY_TASKS: Final = _of_tasks(SET)
GET_BY_TASKS: Final = _of_tasks(GET)

PEER_WORKLOADS: Final = (
    PEER_SET,
    PEER_GET,
    PEER_BATCH,
    MEMORY_SET,
    MEMORY_GET,
    SET_BY_TASKS,
    GET_BY_TASKS,
    PACK,
)

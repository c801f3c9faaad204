"""Request and answer of ``batch``: several operations of one org in one commit."""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import Meta, Struct

from loom.types.fields import OrgScope

Requests = Annotated[
    list[dict[str, Any]],
    Meta(
        min_length=1,
        max_length=50,
        description="Each is the request of an operation with its name in `op`; run in order.",
    ),
]
Atomic = Annotated[
    bool,
    Meta(
        description=(
            "All or nothing: the first refusal is the answer. When false or left out, a refused "
            "request leaves the others."
        )
    ),
]


class Batch(OrgScope, kw_only=True):
    """Run operations of one org in one statement and one commit."""

    requests: Requests
    atomic: Atomic | None = None


class BatchResult(Struct, kw_only=True, omit_defaults=True):
    """What became of one request: `result` with status 200, else `error` with its own."""

    status: int
    result: dict[str, Any] | None = None
    error: dict[str, Any] | None = None


class BatchResults(Struct, kw_only=True):
    """What became of each request, in their order."""

    results: list[BatchResult]

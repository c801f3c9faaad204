"""Where deltas come from."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from typing import Literal, Protocol

from loom.logs import without_text
from loom.profile.model import FactOp, ProfileDelta, Signal

log = logging.getLogger("loom.profile")

Conflict = Literal["first_nonempty", "last_nonempty"]


class ProfileProtocol(Protocol):
    """Whatever tells a delta from signals."""

    async def extract(self, user_id: str, signals: Sequence[Signal]) -> ProfileDelta:
        """What these signals tell of the user."""
        ...


class CompositeProfileSource:
    """Several sources as one. Of each fact, trait, preference, of topics and summary it takes the
    word of the first that says anything of it, or of the last. A source that fails is skipped and
    logged."""

    name = "composite"

    def __init__(
        self, sources: Iterable[ProfileProtocol], *, conflict: Conflict = "first_nonempty"
    ) -> None:
        if conflict not in ("first_nonempty", "last_nonempty"):
            raise ValueError("conflict must be first_nonempty or last_nonempty")
        self._sources = tuple(sources)
        self._conflict = conflict

    async def extract(self, user_id: str, signals: Sequence[Signal]) -> ProfileDelta:
        """What the sources tell together."""
        deltas = []
        for source in self._sources:
            try:
                deltas.append(await source.extract(user_id, signals))
            except Exception as error:
                about = {"source": type(source).__name__}
                log.error("a profile source failed", extra=about, exc_info=without_text(error))
        return folded(deltas, self._conflict)


def folded(deltas: Sequence[ProfileDelta], conflict: Conflict) -> ProfileDelta:
    """Several deltas as one."""
    # Said first by the winner: what is there already stays.
    ranked = list(deltas) if conflict == "first_nonempty" else list(reversed(deltas))
    together = ProfileDelta(source=",".join(each.source for each in deltas if each.source))
    told: dict[str, list[FactOp]] = {}
    for delta in ranked:
        of_this: dict[str, list[FactOp]] = {}
        for op in delta.fact_ops:
            if op.op == "forget" or op.value:
                of_this.setdefault(op.key, []).append(op)
        for key, ops in of_this.items():
            told.setdefault(key, ops)
        for name, word in delta.traits.items():
            if word:
                together.traits.setdefault(name, word)
        for name, word in delta.preferences.items():
            if word:
                together.preferences.setdefault(name, word)
        if together.topics is None and delta.topics is not None:
            together.topics = list(delta.topics)
        together.summary = together.summary or delta.summary
    # In the order in which the sources spoke.
    chosen = {id(op) for ops in told.values() for op in ops}
    together.fact_ops = [op for each in deltas for op in each.fact_ops if id(op) in chosen]
    return together

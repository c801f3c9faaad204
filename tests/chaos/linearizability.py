"""Whether what clients saw of a compare-and-swap register can have happened one thing at a time.

The register is one row: a text, or None, and the number of writes that made it. Each operation
takes effect at one moment between its call and its answer, if the register is linearizable; one
that was never answered takes effect at any moment after its call, or never. The search is that of
Wing and Gong with Lowe's memory of where it has been: try, in every order that the times allow,
what may have come next, until all that was answered has its place. Keys do not meet, so each is
judged by itself, and that keeps the search small.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple

ANY: Final = "*"
"""The expectation of a write that takes whatever stands there. No text of a register is this."""

MOST_STATES: Final = 1_000_000
"""How far a search goes; what is not decided then is told as such, and never as well."""


class State(NamedTuple):
    """A register between two operations."""

    version: int = 0
    text: str | None = None


@dataclass(frozen=True)
class Operation:
    """One operation on a key, as its client saw it. Times are of one monotonic clock.

    A read was told `version` and `text`. A write puts `text` there (None deletes), if what stands
    there is as it `expects`: a text, None for nothing, or `ANY`. `outcome` is what came of it; a
    write that was done was told its `version`, one that was refused perhaps the one in its way.
    Whatever is unknown was cut off: `answered` is infinite then.
    """

    key: str
    client: int
    kind: Literal["read", "write"]
    outcome: Literal["done", "refused", "unknown"]
    called: float
    answered: float = math.inf
    text: str | None = None
    expects: str | None = ANY
    version: int | None = None

    def applied(self, state: State) -> State | None:
        """The state after it, None when it cannot have had this outcome in that state."""
        if self.kind == "read":
            return state if (self.version, self.text) == state else None
        fits = self.expects in (ANY, state.text)
        if self.outcome == "refused":
            seen = self.version in (None, state.version)
            return state if seen and not fits else None
        after = State(state.version + 1, self.text)
        told = self.outcome == "unknown" or self.version == after.version
        return after if fits and told else None

    def __str__(self) -> str:
        told = "" if self.version is None else f", version {self.version}"
        what = f"{self.kind} {self.text!r}"
        if self.expects != ANY:
            what += f" over {self.expects!r}"
        span = f"{self.called:.4f} to {self.answered:.4f}"
        return f"client {self.client}, {span}: {what}, {self.outcome}{told}"


def violations(operations: Iterable[Operation]) -> list[str]:
    """What is wrong, a text for each key that cannot be explained; nothing should be."""
    by_key: dict[str, list[Operation]] = defaultdict(list)
    for operation in operations:
        by_key[operation.key].append(operation)
    found = (_violation(key, history) for key, history in sorted(by_key.items()))
    return [each for each in found if each is not None]


def _violation(key: str, history: list[Operation]) -> str | None:
    """A depth-first search over what has been placed and the state that this leaves."""
    # A read that was cut off says nothing.
    known = [each for each in history if each.kind == "write" or each.outcome == "done"]
    search = _Search(sorted(known, key=lambda each: each.called))
    stack = [(0, State())]
    been = set(stack)
    best, best_state = stack[0]
    while stack:
        placed, state = stack.pop()
        if search.is_whole(placed):
            return None
        if search.answered(placed) > search.answered(best):
            best, best_state = placed, state
        if len(been) > MOST_STATES:
            return f"{key}: not decided after {MOST_STATES} states"
        for step in search.steps(placed, state):
            if step not in been:
                been.add(step)
                stack.append(step)
    return search.told(key, best, best_state)


class _Search:
    """The operations in the order of their calls; sets of them are the bits of a number."""

    def __init__(self, operations: list[Operation]) -> None:
        self._operations = operations
        # Whoever was not answered need not be placed.
        self._needed = sum(
            1 << place for place, each in enumerate(operations) if each.answered < math.inf
        )

    def is_whole(self, placed: int) -> bool:
        return placed & self._needed == self._needed

    def answered(self, placed: int) -> int:
        return (placed & self._needed).bit_count()

    def next(self, placed: int) -> Iterator[int]:
        """The places of those that may come next: called before any of the rest was answered.

        Whoever was answered before a call was called before it too, so one look back suffices.
        """
        first_answer = math.inf
        for place, operation in enumerate(self._operations):
            if placed >> place & 1:
                continue
            if operation.called > first_answer:
                return
            first_answer = min(first_answer, operation.answered)
            yield place

    def steps(self, placed: int, state: State) -> Iterator[tuple[int, State]]:
        """What may come next; the one answered first comes last, and so is tried first."""
        places = sorted(self.next(placed), key=lambda each: -self._operations[each].answered)
        for place in places:
            after = self._operations[place].applied(state)
            if after is not None:
                yield placed | 1 << place, after

    def told(self, key: str, placed: int, state: State) -> str:
        """Where the longest way ended, and what might have come next and could not."""
        stuck = [
            f"    {self._operations[place]}"
            for place in self.next(placed)
            if self._operations[place].answered < math.inf
        ]
        have = f"{self.answered(placed)} of {self._needed.bit_count()} operations have a place"
        return "\n".join([f"{key}: {have}; none of these fits after {state}:", *stuck[:8]])

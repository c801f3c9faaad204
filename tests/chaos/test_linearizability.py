"""The judge of recorded histories: what cannot have happened is found, what can have is not.

Times are whole numbers here; a history is written as its operations stand under each other.
"""

from __future__ import annotations

import itertools
import math
from random import Random

import pytest

from tests.chaos.linearizability import ANY, Operation, State, violations

CUT_OFF = math.inf


def read(called: float, answered: float, text: str | None, version: int) -> Operation:
    return Operation("k", 1, "read", "done", called, answered, text, version=version)


def write(called: float, answered: float, text: str, version: int) -> Operation:
    return Operation("k", 2, "write", "done", called, answered, text, ANY, version)


def swap(
    called: float, answered: float, old: str | None, text: str | None, version: int
) -> Operation:
    return Operation("k", 3, "write", "done", called, answered, text, old, version)


def refused(called: float, answered: float, old: str | None, version: int | None) -> Operation:
    return Operation("k", 4, "write", "refused", called, answered, "refused", old, version)


def cut_off(called: float, text: str, old: str | None = ANY) -> Operation:
    return Operation("k", 5, "write", "unknown", called, CUT_OFF, text, old)


CAN_HAVE_HAPPENED = {
    "nothing": [],
    "one after another": [
        swap(0, 1, None, "a", 1),
        read(2, 3, "a", 1),
        swap(4, 5, "a", "b", 2),
        refused(6, 7, "a", 2),
        read(8, 9, "b", 2),
    ],
    "two at once, the later call first": [
        write(0, 9, "a", 2),
        write(1, 8, "b", 1),
        read(10, 11, "a", 2),
    ],
    "a read beside a write shows the text before or after it": [
        write(0, 1, "a", 1),
        write(2, 9, "b", 2),
        read(3, 4, "a", 1),
        read(5, 6, "b", 2),
    ],
    "of two creations one is refused": [swap(0, 5, None, "a", 1), refused(1, 4, None, 1)],
    "a deletion leaves room for a creation": [
        swap(0, 1, None, "a", 1),
        swap(2, 3, "a", None, 2),
        swap(4, 5, None, "b", 3),
    ],
    "a write that was cut off and never took effect": [
        write(0, 1, "a", 1),
        cut_off(2, "b"),
        read(3, 4, "a", 1),
        write(5, 6, "c", 2),
    ],
    "a write that was cut off and took effect at once": [
        write(0, 1, "a", 1),
        cut_off(2, "b"),
        read(3, 4, "b", 2),
        write(5, 6, "c", 3),
    ],
    "a write that was cut off and took effect late": [
        write(0, 1, "a", 1),
        cut_off(2, "b"),
        read(3, 4, "a", 1),
        read(5, 6, "b", 2),
    ],
    "a swap that was cut off and came too late to be one": [
        write(0, 1, "a", 1),
        cut_off(2, "b", old="a"),
        swap(3, 4, "a", "c", 2),
        read(5, 6, "c", 2),
    ],
    "the last write was cut off": [write(0, 1, "a", 1), cut_off(2, "b")],
    "a read that was cut off": [
        write(0, 1, "a", 1),
        Operation("k", 1, "read", "unknown", 2),
        read(3, 4, "a", 1),
    ],
    "a refusal that does not say what stood in its way": [
        write(0, 1, "a", 1),
        refused(2, 3, None, None),
    ],
}

CANNOT_HAVE_HAPPENED = {
    # O16: two editors are both told "saved", and one edit vanishes.
    "a lost update: two swaps of one text": [
        write(0, 1, "a", 1),
        swap(2, 5, "a", "b", 2),
        swap(3, 6, "a", "c", 3),
    ],
    "two winners for one version": [write(0, 5, "a", 1), write(1, 6, "b", 1)],
    "two creations of one row": [swap(0, 5, None, "a", 1), swap(1, 6, None, "b", 2)],
    "a stale read": [write(0, 1, "a", 1), write(2, 3, "b", 2), read(4, 5, "a", 1)],
    "a read that goes back behind another": [
        write(0, 1, "a", 1),
        write(2, 9, "b", 2),
        read(3, 4, "b", 2),
        read(5, 6, "a", 1),
    ],
    "a write that was acknowledged and is gone": [
        write(0, 1, "a", 1),
        write(2, 3, "b", 2),
        write(4, 5, "c", 2),
    ],
    "a double application: one write, two versions": [
        write(0, 1, "a", 1),
        write(2, 3, "b", 3),
        read(4, 5, "b", 3),
    ],
    "a double application of one that was cut off": [
        write(0, 1, "a", 1),
        cut_off(2, "b"),
        write(3, 4, "c", 3),
        read(5, 6, "b", 4),
    ],
    "time travel: a write is seen before its call": [
        write(0, 1, "a", 1),
        read(2, 3, "b", 2),
        cut_off(4, "b"),
    ],
    "a text that nobody wrote": [write(0, 1, "a", 1), read(2, 3, "x", 1)],
    "a version that nobody made": [write(0, 1, "a", 1), read(2, 3, "a", 2)],
    "a swap over what never stood there": [write(0, 1, "a", 1), swap(2, 3, "x", "b", 2)],
    "a refusal of what fits": [write(0, 1, "a", 1), refused(2, 3, "a", 1)],
    "a refusal that names a version of the past": [
        write(0, 1, "a", 1),
        write(2, 3, "b", 2),
        refused(4, 5, "x", 1),
    ],
    "a swap that was cut off takes effect over another text": [
        write(0, 1, "a", 1),
        cut_off(2, "b", old="a"),
        write(3, 4, "c", 2),
        read(5, 6, "b", 3),
    ],
}


@pytest.mark.parametrize("history", CAN_HAVE_HAPPENED.values(), ids=CAN_HAVE_HAPPENED.keys())
def test_what_can_have_happened_passes(history: list[Operation]) -> None:
    assert violations(history) == []


@pytest.mark.parametrize("history", CANNOT_HAVE_HAPPENED.values(), ids=CANNOT_HAVE_HAPPENED.keys())
def test_what_cannot_have_happened_is_found(history: list[Operation]) -> None:
    found = violations(history)
    assert len(found) == 1
    assert found[0].startswith("k: ")


def test_keys_are_judged_apart() -> None:
    bad = CANNOT_HAVE_HAPPENED["a stale read"]
    good = [Operation("other", 1, "read", "done", 0, 1, None, version=0)]
    assert len(violations([*good, *bad])) == 1


def test_what_was_called_and_answered_at_one_time_may_stand_either_way() -> None:
    assert violations([write(0, 1, "a", 1), read(1, 2, None, 0)]) == []


@pytest.mark.parametrize("seed", range(20))
def test_what_a_register_did_for_many_at_once_passes_and_one_wrong_answer_is_found(
    seed: int,
) -> None:
    """A register that is driven at random; then one of its answers tells another version."""
    history = driven(Random(seed))
    assert violations(history) == []
    told = [each for each in history if each.outcome == "done"]
    for each in Random(seed).sample(told, k=3):
        wrong = Operation(**{**vars(each), "version": (each.version or 0) + len(history)})
        assert violations([wrong if other is each else other for other in history])


def driven(random: Random, operations: int = 120, clients: int = 8) -> list[Operation]:
    """What clients of a true register were told, each call and answer around its moment."""
    state = State()
    history = []
    free = [0.0] * clients
    texts: list[str | None] = [None]
    for number, moment in enumerate(itertools.islice(itertools.count(1.0), operations)):
        client = min(range(clients), key=lambda each: free[each] + random.random())
        called = max(free[client], moment - random.uniform(0, 6))
        if called >= moment:
            continue
        answered = moment + random.uniform(0, 6)
        free[client] = answered
        if random.random() < 0.3:
            told = Operation(
                "k", client, "read", "done", called, answered, state.text, version=state.version
            )
            history.append(told)
            continue
        expects = random.choice([ANY, state.text, state.text, random.choice(texts)])
        text = f"t{number}"
        if expects not in (ANY, state.text):
            history.append(
                Operation(
                    "k", client, "write", "refused", called, answered, text, expects, state.version
                )
            )
            continue
        unheard = random.random() < 0.2
        done = random.random() < 0.7 or not unheard
        if done:
            state = State(state.version + 1, text)
            texts.append(text)
        version = None if unheard else state.version
        history.append(
            Operation(
                "k",
                client,
                "write",
                "unknown" if unheard else "done",
                called,
                CUT_OFF if unheard else answered,
                text,
                expects,
                version,
            )
        )
    return history

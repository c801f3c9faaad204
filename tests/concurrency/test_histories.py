"""Random writes of many processes on a few blocks, checked against one order of all of them.

Each write that is answered carries the version it made, so the versions of a block say in which
order its writes took effect. Played in that order on a plain text, every write must come to the
hash, the length and the rest of the answer it was given; no version may be missing or made twice.
"""

from __future__ import annotations

import hashlib
import random
from collections import defaultdict
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass

import pytest

from tests.calls import operate
from tests.concurrency.callers import WRITER, Answer, Outcome, Step, in_processes, step
from tests.concurrency.conftest import PROCESSES
from tests.databases import Database

KEYS = ("a", "b", "c")
SHARED = 4
"""Of so many idempotency keys each is used for one append by every process."""


@dataclass(frozen=True)
class Write:
    """A write that was answered: its operation and request, and the answer."""

    op: str
    request: Answer
    answer: Answer


def sha256(text: str | None) -> str | None:
    return None if text is None else hashlib.sha256(text.encode()).hexdigest()


def _random_step(dice: random.Random, who: int, number: int, *, inside: bool = False) -> Step:
    key = dice.choice(KEYS)
    mark = f"{who}.{number}"
    kind = dice.choices(
        ["append", "set", "set if absent", "hash", "replace", "delete", "again", "batch"],
        [6, 2, 2, 2, 3, 2, 2, 0 if inside else 4],
    )[0]
    match kind:
        case "append":
            return step("working_memory.append", block_key=key, addition=mark)
        case "set":
            return step("working_memory.set", block_key=key, content=mark)
        case "set if absent":
            return step("working_memory.set", block_key=key, content=mark, if_absent=True)
        case "hash":
            # Of a text that some other process writes or not.
            guess = sha256(f"{dice.randrange(PROCESSES)}.{dice.randrange(number + 1)}")
            return step("working_memory.set", block_key=key, content=mark, if_match_sha256=guess)
        case "replace":
            return step("working_memory.replace", block_key=key, old=".", new=":")
        case "delete":
            return step("working_memory.delete", block_key=key)
        case "again":
            shared = dice.randrange(SHARED)
            return step(
                "working_memory.append",
                key=f"key {shared}",
                block_key=KEYS[shared % len(KEYS)],
                addition=f"shared {shared}",
            )
        case _:
            steps = [_random_step(dice, who, number, inside=True) for _ in range(4)]
            items = [{"op": each.op, **each.request} for each in steps]
            return Step("batch", {"org": "acme", "requests": items, "atomic": dice.random() < 0.5})


def _writes(wanted: Step, outcome: Outcome) -> Iterator[Write]:
    """The writes that took effect by a step."""
    if outcome.sqlstate is not None:
        assert outcome.sqlstate in {"LM101", "LM201", "LM202", "LM401", "LM403"}, outcome
    elif wanted.op != "batch":
        yield Write(wanted.op, wanted.request, outcome.answer)
    else:
        results = outcome.answer["results"]
        for item, result in zip(wanted.request["requests"], results, strict=True):
            if result["status"] == 200:
                yield Write(item["op"], item, result["result"])
            else:
                assert result["status"] in {404, 409, 422}, result


def _apply(write: Write, text: str | None) -> str | None:
    """The text after a write, whose answer must fit."""
    request, answer = write.request, write.answer
    match write.op.removeprefix("working_memory."):
        case "delete":
            assert text is not None
            assert answer["found"] is True
            return None
        case "set":
            after = request["content"]
            assert not (request.get("if_absent") and text is not None)
            assert request.get("if_match_sha256") in {None, sha256(text)}
        case "append":
            after = request["addition"] if text is None else f"{text}\n{request['addition']}"
        case _:
            assert text is not None
            after = text.replace(request["old"], request["new"])
            assert answer["replacements"] == text.count(request["old"]) > 0
    assert answer["content_sha256"] == sha256(after)
    assert answer["value_length"] == len(after)
    assert answer.get("created", False) is (text is None)
    return after  # type: ignore[no-any-return]


def _check(acme: Database, scripts: list[list[Step]], outcomes: list[list[Outcome]]) -> int:
    """Plays all writes in the order of their versions; returns how many there were."""
    made: dict[str, dict[int, Write]] = defaultdict(dict)
    replayed: dict[str, Answer] = {}
    for script, outcome_of in zip(scripts, outcomes, strict=True):
        for wanted, outcome in zip(script, outcome_of, strict=True):
            for write in _writes(wanted, outcome):
                if wanted.key is not None and wanted.key in replayed:
                    assert write.answer == replayed[wanted.key]
                    continue
                if wanted.key is not None:
                    replayed[wanted.key] = write.answer
                if write.answer.get("found") is False:
                    continue
                versions = made[write.request["block_key"]]
                assert write.answer["version"] not in versions, "a version was made twice"
                versions[write.answer["version"]] = write
    states: dict[tuple[str, int], str | None] = {}
    for key, versions in made.items():
        text: str | None = None
        assert sorted(versions) == list(range(1, len(versions) + 1)), "a version is missing"
        for version in sorted(versions):
            text = _apply(versions[version], text)
            states[key, version] = text
        block = operate(
            acme.connect(WRITER), "working_memory.get", org="acme", namespace="dev", block_key=key
        )
        assert (block["version"], block.get("content")) == (len(versions), text)
    _check_refusals(scripts, outcomes, states)
    return len(states)


def _check_refusals(
    scripts: list[list[Step]],
    outcomes: list[list[Outcome]],
    states: dict[tuple[str, int], str | None],
) -> None:
    """What a stale hash was told stood there at that version."""
    for script, outcome_of in zip(scripts, outcomes, strict=True):
        for wanted, outcome in zip(script, outcome_of, strict=True):
            if outcome.sqlstate == "LM201" and wanted.op != "batch":
                version = outcome.detail["current_version"]
                told = outcome.detail["current_sha256"]
                if version is None:
                    assert told is None
                else:
                    assert told == sha256(states[wanted.request["block_key"], version])


def _race(pool: ProcessPoolExecutor, acme: Database, seed: int, length: int) -> int:
    scripts = []
    for who in range(PROCESSES):
        dice = random.Random(seed * 1000 + who)
        scripts.append([_random_step(dice, who, number) for number in range(length)])
    outcomes = in_processes(pool, acme, WRITER, scripts)
    return _check(acme, scripts, outcomes)


@pytest.mark.parametrize("seed", range(3))
def test_o19_every_answered_write_has_its_place_in_one_order(
    pool: ProcessPoolExecutor, acme: Database, seed: int
) -> None:
    assert _race(pool, acme, seed, length=40) > 100


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 110))
def test_o19_every_answered_write_has_its_place_in_one_order_at_length(
    pool: ProcessPoolExecutor, acme: Database, seed: int
) -> None:
    assert _race(pool, acme, seed, length=400) > 1000

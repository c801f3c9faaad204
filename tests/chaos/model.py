"""The model of a run: it answers by the facts, and now and then late, badly or not at all."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Callable
from dataclasses import replace
from random import Random
from typing import Any, Final

from tests.model_endpoint import (
    Request,
    Step,
    by_the_facts,
    by_the_words,
    completion,
    cut_off,
    dropped_at_once,
    dropped_in_body,
    rate_limited,
    server_error,
)

TROUBLE: Final[tuple[Callable[[], Step], ...]] = (
    dropped_at_once,
    dropped_in_body,
    server_error,
    lambda: rate_limited("1"),
    cut_off,
)

_TROUBLE_SHARE: Final = 0.08
_SLOW_SHARE: Final = 0.15
"""Of answers that come byte by byte, so that workers are killed over them."""


DIMENSION: Final = 16

WOVEN: Final = "woven "
"""How the threads begin that it adds."""


class Model:
    """Answers to all that a worker asks: bad, slow and good ones, until it is to be `reliable`."""

    def __init__(self, seed: int) -> None:
        self.reliable = False
        self._random = Random(seed)
        self._numbers = itertools.count(1)
        self._vectors = by_the_words(DIMENSION)

    def __call__(self, request: Request) -> Step:
        if not self.reliable and self._random.random() < _TROUBLE_SHARE:
            return self._random.choice(TROUBLE)()
        step = self._answer(request)
        slow = not self.reliable and self._random.random() < _SLOW_SHARE
        return replace(step, manner="drip") if slow else step

    def _answer(self, request: Request) -> Step:
        if request.path.endswith("/embeddings"):
            return self._vectors(request)
        messages = request.body["messages"]
        system = messages[0]["content"]
        if "long-term memory of" in system:
            return completion({"operations": [self._thread()]})
        if "profile of one person" in system:
            return completion(_name(messages[1]["content"]))
        return by_the_facts(request)

    def _thread(self) -> dict[str, Any]:
        """A thread of the first turn."""
        text = f"{WOVEN}{next(self._numbers)}"
        return {"action": "add", "thread": None, "text": text, "turns": [1], "reason": ""}


def _name(told: str) -> dict[str, Any]:
    """The last name that somebody asked to be called."""
    names = re.findall(r"Call me (\w+)\.", " ".join(json.loads(told)))
    return {
        "facts": [{"op": "update", "key": "name", "value": name} for name in names[-1:]],
        "traits": {},
        "preferences": {},
        "summary": None,
    }

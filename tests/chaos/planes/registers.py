"""Compare-and-swap on a few rows by all clients at once, asked once each and recorded with times.

What is cut off stays unknown: nobody asks again, so it may have been carried out, or will be, or
never. `linearizability` judges whether all of it can have happened one thing at a time.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from dataclasses import replace
from typing import Any, ClassVar, Final

from loom.errors import AlreadyExists, StaleWrite
from tests.chaos.linearizability import ANY, Operation, State
from tests.chaos.planes.hand import Act, Hand, Unheard, now
from tests.chaos.planes.working_memory import sha256

OPERATIONS_PER_KEY: Final = 120
"""Of all clients; then they move on to another row."""

Answer = dict[str, Any]


class Register(ABC):
    """A kind of row that can be read and written under a condition on what stands there."""

    def __init__(self, hand: Hand) -> None:
        self._hand = hand

    @abstractmethod
    async def read(self, key: str) -> State:
        """Its version and text."""

    @abstractmethod
    async def write(self, key: str, text: str | None, expects: str | None, seen: State) -> int:
        """Put a text there, or delete; the version that this made. `seen` is what stood there when
        the client last looked. Raises the refusal."""


class Block(Register):
    """A block of working memory, known by its hash."""

    async def read(self, key: str) -> State:
        return _state(await self._hand.once("working_memory.get", {"block_key": key}), "content")

    async def write(self, key: str, text: str | None, expects: str | None, seen: State) -> int:
        op = "working_memory.delete" if text is None else "working_memory.set"
        body = {"block_key": key, **_condition(expects, sha256), **_new("content", text)}
        return int((await self._hand.once(op, body))["version"])


class Fact(Register):
    """A memory row, known by the hash of its value as canonical JSON."""

    async def read(self, key: str) -> State:
        return _state(await self._hand.once("memory.get", {"memory_key": key}), "value")

    async def write(self, key: str, text: str | None, expects: str | None, seen: State) -> int:
        op = "memory.delete" if text is None else "memory.set"
        body = {"memory_key": key, **_condition(expects, _json_sha256), **_new("value", text)}
        return int((await self._hand.once(op, body))["version"])


class Section(Register):
    """A profile section, which is a memory row under another operation."""

    async def read(self, key: str) -> State:
        return _state(await self._hand.once("memory.get", {"memory_key": key}), "value")

    async def write(self, key: str, text: str | None, expects: str | None, seen: State) -> int:
        op = "profile.delete" if text is None else "profile.set"
        body = {"label": key, **_condition(expects, _json_sha256), **_new("value", text)}
        return int((await self._hand.once(op, body))["version"])


class Person(Register):
    """A user's profile, known by its version. Its text is the summary."""

    async def read(self, key: str) -> State:
        found = await self._hand.once("user_profile.get", {"user_id": key})
        if not found["found"]:
            return State(found["version"] or 0, None)
        return State(found["version"], found["profile"]["summary"])

    async def write(self, key: str, text: str | None, expects: str | None, seen: State) -> int:
        body: Answer = {"user_id": key, "profile": {"summary": text}}
        if expects != ANY:
            body["if_version"] = seen.version
        return int((await self._hand.once("user_profile.put", body))["version"])


KINDS: Final[dict[str, type[Register]]] = {
    "block": Block,
    "fact": Fact,
    "section": Section,
    "person": Person,
}


class Registers:
    """Reads and writes of whichever register is the turn of now."""

    WEIGHTS: ClassVar = {"register read": 5, "swap": 6, "plain write": 2, "swap away": 1}

    def __init__(self, hand: Hand) -> None:
        self._hand = hand
        self._registers = {name: kind(hand) for name, kind in KINDS.items()}
        self._seen: dict[str, State] = {}
        self.acts: dict[str, Act] = {
            "register read": self.read,
            "swap": self.swap,
            "plain write": self.put,
            "swap away": self.delete,
        }

    async def read(self) -> bool:
        """What stands there."""
        key, register = self._turn()
        called = now()
        try:
            state = await register.read(key)
        except Unheard:
            return False
        self._seen[key] = state
        self._note(
            Operation(
                key,
                self._hand.number,
                "read",
                "done",
                called,
                now(),
                state.text,
                version=state.version,
            )
        )
        return True

    async def swap(self) -> bool:
        """Another text over what this client last saw there."""
        key, register = self._turn()
        seen = self._seen.get(key, State())
        return await self._write(key, register, self._hand.next(), seen.text)

    async def put(self) -> bool:
        """Another text over whatever stands there."""
        key, register = self._turn()
        return await self._write(key, register, self._hand.next(), ANY)

    async def delete(self) -> bool:
        """Nothing over what this client last saw there, if that was something."""
        key, register = self._turn()
        seen = self._seen.get(key, State())
        if seen.text is None or isinstance(register, Person):
            return False
        return await self._write(key, register, None, seen.text)

    async def _write(
        self, key: str, register: Register, text: str | None, expects: str | None
    ) -> bool:
        seen = self._seen.get(key, State())
        operation = Operation(
            key, self._hand.number, "write", "unknown", now(), text=text, expects=expects
        )
        try:
            version = await register.write(key, text, expects, seen)
        except Unheard:
            self._note(operation)
            return False
        except StaleWrite as refusal:
            self._refused(operation, refusal.current_version)
            return False
        except AlreadyExists:
            self._refused(operation, None)
            return False
        self._seen[key] = State(version, text)
        self._note(replace(operation, outcome="done", answered=now(), version=version))
        self._hand.answered()
        return True

    def _refused(self, operation: Operation, version: int | None) -> None:
        self._note(replace(operation, outcome="refused", answered=now(), version=version))

    def _note(self, operation: Operation) -> None:
        self._hand.history.operations.append(operation)

    def _turn(self) -> tuple[str, Register]:
        turn = len(self._hand.history.operations) // OPERATIONS_PER_KEY
        kind = list(KINDS)[turn % len(KINDS)]
        return f"register-{kind}-{turn}", self._registers[kind]


def _state(found: Answer, text: str) -> State:
    return State(found.get("version") or 0, found.get(text))


def _new(field: str, text: str | None) -> Answer:
    return {} if text is None else {field: text}


def _condition(expects: str | None, hashed: Any) -> Answer:
    if expects == ANY:
        return {}
    return {"if_absent": True} if expects is None else {"if_match_sha256": hashed(expects)}


def _json_sha256(text: str) -> str:
    return sha256(json.dumps(text))

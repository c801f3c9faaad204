"""A stand-in for a model, for trying things out: an endpoint that answers by the facts.

It takes what a fact says word for word and understands nothing. Where there is a real model, name
it in ``LOOM_MODEL_BASE_URL`` and ``LOOM_MODEL``.
"""

from __future__ import annotations

import asyncio
import json
import re
import socket
from collections.abc import Mapping, Sequence
from contextlib import suppress
from types import TracebackType
from typing import Any, Final, Self

Json = dict[str, Any]

NAME: Final = "stand-in"
NOT_UNDERSTOOD: Final = "The stand-in fills in structured profiles and folds, and nothing else."


class StandIn:
    """The endpoint on a listening socket, as an asynchronous context manager."""

    def __init__(self, listener: socket.socket) -> None:
        self._listener = listener
        self._server: asyncio.Server | None = None

    @property
    def url(self) -> str:
        """What ``LOOM_MODEL_BASE_URL`` is to be."""
        return f"http://127.0.0.1:{self._listener.getsockname()[1]}/v1"

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(_answer, sock=self._listener)
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._server is not None:
            self._server.close()


def understands(messages: Sequence[Mapping[str, str]]) -> bool:
    """Whether a prompt is one that `fill_in` answers: of a structured profile, or of a fold."""
    system = messages[0]["content"]
    return "<schema>" in system or '{"summary": ' in system


def fill_in(messages: Sequence[Mapping[str, str]]) -> Json:
    """The answer to the prompt of a structured profile, or of a fold: there the facts themselves,
    the newest first. For a profile a fact under a property's name, or one that
    says ``timezone: Europe/Berlin``, settles that property; the newest such fact wins, and
    everything else is null."""
    newest_first = sorted(facts_of(messages), key=lambda fact: str(fact["dated"]), reverse=True)
    if "<schema>" not in messages[0]["content"]:
        return {"summary": "; ".join(str(fact["fact"]) for fact in newest_first)}
    values: Json = {}
    sources: dict[str, list[int]] = {}
    for name, schema in schema_of(messages)["properties"].items():
        values[name], sources[name] = None, []
        for fact in newest_first:
            told = _told(name, fact)
            if told is not None:
                values[name], sources[name] = _typed(schema, told), [fact["n"]]
                break
    return {"profile": values, "sources": sources}


def facts_of(messages: Sequence[Mapping[str, str]]) -> list[Json]:
    """The facts in such a prompt."""
    lines = messages[-1]["content"].split("\n")
    return [json.loads(line) for line in lines if line.startswith("{")]


def schema_of(messages: Sequence[Mapping[str, str]]) -> Json:
    """The schema of the profile in such a prompt."""
    system = messages[0]["content"]
    found: Json = json.loads(system.split("\n<schema>\n")[1].split("\n</schema>")[0])
    return found


def completion(content: object) -> Json:
    """A reply of an OpenAI-compatible endpoint with an answer."""
    text = json.dumps(content)
    message = {"role": "assistant", "content": text}
    return {
        "object": "chat.completion",
        "model": NAME,
        "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 0, "completion_tokens": 0},
    }


async def _answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """One request a connection."""
    with suppress(OSError, asyncio.IncompleteReadError):
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        length = re.search(r"^content-length: *(\d+)", head, re.IGNORECASE | re.MULTILINE)
        body = json.loads(await reader.readexactly(int(length[1]) if length else 0))
        status, told = _reply(body["messages"])
        reply = json.dumps(told).encode()
        writer.write(
            b"HTTP/1.1 %b\r\nContent-Type: application/json\r\nConnection: close\r\n"
            b"Content-Length: %d\r\n\r\n%b" % (status, len(reply), reply)
        )
        await writer.drain()
    writer.close()


def _reply(messages: Sequence[Mapping[str, str]]) -> tuple[bytes, Json]:
    """The status line and the body: a refusal of what it does not understand."""
    if understands(messages):
        return b"200 OK", completion(fill_in(messages))
    return b"501 Not Implemented", {"error": {"message": NOT_UNDERSTOOD}}


def _told(name: str, fact: Json) -> object:
    """What a fact says of a property, or None."""
    value = fact["fact"]
    if fact.get("key") == name:
        return value
    if isinstance(value, dict):
        value = next((each for each in value.values() if isinstance(each, str)), None)
    said = re.fullmatch(rf"\s*{re.escape(name)}\s*:\s*(.+?)\s*", str(value))
    return said[1] if said else None


def _typed(schema: Json, told: object) -> object:
    """It as the schema wants it, as far as that is plain."""
    if not isinstance(told, str):
        return told
    if schema["type"] == "array":
        return [_typed(schema["items"], part.strip()) for part in told.split(",")]
    if schema["type"] in ("integer", "number", "boolean"):
        with suppress(ValueError):
            return json.loads(told)
    return told

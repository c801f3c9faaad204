"""An OpenAI-compatible endpoint that answers by script: real HTTP on a loopback port, no model.

    with ModelEndpoint(completion("{}"), rate_limited("30")) as endpoint:
        client = ModelClient(endpoint.url, "key", "scripted", 5)

Steps are given one a request; once they are used up, or instead of them, `answer` makes one from
the request. `python -m tests.model_endpoint --port 8099` serves `by_the_facts` for demos.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from hashlib import sha256
from types import TracebackType
from typing import Any, Literal, Self

from loom.cli import stand_in

Json = dict[str, Any]
Manner = Literal["whole", "hang", "drop_at_once", "drop_in_body", "drip"]

DRIP_SECONDS = 0.02
"""Between two bytes of a body that drips: far below any time-out for a single read."""


@dataclass(frozen=True)
class Request:
    """A request as it arrived."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: Any

    @property
    def format(self) -> str | None:
        """The type of answer that is asked for."""
        asked = self.body.get("response_format")
        return str(asked["type"]) if asked else None


@dataclass(frozen=True)
class Step:
    """One reply, and the manner in which it is sent."""

    status: int = 200
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)
    manner: Manner = "whole"


Answering = Callable[[Request], Step]


def completion(
    content: object, *, finish_reason: str | None = "stop", usage: object = (100, 20), **more: Any
) -> Step:
    """An answer. `content` that is no text is sent as its JSON; None is sent as null."""
    if content is not None and not isinstance(content, str):
        content = json.dumps(content)
    message = {"role": "assistant", "content": content, **more}
    body: Json = {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "model": "scripted",
        "choices": [{"index": 0, "message": message, "finish_reason": finish_reason}],
    }
    if isinstance(usage, tuple):
        usage = {"prompt_tokens": usage[0], "completion_tokens": usage[1]}
    if usage is not None:
        body["usage"] = usage
    return Step(body=json.dumps(body).encode())


def profile(values: Json, sources: Mapping[str, list[int]] | None = None) -> Step:
    """An answer of the wanted form."""
    return completion({"profile": values, "sources": sources or {}})


def summary(text: object) -> Step:
    """An answer of the form that is wanted for a fold."""
    return completion({"summary": text})


def embeddings(vectors: Sequence[Sequence[float]], *, usage: object = 7) -> Step:
    """Vectors, the last one first: their `index` says which is whose."""
    data = [
        {"object": "embedding", "index": index, "embedding": list(vector)}
        for index, vector in enumerate(vectors)
    ]
    body: Json = {"object": "list", "model": "scripted", "data": data[::-1]}
    if isinstance(usage, int):
        usage = {"prompt_tokens": usage, "total_tokens": usage}
    if usage is not None:
        body["usage"] = usage
    return Step(body=json.dumps(body).encode())


def by_the_words(dimension: int) -> Answering:
    """An embedding model to which texts are alike that share words, whatever else they say."""

    def answer(request: Request) -> Step:
        return embeddings([words_vector(text, dimension) for text in request.body["input"]])

    return answer


def words_vector(text: str, dimension: int) -> list[float]:
    """The place of each word is its hash's; a little of the first keeps it from being nothing."""
    vector = [0.01] + [0.0] * (dimension - 1)
    for word in re.findall(r"\w+", text.lower()):
        vector[sha256(word.encode()).digest()[0] % dimension] += 1.0
    return vector


def cut_off(content: str = '{"profile": {"na') -> Step:
    """An answer that met its cap."""
    return completion(content, finish_reason="length")


def refusal(status: int, message: str, **error: Any) -> Step:
    """An error as OpenAI words it. `headers` are the reply's."""
    headers = error.pop("headers", {})
    body = {"error": {"message": message, "type": "invalid_request_error", **error}}
    return Step(status, json.dumps(body).encode(), headers)


def format_refused(status: int = 400, what: str = "response_format") -> Step:
    """A refusal that names what it refuses."""
    return refusal(status, f"Invalid parameter: '{what}' is not supported with this model.")


def completion_tokens_wanted() -> Step:
    """The refusal of `max_tokens` by newer models."""
    return refusal(
        400,
        "Unsupported parameter: 'max_tokens' is not supported with this model. "
        "Use 'max_completion_tokens' instead.",
        param="max_tokens",
        code="unsupported_parameter",
    )


def rate_limited(retry_after: str | None = None) -> Step:
    """429, with the wait that it asks for."""
    headers = {} if retry_after is None else {"Retry-After": retry_after}
    return refusal(429, "Rate limit reached.", code="rate_limit_exceeded", headers=headers)


def server_error(status: int = 500) -> Step:
    """An error that names no reason."""
    return refusal(status, "The server had an error while processing your request.")


def redirect(url: str) -> Step:
    """To another place, body and key and all."""
    return Step(307, b"", {"Location": url})


def hang() -> Step:
    """The request is read, and nothing ever comes."""
    return Step(manner="hang")


def dropped_at_once() -> Step:
    """The connection ends before the reply begins."""
    return Step(manner="drop_at_once")


def dropped_in_body() -> Step:
    """The connection ends in the middle of an answer."""
    return replace(completion({"profile": {}, "sources": {}}), manner="drop_in_body")


def drip() -> Step:
    """An answer that comes byte by byte, so that no single read is slow."""
    return replace(completion({"profile": {}, "sources": {}}), manner="drip")


def huge(size: int) -> Step:
    """An answer of so many characters."""
    return completion("x" * size)


class ModelEndpoint:
    """The endpoint, as a context manager that runs it on a thread. `url` is its base URL;
    `requests` are those that came, in their order."""

    def __init__(self, *steps: Step, answer: Answering | None = None, port: int = 0) -> None:
        self.requests: list[Request] = []
        self.url = ""
        self._steps = list(steps)
        self._answer = answer or _script_is_over
        self._port = port
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stop: asyncio.Event | None = None
        self._ready = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()), daemon=True)
        self._open: set[asyncio.Task[Any]] = set()

    def __enter__(self) -> Self:
        self._thread.start()
        if not self._ready.wait(10):
            raise RuntimeError("the endpoint did not start")
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._loop is not None and self._stop is not None:
            self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(10)

    @property
    def calls(self) -> int:
        """How many requests came."""
        return len(self.requests)

    def then(self, *steps: Step) -> None:
        """Add to the script."""
        self._steps.extend(steps)

    def join(self) -> None:
        """Serve until the process ends."""
        self._thread.join()

    async def _serve(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._stop = asyncio.Event()
        server = await asyncio.start_server(self._connection, "127.0.0.1", self._port)
        self.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
        self._ready.set()
        await self._stop.wait()
        server.close()
        for task in self._open:
            task.cancel()
        await asyncio.gather(*self._open, return_exceptions=True)

    async def _connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._open.add(task)
        try:
            # A cancelled handler would be reported as an error of asyncio's own.
            with suppress(OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
                while (request := await _read(reader)) is not None:
                    self.requests.append(request)
                    step = self._steps.pop(0) if self._steps else self._answer(request)
                    if not await _send(step, reader, writer):
                        break
        finally:
            writer.close()
            self._open.discard(task)


async def _read(reader: asyncio.StreamReader) -> Request | None:
    head = await reader.readuntil(b"\r\n\r\n")
    first, *lines = head.decode("latin-1").split("\r\n")
    method, path, _ = first.split(" ")
    pairs = (line.partition(":") for line in lines if line)
    headers = {name.lower(): value.strip() for name, _, value in pairs}
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    return Request(method, path, headers, json.loads(body) if body else None)


async def _send(step: Step, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
    """Send a reply; return whether the connection is of further use."""
    if step.manner == "hang":
        await reader.read(1)  # the client's end of it
        return False
    if step.manner == "drop_at_once":
        return False
    headers = {"Content-Type": "application/json", "Content-Length": str(len(step.body))}
    head = [f"HTTP/1.1 {step.status} Scripted"]
    head += [f"{name}: {value}" for name, value in {**headers, **step.headers}.items()]
    writer.write("\r\n".join([*head, "", ""]).encode("latin-1"))
    if step.manner == "drop_in_body":
        writer.write(step.body[: len(step.body) // 2])
        await writer.drain()
        return False
    if step.manner == "drip":
        for byte in step.body:
            writer.write(bytes([byte]))
            await writer.drain()
            await asyncio.sleep(DRIP_SECONDS)
        return True
    writer.write(step.body)
    await writer.drain()
    return True


def _script_is_over(request: Request) -> Step:
    return server_error(501)


def facts_of(request: Request) -> list[Json]:
    """The facts in a prompt for a structured profile."""
    return stand_in.facts_of(request.body["messages"])


def by_the_facts(request: Request) -> Step:
    """As `loom demo`'s stand-in answers: a fact `timezone: Europe/Berlin` settles that property."""
    messages = request.body["messages"]
    if not stand_in.understands(messages):
        return refusal(501, stand_in.NOT_UNDERSTOOD)
    return completion(stand_in.fill_in(messages))


def main(arguments: Iterable[str] | None = None) -> None:
    """Serve `by_the_facts` until the process is ended."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--port", type=int, default=0)
    options = parser.parse_args(None if arguments is None else list(arguments))
    with ModelEndpoint(answer=by_the_facts, port=options.port) as endpoint:
        print(endpoint.url, flush=True)
        with suppress(KeyboardInterrupt):
            endpoint.join()


if __name__ == "__main__":
    main()

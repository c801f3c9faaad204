"""The stand-in for a model: one process that answers each of Loom's prompts, and embeddings.

It reads what `loom.cli.stand_in` reads, and gives every other prompt an answer of its form, so that
each kind of work ends as it does with a real model, only at once.
"""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import re
import socket
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from hashlib import sha256
from typing import Any, Final

from loom.cli import stand_in

NAME: Final = "soak"
DIMENSION: Final = 64

_LENGTH: Final = re.compile(r"^content-length: *(\d+)", re.IGNORECASE | re.MULTILINE)

Json = dict[str, Any]


@contextmanager
def endpoint() -> Iterator[str]:
    """Run it during the block; its base URL, up to the `/v1`."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        context = multiprocessing.get_context("fork")
        process = context.Process(target=_serve, args=(listener,), daemon=True)
        process.start()
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}/v1"
        finally:
            process.kill()
            process.join()


def reply(path: str, body: Mapping[str, Any]) -> Json:
    """What a request is answered."""
    if path.endswith("/embeddings"):
        vectors = [vector(text) for text in body["input"]]
        data = [{"index": n, "embedding": each} for n, each in enumerate(vectors)]
        return {"object": "list", "data": data, "usage": {"prompt_tokens": 7, "total_tokens": 7}}
    return stand_in.completion(answer(body["messages"])) | {
        "usage": {"prompt_tokens": 100, "completion_tokens": 20}
    }


def answer(messages: Sequence[Mapping[str, str]]) -> Json:
    """The object that a prompt asks for."""
    system, said = messages[0]["content"], messages[-1]["content"]
    if stand_in.understands(messages):
        return stand_in.fill_in(messages)
    if "<threads>" in system:
        return {"operations": list(_woven(said))}
    if "<question>" in system:
        return {"answer": "What the first fact says.", "facts": [1]}
    role = {"op": "update", "key": "role", "value": f"engineer {len(said) % 7}"}
    return {"facts": [role], "traits": {}, "preferences": {}, "summary": "An engineer."}


def vector(text: str) -> list[float]:
    """Texts are alike that share words: the place of each word is its hash's."""
    found = [0.01] + [0.0] * (DIMENSION - 1)
    for word in re.findall(r"\w+", text.lower()):
        found[sha256(word.encode()).digest()[0] % DIMENSION] += 1.0
    return found


def _woven(said: str) -> Iterator[Json]:
    """The last turn in place of the first thread's text; a thread of its own where there is none,
    and the third one retired, so that a loom keeps a few."""
    threads, turns = (_listed(said, name) for name in ("threads", "turns"))
    if turns:
        change: Json = {"turns": [turns[-1]["n"]], "reason": "new", "text": turns[-1]["text"]}
        if threads:
            yield change | {"action": "revise", "thread": threads[0]["n"]}
        else:
            yield change | {"action": "add", "thread": None}
    if len(threads) > 2:
        old = {"thread": threads[2]["n"], "text": None, "turns": [], "reason": "old"}
        yield old | {"action": "retire"}


def _listed(said: str, name: str) -> list[Json]:
    inner = said.partition(f"<{name}>\n")[2].partition(f"</{name}>")[0]
    return [json.loads(line) for line in inner.splitlines()]


def _serve(listener: socket.socket) -> None:
    async def forever() -> None:
        async with await asyncio.start_server(_connection, sock=listener) as server:
            await server.serve_forever()

    asyncio.run(forever())


async def _connection(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(OSError, asyncio.IncompleteReadError):
        while True:
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
            length = _LENGTH.search(head)
            body = json.loads(await reader.readexactly(int(length[1]) if length else 0))
            data = json.dumps(reply(head.split(" ", 2)[1], body)).encode()
            writer.write(
                b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
                b"Content-Length: %d\r\n\r\n%b" % (len(data), data)
            )
            await writer.drain()
    writer.close()

"""Reading a request's body, and no more of it than the limit."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

from loom.app.errors import PAYLOAD_TOO_LARGE, Refusal

BODY_LIMIT: Final = 1024 * 1024

# A client that is still sending does not look for an answer, and loses it when the connection is
# closed under it. So what it sends on is thrown away, for so long and so much, before the close.
LINGER_BYTES: Final = 4 * BODY_LIMIT
LINGER_SECONDS: Final = 2.0

Receive = Callable[[], Awaitable[Any]]


class Disconnected(Exception):
    """The client went away before its request was complete: there is nobody to answer."""


async def read_body(receive: Receive, headers: Mapping[bytes, bytes]) -> bytes:
    """The whole body, at most `BODY_LIMIT` bytes.

    Raises `Refusal` (PAYLOAD_TOO_LARGE) as soon as the length is known to be over the limit, from
    the header or from what has come, and `Disconnected`.
    """
    length = headers.get(b"content-length")
    if length is not None and int(length) > BODY_LIMIT:
        raise _too_large()
    message = await receive()
    body: bytes = message.get("body", b"")
    if message.get("more_body", False):
        parts = [body]
        size = len(body)
        while message.get("more_body", False):
            message = await receive()
            part: bytes = message.get("body", b"")
            size += len(part)
            if size > BODY_LIMIT:
                raise _too_large()
            parts.append(part)
        body = b"".join(parts)
    if message["type"] == "http.disconnect":
        raise Disconnected
    if len(body) > BODY_LIMIT:
        raise _too_large()
    return body


async def linger(receive: Receive) -> None:
    """Throw away what a refused client still sends, within bounds."""
    size = 0
    try:
        async with asyncio.timeout(LINGER_SECONDS):
            while size <= LINGER_BYTES:
                message = await receive()
                size += len(message.get("body", b""))
                if not message.get("more_body", False):
                    return
    except TimeoutError:
        return


def _too_large() -> Refusal:
    return Refusal(PAYLOAD_TOO_LARGE, {"limit": BODY_LIMIT, "hint": "Send at most 1 MiB."})

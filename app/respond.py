"""Writing answers, and giving each request its id."""

from __future__ import annotations

import itertools
import re
import secrets
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Final

from loom.app.errors import RETRY_AFTER_SECONDS, Refusal

Header = tuple[bytes, bytes]
Send = Callable[[Any], Awaitable[None]]

JSON: Final = (b"content-type", b"application/json")
NO_STORE: Final = (b"cache-control", b"no-store")

_ACCEPTED_ID: Final = re.compile(rb"[A-Za-z0-9._:-]{1,64}")
_process: Final = secrets.token_hex(6)
_numbers: Final = itertools.count(1)


def request_id(headers: Mapping[bytes, bytes]) -> str:
    """The caller's `X-Request-Id` where it is short and plain, else a new one."""
    given = headers.get(b"x-request-id")
    if given is not None and _ACCEPTED_ID.fullmatch(given):
        return given.decode()
    return f"{_process}-{next(_numbers):x}"


async def answer(
    send: Send,
    status: int,
    body: bytes,
    identifier: str,
    headers: Sequence[Header] = (JSON,),
) -> None:
    """Send a complete answer."""
    await send(
        {
            "type": "http.response.start",
            "status": status,
            "headers": [
                *headers,
                (b"content-length", str(len(body)).encode()),
                (b"x-request-id", identifier.encode()),
            ],
        }
    )
    await send({"type": "http.response.body", "body": body})


async def refuse(
    send: Send,
    refusal: Refusal,
    identifier: str,
    headers: Sequence[Header] = (),
    *,
    before_end: Callable[[], Awaitable[None]] | None = None,
) -> None:
    """Send an error. `before_end` runs when the error is out and the answer not yet ended."""
    body = refusal.body(identifier)
    status = refusal.error.status
    all_headers = [
        JSON,
        *headers,
        (b"content-length", str(len(body)).encode()),
        (b"x-request-id", identifier.encode()),
    ]
    if status == 503:
        all_headers.append((b"retry-after", str(RETRY_AFTER_SECONDS).encode()))
    elif status == 401:
        all_headers.append((b"www-authenticate", b"Bearer"))
    await send({"type": "http.response.start", "status": status, "headers": all_headers})
    await send({"type": "http.response.body", "body": body, "more_body": before_end is not None})
    if before_end is not None:
        await before_end()
        await send({"type": "http.response.body", "body": b""})

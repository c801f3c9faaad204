"""uvicorn's HTTP protocol, with an answer's head and body sent together.

uvicorn writes the head of an answer as soon as it has it and the body after that: two system calls
and two packets, each of which wakes the client. One client at a time, that is a quarter of what an
operation costs the server. So the head is held back until the body follows, which is at once.
"""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

_CONTINUE = b"HTTP/1.1 100 "
_HEAD = b"HTTP/1.1 "


class OneWrite(asyncio.Transport):
    """A transport that joins the head of an answer to what is written after it."""

    def __init__(self, transport: asyncio.Transport) -> None:
        super().__init__()
        self._transport = transport
        self._head: bytes | None = None

    def write(self, data: Any) -> None:
        """Send `data`, or keep it if it is the head of an answer."""
        head = self._head
        if head is not None:
            self._head = None
            self._transport.write(head + data)
        elif data.startswith(_HEAD) and not data.startswith(_CONTINUE):
            self._head = data
        else:
            self._transport.write(data)

    def flush(self) -> None:
        """Send a head that nothing follows."""
        head, self._head = self._head, None
        if head is not None:
            self._transport.write(head)

    def close(self) -> None:
        """Close when everything is sent."""
        self.flush()
        self._transport.close()

    def abort(self) -> None:
        """Close now."""
        self._transport.abort()

    def is_closing(self) -> bool:
        """Whether it is closed or about to be."""
        return self._transport.is_closing()

    def pause_reading(self) -> None:
        """Take no more from the client for now."""
        self._transport.pause_reading()

    def resume_reading(self) -> None:
        """Take more from the client again."""
        self._transport.resume_reading()

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        """What the transport knows of its socket."""
        return self._transport.get_extra_info(name, default)


class Protocol(HttpToolsProtocol):
    """One client's connection."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to talk to a client."""
        self._one_write = OneWrite(transport)
        super().connection_made(self._one_write)

    def on_response_complete(self) -> None:
        """An answer is complete; one to HEAD has no body that would have sent its head."""
        self._one_write.flush()
        super().on_response_complete()

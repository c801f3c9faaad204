"""uvicorn's HTTP protocol, with an answer's head and body sent together.

uvicorn writes the head of an answer as soon as it has it and the body after that: two system calls
and two packets, each of which wakes the client. One client at a time, that is a quarter of what an
operation costs the server. So the head is held back until the body follows, which is at once.

And what uvicorn leaves open is closed: a head or trailer without end, trailers that count as
headers, and the offer of another protocol, after which it would read the body as a request.
"""

from __future__ import annotations

import asyncio
from typing import Any, Final

import httptools
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

_CONTINUE = b"HTTP/1.1 100 "
_HEAD = b"HTTP/1.1 "

# The most bytes of a head, a trailer or a chunk's line; a piece of what came may come on top.
HEAD_LIMIT: Final = 64 * 1024


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
        self._in_head = True
        self._pending = 0
        super().connection_made(self._one_write)

    def data_received(self, data: bytes) -> None:
        """Take what a client sent."""
        self._unset_keepalive_if_required()
        self._pending += len(data)
        rest: bytes | None = data
        while rest is not None:
            rest = self._feed(rest)
        if self._pending > HEAD_LIMIT and not self.transport.is_closing():
            self.send_400_response("The head of the request is too long.")

    def _feed(self, data: bytes) -> bytes | None:
        """Parse `data`. Returns what is to be parsed next, after the offer of another protocol."""
        try:
            self.parser.feed_data(data)
        except httptools.HttpParserUpgrade as offer:
            method = self.parser.get_method()
            if method != b"CONNECT":
                return self._without_offer(method) + data[offer.args[0] :]
        except httptools.HttpParserError:
            pass
        else:
            return None
        self.logger.warning("Invalid HTTP request received.")
        self.send_400_response("Invalid HTTP request received.")
        return None

    def _without_offer(self, method: bytes) -> bytes:
        """The head just parsed, for a new parser: the old one takes no body after an offer."""
        version = self.parser.get_http_version().encode()
        lines = [method + b" " + self.url + b" HTTP/" + version]
        lines += [name + b": " + value for name, value in self.headers if name != b"upgrade"]
        self.parser = httptools.HttpRequestParser(self)
        self.parser.set_dangerous_leniencies(lenient_data_after_close=True)  # as uvicorn's own
        return b"\r\n".join(lines) + b"\r\n\r\n"

    def on_message_begin(self) -> None:
        """A request begins."""
        self._in_head = True
        super().on_message_begin()

    def on_header(self, name: bytes, value: bytes) -> None:
        """A header, or a trailer, which is left out: it may not pass for a header."""
        if self._in_head:
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """The head is complete."""
        self._pending = 0
        self._in_head = False
        if not self.parser.should_upgrade():
            super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """A piece of the body."""
        self._pending = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        """The request is complete."""
        self._pending = 0
        if not self.parser.should_upgrade():
            super().on_message_complete()

    def eof_received(self) -> bool:  # type: ignore[override]
        """The client sends no more; whether it still gets the answer to what it has sent."""
        # None before the first request, though uvicorn's own annotation does not say so.
        cycle: RequestResponseCycle | None = self.cycle
        if cycle is None or cycle.response_complete or cycle.more_body:
            return False
        cycle.keep_alive = False
        return True

    def on_response_complete(self) -> None:
        """An answer is complete; one to HEAD has no body that would have sent its head."""
        self._one_write.flush()
        super().on_response_complete()

"""An HTTP client that costs next to nothing: one blocking socket, one request at a time."""

from __future__ import annotations

import re
import select
import socket
from typing import Final

_LENGTH: Final = re.compile(rb"\r\ncontent-length: *([0-9]+)", re.IGNORECASE)
_READ: Final = 65536


class HttpError(Exception):
    """The answer is not 200; the text is the answer."""


class HttpClient:
    """A connection that is kept, with a token."""

    def __init__(self, address: tuple[str, int], token: str) -> None:
        self._address = address
        self._socket = self._connect()
        self._headers = (
            f"Host: {address[0]}:{address[1]}\r\n"
            f"Authorization: Bearer {token}\r\n"
            "Content-Type: application/json\r\n"
            "Content-Length: "
        ).encode()

    def post(self, path: str, body: bytes, key: str | None = None) -> bytes:
        """Send a request, under an idempotency key where one is given; return the answer's body.
        Raises `HttpError` and `OSError`."""
        self.send(path, body, key)
        return self.receive()

    def send(self, path: str, body: bytes, key: str | None = None) -> None:
        """Send a request."""
        more = b"\r\n" if key is None else b"\r\nIdempotency-Key: %b\r\n" % key.encode()
        head = b"POST %b HTTP/1.1\r\n%b%d%b\r\n" % (path.encode(), self._headers, len(body), more)
        self._socket.sendall(head + body)

    def receive(self) -> bytes:
        """The body of the answer to what was sent."""
        data = self._more()
        while (end := data.find(b"\r\n\r\n")) < 0:
            data += self._more()
        length = _LENGTH.search(data, 0, end)
        if length is None:
            raise HttpError(data.decode(errors="replace"))
        whole = end + 4 + int(length[1])
        while len(data) < whole:
            data += self._more()
        if not data.startswith(b"HTTP/1.1 200 "):
            raise HttpError(data.decode(errors="replace"))
        return data[end + 4 :]

    def refresh(self) -> None:
        """Connect again if the server has ended the connection, as it does after a long pause."""
        ended, _, _ = select.select([self._socket], [], [], 0)
        if ended:
            self._socket.close()
            self._socket = self._connect()

    def fileno(self) -> int:
        """The socket's descriptor, for those who wait on several."""
        return self._socket.fileno()

    def close(self) -> None:
        """End the connection."""
        self._socket.close()

    def _connect(self) -> socket.socket:
        connected = socket.create_connection(self._address)
        connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return connected

    def _more(self) -> bytes:
        data = self._socket.recv(_READ)
        if not data:
            raise ConnectionError("the server closed the connection")
        return data

"""An answer leaves in one piece, and no part of it is held back."""

from __future__ import annotations

import asyncio
from typing import Any

from loom.app.protocol import OneWrite
from tests.http.api import Api


class Recorder(asyncio.Transport):
    """Keeps what is written."""

    def __init__(self) -> None:
        super().__init__()
        self.written: list[bytes] = []
        self.closed = False

    def write(self, data: Any) -> None:
        self.written.append(bytes(data))

    def close(self) -> None:
        self.closed = True


def test_head_and_body_are_written_together() -> None:
    recorder = Recorder()
    transport = OneWrite(recorder)
    for _ in range(2):
        transport.write(b"HTTP/1.1 200 OK\r\n\r\n")
        transport.write(b"{}")
    assert recorder.written == [b"HTTP/1.1 200 OK\r\n\r\n{}"] * 2


def test_a_go_ahead_is_written_at_once() -> None:
    recorder = Recorder()
    OneWrite(recorder).write(b"HTTP/1.1 100 Continue\r\n\r\n")
    assert recorder.written == [b"HTTP/1.1 100 Continue\r\n\r\n"]


def test_a_head_alone_is_written_when_the_answer_ends_or_the_connection_closes() -> None:
    recorder = Recorder()
    transport = OneWrite(recorder)
    transport.write(b"HTTP/1.1 200 OK\r\n\r\n")
    transport.flush()
    transport.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
    transport.close()
    transport.flush()
    assert recorder.written == [b"HTTP/1.1 200 OK\r\n\r\n", b"HTTP/1.1 400 Bad Request\r\n\r\n"]
    assert recorder.closed


def test_a_body_that_looks_like_a_head_is_no_head() -> None:
    recorder = Recorder()
    transport = OneWrite(recorder)
    transport.write(b"HTTP/1.1 200 OK\r\n\r\n")
    transport.write(b"HTTP/1.1 is a protocol")
    assert recorder.written == [b"HTTP/1.1 200 OK\r\n\r\nHTTP/1.1 is a protocol"]


def test_what_is_no_http_is_answered_and_closed(api: Api) -> None:
    with api.socket() as connection:
        connection.sendall(b"this is no HTTP\r\n\r\n")
        answer = b""
        while part := connection.recv(65536):
            answer += part
    assert answer.startswith(b"HTTP/1.1 400 ")

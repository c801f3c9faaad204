"""What a client sends is one request at a time: nothing in it passes for another, or for a head."""

from __future__ import annotations

import json
import socket

import pytest

from loom.app.protocol import HEAD_LIMIT
from tests.http.api import Api

PLACE = '"org": "acme", "namespace": "main", "agent": "smuggler"'
BODY = ("{" + PLACE + ', "content": "inner"}').encode()


def _request(path: str, body: bytes, *headers: str) -> bytes:
    lines = [f"POST {path} HTTP/1.1", "Host: 127.0.0.1", f"Content-Length: {len(body)}", *headers]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


def _until_closed(connection: socket.socket) -> bytes:
    got = b""
    while piece := connection.recv(65536):
        got += piece
    return got


def test_a_body_after_the_offer_of_another_protocol_stays_a_body(api: Api) -> None:
    inner = _request("/v1/working_memory.set", BODY)
    outer = _request(
        "/v1/working_memory.get",
        inner,
        "Connection: Upgrade, close",
        "Upgrade: x",
        f"Authorization: Bearer {api.token}",
    )
    head, _, body = outer.partition(b"\r\n\r\n")
    with api.socket() as connection:
        connection.sendall(head + b"\r\n\r\n")
        connection.sendall(body)
        answers = _until_closed(connection)
    assert answers.count(b"HTTP/1.1 ") == 1
    assert b"400" in answers.splitlines()[0]


def test_an_offer_of_another_protocol_is_passed_over(api: Api) -> None:
    offer = ("Connection: Upgrade, close", "Upgrade: h2c")
    with api.socket() as connection:
        connection.sendall(_request("/v1/health", b"", *offer).replace(b"POST", b"GET", 1))
        answer = _until_closed(connection)
    assert answer.startswith(b"HTTP/1.1 200 ")


def test_a_trailer_is_no_header(api: Api) -> None:
    """The token that it carries is a good one, and counts for nothing there."""
    assert api.token
    head = (
        b"POST /v1/working_memory.get HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n"
        b"Transfer-Encoding: chunked\r\n"
    )
    body = b"%x\r\n%s\r\n0\r\n" % (len(BODY), BODY)
    trailer = b"Authorization: Bearer %s\r\n" % api.token.encode()
    for sent in (head + b"\r\n" + body + trailer, head + b"\r\n" + body):
        with api.socket() as connection:
            connection.sendall(sent + b"\r\n")
            assert _until_closed(connection).startswith(b"HTTP/1.1 401 ")


@pytest.mark.parametrize("line", [b"a:b\r\n", b"long: " + b"x" * 1000 + b"\r\n"])
def test_a_head_without_end_is_refused(api: Api, line: bytes) -> None:
    with api.socket() as connection:
        connection.sendall(b"GET /v1/health HTTP/1.1\r\nHost: 127.0.0.1\r\n")
        sent = 0
        try:
            while sent < 4 * HEAD_LIMIT:
                connection.sendall(line * 50)
                sent += 50 * len(line)
            answer = _until_closed(connection)
        except ConnectionError:
            return  # closed while we were still writing: refused as well
    assert answer.startswith(b"HTTP/1.1 400 ")


def test_who_has_said_everything_still_gets_the_answer(api: Api) -> None:
    with api.socket() as connection:
        connection.sendall(_request("/v1/health", b"").replace(b"POST", b"GET", 1))
        connection.shutdown(socket.SHUT_WR)
        answer = _until_closed(connection)
    assert answer.startswith(b"HTTP/1.1 200 ")
    assert json.loads(answer.partition(b"\r\n\r\n")[2])

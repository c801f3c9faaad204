"""A body over 1 MiB is refused, however it is sent, and without reading all of it."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from tests.http.api import Api, detail

MIB = 1024 * 1024


def _body(size: int) -> bytes:
    body = b'{"block_key": "none"' + b" " * (size - 21) + b"}"
    assert len(body) == size
    return body


def test_a_body_of_exactly_one_mib_is_taken(api: Api) -> None:
    assert api.post("working_memory.get", _body(MIB)).status_code == 200


def test_a_body_of_one_byte_more_is_not(api: Api) -> None:
    response = api.post("working_memory.get", _body(MIB + 1))
    assert detail(response, 413, "PAYLOAD_TOO_LARGE") == {"limit": MIB}


@pytest.mark.parametrize(("size", "status"), [(MIB, 200), (MIB + 1, 413), (3 * MIB, 413)])
def test_the_same_holds_for_a_body_in_chunks(api: Api, size: int, status: int) -> None:
    body = _body(size)

    def chunks() -> Iterator[bytes]:
        for start in range(0, size, 100_000):
            yield body[start : start + 100_000]

    response = api.client.post(
        api.url + "/v1/working_memory.get",
        content=chunks(),
        headers={"Authorization": f"Bearer {api.token}"},
    )
    assert response.request.headers["transfer-encoding"] == "chunked"
    assert response.status_code == status
    if status == 413:
        detail(response, 413, "PAYLOAD_TOO_LARGE")


def test_the_announced_length_is_enough_to_refuse(api: Api) -> None:
    with api.socket() as connection:
        connection.sendall(_head(api, "Content-Length: 5000000000"))
        answer = connection.recv(65536)
        assert answer.startswith(b"HTTP/1.1 413 ")
        assert b"connection: close" in answer.lower()


def test_a_client_that_waits_for_100_continue_is_refused_before_it_sends(api: Api) -> None:
    with api.socket() as connection:
        connection.sendall(_head(api, "Content-Length: 2000000", "Expect: 100-continue"))
        assert connection.recv(65536).startswith(b"HTTP/1.1 413 ")


def test_a_small_body_with_100_continue_is_taken(api: Api) -> None:
    with api.socket() as connection:
        connection.sendall(_head(api, "Content-Length: 2", "Expect: 100-continue"))
        assert connection.recv(65536) == b"HTTP/1.1 100 Continue\r\n\r\n"
        connection.sendall(b"{}")
        assert connection.recv(65536).startswith(b"HTTP/1.1 200 ")


def test_an_endless_body_is_cut_off(api: Api) -> None:
    chunk = b"10000\r\n" + b"x" * 0x10000 + b"\r\n"
    sent = 0
    with api.socket() as connection:
        connection.sendall(_head(api, "Transfer-Encoding: chunked"))
        with pytest.raises(OSError):
            while sent < 100 * MIB:
                connection.sendall(chunk)
                sent += len(chunk)
    assert sent < 20 * MIB


def test_a_refused_client_that_goes_on_sending_still_gets_its_answer(api: Api) -> None:
    with api.socket() as connection:
        connection.sendall(_head(api, f"Content-Length: {2 * MIB}"))
        connection.sendall(b"x" * (2 * MIB))
        answer = b""
        while part := connection.recv(65536):
            answer += part
    assert answer.startswith(b"HTTP/1.1 413 ")
    assert json.loads(answer.partition(b"\r\n\r\n")[2])["detail"]["code"] == "PAYLOAD_TOO_LARGE"


def _head(api: Api, *headers: str) -> bytes:
    lines = [
        "POST /v1/working_memory.get HTTP/1.1",
        "Host: localhost",
        f"Authorization: Bearer {api.token}",
        *headers,
    ]
    return "\r\n".join(lines).encode() + b"\r\n\r\n"

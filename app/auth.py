"""Who calls: the token's text, and the guards of open mode.

Nothing here decides what a caller may do; the database does, from the token's hash. The edge only
takes the token's text apart, refuses what cannot be a token without asking the database, and in
open mode makes sure that a request without a token comes from this machine and from no web page
and no proxy.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from hashlib import sha256
from typing import Final, NamedTuple

from loom.app.errors import AUTH_REQUIRED, Refusal
from loom.settings import is_loopback

HINT: Final = "Send Authorization: Bearer with a token that is neither expired nor revoked."

# loom_<the org's uuid, 32 hex digits>_<the secret, 64 hex digits>
_TOKEN: Final = re.compile(rb"(?i:bearer) +loom_([0-9a-f]{32})_([0-9a-f]{64})")

# A proxy adds one of these, so the request may come from anywhere.
_PROXY_HEADERS: Final = (b"forwarded", b"via", b"x-real-ip")
_PROXY_PREFIX: Final = b"x-forwarded-"

_HOST: Final = re.compile(r"(\[[0-9a-fA-F:.]+\]|[^\[\]:/@]+)(?::[0-9]{1,5})?")


class Caller(NamedTuple):
    """What `loom.call` is told: the org's uuid and the secret's SHA-256; None without a token."""

    org: bytes | None
    token_hash: bytes | None


NOBODY: Final = Caller(None, None)


def caller_of_token(authorization: bytes) -> Caller:
    """Take an `Authorization` header apart. Raises `Refusal` when it holds no token of ours."""
    match = _TOKEN.fullmatch(authorization.strip())
    if match is None:
        raise _refuse("the Authorization header holds no token of this server")
    org, secret = match.groups()
    return Caller(bytes.fromhex(org.decode()), sha256(secret).digest())


def caller_without_token(
    open_mode: bool, headers: Sequence[tuple[bytes, bytes]], client: str | None
) -> Caller:
    """Judge a request without a token. Raises `Refusal` unless open mode may answer it."""
    if not open_mode:
        raise _refuse("there is no token")
    trouble = stranger(headers, client)
    if trouble is not None:
        raise _refuse(trouble)
    return NOBODY


def stranger(headers: Sequence[tuple[bytes, bytes]], client: str | None) -> str | None:
    """Why a request may not come from a program of this machine, or None if it does.

    A page in the machine's browser can reach a loopback port, but not without naming itself in
    `Origin` (or its own host in `Host`, after rebinding its name).
    """
    if client is not None and not _is_loopback_client(client):
        return "without a token only this machine is answered"
    hosts = [value for name, value in headers if name == b"host"]
    if len(hosts) != 1 or not _is_loopback_host(hosts[0]):
        return "without a token the Host must be a loopback name"
    for name, value in headers:
        if name == b"origin" and value.lower() != b"http://" + hosts[0].lower():
            return "without a token no other origin is answered"
        if name == b"sec-fetch-site" and value not in (b"same-origin", b"none"):
            return "without a token no other origin is answered"
        if name in _PROXY_HEADERS or name.startswith(_PROXY_PREFIX):
            return "without a token no proxy is answered"
    return None


@lru_cache(maxsize=256)
def _is_loopback_host(value: bytes) -> bool:
    match = _HOST.fullmatch(value.decode("latin-1"))
    return match is not None and is_loopback(match[1])


@lru_cache(maxsize=256)
def _is_loopback_client(address: str) -> bool:
    return is_loopback(address)


def _refuse(reason: str) -> Refusal:
    return Refusal(AUTH_REQUIRED, {"reason": reason, "hint": HINT})

"""How the text of a variable is read: one function for each kind of value.

What cannot be read is a `ValueError` that says what is wanted, and never repeats the text: it may
hold a password.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from urllib.parse import urlsplit


def text(value: str) -> str:
    return value


def header_text(value: str) -> str:
    if not (value.isascii() and value.isprintable()):
        raise ValueError("wants printable ASCII characters")
    return value


def model_name(value: str) -> str:
    """The name of a model, of a length that the database keeps."""
    if len(value) > 200 or len(value.encode()) > 256:
        raise ValueError("wants at most 200 characters, and 256 bytes of UTF-8")
    return value


def folder(value: str) -> Path:
    return Path(value).expanduser().absolute()


def url(value: str) -> str:
    try:
        parts = urlsplit(value)
        fits = parts.scheme in ("http", "https") and bool(parts.hostname) and not parts.query
    except ValueError:
        fits = False
    if not fits or not (value.isascii() and value.isprintable()):
        raise ValueError("wants a URL that begins with http:// or https://")
    return value


def switch(value: str) -> bool:
    return one_of("on", "off")(value) == "on"


def one_of(*choices: str) -> Callable[[str], str]:
    def parse(value: str) -> str:
        if value not in choices:
            raise ValueError("wants " + " or ".join(f'"{choice}"' for choice in choices))
        return value

    return parse


def whole(low: int, high: int) -> Callable[[str], int]:
    def parse(value: str) -> int:
        if not (value.isascii() and value.isdigit() and low <= int(value) <= high):
            raise ValueError(f"wants a whole number from {low} to {high}")
        return int(value)

    return parse


def seconds(low: float, high: float) -> Callable[[str], float]:
    def parse(value: str) -> float:
        try:
            number = float(value)
        except ValueError:
            number = float("nan")
        if not low <= number <= high:  # also refuses NaN
            raise ValueError(f"wants a number of seconds from {low:g} to {high:g}")
        return number

    return parse


def share(value: str) -> float:
    try:
        number = float(value)
    except ValueError:
        number = float("nan")
    if not 0 <= number <= 1:  # also refuses NaN
        raise ValueError("wants a number from 0 to 1")
    return number


def named_keys(value: str) -> Mapping[str, str]:
    """A list of name=key. A key may hold `=`, neither may hold a comma."""
    keys: dict[str, str] = {}
    for part in value.split(","):
        name, _, key = (each.strip() for each in part.partition("="))
        if not name or not key or name in keys or not (key.isascii() and key.isprintable()):
            raise ValueError("wants a list of name=key with commas in between, each name once")
        keys[name] = key
    return MappingProxyType(keys)


def tokens_by_purpose(*purposes: str) -> Callable[[str], Mapping[str, int]]:
    """A list of purpose=tokens, for some of these purposes."""

    def parse(value: str) -> Mapping[str, int]:
        tokens: dict[str, int] = {}
        for part in value.split(","):
            purpose, _, number = (each.strip() for each in part.partition("="))
            try:
                if purpose not in purposes or purpose in tokens:
                    raise ValueError
                tokens[purpose] = whole(1, 65_536)(number)
            except ValueError:
                raise ValueError(
                    "wants a list of purpose=tokens with commas in between, each purpose once: "
                    + " or ".join(purposes)
                    + ", and a whole number from 1 to 65536"
                ) from None
        return MappingProxyType(tokens)

    return parse

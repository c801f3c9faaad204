"""A log line is JSON, and no exception's text gets into it."""

from __future__ import annotations

import io
import json
import logging
from collections.abc import Iterator
from typing import Any

import pytest

from loom.logs import configure


@pytest.fixture
def stream() -> Iterator[io.StringIO]:
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    written = io.StringIO()
    configure("info", written)
    yield written
    root.handlers[:] = handlers
    root.setLevel(level)


def lines(stream: io.StringIO) -> list[dict[str, Any]]:
    return [json.loads(line) for line in stream.getvalue().split("\n") if line]


def test_a_line_has_time_level_and_the_known_extras(stream: io.StringIO) -> None:
    logging.getLogger("loom.x").info(
        "request refused", extra={"op": "a.b", "ms": 1.5, "user_id": "u"}
    )
    (line,) = lines(stream)
    assert line["time"].endswith("Z")
    del line["time"]
    assert line == {
        "level": "info",
        "logger": "loom.x",
        "event": "request refused",
        "op": "a.b",
        "ms": 1.5,
    }


def test_an_exception_is_logged_as_type_and_places(stream: io.StringIO) -> None:
    def fails() -> None:
        raise ValueError("s3cret")

    try:
        fails()
    except ValueError:
        logging.getLogger("loom.x").exception("it failed")
    (line,) = lines(stream)
    assert line["exception"] == "ValueError"
    assert line["frames"][-1].endswith(" fails")
    assert "s3cret" not in stream.getvalue()


def test_a_line_stays_one_line(stream: io.StringIO) -> None:
    logging.getLogger("loom.x").warning("two\nlines \u2028 \ud83d")
    assert stream.getvalue().count("\n") == 1
    assert len(lines(stream)) == 1


def test_levels_below_the_setting_are_left_out(stream: io.StringIO) -> None:
    logging.getLogger("loom.x").debug("quiet")
    logging.getLogger("httpx2").info("HTTP Request: POST http://…")
    assert lines(stream) == []

"""Logs: one JSON object a line, on the standard library's `logging`.

A line holds what happened and codes, never a caller's text: no bodies, no ids, no token, no
message of a database error. An exception is logged as its type and the places it passed through,
without its message, because libraries put the offending value there.

A line: `{"time", "level", "logger", "event", …}` and, about a request, `request_id`, `op`, `code`,
`status`, `ms`; about work, `kind`, `outcome`, `reason`; about a failure, `sqlstate`, `exception`,
`frames`.
"""

from __future__ import annotations

import logging
import sys
import traceback
from datetime import UTC, datetime
from types import TracebackType
from typing import Any, TextIO

import msgspec

# What a caller of `logging` may attach with `extra=`. Anything else is left out, so that a
# library's own extras cannot carry a request's text into the logs.
FIELDS = (
    "request_id",
    "op",
    "code",
    "status",
    "ms",
    "sqlstate",
    "lane",
    "attempt",
    "seconds",
    "count",
    "reason",
    "url",
    "pid",
    "worker_id",
    "version",
    "schema",
    "kind",
    "outcome",
)

ExceptionInfo = tuple[type[BaseException], BaseException, TracebackType | None]

_encode = msgspec.json.Encoder().encode


class JsonLines(logging.Formatter):
    """Formats a record as one JSON object without any text of a caller."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the record's line, without the newline."""
        line: dict[str, Any] = {
            "time": _time(record.created),
            "level": record.levelname.lower(),
            "logger": record.name,
            # A lone surrogate has no UTF-8 form, and a line must never fail to be written.
            "event": record.getMessage().encode("utf-8", "replace").decode(),
        }
        for name in FIELDS:
            value = record.__dict__.get(name)
            if value is not None:
                line[name] = value
        if record.exc_info and record.exc_info[0] is not None:
            line["exception"] = record.exc_info[0].__qualname__
            line["frames"] = _frames(record.exc_info[2])
        return _encode(line).decode()


def configure(level: str = "info", stream: TextIO | None = None) -> None:
    """Send every log of this process to `stream` (standard error) as JSON lines.

    Replaces the handlers of the root logger, so that calling it twice does no harm.
    """
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(JsonLines())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level.upper())
    # These announce each request or connection; what matters of them we log ourselves.
    for name in ("httpx2", "httpcore2", "asyncio", "uvicorn.access"):
        logging.getLogger(name).setLevel(max(logging.WARNING, root.level))


def why_unreachable(failure: Exception) -> str:
    """The `reason` of a database that cannot be reached, short enough for a line.

    What libpq says of a connection: host, login and why, nothing of a user.
    """
    return f"{type(failure).__name__}: {failure}".splitlines()[0][:300]


def without_text(error: BaseException) -> ExceptionInfo:
    """An error for ``exc_info=``: its type and the places it passed, which say nothing of a user,
    without its message and its causes, whatever logging makes of them."""
    return type(error), Exception("its text is left out"), error.__traceback__


def _time(seconds: float) -> str:
    moment = datetime.fromtimestamp(seconds, UTC)
    return moment.isoformat(timespec="microseconds").replace("+00:00", "Z")


def _frames(trace: TracebackType | None) -> list[str]:
    """The places an exception passed, outermost first: `file:line function`."""
    return [
        f"{frame.filename}:{frame.lineno} {frame.name}"
        for frame in traceback.extract_tb(trace, limit=-20)
    ]

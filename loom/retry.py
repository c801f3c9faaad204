"""When the SDK sends a request again, and how long it waits before that.

Nothing is done twice: a read or a plain set or delete can be repeated as it is, and any other write
carries an idempotency key, under which the server does it once and gives the first answer again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from random import random
from typing import Any

from loom.types import OPERATIONS

# With one of these a repetition meets the state that the first try left behind, and is refused.
PRECONDITIONS = frozenset({"if_match_sha256", "if_absent", "if_version", "expected_count"})

# Counted from the time of the call: a repetition would end later, and be another version.
SPANS = frozenset({"ttl_seconds"})

# Answers that another try can change: too slow, too many, and whatever went wrong in the server.
_TURNED_AWAY = frozenset({408, 429})

# Each try may be paid for: when to ask again is for the caller to say.
_CALLING_MODELS = frozenset({"memory.ask"})

# What says that nothing was done, so no model was called.
_NOT_DONE = "UNAVAILABLE"


@dataclass(frozen=True)
class RetryPolicy:
    """How often and how patiently a request is sent again. Times are seconds."""

    tries: int = 4
    first_wait: float = 0.1
    longest_wait: float = 5.0
    longest_retry_after: float = 60.0

    def wait(self, tries_made: int, retry_after: str | None = None) -> float | None:
        """Seconds to wait before the next try; None when there is to be none.

        The wait doubles with each try and is spread over its upper half, so that clients which
        failed together do not come back together. A ``Retry-After`` that asks for longer is
        honoured, and one beyond ``longest_retry_after`` ends the tries.
        """
        if tries_made >= self.tries:
            return None
        asked = seconds_asked(retry_after)
        if asked > self.longest_retry_after:
            return None
        # No power beyond what any first wait can need: 2.0 ** 1024 is an error, not infinity.
        doublings = min(tries_made - 1, 100)
        backoff = min(self.longest_wait, self.first_wait * 2.0**doublings)
        return max(asked, backoff * (0.5 + random() / 2))


def needs_key(op: str, body: Mapping[str, Any]) -> bool:
    """Whether repeating this request would have an effect, so that it carries a key."""
    if op == "batch":
        return any(
            needs_key(str(item.get("op")), item)
            for item in body.get("requests") or ()
            if isinstance(item, Mapping)
        )
    operation = OPERATIONS.get(op)
    if operation is None:
        return True
    if operation.mode == "read":
        return False
    return operation.accumulates or any(
        body.get(name) not in (None, False) for name in PRECONDITIONS | SPANS
    )


def worth_repeating(op: str, status: int, code: str) -> bool:
    """Whether an answer of this HTTP status and error code is followed by another try."""
    if status in _TURNED_AWAY:
        return True
    return status >= 500 and (code == _NOT_DONE or not is_paid_for(op))


def is_paid_for(op: str) -> bool:
    """Whether an operation may cost money each time that it arrives."""
    return op in _CALLING_MODELS


def seconds_asked(retry_after: str | None) -> float:
    """The seconds that a ``Retry-After`` header asks for, as a number or a date; else 0."""
    if not retry_after:
        return 0.0
    asked = retry_after.strip()
    if asked.isascii() and asked.isdigit():  # "²" is a digit too, and no number
        return float(asked)
    try:
        until = parsedate_to_datetime(asked)
    except (ValueError, OverflowError):
        return 0.0
    if until.tzinfo is None:
        until = until.replace(tzinfo=UTC)
    return max(0.0, (until - datetime.now(UTC)).total_seconds())

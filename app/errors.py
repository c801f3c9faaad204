"""The error table: every code a caller can meet, its HTTP status and what kind of thing it is.

The database raises errors of class LM; this table gives them their code and status. The rest are
made here: what the edge refuses itself, and what stands for the database's other errors, whose
text never leaves, since it may hold another caller's.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from loom.gateway import DatabaseRefusal, DatabaseUnavailable

RETRY_AFTER_SECONDS = 1


@dataclass(frozen=True)
class ErrorCode:
    """One kind of error. `retryable`: it is worth trying again, after a conflict having read."""

    code: str
    status: int
    category: str
    retryable: bool
    sqlstate: str | None
    message: str
    """The sentence where the edge raises it; the database's errors bring their own."""
    fields: tuple[str, ...] = ()
    hint: str | None = None
    """What to do where the edge raises it, and says nothing of its own."""


INVALID_REQUEST = ErrorCode(
    "INVALID_REQUEST",
    400,
    "bad_request",
    False,
    "LM001",
    "The request is not valid.",
    ("field", "reason"),
)
INVALID_TEXT = ErrorCode(
    "INVALID_TEXT",
    422,
    "bad_request",
    False,
    "LM002",
    "A text holds a character that cannot be stored.",
    ("path",),
)
IDENTITY_INCOMPLETE = ErrorCode(
    "IDENTITY_INCOMPLETE",
    400,
    "bad_request",
    False,
    "LM003",
    "The request does not say whose data it means.",
    ("field",),
)
UNKNOWN_OPERATION = ErrorCode(
    "UNKNOWN_OPERATION",
    404,
    "bad_request",
    False,
    "LM004",
    "There is no such operation.",
    hint="The operations are listed at /docs, and in /v1/openapi.json.",
)
METHOD_NOT_ALLOWED = ErrorCode(
    "METHOD_NOT_ALLOWED",
    405,
    "bad_request",
    False,
    None,
    "This path does not answer to this method.",
    hint="Send operations by POST; the header Allow says what this path answers to.",
)
AUTH_REQUIRED = ErrorCode(
    "AUTH_REQUIRED",
    401,
    "not_allowed",
    False,
    "LM301",
    "The request carries no valid token.",
    ("reason",),
)
PAYLOAD_TOO_LARGE = ErrorCode(
    "PAYLOAD_TOO_LARGE",
    413,
    "limit",
    False,
    "LM408",
    "The request's body is too large.",
    ("limit",),
)
MODEL_UNAVAILABLE = ErrorCode(
    "MODEL_UNAVAILABLE",
    503,
    "world",
    True,
    "LM501",
    "No model can be asked.",
    ("reason",),
)
UNAVAILABLE = ErrorCode(
    "UNAVAILABLE",
    503,
    "world",
    True,
    None,
    "The server cannot do this now; try again shortly.",
    ("reason", "outcome"),
)
INTERNAL = ErrorCode(
    "INTERNAL",
    500,
    "internal",
    False,
    None,
    "Something is wrong in the server. Its log has more under the request id.",
)

ERRORS: tuple[ErrorCode, ...] = (
    INVALID_REQUEST,
    INVALID_TEXT,
    IDENTITY_INCOMPLETE,
    UNKNOWN_OPERATION,
    METHOD_NOT_ALLOWED,
    ErrorCode(
        "WORKING_MEMORY_BLOCK_NOT_FOUND",
        404,
        "not_found",
        False,
        "LM101",
        "There is no such block.",
    ),
    ErrorCode(
        "MEMORY_NOT_FOUND",
        404,
        "not_found",
        False,
        "LM102",
        "There is no such memory.",
        ("version", "version_text"),
    ),
    ErrorCode("LOOM_NOT_FOUND", 404, "not_found", False, "LM103", "There is no such loom."),
    ErrorCode("THREAD_NOT_FOUND", 404, "not_found", False, "LM104", "There is no such thread."),
    ErrorCode("WEAVING_NOT_FOUND", 404, "not_found", False, "LM105", "There is no such weaving."),
    ErrorCode(
        "STALE_WRITE",
        409,
        "conflict",
        True,
        "LM201",
        "Another write came first.",
        ("current_sha256", "current_version"),
    ),
    ErrorCode("ALREADY_EXISTS", 409, "conflict", False, "LM202", "There is one already."),
    ErrorCode(
        "COUNT_MISMATCH",
        409,
        "conflict",
        False,
        "LM203",
        "The old text stands there another number of times.",
        ("replacements",),
    ),
    ErrorCode("PINNED_CONFLICT", 409, "conflict", False, "LM204", "The row is pinned."),
    ErrorCode(
        "LOCKED",
        423,
        "conflict",
        False,
        "LM205",
        "The row is locked.",
        ("reason", "until", "memory_key"),
    ),
    ErrorCode(
        "IDEMPOTENCY_CONFLICT",
        409,
        "conflict",
        False,
        "LM206",
        "The idempotency key has been used.",
        ("reason",),
    ),
    AUTH_REQUIRED,
    ErrorCode(
        "AUTH_INSUFFICIENT",
        403,
        "not_allowed",
        False,
        "LM302",
        "The caller may not do this.",
        ("reason", "needed"),
    ),
    ErrorCode(
        "WORKING_MEMORY_LIMIT_EXCEEDED",
        422,
        "limit",
        False,
        "LM401",
        "The text is longer than the block's limit.",
        ("value_length", "char_limit", "overage"),
    ),
    ErrorCode(
        "CHAR_LIMIT_EXCEEDED",
        422,
        "limit",
        False,
        "LM402",
        "The value is longer than the row's limit.",
        ("value_length", "char_limit", "overage"),
    ),
    ErrorCode(
        "SUBSTRING_NOT_FOUND", 422, "limit", False, "LM403", "The old text does not stand there."
    ),
    ErrorCode("NOT_TEXT", 422, "limit", False, "LM404", "The section is no text."),
    ErrorCode(
        "PROFILE_SCHEMA_INVALID",
        422,
        "limit",
        False,
        "LM405",
        "The profile schema is not valid.",
        ("path", "reason"),
    ),
    ErrorCode(
        "LIMIT_EXCEEDED",
        422,
        "limit",
        False,
        "LM406",
        "A part of the request is over its limit.",
        ("what", "limit", "value", "unit", "reason"),
    ),
    ErrorCode(
        "BLACKLISTED",
        422,
        "limit",
        False,
        "LM407",
        "The text holds what must not be stored.",
        ("reason",),
    ),
    PAYLOAD_TOO_LARGE,
    MODEL_UNAVAILABLE,
    ErrorCode(
        "CENSUS_FAILED",
        500,
        "world",
        True,
        "LM502",
        "The erasure left a row; nothing was removed.",
        ("plane",),
    ),
    UNAVAILABLE,
    INTERNAL,
)

BY_SQLSTATE: dict[str, ErrorCode] = {e.sqlstate: e for e in ERRORS if e.sqlstate is not None}

# Not the request's fault, and over when the load or the restart is: lock and statement time-outs,
# shutdown, no resources, connection trouble. The statement was rolled back.
_TRANSIENT = frozenset({"55P03", "57014", "57P01", "57P02", "57P03"})
_TRANSIENT_CLASSES = frozenset({"08", "53"})

# Postgres could not take the body as jsonb: what exactly is wrong is found by looking at the body.
BODY_SQLSTATES = frozenset({"22P02", "22P05", "22021", "22003", "54001"})

_RESERVED = frozenset({"code", "message", "category", "retryable", "request_id"})

_encode = msgspec.json.Encoder().encode


class Refusal(Exception):
    """A request that is answered with an error.

    `unexpected` marks what somebody must look into; `sqlstate` goes into the log, not the answer.
    """

    def __init__(
        self,
        error: ErrorCode,
        fields: Mapping[str, Any] | None = None,
        *,
        message: str | None = None,
        sqlstate: str | None = None,
        unexpected: bool = False,
    ) -> None:
        super().__init__(error.code)
        self.error = error
        self.fields = dict(fields or {})
        self.message = message or error.message
        self.sqlstate = sqlstate
        self.unexpected = unexpected

    def body(self, request_id: str) -> bytes:
        """The answer's JSON: `{"detail": {code, message, category, …}}`."""
        detail: dict[str, Any] = {
            "code": self.error.code,
            "message": self.message,
            "category": self.error.category,
            "retryable": self.error.retryable,
            "request_id": request_id,
        }
        detail.update((k, v) for k, v in self.fields.items() if k not in _RESERVED)
        if self.error.hint is not None:
            detail.setdefault("hint", self.error.hint)
        return _encode({"detail": detail})


def internal(sqlstate: str | None = None) -> Refusal:
    """An error nobody expected: the caller gets the request id and nothing else."""
    return Refusal(INTERNAL, sqlstate=sqlstate, unexpected=True)


def from_database(refusal: DatabaseRefusal) -> Refusal:
    """The answer for an error the database raised on purpose, or met."""
    sqlstate = refusal.sqlstate
    error = BY_SQLSTATE.get(sqlstate)
    if error is not None:
        return Refusal(error, _fields(refusal), message=refusal.message, sqlstate=sqlstate)
    if sqlstate in _TRANSIENT or sqlstate[:2] in _TRANSIENT_CLASSES:
        fields = {"reason": "the database is busy or restarting", "outcome": "not_carried_out"}
        return Refusal(UNAVAILABLE, fields, sqlstate=sqlstate)
    return internal(sqlstate)


def from_unavailable(failure: DatabaseUnavailable) -> Refusal:
    """The answer when there is no answer from the database."""
    fields = {
        "reason": failure.reason,
        "outcome": "unknown" if failure.outcome_unknown else "not_carried_out",
    }
    return Refusal(UNAVAILABLE, fields, sqlstate=failure.sqlstate)


def _fields(refusal: DatabaseRefusal) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    if refusal.detail:
        fields = msgspec.json.decode(refusal.detail, type=dict[str, Any])
    if refusal.hint:
        fields["hint"] = refusal.hint
    return fields

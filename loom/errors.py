"""Every error the SDK raises.

LoomError
├── BadRequest            InvalidRequest, UnknownOperation, MethodNotAllowed, InvalidText,
│                         IdentityIncomplete
├── NotFound              WorkingMemoryBlockNotFound, MemoryNotFound, LoomNotFound,
│                         ThreadNotFound, WeavingNotFound
├── Conflict              StaleWrite, AlreadyExists, CountMismatch, PinnedConflict, Locked,
│                         IdempotencyConflict
├── NotAllowed            AuthRequired, AuthInsufficient
├── OverLimit             WorkingMemoryLimitExceeded, CharLimitExceeded, SubstringNotFound, NotText,
│                         ProfileSchemaInvalid, LimitExceeded, Blacklisted, PayloadTooLarge
└── ServerFault           ModelUnavailable, CensusFailed, Unavailable, Internal, Unreachable

An error code has one class, named after it. A code this version does not know still arrives as
the class of its HTTP status, with its ``code`` and ``fields``.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any


class LoomError(Exception):
    """A refusal or failure of an operation.

    ``code`` is the stable name to test for, ``status`` the HTTP status (0 where no answer came),
    ``fields`` what the error says beside the common part, ``request_id`` what to look for in the
    server's log. Fields that belong to a code are attributes of its class too.
    """

    code: str = "INTERNAL"

    def __init__(
        self,
        message: str,
        *,
        code: str | None = None,
        status: int = 0,
        category: str = "",
        retryable: bool = False,
        request_id: str | None = None,
        fields: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.status = status
        self.category = category
        self.retryable = retryable
        self.request_id = request_id
        self.fields = dict(fields or {})
        if code is not None:
            self.code = code
        for name in self.own_fields():
            setattr(self, name, self.fields.get(name))

    @classmethod
    def own_fields(cls) -> tuple[str, ...]:
        """The names of the fields this class has as attributes."""
        return tuple(
            name
            for base in cls.__mro__
            if base is not LoomError and issubclass(base, LoomError)
            for name in inspect.get_annotations(base)
        )

    def __str__(self) -> str:
        shown = ", ".join(f"{name}={value!r}" for name, value in self.fields.items())
        return f"{self.code}: {self.message}" + (f" ({shown})" if shown else "")


class BadRequest(LoomError):
    """The request is not one the operation takes; sending it again will not help."""


class NotFound(LoomError):
    """What the request names is not there, or not within the caller's reach."""


class Conflict(LoomError):
    """The stored state is not what the request relies on; read again, then decide."""


class NotAllowed(LoomError):
    """The caller has no token, a bad one, or one that does not reach this far."""


class OverLimit(LoomError):
    """The content does not fit or does not match; change it, then send it again."""


class ServerFault(LoomError):
    """The request may be fine; the server or the way to it is not."""


class InvalidRequest(BadRequest):
    """A field is unknown, missing, of the wrong type or out of its range."""

    code = "INVALID_REQUEST"
    field: str | None
    reason: str | None


class UnknownOperation(BadRequest):
    """The server has no operation of this name."""

    code = "UNKNOWN_OPERATION"


class MethodNotAllowed(BadRequest):
    """The path is there, but not for this HTTP method."""

    code = "METHOD_NOT_ALLOWED"


class InvalidText(BadRequest):
    """A key or value holds U+0000 or text that is not well-formed; ``path`` says where."""

    code = "INVALID_TEXT"
    path: str | None


class IdentityIncomplete(BadRequest):
    """The operation needs an id that the request does not name."""

    code = "IDENTITY_INCOMPLETE"
    field: str | None


class WorkingMemoryBlockNotFound(NotFound):
    """There is no live block of this key."""

    code = "WORKING_MEMORY_BLOCK_NOT_FOUND"


class MemoryNotFound(NotFound):
    """There is no such row, version or section, or none that is current.

    ``version`` is the one asked for, where it is what is missing.
    """

    code = "MEMORY_NOT_FOUND"
    version: int | None
    version_text: str | None


class LoomNotFound(NotFound):
    """There is no such loom, or it belongs to another namespace."""

    code = "LOOM_NOT_FOUND"


class ThreadNotFound(NotFound):
    """The loom has no such thread."""

    code = "THREAD_NOT_FOUND"


class WeavingNotFound(NotFound):
    """The loom has no such weaving."""

    code = "WEAVING_NOT_FOUND"


class StaleWrite(Conflict):
    """``if_match_sha256`` is not what is stored; both fields are None where nothing is live."""

    code = "STALE_WRITE"
    current_sha256: str | None
    current_version: int | None


class AlreadyExists(Conflict):
    """What was to be created is there already."""

    code = "ALREADY_EXISTS"


class CountMismatch(Conflict):
    """``expected_count`` is not the number of occurrences, which ``replacements`` gives."""

    code = "COUNT_MISMATCH"
    replacements: int | None


class PinnedConflict(Conflict):
    """The row is pinned: its value changes only after it is unpinned."""

    code = "PINNED_CONFLICT"


class Locked(Conflict):
    """The row may not be changed by this caller, or not yet.

    ``memory_key`` names the row where it is another than the one asked about.
    """

    code = "LOCKED"
    reason: str | None
    until: str | None
    memory_key: str | None


class IdempotencyConflict(Conflict):
    """The idempotency key was used for another request."""

    code = "IDEMPOTENCY_CONFLICT"
    reason: str | None


class AuthRequired(NotAllowed):
    """There is no token, or it is unknown, expired or revoked."""

    code = "AUTH_REQUIRED"
    reason: str | None


class AuthInsufficient(NotAllowed):
    """The token's role or bounds do not allow this; ``needed`` is the role where that is why."""

    code = "AUTH_INSUFFICIENT"
    reason: str | None
    needed: str | None


class WorkingMemoryLimitExceeded(OverLimit):
    """The text is ``overage`` code points longer than the block's ``char_limit``."""

    code = "WORKING_MEMORY_LIMIT_EXCEEDED"
    value_length: int | None
    char_limit: int | None
    overage: int | None


class CharLimitExceeded(OverLimit):
    """The value's canonical JSON is ``overage`` code points longer than ``char_limit``."""

    code = "CHAR_LIMIT_EXCEEDED"
    value_length: int | None
    char_limit: int | None
    overage: int | None


class NotText(OverLimit):
    """The section's value is no string, so nothing can be appended to it or replaced in it."""

    code = "NOT_TEXT"


class SubstringNotFound(OverLimit):
    """The text to be replaced does not occur."""

    code = "SUBSTRING_NOT_FOUND"


class ProfileSchemaInvalid(OverLimit):
    """The profile schema is not one that is taken; ``path`` says where, ``reason`` why."""

    code = "PROFILE_SCHEMA_INVALID"
    path: str | None
    reason: str | None


class LimitExceeded(OverLimit):
    """``what`` is larger (``value``) than may be (``limit``), counted in ``unit``.

    Where no number says it, ``reason`` does.
    """

    code = "LIMIT_EXCEEDED"
    what: str | None
    limit: int | None
    value: int | None
    unit: str | None
    reason: str | None


class Blacklisted(OverLimit):
    """The text matches a pattern that the org does not let in; ``reason`` is the pattern's."""

    code = "BLACKLISTED"
    reason: str | None


class PayloadTooLarge(OverLimit):
    """The request's body is too large."""

    code = "PAYLOAD_TOO_LARGE"
    limit: int | None


class ModelUnavailable(ServerFault):
    """No model can be asked: none is configured, it does not answer, or its calls are used up."""

    code = "MODEL_UNAVAILABLE"
    reason: str | None


class CensusFailed(ServerFault):
    """An erasure found a row left in ``plane`` and removed nothing."""

    code = "CENSUS_FAILED"
    plane: str | None


class Unavailable(ServerFault):
    """The server could not do it now: no database connection, a time-out, too much contention.

    ``outcome`` is ``not_carried_out``, or ``unknown`` where a write may have happened.
    """

    code = "UNAVAILABLE"
    reason: str | None
    outcome: str | None


class Internal(ServerFault):
    """Something is wrong in the server; its log has more under ``request_id``."""

    code = "INTERNAL"


class Unreachable(ServerFault):
    """No answer came, so a write may or may not have been carried out; made by the SDK."""

    code = "UNREACHABLE"


def _leaves(base: type[LoomError]) -> list[type[LoomError]]:
    return [leaf for child in base.__subclasses__() for leaf in (_leaves(child) or [child])]


BY_CODE: dict[str, type[LoomError]] = {leaf.code: leaf for leaf in _leaves(LoomError)}

_BY_STATUS: dict[int, type[LoomError]] = {
    400: BadRequest,
    401: NotAllowed,
    403: NotAllowed,
    404: NotFound,
    409: Conflict,
    413: OverLimit,
    422: OverLimit,
    423: Conflict,
}


def from_detail(status: int, detail: Mapping[str, Any]) -> LoomError:
    """The error for an answer's ``detail`` object and HTTP status."""
    rest = dict(detail)
    code = str(rest.pop("code", "INTERNAL" if status >= 500 else "INVALID_REQUEST"))
    fallback = _BY_STATUS.get(status, ServerFault if status >= 500 else BadRequest)
    return BY_CODE.get(code, fallback)(
        str(rest.pop("message", f"The server answered {status}.")),
        code=code,
        status=status,
        category=str(rest.pop("category", "")),
        retryable=bool(rest.pop("retryable", False)),
        request_id=rest.pop("request_id", None),
        fields=rest,
    )

"""How a call of the model can end without an answer, and what that means for the user it was for.

    ModelError
      Failed          an attempt is used up, and the user waits its backoff
        AnswerError   the answer came whole, but it is not one that can be read
      Waiting         the provider could not serve: no attempt is used up
      CutOff          the answer met its cap, and would again

``outcome`` is what ``loom.work_fail`` takes, ``code`` what it stores. Nothing that a provider said
is in here: it may hold a user's words.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Final, Literal

Outcome = Literal["failed", "waiting", "cut_off"]

OK: Final = "OK"

CANCELLED: Final = "CANCELLED"
"""The worker stopped while the model was thinking."""

# Of the provider: it is not there, is too slow, turns us away, or cannot serve.
MODEL_UNREACHABLE: Final = "MODEL_UNREACHABLE"
MODEL_TIMEOUT: Final = "MODEL_TIMEOUT"
MODEL_RATE_LIMITED: Final = "MODEL_RATE_LIMITED"
MODEL_QUOTA: Final = "MODEL_QUOTA"
MODEL_UNAVAILABLE: Final = "MODEL_UNAVAILABLE"
MODEL_AUTH: Final = "MODEL_AUTH"
MODEL_NOT_FOUND: Final = "MODEL_NOT_FOUND"
MODEL_REDIRECTED: Final = "MODEL_REDIRECTED"
MODEL_ERROR: Final = "MODEL_ERROR"
MODEL_DROPPED: Final = "MODEL_DROPPED"
MODEL_BAD_RESPONSE: Final = "MODEL_BAD_RESPONSE"

# Of what was asked.
FORMAT_REFUSED: Final = "FORMAT_REFUSED"
TOKEN_FIELD_REFUSED: Final = "TOKEN_FIELD_REFUSED"
PROMPT_TOO_LONG: Final = "PROMPT_TOO_LONG"

# Of the answer, as the endpoint hands it over.
CUT_OFF: Final = "CUT_OFF"
EMPTY_ANSWER: Final = "EMPTY_ANSWER"
ANSWER_FILTERED: Final = "ANSWER_FILTERED"
ANSWER_REFUSED: Final = "ANSWER_REFUSED"
ANSWER_UNFINISHED: Final = "ANSWER_UNFINISHED"

# Of embeddings: not one for each text, not of one length, or with numbers that cannot be compared.
EMBEDDINGS_MISCOUNTED: Final = "EMBEDDINGS_MISCOUNTED"
EMBEDDINGS_UNEQUAL: Final = "EMBEDDINGS_UNEQUAL"
EMBEDDINGS_NOT_FINITE: Final = "EMBEDDINGS_NOT_FINITE"
EMBEDDINGS_OTHER_SIZE: Final = "EMBEDDINGS_OTHER_SIZE"
"""Than those that are stored under the model's name."""

# Of the answer, as it reads.
ANSWER_TOO_LONG: Final = "ANSWER_TOO_LONG"
ANSWER_TOO_DEEP: Final = "ANSWER_TOO_DEEP"
ANSWER_TRUNCATED: Final = "ANSWER_TRUNCATED"
ANSWER_NOT_JSON: Final = "ANSWER_NOT_JSON"
ANSWER_NOT_OBJECT: Final = "ANSWER_NOT_OBJECT"
ANSWER_NOT_ONE_OBJECT: Final = "ANSWER_NOT_ONE_OBJECT"
ANSWER_OFF_SCHEMA: Final = "ANSWER_OFF_SCHEMA"


@dataclass(frozen=True)
class Call:
    """One HTTP call: how it ended (``OK`` or a code), and what it cost."""

    outcome: str
    prompt_tokens: int
    completion_tokens: int
    milliseconds: int


class ModelError(Exception):
    """No answer. ``calls`` are the HTTP calls that were made for it, ``retry_seconds`` how long the
    provider asks to be left alone."""

    outcome: ClassVar[Outcome]

    def __init__(self, code: str, *, retry_seconds: int | None = None) -> None:
        super().__init__(code)
        self.code = code
        self.retry_seconds = retry_seconds
        self.calls: tuple[Call, ...] = ()


class Failed(ModelError):
    """The attempt was made, and nothing usable came of it."""

    outcome = "failed"


class Waiting(ModelError):
    """The provider could not serve anyone just now."""

    outcome = "waiting"


class CutOff(ModelError):
    """The answer met the cap on its length; the same request would be cut off again."""

    outcome = "cut_off"

    def __init__(self) -> None:
        super().__init__(CUT_OFF)


class AnswerError(Failed):
    """The text of an answer is not exactly one JSON object of the wanted kind."""

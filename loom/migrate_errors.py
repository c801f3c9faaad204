"""Why a database cannot be brought up to date."""

from __future__ import annotations


class MigrationError(Exception):
    """The database was left as it was at the step that failed.

    `hint` says what an operator can do about it, where there is something to say.
    """

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message if hint is None else f"{message}\n{hint}")
        self.message = message
        self.hint = hint

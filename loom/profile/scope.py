"""Which of a user's profiles is meant."""

from __future__ import annotations

import hashlib
import json
from dataclasses import astuple, dataclass


@dataclass(frozen=True, slots=True)
class MemoryScope:
    """Keeps several profiles of one user apart. Only code of the host makes one, never a request.

    In PostgreSQL each part is a column. Stores that are keyed by one text use ``storage_key``.
    """

    tenant: str = ""
    user: str = ""
    thread: str = ""
    kind: str = ""

    def __post_init__(self) -> None:
        if not all(isinstance(part, str) for part in astuple(self)):
            raise TypeError("the parts of a MemoryScope are strings")

    @property
    def is_empty(self) -> bool:
        """Whether it means the user's plain profile."""
        return not any(astuple(self))

    def storage_key(self, user_id: str) -> str:
        """One text for scope and user: the plain id where the scope is empty.

        Hashed over a JSON array, so that no parts can be shifted into one another; a plain id may
        still look like such a key, and a store must ask whose record it found.
        """
        if self.is_empty:
            return user_id
        canonical = json.dumps(astuple(self), ensure_ascii=False, separators=(",", ":"))
        digest = hashlib.blake2b(canonical.encode(), digest_size=12, person=b"protoprompt")
        return f"ppscope_{digest.hexdigest()}__{user_id}"

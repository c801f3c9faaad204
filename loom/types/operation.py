"""What an operation is: its types, who may call it, and whether it writes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from msgspec import Struct

from loom.types.fields import (
    Identity,
    LoomUser,
    NamespaceScope,
    OrgScope,
    ProfiledUser,
    Role,
    RunIdentity,
    UserScope,
)

Mode = Literal["read", "write"]

# Narrowest first: a request belongs to the first of these that it is built on.
SCOPES: tuple[type[Struct], ...] = (
    RunIdentity,
    Identity,
    ProfiledUser,
    LoomUser,
    NamespaceScope,
    UserScope,
    OrgScope,
)

ADMIN_GROUPS = frozenset({"token", "org", "audit"})


@dataclass(frozen=True)
class Operation:
    """One operation: its types, the least role that may call it, and whether it writes."""

    op: str
    request: type[Struct]
    answer: type[Struct]
    role: Role
    mode: Mode
    summary: str
    accumulates: bool = False
    """Doing it twice differs from doing it once, whatever its fields say."""

    @property
    def identity(self) -> tuple[str, ...]:
        """The ids that say whose data is meant.

        A field of such a name outside the request's scope is plain data: the ``namespace`` of
        ``token.mint`` is a bound to set, not a place to act in.
        """
        scope = next(scope for scope in SCOPES if issubclass(self.request, scope))
        return scope.__struct_fields__

    @property
    def path(self) -> str:
        """The HTTP path that answers ``POST``."""
        return path_of(self.op)


def path_of(op: str) -> str:
    """The HTTP path of an operation, known here or not."""
    group = op.partition(".")[0]
    return f"/v1/admin/{op}" if group in ADMIN_GROUPS else f"/v1/{op}"

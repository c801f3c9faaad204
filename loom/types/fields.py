"""Fields that several operations share, and the scopes requests are built on.

Lengths of text are counted in Unicode code points. Times are ISO 8601 in UTC with microseconds
and a ``Z``. In a request a JSON null means the same as leaving the field out.
"""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Struct

Role = Literal["viewer", "writer", "admin"]

OrgName = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=200,
        description="The organisation; the token's when left out. At most 256 bytes of UTF-8.",
    ),
]
NamespaceName = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=200,
        description="The namespace; the token's when left out. At most 256 bytes of UTF-8.",
    ),
]
AgentId = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=200,
        description="The agent; `-` (no agent) when left out. At most 256 bytes of UTF-8.",
    ),
]
UserId = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=200,
        description=(
            "The user. When left out: the token's user if it is pinned to one, else `-` (no "
            "user). At most 256 bytes of UTF-8."
        ),
    ),
]
SessionId = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=200,
        description=(
            "The session. When left out: the token's session if it is bound to one, else `-` "
            "(no session). At most 256 bytes of UTF-8."
        ),
    ),
]
RunId = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=200,
        description="The run; `-` (no run) when left out. At most 256 bytes of UTF-8.",
    ),
]

PageLimit = Annotated[
    int, Meta(ge=1, le=200, description="The most items in one page; 50 when left out.")
]
Cursor = Annotated[
    str, Meta(description="`next_cursor` of the page before; the first page when left out.")
]
NextCursor = Annotated[
    str | None, Meta(description="Pass as `cursor` for the next page; null on the last page.")
]

ReadScope = Annotated[
    Literal["own_user", "own_session", "namespace"],
    Meta(
        description=(
            "Whose rows are read: those of the named user and of `-` (`own_user`, the default), "
            "of the named session and of `-` (`own_session`), or all of the namespace."
        )
    ),
]
Version = Annotated[int, Meta(description="Grows by one with each change, deletes included.")]
VersionText = Annotated[
    str, Meta(description="The version as a string, exact in every JSON reader.")
]
Sha256 = Annotated[str, Meta(description="SHA-256 of the text's UTF-8 bytes, in lower-case hex.")]
Actor = Annotated[str, Meta(description="Who did it: a token's id, a service's role, an operator.")]
Time = Annotated[str, Meta(description="UTC, ISO 8601 with microseconds and `Z`.")]


class OrgScope(Struct, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """A request that acts on a whole organisation."""

    org: OrgName | None = None


class NamespaceScope(OrgScope, kw_only=True):
    """A request that acts on one namespace."""

    namespace: NamespaceName | None = None


class UserScope(OrgScope, kw_only=True):
    """A request that acts on one user of an organisation, in all its namespaces."""

    user_id: UserId | None = None


class Identity(NamespaceScope, kw_only=True):
    """A request that names whose memory it means."""

    agent: AgentId | None = None
    user_id: UserId | None = None
    session_id: SessionId | None = None


class ProfiledUser(NamespaceScope, kw_only=True):
    """A request that acts on what is built of one user in a namespace."""

    user_id: (
        Annotated[
            str,
            Meta(
                min_length=1,
                max_length=200,
                description=(
                    "The user, not `-`. May be left out where the token is pinned to one. At most "
                    "256 bytes of UTF-8."
                ),
            ),
        ]
        | None
    ) = None
    session_id: (
        Annotated[
            str,
            Meta(
                min_length=1,
                max_length=200,
                description=(
                    "Changes nothing, since a profile spans the user's sessions; a token that is "
                    "bound to one is refused with it and without it."
                ),
            ),
        ]
        | None
    ) = None


class LoomUser(NamespaceScope, kw_only=True):
    """A request that names whose threads and turns of a loom it means."""

    userId: UserId | None = None


class RunIdentity(Identity, kw_only=True):
    """A request that names whose memory it means, down to one run."""

    run_id: RunId | None = None


class IdentityAnswer(Struct, kw_only=True):
    """The identity a row belongs to; `-` where a level is not set."""

    org: str
    namespace: str
    agent: str
    user_id: str
    session_id: str


class RunIdentityAnswer(IdentityAnswer, kw_only=True):
    """The identity a block belongs to, down to its run."""

    run_id: str

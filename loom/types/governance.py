"""Requests and answers of ``blacklist.*``, ``erasure.*``, ``audit.*`` and ``org.*``."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import Meta, Struct

from loom.types.fields import (
    Actor,
    Cursor,
    NamespaceScope,
    NextCursor,
    OrgScope,
    PageLimit,
    Time,
    UserScope,
)

BlacklistScope = Annotated[
    Literal["namespace", "org"],
    Meta(description="The namespace's own patterns, the default, or those of the whole org."),
]
BlacklistId = Annotated[str, Meta(description="The entry's uuid.")]
PatternType = Literal["substring", "regex"]


class BlacklistAdd(NamespaceScope, kw_only=True):
    """Name what must not be stored from now on."""

    pattern: Annotated[
        str,
        Meta(
            min_length=1,
            max_length=200,
            description=(
                "Plain text, or a regular expression without back-references, look-around, "
                "embedded options, or bounds over 100. Case does not count."
            ),
        ),
    ]
    pattern_type: PatternType | None = None
    scope: BlacklistScope | None = None
    reason: Annotated[str, Meta(max_length=500, description="Told to whom is refused.")] | None = (
        None
    )


class BlacklistList(NamespaceScope, kw_only=True):
    """List the patterns of one scope."""

    scope: BlacklistScope | None = None
    limit: PageLimit | None = None
    cursor: Cursor | None = None


class BlacklistRemove(NamespaceScope, kw_only=True):
    """Remove a pattern from its scope."""

    blacklist_id: BlacklistId
    scope: BlacklistScope | None = None


class BlacklistEntry(Struct, kw_only=True):
    """A pattern; `namespace` is null where it holds for the whole org."""

    blacklist_id: BlacklistId
    org: str
    scope: Literal["namespace", "org"]
    namespace: str | None
    pattern: str
    pattern_type: PatternType
    reason: str | None
    created_at: Time
    created_by: Actor


class BlacklistPage(Struct, kw_only=True):
    """One page of patterns."""

    items: list[BlacklistEntry]
    next_cursor: NextCursor


class BlacklistRemoved(Struct, kw_only=True):
    """Whether the scope had such a pattern."""

    blacklist_id: BlacklistId
    found: bool


class ErasureRequest(UserScope, kw_only=True):
    """Remove everything of one user, in every plane, at once."""

    namespaces: (
        Annotated[
            list[str],
            Meta(min_length=1, max_length=1000, description="Only these; all when left out."),
        ]
        | None
    ) = None


class Removed(Struct, kw_only=True):
    """Rows removed, by plane, tombstones included."""

    working_memory: int
    memory: int
    memory_version: int
    profile: int
    structured_profile: int
    user_profile: int
    loom_thread: int
    embedding: int
    work: int
    activity: int
    idempotency: int


class Erased(Struct, kw_only=True):
    """What an erasure removed; asked again it removes nothing."""

    user_id: str
    namespaces: list[str] | None
    removed: Removed


class AuditList(OrgScope, kw_only=True):
    """List what was done in the org, newest first."""

    action: Annotated[str, Meta(max_length=100, description="Only these acts.")] | None = None
    limit: PageLimit | None = None
    cursor: Cursor | None = None


class AuditItem(Struct, kw_only=True):
    """One act: who, what, on what; no values."""

    audit_id: str
    at: Time
    actor: Actor
    action: str
    subject: dict[str, Any]


class AuditPage(Struct, kw_only=True):
    """One page of acts, newest first."""

    items: list[AuditItem]
    next_cursor: NextCursor


class OrgSetModelCalls(OrgScope, kw_only=True):
    """Switch the org's calls to a model on or off."""

    enabled: bool


class OrgModelCalls(Struct, kw_only=True):
    """Whether the org's work may call a model."""

    org: str
    model_calls: bool

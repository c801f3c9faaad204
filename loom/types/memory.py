"""Requests of ``memory.*``: facts with versions, one row a key. Answers: ``memory_rows``."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import Meta, Struct

from loom.types.fields import Cursor, Identity, PageLimit, ReadScope, Version

MemoryType = Literal["semantic", "episodic", "procedural", "preference", "decision", "profile"]
SourceClass = Literal["stated", "observed", "imported"]
AnySourceClass = Literal["stated", "observed", "imported", "derived"]
Sensitivity = Literal["low", "normal", "high"]
LockMode = Literal["read_only", "no_delete"]
Status = Literal["current", "duplicate", "expired", "deleted", "redacted"]
Change = Literal[
    "set",
    "append",
    "replace",
    "delete",
    "restore",
    "revert",
    "lock",
    "unlock",
    "pin",
    "unpin",
    "label",
    "redact",
]

MemoryKey = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=200,
        description="The fact's name within its identity. At most 256 bytes of UTF-8.",
    ),
]
MemoryId = Annotated[str, Meta(description="The row's uuid, the same over all its versions.")]
Value = Annotated[
    Any, Meta(description="Any JSON, null included, of at most 256 KiB as canonical JSON.")
]
Tags = Annotated[
    list[Annotated[str, Meta(min_length=1, max_length=100)]],
    Meta(max_length=50, description="At most 50 tags; kept sorted, each once."),
]
Confidence = Annotated[
    float, Meta(ge=0, le=1, description="How sure the fact is; three decimals kept, 1 by default.")
]
SourceTrace = Annotated[
    str,
    Meta(
        max_length=2000,
        description="Where the fact comes from; not `profile.fold:…`, which is the worker's.",
    ),
]
Instant = Annotated[str, Meta(description="ISO 8601 with `Z` or an offset.")]
TtlSeconds = Annotated[int, Meta(ge=1, le=315_360_000, description="Seconds from now.")]
CharLimit = Annotated[
    int,
    Meta(
        ge=1,
        le=262144,
        description=(
            "The most characters of canonical JSON. By default 262144; 8192 for a profile row, "
            "whose largest is 65536."
        ),
    ),
]
IfMatch = Annotated[
    str,
    Meta(
        description=(
            "The `content_sha256` the row must still have. If it differs, or nothing is current, "
            "the answer is STALE_WRITE with the current hash and version."
        )
    ),
]
IfAbsent = Annotated[bool, Meta(description="Refuse with ALREADY_EXISTS over a current row.")]
DryRun = Annotated[bool, Meta(description="Decide and answer as if, but write nothing.")]
Reason = Annotated[str, Meta(max_length=500, description="Told to whom is refused.")]
KeyPrefix = Annotated[str, Meta(max_length=200, description="Only keys that begin with it.")]
AsOf = Annotated[str, Meta(description="Read the row as it was recorded at that time.")]
IfVersion = Annotated[
    int,
    Meta(ge=0, description="Answer `unchanged`, without the value, while it is still current."),
]
ValueLength = Annotated[int, Meta(description="The length of the canonical JSON in code points.")]
FillRatio = Annotated[float, Meta(description="`value_length` / `char_limit`, 0 to 1.")]
DuplicateOf = Annotated[
    str | None,
    Meta(description="The oldest current row of this identity and type with the same value."),
]


class MemorySet(Identity, kw_only=True):
    """Write the value of a key; the same value and metadata again are a restatement."""

    memory_key: MemoryKey
    value: Value
    memory_type: MemoryType | None = None
    tags: Tags | None = None
    confidence: Confidence | None = None
    source_class: SourceClass | None = None
    source_trace: SourceTrace | None = None
    valid_at: Instant | None = None
    valid_to: Instant | None = None
    clear_valid: bool | None = None
    ttl_seconds: TtlSeconds | None = None
    expires_at: Instant | None = None
    clear_expiry: bool | None = None
    pinned: bool | None = None
    sensitivity: Sensitivity | None = None
    char_limit: CharLimit | None = None
    if_match_sha256: IfMatch | None = None
    if_absent: IfAbsent | None = None
    dry_run: DryRun | None = None


class MemoryGet(Identity, kw_only=True):
    """Read one row by its key or its id; one of the two is required."""

    memory_key: MemoryKey | None = None
    memory_id: MemoryId | None = None
    as_of: AsOf | None = None
    if_version: IfVersion | None = None
    read_scope: ReadScope | None = None


class MemoryList(Identity, kw_only=True):
    """List the rows in reach, newest first; a page also ends where values come to a megabyte."""

    memory_type: MemoryType | None = None
    tags: Tags | None = None
    key_prefix: KeyPrefix | None = None
    source_class: AnySourceClass | None = None
    include_deleted: bool | None = None
    read_scope: ReadScope | None = None
    limit: PageLimit | None = None
    cursor: Cursor | None = None


class MemoryHistory(Identity, kw_only=True):
    """List the versions of one row, newest first; by its key or its id."""

    memory_key: MemoryKey | None = None
    memory_id: MemoryId | None = None
    read_scope: ReadScope | None = None
    limit: PageLimit | None = None
    cursor: Cursor | None = None


class MemoryDelete(Identity, kw_only=True):
    """End a row; its tombstone can be restored for 14 days."""

    memory_key: MemoryKey
    if_match_sha256: IfMatch | None = None


class MemoryRestore(Identity, kw_only=True):
    """Bring a deleted row back as it was before."""

    memory_key: MemoryKey
    if_match_sha256: IfMatch | None = None


class MemoryRevert(Identity, kw_only=True):
    """Write an older version's content as a new version."""

    memory_key: MemoryKey
    version: Version
    if_match_sha256: IfMatch | None = None


class MemoryLock(Identity, kw_only=True):
    """Guard a row against change, or against deletion."""

    memory_key: MemoryKey
    reason: Reason
    mode: LockMode | None = None
    until: Instant | None = None
    ttl_seconds: TtlSeconds | None = None


class MemoryUnlock(Identity, kw_only=True):
    """Take a lock off."""

    memory_key: MemoryKey


class MemoryPin(Identity, kw_only=True):
    """Hold a row's value: a changed value is then refused."""

    memory_key: MemoryKey


class MemoryUnpin(Identity, kw_only=True):
    """Let a pinned row's value be changed again."""

    memory_key: MemoryKey


class TagChange(Struct, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """What happens to tags: replaced first, then added to, then taken from."""

    add: Tags | None = None
    remove: Tags | None = None
    replace: Tags | None = None


class MemoryLabel(Identity, kw_only=True):
    """Change a row's tags and sensitivity."""

    memory_key: MemoryKey
    tags: TagChange | None = None
    sensitivity: Sensitivity | None = None


class MemoryRedact(Identity, kw_only=True):
    """Scrub a row, and what the worker made from it, out of all versions; by key or id."""

    reason: Annotated[str, Meta(max_length=500, description="Kept in the audit.")]
    memory_key: MemoryKey | None = None
    memory_id: MemoryId | None = None

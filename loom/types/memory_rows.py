"""Answers of ``memory.*``: receipts, rows and versions."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import Meta, Struct

from loom.types.fields import Actor, IdentityAnswer, NextCursor, Sha256, Time, Version, VersionText
from loom.types.memory import (
    AnySourceClass,
    Change,
    DuplicateOf,
    FillRatio,
    LockMode,
    MemoryId,
    MemoryType,
    Sensitivity,
    Status,
    ValueLength,
)


class RowReceipt(IdentityAnswer, kw_only=True):
    """What a write did, without the value. A dry run of a new row has no `memory_id`."""

    memory_key: str
    memory_id: MemoryId | None
    version: Version
    version_text: VersionText
    content_sha256: Sha256 | None
    value_length: ValueLength | None
    char_limit: int
    fill_ratio: FillRatio | None
    created: bool
    noop: Annotated[bool, Meta(description="Whether nothing but a restatement was recorded.")]
    status: Status
    duplicate_of: DuplicateOf
    updated_at: Time


class RowRestored(RowReceipt, kw_only=True):
    """A receipt, and whether there was something to restore."""

    restored: bool


class RowDeleted(Struct, kw_only=True):
    """What a delete found and did."""

    found: Annotated[bool, Meta(description="Whether a current row was there.")]
    tombstoned: Annotated[bool, Meta(description="Whether a tombstone stands there now.")]
    memory_id: MemoryId | None
    version: Version | None
    version_text: VersionText | None


class Lock(Struct, kw_only=True):
    """A lock on a row; without end where `until` is null."""

    mode: LockMode
    reason: str | None
    until: Time | None


class MemoryItem(IdentityAnswer, kw_only=True):
    """A row with its value and all that is known of it."""

    memory_key: str
    memory_id: MemoryId
    version: Version
    version_text: VersionText
    content_sha256: Sha256 | None
    value_length: ValueLength | None
    char_limit: int
    fill_ratio: FillRatio | None
    status: Status
    duplicate_of: DuplicateOf
    updated_at: Time
    memory_type: MemoryType
    value: Any
    tags: list[str]
    confidence: float
    source_class: AnySourceClass
    source_trace: str | None
    valid_at: Time | None
    valid_to: Time | None
    expires_at: Time | None
    pinned: bool
    sensitivity: Sensitivity
    lock: Lock | None
    reinforcement_count: int
    changed_at: Time
    created_at: Time
    created_by: Actor
    written_by: Actor
    updated_by: Actor
    deleted_at: Time | None
    redacted_at: Time | None


class MemoryRead(Struct, kw_only=True, omit_defaults=True):
    """A row, under its own identity. With `found: false` only what stands there instead.

    `unchanged: true` comes without value and metadata.
    """

    found: bool
    unchanged: bool | None = None
    status: Status | Literal["absent"] | None = None
    org: str | None = None
    namespace: str | None = None
    agent: str | None = None
    user_id: str | None = None
    session_id: str | None = None
    memory_key: str | None = None
    memory_id: MemoryId | None = None
    version: Version | None = None
    version_text: VersionText | None = None
    content_sha256: Sha256 | None = None
    value_length: ValueLength | None = None
    char_limit: int | None = None
    fill_ratio: FillRatio | None = None
    created: bool | None = None
    noop: bool | None = None
    duplicate_of: DuplicateOf = None
    updated_at: Time | None = None
    memory_type: MemoryType | None = None
    value: Any = None
    tags: list[str] | None = None
    confidence: float | None = None
    source_class: AnySourceClass | None = None
    source_trace: str | None = None
    valid_at: Time | None = None
    valid_to: Time | None = None
    expires_at: Time | None = None
    pinned: bool | None = None
    sensitivity: Sensitivity | None = None
    lock: Lock | None = None
    reinforcement_count: int | None = None
    changed_at: Time | None = None
    created_at: Time | None = None
    created_by: Actor | None = None
    written_by: Actor | None = None
    updated_by: Actor | None = None
    deleted_at: Time | None = None
    redacted_at: Time | None = None


class MemoryPage(Struct, kw_only=True):
    """One page of rows, newest first."""

    items: list[MemoryItem]
    next_cursor: NextCursor


class MemoryVersion(Struct, kw_only=True):
    """One version of a row; without value and hash where it is a tombstone or redacted."""

    version: Version
    version_text: VersionText
    change: Change
    value: Any
    content_sha256: Sha256 | None
    value_length: ValueLength | None
    char_limit: int
    memory_type: MemoryType
    tags: list[str]
    confidence: float
    source_class: AnySourceClass
    source_trace: str | None
    valid_at: Time | None
    valid_to: Time | None
    expires_at: Time | None
    pinned: bool
    sensitivity: Sensitivity
    lock: Lock | None
    recorded_at: Time
    changed_at: Time
    written_by: Actor
    actor: Actor
    redacted_at: Time | None


class MemoryVersions(Struct, kw_only=True):
    """One page of a row's versions, newest first."""

    found: bool
    memory_id: MemoryId | None
    items: list[MemoryVersion]
    next_cursor: NextCursor


class MemoryRedacted(Struct, kw_only=True):
    """What a redaction reached."""

    memory_id: MemoryId
    memory_key: str
    user_id: str
    versions_scrubbed: int
    derived: Annotated[
        list[MemoryId], Meta(description="Rows that the worker had made from this one.")
    ]
    redacted_at: Time

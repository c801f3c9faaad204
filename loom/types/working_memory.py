"""Requests and answers of ``working_memory.*``: small named blocks of text."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Struct

from loom.types.fields import (
    Actor,
    Cursor,
    NextCursor,
    PageLimit,
    RunIdentity,
    RunIdentityAnswer,
    Sha256,
    Time,
    Version,
    VersionText,
)

BlockKey = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=80,
        description="The block's name within its identity and run; `scratchpad` when left out.",
    ),
]
IfMatch = Annotated[
    str,
    Meta(
        description=(
            "The `content_sha256` the block must still have. If it differs, or nothing is live, "
            "the answer is STALE_WRITE with the current hash and version."
        )
    ),
]
Content = Annotated[str, Meta(description="The block's whole new text.")]
CharLimit = Annotated[
    int,
    Meta(
        ge=1,
        le=16384,
        description=(
            "The most characters the block may hold. When left out: as before, 4096 for a new "
            "block. Content and limit are taken together: the content is checked against the "
            "new limit."
        ),
    ),
]
IfAbsent = Annotated[
    bool, Meta(description="Refuse with ALREADY_EXISTS when the block is already live.")
]
Description = Annotated[
    str, Meta(max_length=1000, description="What the block is for. Never rendered.")
]
ReadOnly = Annotated[
    bool,
    Meta(description="Admin only. A read-only block answers writers' changes with LOCKED."),
]
Addition = Annotated[str, Meta(description="The text to add.")]
Separator = Annotated[
    str,
    Meta(
        description=(
            "Stands between the old text and the addition; a newline when left out. Not used "
            "when the block is new."
        )
    ),
]
Old = Annotated[
    str,
    Meta(
        min_length=1,
        description=(
            "The exact text to look for, over the whole block, newlines included. Occurrences "
            "are taken left to right and do not overlap."
        ),
    ),
]
New = Annotated[str, Meta(description="What stands in its place; may be empty.")]
ExpectedCount = Annotated[
    int,
    Meta(
        ge=1,
        le=1_000_000,
        description="Refuse with COUNT_MISMATCH unless exactly this many are found.",
    ),
]
IncludeDeleted = Annotated[bool, Meta(description="Also list tombstones; false when left out.")]
BlockKeys = Annotated[
    list[BlockKey],
    Meta(
        max_length=20,
        description="Only these blocks, in this order; all in scope when left out.",
    ),
]
RenderLimit = Annotated[
    int, Meta(ge=1, le=100, description="The most blocks rendered; 20 when left out.")
]
RenderFormat = Annotated[Literal["xml", "markdown"], Meta(description="`xml` when left out.")]
Layered = Annotated[
    bool,
    Meta(
        description=(
            "Add the blocks of wider layers (session, user, agent, namespace), each key once, "
            "the narrowest winning; false when left out."
        )
    ),
]
IfNoneMatch = Annotated[
    str,
    Meta(
        description=(
            "The `sha256` of a render the caller holds. While it is current the answer is "
            "`unchanged: true` without text."
        )
    ),
]
ValueLength = Annotated[int, Meta(description="The text's length in code points.")]
FillRatio = Annotated[
    float, Meta(description="`value_length` / `char_limit`: how full the block is, 0 to 1.")
]
Created = Annotated[bool, Meta(description="Whether the write brought the block into being.")]


class WorkingMemorySet(RunIdentity, kw_only=True):
    """Replace a block's content, or create the block."""

    content: Content
    block_key: BlockKey | None = None
    char_limit: CharLimit | None = None
    if_match_sha256: IfMatch | None = None
    if_absent: IfAbsent | None = None
    description: Description | None = None
    read_only: ReadOnly | None = None


class WorkingMemoryAppend(RunIdentity, kw_only=True):
    """Add text at the end of a block, or create the block with it."""

    addition: Addition
    separator: Separator | None = None
    block_key: BlockKey | None = None
    if_match_sha256: IfMatch | None = None


class WorkingMemoryReplace(RunIdentity, kw_only=True):
    """Replace every occurrence of a text inside a block."""

    old: Old
    new: New
    block_key: BlockKey | None = None
    expected_count: ExpectedCount | None = None
    if_match_sha256: IfMatch | None = None


class WorkingMemoryDelete(RunIdentity, kw_only=True):
    """Delete a block. A tombstone keeps its key and version, not its text."""

    block_key: BlockKey | None = None
    if_match_sha256: IfMatch | None = None


class WorkingMemoryGet(RunIdentity, kw_only=True):
    """Read one block."""

    block_key: BlockKey | None = None


class WorkingMemoryList(RunIdentity, kw_only=True):
    """List the blocks of one identity and run, without their text."""

    limit: PageLimit | None = None
    cursor: Cursor | None = None
    include_deleted: IncludeDeleted | None = None


class WorkingMemoryRender(RunIdentity, kw_only=True):
    """Render blocks as one piece of text for a prompt."""

    block_keys: BlockKeys | None = None
    limit: RenderLimit | None = None
    format: RenderFormat | None = None
    layered: Layered | None = None
    if_none_match: IfNoneMatch | None = None


class BlockReceipt(RunIdentityAnswer, kw_only=True):
    """What a write did and how full the block now is, without the block's text."""

    block_key: str
    version: Version
    version_text: VersionText
    content_sha256: Sha256
    value_length: ValueLength
    char_limit: int
    fill_ratio: FillRatio
    created: Created
    updated_at: Time


class BlockReplaced(BlockReceipt, kw_only=True):
    """A receipt, and how many occurrences were replaced."""

    replacements: int


class BlockDeleted(Struct, kw_only=True):
    """What a delete found and did. `version` is null if there never was such a block."""

    found: Annotated[bool, Meta(description="Whether the block was live.")]
    tombstoned: Annotated[bool, Meta(description="Whether a tombstone stands in its place now.")]
    version: Version | None
    version_text: VersionText | None


class BlockRead(Struct, kw_only=True, omit_defaults=True):
    """A block with its text. With `found: false` there is no live block, and no text.

    `tombstoned` then says whether one was deleted; `version` is the tombstone's.
    """

    found: bool
    tombstoned: bool | None = None
    content: str | None = None
    description: str | None = None
    read_only: bool | None = None
    org: str | None = None
    namespace: str | None = None
    agent: str | None = None
    user_id: str | None = None
    session_id: str | None = None
    run_id: str | None = None
    block_key: str | None = None
    version: Version | None = None
    version_text: VersionText | None = None
    content_sha256: Sha256 | None = None
    value_length: ValueLength | None = None
    char_limit: int | None = None
    fill_ratio: FillRatio | None = None
    created: Created | None = None
    updated_at: Time | None = None


class BlockItem(RunIdentityAnswer, kw_only=True):
    """A block in a list, without its text. A tombstone has no hash, length or fill."""

    block_key: str
    version: Version
    version_text: VersionText
    content_sha256: Sha256 | None
    value_length: ValueLength | None
    char_limit: int
    fill_ratio: FillRatio | None
    description: str | None
    read_only: bool
    created_at: Time
    created_by: Actor
    updated_at: Time
    updated_by: Actor
    deleted_at: Time | None


class BlockPage(Struct, kw_only=True):
    """One page of blocks, ordered by key in byte order."""

    items: list[BlockItem]
    next_cursor: NextCursor


class RenderedBlock(Struct, kw_only=True):
    """One block of a render, and the layer it was found in."""

    block_key: str
    layer: Literal["run", "session", "user", "agent", "namespace"]
    content_sha256: Sha256
    fill_ratio: FillRatio


class BlockRender(Struct, kw_only=True, omit_defaults=True):
    """Rendered blocks; without text where `if_none_match` is still current."""

    sha256: Sha256
    text: str | None = None
    unchanged: bool = False
    blocks: list[RenderedBlock] = []
    omitted: Annotated[
        list[str],
        Meta(max_length=100, description="Keys in scope beyond `limit`; the first 100 of them."),
    ] = []
    omitted_count: Annotated[int, Meta(description="How many keys were beyond `limit`.")] = 0

"""Requests and answers of ``profile.*``: sections that an agent is told without asking.

A section is a memory row of type ``profile`` whose key is the label.
"""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Struct

from loom.types.fields import (
    Cursor,
    Identity,
    IdentityAnswer,
    NextCursor,
    PageLimit,
    ReadScope,
    Sha256,
    Time,
    Version,
    VersionText,
)
from loom.types.memory import FillRatio, IfAbsent, IfMatch, MemoryId, Value, ValueLength
from loom.types.memory_rows import RowReceipt

Label = Annotated[
    str,
    Meta(min_length=1, max_length=200, description="The section's name. At most 256 bytes."),
]
CharLimit = Annotated[
    int,
    Meta(
        ge=1,
        le=65536,
        description="The most characters of canonical JSON; 8192 for a new section.",
    ),
]
Labels = Annotated[
    list[Label],
    Meta(max_length=100, description="Only these sections, in this order; all when left out."),
]
CharBudget = Annotated[
    int,
    Meta(
        ge=1,
        le=1_000_000,
        description="The most characters of text; sections beyond it are left out and named.",
    ),
]


class ProfileSet(Identity, kw_only=True):
    """Write a section, or create it."""

    label: Label
    value: Value
    char_limit: CharLimit | None = None
    if_match_sha256: IfMatch | None = None
    if_absent: IfAbsent | None = None


class ProfileAppend(Identity, kw_only=True):
    """Add text at the end of a section, or create the section with it."""

    label: Label
    addition: Annotated[str, Meta(description="The text to add.")]
    separator: Annotated[str, Meta(description="A newline when left out.")] | None = None
    if_match_sha256: IfMatch | None = None


class ProfileReplace(Identity, kw_only=True):
    """Replace every occurrence of a text inside a section."""

    label: Label
    old: Annotated[str, Meta(min_length=1, description="The exact text to look for.")]
    new: Annotated[str, Meta(description="What stands in its place; may be empty.")]
    expected_count: (
        Annotated[int, Meta(ge=1, le=1_000_000, description="Refuse unless exactly this many.")]
        | None
    ) = None
    if_match_sha256: IfMatch | None = None


class ProfileList(Identity, kw_only=True):
    """List the sections in reach, newest first, without their values."""

    label: Label | None = None
    read_scope: ReadScope | None = None
    limit: PageLimit | None = None
    cursor: Cursor | None = None


class ProfileDelete(Identity, kw_only=True):
    """End a section; its tombstone can be restored for 14 days."""

    label: Label
    if_match_sha256: IfMatch | None = None


class ProfileRender(Identity, kw_only=True):
    """Render the sections in reach as one piece of text for a prompt."""

    labels: Labels | None = None
    format: (
        Annotated[Literal["xml", "markdown"], Meta(description="`xml` when left out.")] | None
    ) = None
    scope: (
        Annotated[
            Literal["namespace", "this_agent"],
            Meta(description="Of every agent, the default, or of the caller's own only."),
        ]
        | None
    ) = None
    read_scope: ReadScope | None = None
    char_budget: CharBudget | None = None
    if_none_match: (
        Annotated[str, Meta(description="The `sha256` of a render the caller holds.")] | None
    ) = None


class ProfileActivity(Identity, kw_only=True):
    """Tell which clients read which sections, and when."""

    lookback_days: (
        Annotated[int, Meta(ge=1, le=30, description="Days back from today; 30 when left out.")]
        | None
    ) = None
    read_scope: ReadScope | None = None


class SectionReplaced(RowReceipt, kw_only=True):
    """A receipt, and how many occurrences were replaced."""

    replacements: int


class SectionItem(IdentityAnswer, kw_only=True):
    """A section in a list, without its value."""

    label: str
    memory_id: MemoryId
    version: Version
    version_text: VersionText
    content_sha256: Sha256
    value_length: ValueLength
    char_limit: int
    fill_ratio: FillRatio
    created_at: Time
    updated_at: Time


class SectionPage(Struct, kw_only=True):
    """One page of sections."""

    items: list[SectionItem]
    next_cursor: NextCursor


class SectionPlace(Struct, kw_only=True):
    """Which section: its label, and whose it is."""

    label: str
    agent: str
    user_id: str
    session_id: str


class RenderedSection(SectionPlace, kw_only=True):
    """One section of a render."""

    content_sha256: Sha256


class ProfileRendered(Struct, kw_only=True, omit_defaults=True):
    """Rendered sections; without text where `if_none_match` is still current."""

    sha256: Sha256
    text: str | None = None
    unchanged: bool = False
    sections: list[RenderedSection] = []
    omitted: Annotated[
        list[SectionPlace],
        Meta(max_length=100, description="Sections left out; the first 100 of them."),
    ] = []
    omitted_count: Annotated[
        int, Meta(description="How many were left out, of the first thousand in reach.")
    ] = 0


class SectionReads(Struct, kw_only=True):
    """Reads of one section by one client."""

    client: Annotated[str, Meta(description="The token's label, or its role.")]
    agent: str
    label: str
    reads: int
    last_at: Time
    days: Annotated[dict[str, int], Meta(description="Reads by day, UTC.")]


class ProfileReads(Struct, kw_only=True):
    """Who read the profile lately: the thousand most recent."""

    lookback_days: int
    clients: list[SectionReads]

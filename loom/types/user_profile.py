"""Requests and answers of ``user_profile.*``: what a user's own messages tell of them.

In a delta null and empty say nothing; only ``forget`` removes a fact, and only an empty list of
topics the topics.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import Meta, Struct

from loom.types.fields import (
    Actor,
    Cursor,
    NextCursor,
    PageLimit,
    ProfiledUser,
    Sha256,
    Time,
    Version,
    VersionText,
)

ScopePart = Annotated[str, Meta(max_length=200, description="Not set where it is empty.")]
Length = Literal["concise", "balanced", "detailed"]
FactKey = Annotated[str, Meta(min_length=1, max_length=80)]
FactValue = Annotated[str, Meta(max_length=2000)]
Topics = Annotated[
    list[Annotated[str, Meta(max_length=200)]],
    Meta(description="Replace those of before; 50 at most in a profile."),
]
Summary = Annotated[str, Meta(max_length=4000)]
SourceName = Annotated[
    str, Meta(max_length=200, description="What the delta came from; shown with the profile.")
]
IfVersion = Annotated[
    int, Meta(ge=0, description="Refuse unless this is the current version; 0: there is none.")
]
DryRun = Annotated[bool, Meta(description="Answer what would come of it, and change nothing.")]
AsOfVersion = Annotated[int, Meta(ge=0, description="As this version was.")]


class Scope(Struct, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """Keeps several profiles of one user apart."""

    tenant: ScopePart | None = None
    user: ScopePart | None = None
    thread: ScopePart | None = None
    kind: ScopePart | None = None


InScope = Annotated[Scope, Meta(description="Which of the user's profiles; the plain one if not.")]


class ScopedUser(ProfiledUser, kw_only=True):
    """A request that acts on one user's profile."""

    scope: InScope | None = None


class Signal(Struct, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """Something that was said or done. Only the user's own words tell of the user."""

    text: Annotated[str, Meta(max_length=20_000)]
    id: (
        Annotated[str, Meta(min_length=1, max_length=200, description="Merged once, by this.")]
        | None
    ) = None
    kind: (
        Annotated[
            str,
            Meta(
                max_length=80,
                description=(
                    "`message` when left out. The user's own are `message`, with role `user` or "
                    "none, and `feedback`."
                ),
            ),
        ]
        | None
    ) = None
    role: Annotated[str, Meta(max_length=80)] | None = None
    ts: Time | None = None
    meta: dict[str, Any] | None = None


class FactOp(Struct, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """One operation on a fact; add and update are the same."""

    op: Literal["add", "update", "forget"]
    key: FactKey
    value: FactValue | None = None


class Traits(Struct, kw_only=True, forbid_unknown_fields=True):
    """How a user communicates; null where nothing is known."""

    style: Length | None = None
    verbosity: Length | None = None
    expertise: Literal["beginner", "intermediate", "expert"] | None = None
    formality: Literal["casual", "neutral", "formal"] | None = None


class Preferences(Struct, kw_only=True, forbid_unknown_fields=True):
    """How a user wants answers; null where nothing is known."""

    format: Literal["bullets", "narrative", "code_heavy", "mixed"] | None = None
    language: Annotated[str, Meta(max_length=35)] | None = None
    topics: Topics | None = None


class Delta(Struct, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """What one look at signals told. Operations count in their order."""

    fact_ops: Annotated[list[FactOp], Meta(max_length=1000)] | None = None
    traits: Traits | None = None
    preferences: Preferences | None = None
    topics: Topics | None = None
    summary: Summary | None = None
    source: SourceName | None = None


class Fact(Struct, kw_only=True, forbid_unknown_fields=True):
    """One fact."""

    key: FactKey
    value: FactValue


class ProfileGiven(Struct, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """A whole profile; what is left out is empty."""

    facts: list[Fact] | None = None
    traits: Traits | None = None
    preferences: Preferences | None = None
    summary: Summary | None = None


class UserProfileUpdate(ScopedUser, kw_only=True):
    """Learn from what a user said."""

    signals: Annotated[list[Signal], Meta(min_length=1, max_length=200)]
    source: (
        Annotated[
            Literal["rules", "llm", "composite"],
            Meta(description="`rules` when left out; the others wait for the worker."),
        ]
        | None
    ) = None
    if_version: IfVersion | None = None
    dry_run: DryRun | None = None


class UserProfileApply(ScopedUser, kw_only=True):
    """Merge a delta into a user's profile."""

    delta: Delta
    signal_ids: (
        Annotated[
            list[str],
            Meta(
                max_length=200,
                description="What it was made from: nothing changes when all have been merged.",
            ),
        ]
        | None
    ) = None
    if_version: IfVersion | None = None
    dry_run: DryRun | None = None


class UserProfilePut(ScopedUser, kw_only=True):
    """Write a whole profile over the one that stands."""

    profile: ProfileGiven
    source: SourceName | None = None
    version: (
        Annotated[
            int, Meta(ge=0, description="What it is called; one more than before when left out.")
        ]
        | None
    ) = None
    document: (
        Annotated[
            str,
            Meta(
                max_length=1_000_000,
                description="The same as its owner wrote it, kept until anything else is written.",
            ),
        ]
        | None
    ) = None
    if_version: IfVersion | None = None
    if_absent: Annotated[bool, Meta(description="Refuse when there is one.")] | None = None


class UserProfileGet(ScopedUser, kw_only=True):
    """Read a user's profile."""

    as_of_version: AsOfVersion | None = None
    include_document: (
        Annotated[bool, Meta(description="With the document of `user_profile.put`.")] | None
    ) = None
    signal_ids: (
        Annotated[list[str], Meta(max_length=200, description="Which of them have been merged?")]
        | None
    ) = None


class UserProfileHistory(ScopedUser, kw_only=True):
    """List the versions of a user's profile, newest first."""

    as_of_version: AsOfVersion | None = None
    limit: PageLimit | None = None
    cursor: Cursor | None = None


class UserProfileRender(ScopedUser, kw_only=True):
    """Render a user's profile as one piece of text for a prompt."""

    format: Annotated[Literal["text", "xml"], Meta(description="`text` when left out.")] | None = (
        None
    )
    language: (
        Annotated[str, Meta(max_length=35, description="Of the header; English if unknown.")] | None
    ) = None
    if_none_match: (
        Annotated[str, Meta(description="The `sha256` of a render the caller holds.")] | None
    ) = None


class UserProfileReset(ScopedUser, kw_only=True):
    """Begin a user's profile anew."""

    if_version: IfVersion | None = None


class UserProfileDelete(ScopedUser, kw_only=True):
    """End a user's profile; its history stays until the user is erased."""

    if_version: IfVersion | None = None


class TopicalPreferences(Preferences, kw_only=True):
    """Preferences with their topics."""

    topics: list[str]


class Profile(Struct, kw_only=True):
    """What is known of a user."""

    facts: Annotated[list[Fact], Meta(description="In the order in which they were first added.")]
    traits: Traits
    preferences: TopicalPreferences
    summary: str


class UserProfileStanding(Struct, kw_only=True):
    """A profile as it stands; the empty one with version 0 where there is none."""

    profile: Profile
    version: Version
    version_text: VersionText
    source: Annotated[str | None, Meta(description="What changed it last; null without one.")]
    updated_at: Time | None


class UserProfileChanged(UserProfileStanding, kw_only=True):
    """The profile after a write."""

    changed: Annotated[bool, Meta(description="False: it said so already.")]


class UserProfileUpdated(UserProfileChanged, kw_only=True):
    """The profile after an update."""

    queued: Annotated[bool, Meta(description="The worker is to apply it.")]


class UserProfileRead(UserProfileStanding, kw_only=True):
    """A profile that was read."""

    found: bool
    pending: Annotated[int, Meta(description="Updates that wait for a model.")]
    document: Annotated[str | None, Meta(description="Null unless asked for.")]
    merged_signal_ids: Annotated[
        list[str], Meta(description="Of `signal_ids` those that were merged or wait for a model.")
    ]


class UserProfileVersion(Struct, kw_only=True):
    """One version of a profile."""

    version: Version
    version_text: VersionText
    revision: Annotated[int, Meta(description="Counts what was recorded.")]
    change: Literal["update", "apply", "put", "reset", "delete"]
    profile: Annotated[Profile | None, Meta(description="Null in a tombstone.")]
    source: str
    recorded_at: Time
    actor: Actor


class UserProfileVersions(Struct, kw_only=True):
    """One page of versions."""

    found: bool
    items: list[UserProfileVersion]
    next_cursor: NextCursor


class UserProfileRendered(Struct, kw_only=True, omit_defaults=True):
    """A rendered profile; without text where `if_none_match` is still current."""

    sha256: Sha256
    text: str | None = None
    unchanged: bool = False


class UserProfileDeleted(Struct, kw_only=True):
    """What a deletion left."""

    found: Annotated[bool, Meta(description="A profile was there.")]
    tombstoned: Annotated[bool, Meta(description="A tombstone stands there now.")]
    version: Version
    version_text: VersionText

"""Requests and answers of ``profile.structured*``: a user in the shape of a namespace's schema."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import Meta, Struct

from loom.types.fields import ProfiledUser, Time, Version, VersionText
from loom.types.memory import MemoryId

Profile = Annotated[
    dict[str, Any],
    Meta(
        description=(
            "Every property of the schema it was built under, null where the facts do not settle "
            "it; `{}` without a schema."
        )
    ),
]
ProfileStatus = Annotated[
    Literal["ready", "stale", "pending", "no_schema"],
    Meta(
        description=(
            "`ready`: built from the facts of now under the schema of now, or there is nothing to "
            "build. `stale`: a fact or the schema has changed since. `pending`: no profile to "
            "serve yet. `no_schema`: the namespace has none that can be read."
        )
    ),
]
Code = Annotated[str, Meta(description="A word in capitals, never a provider's text.")]


class ProfileStructured(ProfiledUser, kw_only=True):
    """Read one user's profile in the shape of the namespace's schema; never calls a model."""

    explain: Annotated[bool, Meta(description="Also say why it stands as it does.")] | None = None


class ProfileStructuredBuild(ProfiledUser, kw_only=True):
    """Ask for a user's profile to be built now, within its cooldown and its waits."""


class ProfileExplained(Struct, kw_only=True):
    """Why a profile stands as it does, in codes, numbers, times and ids."""

    source_count: Annotated[int, Meta(description="How many facts it would be built from now.")]
    sources_match: Annotated[
        bool | None,
        Meta(description="Whether it was built from the facts of now; null before any build."),
    ]
    schema_match: Annotated[
        bool | None,
        Meta(description="Whether it was built under the schema of now; null before any build."),
    ]
    due_at: Annotated[Time | None, Meta(description="When a worker is to look at it next.")]
    listed_at: Annotated[
        Time | None, Meta(description="Since when it is known to be behind; null when it is not.")
    ]
    attempts: Annotated[int, Meta(description="Tries since the last success.")]
    last_error: Annotated[
        Code | None,
        Meta(
            description="How the last try failed; MODEL_CALLS_OFF or MODEL_TOKEN_CAP while the "
            "user waits for that."
        ),
    ]
    next_attempt_at: Annotated[Time | None, Meta(description="Not tried again before that.")]
    refused: Annotated[
        Code | None, Meta(description="Why it is not tried until something changes.")
    ]
    sources: Annotated[
        dict[str, list[MemoryId]],
        Meta(description="By property the ids of the facts that the model named for it."),
    ]


class StructuredProfile(Struct, kw_only=True, omit_defaults=True):
    """One user's profile and its status; the rest is null while none is served."""

    profile: Profile
    status: ProfileStatus
    built_at: Time | None
    memory_id: MemoryId | None
    version: Version | None
    version_text: VersionText | None
    explain: Annotated[ProfileExplained, Meta(description="Only when asked for.")] | None = None


class BuildAsked(Struct, kw_only=True):
    """Whether a build is on its way."""

    queued: Annotated[
        bool,
        Meta(
            description=(
                "A build is due or under way. False inside the cooldown, a backoff or a refusal, "
                "and when there is nothing to build."
            )
        ),
    ]
    due_at: Annotated[
        Time | None, Meta(description="When it is due; null when nothing is to be built.")
    ]

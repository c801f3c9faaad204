"""Requests and answers of ``profile_schema.*``: the shape of a namespace's structured profiles."""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import Meta, Struct

from loom.types.fields import Actor, NamespaceScope, Time


class ProfileSchemaSet(NamespaceScope, kw_only=True):
    """Set the shape in which the worker keeps users' structured profiles."""

    json_schema: Annotated[
        dict[str, Any],
        Meta(
            description=(
                "A JSON Schema object of the subset described here, at most 16 KiB as canonical "
                "JSON."
            )
        ),
    ]


class ProfileSchemaGet(NamespaceScope, kw_only=True):
    """Read the namespace's profile schema."""


class ProfileSchemaClear(NamespaceScope, kw_only=True):
    """Remove the namespace's profile schema; what was built stays."""


class ProfileSchema(Struct, kw_only=True):
    """A namespace's profile schema; all null but `found` where it has none."""

    found: bool
    json_schema: dict[str, Any] | None
    schema_sha256: Annotated[
        str | None,
        Meta(
            description=(
                "SHA-256 of the canonical JSON of the properties without their titles, in "
                "lower-case hex."
            )
        ),
    ]
    updated_by: Actor | None
    updated_at: Time | None


class ProfileSchemaCleared(Struct, kw_only=True):
    """Whether there was a profile schema to clear."""

    cleared: bool

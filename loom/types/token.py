"""Requests and answers of ``token.*``: who may call, as what, within which bounds."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

from loom.types.fields import Actor, Cursor, NextCursor, OrgScope, PageLimit, Role, Time

BoundNamespace = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=200,
        description="Bind the token to this namespace; good for all of the org's when left out.",
    ),
]
ReadUserId = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=200,
        description=(
            "Pin the token to this user: it reads that user's rows and those of user `-`, and "
            "writes only that user's. Not for admins."
        ),
    ),
]
BoundSession = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=200,
        description="Bind the token to this session too; needs `read_user_id`.",
    ),
]
Label = Annotated[
    str, Meta(min_length=1, max_length=200, description="A name to know the token by.")
]
TtlSeconds = Annotated[
    int,
    Meta(
        ge=1,
        le=315_360_000,
        description="Seconds until the token expires; never when left out.",
    ),
]
TokenId = Annotated[str, Meta(description="The token's uuid; not its secret.")]


class TokenMint(OrgScope, kw_only=True):
    """Make a token. Its secret is in the answer and nowhere else."""

    role: Role
    namespace: BoundNamespace | None = None
    read_user_id: ReadUserId | None = None
    session_id: BoundSession | None = None
    label: Label | None = None
    ttl_seconds: TtlSeconds | None = None


class TokenList(OrgScope, kw_only=True):
    """List the tokens within the caller's bounds, without their secrets."""

    limit: PageLimit | None = None
    cursor: Cursor | None = None


class TokenRevoke(OrgScope, kw_only=True):
    """Revoke a token: it is refused from the next request on."""

    token_id: TokenId


class TokenItem(Struct, kw_only=True):
    """A token without its secret. `last_used_at` may lag some minutes behind."""

    token_id: TokenId
    org: str
    role: Role
    namespace: str | None
    read_user_id: str | None
    session_id: str | None
    label: str | None
    created_at: Time
    created_by: Actor
    expires_at: Time | None
    revoked_at: Time | None
    last_used_at: Time | None


class TokenMinted(TokenItem, kw_only=True):
    """A new token. `token` is the secret: it is shown this once."""

    token: str


class TokenPage(Struct, kw_only=True):
    """One page of tokens."""

    items: list[TokenItem]
    next_cursor: NextCursor


class TokenRevoked(Struct, kw_only=True):
    """When the token was first revoked; null if there is no such token in reach."""

    token_id: TokenId
    found: bool
    revoked_at: Time | None

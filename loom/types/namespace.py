"""Requests and answers of ``namespace.*``: where memory lives, and its settings."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

from loom.types.fields import Cursor, NamespaceScope, NextCursor, OrgScope, PageLimit, Time

NightWeaving = Annotated[
    bool, Meta(description="Whether looms here weave at night unless they say otherwise.")
]
QuietMinutes = Annotated[
    int,
    Meta(ge=0, le=1440, description="Minutes without activity before a loom weaves at night."),
]
WeaverModel = Annotated[
    str,
    Meta(max_length=200, description="The model that weaves where a loom names none."),
]
TextSearchLanguage = Annotated[
    str, Meta(description="The PostgreSQL text search configuration, such as `english`.")
]
Uuid = Annotated[str, Meta(description="A uuid, in lower-case hex with dashes.")]


class NamespaceList(OrgScope, kw_only=True):
    """List the org's namespaces within the caller's bounds."""

    limit: PageLimit | None = None
    cursor: Cursor | None = None


class NamespaceGet(NamespaceScope, kw_only=True):
    """Read one namespace and its settings."""


class NamespaceUpdate(NamespaceScope, kw_only=True):
    """Change a namespace's settings; a setting left out keeps its value."""

    night_weaving: NightWeaving | None = None
    quiet_minutes: QuietMinutes | None = None
    weaver_model: WeaverModel | None = None
    text_search_language: TextSearchLanguage | None = None


class NamespaceSettings(Struct, kw_only=True):
    """A namespace, its ids and its settings; a null setting means the server's default."""

    org: str
    namespace: str
    namespace_id: Uuid
    org_id: Uuid
    night_weaving: bool | None
    quiet_minutes: int | None
    weaver_model: str | None
    text_search_language: str
    created_at: Time
    updated_at: Time


class NamespaceUpdated(NamespaceSettings, kw_only=True):
    """The namespace as it is now; `found` is always true, since an update makes a new one."""

    found: bool


class NamespaceRead(Struct, kw_only=True, omit_defaults=True):
    """A namespace and its settings; before its first write only `found: false` and the names."""

    found: bool
    org: str
    namespace: str
    namespace_id: Uuid | None = None
    org_id: Uuid | None = None
    night_weaving: bool | None = None
    quiet_minutes: int | None = None
    weaver_model: str | None = None
    text_search_language: str | None = None
    created_at: Time | None = None
    updated_at: Time | None = None


class NamespacePage(Struct, kw_only=True):
    """One page of namespaces."""

    items: list[NamespaceSettings]
    next_cursor: NextCursor

"""Requests and answers of ``looms.*``: named memories that agents weave across conversations.

Field names are in camel case here, and times have seven fractional digits, over HTTP and in
SQL alike.
"""

from __future__ import annotations

from typing import Annotated, Final, Literal

from msgspec import Meta, Struct

from loom.types.fields import LoomUser, NamespaceScope, ReadScope

_UUID: Final = {"format": "uuid"}

Uuid = Annotated[
    str,
    Meta(description="A uuid, in lower-case hex with dashes.", extra_json_schema=_UUID),
]
Moment = Annotated[str, Meta(description="UTC, ISO 8601 with seven fractional digits and `Z`.")]
LoomId = Annotated[str, Meta(description="The loom's id, a uuid.", extra_json_schema=_UUID)]
ThreadId = Annotated[str, Meta(description="The thread's id, a uuid.", extra_json_schema=_UUID)]
WeavingId = Annotated[str, Meta(description="The weaving's id, a uuid.", extra_json_schema=_UUID)]
NamespaceId = Annotated[
    str,
    Meta(
        description="The namespace by its id; instead of its name, or of the token's.",
        extra_json_schema=_UUID,
    ),
]
LoomName = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=200,
        description="Unique in its namespace. At most 256 bytes of UTF-8.",
    ),
]
Description = Annotated[str, Meta(max_length=2000, description="What the loom is for.")]
WovenText = Annotated[
    str, Meta(min_length=1, max_length=16384, description="What is to be remembered.")
]
ThreadAgent = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=200,
        description="The agent whose own it is; shared by all when left out.",
    ),
]
Page = Annotated[int, Meta(ge=1, le=1_000_000, description="Which page; the first when left out.")]
PageSize = Annotated[
    int, Meta(ge=1, le=200, description="The most items in one page; 50 when left out.")
]
Kind = Annotated[
    Literal["shared", "own"],
    Meta(description="Whether all agents of the loom are told it, or one."),
]


class LoomSettingsWanted(Struct, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """Settings of a loom. Here null is said on purpose: it inherits from the namespace, and where
    that says nothing, from the installation. What is left out stays."""

    nightWeaving: Annotated[bool, Meta(description="Whether it is woven at night.")] | None = None
    quietMinutes: (
        Annotated[
            int,
            Meta(ge=0, le=1440, description="Minutes without a turn before it is; 0 for none."),
        ]
        | None
    ) = None
    weaverModel: (
        Annotated[str, Meta(min_length=1, max_length=200, description="The model that weaves.")]
        | None
    ) = None


class LoomsCreate(NamespaceScope, kw_only=True):
    """Make a loom."""

    namespaceId: NamespaceId | None = None
    name: LoomName
    description: Description | None = None
    settings: LoomSettingsWanted | None = None


class LoomsGet(NamespaceScope, kw_only=True):
    """Read one loom."""

    loomId: LoomId


class LoomsList(NamespaceScope, kw_only=True):
    """List the looms of a namespace."""

    namespaceId: NamespaceId | None = None
    page: Page | None = None
    pageSize: PageSize | None = None


class LoomsUpdate(NamespaceScope, kw_only=True):
    """Change a loom's name, description or settings; what is left out stays."""

    loomId: LoomId
    name: LoomName | None = None
    description: Description | None = None
    settings: LoomSettingsWanted | None = None


class LoomsDelete(NamespaceScope, kw_only=True):
    """Remove a loom with all that stands in it."""

    loomId: LoomId


class LoomsBind(LoomUser, kw_only=True):
    """Bind looms to the agents of a run."""

    namespaceId: NamespaceId | None = None
    processId: (
        Annotated[str, Meta(description="The run, a uuid.", extra_json_schema=_UUID)] | None
    ) = None
    interactionId: (
        Annotated[
            str,
            Meta(description="The interaction whose run it is, a uuid.", extra_json_schema=_UUID),
        ]
        | None
    ) = None
    agents: (
        Annotated[
            list[str],
            Meta(
                min_length=1,
                max_length=50,
                description="The run's agents; one without a name when left out.",
            ),
        ]
        | None
    ) = None
    scope: (
        Annotated[
            Literal["interaction", "agent", "input", "run"],
            Meta(
                description=(
                    "Which loom is found or made: one of the interaction, of each agent in it, "
                    "of a value of its input, or of this run."
                )
            ),
        ]
        | None
    ) = None
    scopeValue: (
        Annotated[
            str,
            Meta(min_length=1, max_length=200, description="The input's value, with scope input."),
        ]
        | None
    ) = None
    loomId: (
        Annotated[
            str, Meta(description="A loom to bind, instead of a scope.", extra_json_schema=_UUID)
        ]
        | None
    ) = None
    seedFromLoomId: (
        Annotated[
            str,
            Meta(
                description="A loom whose shared threads a new one has copied in, once.",
                extra_json_schema=_UUID,
            ),
        ]
        | None
    ) = None
    readScope: ReadScope | None = None


class LoomsThreadAdd(LoomUser, kw_only=True):
    """Weave a thread into a loom."""

    loomId: LoomId
    text: WovenText
    agent: ThreadAgent | None = None
    tags: (
        Annotated[list[str], Meta(description="At most 50, of 1 to 100 characters each.")] | None
    ) = None


class LoomsThreadList(LoomUser, kw_only=True):
    """List the threads of a loom."""

    loomId: LoomId
    agent: (
        Annotated[
            str,
            Meta(
                min_length=1,
                max_length=200,
                description="Only this agent's own threads; `-` for the shared ones.",
            ),
        ]
        | None
    ) = None
    includeDeleted: Annotated[bool, Meta(description="Tombstones too.")] | None = None
    readScope: ReadScope | None = None
    page: Page | None = None
    pageSize: PageSize | None = None


class LoomsThreadDelete(NamespaceScope, kw_only=True):
    """Delete a thread, leaving a tombstone."""

    loomId: LoomId
    threadId: ThreadId


class LoomsActivity(LoomUser, kw_only=True):
    """Record a turn that an agent took with the loom bound."""

    loomId: LoomId
    text: WovenText
    agent: Annotated[str, Meta(min_length=1, max_length=200, description="The agent.")] | None = (
        None
    )
    processId: (
        Annotated[str, Meta(description="The run, a uuid.", extra_json_schema=_UUID)] | None
    ) = None
    credentials: (
        Annotated[
            str,
            Meta(
                min_length=1,
                max_length=200,
                description=(
                    "The name of the run's model credentials, which the worker's settings "
                    "know; never a secret."
                ),
            ),
        ]
        | None
    ) = None
    model: (
        Annotated[str, Meta(min_length=1, max_length=200, description="The run's model.")] | None
    ) = None


class LoomsInspection(LoomUser, kw_only=True):
    """Look into a loom."""

    loomId: LoomId
    readScope: ReadScope | None = None


class LoomsWeave(NamespaceScope, kw_only=True):
    """Ask for a loom to be woven now."""

    loomId: LoomId
    dryRun: (
        Annotated[bool, Meta(description="Show what would be changed, change nothing.")] | None
    ) = None


class LoomsWeavingGet(LoomUser, kw_only=True):
    """Read one weaving."""

    loomId: LoomId
    weavingId: WeavingId
    readScope: ReadScope | None = None


class LoomsWeavingList(NamespaceScope, kw_only=True):
    """List the weavings of a loom."""

    loomId: LoomId
    page: Page | None = None
    pageSize: PageSize | None = None


class LoomsWeavingRevert(NamespaceScope, kw_only=True):
    """Take a weaving back."""

    loomId: LoomId
    weavingId: WeavingId


class LoomSettings(Struct, kw_only=True):
    """A loom's own settings, null where it inherits, and what holds after that."""

    nightWeaving: bool | None
    quietMinutes: int | None
    weaverModel: str | None
    effectiveNightWeaving: bool
    effectiveQuietPeriod: Annotated[str, Meta(pattern=r"^\d\d:[0-5]\d:[0-5]\d$")]


class Loom(Struct, kw_only=True):
    """A loom. Every field is there; empty ones are null."""

    name: str
    description: str | None
    scopeKey: str | None
    seedFromLoomId: Uuid | None
    seededAt: Moment | None
    settings: LoomSettings
    lastWovenAt: Moment | None
    lastActivityAt: Moment | None
    lastActivityProcessId: Uuid | None
    lastNightWeavingAt: Moment | None
    nightWeavingPending: bool
    nightWeavingNotBefore: Moment | None
    namespaceId: Uuid
    tenantId: Uuid
    id: Uuid
    dateCreated: Moment
    dateUpdated: Moment


class EntityOfLoom(Struct, kw_only=True):
    """A loom as it is after a write."""

    entity: Loom


class LoomPage(Struct, kw_only=True):
    """One page of looms."""

    items: list[Loom]
    page: int
    pageSize: int
    total: int


class LoomDeleted(Struct, kw_only=True):
    """The loom that is gone, and how many live threads it had."""

    id: Uuid
    threads: int


class Binding(Struct, kw_only=True):
    """What an agent wakes up with: its loom, and what it is told of it."""

    agent: str | None
    loom: Loom
    wakeUpText: str
    threadCount: int
    seeded: bool


class LoomBindings(Struct, kw_only=True):
    """The bindings of a run, agent by agent."""

    bindings: list[Binding]


class Thread(Struct, kw_only=True):
    """A thread of a loom."""

    id: Uuid
    loomId: Uuid
    kind: Kind
    agent: str | None
    userId: str
    text: str
    tags: list[str]
    wovenFrom: list[Uuid]
    version: int
    dateCreated: Moment
    dateUpdated: Moment
    deletedAt: Moment | None


class EntityOfThread(Struct, kw_only=True):
    """A thread as it is after a write."""

    entity: Thread


class ThreadPage(Struct, kw_only=True):
    """One page of threads."""

    items: list[Thread]
    page: int
    pageSize: int
    total: int


class LoomTurnRecorded(Struct, kw_only=True):
    """A recorded turn, and the loom's activity after it."""

    turnId: Uuid
    loomId: Uuid
    lastActivityAt: Moment
    lastActivityProcessId: Uuid | None
    nightWeavingPending: bool


class Weaving(Struct, kw_only=True):
    """A weaving: why, when, and how much it changed."""

    id: Uuid
    loomId: Uuid
    cause: Annotated[
        Literal["night", "request"], Meta(description="Its time had come, or somebody asked.")
    ]
    dryRun: bool
    state: Literal["queued", "running", "done", "failed"]
    error: Annotated[str | None, Meta(description="A code, where it failed.")]
    processId: Annotated[str | None, Meta(description="The run whose credentials it used.")]
    model: str | None
    promptTokens: int
    completionTokens: int
    added: int
    revised: int
    retired: int
    dropped: Annotated[
        int,
        Meta(description="What the model wanted and was not done: unknown, too much, too late."),
    ]
    dateRequested: Moment
    dateStarted: Moment | None
    dateEnded: Moment | None
    dateReverted: Moment | None


class WeavingChange(Struct, kw_only=True):
    """What a weaving did to one thread, or as a dry run would do."""

    action: Literal["add", "revise", "retire"]
    threadId: Uuid | None
    kind: Kind
    agent: str | None
    userId: str
    fromVersion: int | None
    toVersion: int | None
    text: str | None
    reason: str | None
    reverted: bool


class WeavingRead(Weaving, kw_only=True):
    """A weaving and what it changed."""

    changes: list[WeavingChange]


class EntityOfWeaving(Struct, kw_only=True):
    """A weaving as it is after a write."""

    entity: Weaving


class WeavingReverted(Struct, kw_only=True):
    """A weaving that is taken back, as far as nothing came after it."""

    entity: Weaving
    reverted: int
    kept: int


class WeavingPage(Struct, kw_only=True):
    """One page of weavings."""

    items: list[Weaving]
    page: int
    pageSize: int
    total: int


class ThreadCount(Struct, kw_only=True):
    """How many threads of one kind and agent there are."""

    kind: Kind
    agent: str | None
    live: int
    deleted: int


class Turn(Struct, kw_only=True):
    """A turn that no weaving has consolidated yet."""

    id: Uuid
    agent: str | None
    processId: Uuid | None
    userId: str
    text: str
    dateCreated: Moment


class PendingActivity(Struct, kw_only=True):
    """The turns that no weaving has consolidated yet, the newest ten with their texts."""

    turns: int
    oldestAt: Moment | None
    newestAt: Moment | None
    newest: list[Turn]


class NightWeavingState(Struct, kw_only=True):
    """When a loom is next woven at night, and why not yet."""

    due: bool
    dueAt: Moment | None
    waitsFor: list[
        Literal[
            "off",
            "nothing_pending",
            "quiet",
            "backoff",
            "under_way",
            "model_calls_off",
            "model_token_cap",
        ]
    ]
    attempts: int


class LoomInspection(Struct, kw_only=True):
    """What stands in a loom and what happens to it."""

    loom: Loom
    threadCounts: list[ThreadCount]
    newestThreads: list[Thread]
    pendingActivity: PendingActivity
    nightWeaving: NightWeavingState
    weavings: list[WeavingRead]

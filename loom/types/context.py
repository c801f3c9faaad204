"""Request and answer of ``context.pack``: what the next prompt starts with."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Struct

from loom.types.fields import ReadScope, RunIdentity, Sha256
from loom.types.memory import MemoryId
from loom.types.profile import Labels
from loom.types.search import Legs, Places, QueryEmbedding, Score

SectionName = Literal["working_memory", "profile", "user_profile", "looms", "memories", "decisions"]

Query = Annotated[
    str,
    Meta(
        max_length=2000,
        description=(
            "What the next turn is about: finds `memories` and `decisions`. Without it a pack has "
            "neither."
        ),
    ),
]
TokenBudget = Annotated[
    int,
    Meta(
        ge=100,
        le=200_000,
        description="The most tokens of the whole text, as estimated; 4000 when left out.",
    ),
]
SectionBudget = Annotated[int, Meta(ge=0, le=200_000)]
SectionBudgets = Annotated[
    dict[SectionName, SectionBudget],
    Meta(
        description=(
            "The most tokens of a section, by its name. A section without one may take all that "
            "the sections before it left."
        )
    ),
]
BlockOrder = Annotated[
    list[SectionName],
    Meta(
        description=(
            "Sections in the order wanted, the others after them. `memories` and `decisions` stay "
            "behind the rest, so that the start of the text is the same for every query."
        )
    ),
]
OnlySections = Annotated[
    list[SectionName], Meta(description="Only these sections; all when left out.")
]
SessionBlock = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=80,
        description=(
            "The full key of the one `session:…` block to keep; other blocks whose key begins so "
            "are left out. All are kept when left out."
        ),
    ),
]
PackFormat = Annotated[Literal["xml", "markdown"], Meta(description="`xml` when left out.")]
IfNoneMatch = Annotated[
    str,
    Meta(
        description=(
            "The `stable_hash` of a pack the caller holds. While it is current the answer is "
            "`unchanged: true`, and `text` holds only what follows the stable part."
        )
    ),
]


class ContextPack(RunIdentity, kw_only=True):
    """Put together what an agent's next prompt starts with."""

    query: Query | None = None
    token_budget: TokenBudget | None = None
    section_token_budgets: SectionBudgets | None = None
    block_order: BlockOrder | None = None
    only_sections: OnlySections | None = None
    session_block: SessionBlock | None = None
    labels: Labels | None = None
    format: PackFormat | None = None
    include_user_profile: (
        Annotated[bool, Meta(description="Whether `user_profile` is there; true when left out.")]
        | None
    ) = None
    include_looms: (
        Annotated[
            list[str],
            Meta(
                max_length=20,
                description="Ids of looms whose threads `looms` tells, in the order wanted.",
            ),
        ]
        | None
    ) = None
    language: (
        Annotated[
            str,
            Meta(
                max_length=35,
                description="Of the header of `user_profile`, as in `de` or `de-AT`; English "
                "when left out or unknown.",
            ),
        ]
        | None
    ) = None
    read_scope: ReadScope | None = None
    if_none_match: IfNoneMatch | None = None
    query_embedding: QueryEmbedding | None = None


class PackItem(Struct, kw_only=True, omit_defaults=True):
    """What stands in a section: a block, a profile's section, a user's profile, a thread, a row."""

    block_key: str | None = None
    layer: Literal["run", "session", "user", "agent", "namespace"] | None = None
    fill_ratio: float | None = None
    label: str | None = None
    memory_id: MemoryId | None = None
    memory_key: str | None = None
    loom_id: str | None = None
    thread_id: str | None = None
    agent: str | None = None
    user_id: str | None = None
    session_id: str | None = None
    content_sha256: Sha256 | None = None
    score: Score | None = None
    legs: Places | None = None


class PackSection(Struct, kw_only=True, omit_defaults=True):
    """One section of a pack."""

    name: SectionName
    tokens: Annotated[int, Meta(description="Its text's tokens, as estimated.")]
    sha256: Sha256
    items: Annotated[list[PackItem], Meta(description="What it holds, in order.")]
    omitted: Annotated[
        list[PackItem], Meta(description="What did not fit its budget: the first 100.")
    ]
    omitted_count: int
    text: Annotated[
        str | None,
        Meta(description="Empty where nothing is there or fits. Left out when unchanged."),
    ] = None


class Pack(Struct, kw_only=True, omit_defaults=True):
    """What the next prompt starts with."""

    text: Annotated[
        str, Meta(description="The sections one after another; the stable part is its start.")
    ]
    sections: list[PackSection]
    stable_prefix_chars: Annotated[
        int,
        Meta(
            description=(
                "How many code points at the start of the whole text no query changes: where a "
                "prompt cache's breakpoint belongs."
            )
        ),
    ]
    stable_hash: Annotated[Sha256, Meta(description="SHA-256 of that part.")]
    tokens: Annotated[
        int, Meta(description="The whole text's tokens, as estimated; never over the budget.")
    ]
    token_budget: int
    unchanged: Annotated[bool, Meta(description="Whether the caller's `if_none_match` is current.")]
    legs: Annotated[
        Legs | None, Meta(description="With a query: which legs of its search ran.")
    ] = None

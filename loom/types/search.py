"""Requests and answers of searches: ``memory.search``, ``memory.ask`` and ``search.query``."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import Meta, Struct

from loom.types.fields import ReadScope, RunIdentity, Sha256
from loom.types.memory import AnySourceClass, MemoryId, Tags
from loom.types.memory_rows import MemoryItem
from loom.types.profile import SectionItem

FactType = Literal["semantic", "episodic", "procedural", "preference", "decision"]
Query = Annotated[
    str, Meta(min_length=1, max_length=2000, description="A question, or words to look for.")
]
FoundLimit = Annotated[
    int, Meta(ge=1, le=100, description="The most that is answered; 20 when left out.")
]
Explain = Annotated[bool, Meta(description="Also answer what the query became.")]
Score = Annotated[float, Meta(description="The sum of 1 / (60 + place) over the legs.")]
Places = Annotated[dict[str, int], Meta(description="Leg to place in it, 1 for the best.")]


class QueryEmbedding(Struct, kw_only=True, forbid_unknown_fields=True):
    """What a model made of the query. Left out, the API fills it in where it has a model."""

    model: str
    vector: list[float]


class MemorySearch(RunIdentity, kw_only=True):
    """Find facts by a question. A session or run, when named, adds its scratchpad."""

    query: Query
    memory_type: FactType | None = None
    tags: Tags | None = None
    source_class: AnySourceClass | None = None
    read_scope: ReadScope | None = None
    limit: FoundLimit | None = None
    explain: Explain | None = None
    query_embedding: QueryEmbedding | None = None


class SearchQuery(MemorySearch, kw_only=True):
    """Find facts, and profile sections where the question is about the user."""

    profile: (
        Annotated[
            Literal["auto"] | bool,
            Meta(
                description=(
                    "Whether to answer profile sections: `auto`, the default, when the question "
                    "names the user or has a word of the first or second person."
                )
            ),
        ]
        | None
    ) = None


class MemoryAsk(RunIdentity, kw_only=True):
    """Ask for an answer in words, made by the API's model from the facts that a search finds."""

    query: Query
    read_scope: ReadScope | None = None
    limit: FoundLimit | None = None
    query_embedding: QueryEmbedding | None = None


class TextLeg(Struct, kw_only=True, omit_defaults=True):
    """Whether full text was searched; not for a query of stop words and punctuation alone."""

    ran: bool
    reason: Literal["no_words"] | None = None


class VectorLeg(Struct, kw_only=True, omit_defaults=True):
    """Whether vectors were searched, and if not, why.

    `no_model`: no model is active; `no_query_embedding`: the query came without a vector;
    `other_model`: with one of another model than the active one.
    """

    ran: bool
    reason: Literal["no_model", "no_query_embedding", "other_model"] | None = None


class Legs(Struct, kw_only=True):
    """Which ways of searching were gone."""

    text: TextLeg
    vector: VectorLeg


class ScratchpadBlock(Struct, kw_only=True):
    """A block of the named run or session."""

    block_key: str
    layer: Literal["run", "session"]
    content: str
    content_sha256: Sha256


class Explained(Struct, kw_only=True):
    """What a query became: the words full text looked for, and the model whose vectors."""

    words: list[str]
    model: str


class FoundMemory(MemoryItem, kw_only=True):
    """A row that a search found."""

    score: Score
    legs: Places


class Found(Struct, kw_only=True, omit_defaults=True):
    """Rows that a search found, best first."""

    items: list[FoundMemory]
    legs: Legs
    scratchpad: list[ScratchpadBlock] | None = None
    explain: Explained | None = None


class FoundSection(SectionItem, kw_only=True):
    """A profile section; without score where the query does not find it."""

    value: Any
    score: Score | None
    legs: Places


class FoundWithProfile(Struct, kw_only=True, omit_defaults=True):
    """Rows that a search found, and profile sections, each best first."""

    memories: list[FoundMemory]
    profile: list[FoundSection]
    about_user: Annotated[bool, Meta(description="Whether profile sections were looked for.")]
    legs: Legs
    scratchpad: list[ScratchpadBlock] | None = None
    explain: Explained | None = None


class Answered(Struct, kw_only=True):
    """An answer in words, and the facts it is from."""

    answer: Annotated[
        str | None, Meta(description="Null where what is known does not hold an answer.")
    ]
    memory_ids: list[MemoryId]

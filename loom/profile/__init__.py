"""The incremental user profile in Python: what a user says becomes facts, traits and preferences.

    manager = ProfileManager(SqliteProfileStore("profiles.db"), RuleProfileSource())
    profile = await manager.update("u1", [Signal("u1", "message", "I write Python.", role="user")])

Signals go through a source, which tells a delta, and the delta is merged into what a store holds.
With ``PostgresProfileStore`` all of that is one statement of Loom's own database.
"""

from __future__ import annotations

from loom.profile.context import ContextBuilder, ContextInput, ContextOutput
from loom.profile.llm import ChatClient, LLMProfileSource
from loom.profile.manager import ProfileManager
from loom.profile.merge import merge
from loom.profile.model import (
    FactOp,
    Preferences,
    ProfileDelta,
    ProfileError,
    Signal,
    Traits,
    UserProfile,
)
from loom.profile.render import render, section_header
from loom.profile.rules import RuleProfileSource
from loom.profile.scope import MemoryScope
from loom.profile.source import CompositeProfileSource, ProfileProtocol
from loom.profile.store import (
    InMemoryProfileStore,
    PostgresProfileStore,
    ProfileStore,
    SqliteProfileStore,
    as_async_profile,
)

__all__ = [
    "ChatClient",
    "CompositeProfileSource",
    "ContextBuilder",
    "ContextInput",
    "ContextOutput",
    "FactOp",
    "InMemoryProfileStore",
    "LLMProfileSource",
    "MemoryScope",
    "PostgresProfileStore",
    "Preferences",
    "ProfileDelta",
    "ProfileError",
    "ProfileManager",
    "ProfileProtocol",
    "ProfileStore",
    "RuleProfileSource",
    "Signal",
    "SqliteProfileStore",
    "Traits",
    "UserProfile",
    "as_async_profile",
    "merge",
    "render",
    "section_header",
]

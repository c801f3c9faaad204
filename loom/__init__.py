"""Loom: memory for AI agents, kept in PostgreSQL.

``from loom import Agent`` is where an agent begins; the rest of the SDK is ``Client`` (a method
for each operation) and the errors of ``loom.errors``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from loom.agent import Agent
    from loom.agent_context import Pack
    from loom.client import Client
    from loom.errors import LoomError
    from loom.profile.context import ContextBuilder, ContextInput
    from loom.profile.scope import MemoryScope
    from loom.rendered import Rendered

__all__ = [
    "Agent",
    "Client",
    "ContextBuilder",
    "ContextInput",
    "LoomError",
    "MemoryScope",
    "Pack",
    "Rendered",
]

_HOME = {
    "Agent": "loom.agent",
    "Client": "loom.client",
    "ContextBuilder": "loom.profile.context",
    "ContextInput": "loom.profile.context",
    "LoomError": "loom.errors",
    "MemoryScope": "loom.profile.scope",
    "Pack": "loom.agent_context",
    "Rendered": "loom.rendered",
}


def __getattr__(name: str) -> Any:
    # Loaded on first use: the server's processes live in this package too and need no HTTP client.
    if name not in _HOME:
        raise AttributeError(f"module 'loom' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})

"""Loom's database as a store of the library protoprompt: ``ProfileManager(ProtopromptStore(dsn))``
of that library keeps its profiles here, and Loom renders them.

It takes and gives that library's own ``UserProfile``. The document is kept as it was given and
comes back so, until something of Loom's own is merged into the profile.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

from protoprompt.profile import (  # type: ignore[import-untyped]
    UserProfile as Document,
)
from protoprompt.profile.store import profile_from_dict  # type: ignore[import-untyped]

from loom.profile.merge import once
from loom.profile.model import FORMATS, TRAITS, profile_of
from loom.profile.store.postgres import PostgresProfileStore


class ProtopromptStore(PostgresProfileStore):
    """A ``ProfileStore`` of protoprompt, with that library's scopes. What of a document Loom's own
    profile does not take, a word that no trait has, is in the document only."""

    def get(self, user_id: str, *, scope: Any = None) -> Document | None:
        """The user's document of the scope, None when there is none."""
        answer = self._call("get", user_id, scope, include_document=True)
        if not answer["found"]:
            return None
        if answer["document"] is not None:
            return profile_from_dict(json.loads(answer["document"]))
        return profile_from_dict(asdict(profile_of(user_id, answer)))

    def _given(self, profile: Document) -> dict[str, Any]:
        return {
            "profile": _content(profile),
            "source": profile.source,
            "version": profile.version,
            "document": json.dumps(asdict(profile)),
        }


def _content(document: Document) -> dict[str, Any]:
    """What Loom's own profile takes of a document."""
    traits = {name: getattr(document.traits, name) for name in TRAITS}
    preferences = document.preferences
    return {
        "facts": [{"key": key, "value": value} for key, value in document.facts.items() if key],
        "traits": {name: word for name, word in traits.items() if word in TRAITS[name]},
        "preferences": {
            "format": preferences.format if preferences.format in FORMATS else None,
            "language": preferences.language,
            "topics": once(preferences.topics),
        },
        "summary": document.summary,
    }

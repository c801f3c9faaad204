"""The settings that functions in the database heed: what migrates it puts them there.

They hold for all processes together, whatever is in the environment of each.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from enum import Enum
from typing import Any, Final

import psycopg
from psycopg.types.json import Jsonb

from loom.settings import Settings

KINDS = ("structured_profile", "profile_consolidation")
"""The kinds of work that have settings, each named `<kind>_<what>`."""


class _Kept(Enum):
    KEPT = "kept"


KEPT: Final = _Kept.KEPT
"""Of a setting for which None says something: it stays as it is."""


@dataclass(frozen=True, kw_only=True)
class Heeded:
    """What to put into a database; whatever is left out stays there as it is."""

    attribute_tagging: bool | None = None
    model_daily_token_cap: int | _Kept | None = KEPT
    """None: as many tokens as it takes."""
    embedding_model: str | None = None
    """The first one; a change of models takes time, and is `loom embeddings use`."""
    work: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    """By kind of work its bounds and waits, named as `loom.work_settings` takes them."""
    night_weaving: Mapping[str, bool | int | float] = field(default_factory=dict)
    """Named as `loom.night_weaving_settings` takes them."""

    @classmethod
    def of(cls, settings: Settings) -> Heeded:
        """All of them, as an installation's settings say."""
        return cls(
            attribute_tagging=settings.memory_attribute_tagging,
            model_daily_token_cap=settings.model_daily_token_cap,
            embedding_model=settings.embedding_model,
            work={kind: _of_kind(settings, kind) for kind in KINDS},
            night_weaving=_of_kind(settings, "night_weaving"),
        )

    def put(self, conn: psycopg.Connection[Any]) -> None:
        """Into the database of an operator's connection, whose functions are current."""
        if self.attribute_tagging is not None:
            conn.execute("select loom.attribute_tagging(%s)", (self.attribute_tagging,))
        if self.model_daily_token_cap is not KEPT:
            conn.execute("select loom.model_daily_token_cap(%s)", (self.model_daily_token_cap,))
        if self.embedding_model is not None:
            _add_first(conn, self.embedding_model)
        for kind, values in self.work.items():
            conn.execute("select loom.work_settings(%s, %s)", (kind, Jsonb(dict(values))))
        if self.night_weaving:
            conn.execute(
                "select loom.night_weaving_settings(%s)", (Jsonb(dict(self.night_weaving)),)
            )


def _add_first(conn: psycopg.Connection[Any], model: str) -> None:
    """Have vectors made of a model, unless there are some of another that is in use; one that never
    made any, such as a name that was mistyped, gives way."""
    row = conn.execute("select loom.embedding_progress()").fetchone()
    told = dict(row[0]) if row else {}
    in_use = {each["model"]: each for each in told["models"] if each["state"] != "retired"}
    if not told["vectors"] or model in in_use:
        return
    if any(each["dimension"] is not None for each in in_use.values()):
        return
    for name in in_use:
        conn.execute("select loom.embedding_model_retire(%s)", (Jsonb({"model": name}),))
    conn.execute("select loom.embedding_model_add(%s)", (Jsonb({"model": model}),))


def _of_kind(settings: Settings, kind: str) -> dict[str, Any]:
    prefix = f"{kind}_"
    return {
        setting.name.removeprefix(prefix): getattr(settings, setting.name)
        for setting in fields(settings)
        if setting.name.startswith(prefix)
    }

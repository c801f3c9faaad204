"""Which kinds of work a worker can do, as its settings say."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

from loom.embedding import configured_embedder
from loom.model_client import configured_model
from loom.settings import Settings
from loom.worker.handlers import Handler, embedding, night_weaving, user_profile
from loom.worker.handlers.builder import Builder
from loom.worker.handlers.embedding import Embeddings
from loom.worker.handlers.night_weaving import NightWeaving
from loom.worker.handlers.profile_consolidation import ProfileFolds
from loom.worker.handlers.structured_profile import StructuredProfiles
from loom.worker.handlers.user_profile import UserProfiles
from loom.worker.model_clients import ModelClients

BUILDERS: tuple[type[Builder], ...] = (StructuredProfiles, ProfileFolds)
"""One a kind of work. Whether a kind is switched on is for the database to say."""

log = logging.getLogger("loom.worker")


@asynccontextmanager
async def configured(settings: Settings) -> AsyncIterator[Mapping[str, Handler]]:
    """Kind of work to its handler, in the order in which the kinds take turns; for as long as the
    process works, since a model's client remembers what its endpoint takes."""
    handlers: dict[str, Handler] = {}
    async with (
        configured_model(settings) as model,
        configured_embedder(settings) as embedder,
        ModelClients(settings) as models,
    ):
        if model is None:
            log.info("no model is configured: builds wait", extra={"reason": "NO_MODEL"})
        else:
            for each in BUILDERS:
                handlers[each.kind] = each(model, settings.llm_max_tokens(each.kind))
            most = settings.llm_max_tokens(user_profile.KIND)
            handlers[user_profile.KIND] = UserProfiles(model, most)
            handlers[night_weaving.KIND] = NightWeaving(
                models.of,
                settings.llm_max_tokens(night_weaving.KIND),
                settings.night_weaving_interval_seconds,
            )
        if embedder is not None:
            handlers[embedding.KIND] = Embeddings(embedder)
        yield handlers

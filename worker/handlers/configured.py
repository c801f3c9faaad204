"""Which kinds of work a worker can do, as its settings say."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

from loom.model_client import ModelClient
from loom.settings import Settings
from loom.worker.handlers import Handler
from loom.worker.handlers.builder import Builder
from loom.worker.handlers.profile_consolidation import ProfileFolds
from loom.worker.handlers.structured_profile import StructuredProfiles

BUILDERS: tuple[type[Builder], ...] = (StructuredProfiles, ProfileFolds)
"""One a kind of work. Whether a kind is switched on is for the database to say."""

log = logging.getLogger("loom.worker")


@asynccontextmanager
async def configured(settings: Settings) -> AsyncIterator[Mapping[str, Handler]]:
    """Kind of work to its handler, in the order in which the kinds take turns; for as long as the
    process works, since a model's client remembers what its endpoint takes."""
    if settings.model_at is None:
        log.info("no model is configured: builds wait", extra={"reason": "NO_MODEL"})
        yield {}
        return
    base_url, name = settings.model_at
    async with ModelClient(
        base_url, settings.model_api_key, name, settings.model_timeout_seconds
    ) as model:
        yield {each.kind: each(model, settings.llm_max_tokens(each.kind)) for each in BUILDERS}

"""The models that looms name: one client each, at the one endpoint, while the process lives."""

from __future__ import annotations

from contextlib import AsyncExitStack
from types import TracebackType
from typing import Self

from loom.model_client import ModelClient
from loom.model_errors import Failed
from loom.settings import Settings

CREDENTIALS_UNKNOWN = "CREDENTIALS_UNKNOWN"
NO_MODEL = "NO_MODEL"


class ModelClients:
    """Clients by credentials and model. Use it as an async context manager."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._stack = AsyncExitStack()
        self._clients: dict[tuple[str | None, str], ModelClient] = {}

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self._stack.aclose()

    def of(self, org: str, credentials: str | None, model: str | None) -> ModelClient:
        """The client for what a run of the org named, each None for the worker's own. Raises
        ``Failed`` for a name that the settings do not know: no other key is taken in its place."""
        if self._settings.model_at is None:
            raise Failed(NO_MODEL)
        base_url, own = self._settings.model_at
        entry = None if credentials is None else self._entry(org, credentials)
        wanted = (entry, model or own)
        client = self._clients.get(wanted)
        if client is None:
            settings = self._settings
            key = settings.model_api_key if entry is None else settings.model_credentials[entry]
            client = ModelClient(base_url, key, wanted[1], settings.model_timeout_seconds)
            self._stack.push_async_callback(client.close)
            self._clients[wanted] = client
        return client

    def _entry(self, org: str, credentials: str) -> str:
        """The settings' entry for a name: the org's own, else the one that is for every org."""
        # Else the run of an org could name another's entry, or take part of a name for an org's.
        if "/" not in credentials:
            for entry in (f"{org}/{credentials}", credentials):
                if entry in self._settings.model_credentials:
                    return entry
        raise Failed(CREDENTIALS_UNKNOWN)

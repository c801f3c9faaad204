"""The database's say on calls of models that the API makes for a request, and the record of what
they took. Both are operations without a path, sent with the caller's own token."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any, Final, NamedTuple

import msgspec

from loom.app.auth import Caller
from loom.gateway import DatabaseRefusal, DatabaseUnavailable, Pool
from loom.model_errors import Call

log = logging.getLogger("loom.app")

ADMIT: Final = "model.admit"
RECORD: Final = "model.record"


class Place(NamedTuple):
    """Whose request it is, as far as it says so; the token supplies the rest."""

    caller: Caller
    org: str | None
    namespace: str | None


class Admission(msgspec.Struct):
    """Why no model may be called, or null; and whether there are vectors of the model asked for."""

    stop: str | None
    embedded: bool


class ModelCalls:
    """Asks before calls, and records them afterwards."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def admit(self, place: Place, model: str) -> Admission:
        """Whether a query may be sent to an embedding model. Raises what the pool raises, also for
        a caller who may not read here."""
        answer = await self._call(place, ADMIT, {"model": model}, write=False)
        return msgspec.json.decode(answer, type=Admission)

    async def record(self, place: Place, purpose: str, model: str, calls: Sequence[Call]) -> None:
        """Add calls to what the org has used. What cannot be recorded is logged: the calls are
        made, and the request they were for is not to fail for it."""
        if not calls:
            return
        told = {"purpose": purpose, "model": model, "calls": [asdict(call) for call in calls]}
        try:
            await self._call(place, RECORD, told, write=True)
        except (DatabaseRefusal, DatabaseUnavailable) as failure:
            about = {"purpose": purpose, "sqlstate": failure.sqlstate, "count": len(calls)}
            log.warning("calls of a model not recorded", extra=about)

    async def _call(self, place: Place, op: str, fields: dict[str, Any], *, write: bool) -> bytes:
        named = (("org", place.org), ("namespace", place.namespace))
        body = {**{name: value for name, value in named if value is not None}, **fields}
        caller = place.caller
        return await self._pool.call(
            caller.org, caller.token_hash, op, msgspec.json.encode(body), None, write
        )

"""What the planes of an Agent share: whose memory is meant, and how a method becomes a request."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Literal, TypedDict

from loom.client import Answer, Client

ReadScope = Literal["own_user", "own_session", "namespace"]


class Ids(TypedDict, total=False):
    """Whose memory is meant, where that is not the Agent's own."""

    org: str
    namespace: str
    agent: str
    user_id: str
    session_id: str


class RunIds(Ids, total=False):
    """The same down to a run, for working memory."""

    run_id: str


class Plane:
    """The operations of one group; a subclass has a method for each."""

    group: str

    def __init__(self, client: Client) -> None:
        self._client = client

    async def _call(
        self,
        verb: str,
        ids: Mapping[str, Any],
        as_it_is: Mapping[str, Any] | None = None,
        /,
        **fields: Any,
    ) -> Answer:
        """Run an operation of the group."""
        return await self._send(f"{self.group}.{verb}", ids, as_it_is, **fields)

    async def _send(
        self,
        op: str,
        ids: Mapping[str, Any],
        as_it_is: Mapping[str, Any] | None = None,
        /,
        **fields: Any,
    ) -> Answer:
        """Run an operation.

        A field that is None was not said, and is not sent; in ``as_it_is`` None is JSON's null.
        """
        said = {name: value for name, value in {**ids, **fields}.items() if value is not None}
        return await self._client.call(op, {**said, **(as_it_is or {})})


def moment(at: str | datetime | None) -> str | None:
    """A time as it is sent. Raises ``ValueError`` for one that does not say its zone."""
    if not isinstance(at, datetime):
        return at
    if at.tzinfo is None:
        raise ValueError("a time needs its zone, as datetime.now(UTC) has one")
    return at.astimezone(UTC).isoformat()

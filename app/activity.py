"""Which profile sections were served, and to whom: counted here, told to the database now and then.

A render is answered first and counted afterwards, so a read waits for none of this. What is counted
is recorded by an operation that has no path and no place in a batch: only this module calls it,
with the token of whoever read. Memory is bounded; what does not fit, or cannot be recorded twice in
a row, is dropped and counted as such.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Iterator
from itertools import islice
from typing import Any, Final, NamedTuple

import msgspec

from loom.app.auth import Caller
from loom.gateway import DatabaseRefusal, DatabaseUnavailable, Pool

log = logging.getLogger("loom.app")

RENDER: Final = "profile.render"
PACK: Final = "context.pack"
RENDERS: Final = frozenset((RENDER, PACK))
"""What shows profile sections; and so does a batch of them."""
BATCH: Final = "batch"
RECORD: Final = "profile.activity_record"

FLUSH_SECONDS: Final = 3.0
END_SECONDS: Final = 5.0
MOST_WAITING: Final = 10_000
MOST_IN_A_CALL: Final = 1000

# How a batch's answer that holds a render must look, for the others not to be taken apart.
_SIGN_OF_A_RENDER: Final = b'"sections"'


class Reader(NamedTuple):
    """Who read, and where, as far as the request said so; the token supplies the rest."""

    caller: Caller
    org: str | None
    namespace: str | None
    agent: str | None


Section = tuple[str, str]
"""A section: user_id, label."""

Reads = list[tuple[Section, int]]


class _Request(msgspec.Struct):
    op: str = ""
    org: str | None = None
    namespace: str | None = None
    agent: str | None = None
    requests: list[_Request] = []


class _Section(msgspec.Struct):
    user_id: str
    label: str


class _Rendered(msgspec.Struct):
    sections: list[_Section] = []


class _Result(msgspec.Struct):
    result: msgspec.Raw = msgspec.Raw(b"{}")


class _Results(msgspec.Struct):
    results: list[_Result]


class _PackSection(msgspec.Struct):
    name: str
    items: msgspec.Raw


class _Packed(msgspec.Struct):
    sections: list[_PackSection] = []


_request = msgspec.json.Decoder(_Request).decode
_rendered = msgspec.json.Decoder(_Rendered).decode
_packed = msgspec.json.Decoder(_Packed).decode
_sections = msgspec.json.Decoder(list[_Section]).decode
_results = msgspec.json.Decoder(_Results).decode


class Activity:
    """Counts reads from ``async with`` on, and records what is left when that ends."""

    def __init__(
        self, pool: Pool, *, seconds: float = FLUSH_SECONDS, most: int = MOST_WAITING
    ) -> None:
        self.counts: Counter[str] = Counter()
        """Reads: counted, and of these recorded or dropped."""
        self._pool = pool
        self._seconds = seconds
        self._most = most
        self._size = 0
        self._waiting: dict[Reader, Counter[Section]] = {}
        self._again: list[tuple[Reader, Reads]] = []
        self._stop = asyncio.Event()

    async def __aenter__(self) -> Activity:
        self._task = asyncio.create_task(self._run())
        return self

    async def __aexit__(self, *failure: object) -> None:
        self._stop.set()
        try:
            await asyncio.wait_for(self._task, END_SECONDS)
        except TimeoutError:
            log.warning("reads not recorded at the end", extra={"count": self.waiting})

    @property
    def waiting(self) -> int:
        """Reads that are not recorded yet."""
        counts = sum(sum(sections.values()) for sections in self._waiting.values())
        return counts + sum(_total(reads) for _, reads in self._again)

    def saw(self, op: str, caller: Caller, body: bytes, answer: bytes) -> None:
        """Count the sections of an answered request. Never raises."""
        try:
            for request, sections in _renders(op, body, answer):
                reader = Reader(caller, request.org, request.namespace, request.agent)
                self._count(reader, sections)
        except msgspec.MsgspecError:
            # The database took it and we cannot: the answer is out, and only the count is lost.
            self.counts["counted"] += 1
            self.counts["dropped"] += 1
            log.warning("a render could not be counted", extra={"op": op})

    def _count(self, reader: Reader, sections: list[_Section]) -> None:
        known = self._waiting.get(reader)
        if known is None:
            known = self._waiting[reader] = Counter()
        self.counts["counted"] += len(sections)
        for each in sections:
            section = (each.user_id, each.label)
            if section not in known:
                if self._size >= self._most:
                    self.counts["dropped"] += 1
                    continue
                self._size += 1
            known[section] += 1

    async def _run(self) -> None:
        while not self._stop.is_set():
            try:
                await asyncio.wait_for(self._stop.wait(), self._seconds)
            except TimeoutError:
                await self.flush()
        await self.flush()
        await self.flush()  # what the first one could not

    async def flush(self) -> None:
        """Record what is waiting. What fails is tried once more by the next flush."""
        again, self._again = self._again, []
        waiting, self._waiting, self._size = self._waiting, {}, 0
        for reader, reads in again:
            await self._record(reader, reads, last=True)
        for reader, counted in waiting.items():
            for reads in _portions(counted):
                await self._record(reader, reads, last=False)

    async def _record(self, reader: Reader, reads: Reads, *, last: bool) -> None:
        caller = reader.caller
        try:
            await self._pool.call(
                caller.org, caller.token_hash, RECORD, _body(reader, reads), None, True
            )
        except DatabaseRefusal as refusal:
            # A token that was revoked since, say: it will not be otherwise the next time.
            self._drop(reads, refusal.sqlstate)
        except DatabaseUnavailable as failure:
            # Also where the outcome is unknown: a lost session's work is nearly always undone.
            if last:
                self._drop(reads, failure.reason)
            else:
                self._again.append((reader, reads))
                log.warning(
                    "reads not recorded yet",
                    extra={"reason": failure.reason, "count": _total(reads)},
                )
        except Exception:
            # Counting must go on whatever becomes of one portion.
            log.exception("recording reads failed")
            self._drop(reads, "unexpected")
        else:
            self.counts["recorded"] += _total(reads)

    def _drop(self, reads: Reads, reason: str) -> None:
        self.counts["dropped"] += _total(reads)
        log.warning("reads not recorded", extra={"reason": reason, "count": _total(reads)})


def _renders(op: str, body: bytes, answer: bytes) -> Iterator[tuple[_Request, list[_Section]]]:
    """The renders of an answered request, each with what was asked and what it shows."""
    if op in RENDERS:
        yield _request(body), _shown(op, answer)
        return
    if _SIGN_OF_A_RENDER not in answer:
        return
    batch = _request(body)
    # What a batch without an org acts on is the first that an item names.
    org = next((each.org for each in (batch, *batch.requests) if each.org is not None), None)
    for item, result in zip(batch.requests, _results(answer).results, strict=False):
        if item.op in RENDERS:
            item.org = org
            yield item, _shown(item.op, result.result)


def _shown(op: str, answer: bytes | msgspec.Raw) -> list[_Section]:
    """The profile sections that an answer of one of `RENDERS` shows."""
    if op == RENDER:
        return _rendered(answer).sections
    profiles = (each for each in _packed(answer).sections if each.name == "profile")
    return [section for profile in profiles for section in _sections(profile.items)]


def _portions(counted: Counter[Section]) -> Iterator[Reads]:
    reads = iter(counted.items())
    while portion := list(islice(reads, MOST_IN_A_CALL)):
        yield portion


def _total(reads: Reads) -> int:
    return sum(count for _, count in reads)


def _body(reader: Reader, reads: Reads) -> bytes:
    request: dict[str, Any] = {
        name: value
        for name, value in (
            ("org", reader.org),
            ("namespace", reader.namespace),
            ("agent", reader.agent),
        )
        if value is not None
    }
    request["reads"] = [
        {"user_id": user_id, "label": label, "reads": count} for (user_id, label), count in reads
    ]
    return msgspec.json.encode(request)

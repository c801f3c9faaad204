"""A batch under a key stores what it read: an erasure or redaction beside it waits for that."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import psycopg

from tests.concurrency.callers import WRITER, Step, perform
from tests.concurrency.memory_steps import fact
from tests.databases import Database
from tests.races import Rival, wait_until_blocked
from tests.sql.canaries import tables_with
from tests.sql.erasure.rows_of import erase

Connection = psycopg.Connection[Any]


def _beside_a_reading_batch(acme: Database, work: Callable[[Connection], object]) -> None:
    observer, other, reader = acme.connect(), acme.connect(), acme.connect(WRITER)
    perform(observer, fact("set", value="canary"))
    items = [
        {"op": "memory.list", "namespace": "dev", "read_scope": "namespace"},
        {"op": "working_memory.append", "namespace": "dev", "user_id": "u2", "addition": "x"},
    ]
    with reader.transaction():
        answer = perform(reader, Step("batch", {"org": "acme", "requests": items}, "key"))
        assert "canary" in str(answer)
        rival = Rival(other, lambda: work(other))
        wait_until_blocked(observer, rival, by=reader.info.backend_pid)
    rival.result()
    assert tables_with(observer, "canary") == {}


def test_an_erasure_waits_for_the_answer_and_removes_it(acme: Database) -> None:
    _beside_a_reading_batch(acme, erase)


def test_a_redaction_waits_for_the_answer_and_removes_it(acme: Database) -> None:
    _beside_a_reading_batch(acme, lambda conn: perform(conn, fact("redact", reason="asked")))

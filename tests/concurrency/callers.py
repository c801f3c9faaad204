"""Callers that race: steps they perform, what came of each, and a start that none makes early."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar

import psycopg
from psycopg.types.json import Jsonb

from tests.databases import Database
from tests.races import Rival, wait_until_blocked

Connection = psycopg.Connection[Any]
Answer = dict[str, Any]
Argument = TypeVar("Argument")
Result = TypeVar("Result")

WRITER = "loom_test_writer"
ADMIN = "loom_test_admin"

# In the space of two-integer advisory locks, where Loom takes none.
_GUN = (1, 1)


@dataclass(frozen=True)
class Step:
    """An operation with its request, as a service sends it by `loom.execute`."""

    op: str
    request: Answer
    key: str | None = None


@dataclass(frozen=True)
class Outcome:
    """What came of a step: its answer, or the SQLSTATE that refused it with the error's fields."""

    answer: Answer = field(default_factory=dict)
    sqlstate: str | None = None
    detail: Answer = field(default_factory=dict)


def step(op: str, /, key: str | None = None, **request: Any) -> Step:
    """A step of working memory in org acme, namespace dev, unless the request says otherwise."""
    return Step(op, {"org": "acme", "namespace": "dev", **request}, key)


def perform(conn: Connection, wanted: Step) -> Outcome:
    """Performs a step; a refusal is an outcome like an answer."""
    try:
        row = conn.execute(
            "select loom.execute(%s, %s, %s)", (wanted.op, Jsonb(wanted.request), wanted.key)
        ).fetchone()
    except psycopg.Error as error:
        fields = error.diag.message_detail or "{}"
        is_loom = (error.sqlstate or "").startswith("LM")
        return Outcome(sqlstate=error.sqlstate, detail=json.loads(fields) if is_loom else {})
    assert row is not None
    return Outcome(answer=row[0])


def while_open(
    database: Database,
    first: Step,
    second: Step,
    *,
    commit: bool = True,
    first_login: str = WRITER,
) -> tuple[Outcome, Outcome]:
    """Performs `first` in a transaction, `second` beside it, and ends the transaction.

    The transaction ends when the server says that the second waits for it. Returns both outcomes.
    """
    with (
        database.connect() as observer,
        database.connect(first_login) as one,
        database.connect(WRITER) as two,
    ):
        with one.transaction(force_rollback=not commit):
            done = perform(one, first)
            rival = Rival(two, lambda: perform(two, second))
            wait_until_blocked(observer, rival, by=one.info.backend_pid)
        return done, rival.result()


@contextmanager
def _loaded_gun(database: Database) -> Iterator[Connection]:
    with database.connect() as gun:
        gun.execute("select pg_advisory_lock(%s, %s)", _GUN)
        yield gun


def _fire(gun: Connection, callers: int, finished: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while True:
        row = gun.execute(
            "select count(*) from pg_locks where not granted and locktype = 'advisory'"
            " and (classid, objid, objsubid) = (%s, %s, 2)"
            " and database = (select oid from pg_database where datname = current_database())",
            _GUN,
        ).fetchone()
        if row == (callers,):
            break
        assert not finished(), "a caller ended before the start"
        assert time.monotonic() < deadline, f"{row} of {callers} callers are at the start"
        time.sleep(0.005)
    gun.execute("select pg_advisory_unlock(%s, %s)", _GUN)


def wait_at_the_start(conn: Connection) -> None:
    """Returns when all callers of this race are ready."""
    conn.execute("select pg_advisory_lock_shared(%s, %s)", _GUN)
    conn.execute("select pg_advisory_unlock_shared(%s, %s)", _GUN)


def at_once(
    database: Database,
    login: str | None,
    work: Callable[[Connection, Argument], Result],
    arguments: Sequence[Argument],
) -> list[Result]:
    """Runs the work once for each argument, on a connection of its own, all started together.

    Returns the results in the order of the arguments.
    """
    opening = threading.Lock()

    def run(argument: Argument) -> Result:
        with opening:
            conn = database.connect(login)
        wait_at_the_start(conn)
        return work(conn, argument)

    with _loaded_gun(database) as gun, ThreadPoolExecutor(len(arguments)) as threads:
        futures = [threads.submit(run, argument) for argument in arguments]
        _fire(gun, len(arguments), lambda: any(future.done() for future in futures))
        return [future.result() for future in futures]


def in_processes(
    pool: ProcessPoolExecutor, database: Database, login: str, scripts: Sequence[Sequence[Step]]
) -> list[list[Outcome]]:
    """Performs each script in a process of its own, all started together; outcomes in order."""
    with _loaded_gun(database) as gun:
        futures = [pool.submit(_play, database.dsn(login), tuple(script)) for script in scripts]
        _fire(gun, len(scripts), lambda: any(future.done() for future in futures))
        return [future.result() for future in futures]


def _play(dsn: str, script: Sequence[Step]) -> list[Outcome]:
    with psycopg.connect(dsn, autocommit=True) as conn:
        wait_at_the_start(conn)
        return [perform(conn, wanted) for wanted in script]

"""The four ways to do a workload, as one client has them open."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Final

import msgspec
import psycopg
from psycopg.types.json import Jsonb, set_json_dumps, set_json_loads

from bench import functions
from bench.http_client import HttpClient
from bench.workloads import Request, Workload
from loom.types import path_of

Call = Callable[[Request], Any]

DOORS: Final = {
    "a": "plain SQL",
    "b": "SQL function",
    "c": "HTTP",
    "d": "plain Litestar",
}


@dataclass(frozen=True)
class Places:
    """Where the doors are: the service login's connection string, both servers, the token."""

    conninfo: str
    api: tuple[str, int]
    litestar: tuple[str, int]
    token: str


class Doors:
    """One client's connections. All doors encode requests and decode answers with msgspec."""

    seeding: ClassVar[str] = "ab"
    """Doors through which all data that is read can be written first."""

    def __init__(self, places: Places) -> None:
        self._connection = psycopg.connect(places.conninfo, autocommit=True)
        # Statements are prepared when they are first run, and kept.
        self._connection.prepare_threshold = 0
        set_json_dumps(msgspec.json.encode, self._connection)
        set_json_loads(msgspec.json.decode, self._connection)
        self._cursor = self._connection.cursor()
        self._http = {
            "c": HttpClient(places.api, places.token),
            "d": HttpClient(places.litestar, places.token),
        }

    def call(self, door: str, workload: Workload) -> Call:
        """What does a workload's request through a door and returns the answer."""
        if door == "a":
            return self._plain_batch(workload) if workload.raw_op else self._plain(workload)
        return self._function(workload) if door == "b" else self._posted(door, workload)

    def data(self, door: str) -> str:
        """Whose data a door leads to: the plain table's, or Loom's, which three doors share."""
        return "plain" if door == "a" else "loom"

    def close(self) -> None:
        """End all connections."""
        self._connection.close()
        for client in self._http.values():
            client.close()

    def _plain(self, workload: Workload) -> Call:
        statement, cursor = workload.raw_sql.encode(), self._cursor

        def call(request: Request) -> Any:
            return cursor.execute(statement, request).fetchall()

        return call

    def _plain_batch(self, workload: Workload) -> Call:
        """psycopg sends the statements in a pipeline and does not wait between them."""
        statement, cursor = workload.raw_sql.encode(), self._cursor

        def call(request: Request) -> Any:
            with self._connection.transaction():
                cursor.executemany(statement, request["requests"], returning=True)
            return [results.fetchone() for results in cursor.results()]

        return call

    def _function(self, workload: Workload) -> Call:
        statement, cursor = functions.statement(workload.op), self._cursor

        def call(request: Request) -> Any:
            row = cursor.execute(statement, [Jsonb(request)]).fetchone()
            return row and row[0]

        return call

    def _posted(self, door: str, workload: Workload) -> Call:
        self._http[door].refresh()
        path, post = path_of(workload.op), self._http[door].post

        def call(request: Request) -> Any:
            return msgspec.json.decode(post(path, msgspec.json.encode(request)))

        return call

"""Calling any function of the schema as any client, and judging how it went."""

from __future__ import annotations

import itertools
import time
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import psycopg
from psycopg import sql

from tests.calls import Connection
from tests.cluster import SERVICES
from tests.databases import Database

CLIENTS = ("loom_gateway", "loom_worker", *SERVICES)
"""Logins of every client role."""

SECONDS = 5.0
"""No call may take so long: what is sent is some kilobytes."""

LOOK_EVERY = 5
"""Calls for one look at all rows before and after."""

LARGEST_ANSWER = 2_000_000
LARGEST_GROWTH_KB = 150_000
"""More than a session has ever had, by one call; what it once had is not seen again."""

# A type error or a right that is missing, told by the server itself.
NOT_PERMITTED = "42501"
NO_SUCH_FUNCTION = frozenset({"42883", "42725", "42804"})
TOO_COMPLEX = "54001"


@dataclass(frozen=True)
class Function:
    """A function of the schema, with the types of its arguments as PostgreSQL writes them."""

    name: str
    arguments: tuple[str, ...]
    types: tuple[str, ...]
    callers: frozenset[str]
    """The clients with the right to call it."""

    def call(self) -> sql.Composed:
        """A statement with a parameter for each argument, cast from text to its type."""
        places = [sql.SQL("%s::text::{}").format(sql.SQL(each)) for each in self.types]
        return sql.SQL("select {}({})::text").format(
            sql.Identifier("loom", self.name), sql.SQL(", ").join(places)
        )


def functions(conn: Connection) -> list[Function]:
    """Every function of the schema."""
    rows = conn.execute(
        "select p.proname::text, coalesce(p.proargnames, '{}'),"
        " array(select format_type(t, null) from unnest(p.proargtypes) with ordinality as a (t, n)"
        "   order by n),"
        " array(select c from unnest(%s::text[]) as c where has_function_privilege(c, p.oid, "
        "   'execute'))"
        " from pg_proc as p where p.pronamespace = 'loom'::regnamespace order by 1",
        (list(CLIENTS),),
    ).fetchall()
    return [
        Function(name, tuple(names[: len(types)]), tuple(types), frozenset(callers))
        for name, names, types, callers in rows
    ]


@dataclass
class Caller:
    """Connections of every client to one database, and what became of their calls."""

    database: Database
    seconds: float = SECONDS
    outcomes: Counter[str] = field(default_factory=Counter)
    wrong: dict[str, str] = field(default_factory=dict)
    slowest: float = 0.0
    slowest_call: str = ""

    def __post_init__(self) -> None:
        self._admin = self.database.connect()
        self._conns = {client: self.database.connect(client) for client in CLIENTS}
        timeout = f"{self.seconds * 1000:.0f}ms"
        for conn in self._conns.values():
            conn.execute("select set_config('statement_timeout', %s, false)", (timeout,))
            conn.execute("set client_min_messages = error")
        self._codes = {
            code for (code,) in self._admin.execute("select sqlstate from loom.error_code")
        }
        self._tables = self._count_rows()
        self._looks = itertools.cycle([True] + [False] * (LOOK_EVERY - 1))
        self._peaks = {client: self._peak_kb(client) for client in CLIENTS}

    def attempt(
        self,
        client: str,
        what: str,
        statement: sql.SQL | sql.Composed,
        parameters: Sequence[object],
        *,
        allowed: Collection[str] = (),
        prefixes: tuple[str, ...] = (),
    ) -> str | None:
        """Call as a client; the answer, or None when refused.

        Noted as wrong: a refusal that is neither an LM error nor one of the SQLSTATEs `allowed` or
        one that begins with one of `prefixes`; a row that changed although the call was refused;
        an answer out of all proportion.
        """
        before = self.state() if next(self._looks) else None
        started = time.perf_counter()
        try:
            row = self._conns[client].execute(statement, parameters).fetchone()
        except psycopg.Error as error:
            self._weigh(started, client, what)
            state = error.diag.sqlstate or "no sqlstate"
            self.outcomes[state] += 1
            if not (state in self._codes or state in allowed or state.startswith(prefixes)):
                self._note(client, what, f"{state} {error.diag.message_primary}")
            if before is not None and self.state() != before:
                self._note(client, what, f"refused with {state}, and rows have changed")
            return None
        self._weigh(started, client, what)
        self.outcomes["done"] += 1
        answer = row[0] if row else None
        if answer is not None and len(answer) > LARGEST_ANSWER:
            self._note(client, what, f"an answer of {len(answer)} characters")
        return answer

    def state(self) -> list[tuple[int, int | None]]:
        """The tables as they are now, to be compared: any change of a row changes it."""
        return self._admin.execute(self._tables).fetchall()

    def finish(self) -> None:
        """Fail with everything that was noted."""
        assert not self.wrong, self.report()

    def report(self) -> str:
        """All of it, to be read."""
        lines = [
            f"{self.outcomes.total()} calls: {dict(sorted(self.outcomes.items()))}",
            f"slowest: {self.slowest:.3f} s, {self.slowest_call}",
        ]
        lines += [f"{what}\n    {example}" for what, example in self.wrong.items()]
        return "\n".join(lines)

    def _note(self, client: str, what: str, trouble: str) -> None:
        self.wrong.setdefault(f"{client} {trouble[:300]}", what[:500])

    def _weigh(self, started: float, client: str, what: str) -> None:
        """Note how long the call took, and how much memory."""
        seconds = time.perf_counter() - started
        if seconds > self.slowest:
            self.slowest, self.slowest_call = seconds, f"{client} {what[:200]}"
        peak = self._peak_kb(client)
        grown, self._peaks[client] = peak - self._peaks[client], peak
        if grown > LARGEST_GROWTH_KB:
            self._note(client, what, f"the session grew by {grown // 1000} MB in one call")

    def _count_rows(self) -> sql.Composed:
        """One statement that sees any change: a changed row is another version of it."""
        names = self._admin.execute(
            "select relname::text from pg_class where relnamespace = 'loom'::regnamespace"
            " and relkind = 'r' order by 1"
        ).fetchall()
        each = sql.SQL(
            "select count(*), sum(hashtextextended(ctid::text || ' ' || xmin::text, 0)) from {}"
        )
        return sql.SQL(" union all ").join(
            each.format(sql.Identifier("loom", name)) for (name,) in names
        )

    def _peak_kb(self, client: str) -> int:
        """The most memory that a session's process has had; 0 where that is not to be seen."""
        status = Path(f"/proc/{self._conns[client].info.backend_pid}/status")
        if not status.exists():
            return 0
        found = dict(line.split(":", 1) for line in status.read_text().splitlines())
        return int(found["VmHWM"].split()[0])

"""A database of the first schema: working memory and memory, and nothing that came later.

Its migrations are today's first ones, which never change. Its functions are gone: those of today
that the first schema can run stand in for them, as far as its writers need any.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

import psycopg
from psycopg import sql

from bench.workloads import ORG
from loom.sql_tree import Script, SqlTree

LAST: Final = "0005_views"
NAMESPACE: Final = "support"
ROWS_A_USER: Final = 20
"""Blocks, and facts. Of these a third have a second version."""

_RAW: Final = Path(__file__).parent / "raw"
_ROOTS: Final = ("working_memory_set", "service_bind")
_STAND_INS: Final = ("_enter", "memory_set")
"""Functions of today that the first schema cannot run; `raw/first_….sql` takes their place."""

_CALLED: Final = re.compile(r"\bloom\.(\w+)\s*\(")

_OPERATIONS: Final = """
delete from loom.operation;
insert into loom.operation (op, function_name, role, mode, identity, fields) values
  ('working_memory.set', 'working_memory_set', 'writer', 'write',
    '{org,namespace,agent,user_id,session_id,run_id}', '{content,block_key}'),
  ('memory.set', 'memory_set', 'writer', 'write',
    '{org,namespace,agent,user_id,session_id}', '{memory_key,value}');
"""
_GRANTS: Final = """
revoke all on all functions in schema loom from public;
grant usage on schema loom to loom_api, loom_writer;
grant select, insert, update, delete on all tables in schema loom to loom_api;
grant execute on all functions in schema loom to loom_api;
grant execute on function loom.working_memory_set(jsonb), loom.memory_set(jsonb) to loom_writer;
"""

TABLES: Final = ("user_state", "working_memory", "memory", "memory_version")
"""What is filled, in this order, by the statements `raw/first_….sql`."""

_COUNT: Final = sql.SQL("select count(*) from {}")


def first_schema(folder: Path) -> Path:
    """Write the tree of the first schema into a folder; return it, for the applier."""
    tree = SqlTree.read()
    for script in (tree.roles, tree.bootstrap, *tree.lints, *_migrations(tree)):
        _put(folder, script.path, script.text)
    for script in _functions(tree):
        _put(folder, script.path, script.text)
    for name in _STAND_INS:
        _put(folder, f"functions/{name}.sql", _stand_in(name).text)
    _put(folder, "operations.sql", _OPERATIONS)
    _put(folder, "gone.sql", "-- nothing yet\n")
    _put(folder, "grants.sql", _GRANTS)
    _put(folder, "migrations/frozen.txt", "")
    return folder


def fill(connection: psycopg.Connection[Any], rows: int) -> dict[str, int]:
    """Some `rows` in all, by whole statements; how many each table has. The first schema has no
    triggers that they would pass by."""
    # A block, a fact, and a third more versions than facts.
    each = rows * 3 // 10
    users = max(1, each // ROWS_A_USER)
    arguments = {"org": ORG, "namespace": NAMESPACE, "rows": each, "users": users}
    for name in TABLES:
        connection.execute((_RAW / f"first_{name}.sql").read_bytes(), arguments)
    connection.execute("vacuum (analyze)")
    return {name: _count(connection, name) for name in TABLES}


def _count(connection: psycopg.Connection[Any], table: str) -> int:
    row = connection.execute(_COUNT.format(sql.Identifier("loom", table))).fetchone()
    return int(row[0]) if row else 0


def _migrations(tree: SqlTree) -> Iterable[Script]:
    return (each for each in tree.migrations if each.name <= LAST)


def _functions(tree: SqlTree) -> list[Script]:
    """The functions that writers need, and all that these call."""
    by_name = {script.name: script for script in tree.functions}
    needed: dict[str, Script] = {}
    waiting = [*_ROOTS, *_STAND_INS]
    while waiting:
        name = waiting.pop()
        script = _stand_in(name) if name in _STAND_INS else by_name.get(name)
        if script is not None and name not in needed:
            needed[name] = script
            waiting += _CALLED.findall(script.text)
    return [script for name, script in needed.items() if name not in _STAND_INS]


def _stand_in(name: str) -> Script:
    path = f"first_{name.removeprefix('_')}.sql"
    return Script(path, (_RAW / path).read_text())


def _put(folder: Path, path: str, text: str) -> None:
    (folder / path).parent.mkdir(parents=True, exist_ok=True)
    (folder / path).write_text(text)

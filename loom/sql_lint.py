"""Asking a migrated database whether it keeps the rules of `sql/lint`: one query a rule.

Each query answers with rows of two columns, `object` and `finding`; no row means the rule holds.
The queries read the catalog only. What files declare is handed to them as a setting of the
transaction: `loom_lint.declared_functions`, names between commas.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import psycopg

from loom.sql_tree import Script, SqlTree

Connection = psycopg.Connection[Any]

_UNDECLARED = "undeclared_function"


@dataclass(frozen=True, order=True)
class Finding:
    """A rule (the name of its file), the object that breaks it, and how."""

    rule: str
    object: str
    finding: str

    def __str__(self) -> str:
        return f"{self.rule}: {self.object}: {self.finding}"


def lint_database(conn: Connection, tree: SqlTree) -> list[Finding]:
    """Runs every rule and returns all findings, sorted."""
    return sorted(found for script in tree.lints for found in run_rule(conn, tree, script))


def run_rule(conn: Connection, tree: SqlTree, script: Script) -> list[Finding]:
    """Runs one rule."""
    with conn.transaction():
        conn.execute(
            "select set_config('loom_lint.declared_functions', %s, true)",
            (",".join(tree.declared_functions),),
        )
        rows = conn.execute(script.text.encode()).fetchall()
    return [Finding(script.name, name, finding) for name, finding in rows]


def undeclared_functions(conn: Connection, tree: SqlTree) -> list[str]:
    """Signatures of the functions in schema loom that no file declares, sorted."""
    (script,) = (each for each in tree.lints if each.name == _UNDECLARED)
    return sorted(finding.object for finding in run_rule(conn, tree, script))

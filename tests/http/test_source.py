"""What the source of the HTTP layer must not hold."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import loom.app
import loom.gateway

_SQL = re.compile(r"\b(select|insert into|update|delete from|notify|listen)\b\s+\S", re.IGNORECASE)


def _texts(path: Path) -> list[str]:
    """The strings and bytes of a module that are not documentation."""
    tree = ast.parse(path.read_text())
    documentation = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        and node.body
        and isinstance(node.body[0], ast.Expr)
    }
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and id(node) not in documentation:
            if isinstance(node.value, bytes):
                found.append(node.value.decode("latin-1"))
            elif isinstance(node.value, str):
                found.append(node.value)
    return found


def test_the_http_layer_holds_no_sql() -> None:
    folder = Path(loom.app.__path__[0])
    modules = sorted(folder.glob("**/*.py"))
    assert len(modules) > 5
    for module in modules:
        assert [text for text in _texts(module) if _SQL.match(text.strip())] == [], module.name


def test_the_pool_sends_three_statements_and_no_other() -> None:
    sent = []
    for name in ("gateway.py", "gateway_lane.py", "gateway_connection.py"):
        path = Path(loom.gateway.__file__).with_name(name)
        sent += [text for text in _texts(path) if _SQL.match(text.strip())]
    assert sent == [
        "SELECT loom.call($1, $2, $3, $4, $5)",
        "SELECT loom.health()",
        "SELECT loom.work_metrics()",
    ]


def test_the_http_layer_does_not_know_the_worker() -> None:
    for module in Path(loom.app.__path__[0]).glob("**/*.py"):
        assert "loom.worker" not in module.read_text(), module.name

"""The schema is the one that was reviewed, however a database came to it."""

from __future__ import annotations

import difflib
from pathlib import Path
from shutil import rmtree
from typing import Any

import psycopg
import pytest

from loom.migrate import migrate
from loom.migrate_extensions import present_additions
from loom.sql_tree import Addition, SqlTree
from tests.cluster import Cluster
from tests.schema.snapshot import FILE, file_of, snapshot
from tests.schema.trees import shipped_copy

MIGRATIONS = [script.name for script in SqlTree.read().migrations]

# How an earlier release's grants let its functions be applied, where it had none.
_NO_GRANTS = "grant usage on schema loom to loom_api;\n"


def _differences(conn: psycopg.Connection[Any], addition: Addition | None = None) -> str:
    """The lines in which a database's schema is not that of the reviewed file, as a diff."""
    file = FILE if addition is None else file_of(addition)
    reviewed, found = file.read_text(encoding="utf-8"), snapshot(conn, addition)
    lines = difflib.unified_diff(
        reviewed.splitlines(), found.splitlines(), "reviewed", "found", n=0, lineterm=""
    )
    return "\n".join(lines)


def test_a_new_database_has_the_reviewed_schema(bare: Cluster) -> None:
    """If the schema is as it should be: `python -m tests.schema.snapshot` writes the file anew."""
    bare.create("fresh")
    migrate(bare.dsn("fresh"), log=lambda _line: None)
    with bare.connect("fresh") as conn:
        assert _differences(conn) == ""
        for addition in present_additions(conn, SqlTree.read()):
            assert _differences(conn, addition) == ""


@pytest.mark.parametrize("last", MIGRATIONS[:-1])
def test_o74_a_database_at_an_earlier_migration_comes_to_the_same_schema(
    bare: Cluster, tmp_path: Path, last: str
) -> None:
    earlier = shipped_copy(tmp_path / "sql")
    for script in SqlTree.read(earlier).migrations:
        if script.name > last:
            (earlier / script.path).unlink()
    rmtree(earlier / "extensions")  # they build on the last
    tree = SqlTree.read(earlier)
    for script in (*tree.functions, *tree.data):
        (earlier / script.path).unlink()
    (earlier / "operations.sql").write_text("-- none\n", encoding="utf-8")
    (earlier / "grants.sql").write_text(_NO_GRANTS, encoding="utf-8")
    bare.create("upgraded")
    migrate(bare.dsn("upgraded"), log=lambda _line: None, root=earlier)
    report = migrate(bare.dsn("upgraded"), log=lambda _line: None)
    assert report.migrations == tuple(name for name in MIGRATIONS if name > last)
    with bare.connect("upgraded") as conn:
        assert _differences(conn) == ""

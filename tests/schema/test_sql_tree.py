"""Reading the SQL files: their order, their digests, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from loom.sql_tree import SqlTree, SqlTreeError, freeze
from tests.schema.trees import GREET, TABLES, small_tree


def test_the_shipped_tree_is_whole() -> None:
    tree = SqlTree.read()
    assert tree.migrations
    assert tree.functions
    assert tree.lints


@pytest.mark.parametrize(
    "names",
    [
        ["0002_first"],
        ["0001_first", "0001_second"],
        ["0001_first", "0003_third"],
        ["1_first"],
        ["0001_Zebra"],
    ],
)
def test_migrations_are_numbered_without_gap_or_double(tmp_path: Path, names: list[str]) -> None:
    root = small_tree(tmp_path, migrations=dict.fromkeys(names, "select 1;"))
    with pytest.raises(SqlTreeError, match="this one should be number"):
        SqlTree.read(root)


def test_freezing_adds_what_is_new_and_refuses_what_changed(tmp_path: Path) -> None:
    root = small_tree(tmp_path)
    assert freeze(root) == ("0001_first",)
    assert freeze(root) == ()
    (root / "migrations" / "0002_second.sql").write_text("select 1;\n")
    assert freeze(root) == ("0002_second",)
    assert list(SqlTree.read(root).frozen) == ["0001_first", "0002_second"]
    (root / "migrations" / "0001_first.sql").write_text(TABLES + "\n")
    with pytest.raises(SqlTreeError, match="0001_first was released and its text has changed"):
        freeze(root)


def test_a_released_migration_that_is_gone_is_refused(tmp_path: Path) -> None:
    root = small_tree(tmp_path)
    freeze(root)
    (root / "migrations" / "0001_first.sql").rename(root / "migrations" / "0001_other.sql")
    with pytest.raises(SqlTreeError, match="0001_first was released and is gone"):
        SqlTree.read(root)


@pytest.mark.parametrize(
    "path", ["functions/greet.sql", "operations.sql", "gone.sql", "grants.sql"]
)
def test_the_digest_follows_every_file_of_the_set(tmp_path: Path, path: str) -> None:
    root = small_tree(tmp_path)
    before = SqlTree.read(root).functions_sha256
    assert SqlTree.read(root).functions_sha256 == before
    with (root / path).open("a", encoding="utf-8") as file:
        file.write("-- more\n")
    assert SqlTree.read(root).functions_sha256 != before


def test_the_digest_follows_names_and_not_line_ends(tmp_path: Path) -> None:
    root = small_tree(tmp_path)
    before = SqlTree.read(root).functions_sha256
    file = root / "functions" / "greet.sql"
    file.write_bytes(file.read_bytes().replace(b"\n", b"\r\n"))
    assert SqlTree.read(root).functions_sha256 == before
    file.rename(root / "functions" / "other.sql")
    assert SqlTree.read(root).functions_sha256 != before


@pytest.mark.parametrize("name", ["roles", "bootstrap", "operations", "grants"])
def test_a_missing_file_is_named(tmp_path: Path, name: str) -> None:
    root = small_tree(tmp_path)
    (root / f"{name}.sql").unlink()
    with pytest.raises(SqlTreeError, match=rf"{name}\.sql is missing"):
        SqlTree.read(root)


def test_declared_are_the_functions_of_migrations_and_files(tmp_path: Path) -> None:
    helper = GREET.replace("create or replace", "create").replace("greet", "_helper")
    root = small_tree(tmp_path, migrations={"0001_first": TABLES + helper})
    assert SqlTree.read(root).declared_functions == ("_helper", "greet")

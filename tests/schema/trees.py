"""Small SQL trees for tests of the applier: the shipped roles, bootstrap, lint; little else."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path

from loom.sql_tree import default_root

TABLES = """
create table loom.operation (
  op text primary key, function_name name not null, role text not null
);
create table loom.note (
  org text collate "C" not null, id integer not null, words text, primary key (org, id)
);
"""

GREET = """create or replace function loom.greet(p_name text) returns text
language plpgsql stable
set search_path = loom, pg_temp
as $$
begin
  return 'hello, ' || p_name;
end
$$;
comment on function loom.greet(text) is 'Greets.';
"""

GRANTS = """revoke all on all functions in schema loom from public;
grant usage on schema loom to loom_api;
"""


def small_tree(
    folder: Path,
    *,
    migrations: Mapping[str, str] | None = None,
    functions: Mapping[str, str] | None = None,
    grants: str = GRANTS,
) -> Path:
    """Writes a tree into `folder` (what is there already stays) and returns it.

    Names are without `.sql`. Left out: one migration with two tables, one function `greet`.
    """
    shipped = default_root()
    for name in ("roles.sql", "bootstrap.sql"):
        folder.mkdir(parents=True, exist_ok=True)
        shutil.copy(shipped / name, folder / name)
    shutil.copytree(shipped / "lint", folder / "lint", dirs_exist_ok=True)
    for kind, files in (
        ("migrations", migrations or {"0001_first": TABLES}),
        ("functions", functions if functions is not None else {"greet": GREET}),
    ):
        (folder / kind).mkdir(exist_ok=True)
        for name, text in files.items():
            (folder / kind / f"{name}.sql").write_text(text, encoding="utf-8")
    (folder / "migrations" / "frozen.txt").touch()
    (folder / "operations.sql").write_text("-- none\n", encoding="utf-8")
    (folder / "gone.sql").write_text("-- none\n", encoding="utf-8")
    (folder / "grants.sql").write_text(grants, encoding="utf-8")
    return folder


def shipped_copy(folder: Path) -> Path:
    """A copy of the shipped tree, to change."""
    return Path(shutil.copytree(default_root(), folder))

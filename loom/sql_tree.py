"""The SQL that ships with Loom, read from its files: what there is, its order and its digests.

The layout is that of the `sql` folder: `roles.sql`, `bootstrap.sql`, `migrations/NNNN_name.sql`
with `frozen.txt`, `functions/**/*.sql`, `operations.sql`, `data/*.sql`, `gone.sql`, `grants.sql`
and `lint/*.sql`. What needs an extension of the server that may be missing is in
`extensions/<extension>/`, a folder like the whole: migrations, functions, data, grants. Text is
read as UTF-8 with line ends turned into `\\n`, so that a digest does not depend on the checkout.

`python -m loom.sql_tree freeze` adds the migrations of a release to `frozen.txt`.
"""

from __future__ import annotations

import hashlib
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

_MIGRATION_NAME = re.compile(r"^(\d{4})_[a-z0-9_]+$")
_CREATE_FUNCTION = re.compile(
    r"^create\s+(?:or\s+replace\s+)?(?:function|procedure|aggregate)\s+loom\.(\w+)",
    re.IGNORECASE | re.MULTILINE,
)
_FROZEN_HEADER = (
    "# SHA-256 of every released migration, one `digest  name` a line. A released migration\n"
    "# never changes: what it made is put right by a later one.\n"
    "# Written by `python -m loom.sql_tree freeze`.\n"
)


class SqlTreeError(Exception):
    """The SQL files do not fit together: a misnamed or changed migration, or a missing file."""


@dataclass(frozen=True)
class Script:
    """One SQL file: its path below the root (with `/`), its text, and the text's hex SHA-256."""

    path: str
    text: str

    @cached_property
    def sha256(self) -> str:
        return hashlib.sha256(self.text.encode()).hexdigest()

    @property
    def name(self) -> str:
        """The file name without folder and ending: a migration's name, a function's name."""
        return self.path.rpartition("/")[2].removesuffix(".sql")

    @property
    def creates(self) -> tuple[str, ...]:
        """Names of the functions in schema loom that this file creates, in order."""
        return tuple(_CREATE_FUNCTION.findall(self.text))

    @property
    def record(self) -> str:
        """A migration's name in loom.migration: its own, behind that of the extension it needs."""
        folder, _, rest = self.path.partition("/")
        return f"{rest.partition('/')[0]}/{self.name}" if folder == "extensions" else self.name

    def filled_in(self, extension: str, schema: str) -> Script:
        """With the extension's schema, a quoted name, where the text says `@<extension>@`."""
        return Script(self.path, self.text.replace(f"@{extension}@", schema))


@dataclass(frozen=True)
class Addition:
    """What is applied where the database has an extension, behind all else."""

    extension: str
    migrations: tuple[Script, ...]
    functions: tuple[Script, ...]
    data: tuple[Script, ...]
    grants: Script

    @property
    def function_set(self) -> tuple[Script, ...]:
        """What is re-applied together, in the order of applying."""
        return (*self.functions, *self.data, self.grants)


@dataclass(frozen=True)
class SqlTree:
    """All SQL below one root; `read` makes it and refuses a tree that is not whole."""

    root: Path
    roles: Script
    bootstrap: Script
    migrations: tuple[Script, ...]
    functions: tuple[Script, ...]
    operations: Script
    data: tuple[Script, ...]
    gone: Script
    grants: Script
    lints: tuple[Script, ...]
    additions: tuple[Addition, ...]
    frozen: Mapping[str, str]

    @classmethod
    def read(cls, root: Path | None = None) -> SqlTree:
        """Reads the tree at `root` (default: the one that ships). Raises SqlTreeError."""
        root = default_root() if root is None else root
        tree = cls(
            root=root,
            roles=_script(root, root / "roles.sql"),
            bootstrap=_script(root, root / "bootstrap.sql"),
            migrations=_scripts(root, "migrations/*.sql"),
            functions=_scripts(root, "functions/**/*.sql"),
            operations=_script(root, root / "operations.sql"),
            data=_scripts(root, "data/*.sql"),
            gone=_script(root, root / "gone.sql"),
            grants=_script(root, root / "grants.sql"),
            lints=_scripts(root, "lint/*.sql"),
            additions=tuple(
                _addition(root, folder) for folder in sorted(root.glob("extensions/*/"))
            ),
            frozen=_read_frozen(root / "migrations" / "frozen.txt"),
        )
        tree._check_migrations()
        return tree

    @cached_property
    def functions_sha256(self) -> str:
        """One digest over all that is re-applied as a set: functions, reference data and grants.

        Also of additions that a database may lack: which of them it has is told by its migrations.
        """
        added = (script for addition in self.additions for script in addition.function_set)
        listing = "".join(
            f"{script.sha256}  {script.path}\n" for script in (*self.function_set, *added)
        )
        return hashlib.sha256(listing.encode()).hexdigest()

    @property
    def function_set(self) -> tuple[Script, ...]:
        """What is re-applied together, in the order of applying."""
        return (*self.functions, self.operations, *self.data, self.gone, self.grants)

    @cached_property
    def declared_functions(self) -> tuple[str, ...]:
        """Names of all functions that some file makes, sorted."""
        scripts = (*self.all_migrations, *self.all_functions)
        return tuple(sorted({name for script in scripts for name in script.creates}))

    @property
    def all_migrations(self) -> tuple[Script, ...]:
        """Also those of additions, behind the others."""
        added = (script for addition in self.additions for script in addition.migrations)
        return (*self.migrations, *added)

    @property
    def all_functions(self) -> tuple[Script, ...]:
        """Also those of additions, behind the others."""
        added = (script for addition in self.additions for script in addition.functions)
        return (*self.functions, *added)

    def _check_migrations(self) -> None:
        if not self.migrations:
            raise SqlTreeError(f"no migrations in {self.root / 'migrations'}")
        for migrations in (self.migrations, *(each.migrations for each in self.additions)):
            _check_numbers(migrations)
        present = {script.record: script.sha256 for script in self.all_migrations}
        for name, sha256 in self.frozen.items():
            if name not in present:
                raise SqlTreeError(f"migration {name} was released and is gone from the files")
            if present[name] != sha256:
                raise SqlTreeError(
                    f"migration {name} was released and its text has changed; "
                    "undo the change and write a new migration instead"
                )


def default_root() -> Path:
    """The `sql` folder that ships: inside the package when installed, beside it in a checkout."""
    package = Path(__file__).resolve().parent
    installed = package / "sql"
    return installed if installed.is_dir() else package.parent / "sql"


def _check_numbers(migrations: tuple[Script, ...]) -> None:
    for position, script in enumerate(migrations, start=1):
        match = _MIGRATION_NAME.match(script.name)
        if match is None or int(match[1]) != position:
            raise SqlTreeError(
                f"{script.path}: migrations are named NNNN_words.sql and numbered without gap "
                f"or double; this one should be number {position:04d}"
            )


def freeze(root: Path | None = None) -> tuple[str, ...]:
    """Writes every migration that is not there yet into frozen.txt; returns the names added."""
    tree = SqlTree.read(root)
    added = tuple(script for script in tree.all_migrations if script.record not in tree.frozen)
    lines = "".join(f"{script.sha256}  {script.record}\n" for script in tree.all_migrations)
    (tree.root / "migrations" / "frozen.txt").write_text(_FROZEN_HEADER + lines, encoding="utf-8")
    return tuple(script.record for script in added)


def _script(root: Path, path: Path) -> Script:
    if not path.is_file():
        raise SqlTreeError(f"{path} is missing")
    return Script(path.relative_to(root).as_posix(), path.read_text(encoding="utf-8"))


def _scripts(root: Path, pattern: str) -> tuple[Script, ...]:
    return tuple(
        sorted((_script(root, path) for path in root.glob(pattern)), key=lambda each: each.path)
    )


def _addition(root: Path, folder: Path) -> Addition:
    within = folder.relative_to(root).as_posix()
    return Addition(
        extension=folder.name,
        migrations=_scripts(root, f"{within}/migrations/*.sql"),
        functions=_scripts(root, f"{within}/functions/**/*.sql"),
        data=_scripts(root, f"{within}/data/*.sql"),
        grants=_script(root, folder / "grants.sql"),
    )


def _read_frozen(path: Path) -> dict[str, str]:
    if not path.is_file():
        raise SqlTreeError(f"{path} is missing")
    frozen: dict[str, str] = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            sha256, _, name = line.partition("  ")
            frozen[name] = sha256
    return frozen


def _main(arguments: list[str]) -> int:
    if arguments != ["freeze"]:
        print("usage: python -m loom.sql_tree freeze", file=sys.stderr)
        return 2
    added = freeze()
    print("\n".join(f"frozen: {name}" for name in added) or "nothing to freeze")
    return 0


if __name__ == "__main__":
    sys.exit(_main(sys.argv[1:]))

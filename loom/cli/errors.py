"""What a person is told of an error that needs no traceback."""

from __future__ import annotations

from typing import Any

import msgspec
import psycopg

from loom.app.health import SchemaMismatch as ApiSchemaMismatch
from loom.cli.launcher import LauncherError
from loom.embedding_index import EmbeddingsError
from loom.gateway import DatabaseUnavailable
from loom.index_builds import IndexBusyError
from loom.migrate import MigrationError, SqlTreeError
from loom.postgres_binaries import EmbeddedError
from loom.settings import SettingsError
from loom.worker.main import SchemaMismatch as WorkerSchemaMismatch

_SAYS_IT_ALL = (
    SettingsError,
    EmbeddedError,
    MigrationError,
    SqlTreeError,
    LauncherError,
    EmbeddingsError,
    IndexBusyError,
    ApiSchemaMismatch,
    WorkerSchemaMismatch,
)


def explain(error: Exception) -> str | None:
    """One paragraph for a person; None for an error that nobody foresaw."""
    if isinstance(error, _SAYS_IT_ALL):
        return str(error)
    if isinstance(error, DatabaseUnavailable):
        return f"the database does not answer ({error.reason})"
    if isinstance(error, psycopg.Error):
        return _database(error)
    if isinstance(error, OSError):
        return str(error)
    return None


def _database(error: psycopg.Error) -> str:
    diag = error.diag
    if not diag.sqlstate:
        return f"the database cannot be reached: {str(error).strip()}"
    detail = diag.message_detail or ""
    if diag.sqlstate.startswith("LM") and detail:
        fields = msgspec.json.decode(detail, type=dict[str, Any])
        detail = "; ".join(f"{name}: {value}" for name, value in fields.items()) + "."
    parts = (diag.message_primary, detail, diag.message_hint)
    return " ".join(part for part in parts if part) + f" (SQLSTATE {diag.sqlstate})"

"""Who logs in to which database: the migration login, and those of the API and the worker.

On the embedded server each login comes in over the Unix socket, judged by its operating-system
account, and no password is needed. On a server of the user's, `LOOM_DATABASE_URL` is the migration
login; the two others use the same server and database, and where that URL uses a password,
passwords of their own: made once, kept in the data folder, given to the roles by `loom migrate`.
"""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from loom.settings import Settings, SettingsError, variable

if TYPE_CHECKING:
    from loom.embedded import Server

GATEWAY: Final = "loom_gateway"
WORKER: Final = "loom_worker"

PASSWORD_FILE: Final = "logins.json"


@dataclass(frozen=True)
class Logins:
    """Connection strings, which may hold passwords: never log them.

    `migration` is None where only the other logins are configured. `passwords` are what
    `loom migrate` is to give to the roles; empty where no passwords are used.
    """

    migration: str | None = field(repr=False)
    gateway_dsn: str | None = field(repr=False)
    worker_dsn: str | None = field(repr=False)
    passwords: Mapping[str, str] = field(default_factory=dict, repr=False)

    @property
    def gateway(self) -> str:
        """The API's login. Raises `SettingsError` where none is configured."""
        return _needed(self.gateway_dsn, "gateway_database_url")

    @property
    def worker(self) -> str:
        """The worker's login. Raises `SettingsError` where none is configured."""
        return _needed(self.worker_dsn, "worker_database_url")


def resolve(settings: Settings, server: Server | None) -> Logins:
    """The logins of an installation. `server` is the embedded one, where that is used.

    Makes the passwords where they are needed and not there yet. Raises `SettingsError`.
    """
    gateway = _checked(settings.gateway_database_url, "gateway_database_url")
    worker = _checked(settings.worker_database_url, "worker_database_url")
    if server is not None:
        return Logins(
            migration=server.dsn(),
            gateway_dsn=gateway or server.dsn(GATEWAY),
            worker_dsn=worker or server.dsn(WORKER),
        )
    migration = _checked(settings.database_url, "database_url")
    if migration is None:
        return Logins(migration=None, gateway_dsn=gateway, worker_dsn=worker)
    passwords: dict[str, str] = {}
    if _uses_password(migration) and not (gateway and worker):
        kept = _passwords(settings.data_dir)
        if gateway is None:
            passwords[GATEWAY] = kept[GATEWAY]
        if worker is None:
            passwords[WORKER] = kept[WORKER]
    return Logins(
        migration=migration,
        gateway_dsn=gateway or _as(migration, GATEWAY, passwords.get(GATEWAY)),
        worker_dsn=worker or _as(migration, WORKER, passwords.get(WORKER)),
        passwords=passwords,
    )


def _needed(dsn: str | None, name: str) -> str:
    if dsn is None:
        raise SettingsError(variable(name), "is not set, and neither is LOOM_DATABASE_URL")
    return dsn


def _checked(dsn: str | None, name: str) -> str | None:
    if dsn is None:
        return None
    try:
        conninfo_to_dict(dsn)
    except psycopg.ProgrammingError:  # its text repeats the string
        raise SettingsError(variable(name), "is no libpq connection string or URL") from None
    return dsn


def _uses_password(dsn: str) -> bool:
    return bool(conninfo_to_dict(dsn).get("password") or os.environ.get("PGPASSWORD"))


def _as(migration: str, user: str, password: str | None) -> str:
    """The migration login's server and database, as another login."""
    parameters = {k: v for k, v in conninfo_to_dict(migration).items() if k != "password"}
    parameters["user"] = user
    if password is not None:
        parameters["password"] = password
    return make_conninfo("", **parameters)


def _passwords(data_dir: Path) -> dict[str, str]:
    """The generated passwords of both logins; made by the first process that needs them."""
    path = data_dir / PASSWORD_FILE
    if not path.exists():
        _make_passwords(path)
    if path.stat().st_mode & 0o077:
        raise SettingsError(
            "LOOM_DATA_DIR", f"others may read {path}, which holds passwords; chmod it to 600"
        )
    try:
        kept = json.loads(path.read_text("ascii"))
        return {login: str(kept[login]) for login in (GATEWAY, WORKER)}
    except (ValueError, LookupError, TypeError):
        raise SettingsError(
            "LOOM_DATA_DIR",
            f"{path} does not hold the passwords of {GATEWAY} and {WORKER}; remove it, and "
            "`loom migrate` makes new ones",
        ) from None


def _make_passwords(path: Path) -> None:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    made = {login: secrets.token_urlsafe(32) for login in (GATEWAY, WORKER)}
    draft = path.with_name(f"{path.name}.{secrets.token_hex(8)}")
    try:
        with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            json.dump(made, file)
            file.flush()
            os.fsync(file.fileno())
        try:
            # A link appears whole or not at all, and never replaces what another process made.
            os.link(draft, path)
        except FileExistsError:
            return
    finally:
        draft.unlink(missing_ok=True)

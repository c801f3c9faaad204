"""``loom serve`` and ``loom worker``: one process each, alone or as a child of the launcher."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import psycopg
import uvloop

from loom import logs
from loom.app import main as api
from loom.cli.supervisor import end_with_parent
from loom.installation import Installation
from loom.settings import Settings, SettingsError
from loom.worker import main as worker

Say = Callable[[str], None]


def serve(
    settings: Settings, say: Say, *, given_socket: int | None = None, lifeline: int | None = None
) -> int:
    """Run the API until it is told to stop.

    ``given_socket`` is the number of a listening socket to serve on, ``lifeline`` that of a pipe
    whose end says that the parent is gone; both are the launcher's. Raises what ``api.serve``
    and opening the installation raise.
    """
    if settings.auth == "open" and lifeline is None:
        raise SettingsError("LOOM_AUTH", '"open" is for `loom up`, which keeps open mode on')
    _begin(settings, lifeline)
    with _database(settings, settings.gateway_database_url, say) as installation:
        if settings.auth == "required":
            _clear_open_mode(installation)
        dsn = installation.logins.gateway
        if given_socket is None:
            api.serve(settings, dsn)
        else:
            with socket.socket(fileno=given_socket) as listener:
                uvloop.run(api.run(settings, dsn, listener, lambda url: None))
    return 0


def work(settings: Settings, say: Say, *, once: bool = False, lifeline: int | None = None) -> int:
    """Run a worker until it is told to stop, or once. Raises what its parts raise."""
    _begin(settings, lifeline)
    with _database(settings, settings.worker_database_url, say) as installation:
        dsn = installation.logins.worker
        if once:
            done = worker.run_once(settings, dsn)
            print(f"pieces of work done: {done}")
        else:
            worker.run(settings, dsn)
    return 0


def _begin(settings: Settings, lifeline: int | None) -> None:
    logs.configure(settings.log_level)
    if lifeline is not None:
        end_with_parent(lifeline)


@contextmanager
def _database(settings: Settings, own_login: str | None, say: Say) -> Iterator[Installation]:
    """The installation. Where only this process's own login is named, nothing else is opened."""
    with Installation(settings, say, alone=own_login is not None) as installation:
        if installation.is_embedded:
            installation.migrate(in_passing=True)
        yield installation


def _clear_open_mode(installation: Installation) -> None:
    """Switch off what a killed launcher may have left on; without the migration login it ends by
    itself within a minute, and an API that requires tokens does not ask for it."""
    if installation.logins.migration is None:
        return
    try:
        with psycopg.connect(installation.logins.migration, autocommit=True) as conn:
            conn.execute("select loom.open_mode_clear()")
    except (
        psycopg.OperationalError,
        psycopg.errors.UndefinedFunction,
        psycopg.errors.InvalidSchemaName,
    ):
        return  # no database yet, or no schema: the API waits for the one and refuses the other

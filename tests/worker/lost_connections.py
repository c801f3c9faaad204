"""Workers whose connections to the database are lost."""

from __future__ import annotations

from tests.calls import Connection


def cut(conn: Connection) -> None:
    """The server ends what connections workers have."""
    conn.execute(
        "select pg_terminate_backend(pid, 5000) from pg_stat_activity"
        " where datname = current_database() and usename = 'loom_worker'"
    )

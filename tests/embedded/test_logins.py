"""Who gets in: root and the user whose server it is, as any login; nobody else, and no password."""

from __future__ import annotations

import subprocess
from pathlib import Path

import psycopg
import pytest

from loom.embedded import EmbeddedServer, Server
from tests.embedded.processes import Sharer, as_user

LOGINS = ("loom_gateway", "loom_worker", "a service")


def make_logins(server: Server) -> None:
    with psycopg.connect(server.dsn(), autocommit=True) as connection:
        for name in LOGINS:
            connection.execute(
                psycopg.sql.SQL("create role {} login").format(psycopg.sql.Identifier(name))
            )


def who(dsn: str) -> str:
    with psycopg.connect(dsn) as connection:
        row = connection.execute("select session_user").fetchone()
        assert row is not None
        return str(row[0])


def psql_as(prefix: list[str], server: Server) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*prefix, str(server.bin_dir / "psql"), "-Xtc", "select session_user", server.dsn()],
        cwd="/",
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_user_comes_in_as_any_of_the_logins(data_dir: Path) -> None:
    with EmbeddedServer(data_dir, logins=["a service"]) as server:
        make_logins(server)
        for name in LOGINS:
            assert who(server.dsn(name)) == name


def test_a_login_asked_for_later_comes_in_and_the_earlier_ones_still_do(data_dir: Path) -> None:
    with Sharer(data_dir, "first"), EmbeddedServer(data_dir, logins=["a service"]) as server:
        make_logins(server)
        with psycopg.connect(server.dsn(), autocommit=True) as connection:
            connection.execute("create role first login")
        assert who(server.dsn("a service")) == "a service"
        assert who(server.dsn("first")) == "first"


def test_another_user_is_kept_out_by_the_folder(data_dir: Path, open_dir: Path) -> None:
    for folder in (data_dir, open_dir):
        with EmbeddedServer(folder) as server:
            # The folders on the way to psql are open to it, the socket's is not.
            answer = psql_as(as_user("daemon", "dac_read_search"), server)
            assert answer.returncode == 2
            assert "Permission denied" in answer.stderr


@pytest.mark.usefixtures("root", "reachable_programs")
def test_another_user_at_the_socket_is_refused_by_the_server(open_dir: Path) -> None:
    """Were the folder opened by mistake, the server still asks the system who is calling."""
    prefix = as_user("daemon", "dac_override")
    with Sharer(open_dir, prefix=as_user("games", "dac_read_search", "dac_override")) as sharer:
        assert "error" not in sharer.facts
        with EmbeddedServer(open_dir) as server:
            assert who(server.dsn()) == "postgres"  # root, in the server of `games`
            answer = psql_as(prefix, server)
            assert answer.returncode == 2
            assert "Peer authentication failed" in answer.stderr
            answer = psql_as(as_user("games", "dac_read_search"), server)
            assert answer.stdout.strip() == "postgres"


def test_an_ordinary_user_is_told_that_the_folder_is_anothers(open_dir: Path) -> None:
    prefix = as_user("daemon", "dac_read_search")
    with EmbeddedServer(open_dir):
        pass
    with Sharer(open_dir, prefix=prefix) as sharer:
        assert "belongs to" in sharer.facts["error"]
        assert "LOOM_DATA_DIR" in sharer.facts["error"]


@pytest.mark.usefixtures("root", "reachable_programs")
def test_the_account_that_runs_roots_server_is_not_let_in(open_dir: Path) -> None:
    with EmbeddedServer(open_dir) as server:
        answer = psql_as(as_user("nobody", "dac_read_search"), server)
        assert "Peer authentication failed" in answer.stderr

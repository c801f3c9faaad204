"""What the server is like inside: its folder, its text, its log, its surroundings."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import psycopg
import pytest

from loom.embedded import EmbeddedError, EmbeddedServer
from loom.embedded_process import servers_in

VALUE = "select setting from pg_settings where name = %s"


def setting(connection: psycopg.Connection[tuple[str]], name: str) -> str:
    row = connection.execute(VALUE, [name]).fetchone()
    assert row is not None
    return row[0]


def test_text_is_utf8_and_ordered_by_code_point(new_dir: Path) -> None:
    with EmbeddedServer(new_dir) as server, psycopg.connect(server.dsn()) as connection:
        assert setting(connection, "server_encoding") == "UTF8"
        row = connection.execute(
            "select lower('ÄÖ'), 'Z' < 'a', datlocprovider::text from pg_database"
            " where datname = current_database()"
        ).fetchone()
        builtin = server.version >= 170000
        assert row == ("äö", True, "b" if builtin else "c")


def test_only_its_owner_gets_to_the_socket_and_nothing_listens_on_the_network(
    data_dir: Path,
) -> None:
    with EmbeddedServer(data_dir) as server, psycopg.connect(server.dsn()) as connection:
        assert setting(connection, "listen_addresses") == ""
        assert stat.S_IMODE(server.socket_dir.stat().st_mode) == 0o700
        assert server.socket_dir.stat().st_uid == server.data.stat().st_uid


def test_the_data_is_safe_by_default_and_settings_replace_the_defaults(data_dir: Path) -> None:
    with EmbeddedServer(data_dir) as server, psycopg.connect(server.dsn()) as connection:
        for name in ("fsync", "synchronous_commit", "full_page_writes"):
            assert setting(connection, name) == "on"
        assert setting(connection, "data_checksums") == "on"
    faster = {"synchronous_commit": "off", "log_line_prefix": 'it\'s $HOME "here" '}
    embedded = EmbeddedServer(data_dir, settings=faster)
    with embedded as server, psycopg.connect(server.dsn()) as connection:
        assert setting(connection, "synchronous_commit") == "off"
        assert setting(connection, "log_line_prefix") == faster["log_line_prefix"]


def test_the_log_holds_nothing_that_a_user_wrote(data_dir: Path) -> None:
    with EmbeddedServer(data_dir) as server:
        with psycopg.connect(server.dsn(), autocommit=True) as connection:
            connection.execute("create table word (text text primary key)")
            connection.execute("insert into word values ('very private')")
            with pytest.raises(psycopg.errors.UniqueViolation, match="very private"):
                connection.execute("insert into word values ('very private')")
        log = (server.data.parent / "server.log").read_text()
    assert "ready to accept connections" in log
    assert "private" not in log


def test_a_log_grown_too_long_is_set_aside(data_dir: Path) -> None:
    with EmbeddedServer(data_dir) as server:
        log = server.data.parent / "server.log"
    with log.open("ab") as file:
        file.truncate(10_000_001)
    with EmbeddedServer(data_dir):
        assert log.stat().st_size < 10_000
    assert log.with_suffix(".log.1").stat().st_size > 10_000_000


def test_settings_of_the_environment_do_not_lead_astray(
    new_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in {
        "PGTZ": "",  # breaks every connection
        "PGPORT": "1",
        "PGHOSTADDR": "127.0.0.1",
        "PGDATABASE": "elsewhere",
        "PGDATA": "/nonexistent",
        "LC_ALL": "xx_XX.UTF-8",
        "TZ": "Mars/Olympus",
    }.items():
        monkeypatch.setenv(name, value)
    with EmbeddedServer(new_dir) as server, psycopg.connect(server.dsn()) as connection:
        assert setting(connection, "TimeZone") == "UTC"


def test_the_server_does_not_get_our_secrets(
    data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not Path("/proc/self/environ").exists():
        pytest.skip("without /proc there is no way to look")
    monkeypatch.setenv("LOOM_MODEL_API_KEY", "sk-secret")
    with EmbeddedServer(data_dir) as server:
        pids = servers_in(server.data)
        assert server.pid in pids
        for pid in pids:
            assert b"sk-secret" not in Path(f"/proc/{pid}/environ").read_bytes()


@pytest.mark.parametrize(
    "name",
    ["x" * 120, "a b, 'c' \"d\" $HOME `e` 100% ü\u00e9"],
    ids=["longer than a socket's path may be", "with signs that mean something somewhere"],
)
def test_any_path_will_do(new_dir: Path, name: str) -> None:
    data_dir = new_dir.parent / name / "loom"
    with EmbeddedServer(data_dir) as server:
        with psycopg.connect(server.dsn()) as connection:
            assert connection.execute("select current_database()").fetchone() == ("loom",)
        socket = server.socket_dir / ".s.PGSQL.5432"
        assert len(os.fsencode(socket)) <= 107
        assert stat.S_IMODE(server.socket_dir.stat().st_mode) == 0o700
    # Those in the folder for temporary files are the next start's again.
    with EmbeddedServer(data_dir) as again:
        assert again.socket_dir == server.socket_dir
    if not again.socket_dir.is_relative_to(data_dir):
        again.socket_dir.rmdir()


def test_a_socket_folder_that_others_may_enter_is_refused(data_dir: Path) -> None:
    with EmbeddedServer(data_dir) as server:
        pass
    server.socket_dir.chmod(0o755)
    with pytest.raises(EmbeddedError, match="not a folder of ours alone"):
        EmbeddedServer(data_dir).acquire()


def test_a_cluster_whose_making_was_cut_short_is_made_anew(data_dir: Path) -> None:
    with EmbeddedServer(data_dir) as server:
        pass
    server.data.rename(server.data.with_name("data.new"))
    (server.data.with_name("data.new") / "PG_VERSION").unlink()
    with EmbeddedServer(data_dir) as again:
        assert again.data == server.data
        assert not again.data.with_name("data.new").exists()


def test_data_of_another_release_is_refused_and_left_as_it_is(data_dir: Path) -> None:
    with EmbeddedServer(data_dir) as server:
        pass
    stored = server.data / "PG_VERSION"
    stored.write_text("12\n")
    with pytest.raises(EmbeddedError, match=r"made by PostgreSQL 12.*LOOM_PG_BIN"):
        EmbeddedServer(data_dir).acquire()
    assert stored.read_text() == "12\n"


def test_a_server_that_does_not_start_says_why(data_dir: Path) -> None:
    embedded = EmbeddedServer(data_dir, settings={"shared_buffers": "no number"})
    with pytest.raises(EmbeddedError, match='invalid value for parameter "shared_buffers"'):
        embedded.acquire()
    with EmbeddedServer(data_dir) as server:
        assert server.alive()


def test_a_share_that_is_not_held_cannot_be_used(new_dir: Path) -> None:
    embedded = EmbeddedServer(new_dir)
    with pytest.raises(EmbeddedError, match="never taken"):
        embedded.ensure_running()
    assert not new_dir.exists()


def test_a_data_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(EmbeddedError, match=r"file/loom cannot be made.*LOOM_DATA_DIR"):
        EmbeddedServer(tmp_path / "file" / "loom").acquire()

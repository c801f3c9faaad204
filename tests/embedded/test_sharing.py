"""Several processes, one server: started by the first, stopped by the last, whoever is killed."""

from __future__ import annotations

import os
import signal
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from threading import Barrier

import psycopg

from loom.embedded import EmbeddedServer
from loom.embedded_process import exists, gone_within
from tests.embedded.processes import Sharer


def write_row(dsn: str) -> None:
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute("create table if not exists kept (word text)")
        connection.execute("insert into kept values ('acknowledged')")


def rows(dsn: str) -> list[tuple[str]]:
    with psycopg.connect(dsn) as connection:
        return connection.execute("select word from kept").fetchall()


def test_the_last_one_out_stops_the_server(data_dir: Path) -> None:
    with Sharer(data_dir) as first, Sharer(data_dir) as second:
        assert first.pid == second.pid
        first.leave()
        assert exists(second.pid)
        write_row(second.facts["dsn"])
        second.leave()
        assert not exists(second.pid)


def test_processes_that_start_at_once_start_one_server(new_dir: Path) -> None:
    sharers = [Sharer(new_dir) for _ in range(5)]
    try:
        assert len({sharer.pid for sharer in sharers}) == 1
    finally:
        for sharer in sharers:
            sharer.leave()
    assert not exists(sharers[0].pid)


def test_of_those_that_make_the_folder_at_once_none_fails(new_dir: Path) -> None:
    for number in range(50):
        folder = new_dir / "made together" / str(number)
        together = Barrier(8)

        def ask(folder: Path = folder, together: Barrier = together) -> None:
            server = EmbeddedServer(folder)
            together.wait()
            server._make_data_dir()
            (folder / "start.lock").touch()

        with ThreadPoolExecutor(8) as pool:
            for asked in [pool.submit(ask) for _ in range(8)]:
                asked.result()
        assert [each.name for each in folder.parent.iterdir() if each.name.startswith(".")] == []
        assert oct(folder.stat().st_mode & 0o777) == ("0o711" if os.geteuid() == 0 else "0o700")


def test_data_survives_a_restart(data_dir: Path) -> None:
    with EmbeddedServer(data_dir) as server:
        write_row(server.dsn())
    assert not server.alive()
    with EmbeddedServer(data_dir) as again:
        assert again.pid != server.pid
        assert rows(again.dsn()) == [("acknowledged",)]


def test_a_server_whose_owner_was_killed_is_found_and_stopped_by_the_next(data_dir: Path) -> None:
    with Sharer(data_dir) as owner:
        write_row(owner.facts["dsn"])
        owner.kill()
        assert exists(owner.pid)
        with EmbeddedServer(data_dir) as server:
            assert server.pid == owner.pid
            assert rows(server.dsn()) == [("acknowledged",)]
        assert not exists(owner.pid)


def test_a_killed_owner_does_not_keep_the_others_from_stopping_it(data_dir: Path) -> None:
    with Sharer(data_dir) as owner, Sharer(data_dir) as other:
        assert owner.pid == other.pid
        owner.kill()
        other.leave()
        assert not exists(owner.pid)


def test_a_killed_server_is_started_anew_with_what_it_acknowledged(data_dir: Path) -> None:
    embedded = EmbeddedServer(data_dir)
    with embedded as server:
        write_row(server.dsn())
        os.kill(server.pid, signal.SIGKILL)
        assert gone_within([server.pid], server.data, 10)
        assert not server.alive()
        again = embedded.ensure_running()
        assert again.pid != server.pid
        assert again.alive()
        assert rows(again.dsn()) == [("acknowledged",)]


def test_a_living_server_is_left_alone(data_dir: Path) -> None:
    embedded = EmbeddedServer(data_dir)
    with embedded as server:
        assert embedded.ensure_running() == server
        assert embedded.acquire() == server


def test_a_session_that_outlives_its_killed_server_does_not_block_the_next(data_dir: Path) -> None:
    embedded = EmbeddedServer(data_dir)
    with embedded as server, closing(psycopg.connect(server.dsn(), autocommit=True)) as busy:
        backend = busy.info.backend_pid
        # A loop never looks whether its server still lives.
        busy.pgconn.send_query(b"do $$ begin loop null; end loop; end $$")
        os.kill(server.pid, signal.SIGKILL)
        assert gone_within([server.pid], server.data, 10)
        assert exists(backend)
        with psycopg.connect(embedded.ensure_running().dsn()) as connection:
            assert connection.execute("select 1").fetchone() == (1,)
        assert not exists(backend)


def test_the_lock_files_of_a_killed_server_do_not_count_though_their_pid_lives(
    data_dir: Path,
) -> None:
    with EmbeddedServer(data_dir) as server:
        pid_file = server.data / "postmaster.pid"
        left_behind = pid_file.read_text()
        socket_lock = server.socket_dir / ".s.PGSQL.5432.lock"
        assert socket_lock.exists()
    # The number now belongs to another process of ours: to this one.
    stale = left_behind.replace(str(server.pid), str(os.getpid()), 1)
    pid_file.write_text(stale)
    socket_lock.write_text(stale)
    with EmbeddedServer(data_dir) as again:
        assert again.alive()
        assert again.pid != os.getpid()


def test_the_terminals_ctrl_c_does_not_reach_the_server(data_dir: Path) -> None:
    with EmbeddedServer(data_dir) as server:
        assert os.getsid(server.pid) != os.getsid(0)
        assert os.getpgid(server.pid) != os.getpgid(0)


def test_a_share_given_back_twice_is_given_back_once(data_dir: Path) -> None:
    with Sharer(data_dir) as other:
        embedded = EmbeddedServer(data_dir)
        server = embedded.acquire()
        assert server.pid == other.pid
        embedded.release()
        embedded.release()
        assert server.alive()

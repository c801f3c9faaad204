"""Root's servers: PostgreSQL refuses to run as root, so another account has to, where it can."""

from __future__ import annotations

import pwd
import shutil
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from loom import embedded_account
from loom.embedded import EmbeddedError, EmbeddedServer, Server
from loom.postgres_binaries import Binaries, copy_into
from tests.embedded.folders import copy_of_wheel, program_folder, public_parent, temporary

pytestmark = pytest.mark.usefixtures("root")


@pytest.fixture
def no_namespaces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")


@pytest.fixture
def elsewhere(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The place for what `nobody` cannot reach, not made yet, in a folder of the test's own."""
    with temporary(public_parent(), 0o755) as folder:
        roots = (Path("/dev/null/no"), folder / "var")
        monkeypatch.setattr(embedded_account, "REACHABLE_ROOTS", roots)
        yield roots[1]


def owner(path: Path) -> str:
    return pwd.getpwuid(path.stat().st_uid).pw_name


def process_owner(server: Server) -> str:
    return pwd.getpwuid(Path(f"/proc/{server.pid}").stat().st_uid).pw_name


def works(server: Server) -> bool:
    with psycopg.connect(server.dsn()) as connection:
        return connection.execute("select session_user").fetchone() == ("postgres",)


@pytest.mark.usefixtures("reachable_programs")
def test_nobody_runs_it_where_nobody_can_reach_it(open_dir: Path) -> None:
    with EmbeddedServer(open_dir) as server:
        assert works(server)
        assert owner(server.data) == process_owner(server) == "nobody"


def test_an_existing_folder_stays_with_the_account_it_has(
    open_dir: Path,
    monkeypatch: pytest.MonkeyPatch,
    elsewhere: Path,
    closed_programs: Path,
    reachable_programs: Path,
) -> None:
    monkeypatch.setenv("LOOM_PG_BIN", str(reachable_programs))
    with EmbeddedServer(open_dir) as server:
        assert process_owner(server) == "nobody"
    monkeypatch.setenv("LOOM_PG_BIN", str(closed_programs))
    with EmbeddedServer(open_dir) as server:
        assert works(server)
        assert process_owner(server) == "nobody"
        assert server.bin_dir.is_relative_to(elsewhere)


def test_roots_own_files_serve_in_a_user_namespace(new_dir: Path, closed_programs: Path) -> None:
    account = embedded_account.namespace_account()
    if account is None:
        pytest.skip("no user namespaces on this machine")
    with EmbeddedServer(new_dir) as server:
        assert works(server)
        assert owner(server.data) == process_owner(server) == "root"
        assert server.bin_dir == closed_programs


@pytest.mark.usefixtures("closed_programs", "no_namespaces")
def test_without_namespaces_the_programs_are_copied(open_dir: Path, elsewhere: Path) -> None:
    said: list[str] = []
    with EmbeddedServer(open_dir, say=said.append) as server:
        assert works(server)
        assert process_owner(server) == "nobody"
        assert server.bin_dir.is_relative_to(elsewhere)
        assert server.data == open_dir / "postgres" / "data"
    assert said == []


@pytest.mark.usefixtures("closed_programs", "no_namespaces")
def test_data_that_nobody_could_not_reach_is_kept_elsewhere_and_that_is_said(
    new_dir: Path, elsewhere: Path
) -> None:
    said: list[str] = []
    with EmbeddedServer(new_dir, say=said.append) as server:
        assert works(server)
        assert server.data.is_relative_to(elsewhere)
    assert len(said) == 1
    assert str(server.data.parent) in said[0]
    with EmbeddedServer(new_dir) as again:
        assert again.data == server.data
    shutil.rmtree(server.data.parent)
    with pytest.raises(EmbeddedError, match="that is gone"):
        EmbeddedServer(new_dir).acquire()


@pytest.mark.usefixtures("closed_programs", "no_namespaces")
def test_where_nothing_helps_that_is_said(new_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedded_account, "REACHABLE_ROOTS", (Path("/dev/null/no"),))
    with pytest.raises(EmbeddedError, match="cannot be reached by nobody"):
        EmbeddedServer(new_dir).acquire()


def test_a_place_that_others_can_write_is_not_trusted(
    open_dir: Path, elsewhere: Path, closed_programs: Path, no_namespaces: None
) -> None:
    elsewhere.mkdir()
    elsewhere.chmod(0o777)
    with pytest.raises(EmbeddedError, match="no copy could be made"):
        EmbeddedServer(open_dir).acquire()


def test_a_copy_made_under_a_strict_umask_can_be_read() -> None:
    with program_folder() as closed, temporary(public_parent(), 0o755) as opened:
        installed = copy_of_wheel(closed)
        for path in installed.iterdir():
            path.chmod(0o700)
        copied = copy_into(Binaries(installed, 180000), opened)
        nobody = embedded_account.nobody_account()
        assert nobody is not None
        assert nobody.runs(copied)

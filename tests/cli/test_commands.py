"""The commands on a database of the user's: what they print, and how they end."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx2
import psycopg
import pytest

from loom.cli import main
from loom.migrate import expected
from tests.calls import Token, call, refused
from tests.cli.processes import SECONDS, Done, environment, loom, started, until
from tests.cluster import Cluster
from tests.databases import Database

Run = Callable[..., Done]


@pytest.fixture
def variables(clean_database: Database, tmp_path: Path) -> dict[str, str]:
    """The settings of an installation on a migrated database."""
    return {"LOOM_DATABASE_URL": clean_database.dsn(), "LOOM_DATA_DIR": str(tmp_path / "data")}


@pytest.fixture
def run(
    variables: dict[str, str],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Run:
    """Runs a command in this process."""

    def command(*arguments: str, **others: str) -> Done:
        for name in [name for name in os.environ if name.startswith("LOOM_")]:
            monkeypatch.delenv(name)
        for name, value in {**variables, **others}.items():
            monkeypatch.setenv(name, value)
        try:
            code = main(arguments)
        except SystemExit as ended:
            code = int(ended.code or 0)
        said = capsys.readouterr()
        return Done(code, said.out, said.err)

    return command


@pytest.fixture
def empty_database(cluster: Cluster) -> Iterator[str]:
    """The name of a database without Loom."""
    name = f"{cluster.prefix}_empty"
    cluster.create(name)
    yield name
    with cluster.maintenance() as conn:
        conn.execute(
            psycopg.sql.SQL("drop database {} with (force)").format(psycopg.sql.Identifier(name))
        )


def minted(done: Done) -> Token:
    """The token of a `token mint`: its secret is alone on the last line."""
    assert done.code == 0, done.err
    return Token(done.out.splitlines()[-1], {})


def test_mint_makes_the_org_and_a_token_that_works(run: Run, clean_database: Database) -> None:
    token = minted(run("token", "mint", "--org", "new org", "--role", "admin"))
    gateway = clean_database.connect("loom_gateway")
    answer = call(gateway, token, "working_memory.set", namespace="n", content="x")
    assert answer["org"] == "new org"


def test_mint_binds_the_token_as_it_is_told(run: Run, clean_database: Database) -> None:
    token = minted(
        run(
            *("token", "mint", "--org", "acme", "--role", "writer", "--namespace", "n"),
            *("--read-user", "u-1", "--session", "s-1", "--label", "phone", "--ttl", "30d"),
        )
    )
    gateway = clean_database.connect("loom_gateway")
    answer = call(gateway, token, "working_memory.set", content="x")
    assert (answer["namespace"], answer["user_id"], answer["session_id"]) == ("n", "u-1", "s-1")
    with refused(gateway, "LM302"):
        call(gateway, token, "working_memory.get", user_id="u-2")
    listed = run("token", "list", "--org", "acme").out
    for shown in ("writer", "n", "u-1", "s-1", "phone"):
        assert shown in listed


@pytest.mark.parametrize(
    ("time", "seconds"),
    [("90", 90), ("90s", 90), ("45m", 2700), ("12h", 43200), ("30d", 2592000), ("2w", 1209600)],
)
def test_a_time_to_live_is_read_with_its_unit(
    run: Run, clean_database: Database, time: str, seconds: int
) -> None:
    minted(run("token", "mint", "--org", "acme", "--role", "viewer", "--ttl", time))
    row = clean_database.connect().execute(
        "select extract(epoch from expires_at - created_at)::int from loom.token"
    )
    assert row.fetchall() == [(seconds,)]


def test_list_shows_every_token_and_no_secret(run: Run) -> None:
    secrets = [
        minted(run("token", "mint", "--org", "acme", "--role", "viewer")).text for _ in range(3)
    ]
    minted(run("token", "mint", "--org", "other", "--role", "viewer"))
    done = run("token", "list", "--org", "acme")
    assert done.code == 0
    assert len(done.out.splitlines()) == 4
    for secret in secrets:
        assert secret.split("_")[2] not in done.out


def test_list_goes_on_after_a_page(run: Run, clean_database: Database) -> None:
    minted(run("token", "mint", "--org", "acme", "--role", "viewer"))
    clean_database.connect().execute(
        "insert into loom.token (org, secret_sha256, role, created_at, created_by) "
        "select 'acme', sha256(convert_to(n::text, 'UTF8')), 'viewer', now(), 'test' "
        "from generate_series(1, 450) as n"
    )
    lines = run("token", "list", "--org", "acme").out.splitlines()
    assert len({line.split()[0] for line in lines[1:]}) == 451


def test_revoke_ends_a_token_and_says_when_there_is_none(
    run: Run, clean_database: Database
) -> None:
    done = run("token", "mint", "--org", "acme", "--role", "writer")
    token = minted(done)
    (token_id,) = (line.split()[1] for line in done.out.splitlines() if line.startswith("token_id"))
    assert run("token", "revoke", "--org", "acme", token_id).code == 0
    with refused(clean_database.connect("loom_gateway"), "LM301") as refusal:
        call(clean_database.connect("loom_gateway"), token, "namespace.list")
    assert refusal.sqlstate
    missing = run("token", "revoke", "--org", "other", token_id)
    assert missing.code == 1
    assert "other has no token" in missing.err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--role", "admin", "--read-user", "u"), "cannot be admin"),
        (("--role", "viewer", "--session", "s"), "user"),
        (("--role", "viewer", "--label", "x" * 201), "label"),
    ],
)
def test_what_the_database_refuses_is_said_in_words(
    run: Run, arguments: tuple[str, ...], said: str
) -> None:
    done = run("token", "mint", "--org", "acme", *arguments)
    assert (done.code, done.out) == (1, "")
    assert said in done.err
    assert "SQLSTATE LM" in done.err


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        ("token",),
        ("token", "mint", "--org", "acme"),
        ("token", "mint", "--org", "acme", "--role", "owner"),
        ("token", "mint", "--org", "acme", "--role", "viewer", "--ttl", "soon"),
        ("migrate", "--status", "--dry-run"),
        ("weave",),
    ],
)
def test_wrong_usage_ends_with_two(run: Run, arguments: tuple[str, ...]) -> None:
    done = run(*arguments)
    assert done.code == 2
    assert "usage: loom" in done.err


def test_migrate_brings_a_database_up_to_date_and_tells_how_far_it_is(
    run: Run, cluster: Cluster, empty_database: str
) -> None:
    url = {"LOOM_DATABASE_URL": cluster.dsn(empty_database)}
    before = run("migrate", "--status", **url)
    assert before.code == 1
    assert "applied    nothing" in before.out
    plan = run("migrate", "--dry-run", **url)
    assert plan.code == 0
    assert expected().migration in plan.out
    assert run("migrate", "--status", **url).out == before.out  # neither changed anything
    done = run("migrate", **url)
    assert done.code == 0
    assert f"migration {expected().migration} applied" in done.err
    after = run("migrate", "--status", **url)
    assert after.code == 0
    assert "pending    nothing" in after.out
    assert run("migrate", **url).out == "nothing to do\n"


def test_o74_a_newer_database_is_refused(run: Run, clean_database: Database) -> None:
    conn = clean_database.connect()
    conn.execute("insert into loom.migration (name, sha256) values ('9999_later', '00')")
    for arguments in (("migrate",), ("migrate", "--dry-run")):
        done = run(*arguments)
        assert done.code == 1
        assert "9999_later" in done.err
    status = run("migrate", "--status")
    assert status.code == 1
    assert "not ours   9999_later" in status.out


def test_psql_prints_the_migration_login(run: Run, clean_database: Database) -> None:
    done = run("psql", "--print-dsn")
    with psycopg.connect(done.out.strip()) as conn:
        assert conn.info.dbname == clean_database.name


def test_psql_runs_as_the_migration_login_and_hides_a_password(
    clean_database: Database, variables: dict[str, str]
) -> None:
    statement = "select loom.health() is not null, current_database()"
    done = loom("psql", "--", "-Atc", statement, env=variables)
    assert (done.code, done.out) == (0, f"t|{clean_database.name}\n")
    assert loom("psql", "--", "-c", "select 1/0", env=variables).code == 1
    dsn = psycopg.conninfo.make_conninfo(clean_database.dsn(), password="secret")
    env = {**variables, "LOOM_DATABASE_URL": dsn}
    command = "\\! tr '\\0' ' ' < /proc/$PPID/cmdline"
    seen = loom("psql", "--", "-c", command, env=env)
    assert clean_database.name in seen.out
    assert "secret" not in seen.out


def test_psql_runs_as_the_login_that_is_named(
    clean_database: Database, variables: dict[str, str]
) -> None:
    done = loom("psql", "--", "-U", "loom_gateway", "-Atc", "select current_user", env=variables)
    assert (done.code, done.out) == (0, "loom_gateway\n")


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"LOOM_PORT": "many"}, "LOOM_PORT"),
        ({"LOOM_DATABASE_URL": "mysql://x"}, "LOOM_DATABASE_URL"),
        ({"LOOM_DATABASE_URL": "postgresql://nobody@127.0.0.1:1/x"}, "cannot be reached"),
    ],
)
def test_a_setting_that_cannot_work_is_named(run: Run, wrong: dict[str, str], said: str) -> None:
    done = run("migrate", **wrong)
    assert (done.code, done.out) == (1, "")
    assert said in done.err


def test_an_interrupt_ends_without_a_trace(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*arguments: object, **options: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("loom.migrate.status", interrupt)
    assert run("migrate", "--status").code == 130


def test_a_reader_that_goes_away_is_no_error(variables: dict[str, str]) -> None:
    status = subprocess.Popen(
        [sys.executable, "-m", "loom.cli", "migrate", "--status"],
        env=environment(variables),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert status.stdout is not None
    status.stdout.close()
    _, err = status.communicate(timeout=SECONDS)
    assert (status.returncode, err) == (0, "")


def test_serve_answers_tokens_and_ends_with_a_signal(run: Run, variables: dict[str, str]) -> None:
    token = minted(run("token", "mint", "--org", "acme", "--role", "writer"))
    with started("serve", env={**variables, "LOOM_PORT": "0"}) as process:
        line = process.wait_for("serving")
        url = json.loads(line)["url"]
        body = {"namespace": "n", "content": "x"}
        with httpx2.Client(trust_env=False, timeout=30) as http:
            path = f"{url}/v1/working_memory.set"
            assert http.post(path, json=body).status_code == 401
            http.headers["Authorization"] = f"Bearer {token.text}"
            assert http.post(path, json=body).status_code == 200
        assert process.stop() == 0


def test_serve_switches_off_the_open_mode_that_a_killed_launcher_left(
    clean_database: Database, variables: dict[str, str]
) -> None:
    conn = clean_database.connect()
    conn.execute("select loom.open_mode_set(60)")
    with started("serve", env={**variables, "LOOM_PORT": "0"}) as process:
        process.wait_for("serving")
        assert conn.execute("select count(*) from loom.open_mode").fetchone() == (0,)
        process.stop()


def test_worker_beats_until_a_signal(clean_database: Database, variables: dict[str, str]) -> None:
    conn = clean_database.connect()

    def workers() -> int:
        row = conn.execute("select count(*) from loom.worker").fetchone()
        return int(row[0]) if row else 0

    with started("worker", env=variables) as process:
        until("the worker shows itself", lambda: workers() == 1)
        assert process.stop() == 0
    assert workers() == 0


def test_worker_once_looks_and_ends(variables: dict[str, str]) -> None:
    done = loom("worker", "--once", env=variables)
    assert (done.code, done.out) == (0, "pieces of work done: 0\n")


@pytest.mark.parametrize("command", [("worker",), ("worker", "--once"), ("serve",)])
def test_a_process_refuses_a_schema_that_is_not_its_own(
    command: tuple[str, ...], clean_database: Database, variables: dict[str, str]
) -> None:
    conn = clean_database.connect()
    conn.execute("update loom.functions_digest set sha256 = 'other'")
    done = loom(*command, env={**variables, "LOOM_PORT": "0"})
    assert done.code == 1
    assert "loom migrate" in done.err


def test_serve_does_not_open_what_only_the_launcher_keeps_open(variables: dict[str, str]) -> None:
    done = loom("serve", env={**variables, "LOOM_AUTH": "open"})
    assert done.code == 1
    assert "loom up" in done.err


def test_a_process_that_knows_its_own_login_needs_no_other(
    clean_database: Database, tmp_path: Path
) -> None:
    gateway, worker = clean_database.dsn("loom_gateway"), clean_database.dsn("loom_worker")
    env = {"LOOM_DATA_DIR": str(tmp_path / "data")}
    done = loom("worker", "--once", env={**env, "LOOM_WORKER_DATABASE_URL": worker})
    assert done.code == 0
    env = {**env, "LOOM_GATEWAY_DATABASE_URL": gateway, "LOOM_PORT": "0"}
    with started("serve", env=env) as process:
        process.wait_for("serving")
        assert process.stop() == 0
    assert not (tmp_path / "data").exists()  # nothing embedded was started


def test_up_works_on_a_server_of_the_users(
    cluster: Cluster, empty_database: str, tmp_path: Path
) -> None:
    if not cluster.own:
        pytest.skip("would change logins of a server of the user's")
    env = {
        "LOOM_DATABASE_URL": cluster.dsn(empty_database),
        "LOOM_DATA_DIR": str(tmp_path / "data"),
    }
    with started("up", env={**env, "LOOM_AUTH": "open", "LOOM_PORT": "0"}) as process:
        words = process.wait_for("curl").split()
        url = next(word for word in words if word.startswith("http://"))
        with httpx2.Client(trust_env=False, timeout=30) as http:
            assert http.post(url, json={"content": "x"}).status_code == 200
        assert process.stop() == 0
    assert not (tmp_path / "data").exists()


def test_without_the_server_packages_the_missing_one_is_named(variables: dict[str, str]) -> None:
    code = (
        "import sys; sys.modules['psycopg'] = None; "
        "from loom.cli import main; sys.exit(main(['migrate']))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=environment(variables),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert done.stderr == "loom: psycopg is not installed: pip install 'loom-memory[server]'\n"

"""Who may run the applier: a superuser, or the database's owner with or without CREATEROLE."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest
from psycopg import sql

from loom.migrate import MigrationError, migrate, status
from loom.migrate_roles import OWNERS
from loom.sql_tree import default_root
from tests.calls import mint_token, operate
from tests.cluster import Cluster
from tests.schema.trees import small_tree

OWNER = "loom_test_owner"
NAME = "owned"

# Who is a member of what among Loom's roles, and by whose word. On PostgreSQL 16 and newer whoever
# makes a role gets an entry with neither of the two options; that one says nothing of use.
_MEMBERSHIPS = """
select roleid::regrole::text, member::regrole::text from pg_auth_members
where member::regrole::text ^@ 'loom_' and {effective}
order by 1, 2
"""


@pytest.fixture
def owned(bare: Cluster) -> str:
    """The DSN of an empty database for its owner, who is no superuser."""
    bare.make_login(OWNER)
    bare.create(NAME, owner=OWNER)
    return bare.dsn(NAME, OWNER)


def _as_superuser(cluster: Cluster, *statements: str) -> None:
    with cluster.connect(NAME) as conn:
        for statement in statements:
            conn.execute(statement.encode())


def _memberships(cluster: Cluster) -> list[tuple[str, str]]:
    effective = "set_option" if cluster.version >= 160000 else "true"
    with cluster.maintenance() as conn:
        query = sql.SQL(_MEMBERSHIPS).format(effective=sql.SQL(effective))
        return [(role, member) for role, member in conn.execute(query).fetchall()]


def test_an_owner_with_createrole_makes_everything(bare: Cluster, owned: str) -> None:
    _as_superuser(bare, f"alter role {OWNER} createrole")
    assert migrate(owned, log=lambda _line: None).functions_applied
    assert status(owned).current
    assert not migrate(owned, log=lambda _line: None).changed
    with psycopg.connect(owned) as conn:
        mint_token(conn, org="acme", role="admin")
        operate(conn, "working_memory.set", org="acme", namespace="n", content="text")


def test_only_the_membership_in_loom_owner_outlasts_a_run(bare: Cluster, owned: str) -> None:
    _as_superuser(bare, f"alter role {OWNER} createrole")
    migrate(owned, log=lambda _line: None)
    assert _memberships(bare) == [("loom_owner", OWNER)]
    with psycopg.connect(owned) as conn, pytest.raises(psycopg.errors.InsufficientPrivilege):
        conn.execute("set role loom_api")


def test_functions_are_applied_again_by_an_owner_with_createrole(
    bare: Cluster, owned: str, tmp_path: Path
) -> None:
    _as_superuser(bare, f"alter role {OWNER} createrole")
    root = small_tree(tmp_path)
    migrate(owned, log=lambda _line: None, root=root)
    with (root / "grants.sql").open("a", encoding="utf-8") as grants:
        grants.write("-- another digest\n")
    assert migrate(owned, log=lambda _line: None, root=root).functions_applied
    assert _memberships(bare) == [("loom_owner", OWNER)]


def test_an_owner_without_createrole_is_told_what_to_have_done_and_that_helps(
    bare: Cluster, owned: str
) -> None:
    with pytest.raises(MigrationError, match="roles cannot be set up") as caught:
        migrate(owned, log=lambda _line: None)
    assert "sql/roles.sql" in str(caught.value)
    grant = f'grant loom_owner, {", ".join(OWNERS)} to "{OWNER}";'
    assert grant in str(caught.value)
    assert not status(owned).bootstrapped
    _as_superuser(bare, (default_root() / "roles.sql").read_text(encoding="utf-8"), grant)
    report = migrate(owned, log=lambda _line: None)
    assert report.roles == ()
    assert report.functions_applied
    with psycopg.connect(owned) as conn:
        operate(conn, "working_memory.set", org="acme", namespace="n", content="text")


def test_roles_that_are_there_do_not_help_an_owner_who_is_no_member(
    bare: Cluster, owned: str
) -> None:
    _as_superuser(bare, (default_root() / "roles.sql").read_text(encoding="utf-8"))
    with pytest.raises(MigrationError, match="grant loom_owner"):
        migrate(owned, log=lambda _line: None)


def test_an_owner_who_may_not_act_as_the_function_owners_is_told_so(
    bare: Cluster, owned: str
) -> None:
    _as_superuser(
        bare,
        (default_root() / "roles.sql").read_text(encoding="utf-8"),
        f"grant loom_owner to {OWNER}",
    )
    with pytest.raises(MigrationError, match="may not act as loom_api"):
        migrate(owned, log=lambda _line: None)
    assert not status(owned).functions_current


def test_a_second_database_needs_no_more_than_the_first(bare: Cluster, owned: str) -> None:
    _as_superuser(bare, f"alter role {OWNER} createrole")
    migrate(owned, log=lambda _line: None)
    bare.create("second", owner=OWNER)
    report = migrate(bare.dsn("second", OWNER), log=lambda _line: None)
    assert report.functions_applied
    assert report.roles == ()


def test_a_login_without_rights_in_the_database_is_refused(bare: Cluster, owned: str) -> None:
    migrate(bare.dsn(NAME), log=lambda _line: None)
    bare.make_login("loom_test_stranger")
    with pytest.raises(MigrationError, match="grant loom_owner"):
        migrate(bare.dsn(NAME, "loom_test_stranger"), log=lambda _line: None)
    stranger = status(bare.dsn(NAME, "loom_test_stranger"))
    assert stranger.bootstrapped
    assert not stranger.readable


@pytest.mark.parametrize("right", ["superuser", "bypassrls", "replication"])
def test_a_role_that_could_bypass_row_level_security_is_refused(
    bare: Cluster, owned: str, right: str
) -> None:
    migrate(bare.dsn(NAME), log=lambda _line: None)
    _as_superuser(bare, f"alter role loom_api {right}")
    with pytest.raises(MigrationError, match="loom_api may bypass row-level security"):
        migrate(bare.dsn(NAME), log=lambda _line: None)


@pytest.mark.parametrize("login", ["loom_gateway", "loom_worker"])
def test_a_login_of_ours_with_rights_of_a_client_is_refused(
    bare: Cluster, owned: str, login: str
) -> None:
    migrate(bare.dsn(NAME), log=lambda _line: None)
    _as_superuser(bare, f"grant loom_admin to {login}")
    with pytest.raises(MigrationError, match=f"{login} is a member of loom_admin"):
        migrate(bare.dsn(NAME), log=lambda _line: None)


def test_roles_are_corrected_and_an_operators_own_settings_are_kept(
    bare: Cluster, owned: str
) -> None:
    migrate(bare.dsn(NAME), log=lambda _line: None)
    _as_superuser(
        bare,
        "alter role loom_gateway nologin",
        "alter role loom_api login",
        "alter role loom_worker set statement_timeout = '5min'",
        "alter role loom_worker reset lock_timeout",
        f"revoke connect on database {NAME} from public",
        f"revoke connect on database {NAME} from loom_gateway",
    )
    report = migrate(bare.dsn(NAME), log=lambda _line: None)
    assert {
        "role loom_gateway may log in",
        "role loom_api may no longer log in",
        "role loom_worker has lock_timeout=5s",
        "role loom_gateway may connect",
    } <= set(report.roles)
    with bare.maintenance() as conn:
        settings = conn.execute(
            "select rolconfig from pg_roles where rolname = 'loom_worker'"
        ).fetchone()
    assert settings is not None
    assert "statement_timeout=5min" in settings[0]
    assert not migrate(bare.dsn(NAME), log=lambda _line: None).changed


@pytest.mark.parametrize("role", ["loom_gateway", "loom_worker"])
def test_client_logins_have_time_outs(bare: Cluster, owned: str, role: str) -> None:
    migrate(bare.dsn(NAME), log=lambda _line: None)
    with psycopg.connect(bare.dsn(NAME, role)) as conn:
        for setting in ("statement_timeout", "lock_timeout", "idle_in_transaction_session_timeout"):
            row = conn.execute("select current_setting(%s)", (setting,)).fetchone()
            assert row is not None
            assert row[0] != "0", setting


@contextmanager
def _passwords_asked(cluster: Cluster) -> Iterator[None]:
    """Makes the server ask for passwords of Loom's two logins for the block."""
    with cluster.maintenance() as conn:
        row = conn.execute("show hba_file").fetchone()
        assert row is not None
        hba = Path(row[0])
        before = hba.read_text(encoding="utf-8")
        rules = "".join(f"local all loom_{name} scram-sha-256\n" for name in ("gateway", "worker"))
        hba.write_text(rules + before, encoding="utf-8")
        conn.execute("select pg_reload_conf()")
        try:
            yield
        finally:
            hba.write_text(before, encoding="utf-8")
            conn.execute("select pg_reload_conf()")


def test_passwords_are_set_once_and_work(bare: Cluster, owned: str) -> None:
    _as_superuser(bare, f"alter role {OWNER} createrole")
    passwords = {"loom_gateway": "it's 100% \\ secret", "loom_worker": "ünïcode"}
    with _passwords_asked(bare):
        first = migrate(owned, passwords=passwords, log=lambda _line: None)
        assert first.roles[-2:] == (
            "role loom_gateway has a new password",
            "role loom_worker has a new password",
        )
        for role, password in passwords.items():
            psycopg.connect(bare.dsn(NAME, role), password=password).close()
        with pytest.raises(psycopg.OperationalError, match="password"):
            psycopg.connect(bare.dsn(NAME, "loom_gateway"), password="another")
        assert not migrate(owned, passwords=passwords, log=lambda _line: None).changed
        other = {"loom_gateway": "another"}
        assert migrate(owned, passwords=other, log=lambda _line: None).changed
        psycopg.connect(bare.dsn(NAME, "loom_gateway"), password="another").close()


def test_a_login_that_may_not_set_passwords_is_told_what_to_do(bare: Cluster, owned: str) -> None:
    _as_superuser(
        bare,
        (default_root() / "roles.sql").read_text(encoding="utf-8"),
        f"grant loom_owner, {', '.join(OWNERS)} to {OWNER}",
    )
    with _passwords_asked(bare), pytest.raises(MigrationError, match="LOOM_GATEWAY_DATABASE_URL"):
        migrate(owned, passwords={"loom_gateway": "secret"}, log=lambda _line: None)


def test_passwords_are_for_looms_own_logins_only(bare: Cluster, owned: str) -> None:
    with pytest.raises(MigrationError, match="postgres is no login of Loom"):
        migrate(bare.dsn(NAME), passwords={"postgres": "x"}, log=lambda _line: None)

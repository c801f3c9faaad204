"""Under the operations: what tables let even their own code do.

loom_api is what operations run as. Were one of them wrong, the policies and grants shown here would
still keep another org's rows from being seen, made, changed or taken over.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from psycopg import sql

from tests.calls import acting_as, refused
from tests.cluster import CLIENT_ROLES, SERVICES
from tests.tenancy.orgs import Connection, rows_by_org, seed, tables_of_orgs
from tests.vectors import has_vectors

OWNER_COLUMNS = ("org", "namespace", "agent", "user_id", "session_id", "run_id", "block_key")

WITHOUT_ORG = {
    *("error_code", "functions_digest", "migration", "open_mode", "operation", "worker"),
    *("attribute_word", "erasure_plane", "setting", "pass", "work_kind"),
    *("work_count", "worker_bell"),
    *("embedding_model", "person_word", "stop_word"),
    *("profile_word", "profile_pattern", "section_header"),
}
"""Tables that hold nothing of an org. Another needs a reason to stand here."""


@pytest.fixture
def two(db: Connection) -> Connection:
    """Rows of orgs `mine` and `theirs` in every table that has an org."""
    for number, name in enumerate(("mine", "theirs")):
        seed(db, name, number)
    db.execute("select loom.service_bind('loom_test_viewer', '*')")
    kept = rows_by_org(db)
    for name in ("mine", "theirs"):
        assert set(kept[name]) == {*tables_of_orgs(db), "org"}
    return db


@pytest.fixture
def as_api(two: Connection) -> Iterator[Connection]:
    """The same as loom_api, in org `mine`."""
    two.execute("select set_config('loom.org', 'mine', true)")
    two.execute("set local role loom_api")
    yield two
    two.execute("reset role")


def _table(name: str) -> sql.Identifier:
    return sql.Identifier("loom", name)


def _columns(conn: Connection, table: str) -> list[str]:
    rows = conn.execute(
        "select attname::text from pg_attribute where attrelid = %s::regclass and attnum > 0"
        " and not attisdropped and attgenerated = '' order by attnum",
        (f"loom.{table}",),
    ).fetchall()
    return [name for (name,) in rows]


def _tables(conn: Connection) -> list[str]:
    rows = conn.execute(
        "select relname::text from pg_class"
        " where relnamespace = 'loom'::regnamespace and relkind in ('r', 'p', 'm', 'f', 'S')"
        " order by 1"
    ).fetchall()
    return [name for (name,) in rows]


@pytest.mark.parametrize("client", [*CLIENT_ROLES, *SERVICES])
def test_only_operators_read_the_views(db: Connection, client: str) -> None:
    rows = db.execute(
        "select relname::text from pg_class"
        " where relnamespace = 'loom'::regnamespace and relkind = 'v'"
    ).fetchall()
    assert rows
    for (view,) in rows:
        with acting_as(db, client):
            if "operator" in client:
                db.execute(sql.SQL("select * from {}").format(_table(view)))
                continue
            with refused(db, "42501"):
                db.execute(sql.SQL("select * from {}").format(_table(view)))


def test_every_table_has_an_org_or_a_reason(db: Connection) -> None:
    assert set(_tables(db)) - set(tables_of_orgs(db)) == {*WITHOUT_ORG, "org"}


@pytest.mark.parametrize("client", [*CLIENT_ROLES, *SERVICES])
def test_no_client_has_any_right_on_any_table(two: Connection, client: str) -> None:
    columns = {table: _columns(two, table) for table in _tables(two)}
    for table in columns:
        row = two.execute(
            "select has_table_privilege(%(client)s, %(table)s,"
            "  'select, insert, update, delete, truncate, references, trigger')"
            " or has_any_column_privilege(%(client)s, %(table)s,"
            "  'select, insert, update, references')",
            {"client": client, "table": f"loom.{table}"},
        ).fetchone()
        assert row == (False,), table
    with acting_as(two, client):
        for table, names in columns.items():
            one = sql.Identifier(names[0])
            statements = [
                sql.SQL("select * from {}").format(_table(table)),
                sql.SQL("select count(*) from {}").format(_table(table)),
                sql.SQL("select {} from {} limit 0").format(one, _table(table)),
                sql.SQL("insert into {} default values").format(_table(table)),
                sql.SQL("update {} set {} = default").format(_table(table), one),
                sql.SQL("delete from {}").format(_table(table)),
                sql.SQL("truncate {}").format(_table(table)),
                sql.SQL("lock table {} in access share mode").format(_table(table)),
                sql.SQL("copy {} to stdout").format(_table(table)),
                sql.SQL("create trigger t before insert on {} execute function f()").format(
                    _table(table)
                ),
                sql.SQL("create policy p on {} using (true)").format(_table(table)),
                sql.SQL("alter table {} disable row level security").format(_table(table)),
            ]
            for statement in statements:
                with refused(two, "42501"):
                    two.execute(statement)


@pytest.mark.parametrize("client", [*SERVICES, "loom_gateway", "loom_worker"])
@pytest.mark.parametrize("setting", [None, "", "theirs", "*", "-"])
def test_o64_a_client_given_the_right_to_read_still_sees_nothing(
    two: Connection, client: str, setting: str | None
) -> None:
    """Not even where it sets what the operations set. The grants are rolled back."""
    tables = _tables(two)
    for table in tables:
        two.execute(
            sql.SQL("grant select on {} to {}").format(_table(table), sql.Identifier(client))
        )
    if setting is not None:
        two.execute("select set_config('loom.org', %s, true)", (setting,))
    with acting_as(two, client):
        for table in tables:
            count = two.execute(sql.SQL("select count(*) from {}").format(_table(table)))
            assert count.fetchone() == (0,), table


@pytest.mark.parametrize("setting", ["", "nobody", "-", "*", "mine%", "MINE"])
def test_o64_operations_see_no_org_but_the_one_entered(two: Connection, setting: str) -> None:
    two.execute("select set_config('loom.org', %s, true)", (setting,))
    tables = tables_of_orgs(two)
    two.execute("set local role loom_api")
    for table in tables:
        rows = two.execute(sql.SQL("select distinct org from {}").format(_table(table))).fetchall()
        assert [row for row in rows if row[0] in {"mine", "theirs"}] == [], table


def test_o61_operations_see_the_org_entered_in_every_table(as_api: Connection) -> None:
    for table in tables_of_orgs(as_api):
        rows = as_api.execute(
            sql.SQL("select distinct org from {} where org <> '*'").format(_table(table))
        ).fetchall()
        assert rows == [("mine",)], table


def test_o61_operations_cannot_make_rows_of_another_org(as_api: Connection) -> None:
    for table in tables_of_orgs(as_api):
        columns = _columns(as_api, table)
        values = [
            sql.SQL("'theirs'") if name == "org" else sql.Identifier(name) for name in columns
        ]
        with refused(as_api, "42501"):
            as_api.execute(
                sql.SQL("insert into {} ({}) select {} from {}").format(
                    _table(table),
                    sql.SQL(", ").join(map(sql.Identifier, columns)),
                    sql.SQL(", ").join(values),
                    _table(table),
                )
            )


def _may(conn: Connection, privilege: str, table: str, column: str | None = None) -> bool:
    row = conn.execute(
        "select case when %(column)s::text is null"
        " then has_table_privilege('loom_api', %(table)s, %(privilege)s)"
        " else has_column_privilege('loom_api', %(table)s, %(column)s, %(privilege)s) end",
        {"table": f"loom.{table}", "column": column, "privilege": privilege},
    ).fetchone()
    return row == (True,)


def test_o60_operations_cannot_change_or_delete_rows_of_another_org(as_api: Connection) -> None:
    """Statements without any condition stay inside the org."""
    changed, deleted = set(), set()
    for table in tables_of_orgs(as_api):
        for column in _columns(as_api, table):
            if _may(as_api, "update", table, column):
                name = sql.Identifier(column)
                rows = as_api.execute(
                    sql.SQL("update {} set {} = {} returning org").format(_table(table), name, name)
                ).fetchall()
                assert {org for (org,) in rows} == {"mine"}, (table, column)
                changed.add(table)
        if _may(as_api, "delete", table):
            with as_api.transaction(force_rollback=True):
                rows = as_api.execute(
                    sql.SQL("delete from {} returning org").format(_table(table))
                ).fetchall()
                assert {org for (org,) in rows} == {"mine"}, table
                deleted.add(table)
    assert {"namespace", "token", "working_memory"} <= changed
    assert {"working_memory", "service_binding", "idempotency"} <= deleted


def test_o62_owner_columns_have_no_update(as_api: Connection) -> None:
    for table in tables_of_orgs(as_api):
        for column in {*OWNER_COLUMNS} & {*_columns(as_api, table)}:
            name = sql.Identifier(column)
            for value in (name, sql.SQL("'theirs'"), sql.SQL("null"), sql.SQL("default")):
                with refused(as_api, "42501"):
                    as_api.execute(
                        sql.SQL("update {} set {} = {}").format(_table(table), name, value)
                    )


def test_o62_an_upsert_cannot_change_an_owner_either(as_api: Connection) -> None:
    with refused(as_api, "42501"):
        as_api.execute(
            "insert into loom.namespace (org, name, created_at, created_by, updated_at, updated_by)"
            " values ('mine', 'a', now(), 'x', now(), 'x')"
            " on conflict (org, name) do update set org = 'theirs'"
        )


def test_operations_cannot_pass_off_another_orgs_binding_or_change_one_for_all(
    as_api: Connection,
) -> None:
    seen = as_api.execute("select org from loom.service_binding order by org").fetchall()
    assert seen == [("*",), ("mine",)]
    with refused(as_api, "42501"):
        as_api.execute(
            "insert into loom.service_binding (org, role_oid, role_name, bound_at, bound_by)"
            " values ('*', 1, 'x', now(), 'x')"
        )


def test_the_audit_is_only_added_to(as_api: Connection) -> None:
    assert as_api.execute("select count(*) > 0 from loom.audit").fetchone() == (True,)
    for statement in (
        "update loom.audit set actor = 'x'",
        "update loom.audit set at = at",
        "update loom.audit set subject = '{}'",
        "delete from loom.audit",
        "truncate loom.audit",
        "insert into loom.audit (org, at, actor, action, subject)"
        " values ('theirs', now(), 'x', 'x', '{}')",
    ):
        with refused(as_api, "42501"):
            as_api.execute(statement.encode())


@pytest.mark.parametrize("owner", ["loom_api", "loom_scheduler", "loom_search"])
def test_no_owner_of_functions_truncates_or_alters_a_table(two: Connection, owner: str) -> None:
    tables = _tables(two)
    two.execute(sql.SQL("set local role {}").format(sql.Identifier(owner)))
    for table in tables:
        for statement in (
            "truncate {}",
            "alter table {} disable row level security",
            "alter table {} owner to current_user",
            "create policy p on {} using (true)",
            "drop table {}",
        ):
            with refused(two, "42501"):
                two.execute(sql.SQL(statement).format(_table(table)))


def test_the_scheduler_reaches_across_orgs_only_what_it_cleans_and_what_tells_it_of_work(
    two: Connection,
) -> None:
    tables = _tables(two)
    vectors = has_vectors(two)
    reached = set()
    two.execute("set local role loom_scheduler")
    for table in tables:
        row = two.execute(
            "select has_any_column_privilege(%s, 'select')", (f"loom.{table}",)
        ).fetchone()
        if row == (True,):
            reached.add(table)
    assert reached == {
        *("idempotency", "memory", "memory_version", "memory_source", "model_usage"),
        *("user_state", "agent_lock"),
        *("work_kind", "pass", "pass_share", "profile_schema", "build", "org_setting"),
        "namespace",
        *("setting", "model_day", "work_count", "worker_bell", "user_profile_task"),
        # What rows are found by, made anew in another language, and vectors, models being of all.
        *("memory_text", "namespace", "embedding_due", "embedding_model"),
        *(["embedding"] if vectors else []),
        # Which looms are to be woven, and what is old of them.
        *("loom", "loom_thread", "loom_turn", "loom_weaving"),
    }


def test_a_search_reaches_across_orgs_no_more_than_what_it_looks_through(two: Connection) -> None:
    tables = _tables(two)
    reached = set()
    for table in tables:
        row = two.execute(
            "select has_any_column_privilege('loom_search', %(table)s, 'select'),"
            " has_table_privilege('loom_search', %(table)s, 'insert, update, delete')"
            " or has_any_column_privilege('loom_search', %(table)s, 'insert, update')",
            {"table": f"loom.{table}"},
        ).fetchone()
        assert row is not None and row[1] is False, table
        if row[0]:
            reached.add(table)
    vectors = {"embedding"} if has_vectors(two) else set()
    assert reached == {"memory", "memory_text", "namespace", "embedding_model"} | vectors

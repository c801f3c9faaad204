"""The shipped SQL keeps the rules, and each rule sees what breaks it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import psycopg
import pytest

from loom.sql_lint import lint_database, run_rule
from loom.sql_tree import SqlTree
from tests.databases import Database
from tests.schema.file_lint import lint_files
from tests.schema.trees import shipped_copy

TREE = SqlTree.read()

_PLANTED_FUNCTION = """
create or replace function loom._now() returns timestamptz language plpgsql {attributes}
as $$ begin return clock_timestamp(); end $$;
"""

# For each rule of sql/lint: statements that break it, and the object that is then found. All are
# run by a superuser in a transaction that is rolled back.
PLANTS: dict[str, list[tuple[str, str]]] = {
    "search_path_pinned": [
        (_PLANTED_FUNCTION.format(attributes="security definer"), "loom._now()"),
        (
            _PLANTED_FUNCTION.format(attributes="security definer set search_path = loom, public"),
            "loom._now()",
        ),
        ("alter function loom._ring() set search_path = loom, pg_temp", "loom._ring()"),
        ("grant execute on function loom._ring() to loom_writer", "loom._ring()"),
        ("alter function loom.tg_memory__text_insert() reset all", "loom.tg_memory__text_insert()"),
        (
            "create view loom.v_planted as select loom._role_rank('viewer') as rank",
            "loom._role_rank(text)",
        ),
        (
            "create policy planted on loom.token to loom_api using (loom._role_rank(role) > 1)",
            "loom._role_rank(text)",
        ),
        ("create index planted on loom.token (loom._role_rank(role))", "loom._role_rank(text)"),
        (
            "alter table loom.token add constraint planted check (loom._role_rank(role) > 0)",
            "loom._role_rank(text)",
        ),
        (
            "create domain loom.planted as text check (loom._role_rank(value) > 0)",
            "loom._role_rank(text)",
        ),
    ],
    "undeclared_function": [
        ("create function loom.planted() returns integer language sql return 1", "loom.planted()"),
        (
            "create function loom._now(p_a integer) returns integer language sql return 1",
            "loom._now()",
        ),
    ],
    "no_public_rights": [
        ("grant execute on function loom._now() to public", "loom._now()"),
        ("create function loom.planted() returns integer language sql return 1", "loom.planted()"),
        ("grant select on loom.token to public", "loom.token"),
        ("grant select (role) on loom.token to public", "loom.token.role"),
        ("grant usage on schema loom to public", "loom"),
    ],
    "row_level_security": [
        ("alter table loom.token disable row level security", "loom.token"),
        ("alter table loom.token force row level security", "loom.token"),
        ('create table loom.planted (org text collate "C" primary key)', "loom.planted"),
        ("create policy planted on loom.token using (true)", "loom.token"),
    ],
    "org_leads_keys": [
        ("create table loom.planted (org text)", "loom.planted"),
        ("create table loom.planted (id integer primary key, org text)", "loom.planted"),
        ("create unique index planted on loom.token (token_id)", "loom.token"),
        (
            "alter table loom.worker add column org text;"
            "alter table loom.token add foreign key (token_id) references loom.worker (worker_id)",
            "loom.token",
        ),
    ],
    "operation_entry": [
        (
            "delete from loom.service_binding; update loom.operation set function_name = 'gone' "
            "where op = 'token.list'",
            "token.list",
        ),
        ("alter function loom.token_list(jsonb) owner to loom_owner", "token.list"),
        ("alter function loom.token_list(jsonb) security invoker", "token.list"),
        (
            "update loom.operation set function_name = '_boolean' where op = 'token.list'",
            "token.list",
        ),
        (
            """create or replace function loom.token_list(p_request jsonb) returns jsonb
            language plpgsql security definer set search_path = loom, pg_temp
            as $$ begin perform loom._now(); perform loom._enter('token.list', p_request);
            return '{}'; end $$""",
            "token.list",
        ),
        (
            """create or replace function loom.token_list(p_request jsonb) returns jsonb
            language plpgsql security definer set search_path = loom, pg_temp
            as $$ declare v_early timestamptz := loom._now();
            v_caller loom.caller := loom._enter('token.list', p_request);
            begin return '{}'; end $$""",
            "token.list",
        ),
        (
            """create or replace function loom.token_list(p_request jsonb) returns jsonb
            language plpgsql security definer set search_path = loom, pg_temp
            as $$ declare v_caller loom.caller := loom._enter('token.revoke', p_request);
            begin return '{}'; end $$""",
            "token.list",
        ),
        (
            """create or replace function loom.token_list(p_request jsonb) returns jsonb
            language plpgsql security definer set search_path = loom, pg_temp
            as $$ begin -- perform loom._enter('token.list', p_request);
            return '{}'; end $$""",
            "token.list",
        ),
    ],
    "function_commented": [("comment on function loom._now() is null", "loom._now()")],
    "set_size_stated": [
        (
            "create function loom.planted() returns setof integer language sql return 1",
            "loom.planted()",
        ),
    ],
    "table_commented": [("comment on table loom.token is null", "loom.token")],
    "table_rights": [
        ("grant select on loom.token to loom_admin", "loom.token"),
        ("grant update (role) on loom.token to loom_worker", "loom.token.role"),
        ("grant select on loom.token to loom_operator", "loom.token"),
        ("create view loom.v_planted as select 1 as one", "loom.v_planted"),
        ("create sequence loom.planted", "loom.planted"),
    ],
    "owner_columns_fixed": [
        ("grant update (org) on loom.token to loom_api", "loom.token.org"),
        ("grant update on loom.working_memory to loom_api", "loom.working_memory.block_key"),
    ],
    "client_functions": [
        ("grant execute on function loom._now() to loom_admin", "loom._now()"),
        (
            "grant execute on function loom.token_mint(jsonb) to loom_writer",
            "loom.token_mint(jsonb)",
        ),
        (
            "grant execute on function loom.service_bind(name, text) to loom_gateway",
            "loom.service_bind(name,text)",
        ),
    ],
    "constraint_name_length": [
        (f"alter table loom.token add constraint {'x' * 51} check (role <> '')", "loom.token"),
        (f"create index {'x' * 51} on loom.token (org)", "loom.token"),
    ],
    "constraint_kinds": [
        (
            "alter table loom.token add constraint planted unique (org, label) deferrable",
            "loom.token",
        ),
        (
            "alter table loom.token add constraint planted foreign key (org, token_id) "
            "references loom.token on delete set null",
            "loom.token",
        ),
        (
            "alter table loom.token add constraint planted foreign key (org, token_id) "
            "references loom.token on update cascade",
            "loom.token",
        ),
    ],
    "text_key_collation": [
        (
            'create unique index planted on loom.token (org, (label collate "default"))',
            "loom.planted",
        ),
    ],
}


def _plants() -> list[Any]:
    return [
        pytest.param(rule, statements, culprit, id=f"{rule}-{number}")
        for rule, plants in PLANTS.items()
        for number, (statements, culprit) in enumerate(plants, start=1)
    ]


def test_the_shipped_schema_keeps_every_rule(clean_database: Database) -> None:
    assert [str(found) for found in lint_database(clean_database.connect(), TREE)] == []


def test_every_rule_has_a_plant() -> None:
    assert sorted(PLANTS) == [script.name for script in TREE.lints]


@pytest.mark.parametrize(("rule", "statements", "culprit"), _plants())
def test_a_planted_violation_is_found(
    db: psycopg.Connection[Any], rule: str, statements: str, culprit: str
) -> None:
    (script,) = (each for each in TREE.lints if each.name == rule)
    before = set(run_rule(db, TREE, script))
    db.execute(statements.encode())
    assert culprit in {found.object for found in set(run_rule(db, TREE, script)) - before}


def test_a_view_for_operators_is_allowed(db: psycopg.Connection[Any]) -> None:
    db.execute("create view loom.v_planted as select 1 as one")
    db.execute("alter view loom.v_planted owner to loom_owner")
    db.execute("comment on view loom.v_planted is 'One.'")
    db.execute("grant select on loom.v_planted to loom_operator")
    assert [str(found) for found in lint_database(db, TREE) if "planted" in found.object] == []


def test_the_shipped_files_keep_every_rule() -> None:
    assert [str(found) for found in lint_files(TREE)] == []


_LIST = "functions/token/token_list.sql"
_BEGIN = "\nbegin\n"
_FOUNDATION = "migrations/0001_foundation.sql"

# For each rule of file_lint: what breaks it at the beginning of a function's body.
BODIES = [
    ("file_length", "\n" * 100),
    ("lower_case", "PERFORM 1; SELECT 1;"),
    ("no_like", "if p_op like 'a%' then end if;"),
    ("no_like", "if p_op ~~ 'a%' then end if;"),
    ("no_catch_all", "begin exception when others then end;"),
    ("no_merge", "merge into loom.token using x on true;"),
    ("no_merge", "perform uuidv7();"),
    ("no_xml", "perform xmlelement(name a);"),
    ("one_clock", "perform now();"),
    ("one_clock", "perform current_timestamp;"),
    ("one_setting", "perform current_setting('loom.admin', true);"),
    ("one_setting", "perform set_config('loom.org', 'a', false);"),
    ("statement_names_org", "perform from loom.token where true;"),
    ("statement_names_org", "update loom.token set role = 'x';"),
    ("times_by_ts", "perform to_jsonb(v_a.created_at);"),
    ("times_by_ts", "perform v_a.created_at::text;"),
    ("times_by_ts", "perform 'at ' || created_at;"),
    ("times_by_ts", "perform jsonb_build_object('a', x.expires_at, 'b', 1);"),
    ("times_by_ts", "perform format('%s', v_a.created_at);"),
    ("times_by_ts", "perform to_char(created_at, 'YYYY');"),
]

# The same elsewhere: what to put in place of what, in which file.
ELSEWHERE = [
    ("file_is_one_function", _LIST, "function loom.token_list(", "function loom.other("),
    ("file_is_one_function", _LIST, "create or replace function", "create function"),
    ("file_is_one_function", _LIST, "comment on function", "-- comment on function"),
    ("header_in_full", _LIST, "language plpgsql", "-- language plpgsql\n"),
    ("header_in_full", _LIST, "volatile", ""),
    ("header_in_full", _LIST, "set search_path = loom, pg_temp\n", ""),
    (
        "header_in_full",
        "functions/internal/_now.sql",
        "volatile\n",
        "volatile\nset search_path = loom, pg_temp\n",
    ),
    (
        "times_by_ts",
        _LIST,
        "\ndeclare\n",
        "\ndeclare\nv_t loom.token;\nv_j jsonb := to_jsonb(v_t);\n",
    ),
    ("lower_case", _FOUNDATION, "create table", "CREATE table"),
    ("plain_migrations", _FOUNDATION, "create index", "create index concurrently"),
    ("plain_migrations", _FOUNDATION, "create table loom.org", "create table public.org"),
]


@pytest.mark.parametrize(
    ("rule", "path", "old", "new"),
    [*((rule, _LIST, _BEGIN, f"{_BEGIN}{words}\n") for rule, words in BODIES), *ELSEWHERE],
)
def test_a_planted_violation_in_a_file_is_found(
    tmp_path: Path, rule: str, path: str, old: str, new: str
) -> None:
    root = shipped_copy(tmp_path / "sql")
    text = (root / path).read_text(encoding="utf-8")
    assert old in text
    (root / path).write_text(text.replace(old, new, 1), encoding="utf-8")
    found = lint_files(SqlTree.read(root))
    assert (rule, path) in {(each.rule, each.object) for each in found}


@pytest.mark.parametrize(
    "words",
    [
        "-- like this, WHEN OTHERS say now()\n",
        "perform 'like now() SELECT ' || '' || E'it\\'s like';\n",
        "/* now() and\n SELECT */\n",
        "perform jsonb_build_object('at', loom._ts(a.created_at), 'n', a.created_at > v_now);\n",
    ],
)
def test_comments_and_strings_are_not_code(tmp_path: Path, words: str) -> None:
    root = shipped_copy(tmp_path / "sql")
    text = (root / _LIST).read_text(encoding="utf-8")
    (root / _LIST).write_text(text.replace(_BEGIN, _BEGIN + words, 1), encoding="utf-8")
    assert lint_files(SqlTree.read(root)) == []

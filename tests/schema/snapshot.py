"""The schema as a text that a reviewer can read: `python -m tests.schema.snapshot` writes it anew.

It is the same on every supported version of PostgreSQL. What additions make where a server has
their extension is in a file of its own, `schema_<extension>.txt`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg

from loom.migrate import migrate
from loom.migrate_extensions import present_additions
from loom.sql_tree import Addition, SqlTree
from tests.cluster import own_server

FILE = Path(__file__).with_name("schema.txt")


def file_of(addition: Addition) -> Path:
    """The picture of what an addition makes."""
    return FILE.with_name(f"schema_{addition.extension}.txt")


Connection = psycopg.Connection[Any]

_ROLES = """
select format('role %s%s%s', rolname, case when rolcanlogin then ' login' else '' end,
  coalesce(' ' || array_to_string(rolconfig, ' '), '')), ''
from pg_roles
where rolname ^@ 'loom_' and not rolname ^@ 'loom_test_'
order by rolname collate "C"
"""

_RELATIONS = """
select format('%s %s owner %s%s%s', case c.relkind when 'v' then 'view' when 'S' then 'sequence'
    when 'c' then 'type' when 'm' then 'materialized view' else 'table' end,
    c.oid::regclass, c.relowner::regrole, coalesce(' ' || array_to_string(c.reloptions, ' '), ''),
    case when c.relrowsecurity then ' row level security' else '' end),
  c.oid::regclass::text
from pg_class c
where c.relnamespace = 'loom'::regnamespace and c.relkind in ('r', 'p', 'v', 'm', 'S', 'c')
order by c.relname collate "C"
"""

_COLUMNS = """
select format('column %%s %%s%%s%%s%%s', a.attname, format_type(a.atttypid, a.atttypmod),
  case when a.attcollation <> t.typcollation then ' collate ' || a.attcollation::regcollation
    else '' end,
  case when a.attnotnull then ' not null' else '' end,
  case a.attgenerated when 's' then ' generated as ' else ' default ' end
    || pg_get_expr(d.adbin, d.adrelid))
from pg_attribute a
join pg_type t on t.oid = a.atttypid
left join pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
where a.attrelid = %(relation)s::regclass and a.attnum > 0 and not a.attisdropped
order by a.attnum
"""

_DETAILS = """
select line from (
  select 1, conname::text, format('constraint %%s %%s', conname, pg_get_constraintdef(oid))
  from pg_constraint where conrelid = %(relation)s::regclass and contype not in ('n', 't')
  union all
  select 2, i.indexrelid::regclass::text, pg_get_indexdef(i.indexrelid)
  from pg_index i
  where i.indrelid = %(relation)s::regclass
    and not exists (select from pg_constraint k where k.conindid = i.indexrelid)
  union all
  select 3, polname::text, format('policy %%s %%s to %%s using (%%s) with check (%%s)', polname,
    case polcmd when '*' then 'all' when 'r' then 'select' when 'a' then 'insert'
      when 'w' then 'update' else 'delete' end,
    (select string_agg(role::regrole::text, ', ' order by role::regrole::text)
      from unnest(polroles) role),
    coalesce(pg_get_expr(polqual, polrelid), '-'),
    coalesce(pg_get_expr(polwithcheck, polrelid), '-'))
  from pg_policy where polrelid = %(relation)s::regclass
  union all
  select 4, tgname::text, pg_get_triggerdef(oid)
  from pg_trigger where tgrelid = %(relation)s::regclass and not tgisinternal
  union all
  select 5, acl.grantee::regrole::text, format('grant %%s to %%s',
    string_agg(lower(acl.privilege_type), ', ' order by acl.privilege_type), acl.grantee::regrole)
  from pg_class c, aclexplode(c.relacl) acl
  where c.oid = %(relation)s::regclass and acl.grantee <> c.relowner
  group by acl.grantee
  union all
  select 6, acl.grantee::regrole || acl.privilege_type, format('grant %%s (%%s) to %%s',
    lower(acl.privilege_type), string_agg(a.attname, ', ' order by a.attname), acl.grantee::regrole)
  from pg_attribute a, aclexplode(a.attacl) acl
  where a.attrelid = %(relation)s::regclass
  group by acl.grantee, acl.privilege_type
) as details (part, name, line)
order by part, name collate "C"
"""

_FUNCTIONS = """
select format('function %s(%s) returns %s %s %s%s%s%s parallel %s owner %s set %s', p.proname,
    pg_get_function_arguments(p.oid), pg_get_function_result(p.oid), l.lanname,
    case p.provolatile when 'i' then 'immutable' when 's' then 'stable' else 'volatile' end,
    case when p.proisstrict then ' strict' else '' end,
    case when p.prosecdef then ' security definer' else '' end,
    case when p.proretset then ' rows ' || p.prorows else '' end,
    case p.proparallel when 's' then 'safe' when 'r' then 'restricted' else 'unsafe' end,
    p.proowner::regrole, array_to_string(p.proconfig, ', ')),
  coalesce((
    select string_agg(acl.grantee::regrole::text, ', ' order by acl.grantee::regrole::text)
    from aclexplode(p.proacl) acl where acl.grantee <> p.proowner
  ), '')
from pg_proc p
join pg_language l on l.oid = p.prolang
where p.pronamespace = 'loom'::regnamespace
order by p.proname collate "C", pg_get_function_arguments(p.oid) collate "C"
"""

_SCHEMA = """
select format('schema loom owner %s', nspowner::regrole),
  (select string_agg(format('%s to %s', lower(privilege_type), grantee::regrole), ', '
    order by grantee::regrole::text, privilege_type)
  from aclexplode(nspacl) where grantee <> nspowner)
from pg_namespace where nspname = 'loom'
"""


_MADE = re.compile(r"^create (?:table|type|view) (loom\.\w+)", re.MULTILINE)


def snapshot(conn: Connection, addition: Addition | None = None) -> str:
    """Roles, schema, relations and functions of a migrated database, without those of additions.

    With an addition only its own relations and functions.
    """
    made = {each.extension: _made(each) for each in SqlTree.read().additions}
    if addition is not None:
        own = _relations_and_functions(conn, lambda name: name in made[addition.extension])
        return "\n".join(own[1:]) + "\n"
    lines: list[str] = []
    for role, _ in conn.execute(_ROLES.encode()).fetchall():
        lines.append(role)
    for heading, grants in conn.execute(_SCHEMA.encode()).fetchall():
        lines += ["", heading, f"  grant {grants}"]
    added = set().union(*made.values())
    lines += _relations_and_functions(conn, lambda name: name not in added)
    return "\n".join(lines) + "\n"


def _made(addition: Addition) -> set[str]:
    tables = {name for script in addition.migrations for name in _MADE.findall(script.text)}
    return tables | {f"loom.{name}" for script in addition.functions for name in script.creates}


def _relations_and_functions(conn: Connection, wanted: Callable[[str], bool]) -> list[str]:
    lines: list[str] = []
    for heading, relation in conn.execute(_RELATIONS.encode()).fetchall():
        if not wanted(relation):
            continue
        lines += ["", heading]
        for query in (_COLUMNS, _DETAILS):
            found = conn.execute(query.encode(), {"relation": relation}).fetchall()
            lines += [f"  {line}" for (line,) in found]
    for heading, executors in conn.execute(_FUNCTIONS.encode()).fetchall():
        if not wanted("loom." + heading.split()[1].partition("(")[0]):
            continue
        lines += ["", heading]
        if executors:
            lines.append(f"  execute {executors}")
    return lines


def write() -> None:
    """Migrates a new database and writes `schema.txt`, and a file for each addition it has."""
    with own_server() as server:
        server.create("snapshot")
        migrate(server.dsn("snapshot"), log=lambda _line: None)
        with server.connect("snapshot") as conn:
            FILE.write_text(snapshot(conn), encoding="utf-8")
            for addition in present_additions(conn, SqlTree.read()):
                file_of(addition).write_text(snapshot(conn, addition), encoding="utf-8")


if __name__ == "__main__":
    write()

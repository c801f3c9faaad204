"""``loom doctor``: what is wrong, or may be, with a database that Loom runs on.

Each check is a function that looks at one thing, changes nothing and returns a finding.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import psycopg

from loom import migrate, word_index
from loom.migrate import MigrationError, SqlTreeError
from loom.migrate_extensions import OLDEST, is_too_old
from loom.migrate_status import OLDEST_SERVER

Connection = psycopg.Connection[Any]
Connect = Callable[[], Connection]
Level = Literal["ok", "info", "warning", "failure"]

ROLES = (
    "loom_owner",
    "loom_api",
    "loom_scheduler",
    "loom_search",
    "loom_gateway",
    "loom_worker",
    "loom_viewer",
    "loom_writer",
    "loom_admin",
    "loom_operator",
)

_MISSING_ROLES = """
select coalesce(array_agg(name order by name), '{}')
from unnest(%s::text[]) as name
where not exists (select from pg_catalog.pg_roles where rolname = name)
"""

# Loom's clients and every login that is a member of one, so services too.
_TABLE_RIGHTS = """
with client as (
  select r.oid, r.rolname::text as name from pg_catalog.pg_roles r
  where not r.rolsuper
    and not pg_catalog.pg_has_role(r.oid,
      (select oid from pg_catalog.pg_roles where rolname = 'loom_owner'), 'member')
    and exists (
      select from pg_catalog.pg_roles g
      where g.rolname in ('loom_gateway', 'loom_worker', 'loom_viewer', 'loom_writer',
          'loom_admin', 'loom_operator')
        and pg_catalog.pg_has_role(r.oid, g.oid, 'member'))
)
select coalesce(array_agg(client.name || ' on ' || c.relname order by client.name, c.relname), '{}')
from client
join pg_catalog.pg_class c
  on c.relnamespace = to_regnamespace('loom') and c.relkind in ('r', 'p', 'f', 'm')
where pg_catalog.has_table_privilege(client.oid, c.oid,
    'select, insert, update, delete, truncate, references, trigger')
  or pg_catalog.has_any_column_privilege(client.oid, c.oid, 'select, insert, update, references')
"""

_PUBLIC_RIGHTS = """
select coalesce(array_agg(p.proname::text order by p.proname), '{}')
from pg_catalog.pg_proc p,
  pg_catalog.aclexplode(coalesce(p.proacl, pg_catalog.acldefault('f', p.proowner))) as acl
where p.pronamespace = to_regnamespace('loom') and acl.grantee = 0
"""

_MIGHTY = """
select coalesce(array_agg(r.rolname::text order by r.rolname), '{}')
from pg_catalog.pg_roles r
where r.rolname in ('loom_gateway', 'loom_worker', 'loom_viewer', 'loom_writer', 'loom_admin',
    'loom_operator', 'loom_api')
  and (r.rolsuper or r.rolbypassrls or r.rolcreaterole or r.rolreplication
    or pg_catalog.pg_has_role(r.oid,
      (select oid from pg_catalog.pg_roles where rolname = 'loom_owner'), 'member'))
"""

_VECTOR = """
select (select extversion from pg_catalog.pg_extension where extname = 'vector'),
  exists (select from pg_catalog.pg_available_extensions where name = 'vector'),
  exists (
    select from pg_catalog.pg_class c
    where c.relnamespace = to_regnamespace('loom') and c.relname = 'embedding')
"""

WORDS_LEAST = 64 * 2**20
WORDS_TIMES = 2.0
"""An index of words so many times larger than it may be is one that nobody builds anew."""


@dataclass(frozen=True)
class Finding:
    """What one check found. ``failure`` means that Loom does not run, or not safely."""

    check: str
    level: Level
    text: str
    hint: str = ""


def check_server(conn: Connection) -> Finding:
    """The server's version."""
    version = conn.info.server_version
    shown = f"PostgreSQL {version // 10000}.{version % 10000}"
    if version < OLDEST_SERVER:
        return Finding("server", "failure", f"{shown} is too old", "Loom needs PostgreSQL 15.")
    return Finding("server", "ok", shown)


def check_encoding(conn: Connection) -> Finding:
    """The database's encoding."""
    encoding = _value(conn, "select current_setting('server_encoding')")
    if encoding == "UTF8":
        return Finding("encoding", "ok", "UTF8")
    hint = "Make a database with: create database … encoding 'UTF8' template template0"
    return Finding("encoding", "failure", f"the database stores text as {encoding}", hint)


def check_roles(conn: Connection) -> Finding:
    """Loom's roles."""
    missing = _value(conn, _MISSING_ROLES, list(ROLES))
    if missing:
        return Finding("roles", "failure", f"missing: {_some(missing)}", "Run `loom migrate`.")
    return Finding("roles", "ok", f"all {len(ROLES)} are there")


def check_schema(dsn: str) -> Finding:
    """Whether the schema is the one of this code."""
    try:
        status = migrate.status(dsn)
        status.refuse_unless_ours()
    except (MigrationError, SqlTreeError) as error:
        return Finding("schema", "failure", str(error).replace("\n", " "))
    if status.bootstrapped and not status.readable:
        return _check_schema_by_health(dsn)
    if status.pending:
        text = f"{len(status.pending)} migrations are pending: {_some(status.pending)}"
        return Finding("schema", "failure", text, "Run `loom migrate`.")
    if not status.functions_current:
        return Finding("schema", "failure", "functions are not current", "Run `loom migrate`.")
    return Finding("schema", "ok", f"migration {status.applied[-1]}, functions current")


def _check_schema_by_health(dsn: str) -> Finding:
    """As far as a login sees it that may not read what was applied."""
    with _connect(dsn)() as conn:
        health = _value(conn, "select loom.health()")
    wanted = migrate.expected()
    if health["migration"] != wanted.migration:
        text = f"the database is at {health['migration']}, this code at {wanted.migration}"
    elif health["functions_sha256"] != wanted.functions_sha256:
        text = "functions are not current"
    else:
        return Finding("schema", "ok", f"migration {wanted.migration}, functions current")
    return Finding("schema", "failure", text, "Run `loom migrate`.")


def check_vector(conn: Connection) -> Finding:
    """The pgvector extension, without which all but vectors works."""
    row = conn.execute(_VECTOR).fetchone()
    installed, available, added = row or (None, False, False)
    if installed and is_too_old("vector", installed):
        text = f"pgvector {installed} is too old; search will be by text alone"
        return Finding("vector", "warning", text, f"Loom needs {OLDEST['vector']} or newer.")
    if installed and not added:
        text = f"pgvector {installed} is here, and what Loom adds for it is not"
        return Finding("vector", "warning", text, "Run `loom migrate`.")
    if installed:
        return Finding("vector", "ok", f"pgvector {installed}")
    if available:
        text = "pgvector is on the server, not in this database; search will be by text alone"
        hint = "Have who may run: create extension vector; then run `loom migrate`."
        return Finding("vector", "info", text, hint)
    return Finding("vector", "info", "the server has no pgvector; search will be by text alone")


def check_table_rights(conn: Connection) -> Finding:
    """Clients call functions; none has rights on a table."""
    found = _value(conn, _TABLE_RIGHTS)
    if found:
        hint = "Revoke them, or run `loom migrate`."
        return Finding("table rights", "failure", f"clients reach tables: {_some(found)}", hint)
    return Finding("table rights", "ok", "no client role has any")


def check_public_rights(conn: Connection) -> Finding:
    """No function of Loom is everybody's."""
    found = _value(conn, _PUBLIC_RIGHTS)
    if found:
        text = f"everybody may call: {_some(found)}"
        return Finding("public rights", "failure", text, "Run `loom migrate`.")
    return Finding("public rights", "ok", "nothing is granted to everybody")


def check_mighty_roles(conn: Connection) -> Finding:
    """No client may step around row-level security, by itself or as another role."""
    found = _value(conn, _MIGHTY)
    if found:
        text = f"superuser, bypassrls, createrole, replication or an owner: {_some(found)}"
        hint = "alter role … nosuperuser nobypassrls nocreaterole noreplication"
        return Finding("mighty roles", "failure", text, hint)
    return Finding("mighty roles", "ok", "no client role may step around row-level security")


def check_open_mode(conn: Connection, auth: str) -> Finding:
    """Whether requests without a token are answered."""
    try:
        is_open = bool(_value(conn, "select loom.health()")["open_mode"])
    except (psycopg.errors.UndefinedFunction, psycopg.errors.InvalidSchemaName):
        return Finding("open mode", "info", "unknown until the schema is there")
    if is_open and auth != "open":
        text = "on in the database, though LOOM_AUTH is `required` here"
        hint = "It ends within a minute of the launcher that set it; another one may be running."
        return Finding("open mode", "warning", text, hint)
    if is_open:
        return Finding("open mode", "info", "on: a request without a token acts as admin")
    return Finding("open mode", "ok", "off")


def check_model(has_model: bool) -> Finding:
    """Whether there is a model that builds structured profiles."""
    if has_model:
        return Finding("model", "ok", "configured")
    text = "not configured: no model is called, builds wait, and all else works"
    hint = "LOOM_MODEL_BASE_URL and LOOM_MODEL name one, for the API and for the worker."
    return Finding("model", "info", text, hint)


def check_embeddings(conn: Connection, configured: str | None) -> Finding:
    """Whether the embedding model of the settings is the one by which searches go."""
    check = "embeddings"
    try:
        told = _value(conn, "select loom.embedding_progress()")
    except (psycopg.errors.UndefinedFunction, psycopg.errors.InvalidSchemaName):
        return Finding(check, "info", "unknown until the schema is there")
    states = {each["state"]: each["model"] for each in told["models"]}
    active, building = states.get("active"), states.get("building")
    if configured is None and active is None and building is None:
        text = "not configured: search is by text alone"
        hint = "LOOM_EMBEDDING_MODEL names a model, for the API and for the worker."
        return Finding(check, "info", text, hint)
    if not told["vectors"]:
        return Finding(check, "warning", f"{configured} needs pgvector, which is not there")
    if active is not None and configured == active:
        return Finding(check, "ok", f"searches go by {active}")
    if configured is not None and configured == building:
        return Finding(check, "info", f"{building} is being built", "`loom embeddings status`")
    text = f"the settings have {configured or 'no model'}, searches go by {active or 'none'}"
    hint = "`loom embeddings use MODEL` changes the database's; API and worker need the same."
    return Finding(check, "warning", text, hint)


def check_words(conn: Connection) -> Finding:
    """Whether the index of words is mostly of words that no row has any more."""
    check = "index of words"
    sizes = word_index.sizes(conn)
    if sizes is None:
        return Finding(check, "info", "unknown until the schema is there")
    if sizes.outgrown(WORDS_LEAST, WORDS_TIMES):
        hint = "`loom reindex` builds it anew, beside its use."
        return Finding(check, "warning", str(sizes), hint)
    return Finding(check, "ok", str(sizes))


def check_login(name: str, connect: Connect) -> Finding:
    """Whether a login can connect, and is not one that no policy binds."""
    check = f"login {name}"
    try:
        with connect() as conn:
            user = _value(conn, "select session_user::text")
            superuser = _value(
                conn, "select rolsuper from pg_catalog.pg_roles where rolname = session_user"
            )
    except psycopg.OperationalError as error:
        return Finding(
            check,
            "failure",
            _first_line(error),
            "See its URL; `loom migrate` sets a new password where none is named.",
        )
    if superuser and name != "migration":
        hint = "The API and the worker log in as loom_gateway and loom_worker."
        return Finding(check, "failure", f"{user} is a superuser", hint)
    return Finding(check, "ok", f"connects as {user}")


def check_pooler(name: str, connect: Connect) -> Finding:
    """Whether two open sessions are two sessions of the server too.

    A pooler in transaction mode lends one server session to each statement anew, so what a
    session keeps (prepared statements, LISTEN) is lost or another's.
    """
    check = f"pooler of {name}"
    try:
        with connect() as one, connect() as other:
            seen = [_value(each, "select pg_backend_pid()") for each in (one, other, one, other)]
    except psycopg.OperationalError as error:
        return Finding(check, "failure", _first_line(error))
    if seen[0] == seen[1] or seen[0] != seen[2] or seen[1] != seen[3]:
        text = "a pooler in transaction or statement mode stands in between"
        hint = "Use session pooling for Loom's logins, or connect them to the server directly."
        return Finding(check, "failure", text, hint)
    return Finding(check, "ok", "sessions are the server's own")


def examine(
    dsns: Sequence[tuple[str, str]],
    auth: str,
    *,
    has_model: bool,
    embedding_model: str | None = None,
) -> Iterator[Finding]:
    """All checks, in order. ``dsns`` are (name, DSN) of the logins, the migration login first."""
    (name, dsn), *others = dsns
    try:
        conn = _connect(dsn)()
    except psycopg.OperationalError as error:
        yield Finding("database", "failure", _first_line(error), "Is the server up? See the URL.")
        return
    with conn:
        yield Finding("database", "ok", f"{conn.info.dbname} answers")
        yield check_server(conn)
        yield check_encoding(conn)
        yield check_roles(conn)
        yield check_schema(dsn)
        yield check_vector(conn)
        yield check_table_rights(conn)
        yield check_public_rights(conn)
        yield check_mighty_roles(conn)
        yield check_open_mode(conn, auth)
        yield check_embeddings(conn, embedding_model)
        yield check_words(conn)
    yield check_model(has_model)
    yield check_pooler(name, _connect(dsn))
    for other, other_dsn in others:
        login = check_login(other, _connect(other_dsn))
        yield login
        if login.level != "failure":
            yield check_pooler(other, _connect(other_dsn))


def table(findings: Sequence[Finding]) -> str:
    """The findings as lines of text, hints below what they belong to."""
    width = max((len(finding.check) for finding in findings), default=0)
    lines = []
    for finding in findings:
        lines.append(f"{finding.level:7}  {finding.check:{width}}  {finding.text}")
        if finding.hint:
            lines.append(f"{'':7}  {'':{width}}  {finding.hint}")
    return "\n".join(lines)


def _connect(dsn: str) -> Connect:
    return lambda: psycopg.connect(dsn, autocommit=True, connect_timeout=10)


def _value(conn: Connection, statement: Any, *parameters: object) -> Any:
    row = conn.execute(statement, parameters or None).fetchone()
    return row[0] if row else None


def _some(names: Sequence[str]) -> str:
    shown = ", ".join(names[:5])
    return shown if len(names) <= 5 else f"{shown} and {len(names) - 5} more"


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0] or type(error).__name__

"""Extensions of the server that Loom can do without: what they add is applied where they are.

An extension's schema is whatever an operator has put it into. It is never on a search_path: the
applier writes it into every name. An extension that the server offers and the migration login may
make is made, in a schema of its own.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import psycopg
from psycopg import errors, sql

from loom.migrate_errors import MigrationError
from loom.sql_tree import Addition, SqlTree

Connection = psycopg.Connection[Any]

OWNERS = ("loom_owner", "loom_api", "loom_search")
"""Who names what an extension brings: the tables' owner, and the owners of functions."""

OLDEST = {"vector": "0.8"}
"""The oldest version that will do; one that is older counts as missing."""

_INSTALLED = """
select extname, nspname, extversion from pg_catalog.pg_extension e
join pg_catalog.pg_namespace n on n.oid = e.extnamespace
"""

_OFFERED = """
select coalesce(installed_version, default_version), installed_version is not null
from pg_catalog.pg_available_extensions where name = %s
"""

_SHUT_OUT = """
select coalesce(array_agg(name), '{}') from unnest(%s::text[]) as name
where not pg_catalog.has_schema_privilege(name, %s, 'usage')
"""


def extension_schemas(conn: Connection) -> dict[str, str]:
    """The database's extensions that are new enough, each with the name of its schema."""
    return {
        name: schema
        for name, schema, version in conn.execute(_INSTALLED).fetchall()
        if not is_too_old(name, version)
    }


def is_too_old(extension: str, version: str) -> bool:
    """Whether Loom needs a newer version."""
    return _numbers(version) < _numbers(OLDEST.get(extension, "0"))


def present_additions(conn: Connection, tree: SqlTree) -> tuple[Addition, ...]:
    """The additions whose extension the database has, with its schema filled in."""
    installed = extension_schemas(conn)
    return tuple(
        _filled_in(addition, sql.Identifier(installed[addition.extension]).as_string(conn))
        for addition in tree.additions
        if addition.extension in installed
    )


def make_extensions(conn: Connection, tree: SqlTree, log: Callable[[str], None]) -> None:
    """Makes what is missing, where the server offers it and lets this login."""
    for extension in (each.extension for each in tree.additions):
        offered = conn.execute(_OFFERED, (extension,)).fetchone()
        if offered is None:
            continue
        version, installed = offered
        if is_too_old(extension, version):
            log(f"extension {extension} {version} is too old: Loom needs {OLDEST[extension]}")
        if installed or is_too_old(extension, version):
            continue
        try:
            _make(conn, extension)
        except errors.InsufficientPrivilege:
            log(f"extension {extension} is on the server, and this login may not make it")
        else:
            log(f"extension {extension} made")


def open_schema(conn: Connection, extension: str) -> None:
    """Lets Loom's owners name what is in the extension's schema. Raises MigrationError."""
    schema = extension_schemas(conn)[extension]
    shut_out = _shut_out(conn, schema)
    if not shut_out:
        return
    statement = sql.SQL("grant usage on schema {} to {}").format(
        sql.Identifier(schema), sql.SQL(", ").join(map(sql.Identifier, shut_out))
    )
    try:
        # Who may not grant gets an error or only a warning: what counts is what came of it.
        with conn.transaction():
            conn.execute(statement)
    except errors.InsufficientPrivilege:
        pass
    if _shut_out(conn, schema):
        raise MigrationError(
            f"Loom's roles may not use schema {schema}, where the extension {extension} is",
            hint=f"Have who may do it run: {statement.as_string(conn)};",
        )


def _make(conn: Connection, extension: str) -> None:
    schema = sql.Identifier(f"loom_{extension}")
    with conn.transaction():
        conn.execute(sql.SQL("create schema if not exists {}").format(schema))
        conn.execute(
            sql.SQL("create extension {} schema {}").format(sql.Identifier(extension), schema)
        )


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d+", version))


def _shut_out(conn: Connection, schema: str) -> list[str]:
    row = conn.execute(_SHUT_OUT, (list(OWNERS), schema)).fetchone()
    return list(row[0]) if row else []


def _filled_in(addition: Addition, schema: str) -> Addition:
    extension = addition.extension
    return replace(
        addition,
        migrations=tuple(each.filled_in(extension, schema) for each in addition.migrations),
        functions=tuple(each.filled_in(extension, schema) for each in addition.functions),
        data=tuple(each.filled_in(extension, schema) for each in addition.data),
        grants=addition.grants.filled_in(extension, schema),
    )

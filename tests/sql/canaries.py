"""Looking for a text in everything that the database keeps."""

from __future__ import annotations

from psycopg import sql

from tests.calls import Connection


def tables_with(conn: Connection, text: str) -> dict[str, int]:
    """The tables with the text anywhere in a row, and in how many; seen as a superuser.

    The text is plain ASCII without quotes and backslashes, so that JSON has it as it stands.
    """
    assert text.isascii() and text.isprintable() and not set(text) & set("\"\\'")
    tables = conn.execute(
        "select relname::text from pg_class"
        " where relnamespace = 'loom'::regnamespace and relkind in ('r', 'p', 'm') order by 1"
    ).fetchall()
    found = {}
    for (table,) in tables:
        statement = sql.SQL(
            "select count(*) from {} as kept where strpos(to_jsonb(kept)::text, %s) > 0"
        ).format(sql.Identifier("loom", table))
        row = conn.execute(statement, (text,)).fetchone()
        assert row is not None
        if row[0] > 0:
            found[table] = row[0]
    return found

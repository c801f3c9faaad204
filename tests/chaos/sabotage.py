"""Ways to make an installation lose and double what it acknowledged, so that a run must find it."""

from __future__ import annotations

from typing import Final

from tests.chaos.instruments import Connection

# Function, what stands in it, what is to stand there.
DEFECTS: Final = (
    # A compare-and-swap that swaps whatever stands there.
    (
        "working_memory_set",
        "and (v_if_match is null or content_sha256 = v_if_match)",
        "",
    ),
    # An idempotency key that is not heeded: what is sent again is done again.
    (
        "call",
        "jsonb_build_object('_caller', v_grant), p_idempotency_key)",
        "jsonb_build_object('_caller', v_grant), case when p_op not in ('working_memory.append',"
        " 'profile.append', 'looms.thread_add', 'looms.activity') then p_idempotency_key end)",
    ),
    # A digest that forgets every other change.
    (
        "_sources_changed",
        "set source_digest = source_digest # v_change.part",
        "set source_digest = case when rev % 2 = 0 then source_digest"
        " else source_digest # v_change.part end",
    ),
)

# What is acknowledged reaches the disk seconds later: a server that is killed has not written it.
CARELESS: Final = (
    "alter database loom set synchronous_commit = off",
    "alter system set wal_writer_delay = '10s'",
    "select pg_reload_conf()",
    "select pg_terminate_backend(pid) from pg_stat_activity where usename = 'loom_gateway'",
)


def sabotage(conn: Connection) -> None:
    """Put all of it into a database."""
    for function, old, new in DEFECTS:
        row = conn.execute(
            "select pg_get_functiondef(oid) from pg_proc"
            " where proname = %s and pronamespace = 'loom'::regnamespace",
            (function,),
        ).fetchone()
        assert row is not None, function
        assert old in row[0], function
        conn.execute(row[0].replace(old, new).encode())
    for statement in CARELESS:
        conn.execute(statement.encode())

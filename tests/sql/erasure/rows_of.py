"""A user with rows in every plane, and what the tables hold of it."""

from __future__ import annotations

from psycopg import sql

from tests.calls import Answer, Connection, operate
from tests.sql.doors import execute
from tests.sql.loom_rows import weave_rows
from tests.sql.worker_rows import worker_writes

PLANES = (
    *("working_memory", "memory", "memory_version", "profile", "structured_profile"),
    *("user_profile", "loom_thread", "embedding", "work", "activity", "idempotency"),
)

_TABLES = (
    *("working_memory", "memory", "memory_version", "memory_source"),
    *("profile_activity", "idempotency_user", "build", "model_usage"),
    *("user_profile", "user_profile_version", "user_profile_signal", "user_profile_task"),
    *("loom_thread", "loom_thread_version", "loom_turn"),
    *("loom_weaving_part", "loom_weaving_change"),
)


def fill(conn: Connection, user: str, *, namespace: str = "main", org: str = "acme") -> Answer:
    """Writes a user's rows; how many an erasure must count, by plane."""
    place = {"org": org, "namespace": namespace, "agent": "coder", "user_id": user}
    text = f"canary of {user}"
    for key in ("a", "b", "gone"):
        operate(conn, "working_memory.set", **place, block_key=key, content=text)
        operate(conn, "memory.set", **place, memory_key=key, value=[text], tags=[text])
    operate(conn, "working_memory.delete", **place, block_key="gone")
    operate(conn, "memory.delete", **place, memory_key="gone")
    operate(conn, "memory.set", **place, memory_key="expired", value=text, ttl_seconds=1)
    operate(conn, "memory.set", **place, memory_key="redacted", value=text)
    operate(conn, "memory.redact", **place, memory_key="redacted", reason="asked")
    operate(conn, "memory.lock", **place, memory_key="a", reason="keep")
    operate(conn, "memory.pin", **place, memory_key="b")
    operate(conn, "profile.set", **place, label="persona", value=text)
    operate(conn, "memory.lock", **place, memory_key="persona", reason="keep")
    source = operate(conn, "memory.get", **place, memory_key="a")["memory_id"]
    for agent, label in (("-", "structured_profile"), ("coder", "structured_profile")):
        worker_writes(conn, label, text, [source], **{**place, "agent": agent})
    conn.execute(
        "insert into loom.profile_activity"
        " (org, namespace, user_id, label, client, agent, day, reads, last_at)"
        " values (%s, %s, %s, %s, 'writer', 'coder', current_date, 1, now())",
        (org, namespace, user, "persona"),
    )
    # Not counted either.
    conn.execute(
        "insert into loom.model_usage (org, at, purpose, namespace, user_id, model, prompt_tokens,"
        "  completion_tokens, milliseconds, outcome)"
        " values (%s, now(), 'structured_profile', %s, %s, 'gpt', 1, 1, 1, 'OK')",
        (org, namespace, user),
    )
    if user != "-":
        said = [{"id": "1", "text": text}]
        for kind in ("", "work"):
            whom = {"org": org, "namespace": namespace, "user_id": user, "scope": {"kind": kind}}
            operate(conn, "user_profile.apply", **whom, delta={"summary": text})
            operate(conn, "user_profile.update", **whom, signals=said, source="llm")
        operate(conn, "user_profile.reset", **whom)
    weave_rows(conn, org, namespace, text, user)
    key = f"{user} {namespace}"
    execute(conn, "memory.set", key=key, **place, memory_key="kept", value=text)
    return {
        **dict.fromkeys(PLANES, 0),
        "working_memory": 3,
        "memory": 6,
        # Not counted: the two rows that say what the worker's were made from.
        "memory_version": 14,
        "profile": 2,
        "structured_profile": 1,
        # Two profiles with their three versions; not what waits for a model, nor ids of signals.
        "user_profile": 0 if user == "-" else 5,
        # What the worker is to build of the user; user `-` has no profile of its own.
        "work": 0 if user == "-" else 1,
        "activity": 1,
        # Not counted either: what a weaving read and changed.
        "loom_thread": 4,
        "idempotency": 1,
    }


def rows_of(conn: Connection, user: str, *, org: str = "acme") -> dict[str, list[str]]:
    """What the tables of all planes hold of a user, as JSON; tables without any are left out."""
    found: dict[str, list[str]] = {}
    for table in _TABLES:
        statement = sql.SQL(
            "select to_jsonb(kept)::text from {} as kept where org = %s and user_id = %s order by 1"
        ).format(sql.Identifier("loom", table))
        rows = [row for (row,) in conn.execute(statement, (org, user))]
        if rows:
            found[table] = rows
    return found


def erase(conn: Connection, user: str = "u1", **fields: object) -> Answer:
    """Erases a user of org acme, as the login of the connection; the counts by plane."""
    answer = operate(conn, "erasure.request", **{"org": "acme", "user_id": user, **fields})
    return answer["removed"]  # type: ignore[no-any-return]

"""The views for operators: who may read them, what they tell, and that they tell no text."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest
from psycopg import sql
from psycopg.types.json import Jsonb

from tests.calls import acting_as, call, mint_token, operate, refused
from tests.cluster import CLIENT_ROLES, SERVICES
from tests.sql.loom_rows import weave_rows
from tests.sql.structured_profile.building import cap, model_call, used

Connection = psycopg.Connection[Any]

CANARY = "canary-7f"

_VIEWS = """
select relname::text from pg_class
where relnamespace = 'loom'::regnamespace and relkind in ('v', 'm') order by 1
"""


def _views(conn: Connection) -> list[str]:
    return [name for (name,) in conn.execute(_VIEWS.encode()).fetchall()]


def _rows(conn: Connection, view: str, **where: str) -> list[dict[str, Any]]:
    """Rows of a view as an operator's login sees them."""
    query = sql.SQL("select to_jsonb(v) from {} as v where true").format(
        sql.Identifier("loom", view)
    )
    for column, value in where.items():
        query += sql.SQL(" and {} = {}").format(sql.Identifier(column), sql.Literal(value))
    with acting_as(conn, "loom_test_operator"):
        return [row for (row,) in conn.execute(query).fetchall()]


def _fill(conn: Connection, org: str, user: str) -> dict[str, Any]:
    """Rows of a user in every plane, their texts with the canary; the locked row's receipt."""
    where = {"org": org, "namespace": "n", "user_id": user}
    own = {**where, "agent": CANARY, "session_id": CANARY}
    full = {"block_key": CANARY, "content": CANARY, "char_limit": len(CANARY)}
    operate(conn, "working_memory.set", **own, run_id=CANARY, **full)
    operate(conn, "memory.set", **own, memory_key=CANARY, value={CANARY: [CANARY]}, tags=[CANARY])
    operate(conn, "memory.set", **own, memory_key=CANARY, value="shorter")
    operate(conn, "memory.set", **own, memory_key="gone", value=CANARY)
    operate(conn, "memory.delete", **own, memory_key="gone")
    operate(conn, "profile.set", **own, label=f"{CANARY}s", value=CANARY)
    operate(conn, "profile.set", **where, label="structured_profile", value={})
    operate(conn, "user_profile.apply", **where, delta={"summary": CANARY})
    said = [{"id": CANARY, "text": CANARY}]
    operate(conn, "user_profile.update", **where, signals=said, source="llm")
    conn.execute(
        "select loom.execute('working_memory.append', %s, %s)",
        (Jsonb({**where, "addition": CANARY}), f"{CANARY} {user}"),
    )
    token = mint_token(conn, org=org, label=CANARY)
    reads = [{"user_id": user, "label": f"{CANARY}s", "reads": 2}]
    with acting_as(conn, "loom_gateway"):
        call(conn, token, "profile.activity_record", namespace="n", agent=CANARY, reads=reads)
    _schema(conn, CANARY, org=org)
    conn.execute(
        "update loom.build set listed_at = now(), due_at = now(), next_attempt_at = now() + '1 h',"
        " attempts = 1, last_error = 'MODEL_UNAVAILABLE', built_at = now()"
        " where org = %s and user_id = %s",
        (org, user),
    )
    used(conn, 5, org=org)
    weave_rows(conn, org, "n", CANARY, user)
    return operate(conn, "memory.lock", **own, memory_key=CANARY, reason=CANARY)


def _schema(conn: Connection, name: str = "name", *, org: str = "acme") -> None:
    """Gives namespace n a schema with one property."""
    described = {name: {"type": "string", "description": CANARY}}
    schema = {"type": "object", "properties": described}
    operate(conn, "profile_schema.set", org=org, namespace="n", json_schema=schema)


def _learn(conn: Connection, *users: str, value: str = "tea") -> None:
    for user in users:
        where = {"org": "acme", "namespace": "n", "user_id": user}
        operate(conn, "memory.set", **where, memory_key="likes", value=value)


def _built(conn: Connection) -> None:
    """Every user as a worker leaves it that has built all there is to build."""
    conn.execute(
        "update loom.build as b set built_at = now(), row_state = 'served', due_at = null,"
        "  built_digest = s.source_digest, built_count = s.source_count, listed_at = null,"
        "  built_sha256 = p.schema_sha256, schema_rev = p.schema_rev"
        " from loom.user_state as s, loom.profile_schema as p"
        " where (s.org, s.namespace, s.user_id) = (b.org, b.namespace, b.user_id)"
        " and (p.org, p.namespace) = (b.org, b.namespace)"
    )


def _leases(conn: Connection) -> dict[str, Any]:
    """What a worker takes of namespace n: users and their leases."""
    with acting_as(conn, "loom_worker"):
        conn.execute("select from loom.work_due('structured_profile')")
        rows = conn.execute(
            "select user_id, lease_id from loom.work_claim('acme', 'n', 'structured_profile', 9)"
        ).fetchall()
    return dict(rows)


def _fail(conn: Connection, lease: Any, outcome: str, error: str) -> None:
    with acting_as(conn, "loom_worker"):
        conn.execute("select loom.work_read('acme', %s)", (lease,))
        conn.execute("select loom.work_fail('acme', %s, %s, %s)", (lease, outcome, error))


def test_operators_read_the_views_and_no_other_client_does(db: Connection) -> None:
    assert _views(db) == [
        *("v_backoff", "v_builds", "v_due", "v_full", "v_locks", "v_usage"),
        *("v_user_profile_tasks", "v_user_rows"),
    ]
    operators = {"loom_operator", "loom_test_operator"}
    for view in _views(db):
        for client in {*CLIENT_ROLES, *SERVICES}:
            query = sql.SQL("select * from {}").format(sql.Identifier("loom", view))
            with acting_as(db, client):
                if client in operators:
                    assert db.execute(query).fetchall() == []
                else:
                    with refused(db, "42501"):
                        db.execute(query)


def test_operators_only_read_the_views(db: Connection) -> None:
    for view in _views(db):
        row = db.execute(
            "select has_table_privilege('loom_operator', %s, 'insert, update, delete, truncate')",
            (f"loom.{view}",),
        ).fetchone()
        assert row == (False,), view


def test_no_view_shows_a_text_of_a_caller(db: Connection) -> None:
    _fill(db, "acme", "u-1")
    for view in _views(db):
        shown = _rows(db, view)
        assert shown, view
        assert CANARY not in str(shown), view


def test_operators_see_every_org_without_entering_one(db: Connection) -> None:
    for org in ("acme", "zenith"):
        _fill(db, org, "u-1")
    db.execute("select set_config('loom.org', '', true)")
    for view in _views(db):
        assert {row["org"] for row in _rows(db, view)} == {"acme", "zenith"}, view


def test_the_locks_in_force_are_shown_by_id(db: Connection) -> None:
    where = {"org": "acme", "namespace": "n"}
    receipts = {
        key: operate(db, "memory.set", **where, memory_key=key, value=key)
        for key in ("open", "held", "timed", "over", "off")
    }
    locks: dict[str, dict[str, Any]] = {
        "held": {},
        "timed": {"mode": "no_delete", "until": "2999-01-01T00:00:00Z"},
        "over": {"until": "2999-01-01T00:00:00Z"},
        "off": {},
    }
    for key, lock in locks.items():
        operate(db, "memory.lock", **where, memory_key=key, reason="why", **lock)
    operate(db, "memory.unlock", **where, memory_key="off")
    # A lock cannot be made to end in the past.
    db.execute("update loom.memory set lock_until = now() where memory_key = 'over'")
    shown = {row["memory_id"]: row for row in _rows(db, "v_locks")}
    assert set(shown) == {receipts["held"]["memory_id"], receipts["timed"]["memory_id"]}
    held = shown[receipts["held"]["memory_id"]]
    assert (held["mode"], held["until"], held["memory_type"]) == ("read_only", None, "semantic")
    assert (held["org"], held["namespace"]) == ("acme", "n")
    assert held["locked_at"] is not None
    assert held["locked_by"]
    timed = shown[receipts["timed"]["memory_id"]]
    assert timed["mode"] == "no_delete"
    assert timed["until"].startswith("2999-01-01T00:00:00")


def test_a_users_rows_are_counted_by_plane(db: Connection) -> None:
    _fill(db, "acme", "u-1")
    _fill(db, "acme", "u-2")
    found = {row["plane"]: row for row in _rows(db, "v_user_rows", org="acme", user_id="u-1")}
    counts = {plane: (row["total"], row["live"]) for plane, row in found.items()}
    assert counts == {
        "working_memory": (2, 2),
        "memory": (2, 1),
        # set, set, lock; set, delete; two sections. Lock and deletion hold no value.
        "memory_version": (7, 5),
        "profile": (1, 1),
        "structured_profile": (1, 1),
        # And its one version.
        "user_profile": (2, 1),
        # Its live rows are those with something to build.
        "work": (1, 1),
        "activity": (1, 1),
        "idempotency": (1, 1),
        # Two threads, a version of the one that was deleted, a turn.
        "loom_thread": (4, 2),
    }
    assert found["memory"]["characters"] == len('"shorter"')
    assert found["memory"]["oldest_at"] <= found["memory"]["newest_at"]
    assert found["idempotency"]["namespace"] is None
    assert {row["namespace"] for row in found.values()} == {"n", None}


def test_the_numbers_are_those_of_an_erasure(db: Connection) -> None:
    """Also holds the view to the list of planes: a new plane needs a part in it."""
    _fill(db, "acme", "u-1")
    planes = db.execute(
        # Vectors are where the server has them; loom.embedding_progress tells of those.
        "select distinct plane from loom.erasure_plane where plane <> 'embedding'"
    ).fetchall()
    found = {row["plane"]: row for row in _rows(db, "v_user_rows", org="acme", user_id="u-1")}
    assert set(found) == {plane for (plane,) in planes}
    removed = operate(db, "erasure.request", org="acme", user_id="u-1")["removed"]
    assert {plane: row["total"] for plane, row in found.items()} == {
        plane: count for plane, count in removed.items() if count
    }
    assert _rows(db, "v_user_rows", org="acme", user_id="u-1") == []


def test_what_is_due_is_shown_with_why(db: Connection) -> None:
    _learn(db, "changed", "row", "same")
    _schema(db)
    _built(db)
    _learn(db, "new")
    _learn(db, "changed", value="coffee")
    where = {"org": "acme", "namespace": "n", "user_id": "row"}
    operate(db, "profile.set", **where, label="structured_profile", value={"name": "x"})

    def reasons() -> dict[str, list[str]]:
        rows = _rows(db, "v_due", org="acme")
        for row in rows:
            assert (row["namespace"], row["kind"]) == ("n", "structured_profile")
            assert (row["attempts"], row["last_error"], row["held"]) == (0, None, None)
            assert row["listed_at"] is not None
            assert row["due_at"] is not None
        return {row["user_id"]: row["reasons"] for row in rows}

    assert reasons() == {"new": ["new"], "changed": ["sources"], "row": ["row"]}
    # Nobody has looked at these since, and they are shown all the same.
    _schema(db, "other")
    assert reasons() == {
        "new": ["new"],
        "changed": ["sources", "schema"],
        "row": ["schema", "row"],
        "same": ["schema"],
    }
    # The schema that they were built under comes back.
    _schema(db)
    assert reasons() == {"new": ["new"], "changed": ["sources"], "row": ["row"]}
    operate(db, "profile_schema.clear", org="acme", namespace="n")
    assert reasons() == {}


def test_a_user_whose_last_fact_went_is_due_and_one_without_a_profile_is_not(
    db: Connection,
) -> None:
    _learn(db, "built", "never")
    _schema(db)
    _built(db)
    db.execute("update loom.build set row_state = null, built_at = null where user_id = 'never'")
    for user in ("built", "never"):
        where = {"org": "acme", "namespace": "n", "user_id": user}
        operate(db, "memory.delete", **where, memory_key="likes")
    assert {row["user_id"]: row["reasons"] for row in _rows(db, "v_due")} == {"built": ["sources"]}


def test_a_fact_that_ends_makes_its_user_due_when_it_does(db: Connection) -> None:
    where = {"org": "acme", "namespace": "n", "user_id": "u"}
    ends = "2999-01-01T00:00:00Z"
    operate(db, "memory.set", **where, memory_key="till", value="x", valid_to=ends)
    _schema(db)
    _built(db)
    assert _rows(db, "v_due") == []
    db.execute("update loom.build set due_at = now() - interval '1 s'")
    db.execute("update loom.user_state set next_change_at = now() - interval '1 s'")
    (row,) = _rows(db, "v_due")
    assert (row["reasons"], row["listed_at"]) == (["time"], None)


def test_what_is_due_and_may_not_be_built_says_so(db: Connection) -> None:
    _learn(db, "u")
    _schema(db)
    operate(db, "org.set_model_calls", org="acme", enabled=False)
    assert [row["held"] for row in _rows(db, "v_due")] == ["model_calls_off"]
    operate(db, "org.set_model_calls", org="acme", enabled=True)
    assert [row["held"] for row in _rows(db, "v_due")] == [None]
    cap(db, 100)
    used(db, 99)
    assert [row["held"] for row in _rows(db, "v_due")] == [None]
    used(db, 1)
    assert [row["held"] for row in _rows(db, "v_due")] == ["model_token_cap"]
    db.execute("update loom.model_day set day = day - 1")
    assert [row["held"] for row in _rows(db, "v_due")] == [None]
    assert _rows(db, "v_backoff") == []
    sha256 = db.execute("select schema_sha256 from loom.profile_schema").fetchone()
    assert sha256 is not None
    with acting_as(db, "loom_worker"):
        db.execute("select loom.work_fail_namespace('acme', 'n', 'structured_profile', %s)", sha256)
    assert [row["held"] for row in _rows(db, "v_due")] == ["schema_unreadable"]
    (waiting,) = _rows(db, "v_backoff")
    assert (waiting["namespace"], waiting["user_id"]) == ("n", None)
    assert (waiting["attempts"], waiting["last_error"]) == (1, "SCHEMA_UNREADABLE")
    assert waiting["until"] is not None


def test_what_was_built_is_shown_with_what_it_was_built_from(db: Connection) -> None:
    _learn(db, "same", "changed", "under way", "new")
    _schema(db)
    assert _rows(db, "v_builds") == []
    leases = _leases(db)
    with acting_as(db, "loom_worker"):
        for user in ("same", "changed"):
            db.execute("select loom.work_read('acme', %s)", (leases[user],))
            db.execute("select loom.work_complete('acme', %s, '{}', null)", (leases[user],))
    _fail(db, leases["new"], "failed", "MODEL_TIMEOUT")
    _learn(db, "changed", value="coffee")

    def shown(*columns: str) -> dict[str, tuple[Any, ...]]:
        rows = _rows(db, "v_builds", org="acme", namespace="n", kind="structured_profile")
        return {row["user_id"]: tuple(row[column] for column in columns) for row in rows}

    assert shown("sources", "row_state", "schema_current", "sources_current", "attempts") == {
        "same": (1, "served", True, True, 0),
        "changed": (1, "served", True, False, 0),
        "under way": (None, None, False, False, 1),
    }
    for user, times in shown("built_at", "tried_at", "leased_until", "lease_id").items():
        assert [time is not None for time in times] == [user != "under way"] * 2 + [
            user == "under way"
        ] * 2
    _schema(db, "other")
    assert set(shown("schema_current").values()) == {(False,)}


def test_what_models_took_is_added_up(db: Connection) -> None:
    used(db, model_call(100, 20), model_call(7, 0, outcome="CUT_OFF"), model_call(1, 2))
    used(db, 5, org="zenith")
    (row,) = _rows(db, "v_usage", org="acme")
    assert row.pop("day")
    assert row == {
        "org": "acme",
        "purpose": "structured_profile",
        "model": "gpt",
        "calls": 3,
        "prompt_tokens": 108,
        "completion_tokens": 22,
        "milliseconds": 210,
        "outcomes": {"OK": 2, "CUT_OFF": 1},
    }


def test_who_waits_is_shown_with_until_when_and_why(db: Connection) -> None:
    _learn(db, "cut", "failed", "gone", "under way")
    _schema(db)
    leases = _leases(db)
    assert set(leases) == {"cut", "failed", "gone", "under way"}
    assert _rows(db, "v_backoff") == []
    under_way = {row["user_id"]: row for row in _rows(db, "v_due")}
    assert set(under_way) == set(leases)
    for row in under_way.values():
        assert row["attempts"] == 1
        assert row["leased_until"] <= row["due_at"]
    _fail(db, leases["failed"], "failed", "MODEL_TIMEOUT")
    _fail(db, leases["cut"], "cut_off", "CUT_OFF")
    # A worker that died: its lease is over, and no other has come by yet.
    db.execute("update loom.build set leased_until = now() where user_id = 'gone'")
    waiting = {row["user_id"]: row for row in _rows(db, "v_backoff", org="acme")}
    assert {
        user: (row["attempts"], row["last_error"], row["refused"]) for user, row in waiting.items()
    } == {
        "failed": (1, "MODEL_TIMEOUT", None),
        "cut": (0, "CUT_OFF", "CUT_OFF"),
        "gone": (1, "LEASE_LOST", None),
    }
    due = {row["user_id"]: row for row in _rows(db, "v_due", org="acme")}
    for user in ("failed", "cut"):
        assert waiting[user]["until"] == due[user]["due_at"]
        assert due[user]["leased_until"] is None
    assert waiting["cut"]["until"] > waiting["failed"]["until"]


def test_o5_where_writes_are_refused_for_want_of_room_is_shown(db: Connection) -> None:
    where = {"org": "acme", "namespace": "n", "user_id": "u-1"}
    block = {**where, "block_key": "log", "char_limit": 10}
    operate(db, "working_memory.set", **block, content="12345678")
    operate(db, "working_memory.set", **{**block, "user_id": "u-2"}, content="1")
    operate(db, "memory.set", **where, memory_key="roomy", value="x")
    assert _rows(db, "v_full", org="acme") == []
    operate(db, "working_memory.append", **where, block_key="log", addition="9", separator="")
    for _ in range(3):
        with refused(db, "LM401"):
            operate(db, "working_memory.append", **where, block_key="log", addition="too long")
    operate(db, "memory.set", **where, memory_key="k", value="1" * 17, char_limit=20)
    operate(db, "profile.set", **where, label="l", value="1234", char_limit=6)
    operate(db, "profile.set", **where, label="m", value="1234", char_limit=6)
    shown = {row["plane"]: row for row in _rows(db, "v_full", org="acme")}
    assert {plane: (row["full_rows"], row["fill_ratio"]) for plane, row in shown.items()} == {
        "working_memory": (1, 0.9),
        "memory": (1, 0.95),
        "profile": (2, 1),
    }
    assert {row["user_id"] for row in shown.values()} == {"u-1"}
    operate(db, "working_memory.delete", **where, block_key="log")
    operate(db, "erasure.request", org="acme", user_id="u-1")
    assert _rows(db, "v_full", org="acme") == []


@pytest.mark.parametrize(
    ("query", "index"),
    [
        ("select * from loom.v_locks", "memory_lock_idx"),
        ("select * from loom.v_locks where org = 'acme'", "memory_lock_idx"),
    ],
)
def test_locks_are_found_without_reading_every_row(db: Connection, query: str, index: str) -> None:
    db.execute("set local enable_seqscan = off")
    db.execute("set local enable_bitmapscan = off")
    plan = "\n".join(line for (line,) in db.execute(f"explain {query}".encode()).fetchall())
    assert index in plan

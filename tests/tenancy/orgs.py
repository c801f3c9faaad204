"""Orgs whose ids nearly collide, with rows in every table, and ways to look for leaks."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import psycopg
from psycopg import sql
from psycopg.types.json import Jsonb

from tests.calls import Token, mint_token, operate
from tests.sql.loom_rows import weave_rows
from tests.sql.profile_schemas import EXAMPLE
from tests.vectors import seed_vectors

Connection = psycopg.Connection[Any]
Answer = dict[str, Any]
Rows = dict[str, list[str]]

COLLIDING = (
    "a",
    "A",
    "a%",
    "a_",
    "a:b",
    "a.b",
    "a\\",
    "ab",
    "a ",
    "%",
    "caf\u00e9",  # one composed character
    "cafe\u0301",  # the same to a reader: a letter and a combining mark
    "👩",
    "👩‍👩‍👧",
)
"""Each is another's prefix, pattern, case, canonical equivalent or look-alike."""

USERS = ("-", "a", "a%", "A")
KEYS = ("a", "a%", "scratchpad")

LABELS = ("persona", "persona%")

# What a caller of an org might try as an id of its own request.
ATTEMPTS = ("a", "A", "a%", "%", "-")


@dataclass(frozen=True)
class Org:
    """An org, its admin's token, and what must never be seen outside it."""

    name: str
    canary: str
    token: Token
    traces: tuple[str, ...] = field(default=())


def seed(conn: Connection, name: str, number: int) -> Org:
    """Makes an org with the ids that every other has too, and texts that no other has."""
    canary = f"canary-{number:02}-"
    token = mint_token(conn, org=name, role="admin", label=canary)
    second = mint_token(conn, org=name, namespace="a", label=canary)
    conn.execute("select loom.service_bind('loom_test_viewer', %s)", (name,))
    for user in USERS:
        for key in KEYS:
            operate(
                conn,
                "working_memory.set",
                org=name,
                namespace="a",
                user_id=user,
                block_key=key,
                content=canary,
                description=canary,
            )
    for namespace in ATTEMPTS[:-1]:
        conn.execute(
            "select loom.execute('working_memory.append', %s, %s)",
            (
                Jsonb({"org": name, "namespace": namespace, "user_id": "u", "addition": canary}),
                f"key {namespace}",
            ),
        )
        operate(conn, "namespace.update", org=name, namespace=namespace, weaver_model=canary)
    memory_ids = _seed_memory(conn, name, canary)
    ids = conn.execute(
        "select namespace_id::text from loom.namespace where org = %s", (name,)
    ).fetchall()
    traces = (
        canary,
        str(token.org_id),
        token.answer["token_id"],
        second.answer["token_id"],
        *(namespace_id for (namespace_id,) in ids),
        *memory_ids,
    )
    return Org(name, canary, token, traces)


def _seed_memory(conn: Connection, name: str, canary: str) -> list[str]:
    """Facts, sections, derived rows, activity, patterns and settings; the ids of the rows."""
    place = {"org": name, "namespace": "a"}
    for user in USERS:
        for key in KEYS:
            operate(
                conn,
                "memory.set",
                **place,
                user_id=user,
                memory_key=key,
                value={canary: canary},
                tags=[canary],
                source_trace=canary,
            )
        for label in LABELS:
            operate(conn, "profile.set", **place, user_id=user, label=label, value=canary)
    operate(conn, "memory.lock", **place, memory_key="scratchpad", reason=canary)
    for scope in ("namespace", "org"):
        pattern = f"never said {canary}"
        operate(conn, "blacklist.add", **place, pattern=pattern, scope=scope, reason=canary)
    described = {"type": "boolean", "description": canary}
    json_schema = {"type": "object", "title": canary, "properties": {canary: described}}
    operate(conn, "profile_schema.set", **place, json_schema=json_schema)
    operate(conn, "org.set_model_calls", org=name, enabled=True)
    for user in USERS[1:]:
        said = [{"id": "1", "text": canary}]
        whom = {**place, "user_id": user}
        operate(conn, "user_profile.apply", **whom, delta={"summary": canary, "source": canary})
        operate(conn, "user_profile.update", **whom, signals=said, source="llm")
    conn.execute(
        "insert into loom.memory_source (org, source_id, memory_id, version, namespace, user_id)"
        " select org, memory_id, memory_id, version, namespace, user_id from loom.memory"
        " where org = %s",
        (name,),
    )
    told = {"outcome": "OK", "prompt_tokens": 3, "completion_tokens": 2, "milliseconds": 1}
    conn.execute(
        "select loom.work_used(%s, 'a', gen_random_uuid(), 'structured_profile', %s, %s)",
        (name, canary, Jsonb([told])),
    )
    seed_vectors(conn, name)
    woven = weave_rows(conn, name, "a", canary)
    # What a pass does for a namespace with something to build.
    conn.execute(
        "insert into loom.pass_share (org, namespace, kind, share, share_left)"
        " values (%s, 'a', 'structured_profile', 1, 1)",
        (name,),
    )
    # What the API does when it says which sections it served.
    conn.execute(
        "insert into loom.profile_activity"
        " (org, namespace, user_id, label, client, agent, day, reads, last_at)"
        " select org, namespace, user_id, memory_key, %s, agent, current_date, 1, now()"
        " from loom.memory where org = %s and memory_type = 'profile'",
        (canary, name),
    )
    rows = conn.execute("select memory_id::text from loom.memory where org = %s", (name,))
    return [woven, *(memory_id for (memory_id,) in rows.fetchall())]


def seed_all(conn: Connection) -> list[Org]:
    return [seed(conn, name, number) for number, name in enumerate(COLLIDING)]


def tables_of_orgs(conn: Connection) -> list[str]:
    """Every table that has an org column."""
    rows = conn.execute(
        "select c.relname::text from pg_class c join pg_attribute a on a.attrelid = c.oid"
        " where c.relnamespace = 'loom'::regnamespace and c.relkind in ('r', 'p')"
        " and a.attname = 'org' and not a.attisdropped order by 1"
    ).fetchall()
    return [name for (name,) in rows]


def rows_by_org(conn: Connection) -> dict[str, Rows]:
    """All rows of all orgs, as a superuser sees them: org, then table, then rows as JSON."""
    found: dict[str, Rows] = {}
    for table in tables_of_orgs(conn):
        statement = sql.SQL(
            "select org, to_jsonb(t)::text from {} as t order by org, to_jsonb(t)::text"
        ).format(sql.Identifier("loom", table))
        for org, row in conn.execute(statement).fetchall():
            found.setdefault(org, {}).setdefault(table, []).append(row)
    for org, row in conn.execute("select name, to_jsonb(t)::text from loom.org as t").fetchall():
        found.setdefault(org, {})["org"] = [row]
    return found


def text_of(answer: object) -> str:
    """An answer as one text, with no character escaped."""
    return json.dumps(answer, ensure_ascii=False)


NO_ID = "00000000-0000-0000-0000-000000000000"

OWN_FIELDS: dict[str, list[Answer]] = {
    "working_memory.set": [{"content": "attack"}, {"content": "attack", "block_key": "a%"}],
    "working_memory.append": [{"addition": "attack"}, {"addition": "attack", "block_key": "a"}],
    "working_memory.replace": [{"old": "canary", "new": "attack", "block_key": "a"}],
    "working_memory.delete": [{}, {"block_key": "a%"}],
    "working_memory.get": [{}, {"block_key": "a"}, {"block_key": "%"}],
    "working_memory.list": [
        {"include_deleted": True, "limit": 200},
        {"limit": 1, "cursor": "a"},
    ],
    "working_memory.render": [
        {"layered": True, "limit": 100},
        {"block_keys": ["a", "a%", "%"], "format": "markdown"},
    ],
    "namespace.list": [{}, {"limit": 1, "cursor": "A"}],
    "namespace.get": [{}],
    "namespace.update": [{"quiet_minutes": 7, "weaver_model": "attack"}],
    "token.mint": [{"role": "viewer", "label": "attack"}],
    "token.list": [{"limit": 200}, {"cursor": "00000000-0000-0000-0000-000000000000"}],
    "memory.set": [
        {"memory_key": "new", "value": "attack"},
        {"memory_key": "a", "value": "attack"},
    ],
    "memory.get": [
        {"memory_key": "scratchpad"},
        {"memory_key": "a", "as_of": "9999-01-01T00:00:00Z"},
    ],
    "memory.list": [{"include_deleted": True, "limit": 200}, {"tags": ["canary"]}],
    "memory.search": [
        {"query": "canary a A attack", "limit": 100, "explain": True},
        {"query": "scratchpad", "query_embedding": {"model": "m", "vector": [1, 2, 3]}},
    ],
    "search.query": [
        {"query": "canary persona of mine", "limit": 100},
        {"query": "persona", "query_embedding": {"model": "m", "vector": [1, 2, 3]}},
    ],
    "memory.ask": [{"query": "canary"}],
    "memory.history": [{"memory_key": "scratchpad", "limit": 200}],
    "memory.delete": [{"memory_key": "a%"}],
    "memory.restore": [{"memory_key": "a%"}],
    "memory.revert": [{"memory_key": "new", "version": 1}],
    "memory.lock": [{"memory_key": "a%", "reason": "attack"}],
    "memory.unlock": [{"memory_key": "a%"}],
    "memory.pin": [{"memory_key": "a"}],
    "memory.unpin": [{"memory_key": "a"}],
    "memory.label": [{"memory_key": "a", "tags": {"add": ["attack"]}}],
    "memory.redact": [{"memory_key": "a%", "reason": "attack"}],
    "blacklist.add": [
        {"pattern": "not to be said", "reason": "attack"},
        {"pattern": "n.t t. be s.id", "pattern_type": "regex"},
    ],
    "blacklist.list": [{"limit": 200}],
    "blacklist.remove": [{"blacklist_id": "00000000-0000-0000-0000-000000000000"}],
    "profile.set": [{"label": "persona", "value": "attack"}],
    "profile.append": [{"label": "new", "addition": "attack"}],
    "profile.replace": [{"label": "persona%", "old": "canary", "new": "attack"}],
    "profile.list": [{"limit": 200}],
    "profile.delete": [{"label": "new"}],
    "profile.render": [{}, {"labels": ["persona%", "%"], "format": "markdown"}],
    "profile.activity": [{}],
    "profile.structured": [{}, {"explain": True}],
    "profile.structured_build": [{}],
    "profile.activity_record": [{"reads": [{"user_id": "a", "label": "persona", "reads": 1}]}],
    "model.admit": [{"model": "embedder"}],
    "model.record": [
        {
            "purpose": "ask",
            "model": "attack",
            "calls": [
                {"outcome": "OK", "prompt_tokens": 1, "completion_tokens": 1, "milliseconds": 1}
            ],
        }
    ],
    "context.pack": [
        {"query": "canary attack"},
        {"labels": ["persona%", "%"], "session_block": "a%", "format": "markdown"},
    ],
    "profile_schema.set": [{"json_schema": EXAMPLE}, {"json_schema": {}}],
    "profile_schema.get": [{}],
    "profile_schema.clear": [{}],
    "user_profile.update": [
        {"signals": [{"text": "Call me Attack."}]},
        {"signals": [{"id": "1", "text": "attack"}], "source": "llm"},
    ],
    "user_profile.apply": [{"delta": {"summary": "attack"}, "scope": {"user": "a"}}],
    "user_profile.put": [{"profile": {"summary": "attack"}}],
    "user_profile.get": [{"signal_ids": ["1"]}, {"as_of_version": 1, "include_document": True}],
    "user_profile.history": [{"limit": 200}, {"scope": {"tenant": "a"}}],
    "user_profile.render": [{}, {"format": "xml"}],
    "user_profile.reset": [{}],
    "user_profile.delete": [{}],
    "looms.create": [{"name": "attack"}, {"namespaceId": NO_ID, "name": "attack"}],
    "looms.get": [{}],
    "looms.list": [{"pageSize": 200}, {"namespaceId": NO_ID}],
    "looms.update": [{"name": "renamed", "settings": {"nightWeaving": True}}],
    "looms.delete": [{}],
    "looms.bind": [{"readScope": "namespace"}, {"agents": ["a", "%"]}],
    "looms.thread_add": [{"text": "attack"}],
    "looms.thread_list": [{"readScope": "namespace", "includeDeleted": True, "pageSize": 200}],
    "looms.thread_delete": [{"threadId": NO_ID}],
    "looms.activity": [{"text": "attack"}],
    "looms.inspection": [{"readScope": "namespace"}, {}],
    "looms.weave": [{}, {"dryRun": True}],
    "looms.weaving_get": [{"weavingId": NO_ID, "readScope": "namespace"}],
    "looms.weaving_list": [{"pageSize": 200}],
    "looms.weaving_revert": [{"weavingId": NO_ID}],
    "erasure.request": [{}],
    "audit.list": [{"limit": 200}],
    "org.set_model_calls": [{"enabled": False}],
    "token.revoke": [],  # by the ids of others' tokens
    "batch": [],  # of all the others
}
"""Own fields of attempts, by operation. An operation that is not here fails the tests."""

WITHOUT_LOOM = {"looms.create", "looms.list"}


def woven_ids(conn: Connection, org: str) -> list[Answer]:
    """Ids of two other orgs' looms, threads, weavings and namespaces; none where there are none."""
    rows = conn.execute(
        "select distinct on (loom.org) loom.loom_id::text, thread_id::text,"
        " loom_weaving.weaving_id::text, namespace_id::text from loom.loom"
        " join loom.loom_thread using (org, loom_id)"
        " join loom.loom_weaving using (org, loom_id)"
        " join loom.namespace on namespace.org = loom.org and namespace.name = loom.namespace"
        " where loom.org <> %s order by loom.org limit 2",
        (org,),
    ).fetchall()
    names = ("loomId", "threadId", "weavingId", "namespaceId")
    return [dict(zip(names, row, strict=True)) for row in rows]


def of_others(op: str, own: Answer, others: list[Answer]) -> list[Answer]:
    """Fields of a looms operation with the ids of others in them, or none of these."""
    if op in WITHOUT_LOOM:
        named = others if "namespaceId" in own else []
        return [own] + [{**own, "namespaceId": other["namespaceId"]} for other in named]
    return [{**own, "loomId": NO_ID}] + [
        {**own, "loomId": other["loomId"], **{name: other[name] for name in own if name in other}}
        for other in others
    ]


def attempts(conn: Connection, org: str, token_ids: list[str]) -> Iterator[tuple[str, Answer]]:
    """Requests of an org for every operation there is, with ids that are also ids of other orgs."""
    operations = conn.execute(
        # Erasures last: what they leave could not be shown or changed by anything else.
        "select op, identity from loom.operation order by op = 'erasure.request', op"
    ).fetchall()
    assert {op for op, _ in operations} == set(OWN_FIELDS)
    items = []
    for op, identity in operations:
        fields = OWN_FIELDS[op]
        if op == "token.revoke":
            fields = [{"token_id": token_id} for token_id in token_ids]
        if op.startswith("looms."):
            others = woven_ids(conn, org)
            fields = [each for own in fields for each in of_others(op, own, others)]
        named = [field for field in identity if field != "org"]
        for own in fields:
            for value in ATTEMPTS if named else ("",):
                ids = dict.fromkeys(named, value)
                if value == "-" and "namespace" in ids:
                    ids["namespace"] = "a"
                request = {"org": org, **ids, **own}
                yield op, request
                items.append({"op": op, **request})
    for start in range(0, len(items), 50):
        yield "batch", {"org": org, "requests": items[start : start + 50]}

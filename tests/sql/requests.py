"""A valid request for every operation, and what each field does not take.

`test_request_shape` holds these tables to `loom.operation`, so a new operation or field is missed
here by a failing test.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from uuid import uuid4

from tests.calls import Answer, Connection, operate
from tests.sql.profile_schemas import EXAMPLE

_PLACE = {"org": "acme", "namespace": "main"}

LOOM = "3f2b8c1e-5d4a-4e6b-9c7d-2a1b0c9d8e7f"
THREAD = "3f2b8c1e-5d4a-4e6b-9c7d-2a1b0c9d8e80"
WEAVING = "3f2b8c1e-5d4a-4e6b-9c7d-2a1b0c9d8e81"
"""Of the loom that `woven` makes."""

VALID: dict[str, Answer] = {
    "working_memory.set": {**_PLACE, "content": "text"},
    "working_memory.append": {**_PLACE, "addition": "text"},
    "working_memory.replace": {**_PLACE, "block_key": "live", "old": "old", "new": "new"},
    "working_memory.delete": _PLACE,
    "working_memory.get": _PLACE,
    "working_memory.list": _PLACE,
    "working_memory.render": _PLACE,
    "namespace.list": {"org": "acme"},
    "namespace.get": _PLACE,
    "namespace.update": _PLACE,
    "token.mint": {"org": "acme", "role": "viewer"},
    "token.list": {"org": "acme"},
    "token.revoke": {"org": "acme", "token_id": str(uuid4())},
    "batch": {"org": "acme", "requests": [{"op": "working_memory.get", "namespace": "main"}]},
    "memory.set": {**_PLACE, "memory_key": "fact", "value": "text"},
    "memory.get": {**_PLACE, "memory_key": "fact"},
    "memory.list": _PLACE,
    "memory.search": {**_PLACE, "query": "what is it"},
    "search.query": {**_PLACE, "query": "what is it"},
    "memory.ask": {**_PLACE, "query": "what is it"},
    "memory.history": {**_PLACE, "memory_key": "fact"},
    "memory.delete": {**_PLACE, "memory_key": "fact"},
    "memory.restore": {**_PLACE, "memory_key": "fact"},
    "memory.revert": {**_PLACE, "memory_key": "fact", "version": 1},
    "memory.lock": {**_PLACE, "memory_key": "fact", "reason": "text"},
    "memory.unlock": {**_PLACE, "memory_key": "fact"},
    "memory.pin": {**_PLACE, "memory_key": "fact"},
    "memory.unpin": {**_PLACE, "memory_key": "fact"},
    "memory.label": {**_PLACE, "memory_key": "fact"},
    "memory.redact": {**_PLACE, "memory_key": "fact", "reason": "text"},
    "blacklist.add": {**_PLACE, "pattern": "not to be said"},
    "blacklist.list": _PLACE,
    "blacklist.remove": {**_PLACE, "blacklist_id": str(uuid4())},
    "profile.set": {**_PLACE, "label": "persona", "value": "text"},
    "profile.append": {**_PLACE, "label": "persona", "addition": "text"},
    "profile.replace": {**_PLACE, "label": "persona", "old": "old", "new": "new"},
    "profile.list": _PLACE,
    "profile.delete": {**_PLACE, "label": "persona"},
    "profile.render": _PLACE,
    "profile.activity": _PLACE,
    "profile.structured": {**_PLACE, "user_id": "u1"},
    "profile.structured_build": {**_PLACE, "user_id": "u1"},
    "context.pack": _PLACE,
    "profile_schema.set": {**_PLACE, "json_schema": EXAMPLE},
    "profile_schema.get": _PLACE,
    "profile_schema.clear": _PLACE,
    "user_profile.update": {**_PLACE, "user_id": "u1", "signals": [{"text": "Call me Sam."}]},
    "user_profile.apply": {**_PLACE, "user_id": "u1", "delta": {"summary": "text"}},
    "user_profile.put": {**_PLACE, "user_id": "u1", "profile": {"summary": "text"}},
    "user_profile.get": {**_PLACE, "user_id": "u1"},
    "user_profile.history": {**_PLACE, "user_id": "u1"},
    "user_profile.render": {**_PLACE, "user_id": "u1"},
    "user_profile.reset": {**_PLACE, "user_id": "u1"},
    "user_profile.delete": {**_PLACE, "user_id": "u1"},
    "erasure.request": {"org": "acme", "user_id": "u1"},
    "looms.create": {**_PLACE, "name": "new loom"},
    "looms.get": {**_PLACE, "loomId": LOOM},
    "looms.list": _PLACE,
    "looms.update": {**_PLACE, "loomId": LOOM},
    "looms.delete": {**_PLACE, "loomId": LOOM},
    "looms.bind": {**_PLACE, "loomId": LOOM},
    "looms.thread_add": {**_PLACE, "loomId": LOOM, "text": "text"},
    "looms.thread_list": {**_PLACE, "loomId": LOOM},
    "looms.thread_delete": {**_PLACE, "loomId": LOOM, "threadId": THREAD},
    "looms.activity": {**_PLACE, "loomId": LOOM, "text": "text"},
    "looms.inspection": {**_PLACE, "loomId": LOOM},
    "looms.weave": {**_PLACE, "loomId": LOOM},
    "looms.weaving_get": {**_PLACE, "loomId": LOOM, "weavingId": WEAVING},
    "looms.weaving_list": {**_PLACE, "loomId": LOOM},
    "looms.weaving_revert": {**_PLACE, "loomId": LOOM, "weavingId": WEAVING},
    "audit.list": {"org": "acme"},
    "org.set_model_calls": {"org": "acme", "enabled": True},
}
"""Per operation a request with no more than it needs; replace wants a live block `live`: `old`,
looms want what `woven` makes."""


def woven(conn: Connection, org: str = "acme", namespace: str = "main") -> None:
    """A loom with a thread and a weaving that is done, under the ids that requests here name."""
    operate(conn, "namespace.update", org=org, namespace=namespace)
    place = {"org": org, "namespace": namespace, "loom": LOOM, "at": "2026-10-26T12:00:00Z"}
    conn.execute(
        "insert into loom.loom (org, namespace, loom_id, name, created_at, created_by,"
        " updated_at, updated_by)"
        " values (%(org)s, %(namespace)s, %(loom)s, 'a loom', %(at)s, 'x', %(at)s, 'x')",
        place,
    )
    conn.execute(
        "insert into loom.loom_thread (org, namespace, loom_id, thread_id, user_id, agent, text,"
        " created_at, created_by, updated_at, updated_by)"
        " values (%(org)s, %(namespace)s, %(loom)s, %(thread)s, '-', '-', 'a thread', %(at)s, 'x',"
        " %(at)s, 'x')",
        {**place, "thread": THREAD},
    )
    conn.execute(
        "insert into loom.loom_weaving (org, namespace, loom_id, weaving_id, cause, dry_run, state,"
        " requested_at, requested_by) values (%(org)s, %(namespace)s, %(loom)s, %(weaving)s,"
        " 'night', false, 'done', %(at)s, 'x')",
        {**place, "weaving": WEAVING},
    )


REQUIRED: dict[str, tuple[str, ...]] = {
    "working_memory.set": ("content",),
    "working_memory.append": ("addition",),
    "working_memory.replace": ("old", "new"),
    "token.mint": ("role",),
    "token.revoke": ("token_id",),
    "batch": ("requests",),
    "memory.set": ("memory_key", "value"),
    "memory.search": ("query",),
    "search.query": ("query",),
    "memory.ask": ("query",),
    "memory.delete": ("memory_key",),
    "memory.restore": ("memory_key",),
    "memory.revert": ("memory_key", "version"),
    "memory.lock": ("memory_key", "reason"),
    "memory.unlock": ("memory_key",),
    "memory.pin": ("memory_key",),
    "memory.unpin": ("memory_key",),
    "memory.label": ("memory_key",),
    "memory.redact": ("reason",),
    "blacklist.add": ("pattern",),
    "blacklist.remove": ("blacklist_id",),
    "profile.set": ("label", "value"),
    "profile.append": ("label", "addition"),
    "profile.replace": ("label", "old", "new"),
    "profile.delete": ("label",),
    "profile_schema.set": ("json_schema",),
    "user_profile.update": ("signals",),
    "user_profile.apply": ("delta",),
    "user_profile.put": ("profile",),
    "org.set_model_calls": ("enabled",),
    "looms.create": ("name",),
    "looms.get": ("loomId",),
    "looms.update": ("loomId",),
    "looms.delete": ("loomId",),
    "looms.thread_add": ("loomId", "text"),
    "looms.thread_list": ("loomId",),
    "looms.thread_delete": ("loomId", "threadId"),
    "looms.activity": ("loomId", "text"),
    "looms.inspection": ("loomId",),
    "looms.weave": ("loomId",),
    "looms.weaving_get": ("loomId", "weavingId"),
    "looms.weaving_list": ("loomId",),
    "looms.weaving_revert": ("loomId", "weavingId"),
}


@dataclass(frozen=True)
class Kind:
    """A kind of field: values of the wrong type or range, and how the reason they get begins."""

    wrong: tuple[Any, ...]
    reason: str


_NO_TEXT: tuple[Any, ...] = (1, 1.5, True, False, [], {}, ["text"], 10**400)

TEXT = Kind(_NO_TEXT, "must be a string")
BOOLEAN = Kind(("true", "", 0, 1, [], {}), "must be true or false")


def whole(least: int, most: int) -> Kind:
    """A whole number in a range."""
    wrong: tuple[Any, ...] = ("1", "", 1.5, True, [], {}, [1], least - 1, most + 1, 10**400)
    return Kind(wrong, f"must be a whole number from {least} to {most}")


def choice(*words: str) -> Kind:
    """One of a few words. A value that is no string is told so in other words."""
    wrong = (words[0].upper(), "", words[0] + " ", words[0] + "\n")
    return Kind(wrong, "must be one of " + ", ".join(words))


_IDS = (
    *("org", "namespace", "agent", "user_id", "session_id", "run_id"),
    *("block_key", "read_user_id", "label"),
)
_TEXTS = (
    *("content", "addition", "separator", "old", "new", "if_match_sha256", "if_none_match"),
    *("description", "cursor", "weaver_model"),
)

FIELDS: dict[str, Kind] = {
    **dict.fromkeys((*_IDS, *_TEXTS), TEXT),
    **dict.fromkeys(("if_absent", "read_only", "include_deleted", "layered"), BOOLEAN),
    "atomic": BOOLEAN,
    "night_weaving": BOOLEAN,
    "char_limit": Kind(("1", "", 1.5, True, [], {}), "must be a whole number"),
    "expected_count": whole(1, 1_000_000),
    "limit": whole(1, 200),
    "quiet_minutes": whole(0, 1440),
    "ttl_seconds": whole(1, 315_360_000),
    "format": choice("xml", "markdown"),
    "role": choice("viewer", "writer", "admin"),
    "text_search_language": Kind(("", "klingon", "pg_catalog.english"), "is no text search"),
    "token_id": Kind(
        ("", "x", "0" * 32, str(uuid4()) + "\n", "{" + str(uuid4()) + "}"), "must be a uuid"
    ),
    "block_keys": Kind(("a", 1, True, {}, [1], [None], [["a"]]), "must be a list of block keys"),
    "requests": Kind(("a", 1, True, {}, [], [{}] * 51), "must be a list of 1 to 50 requests"),
}

ONLY_HERE: dict[tuple[str, str], Kind] = {
    ("working_memory.render", "limit"): whole(1, 100),
    ("token.list", "cursor"): Kind(("", "x", "0" * 32), "must be a uuid"),
}
"""Fields that one operation takes otherwise than the rest."""

IDENTIFIERS = frozenset(_IDS)


def kind_of(op: str, field: str) -> Kind:
    """What a field of an operation takes."""
    return ONLY_HERE.get((op, field)) or FIELDS[field]

"""Ways to meet the errors of memory, profile and erasure over HTTP, and what each must say."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import httpx2
import psycopg

from tests.calls import mint_token
from tests.http.api import Api, Json

Connection = psycopg.Connection[Any]

UNTIL = "2999-01-31T12:30:00.123456Z"


@dataclass(frozen=True)
class Met:
    """An error: its code, status and fields, and the request that meets it."""

    code: str
    status: int
    fields: Json
    provoke: Callable[[Api, Connection], httpx2.Response]


def fresh(kind: str = "key") -> str:
    """A key, label or id that no other test has."""
    return f"{kind}-{uuid.uuid4().hex}"


def writer(admin: Connection) -> str:
    """A writer's token in the namespace of `api`."""
    return mint_token(admin, org="acme", role="writer", namespace="n").text


def stored(api: Api, value: Any = "x", **fields: Any) -> Json:
    """A new row's receipt."""
    response = api.call("memory.set", {"memory_key": fresh(), "value": value, **fields})
    assert response.status_code == 200, response.text
    receipt: Json = response.json()
    return receipt


def section(api: Api, value: Any = "x") -> str:
    """A new section's label."""
    label = fresh("label")
    assert api.call("profile.set", {"label": label, "value": value}).status_code == 200
    return label


def _ask(api: Api, admin: Connection) -> httpx2.Response:
    return api.call("memory.ask", {"query": "what is it"})


def _restore_of_nothing(api: Api, admin: Connection) -> httpx2.Response:
    return api.call("memory.restore", {"memory_key": fresh()})


def _revert_to_no_version(api: Api, admin: Connection) -> httpx2.Response:
    return api.call("memory.revert", {"memory_key": stored(api)["memory_key"], "version": 7})


def _no_section(api: Api, admin: Connection) -> httpx2.Response:
    return api.call("profile.replace", {"label": fresh(), "old": "a", "new": "b"})


def _pinned(api: Api, admin: Connection) -> httpx2.Response:
    key = stored(api, pinned=True)["memory_key"]
    return api.call("memory.set", {"memory_key": key, "value": "y"})


def _locked(api: Api, admin: Connection) -> httpx2.Response:
    key = stored(api)["memory_key"]
    lock = {"memory_key": key, "reason": "under review", "until": UNTIL}
    assert api.call("memory.lock", lock).status_code == 200
    return api.call("memory.set", {"memory_key": key, "value": "y"}, token=writer(admin))


def _locked_for_good(api: Api, admin: Connection) -> httpx2.Response:
    key = stored(api)["memory_key"]
    lock = {"memory_key": key, "reason": "evidence", "mode": "no_delete"}
    assert api.call("memory.lock", lock).status_code == 200
    return api.call("memory.delete", {"memory_key": key})


def _too_long(api: Api, admin: Connection) -> httpx2.Response:
    # The quotes of the JSON count.
    return api.call("memory.set", {"memory_key": fresh(), "value": "12345", "char_limit": 6})


def _section_too_long(api: Api, admin: Connection) -> httpx2.Response:
    return api.call("profile.set", {"label": fresh(), "value": "x" * 8191})


def _append_to_a_list(api: Api, admin: Connection) -> httpx2.Response:
    return api.call("profile.append", {"label": section(api, ["x"]), "addition": "y"})


def _replace_in_a_list(api: Api, admin: Connection) -> httpx2.Response:
    return api.call("profile.replace", {"label": section(api, ["x"]), "old": "x", "new": "y"})


def _blacklisted(api: Api, admin: Connection) -> httpx2.Response:
    word = fresh("word")
    entry = {"pattern": word.upper(), "reason": "a code name"}
    assert api.call("blacklist.add", entry).status_code == 200
    return api.call("memory.set", {"memory_key": fresh(), "value": {"a": [f"so {word} it is"]}})


def _blacklisted_block(api: Api, admin: Connection) -> httpx2.Response:
    word = fresh("word")
    assert api.call("blacklist.add", {"pattern": word}).status_code == 200
    return api.call("working_memory.set", {"block_key": "k", "content": word})


def _census(api: Api, admin: Connection) -> httpx2.Response:
    """An erasure in a database that will not let go of a row."""
    user = fresh("user")
    stored(api, user_id=user)
    admin.execute(
        "create function loom_test.keep() returns trigger language plpgsql"
        " as $$ begin return null; end $$;"
        "create trigger keep before delete on loom.memory"
        " for each row execute function loom_test.keep()"
    )
    try:
        return api.call("erasure.request", {"user_id": user})
    finally:
        admin.execute("drop function loom_test.keep() cascade")


CASES: dict[str, Met] = {
    "nothing to restore": Met("MEMORY_NOT_FOUND", 404, {}, _restore_of_nothing),
    "no such version": Met(
        "MEMORY_NOT_FOUND", 404, {"version": 7, "version_text": "7"}, _revert_to_no_version
    ),
    "no such section": Met("MEMORY_NOT_FOUND", 404, {}, _no_section),
    "pinned": Met("PINNED_CONFLICT", 409, {}, _pinned),
    "locked": Met("LOCKED", 423, {"reason": "under review", "until": UNTIL}, _locked),
    "locked for good": Met("LOCKED", 423, {"reason": "evidence", "until": None}, _locked_for_good),
    "value too long": Met(
        "CHAR_LIMIT_EXCEEDED", 422, {"value_length": 7, "char_limit": 6, "overage": 1}, _too_long
    ),
    "section too long": Met(
        "CHAR_LIMIT_EXCEEDED",
        422,
        {"value_length": 8193, "char_limit": 8192, "overage": 1},
        _section_too_long,
    ),
    "append to no text": Met("NOT_TEXT", 422, {}, _append_to_a_list),
    "replace in no text": Met("NOT_TEXT", 422, {}, _replace_in_a_list),
    "blacklisted": Met("BLACKLISTED", 422, {"reason": "a code name"}, _blacklisted),
    "blacklisted block": Met("BLACKLISTED", 422, {"reason": None}, _blacklisted_block),
    "no model to ask": Met("MODEL_UNAVAILABLE", 503, {"reason": "NO_MODEL"}, _ask),
    "census failed": Met("CENSUS_FAILED", 500, {"plane": "memory"}, _census),
}

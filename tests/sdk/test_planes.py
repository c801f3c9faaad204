"""`bot.memory` and `bot.profile`: what each method sends, and what is not sent."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import httpx2
import pytest

from loom import Agent, Pack, Rendered
from loom.agent_edit import TRIES
from loom.agent_user_profile import Scope
from loom.errors import StaleWrite
from loom.types import OPERATIONS
from tests.sdk.scripted import OK, Script, refusal
from tests.sdk.test_agent import OWN, ask

Work = Callable[[Agent], Awaitable[Any]]

SCOPE: Scope = {"tenant": "acme", "kind": "work"}

# The method, the operation it calls, and what it sends beside the agent's ids.
SENT: list[tuple[Work, str, dict[str, Any]]] = [
    (
        lambda bot: bot.memory.set(
            "plan",
            {"tier": "enterprise"},
            memory_type="decision",
            tags=("crm",),
            confidence=0.5,
            source_class="imported",
            source_trace="crm:1",
            valid_at="2026-01-01T00:00:00Z",
            valid_to="2026-02-01T00:00:00Z",
            clear_valid=False,
            ttl_seconds=60,
            clear_expiry=True,
            pinned=True,
            sensitivity="low",
            char_limit=100,
            if_match_sha256="00",
            if_absent=False,
            dry_run=True,
            user_id="u-1",
        ),
        "memory.set",
        {
            "memory_key": "plan",
            "value": {"tier": "enterprise"},
            "memory_type": "decision",
            "tags": ["crm"],
            "confidence": 0.5,
            "source_class": "imported",
            "source_trace": "crm:1",
            "valid_at": "2026-01-01T00:00:00Z",
            "valid_to": "2026-02-01T00:00:00Z",
            "clear_valid": False,
            "ttl_seconds": 60,
            "clear_expiry": True,
            "pinned": True,
            "sensitivity": "low",
            "char_limit": 100,
            "if_match_sha256": "00",
            "if_absent": False,
            "dry_run": True,
            "user_id": "u-1",
        },
    ),
    (
        lambda bot: bot.memory.set("k", 1, expires_at="2026-01-01T00:00:00Z"),
        "memory.set",
        {"memory_key": "k", "value": 1, "expires_at": "2026-01-01T00:00:00Z"},
    ),
    (lambda bot: bot.memory.get("k"), "memory.get", {"memory_key": "k"}),
    (
        lambda bot: bot.memory.get(
            memory_id="id", as_of="2026-01-01T00:00:00Z", if_version=0, read_scope="namespace"
        ),
        "memory.get",
        {
            "memory_id": "id",
            "as_of": "2026-01-01T00:00:00Z",
            "if_version": 0,
            "read_scope": "namespace",
        },
    ),
    (
        lambda bot: bot.memory.list(
            memory_type="semantic",
            tags=["a"],
            key_prefix="p",
            source_class="derived",
            include_deleted=True,
            read_scope="own_session",
            limit=1,
            cursor="c",
            session_id="s",
        ),
        "memory.list",
        {
            "memory_type": "semantic",
            "tags": ["a"],
            "key_prefix": "p",
            "source_class": "derived",
            "include_deleted": True,
            "read_scope": "own_session",
            "limit": 1,
            "cursor": "c",
            "session_id": "s",
        },
    ),
    (
        lambda bot: bot.memory.search(
            "what is it",
            memory_type="decision",
            tags=["a"],
            source_class="stated",
            read_scope="namespace",
            limit=3,
            explain=True,
            query_embedding={"model": "m", "vector": [1.0]},
            run_id="r",
        ),
        "memory.search",
        {
            "query": "what is it",
            "memory_type": "decision",
            "tags": ["a"],
            "source_class": "stated",
            "read_scope": "namespace",
            "limit": 3,
            "explain": True,
            "query_embedding": {"model": "m", "vector": [1.0]},
            "run_id": "r",
        },
    ),
    (
        lambda bot: bot.memory.history("k", read_scope="namespace", limit=2, cursor="c"),
        "memory.history",
        {"memory_key": "k", "read_scope": "namespace", "limit": 2, "cursor": "c"},
    ),
    (
        lambda bot: bot.memory.history(memory_id="id"),
        "memory.history",
        {"memory_id": "id"},
    ),
    (
        lambda bot: bot.memory.delete("k", if_match_sha256="00"),
        "memory.delete",
        {"memory_key": "k", "if_match_sha256": "00"},
    ),
    (
        lambda bot: bot.memory.restore("k", if_match_sha256="00"),
        "memory.restore",
        {"memory_key": "k", "if_match_sha256": "00"},
    ),
    (
        lambda bot: bot.memory.revert("k", 3, if_match_sha256="00"),
        "memory.revert",
        {"memory_key": "k", "version": 3, "if_match_sha256": "00"},
    ),
    (
        lambda bot: bot.memory.lock("k", "why", mode="no_delete", ttl_seconds=5),
        "memory.lock",
        {"memory_key": "k", "reason": "why", "mode": "no_delete", "ttl_seconds": 5},
    ),
    (lambda bot: bot.memory.unlock("k"), "memory.unlock", {"memory_key": "k"}),
    (lambda bot: bot.memory.pin("k"), "memory.pin", {"memory_key": "k"}),
    (lambda bot: bot.memory.unpin("k"), "memory.unpin", {"memory_key": "k"}),
    (
        lambda bot: bot.memory.label("k", add=["a"], remove=["b"], replace=[], sensitivity="high"),
        "memory.label",
        {
            "memory_key": "k",
            "tags": {"add": ["a"], "remove": ["b"], "replace": []},
            "sensitivity": "high",
        },
    ),
    (
        lambda bot: bot.memory.label("k", sensitivity="low"),
        "memory.label",
        {"memory_key": "k", "sensitivity": "low"},
    ),
    (
        lambda bot: bot.profile.set(
            "l", ["x"], char_limit=9, if_match_sha256="00", if_absent=False, agent="other"
        ),
        "profile.set",
        {
            "label": "l",
            "value": ["x"],
            "char_limit": 9,
            "if_match_sha256": "00",
            "if_absent": False,
            "agent": "other",
        },
    ),
    (
        lambda bot: bot.profile.append("l", "more", separator="", if_match_sha256="00"),
        "profile.append",
        {"label": "l", "addition": "more", "separator": "", "if_match_sha256": "00"},
    ),
    (
        lambda bot: bot.profile.replace("l", "a", "", expected_count=2, if_match_sha256="00"),
        "profile.replace",
        {"label": "l", "old": "a", "new": "", "expected_count": 2, "if_match_sha256": "00"},
    ),
    (
        lambda bot: bot.profile.get("l", read_scope="own_user", if_version=2, user_id="u"),
        "memory.get",
        {"memory_key": "l", "read_scope": "own_user", "if_version": 2, "user_id": "u"},
    ),
    (
        lambda bot: bot.profile.list(label="l", read_scope="namespace", limit=1, cursor="c"),
        "profile.list",
        {"label": "l", "read_scope": "namespace", "limit": 1, "cursor": "c"},
    ),
    (
        lambda bot: bot.profile.delete("l", if_match_sha256="00"),
        "profile.delete",
        {"label": "l", "if_match_sha256": "00"},
    ),
    (
        lambda bot: bot.profile.activity(lookback_days=7, read_scope="namespace"),
        "profile.activity",
        {"lookback_days": 7, "read_scope": "namespace"},
    ),
    (
        lambda bot: bot.user_profile.update(
            ["Call me Sam.", {"id": "1", "kind": "feedback", "text": "Short."}],
            source="llm",
            scope=SCOPE,
            if_version=2,
            dry_run=True,
            user_id="u-1",
        ),
        "user_profile.update",
        {
            "signals": [
                {"text": "Call me Sam."},
                {"id": "1", "kind": "feedback", "text": "Short."},
            ],
            "source": "llm",
            "scope": SCOPE,
            "if_version": 2,
            "dry_run": True,
            "user_id": "u-1",
        },
    ),
    (
        lambda bot: bot.user_profile.apply(
            {"summary": "x"}, scope=SCOPE, signal_ids=("1",), if_version=0, dry_run=False
        ),
        "user_profile.apply",
        {
            "delta": {"summary": "x"},
            "scope": SCOPE,
            "signal_ids": ["1"],
            "if_version": 0,
            "dry_run": False,
        },
    ),
    (
        lambda bot: bot.user_profile.put(
            {"summary": "x"},
            source="import",
            version=7,
            document="{}",
            scope=SCOPE,
            if_version=6,
            if_absent=False,
        ),
        "user_profile.put",
        {
            "profile": {"summary": "x"},
            "source": "import",
            "version": 7,
            "document": "{}",
            "scope": SCOPE,
            "if_version": 6,
            "if_absent": False,
        },
    ),
    (
        lambda bot: bot.user_profile.get(
            as_of_version=1, scope=SCOPE, include_document=True, signal_ids=["1"]
        ),
        "user_profile.get",
        {"as_of_version": 1, "scope": SCOPE, "include_document": True, "signal_ids": ["1"]},
    ),
    (
        lambda bot: bot.user_profile.history(as_of_version=3, scope=SCOPE, limit=2, cursor="3"),
        "user_profile.history",
        {"as_of_version": 3, "scope": SCOPE, "limit": 2, "cursor": "3"},
    ),
    (
        lambda bot: bot.user_profile.reset(scope=SCOPE, if_version=1),
        "user_profile.reset",
        {"scope": SCOPE, "if_version": 1},
    ),
    (
        lambda bot: bot.user_profile.delete(scope=SCOPE, if_version=1, user_id="u-2"),
        "user_profile.delete",
        {"scope": SCOPE, "if_version": 1, "user_id": "u-2"},
    ),
]

LOOMS_SENT: list[tuple[Work, str, dict[str, Any]]] = [
    (
        lambda bot: bot.looms.create("plans", description="d", settings={"nightWeaving": None}),
        "looms.create",
        {"name": "plans", "description": "d", "settings": {"nightWeaving": None}},
    ),
    (
        lambda bot: bot.looms.get("l", org="other", namespace="other"),
        "looms.get",
        {"loomId": "l", "org": "other", "namespace": "other"},
    ),
    (lambda bot: bot.looms.list(page=2, page_size=5), "looms.list", {"page": 2, "pageSize": 5}),
    (
        lambda bot: bot.looms.update("l", name="n", description="d", settings={}),
        "looms.update",
        {"loomId": "l", "name": "n", "description": "d", "settings": {}},
    ),
    (lambda bot: bot.looms.delete("l"), "looms.delete", {"loomId": "l"}),
    (
        lambda bot: bot.looms.bind(
            "input",
            interaction_id="i",
            process_id="p",
            scope_value="v",
            seed_from_loom_id="s",
            read_scope="namespace",
            user_id="u-1",
        ),
        "looms.bind",
        {
            "scope": "input",
            "interactionId": "i",
            "processId": "p",
            "scopeValue": "v",
            "seedFromLoomId": "s",
            "readScope": "namespace",
            "userId": "u-1",
            "agents": [OWN["agent"]],
        },
    ),
    (
        lambda bot: bot.looms.bind(loom_id="l", agents=["a", "b"]),
        "looms.bind",
        {"loomId": "l", "agents": ["a", "b"]},
    ),
    (
        lambda bot: bot.looms.add_thread("l", "text", agent="a", tags=("t",), user_id="u-1"),
        "looms.thread_add",
        {"loomId": "l", "text": "text", "agent": "a", "tags": ["t"], "userId": "u-1"},
    ),
    # Shared, though the agent has a name.
    (
        lambda bot: bot.looms.add_thread("l", "text"),
        "looms.thread_add",
        {"loomId": "l", "text": "text"},
    ),
    (
        lambda bot: bot.looms.threads(
            "l", agent="-", include_deleted=True, read_scope="own_user", page=1, page_size=2
        ),
        "looms.thread_list",
        {
            "loomId": "l",
            "agent": "-",
            "includeDeleted": True,
            "readScope": "own_user",
            "page": 1,
            "pageSize": 2,
        },
    ),
    (
        lambda bot: bot.looms.delete_thread("l", "t"),
        "looms.thread_delete",
        {"loomId": "l", "threadId": "t"},
    ),
    (
        lambda bot: bot.looms.activity(
            "l", "text", process_id="p", credentials="c", model="m", user_id="u-1"
        ),
        "looms.activity",
        {
            "loomId": "l",
            "text": "text",
            "agent": OWN["agent"],
            "processId": "p",
            "credentials": "c",
            "model": "m",
            "userId": "u-1",
        },
    ),
    (
        lambda bot: bot.looms.inspection("l", read_scope="namespace"),
        "looms.inspection",
        {"loomId": "l", "readScope": "namespace"},
    ),
    (
        lambda bot: bot.looms.weave("l", dry_run=True),
        "looms.weave",
        {"loomId": "l", "dryRun": True},
    ),
    (
        lambda bot: bot.looms.weaving("l", "w", read_scope="namespace"),
        "looms.weaving_get",
        {"loomId": "l", "weavingId": "w", "readScope": "namespace"},
    ),
    (
        lambda bot: bot.looms.weavings("l", page=1, page_size=2),
        "looms.weaving_list",
        {"loomId": "l", "page": 1, "pageSize": 2},
    ),
    (
        lambda bot: bot.looms.revert("l", "w"),
        "looms.weaving_revert",
        {"loomId": "l", "weavingId": "w"},
    ),
]


@pytest.mark.parametrize(("work", "op", "sent"), LOOMS_SENT, ids=[op for _, op, _ in LOOMS_SENT])
def test_each_method_of_looms_sends_its_fields_and_the_agents_place(
    work: Work, op: str, sent: dict[str, Any]
) -> None:
    script = Script(OK)
    ask(script, work)
    assert script.requests[0].url.path == OPERATIONS[op].path
    place = {name: OWN[name] for name in ("org", "namespace")}
    assert script.body() == {**place, **sent}


def test_an_agent_of_one_user_means_its_threads_and_turns() -> None:
    script = Script(OK)
    ask(script, lambda bot: bot.looms.threads("l"), user_id="u-1")
    assert script.body()["userId"] == "u-1"
    assert "user_id" not in script.body()


@pytest.mark.parametrize(("work", "op", "sent"), SENT, ids=[op for _, op, _ in SENT])
def test_each_method_sends_its_fields_and_the_agents_ids(
    work: Work, op: str, sent: dict[str, Any]
) -> None:
    script = Script(OK)
    assert ask(script, work) == {"found": False}
    assert script.requests[0].url.path == OPERATIONS[op].path
    own = {name: value for name, value in OWN.items() if name in OPERATIONS[op].identity}
    assert script.body() == {**own, **sent}
    taken = set(OPERATIONS[op].identity) | set(OPERATIONS[op].request.__struct_fields__)
    assert set(script.body()) <= taken


def test_every_field_of_an_operation_has_its_parameter() -> None:
    """What a method cannot say would be there only by `bot.client`."""
    by_op: dict[str, set[str]] = {}
    for _, op, sent in [*SENT, *LOOMS_SENT]:
        by_op.setdefault(op, set()).update(sent)
    for op, said in by_op.items():
        own = set(OPERATIONS[op].request.__struct_fields__) - set(OPERATIONS[op].identity)
        assert own - said <= {"until", "namespaceId"}, op


@pytest.mark.parametrize("plane", ["memory", "profile"])
def test_null_is_a_value_and_is_sent(plane: str) -> None:
    script = Script(OK)
    ask(script, lambda bot: getattr(bot, plane).set("k", None))
    assert script.body()["value"] is None


@pytest.mark.parametrize("value", [False, 0, "", [], {}])
def test_o9_what_is_not_said_is_not_sent_but_an_empty_value_is(value: Any) -> None:
    script = Script(OK)
    ask(script, lambda bot: bot.memory.set("k", value, tags=None, pinned=None))
    assert script.body() == {**OWN, "memory_key": "k", "value": value}


def test_a_time_is_sent_in_utc() -> None:
    script = Script(OK, OK)
    at = datetime(2026, 1, 31, 9, 30, tzinfo=timezone(timedelta(hours=2)))
    ask(script, lambda bot: bot.memory.set("k", 1, valid_at=at, expires_at=at))
    assert script.body()["valid_at"] == "2026-01-31T07:30:00+00:00"
    assert script.body()["expires_at"] == "2026-01-31T07:30:00+00:00"
    ask(script, lambda bot: bot.memory.lock("k", "why", until=at.astimezone(UTC)))
    assert script.body(1)["until"] == "2026-01-31T07:30:00+00:00"


def test_a_time_without_a_zone_is_refused_before_it_is_sent() -> None:
    script = Script()
    naive = datetime.fromisoformat("2026-01-01T00:00:00")
    with pytest.raises(ValueError, match="zone"):
        ask(script, lambda bot: bot.memory.get("k", as_of=naive))
    assert script.requests == []


def test_a_render_is_a_string_with_its_sections() -> None:
    place = {"label": "style", "agent": "-", "user_id": "u", "session_id": "-"}
    answer = {
        "text": "<profile>…</profile>",
        "sha256": "ab",
        "unchanged": False,
        "sections": [{**place, "content_sha256": "c"}],
        "omitted": [{**place, "label": "tasks"}],
        "omitted_count": 1,
    }
    script = Script(httpx2.Response(200, json=answer))
    text = ask(
        script,
        lambda bot: bot.profile.render(
            labels=("style", "tasks"),
            format="xml",
            scope="this_agent",
            read_scope="own_user",
            char_budget=100,
            if_none_match="00",
            user_id="u",
        ),
    )
    assert isinstance(text, Rendered)
    assert (text, text.sha256, text.unchanged) == (answer["text"], "ab", False)
    assert (text.sections[0]["label"], text.omitted[0]["label"]) == ("style", "tasks")
    assert script.body() == {
        **OWN,
        "user_id": "u",
        "labels": ["style", "tasks"],
        "format": "xml",
        "scope": "this_agent",
        "read_scope": "own_user",
        "char_budget": 100,
        "if_none_match": "00",
    }


def test_a_pack_is_a_string_that_knows_where_its_stable_part_ends() -> None:
    answer = {
        "text": "told\n\nfound",
        "sections": [{"name": "working_memory", "text": "told"}],
        "stable_prefix_chars": 4,
        "stable_hash": "ab",
        "tokens": 3,
        "token_budget": 100,
        "unchanged": False,
    }
    script = Script(
        httpx2.Response(200, json=answer),
        httpx2.Response(200, json={**answer, "text": "\n\nfound", "unchanged": True}),
    )
    text = ask(
        script,
        lambda bot: bot.context.pack(
            "what?",
            token_budget=100,
            section_token_budgets={"profile": 10},
            only_sections=("working_memory", "memories"),
            run_id="r",
        ),
    )
    assert isinstance(text, Pack)
    assert (text, text.stable, text.tail) == (answer["text"], "told", "\n\nfound")
    assert (text.stable_hash, text.tokens, text.unchanged) == ("ab", 3, False)
    assert text.sections[0]["name"] == "working_memory"
    assert script.body() == {
        **OWN,
        "run_id": "r",
        "query": "what?",
        "token_budget": 100,
        "section_token_budgets": {"profile": 10},
        "only_sections": ["working_memory", "memories"],
    }
    same = ask(script, lambda bot: bot.context.pack("what?", if_none_match=text.stable_hash))
    assert (same, same.stable, same.tail, same.unchanged) == ("\n\nfound", "", "\n\nfound", True)


def read(value: Any, sha256: str, **more: Any) -> httpx2.Response:
    row = {"found": True, "value": value, "content_sha256": sha256, "memory_type": "profile"}
    return httpx2.Response(200, json={**row, **more})


RECEIPT = httpx2.Response(200, json={"version": 2})


@pytest.mark.parametrize(
    ("row", "found"),
    [
        ({"found": True, "memory_type": "profile", "value": "x"}, True),
        ({"found": True, "unchanged": True, "version": 2}, True),
        ({"found": True, "memory_type": "semantic", "value": "x"}, False),
    ],
)
def test_a_row_that_is_no_section_is_not_found(row: dict[str, Any], found: bool) -> None:
    answer = ask(Script(httpx2.Response(200, json=row)), lambda bot: bot.profile.get("k"))
    assert answer["found"] is found
    assert answer == row or answer == {"found": False, "status": "absent"}


def test_o16_a_callers_own_hash_is_never_replaced() -> None:
    """Whoever names a hash wants to know that it is stale."""
    for work in (
        lambda bot: bot.profile.append("l", "x", if_match_sha256="00"),
        lambda bot: bot.profile.replace("l", "a", "b", if_match_sha256="00"),
        lambda bot: bot.memory.set("k", 1, if_match_sha256="00"),
    ):
        script = Script(refusal(409, "STALE_WRITE", current_sha256="ab", current_version=2))
        with pytest.raises(StaleWrite):
            ask(script, work)
        assert len(script.requests) == 1


def test_an_edit_writes_by_the_hash_it_read() -> None:
    script = Script(read("a", "h1"), RECEIPT)
    assert ask(script, lambda bot: bot.profile.edit("l", lambda text: text + "b", user_id="u")) == {
        "version": 2
    }
    assert script.body(0) == {**OWN, "user_id": "u", "memory_key": "l"}
    assert script.body(1) == {
        **OWN,
        "user_id": "u",
        "label": "l",
        "value": "ab",
        "if_match_sha256": "h1",
    }


def test_o15_an_edit_that_came_too_late_is_made_again_from_the_newer_value() -> None:
    stale = refusal(409, "STALE_WRITE", current_sha256="h2", current_version=2)
    script = Script(read("a", "h1"), stale, read("c", "h2"), RECEIPT)
    ask(script, lambda bot: bot.memory.edit("k", lambda value: value + "b"))
    assert [script.body(n).get("value") for n in (1, 3)] == ["ab", "cb"]
    assert script.body(3)["if_match_sha256"] == "h2"
    assert len(script.waits) == 1
    # Each write is a request of its own.
    _, first, _, second = script.keys()
    assert first
    assert second
    assert first != second


def test_an_edit_of_nothing_makes_the_row_and_reads_again_when_another_did() -> None:
    exists = refusal(409, "ALREADY_EXISTS")
    script = Script(OK, exists, read("a", "h1"), RECEIPT)
    ask(script, lambda bot: bot.memory.edit("k", lambda value: (value or "") + "b"))
    assert script.body(1) == {**OWN, "memory_key": "k", "value": "b", "if_absent": True}
    assert script.body(3)["value"] == "ab"


def test_an_edit_beside_a_shared_row_makes_its_own() -> None:
    """What is read may be the row of user -; the write is for the identity that was named."""
    nothing = refusal(409, "STALE_WRITE", current_sha256=None, current_version=None)
    script = Script(read("shared", "h1"), nothing, RECEIPT)
    ask(script, lambda bot: bot.profile.edit("l", lambda text: (text or "") + "own", user_id="u"))
    assert script.body(2)["value"] == "own"
    assert script.body(2)["if_absent"] is True


def test_an_edit_gives_up_after_so_many_tries() -> None:
    stale = refusal(409, "STALE_WRITE", current_sha256="h2", current_version=2)
    script = Script(*[step for _ in range(TRIES) for step in (read("a", "h1"), stale)])
    with pytest.raises(StaleWrite):
        ask(script, lambda bot: bot.memory.edit("k", lambda value: value))
    assert script.steps == []
    assert len(script.waits) == TRIES - 1
    assert max(script.waits) <= 0.5


def test_an_edit_does_not_hide_another_refusal() -> None:
    script = Script(read("a", "h1"), refusal(423, "LOCKED", reason="why", until=None))
    with pytest.raises(Exception, match="LOCKED"):
        ask(script, lambda bot: bot.memory.edit("k", lambda value: value))

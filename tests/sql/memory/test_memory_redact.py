"""memory.redact of the named row: nothing of its text is left, and nothing brings it back."""

from __future__ import annotations

from typing import Any

import pytest

from tests.calls import Answer, Connection, mint_token, operate, refused
from tests.databases import Clock
from tests.sql.canaries import tables_with
from tests.sql.doors import DOORS, IDENTITY, as_service, batch, execute, through_api
from tests.sql.facts import NOON, audited, changes, fact, hash_of, history, section, value_of

CANARY = "canary text"
TAG = "canary tag"
TRACE = "canary trace"


def _fill(db: Connection) -> Answer:
    """A row with the canary in several versions and every field of text; its last receipt."""
    fact(db, "set", value=f"{CANARY} 1", tags=[TAG], source_trace=TRACE)
    fact(db, "set", value={"list": [f"{CANARY} 2"]})
    fact(db, "label", sensitivity="high", tags={"add": [f"{TAG} 2"]})
    fact(db, "pin")
    fact(db, "unpin")
    return fact(db, "set", value=f"{CANARY} 3", source_trace=f"{TRACE} 3")


@pytest.mark.parametrize("by", ["memory_key", "memory_id"])
@pytest.mark.parametrize("door", [name for name in DOORS if name != "batch"])
def test_nothing_of_the_text_is_left_in_any_table(db: Connection, door: str, by: str) -> None:
    receipt = _fill(db)
    assert tables_with(db, "canary") == {"memory": 1, "memory_text": 1, "memory_version": 6}
    hashes = [version["content_sha256"] for version in history(db)]
    answer = DOORS[door](db, "memory.redact", **IDENTITY, **{by: receipt[by]}, reason="asked")
    assert answer["memory_id"] == receipt["memory_id"]
    assert (answer["versions_scrubbed"], answer["derived"]) == (6, [])
    assert tables_with(db, "canary") == {}
    for each in {*hashes, hash_of(f"{CANARY} 1"), hash_of(f"{CANARY} 3")}:
        assert tables_with(db, each) == {}


def test_it_cannot_stand_in_a_batch(db: Connection) -> None:
    """The batch's answer, which is kept under a key, could hold what it has just redacted."""
    fact(db, "set", value=CANARY)
    results = batch(db, {"op": "memory.redact", **IDENTITY, "memory_key": "likes", "reason": "x"})
    assert results[0]["error"]["field"] == "op"
    assert value_of(db) == CANARY


def test_what_is_said_about_the_row_stays_in_its_history(db: Connection) -> None:
    _fill(db)
    fact(db, "redact", reason="asked")
    versions = history(db)
    assert [version["change"] for version in versions] == [
        *("set", "set", "label", "pin", "unpin", "set", "redact")
    ]
    for version in versions:
        assert version["redacted_at"] is not None
        for field in ("value", "content_sha256", "value_length", "source_trace"):
            assert version[field] is None
        assert version["tags"] == []
    recorded = [version["recorded_at"] for version in versions]
    assert recorded == sorted(set(recorded))


def test_it_reads_as_redacted_by_key_id_and_time(db: Connection, clock: Clock) -> None:
    clock.set(NOON)
    receipt = fact(db, "set", value=CANARY)
    before = clock.advance(seconds=1)
    clock.advance(seconds=1)
    fact(db, "redact", reason="asked")
    clock.advance(seconds=1)
    for named in ({}, {"memory_id": receipt["memory_id"]}):
        for when in ({}, {"as_of": before.isoformat()}):
            answer = fact(db, "get", **named, **when)
            assert (answer["found"], answer["status"]) == (False, "redacted")
            assert "value" not in answer
    assert fact(db, "list")["items"] == []
    (item,) = fact(db, "list", include_deleted=True)["items"]
    assert (item["value"], item["content_sha256"], item["status"]) == (None, None, "redacted")


@pytest.mark.parametrize("deleted", [False, True], ids=["redacted", "deleted, then redacted"])
def test_neither_restore_nor_revert_brings_it_back(db: Connection, deleted: bool) -> None:
    fact(db, "set", value=f"{CANARY} 1")
    fact(db, "set", value=f"{CANARY} 2")
    if deleted:
        fact(db, "delete")
    fact(db, "redact", reason="asked")
    with refused(db, "LM102"):
        fact(db, "restore")
    for version in range(1, fact(db, "get")["version"] + 1):
        with refused(db, "LM102"):
            fact(db, "revert", version=version)
    assert fact(db, "delete")["found"] is False
    assert tables_with(db, "canary") == {}


def test_a_key_is_set_anew_and_redacted_again(db: Connection) -> None:
    receipt = _fill(db)
    fact(db, "redact", reason="asked")
    anew = fact(db, "set", value="canary anew")
    assert anew["memory_id"] == receipt["memory_id"]
    assert (anew["created"], anew["version"]) == (True, 8)
    assert value_of(db) == "canary anew"
    with refused(db, "LM102"):
        fact(db, "revert", version=1)
    assert fact(db, "redact", reason="again")["versions_scrubbed"] == 1
    assert tables_with(db, "canary") == {}
    assert changes(db)[-2:] == ["set", "redact"]


def test_a_retry_finds_nothing_more_to_scrub_and_adds_no_version(db: Connection) -> None:
    _fill(db)
    first = fact(db, "redact", reason="asked")
    again = fact(db, "redact", reason="asked")
    assert (again["memory_id"], again["versions_scrubbed"]) == (first["memory_id"], 0)
    assert changes(db).count("redact") == 1


@pytest.mark.parametrize("state", ["live", "deleted", "expired", "locked", "pinned", "twin"])
def test_any_state_of_the_row_is_redacted(db: Connection, clock: Clock, state: str) -> None:
    clock.set(NOON)
    fact(db, "set", value=CANARY, ttl_seconds=60)
    if state == "deleted":
        fact(db, "delete")
    elif state == "expired":
        clock.advance(seconds=61)
    elif state == "locked":
        fact(db, "lock", reason="keep")
    elif state == "pinned":
        fact(db, "pin")
    elif state == "twin":
        clock.advance(seconds=1)
        fact(db, "set", memory_key="twin", value=CANARY)
        assert fact(db, "get", memory_key="twin")["status"] == "duplicate"
    fact(db, "redact", reason="asked")
    left = fact(db, "list", include_deleted=True)["items"]
    assert {item["memory_key"]: item["status"] for item in left} == {
        "likes": "redacted",
        # The twin is a row of its own, which is told apart no longer.
        **({"twin": "current"} if state == "twin" else {}),
    }
    assert tables_with(db, "canary") == (
        {"memory": 1, "memory_text": 1, "memory_version": 1} if state == "twin" else {}
    )


def test_a_section_is_redacted_like_a_fact(db: Connection) -> None:
    section(db, "set", value=CANARY)
    section(db, "append", addition=f"{CANARY} more")
    fact(db, "redact", memory_key="persona", reason="asked")
    assert section(db, "render")["text"].count("canary") == 0
    assert section(db, "list")["items"] == []
    assert section(db, "append", addition="new")["created"] is True
    assert tables_with(db, "canary") == {}


_WRITES: list[tuple[str, dict[str, Any]]] = [
    ("memory.set", {"memory_key": "likes", "value": CANARY}),
    ("memory.set", {"memory_key": "likes", "value": CANARY, "dry_run": True}),
    ("memory.label", {"memory_key": "likes", "tags": {"add": ["canary"]}}),
    ("memory.pin", {"memory_key": "likes"}),
]


def test_stored_answers_that_speak_of_the_row_go_with_it(db: Connection) -> None:
    for number, (op, fields) in enumerate(_WRITES):
        execute(db, op, key=f"of the row {number}", **IDENTITY, **fields)
    execute(db, "memory.set", key="of another", **IDENTITY, memory_key="other", value="x")
    items = [
        {"op": op, **IDENTITY, "user_id": user, **fields}
        for op, fields in _WRITES[:1]
        for user in ("-", "u1")
    ]
    execute(db, "batch", key="of two users", org="acme", requests=items)
    fact(db, "redact", reason="asked")
    kept = db.execute("select key from loom.idempotency").fetchall()
    assert kept == [("of another",)]
    assert db.execute("select distinct key from loom.idempotency_user").fetchall() == kept
    (left,) = {
        tuple(row)
        for row in db.execute(
            "select user_id from loom.memory where content_sha256 = %s", (hash_of(CANARY),)
        )
    }
    assert left == ("u1",)


def test_the_answer_to_a_dry_run_before_the_first_write_goes_too(db: Connection) -> None:
    """It holds the hash of the text, and no id yet."""
    op, fields = _WRITES[1]
    execute(db, op, key="dry run", **IDENTITY, **fields)
    assert tables_with(db, hash_of(CANARY)) == {"idempotency": 1}
    fact(db, "set", value=CANARY)
    fact(db, "redact", reason="asked")
    assert tables_with(db, hash_of(CANARY)) == {}


@pytest.mark.parametrize(
    "read",
    [
        {"op": "memory.get", "memory_key": "persona"},
        {"op": "memory.list"},
        {"op": "memory.list", "read_scope": "namespace", "user_id": "u2"},
        {"op": "memory.history", "memory_key": "persona"},
        {"op": "profile.render"},
        {"op": "profile.render", "user_id": "u2"},
    ],
    ids=lambda read: " ".join(map(str, read.values())),
)
def test_what_a_batch_under_a_key_read_goes_with_the_redaction(
    db: Connection, read: Answer
) -> None:
    """The stored answer of a batch that reads may speak of anyone, and by a text without ids."""
    section(db, "set", value=CANARY)
    items = [
        {**IDENTITY, **read},
        {"op": "memory.set", **IDENTITY, "user_id": "u2", "memory_key": "k", "value": 1},
    ]
    results = execute(db, "batch", key="k", org="acme", requests=items)["results"]
    assert "canary" in str(results[0]["result"])
    assert execute(db, "batch", key="k", org="acme", requests=items)["results"] == results
    fact(db, "redact", memory_key="persona", reason="asked")
    assert tables_with(db, "canary") == {}


def test_a_row_of_another_place_is_not_reached(db: Connection) -> None:
    elsewhere: list[Answer] = [
        {**IDENTITY, "namespace": "other"},
        {**IDENTITY, "org": "other"},
        {**IDENTITY, "agent": "other"},
        {**IDENTITY, "user_id": "u1"},
        {**IDENTITY, "session_id": "s1"},
    ]
    made = [
        operate(db, "memory.set", **place, memory_key="likes", value=CANARY) for place in elsewhere
    ]
    with refused(db, "LM102"):
        fact(db, "redact", reason="asked")
    for receipt in made[:2]:
        with refused(db, "LM102"):
            fact(db, "redact", memory_id=receipt["memory_id"], reason="asked")
    assert tables_with(db, CANARY) == {"memory": 5, "memory_version": 5}
    fact(db, "set", value=CANARY)
    fact(db, "redact", reason="asked")
    assert tables_with(db, CANARY) == {"memory": 5, "memory_version": 5}


def test_by_id_any_user_agent_and_session_of_the_namespace_is_reached(db: Connection) -> None:
    owner = {"agent": "other", "user_id": "u1", "session_id": "s1"}
    receipt = fact(db, "set", value=CANARY, **owner)
    fact(db, "redact", memory_id=receipt["memory_id"], reason="asked")
    assert tables_with(db, CANARY) == {}
    assert fact(db, "get", **owner)["status"] == "redacted"


def test_a_key_that_is_not_there_is_said_to_be_so(db: Connection) -> None:
    with refused(db, "LM102"):
        fact(db, "redact", reason="asked")
    with refused(db, "LM102"):
        fact(db, "redact", memory_id="00000000-0000-0000-0000-000000000000", reason="asked")


@pytest.mark.parametrize(
    "fields", [{"memory_key": None}, {"memory_id": "0" * 32}, {"reason": None}]
)
def test_a_row_is_named_once_and_a_reason_given(db: Connection, fields: Answer) -> None:
    fact(db, "set", value=CANARY)
    with refused(db, "LM001"):
        fact(db, "redact", **{"memory_key": "likes", "reason": "asked", **fields})


def test_only_an_admin_redacts(services: Connection) -> None:
    fact(services, "set", value=CANARY)
    request = {**IDENTITY, "memory_key": "likes", "reason": "asked"}
    writer = mint_token(services, org="acme")
    with refused(services, "LM302"):
        through_api(services, writer, "memory.redact", **request)
    bound = mint_token(services, org="acme", role="admin", namespace="other")
    with refused(services, "LM302"):
        through_api(services, bound, "memory.redact", **request)
    assert as_service(services, "loom_test_admin", "memory.redact", **request)["derived"] == []


def test_it_is_audited_without_the_text(db: Connection) -> None:
    receipt = _fill(db)
    fact(db, "redact", reason="the user asked")
    assert audited(db, "memory.redact") == [
        {"memory_id": receipt["memory_id"], "derived": [], "reason": "the user asked"}
    ]

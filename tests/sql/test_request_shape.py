"""The shape of requests, the same for every operation: fields, types, null, and what is missing."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest
from psycopg.types.json import Jsonb

from tests.calls import Answer, operate, refused
from tests.sql.doors import DOORS, wm
from tests.sql.requests import FIELDS, REQUIRED, VALID, kind_of

Connection = psycopg.Connection[Any]

ACCEPTED: dict[str, tuple[str, ...]] = {
    **{
        f"working_memory.{verb}": (
            *("org", "namespace", "agent", "user_id", "session_id", "run_id"),
            *fields.split(),
        )
        for verb, fields in {
            "set": "content block_key char_limit if_match_sha256 if_absent description read_only",
            "append": "addition separator block_key if_match_sha256",
            "replace": "old new block_key expected_count if_match_sha256",
            "delete": "block_key if_match_sha256",
            "get": "block_key",
            "list": "limit cursor include_deleted",
            "render": "block_keys limit format layered if_none_match",
        }.items()
    },
    "namespace.list": ("org", "limit", "cursor"),
    "namespace.get": ("org", "namespace"),
    "namespace.update": (
        *("org", "namespace", "night_weaving", "quiet_minutes"),
        *("weaver_model", "text_search_language"),
    ),
    "token.mint": (
        "org",
        "role",
        "namespace",
        "read_user_id",
        "session_id",
        "label",
        "ttl_seconds",
    ),
    "token.list": ("org", "limit", "cursor"),
    "token.revoke": ("org", "token_id"),
    "batch": ("org", "requests", "atomic"),
}

# The memory plane has its requests judged in tests/sql/memory, profile and blacklist.
SHAPED = {op: request for op, request in VALID.items() if op in ACCEPTED}
EVERY_FIELD = [(op, field) for op, fields in ACCEPTED.items() for field in fields]
ROLES = {
    "viewer": "working_memory.get working_memory.list working_memory.render namespace.list"
    " namespace.get batch",
    "writer": "working_memory.set working_memory.append working_memory.replace"
    " working_memory.delete",
    "admin": "namespace.update token.mint token.list token.revoke",
}


@pytest.fixture
def live(db: Connection) -> Connection:
    """`db` with the block that a valid replace needs."""
    wm(db, "set", agent=None, content="old", block_key="live")
    return db


def registered(db: Connection, column: bytes) -> list[Any]:
    """A column of the registry, for the groups of operations that stand in these tables."""
    groups = {op.split(".")[0] for op in ACCEPTED}
    rows = db.execute(b"select op, " + column + b" from loom.operation").fetchall()
    return [(op, value) for op, value in rows if op.split(".")[0] in groups]


def test_the_registry_lists_these_operations_with_these_fields(db: Connection) -> None:
    rows = registered(db, b"accepted")
    assert {op: sorted(accepted) for op, accepted in rows} == {
        op: sorted(fields) for op, fields in ACCEPTED.items()
    }


def test_each_operation_needs_the_least_role(db: Connection) -> None:
    assert dict(registered(db, b"role")) == {
        op: role for role, ops in ROLES.items() for op in ops.split()
    }


def test_what_tests_send_covers_every_operation_and_field() -> None:
    assert set(SHAPED) == set(ACCEPTED)
    assert set(FIELDS) == {field for _op, field in EVERY_FIELD}
    assert set(REQUIRED) <= set(VALID)


@pytest.mark.parametrize("op", SHAPED)
def test_a_request_needs_no_more_than_its_required_fields(live: Connection, op: str) -> None:
    assert isinstance(operate(live, op, **VALID[op]), dict)


@pytest.mark.parametrize(("op", "field"), EVERY_FIELD)
def test_a_field_of_another_type_or_out_of_range_is_refused_by_name(
    live: Connection, op: str, field: str
) -> None:
    kind = kind_of(op, field)
    for wrong in kind.wrong:
        with refused(live, "LM001") as refusal:
            operate(live, op, **{**VALID[op], field: wrong})
        assert set(refusal.detail) == {"field", "reason"}, wrong
        assert refusal.detail["field"] == field
        assert refusal.detail["reason"].startswith(kind.reason), refusal.detail
        assert refusal.hint


@pytest.mark.parametrize(
    ("op", "field"), [(op, field) for op, field in EVERY_FIELD if field in ("role", "format")]
)
@pytest.mark.parametrize("wrong", [1, True, [], {}])
def test_a_word_must_be_a_string(live: Connection, op: str, field: str, wrong: Any) -> None:
    with refused(live, "LM001") as refusal:
        operate(live, op, **{**VALID[op], field: wrong})
    assert refusal.detail == {"field": field, "reason": "must be a string"}


@pytest.mark.parametrize(
    ("op", "field"), [(op, field) for op in SHAPED for field in REQUIRED.get(op, ())]
)
def test_a_required_field_must_be_there_and_not_null(live: Connection, op: str, field: str) -> None:
    missing = {name: value for name, value in VALID[op].items() if name != field}
    for request in (missing, {**missing, field: None}):
        with refused(live, "LM001") as refusal:
            operate(live, op, **request)
        assert refusal.detail["field"] == field
        assert refusal.detail["reason"] in ("is required", "must be a list of 1 to 50 requests")


@pytest.mark.parametrize(
    ("op", "field"),
    [(op, field) for op, field in EVERY_FIELD if field not in VALID[op]],
)
def test_null_is_the_same_as_left_out(live: Connection, op: str, field: str) -> None:
    operate(live, op, **{**VALID[op], field: None})


@pytest.mark.parametrize("op", SHAPED)
def test_an_operation_must_be_told_whose_data_is_meant(live: Connection, op: str) -> None:
    for field in set(VALID[op]) & {"org", "namespace"}:
        missing = {name: value for name, value in VALID[op].items() if name != field}
        for request in (missing, {**missing, field: None}, {**missing, field: "-"}):
            with refused(live, "LM003") as refusal:
                operate(live, op, **request)
            assert refusal.detail == {"field": field}


@pytest.mark.parametrize("op", SHAPED)
@pytest.mark.parametrize("name", ["surprise", "Org", "org ", "", "_caller", "😀"])
def test_an_unknown_field_is_refused_by_name(live: Connection, op: str, name: str) -> None:
    for value in ("x", None, {"actor": "open", "role": "admin"}):
        with refused(live, "LM001") as refusal:
            operate(live, op, **{**VALID[op], name: value})
        assert refusal.detail == {"field": name, "reason": "is not a field of this operation"}


@pytest.mark.parametrize("door", DOORS)
def test_every_door_refuses_an_unknown_field_by_name(live: Connection, door: str) -> None:
    for name in ("surprise", "_caller"):
        with refused(live, "LM001") as refusal:
            DOORS[door](live, "working_memory.set", **VALID["working_memory.set"], **{name: {}})
        assert refusal.detail["field"] == name


def test_of_several_unknown_fields_the_first_is_named(db: Connection) -> None:
    with refused(db, "LM001") as refusal:
        wm(db, "get", zeta=1, alpha=2, Beta=3)
    assert refusal.detail["field"] == "Beta"


def test_o37_a_long_unknown_field_is_named_up_to_two_hundred_characters(db: Connection) -> None:
    with refused(db, "LM001") as refusal:
        wm(db, "get", **{"😀" * 5000: 1})
    assert refusal.detail["field"] == "😀" * 200


@pytest.mark.parametrize("request_json", ["[]", '"text"', "1", "true", "null", "[{}]"])
@pytest.mark.parametrize(
    "statement",
    [
        b"select loom.working_memory_get(%s)",
        b"select loom.execute('working_memory.get', %s, null)",
        b"select loom.batch(%s)",
    ],
    ids=["function", "execute", "batch"],
)
def test_a_request_must_be_an_object(db: Connection, request_json: str, statement: bytes) -> None:
    with refused(db, "LM001") as refusal:
        db.execute(statement, (request_json,))
    assert refusal.detail == {"field": None, "reason": "must be a JSON object"}


def test_no_request_at_all_is_refused_like_one_that_is_no_object(db: Connection) -> None:
    with refused(db, "LM001") as refusal:
        db.execute("select loom.working_memory_get(null)")
    assert refusal.detail == {"field": None, "reason": "must be a JSON object"}


@pytest.mark.parametrize("number", ["2.0", "20e-1", "2.000"])
def test_a_whole_number_may_be_written_with_a_fraction_of_zero(db: Connection, number: str) -> None:
    request = f'{{"org": "acme", "namespace": "main", "content": "ab", "char_limit": {number}}}'
    row = db.execute("select loom.working_memory_set(%s::jsonb)", (request,)).fetchone()
    assert row is not None
    assert row[0]["char_limit"] == 2


def test_an_error_tells_nothing_of_what_was_stored_or_sent(db: Connection) -> None:
    wm(db, "set", content="private stored", char_limit=20)
    attempts: list[tuple[str, str, Answer]] = [
        ("LM401", "append", {"addition": "private sent"}),
        ("LM201", "set", {"content": "private sent", "if_match_sha256": "private"}),
        ("LM202", "set", {"content": "private sent", "if_absent": True}),
        ("LM403", "replace", {"old": "private sent", "new": "private"}),
        ("LM203", "replace", {"old": "private stored", "new": "private", "expected_count": 9}),
        ("LM001", "set", {"content": ["private sent"]}),
        ("LM406", "set", {"content": "x", "description": "private" * 1000}),
    ]
    for sqlstate, verb, request in attempts:
        with refused(db, sqlstate) as refusal:
            wm(db, verb, **request)
        assert "private" not in f"{refusal.message} {refusal.hint} {Jsonb(refusal.detail).obj}"

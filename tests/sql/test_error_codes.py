"""The errors: one table, one sentence and one class for each SQLSTATE."""

from __future__ import annotations

import re
from typing import Any

import psycopg

Connection = psycopg.Connection[Any]

ERRORS = {
    "LM001": ("INVALID_REQUEST", 400, "bad_request", False),
    "LM002": ("INVALID_TEXT", 422, "bad_request", False),
    "LM003": ("IDENTITY_INCOMPLETE", 400, "bad_request", False),
    "LM004": ("UNKNOWN_OPERATION", 404, "bad_request", False),
    "LM101": ("WORKING_MEMORY_BLOCK_NOT_FOUND", 404, "not_found", False),
    "LM102": ("MEMORY_NOT_FOUND", 404, "not_found", False),
    "LM103": ("LOOM_NOT_FOUND", 404, "not_found", False),
    "LM104": ("THREAD_NOT_FOUND", 404, "not_found", False),
    "LM105": ("WEAVING_NOT_FOUND", 404, "not_found", False),
    "LM201": ("STALE_WRITE", 409, "conflict", True),
    "LM202": ("ALREADY_EXISTS", 409, "conflict", False),
    "LM203": ("COUNT_MISMATCH", 409, "conflict", False),
    "LM204": ("PINNED_CONFLICT", 409, "conflict", False),
    "LM205": ("LOCKED", 423, "conflict", False),
    "LM206": ("IDEMPOTENCY_CONFLICT", 409, "conflict", False),
    "LM301": ("AUTH_REQUIRED", 401, "not_allowed", False),
    "LM302": ("AUTH_INSUFFICIENT", 403, "not_allowed", False),
    "LM401": ("WORKING_MEMORY_LIMIT_EXCEEDED", 422, "limit", False),
    "LM402": ("CHAR_LIMIT_EXCEEDED", 422, "limit", False),
    "LM403": ("SUBSTRING_NOT_FOUND", 422, "limit", False),
    "LM404": ("NOT_TEXT", 422, "limit", False),
    "LM405": ("PROFILE_SCHEMA_INVALID", 422, "limit", False),
    "LM406": ("LIMIT_EXCEEDED", 422, "limit", False),
    "LM407": ("BLACKLISTED", 422, "limit", False),
    "LM408": ("PAYLOAD_TOO_LARGE", 413, "limit", False),
    "LM501": ("MODEL_UNAVAILABLE", 503, "world", True),
    "LM502": ("CENSUS_FAILED", 500, "world", True),
}

BY_THE_EDGE = {"LM002", "LM408"}
"""Told by the HTTP edge, which alone sees what the database cannot be given."""

_RAISE = re.compile(
    r"raise exception using errcode = '(LM\d{3})', message = '((?:[^']|'')+)',(.*?);\n", re.DOTALL
)


def raised(db: Connection) -> list[tuple[str, str, str]]:
    """SQLSTATE, message and the rest of every raise in the functions."""
    bodies = db.execute(
        "select prosrc from pg_proc where pronamespace = 'loom'::regnamespace"
    ).fetchall()
    return [found for (body,) in bodies for found in _RAISE.findall(body)]


def listed(db: Connection) -> dict[str, tuple[Any, ...]]:
    """The rows of the table of errors."""
    rows = db.execute(
        "select sqlstate, code, http_status, category, retryable from loom.error_code"
    ).fetchall()
    return {row[0]: tuple(row[1:]) for row in rows}


def test_an_error_has_its_one_code_status_and_category(db: Connection) -> None:
    table = listed(db)
    assert table == {sqlstate: ERRORS.get(sqlstate) for sqlstate in table}


def test_what_functions_raise_is_in_the_table_and_the_other_way_round(db: Connection) -> None:
    assert {sqlstate for sqlstate, _message, _rest in raised(db)} == set(listed(db)) - BY_THE_EDGE
    mentioned = db.execute(
        "select count(*) from pg_proc cross join regexp_matches(prosrc, 'errcode = ''LM', 'g')"
        " where pronamespace = 'loom'::regnamespace"
    ).fetchone()
    assert mentioned == (len(raised(db)),)


def test_each_error_says_one_constant_sentence_and_what_to_do(db: Connection) -> None:
    sentences: dict[str, set[str]] = {}
    for sqlstate, message, rest in raised(db):
        sentences.setdefault(sqlstate, set()).add(message)
        assert "hint = " in rest, sqlstate
    assert {sqlstate: len(said) for sqlstate, said in sentences.items()} == dict.fromkeys(
        sentences, 1
    )
    assert all(sentence.endswith(".") for said in sentences.values() for sentence in said)

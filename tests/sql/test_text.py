"""Text that is no Unicode text never gets in by SQL: the jsonb type refuses it."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest

from tests.calls import refused
from tests.sql.doors import wm

Connection = psycopg.Connection[Any]


@pytest.mark.parametrize("field", ["block_key", "content", "description", "user_id", "surprise"])
@pytest.mark.parametrize(
    ("escape", "sqlstate"),
    [
        (r"\u0000", "22P05"),
        (r"a\u0000b", "22P05"),
        (r"\ud800", "22P02"),
        (r"\udc00", "22P02"),
        (r"\ud83d\ud83d", "22P02"),
        (r"\ude00\ud83d", "22P02"),
        (r"\ud83dx", "22P02"),
    ],
)
def test_o38_nul_and_lone_surrogates_are_refused_in_every_value(
    db: Connection, field: str, escape: str, sqlstate: str
) -> None:
    request = f'{{"org": "acme", "namespace": "main", "{field}": "{escape}"}}'
    with refused(db, sqlstate):
        db.execute("select loom.working_memory_set(%s::jsonb)", (request,))


@pytest.mark.parametrize(
    ("escape", "sqlstate"), [(r"\u0000", "22P05"), (r"\ud800", "22P02"), (r"\udfff", "22P02")]
)
def test_o38_nul_and_lone_surrogates_are_refused_in_a_field_name(
    db: Connection, escape: str, sqlstate: str
) -> None:
    request = f'{{"org": "acme", "namespace": "main", "content": "x", "{escape}": 1}}'
    with refused(db, sqlstate):
        db.execute("select loom.working_memory_set(%s::jsonb)", (request,))


@pytest.mark.parametrize(
    "raw", [b"\xff", b"\xc0\x80", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xe2\x82"]
)
def test_bytes_that_are_not_utf8_are_refused(db: Connection, raw: bytes) -> None:
    request = b'{"org": "acme", "namespace": "main", "content": "' + raw + b'"}'
    with refused(db, "22021"):
        db.execute("select loom.working_memory_set(convert_from(%s, 'UTF8')::jsonb)", (request,))


@pytest.mark.parametrize(
    "text",
    [
        "\x01\x1f\x7f",
        "\ufeffwith a mark",
        "\ufffe\uffff\U0010ffff",
        r"\u0000 as six characters",
        "\\",
        '"',
        "\u2028\u2029",
        "\u202eright to left",
        "e\u0301 and \u00e9",
        "\ud83d\ude00".encode("utf-16", "surrogatepass").decode("utf-16"),
    ],
    ids=ascii,
)
def test_any_other_text_comes_back_as_it_went_in(db: Connection, text: str) -> None:
    wm(db, "set", content=text, block_key=text, description=text, user_id=text)
    got = wm(db, "get", block_key=text, user_id=text)
    assert [got[name] for name in ("content", "block_key", "description", "user_id")] == [text] * 4


def test_an_escaped_pair_of_surrogates_is_one_code_point(db: Connection) -> None:
    request = r'{"org": "acme", "namespace": "main", "content": "\ud83d\ude00", "char_limit": 1}'
    row = db.execute("select loom.working_memory_set(%s::jsonb)", (request,)).fetchone()
    assert row is not None
    assert row[0]["value_length"] == 1


def test_of_a_field_sent_twice_the_last_counts(db: Connection) -> None:
    request = '{"org": "acme", "namespace": "main", "content": "one", "content": "two"}'
    db.execute("select loom.working_memory_set(%s::jsonb)", (request,))
    assert wm(db, "get", agent=None)["content"] == "two"


def test_a_request_too_deep_for_the_server_is_refused_by_it(db: Connection) -> None:
    request = '{"org": "acme", "namespace": "main", "content": ' + "[" * 60000 + "]" * 60000 + "}"
    with refused(db, "54001"):
        db.execute("select loom.working_memory_set(%s::jsonb)", (request,))

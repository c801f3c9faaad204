"""Canonical JSON, hash and length of a value, against an implementation of their own in Python."""

from __future__ import annotations

import json
from random import Random
from typing import Any

import psycopg
import pytest

from tests.calls import refused
from tests.sql.canonical_json import NotADouble, canonical, parse
from tests.sql.facts import fact, value_of
from tests.sql.json_values import number_text, value_text
from tests.sql.texts import sha256

Connection = psycopg.Connection[Any]

REASON = "is a number that a double cannot hold"


def canonical_in_database(db: Connection, text: str) -> str:
    row = db.execute("select loom._canonical(%s::jsonb, '$.value')", (text,)).fetchone()
    assert row is not None
    return row[0]  # type: ignore[no-any-return]


def expected(text: str) -> str | None:
    """The canonical text by the Python implementation; None for what must be refused."""
    try:
        return canonical(parse(text))
    except NotADouble:
        return None


@pytest.mark.parametrize("seed", range(4))
def test_thousands_of_values_have_the_same_text_in_both(db: Connection, seed: int) -> None:
    random = Random(seed)
    texts = [value_text(random) for _ in range(700)]
    rows = db.execute(
        "select loom._canonical(text::jsonb, '$.value') from unnest(%s::text[]) as text", (texts,)
    ).fetchall()
    assert [(text, found) for text, (found,) in zip(texts, rows, strict=True)] == [
        (text, expected(text)) for text in texts
    ]


@pytest.mark.parametrize("seed", range(4))
def test_thousands_of_numbers_have_the_same_text_in_both(db: Connection, seed: int) -> None:
    random = Random(seed)
    texts = [number_text(random) for _ in range(700)]
    rows = db.execute(
        """select case when loom._is_double(text::numeric)
          then loom._canonical_number(text::numeric, '$') end
        from unnest(%s::text[]) as text""",
        (texts,),
    ).fetchall()
    assert [(text, found) for text, (found,) in zip(texts, rows, strict=True)] == [
        (text, expected(text)) for text in texts
    ]


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("1e20", "100000000000000000000"),
        ("1e21", "1e+21"),
        ("123456789012345680000", "123456789012345680000"),
        ("0.000001", "0.000001"),
        ("1e-6", "0.000001"),
        ("1e-7", "1e-7"),
        ("-1.5e-7", "-1.5e-7"),
        ("-0", "0"),
        ("-0.0", "0"),
        ("5e-324", "5e-324"),
        ("-4.9e-324", "-5e-324"),
        ("1e23", "1e+23"),
        ("-1e23", "-1e+23"),
        ("1.7976931348623157e308", "1.7976931348623157e+308"),
        ("2.2250738585072014e-308", "2.2250738585072014e-308"),
        ("9007199254740991", "9007199254740991"),
        ("-9007199254740992", "-9007199254740992"),
        ("9007199254740994", "9007199254740994"),
        ("9007199254740993.5", "9007199254740994"),
        ("1.0", "1"),
        ("100e-2", "1"),
        ("4.35", "4.35"),
        ("0.1000000000000000055511151231257827", "0.1"),
        ("333333333.33333329", "333333333.3333333"),
        ("1e-400", "0"),
        ("-1e-1000", "0"),
        ("2.4703282292062327208e-324", "0"),
        ("2.47032822920623272085e-324", "0"),
        ("2.4703282292062327209e-324", "5e-324"),
    ],
)
def test_a_number_prints_as_ecmascript_prints_it(db: Connection, text: str, printed: str) -> None:
    assert canonical_in_database(db, text) == printed
    assert expected(text) == printed


@pytest.mark.parametrize(
    "text",
    [
        "9007199254740993",
        "-9007199254740993",
        "9007199254740993.0",
        "100000000000000000001",
        "1e309",
        "-1e309",
        "1e400",
        "1e100000",
        "1.7976931348623159e308",
        "1e-16000",
        "0e-16000",
    ],
)
def test_a_number_that_no_double_holds_is_refused_with_its_path(db: Connection, text: str) -> None:
    for value, path in (
        (text, "$.value"),
        (f'{{"a": [0, {{"b.c": {text}}}]}}', "$.value.a[1].b.c"),
    ):
        with refused(db, "LM001") as refusal:
            canonical_in_database(db, value)
        assert refusal.detail == {"field": path, "reason": REASON}
    with refused(db, "LM001") as refusal:
        db.execute(
            "select loom.memory_set(jsonb_build_object('org', 'acme', 'namespace', 'main',"
            " 'memory_key', 'k', 'value', %s::jsonb))",
            (text,),
        )
    assert refusal.detail["field"] == "$.value"


@pytest.mark.parametrize("number", ["1e400", "1e131000", "9007199254740993", "1e-16000"])
def test_a_list_of_huge_numbers_is_refused_before_anything_prints_it(
    db: Connection, number: str
) -> None:
    text = "[" + ",".join([number] * (180_000 // (len(number) + 1))) + "]"
    db.execute("set local statement_timeout = '1s'")
    with refused(db, "LM001") as refusal:
        canonical_in_database(db, text)
    assert refusal.detail == {"field": "$.value[0]", "reason": REASON}


def test_a_number_of_few_characters_cannot_be_stored_as_one_that_prints_as_millions(
    db: Connection,
) -> None:
    text = "[" + ",".join(["1e-1000"] * 20_000) + "]"
    db.execute(
        "select loom.memory_set(jsonb_build_object('org', 'acme', 'namespace', 'main',"
        " 'agent', 'coder', 'memory_key', 'likes', 'value', %s::jsonb))",
        (text,),
    )
    row = db.execute("select length(value::text) from loom.memory").fetchone()
    assert row is not None
    assert row[0] < 100_000
    assert value_of(db) == [0] * 20_000


def test_keys_sort_by_utf_16_code_unit(db: Connection) -> None:
    names = [*"bA\uff61\U0001f600\U0010ffff\ue000\ud7ffaé", "", "a\U0001f600", "a\uff61", "aa"]
    names += ["\U0010ffff\x01", "\U0010ffffa", "\U0010ffff\ue000", "\U0010fffe\uffff"]
    text = canonical_in_database(db, json.dumps(dict.fromkeys(names, 0)))
    assert list(json.loads(text)) == sorted(names, key=lambda name: name.encode("utf-16-be"))
    assert text.index("\U0001f600") < text.index("\uff61")


def test_no_space_and_no_needless_escape_stands_in_it(db: Connection) -> None:
    text = r'{ "b" : [ 1 , "é\u0041\/\u007f\u2028" ] , "a" : { } , "c" : [ ] }'
    assert canonical_in_database(db, text) == '{"a":{},"b":[1,"éA/\x7f\u2028"],"c":[]}'


def test_control_characters_are_escaped_in_the_one_way(db: Connection) -> None:
    every = "".join(map(chr, range(1, 32)))
    found = canonical_in_database(db, json.dumps(every))
    assert found == canonical(every)
    assert "\\u001f" in found


def test_a_value_may_make_its_request_sixty_four_deep(db: Connection) -> None:
    for opening, closing in (("[", "]"), ('{"a":', "}")):
        deepest = opening * 63 + ("1" if opening != "[" else "") + closing * 63
        assert canonical_in_database(db, deepest) == deepest
        with refused(db, "LM001") as refusal:
            canonical_in_database(db, opening + deepest + closing)
        assert refusal.detail["field"] == "$.value" + ("[0]" if opening == "[" else ".a") * 63
        assert refusal.detail["reason"] == "is nested deeper than 64"


def test_o37_the_path_of_a_deep_number_is_cut_between_code_points(db: Connection) -> None:
    with refused(db, "LM001") as refusal:
        canonical_in_database(db, json.dumps({"😀" * 500: 2**53 + 1}))
    assert refusal.detail["field"] == "$.value." + "😀" * 192


@pytest.mark.parametrize("value", ["text", "héllo \U0001f600", {"b": 1.0, "a": [None, 1e21]}, None])
def test_hash_and_length_are_of_the_canonical_text(db: Connection, value: Any) -> None:
    receipt = fact(db, "set", value=value)
    text = canonical(value)
    assert (receipt["content_sha256"], receipt["value_length"]) == (sha256(text), len(text))


def test_values_that_differ_only_in_how_they_are_written_are_the_same(db: Connection) -> None:
    texts = ['{"a": 1.0, "b": [1e2]}', '{"b":[100],"a":1}', '{ "b" : [100.0], "a": 10e-1 }']
    assert {canonical_in_database(db, text) for text in texts} == {'{"a":1,"b":[100]}'}


@pytest.mark.parametrize(
    "setting",
    [
        "extra_float_digits = -15",
        "extra_float_digits = 3",
        "timezone = 'Asia/Kathmandu'",
        "bytea_output = 'escape'",
        "standard_conforming_strings = off",
    ],
)
def test_a_setting_of_the_session_changes_no_text(db: Connection, setting: str) -> None:
    db.execute(f"set local {setting}".encode())
    random = Random(5)
    for text in [*(value_text(random) for _ in range(50)), "0.1", "1e23", "1.7976931348623157e308"]:
        assert canonical_in_database(db, text) == expected(text)

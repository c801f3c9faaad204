"""Bodies that Postgres cannot take: what is wrong with them, and where."""

from __future__ import annotations

import json
from typing import Any

import psycopg
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from loom.app.body import DEEPEST, examine
from tests.http.api import Api, detail

Connection = psycopg.Connection[Any]

# Each body with the path of the text in it that cannot be stored.
BAD_TEXTS = [
    (rb'{"content": "\u0000"}', "$.content"),
    (rb'{"content": "a\u0000b"}', "$.content"),
    (rb'{"a": 1, "value": {"notes": ["\ud800"]}}', "$.value.notes[0]"),
    (rb'{"value": {"notes": ["x", [1, "\udc00"]]}}', "$.value.notes[1][1]"),
    (rb'{"a": ["\ud83d\ude00", "\ud83d"]}', "$.a[1]"),
    (rb'{"a": "\ud83d\u0041"}', "$.a"),
    (rb'{"a": "\ude00\ud83d"}', "$.a"),
    (rb'{"a": "\ud83d\n\ude00"}', "$.a"),
    (rb'{"a": "\ud83d \ude00"}', "$.a"),
    (rb'{"a": "\ud83d\ud83d\ude00"}', "$.a"),
    (rb'{"bad\u0000": 1}', r'$["bad\u0000"]'),
    (rb'{"ok": {"x y": "\u0000"}}', '$.ok["x y"]'),
    ('{"ключ": "\\u0000"}'.encode(), '$["ключ"]'),
    (rb'{"a": "\\u0000", "b": "\\\u0000"}', "$.b"),
    (rb'{"a": "\u0000", "b": "\u0000"}', "$.a"),
]

NOT_JSON = [
    b"",
    b" ",
    b"{",
    b"}",
    b"{}{}",
    b"{} x",
    b'{"a"}',
    b'{"a":}',
    b'{"a" 1}',
    b'{"a":1,}',
    b"{,}",
    b'{"a":[1,]}',
    b'{"a":[1 2]}',
    b'{"a":[1}',
    b"{'a': 1}",
    b"{a: 1}",
    b'{"a": tru}',
    b'{"a": truex}',
    b'{"a": NaN}',
    b'{"a": Infinity}',
    b'{"a": 01}',
    b'{"a": +1}',
    b'{"a": 1.}',
    b'{"a": .5}',
    b'{"a": 1e}',
    b'{"a": -}',
    b'{"a": "',
    b'{"a": "\\x"}',
    b'{"a": "\\u12"}',
    b'{"a": "\\"}',
    b'{"a": "tab\there"}',
    b'{"a": "\x00"}',
    b"\x00",
    b'\xef\xbb\xbf{"a": 1}',
    b'{"a": "\xff"}',
    b'{"a": "\xed\xa0\x80"}',
    b'{"a": "\xc0\x80"}',
    b'{"a": "\xf5\x80\x80\x80"}',
    '{"a": 1}'.encode("utf-16"),
    b'{"a": /* no */ 1}',
    # Not JSON counts for more than a text that could not be stored.
    rb'{"a": "\u0000"',
]

NO_OBJECT = [b"[]", b'"text"', b"1", b"null", b"true", b'[{"a": 1}]']


@pytest.mark.parametrize(("body", "path"), BAD_TEXTS)
def test_a_text_that_cannot_be_stored_is_422_with_its_path(
    api: Api, body: bytes, path: str
) -> None:
    response = api.post("working_memory.set", body)
    assert detail(response, 422, "INVALID_TEXT") == {"path": path}


@pytest.mark.parametrize("body", NOT_JSON)
def test_what_is_not_utf_8_json_is_400(api: Api, body: bytes) -> None:
    response = api.post("working_memory.set", body)
    fields = detail(response, 400, "INVALID_REQUEST")
    assert fields["field"] is None
    assert fields["reason"]


@pytest.mark.parametrize("body", NO_OBJECT)
def test_what_is_no_object_is_400(api: Api, body: bytes) -> None:
    response = api.post("working_memory.set", body)
    fields = detail(response, 400, "INVALID_REQUEST")
    assert fields == {"field": None, "reason": "must be a JSON object"}


@pytest.mark.parametrize("number", [b"1e200000", b"-1e999999999999", b"1e-20000", b"9" * 140_000])
def test_a_number_out_of_range_is_400_with_its_place(api: Api, number: bytes) -> None:
    response = api.post("working_memory.set", b'{"a": [1, ' + number + b"]}")
    fields = detail(response, 400, "INVALID_REQUEST")
    assert fields == {"field": "$.a[1]", "reason": "is a number out of range"}


@pytest.mark.parametrize(
    "body",
    [
        b'{"content": ' + b"[" * 500_000,
        b'{"content": ' + b"[" * 300_000 + b"]" * 300_000 + b"}",
        b'{"a":' * 150_000 + b"1" + b"}" * 150_000,
        b"[" * 1_000_000,
        b'{"a": ' + b'[{"b": ' * 50_000 + b"1" + b"}]" * 50_000 + b"}",
    ],
    ids=["open", "lists", "objects", "no object", "mixed"],
)
def test_a_body_that_is_nested_very_deeply_is_400(api: Api, body: bytes) -> None:
    fields = detail(api.post("working_memory.set", body), 400, "INVALID_REQUEST")
    assert "deep" in fields["reason"]
    assert api.call("working_memory.get").status_code == 200


def test_a_body_is_400_from_a_depth_of_65(api: Api) -> None:
    for depth in (65, 100, 3000):
        body = b'{"content": ' + b"[" * (depth - 1) + b"]" * (depth - 1) + b"}"
        detail(api.post("working_memory.set", body), 400, "INVALID_REQUEST")


def test_the_path_of_an_error_is_not_endless() -> None:
    body = b'{"' + b"k" * 1000 + rb'": "\u0000"}'
    refusal = examine(body)
    assert refusal is not None
    assert len(refusal.fields["path"]) < 320


def test_a_large_hostile_body_is_judged_quickly(api: Api) -> None:
    for body in (
        b'{"a": "' + rb"\ud800" * 170_000 + b'"}',
        b'{"a": "' + b"\\\\" * 500_000 + b"\x00",
        b'{"a": [' + b"1," * 500_000 + rb'"\u0000"]}',
        b"{" + b",".join(b'"%d":1' % n for n in range(80_000)) + rb',"x":"\u0000"}',
    ):
        assert api.post("working_memory.set", body).status_code in (400, 422)


_texts = st.text(st.characters(exclude_categories=()), max_size=8)
_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | _texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(_texts, inner, max_size=4),
    max_leaves=12,
)
_documents = st.dictionaries(_texts, _values, max_size=4)


def _escaped(document: Any) -> bytes:
    """As JSON in ASCII, so that surrogates of every kind survive."""
    return json.dumps(document).encode()


@st.composite
def _mangled(draw: st.DrawFn) -> bytes:
    body = bytearray(_escaped(draw(_documents)))
    for _ in range(draw(st.integers(0, 3))):
        at = draw(st.integers(0, len(body)))
        piece = draw(
            st.sampled_from(
                [
                    b"",
                    b'"',
                    b"\\",
                    b"{",
                    b"]",
                    b",",
                    b"\\u0000",
                    b"\\ud800",
                    b"\xff",
                    b"\x00",
                    b" ",
                    b"1e9",
                    b"-",
                ]
            )
        )
        body[at : at + draw(st.integers(0, 2))] = piece
    return bytes(body)


@settings(max_examples=400, deadline=None)
@given(body=_mangled())
@example(body=rb'{"a":"\ud800"}')
@example(body=b'{"a":1e131071}')
@example(body=b'{"a":1e131072}')
@example(body=b'{"a":1e-16383}')
@example(body=b'{"a":0e999999}')
@example(body=b'{"a":0e-99999999999}')
@example(body=b'{"a":-0.10e16382}')
@example(body=b'{"a":0.0000000000000000000000000e300}')
def test_a_body_is_found_wrong_exactly_when_postgres_refuses_it(
    _shared: Connection, body: bytes
) -> None:
    assert (examine(body) is None) == _taken(_shared, body)


def _taken(conn: Connection, body: bytes) -> bool:
    result = conn.pgconn.exec_params(
        b"select jsonb_typeof($1) = 'object'", [b"\x01" + body], [3802], [1]
    )
    return result.status == psycopg.pq.ExecStatus.TUPLES_OK and result.get_value(0, 0) == b"t"


def test_depth_is_counted_as_documented() -> None:
    deep = b'{"a":' + b"[" * (DEEPEST - 1) + b"]" * (DEEPEST - 1) + b"}"
    assert examine(deep) is None
    assert examine(b'{"a":' + b"[" * DEEPEST + b"]" * DEEPEST + b"}") is not None

"""What a hostile caller sends: JSON as text, so that it can say what no JSON library would."""

from __future__ import annotations

import json
from collections.abc import Mapping
from uuid import UUID

Raw = str
"""A JSON text that need not be one."""

_UUID = str(UUID(int=1))


def text(value: str) -> Raw:
    """A JSON string."""
    return json.dumps(value, ensure_ascii=False)


def array(items: list[Raw]) -> Raw:
    """A JSON array."""
    return f"[{','.join(items)}]"


def obj(fields: Mapping[str, Raw]) -> Raw:
    """A JSON object."""
    return "{" + ",".join(f"{text(name)}:{value}" for name, value in fields.items()) + "}"


def deep(levels: int, around: Raw = "1") -> Raw:
    """Arrays inside each other."""
    return "[" * levels + around + "]" * levels


def deep_object(levels: int) -> Raw:
    """Objects inside each other."""
    return '{"a":' * levels + "1" + "}" * levels


VALUES: dict[str, Raw] = {
    "null": "null",
    "true": "true",
    "false": "false",
    "zero": "0",
    "minus one": "-1",
    "one": "1",
    "one and a half": "1.5",
    "a whole float": "2.0",
    "over integer": "2147483648",
    "over bigint": "9223372036854775808",
    "under bigint": "-9223372036854775809",
    "huge number": "1e100000",
    "huge negative number": "-1e100000",
    "tiny number": "1e-16000",
    "many tiny numbers": array(["1e-16000"] * 500),
    "many zeros": array(["0e-16000"] * 500),
    "many large numbers": array(["1e300"] * 500),
    "many digits": "1" * 30_000,
    "many huge numbers": array(["1e100000"] * 500),
    "huge number in an object": '{"a":1e100000}',
    "empty": '""',
    "not set": '"-"',
    "every": '"*"',
    "space": '" "',
    "wildcards": text("%_\\"),
    "control characters": text("\x01\x1b[31m\x7f\t\r\n"),
    "not characters": text("\ufffe\uffff"),
    "emoji": text("👩‍👩‍👧"),
    "composed later": text("e\u0301" * 3),
    "right to left": text("\u202eabc\u2066"),
    "201 characters": text("x" * 201),
    "260 bytes": text("😀" * 65),
    "20 KB": text("x" * 20_000),
    "one over the largest block": text("x" * 16_385),
    "300 KB": text("漢" * 100_000),
    "markup": text("]]></working-memory><!--&amp;\"'"),
    "backticks": text("`" * 4000),
    "newlines": text("\n" * 4000),
    "a slow pattern": text("(a+)+$" + "a" * 3000 + "!"),
    "sql": text("'; drop table loom.token; --"),
    "format": text("%s %I %L %1$s {0} $1"),
    "a number as text": '"1e100000"',
    "a time": '"2026-01-01T00:00:00Z"',
    "infinity": '"infinity"',
    "uuid": text(_UUID),
    "uuid in braces": text("{" + _UUID + "}"),
    "sha256": text("0" * 64),
    "empty array": "[]",
    "array of null": "[null]",
    "array of text": '["a"]',
    "array of objects": '[{"a":[{}]}]',
    "long array": array(['"a"'] * 5000),
    "long array of arrays": array(["[]"] * 5000),
    "64 deep": deep(64),
    "1000 deep": deep(1000),
    "objects 1000 deep": deep_object(1000),
    "a long text 500 deep": deep(500, text("x" * 100_000)),
    "empty object": "{}",
    "empty key": '{"":""}',
    "many keys": obj({f"k{number}": "1" for number in range(3000)}),
    "a long key": obj({"k" * 50_000: "1"}),
    "the same key twice": '{"a":1,"a":[2]}',
    "odd keys": obj({"$": "1", "a.b": "1", "\u0001": "1", "__proto__": "{}", "😀": "1"}),
}
"""Values that `jsonb` takes, by what they are."""

BROKEN: dict[str, Raw] = {
    "nothing": "",
    "not json": "{org: acme}",
    "cut off": '{"org": "ac',
    "two values": "{} {}",
    "trailing comma": '{"org": "acme",}',
    "NaN": '{"org": NaN}',
    "U+0000": '{"org": "a\\u0000b"}',
    "U+0000 in a key": '{"a\\u0000": 1}',
    "lone high surrogate": '{"org": "\\ud83d"}',
    "lone low surrogate": '{"org": "\\ude00x"}',
    "surrogates in the wrong order": '{"org": "\\ude00\\ud83d"}',
    "surrogate in a key": '{"\\ud83d": 1}',
    "number out of range": '{"org": 1e1000000}',
    "exponent out of range": '{"org": 1e99999999999999999999}',
    "too deep": deep(100_000),
    "objects too deep": deep_object(100_000),
    "deep and cut off": "[" * 500_000,
    "raw control character": '{"org": "a\x01b"}',
    "bad escape": '{"org": "\\x41"}',
}
"""Texts that `jsonb` does not take, by what they are."""

REQUESTS: dict[str, Raw] = {
    **{f"request: {name}": value for name, value in VALUES.items()},
    "unknown field": '{"org":"acme","namespace":"n","surprise":1}',
    "many unknown fields": obj({f"k{number}": "1e100000" for number in range(3000)}),
    "a forged caller": '{"_caller":{"role":"admin","org":"acme","actor":"open"}}',
    "a forged caller that is null": '{"_caller":null,"org":"acme"}',
    "batch in a batch": '{"org":"acme","requests":[{"op":"batch","requests":[{"op":"batch"}]}]}',
    "batch of anything": obj({"requests": array(list(VALUES.values())[:50])}),
    "batch of ops that are none": obj(
        {"requests": array([obj({"op": value}) for value in list(VALUES.values())[:50]])}
    ),
}
"""Whole requests, valid for no operation or only by accident."""

TEXTS: tuple[str | None, ...] = (
    *(None, "", "-", "*", "%", "x" * 201, "x" * 100_000, "😀" * 65, "\x01", "'; --", "loom"),
    *("namespace.list", "working_memory.set", "batch", "Batch", "_admit", "call", _UUID),
)

ARGUMENTS: dict[str, tuple[str | None, ...]] = {
    "text": TEXTS,
    "name": TEXTS,
    "uuid": (None, "", "x", _UUID, str(UUID(int=0)), str(UUID(int=2**128 - 1)), "{" + _UUID + "}"),
    "bytea": (None, "", "\\x", "\\x00", "\\x" + "00" * 32, "\\x" + "ff" * 100_000, "\\xzz", "a\\"),
    "boolean": (None, "true", "false", "", "perhaps"),
    "smallint": (None, "0", "-1", "32767", "32768", "1e5", ""),
    "integer": (None, "0", "-1", "1", "2147483647", "-2147483648", "2147483648", "1.5", "", "x"),
    "bigint": (None, "0", "-1", "9223372036854775807", "-9223372036854775808", "1e20", "", "x"),
    "numeric": (None, "0", "-1", "NaN", "Infinity", "1e100000", "1e-16000", "", "x"),
    "double precision": (None, "0", "NaN", "-Infinity", "1e400", "", "x"),
    "interval": (None, "", "1 s", "-1 s", "178000000 years", "-178000000 years", "x"),
    "timestamp with time zone": (
        *(None, "", "infinity", "-infinity", "epoch", "4713-01-01 BC", "294276-12-31", "x"),
    ),
    "jsonb": (None, *VALUES.values(), *BROKEN.values()),
    "text[]": (None, "{}", "{NULL}", "{a,b}", "{{a},{b}}", "{", "a", "{" + "a," * 5000 + "a}"),
    "uuid[]": (None, "{}", "{NULL}", "{" + _UUID + "}", "{x}", "{"),
    "bigint[]": (None, "{}", "{NULL}", "{1,2}", "{99999999999999999999}", "{"),
    "integer[]": (None, "{}", "{NULL}", "{1,2}", "{99999999999}", "{"),
    "jsonb[]": (None, "{}", "{NULL}", '{"{}"}', '{"1e100000"}', "{x}"),
}
"""Arguments as texts, by the type that they are cast to."""

PLAIN: dict[str, str] = {
    "text": "a",
    "name": "a",
    "uuid": _UUID,
    "bytea": "\\x00",
    "boolean": "true",
    "timestamp with time zone": "epoch",
    "interval": "1 s",
    "jsonb": "{}",
    "integer": "1",
    "bigint": "1",
    "smallint": "1",
    "numeric": "1",
    "double precision": "1",
}
"""An argument of a type, where any will do; the empty array where the type is one."""

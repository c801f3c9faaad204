"""Profile schemas for tests: what is taken, and what is refused with which path and reason."""

from __future__ import annotations

from typing import Any

Schema = dict[str, Any]

EXAMPLE: Schema = {
    "type": "object",
    "properties": {
        "preferred_name": {"type": "string", "description": "How to address them"},
        "timezone": {"type": "string", "description": "Time zone by its IANA name"},
        "languages": {
            "type": "array",
            "items": {"type": "string"},
            "description": "What they speak",
        },
    },
}
"""A name, a time zone and a list of languages."""

TYPES = "must be one of string, number, integer, boolean, array"
ITEM_TYPES = "must be one of string, number, integer, boolean"
UNKNOWN = "is not a keyword that is taken here"
REQUIRED = "is required"
NO_STRING = "must be a string"
NAME = "must have a name of 1 to 200 characters and at most 256 bytes"
COUNT = "must be an object of 1 to 64 properties"
LENGTH = "must be a whole number from 0 to 65536"
MOST_LENGTH = "must be a whole number from 1 to 65536"
DOUBLE = "must be a number that a double can hold"
WHOLE = "must be a whole number from -9007199254740992 to 9007199254740992"
ITEMS = "must be a whole number from 1 to 50"
ENUM = "must be a list of one string or more"
NOT_TAKEN = "is not of the regular expressions that are taken"
RUNS_AWAY = "is too large with its bounds written out"
PATTERN_LENGTH = "must have 1 to 200 characters"
VALUES = "may hold more than 256 values; an array counts its maxItems, or 50"
TOKENS = "may take more than 16384 tokens by its estimate"
LARGE = "is larger than 16 KiB as canonical JSON"


def values(*listed: Any) -> tuple[Any, ...]:
    """Values of several types."""
    return listed


def text(**keywords: Any) -> Schema:
    """A property of type string."""
    return {"type": "string", "description": "d", **keywords}


def number(**keywords: Any) -> Schema:
    return {"type": "number", "description": "d", **keywords}


def integer(**keywords: Any) -> Schema:
    return {"type": "integer", "description": "d", **keywords}


def boolean(**keywords: Any) -> Schema:
    return {"type": "boolean", "description": "d", **keywords}


def array(item: Any = None, **keywords: Any) -> Schema:
    """A property of type array; of booleans where nothing else is said."""
    items = {"type": "boolean"} if item is None else item
    return {"type": "array", "description": "d", "items": items, **keywords}


def item(**keywords: Any) -> Schema:
    """The items of an array: a string unless something else is said."""
    return {"type": "string", **keywords}


def schema(*properties: Any, **named: Any) -> Schema:
    """A schema of properties: p, p2, p3, …, or as they are named."""
    numbered = {f"p{place if place > 1 else ''}": p for place, p in enumerate(properties, 1)}
    return {"type": "object", "properties": {**numbered, **named}}


def many(count: int, one: Schema) -> Schema:
    """A schema of so many equal properties."""
    return {"type": "object", "properties": {f"p{n}": one for n in range(count)}}


def of_size(size: int) -> Schema:
    """A schema of exactly so many bytes: the descriptions take up what is left."""
    made = many(4, {"type": "boolean", "description": "d"})
    left = size - len(
        '{"properties":{'
        + ",".join(f'"p{n}":{{"description":"","type":"boolean"}}' for n in range(4))
        + '},"type":"object"}'
    )
    made["properties"]["p3"] = boolean(description="é" * (left // 2 - 3) + "x" * (left % 2 + 3))
    return made


FULL = schema(text(maxLength=32698))
"""Of exactly 16384 tokens: 32, 3 for the key p, 16349 for a value of so many signs."""

ACCEPTED: dict[str, Schema] = {
    "the example": EXAMPLE,
    "one of each type": schema(text(), number(), integer(), boolean(), array()),
    "closed, with titles": {
        **schema(text(title=""), array(item(title="t", description="d"), title="t")),
        "title": "t",
        "additionalProperties": False,
    },
    "a property named title": schema(title=text(), properties=text(), type=text()),
    "strings with all": schema(
        text(minLength=2, maxLength=3, enum=["ab", "abc", "💶💶💶"], pattern="^[a-z]+$")
    ),
    "a string without length": schema(text(minLength=0)),
    "lengths that are equal": schema(text(minLength=7, maxLength=7)),
    "whole numbers written otherwise": schema(text(minLength=1.0, maxLength=2e1)),
    "one empty choice": schema(text(enum=[""])),
    "choices that differ in case": schema(text(enum=["a", "A", "á", "a\u0301"])),
    "bounds of a number": schema(number(minimum=-1.5, maximum=1.5e20)),
    "equal bounds": schema(number(minimum=0.1, maximum=0.1), integer(minimum=3, maximum=3)),
    "an integer to 2^53": schema(integer(minimum=-(2**53), maximum=2**53)),
    "an integer written with a fraction": schema(integer(minimum=1.0)),
    "lists of each type": schema(
        array(item(enum=["a"], maxLength=1), maxItems=1),
        array({"type": "number", "minimum": 1}, maxItems=50),
        array({"type": "integer", "maximum": 1}),
        array({"type": "boolean"}),
    ),
    "a name of 200 signs": schema(**{"n" * 200: boolean()}),
    "a name of 256 bytes": schema(**{"é" * 128: boolean()}),
    "names of any signs": schema(**{"a.b": boolean(), "$": boolean(), " ": boolean(), "'": text()}),
    "64 properties": many(64, boolean()),
    "256 values": schema(*[array()] * 5, *[boolean()] * 6),
    "16384 tokens": FULL,
    "16 KiB": of_size(16384),
}
"""Schemas that are taken."""

PATTERNS: tuple[str, ...] = (
    *("a", ".", "^$", "^", "$", "a|b", "a||b", "|", "(a)", "(?:a)", "((a)|(?:b))+", "(|a)", "(a|)"),
    *("a*", "a+", "a?", "a*?", "a+?", "a??", "a{2}", "a{2,}", "a{2,3}", "a{0,100}?", "a{0}"),
    *(
        "[a]",
        "[^a]",
        "[a-z]",
        "[-a]",
        "[a-]",
        "[a-z-]",
        "[-]",
        "[^-]",
        "[^^]",
        "[a^]",
        "[.*+?(){}|$]",
    ),
    *(r"[\]]", r"[\[]", r"[\\]", r"[\-a]", r"[\^]", r"[\d\s]", r"[\D\W\S]", r"[\n-\r]", r"[!-\/]"),
    *(r"\d\D\w\W\s\S\n\r\t\f\v", r"\.\*\+\?\(\)\[\]\{\}\|\^\$\\", r"\-\/\_\"\'\~\`\@\#\&\<\>\=\!"),
    *("é", "[à-ü]", "[一-龥]{1,20}", "💶", " ", "\n", "a b", "-", ",", "1", "_", "[ -~]"),
    *(
        "^[^@ ]+@[^@ ]+$",
        r"^\+?[0-9]{1,3}([ -]?[0-9]{2,4}){2,4}$",
        r"^[A-Z][a-z]+/[A-Z][A-Za-z_]+$",
    ),
    *(r"^\d{4}-\d{2}-\d{2}$", r"[\w.%+-]{1,64}@[A-Za-z0-9.-]{1,100}", "x" * 200, "(a{10}){100}"),
    *("(x+x+)+y", "(^)*", "(^|a$)+"),
)
"""Patterns that are taken."""

NO_PATTERNS: dict[str, tuple[str, ...]] = {
    PATTERN_LENGTH: ("", "x" * 201, "💶" * 201),
    NOT_TAKEN: (
        *(r"\b", r"\B", r"\A", r"\Z", r"\z", r"\m", r"\M", r"\y", r"\Y", r"\1", r"(a)\1", r"\0"),
        *(
            r"\u0041",
            r"\x41",
            r"\x{41}",
            r"\a",
            r"\e",
            r"\cA",
            r"\pL",
            r"\p{L}",
            r"\Q.\E",
            r"\C",
            r"\é",
        ),
        *("(?=a)", "(?!a)", "(?<=a)", "(?<!a)", "(?i)a", "(?i:a)", "(?#x)", "(?P<n>a)", "(?<n>a)"),
        *(
            "(?>a)",
            "***:a",
            "***=a",
            "(*a)",
            "a**",
            "a*+",
            "a?+",
            "a{2}{3}",
            "a*{2}",
            "a+??",
            "*",
            "+a",
        ),
        *(
            "?",
            "^*",
            "$+",
            "^{2}",
            "(*)",
            "a|*",
            "(",
            ")",
            "(a",
            "a)",
            "a(?:",
            "()",
            "(?:)",
            "(|)",
            "a()",
        ),
        *(
            "{",
            "}",
            "{1}",
            "a{",
            "a{}",
            "a{,5}",
            "a{x}",
            "a{1",
            "a{1,2",
            "a{101}",
            "a{0,101}",
            "a{101,}",
        ),
        *("a{007}", "a{1000}", "a{99999999999999999999}", "a{1,2,3}", "a{ 1}", "a{-1}", "a{²}"),
        *(
            "[",
            "]",
            "[]",
            "[^]",
            "[]a]",
            "[^]a]",
            "[a",
            "a]",
            "[a-b-c]",
            "[--]",
            "[--a]",
            "[+--]",
            "[a--]",
        ),
        *(
            "[[]",
            "[[:alpha:]]",
            "[[:alpha:]",
            "[[.a.]]",
            "[[=a=]]",
            "[a[b]",
            r"[\b]",
            r"[a-\d]",
            r"[\d-z]",
        ),
        *(r"[\x41]", "\\", "a\\", "[\\", r"[\é]"),
    ),
    RUNS_AWAY: (
        *("(a{100}){11}", "((a{100}){100}){100}", "(?:a?b?c?d?e?f?){100}", "a{100}" * 11),
        *("((a{100,}){100,}){100,}", r"(?:a{100}){100}[\](]", r"(?:[\])]a{100}){100}"),
        "[" + "一丁丂七丄丅丆万丈三上下" * 10 + "]{100}",
    ),
    "does not compile": ("[z-a]", "a{2,1}", r"[\r-\n]"),
}
"""Patterns that are refused, by the reason."""

_P = "$.properties.p"

REFUSED: list[tuple[Any, str, str]] = [
    # The whole
    *[(wrong, "$", "must be a JSON object") for wrong in values("{}", 1, True, [], [EXAMPLE])],
    ({}, "$.type", 'must be "object"'),
    ({"type": "object"}, "$.properties", COUNT),
    ({"properties": EXAMPLE["properties"]}, "$.type", 'must be "object"'),
    *[
        ({**EXAMPLE, "type": wrong}, "$.type", 'must be "object"')
        for wrong in values("array", None, ["object"], {}, 1)
    ],
    *[
        ({**EXAMPLE, "properties": wrong}, "$.properties", COUNT)
        for wrong in values({}, [], None, "x", 1, [{}])
    ],
    *[
        ({**EXAMPLE, "additionalProperties": wrong}, "$.additionalProperties", "may only be false")
        for wrong in values(True, None, {}, 0, "false")
    ],
    *[({**EXAMPLE, "title": wrong}, "$.title", NO_STRING) for wrong in values(None, 1, {}, ["t"])],
    *[
        ({**EXAMPLE, keyword: value}, f"$.{keyword}", UNKNOWN)
        for keyword, value in {
            "required": ["timezone"],
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "description": "d",
            "$defs": {},
            "patternProperties": {},
            "enum": [],
            "Type": "object",
            "": 1,
        }.items()
    ],
    ({**EXAMPLE, "zeta": 1, "Alpha": 1}, "$.Alpha", UNKNOWN),
    (many(65, boolean()), "$.properties", COUNT),
    # Names
    (schema(**{"": boolean()}), "$.properties.", NAME),
    (schema(**{"n" * 201: boolean()}), "$.properties." + "n" * 187, NAME),
    (schema(**{"é" * 129: boolean()}), "$.properties." + "é" * 129, NAME),
    # A property
    *[
        (schema(wrong), _P, "must be an object")
        for wrong in values(None, 1, True, "string", [], [text()])
    ],
    (schema({"description": "d"}), f"{_P}.type", REQUIRED),
    *[
        (schema({"type": wrong, "description": "d"}), f"{_P}.type", TYPES)
        for wrong in values(
            "null", "object", "String", "", None, 1, ["string"], ["string", "null"], {}
        )
    ],
    (schema({"type": "string"}), f"{_P}.description", REQUIRED),
    *[
        (schema(text(description=wrong)), f"{_P}.description", NO_STRING)
        for wrong in values(None, 1, [])
    ],
    *[
        (schema(text(description=wrong)), f"{_P}.description", "must not be blank")
        for wrong in values("", " ", "\n\t ", "\u00a0\u2003\u3000")
    ],
    *[(schema(number(title=wrong)), f"{_P}.title", NO_STRING) for wrong in values(None, 1, [])],
    *[
        (schema(text(**{keyword: 1})), f"{_P}.{keyword}", UNKNOWN)
        for keyword in ("format", "default", "const", "examples", "nullable", "$ref", "MinLength")
    ],
    (schema(boolean(), text(required=True)), f"{_P}2.required", UNKNOWN),
    # What goes with which type
    *[
        (schema(made), f"{_P}.{keyword}", f"does not go with type {made['type']}")
        for keyword, made in [
            *[(word, text(**{word: 1})) for word in ("minimum", "maximum", "items", "maxItems")],
            *[(word, number(**{word: 1})) for word in ("enum", "pattern", "minLength", "items")],
            *[(word, integer(**{word: 1})) for word in ("enum", "maxLength", "maxItems")],
            *[(word, boolean(**{word: 1})) for word in ("enum", "minimum", "pattern", "items")],
            *[(word, array(**{word: 1})) for word in ("enum", "maxLength", "maximum", "pattern")],
        ]
    ],
    # Strings
    *[
        (schema(text(minLength=wrong)), f"{_P}.minLength", LENGTH)
        for wrong in values(-1, 0.5, "1", None, True, [], 65537, 10**400)
    ],
    *[
        (schema(text(maxLength=wrong)), f"{_P}.maxLength", MOST_LENGTH)
        for wrong in values(0, -1, 1.5, "1", None, 65537, {})
    ],
    (schema(text(minLength=3, maxLength=2)), f"{_P}.minLength", "is more than maxLength"),
    *[
        (schema(text(enum=wrong)), f"{_P}.enum", ENUM)
        for wrong in values([], None, "a", 1, {"a": 1})
    ],
    *[
        (schema(text(enum=["a", wrong])), f"{_P}.enum[1]", NO_STRING)
        for wrong in values(None, 1, True, ["a"], {})
    ],
    (schema(text(enum=["a", "b", "a", "b"])), f"{_P}.enum[2]", "stands there twice"),
    *[
        (
            schema(text(enum=enum, **lengths)),
            f"{_P}.enum[{place}]",
            "is not within minLength and maxLength",
        )
        for enum, lengths, place in [
            (["ab", "a"], {"minLength": 2}, 1),
            (["a", "ab", "abc"], {"maxLength": 1}, 1),
            (["💶💶"], {"maxLength": 1}, 0),
        ]
    ],
    (schema(text(enum=[str(n) for n in range(4097)])), f"{_P}.enum", "has more than 4096 values"),
    *[
        (schema(text(pattern=wrong)), f"{_P}.pattern", NO_STRING)
        for wrong in values(None, 1, [], {})
    ],
    (schema(text(pattern="(?=a)")), f"{_P}.pattern", NOT_TAKEN),
    (
        schema(
            array(item(pattern="[")),
        ),
        f"{_P}.items.pattern",
        NOT_TAKEN,
    ),
    # Numbers
    *[
        (schema(number(**{word: wrong})), f"{_P}.{word}", DOUBLE)
        for word in ("minimum", "maximum")
        for wrong in values("1", None, True, [], 10**400, -(10**309), 2**53 + 1)
    ],
    (schema(number(minimum=2, maximum=1.5)), f"{_P}.minimum", "is more than maximum"),
    *[
        (schema(integer(**{word: wrong})), f"{_P}.{word}", WHOLE)
        for word in ("minimum", "maximum")
        for wrong in values("1", None, 0.5, 2**53 + 1, -(2**53) - 1, 10**400)
    ],
    (schema(integer(minimum=1, maximum=0)), f"{_P}.minimum", "is more than maximum"),
    # Lists
    (schema({"type": "array", "description": "d"}), f"{_P}.items", REQUIRED),
    *[
        (schema(array(**{"items": wrong})), f"{_P}.items", "must be an object")
        for wrong in values(None, 1, True, "string", [], [item()])
    ],
    (schema(array({})), f"{_P}.items.type", REQUIRED),
    *[
        (schema(array({"type": wrong})), f"{_P}.items.type", ITEM_TYPES)
        for wrong in values("array", "object", "null", None, ["string"])
    ],
    (schema(array(item(items=item()))), f"{_P}.items.items", "does not go with type string"),
    (schema(array(item(minimum=1))), f"{_P}.items.minimum", "does not go with type string"),
    (schema(array(item(format="date"))), f"{_P}.items.format", UNKNOWN),
    (schema(array(item(description=" "))), f"{_P}.items.description", "must not be blank"),
    (schema(array(item(title=1))), f"{_P}.items.title", NO_STRING),
    (
        schema(array(item(minLength=2, maxLength=1))),
        f"{_P}.items.minLength",
        "is more than maxLength",
    ),
    *[
        (schema(array(maxItems=wrong)), f"{_P}.maxItems", ITEMS)
        for wrong in values(0, 51, 1.5, "5", None, -1, 10**400)
    ],
    (schema(array(minItems=1)), f"{_P}.minItems", UNKNOWN),
    (schema(array(uniqueItems=True)), f"{_P}.uniqueItems", UNKNOWN),
    # Of several faults the first by the property's name
    (
        schema(b=text(minLength=-1), a=text(maxLength=0), B=text()),
        "$.properties.a.maxLength",
        MOST_LENGTH,
    ),
    # Sizes
    (schema(*[array()] * 5, *[boolean()] * 7), "$.properties", VALUES),
    (schema(*[array(maxItems=50)] * 5, array(maxItems=7)), "$.properties", VALUES),
    (schema(text(maxLength=32699)), "$.properties", TOKENS),
    (schema(array(item(maxLength=655))), "$.properties", TOKENS),
    (of_size(16385), "$", LARGE),
    (schema(text(description="é" * 8200)), "$", LARGE),
]
"""Schemas that are refused, with the path and the reason."""

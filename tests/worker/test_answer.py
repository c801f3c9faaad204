"""Reading a model's answer: what is right in it is kept, and nothing else gets through."""

from __future__ import annotations

import json
import math
from contextlib import suppress
from typing import Any

import jsonschema
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from loom.model_answer import DEEPEST, MOST_CHARACTERS
from loom.model_errors import AnswerError
from loom.worker.answer import Answer, read_answer
from loom.worker.prompt import answer_schema

Json = dict[str, Any]

SCHEMA: Json = {
    "type": "object",
    "title": "A user",
    "properties": {
        "name": {"type": "string", "description": "Their name", "maxLength": 10, "minLength": 2},
        "plan": {"type": "string", "description": "Plan", "enum": ["free", "paid"]},
        "postcode": {"type": "string", "description": "Code", "pattern": "^[0-9]{5}$"},
        "age": {"type": "integer", "description": "Years", "minimum": 0},
        "height": {"type": "number", "description": "Metres", "minimum": -5, "title": "Height"},
        "smokes": {"type": "boolean", "description": "Whether"},
        "languages": {
            "type": "array",
            "items": {"type": "string", "pattern": "^[a-z]+$"},
            "maxItems": 3,
            "description": "Spoken",
        },
        "numbers": {"type": "array", "items": {"type": "integer"}, "description": "Numbers"},
    },
}
PROPERTIES: Json = SCHEMA["properties"]
GIVEN = [f"id-{number}" for number in range(1, 9)]
NULLS: Json = dict.fromkeys(PROPERTIES)


def read(answer: object, schema: Json = SCHEMA, given: list[str] = GIVEN) -> Answer:
    """The reading of an answer, given as text or as what its JSON holds."""
    return read_answer(answer if isinstance(answer, str) else json.dumps(answer), schema, given)


def value(name: str, told: object, *, raw: bool = False) -> Any:
    """What becomes of one property's value, given as JSON text when `raw`."""
    text = str(told) if raw else json.dumps(told)
    other = "smokes" if name != "smokes" else "age"
    right = True if other == "smokes" else 36
    answer = read(
        f'{{"profile": {{"{other}": {json.dumps(right)}, "{name}": {text}}}, "sources": {{}}}}'
    )
    assert answer.profile[other] == right, "the rest stays"
    assert answer.profile.keys() == PROPERTIES.keys()
    return answer.profile[name]


def code(text: str) -> str:
    with pytest.raises(AnswerError) as caught:
        read(text)
    assert caught.value.outcome == "failed"
    return caught.value.code


def test_an_answer_that_is_all_right() -> None:
    profile = {
        "name": "Ada", "plan": "free", "postcode": "10115", "age": 36, "height": 1.7,
        "smokes": False, "languages": ["en", "it"], "numbers": [],
    }  # fmt: skip
    answer = read({"profile": profile, "sources": {"name": [1], "age": [3, 2]}})
    assert answer == Answer(profile, {"name": ["id-1"], "age": ["id-3", "id-2"]}, 0)


def test_every_property_is_there_and_null_where_nothing_was_told() -> None:
    assert read({"profile": {}, "sources": {}}) == Answer(NULLS, {}, 0)
    assert read({"profile": {"name": None}}) == Answer(NULLS, {}, 0)


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("name", 5), ("name", True), ("name", ["Ada"]), ("name", {"first": "Ada"}), ("name", "A"),
        ("name", "A name that is too long"), ("plan", "gold"), ("plan", 1), ("plan", ""),
        ("postcode", "1011"), ("postcode", "101150"), ("postcode", "10115\n"),
        ("age", "36"), ("age", True), ("age", -1), ("age", 3.5), ("age", [36]),
        ("height", "tall"), ("height", False), ("height", -5.1), ("height", {}),
        ("smokes", "yes"), ("smokes", 0), ("smokes", 1), ("smokes", "false"),
        ("languages", "en"), ("languages", {"0": "en"}), ("languages", 7),
    ],
)  # fmt: skip
def test_o24_a_value_that_the_schema_does_not_allow_is_null(name: str, told: object) -> None:
    assert value(name, told) is None


def test_o24_what_the_schema_does_not_declare_is_left_out_and_counted() -> None:
    answer = read({"profile": {"name": "Ada", "mood": "good", "title": "Dr"}, "sources": {}})
    assert (answer.profile, answer.dropped) == ({**NULLS, "name": "Ada"}, 2)


def test_o34_only_declared_properties_come_out_however_much_was_told() -> None:
    answer = read({"profile": {"embedding": [0.1] * 20_000, "name": "x" * 90_000}, "sources": {}})
    assert (answer.profile, answer.sources, answer.dropped) == (NULLS, {}, 2)


def test_a_whole_number_is_an_integer_however_it_is_written() -> None:
    assert [repr(value("age", text, raw=True)) for text in ("3", "3.0", "3e0", "-0.0")] == [
        "3", "3", "3", "0",
    ]  # fmt: skip
    assert repr(value("height", "2", raw=True)) == "2"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (str(2**53), 2**53),
        (str(2**53 + 1), None),
        ("9007199254740992.0", 2**53),
        ("9007199254740994.0", None),
        ("1e20", None),
        ("1" * 5000, None),
        ("-" + "1" * 5000, None),
        ("1e400", None),
        ("NaN", None),
        ("Infinity", None),
        ("-Infinity", None),
    ],
)
def test_an_integer_past_2_to_the_53_is_null(text: str, expected: int | None) -> None:
    assert value("age", text, raw=True) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1e20", 1e20),
        ("1e308", 1e308),
        ("1e-400", 0.0),
        ("1" + "0" * 20, None),
        ("1e309", None),
        ("1e999999999999999999", None),
        ("NaN", None),
        ("Infinity", None),
        ("-Infinity", None),
    ],
)
def test_a_number_that_is_not_finite_is_null(text: str, expected: float | None) -> None:
    assert value("height", text, raw=True) == expected


@pytest.mark.parametrize("text", [r'"A\u0000da"', '"A\0da"', r'"Ada\ud83d"', r'"\ude00Ada"'])
def test_o39_text_that_cannot_be_stored_costs_its_own_value(text: str) -> None:
    assert value("name", text, raw=True) is None


def test_o37_a_whole_emoji_is_text_and_half_of_one_is_not() -> None:
    family = "\N{MAN}\N{ZERO WIDTH JOINER}\N{WOMAN}"
    assert value("name", family) == family
    assert value("name", r'"\ud83d\ude00 Ada"', raw=True) == "\N{GRINNING FACE} Ada"
    assert value("name", "漢" * 10) == "漢" * 10, "characters are counted, not bytes"
    assert value("name", "漢" * 11) is None
    whole = json.dumps({"profile": {"name": "Ada \N{GRINNING FACE}"}, "sources": {}})
    cut = whole[: whole.index("\\ude00")]
    assert code(cut) == "ANSWER_TRUNCATED"


def test_a_line_break_inside_a_string_is_forgiven() -> None:
    assert value("name", '"Ada\nL"', raw=True) == "Ada\nL"


def test_of_an_array_the_elements_that_are_not_allowed_are_left_out() -> None:
    assert value("languages", ["en", "EN", "it"]) == ["en", "it"]
    assert value("languages", ["en", None, 7]) == ["en"]
    assert value("numbers", [1, True, "2", 3.0, 3.5, None, [4]]) == [1, 3]
    assert value("numbers", "[1, NaN, 1e400, 9007199254740993]", raw=True) == [1]
    assert value("languages", r'["en", "a\u0000"]', raw=True) == ["en"]
    assert read({"profile": {"numbers": [1, True, "2"]}}).dropped == 2


def test_an_array_of_which_nothing_is_left_is_null_and_an_empty_one_is_not() -> None:
    assert value("languages", ["EN", "IT"]) is None
    assert value("languages", []) == []


def test_an_array_with_too_many_items_is_null() -> None:
    assert value("languages", ["en", "it", "de"]) == ["en", "it", "de"]
    assert value("languages", ["en", "it", "de", "fr"]) is None
    assert value("languages", ["en", "it", "de", "FR"]) is None
    assert value("numbers", list(range(50))) == list(range(50))
    assert value("numbers", list(range(51))) is None


def test_a_pattern_is_found_anywhere_as_json_schema_has_it() -> None:
    schema = {"properties": {"a": {"type": "string", "pattern": "b+"}}}
    assert read({"a": "abba"}, schema).profile == {"a": "abba"}
    assert read({"a": "aaa"}, schema).profile == {"a": None}


def test_a_pattern_cannot_run_away() -> None:
    schema = {"properties": {"a": {"type": "string", "pattern": "^(a|a)*(a+)+$"}}}
    assert read({"a": "a" * 60_000 + "b"}, schema).profile == {"a": None}


@pytest.mark.parametrize("pattern", ["(", "(?=a)", r"(a)\1", "\ud800"])
def test_a_pattern_that_does_not_compile_allows_nothing(
    pattern: str, capfd: pytest.CaptureFixture[str]
) -> None:
    schema = {"properties": {"a": {"type": "string", "pattern": pattern}, "b": {"type": "string"}}}
    assert read({"a": "aa", "b": "c"}, schema).profile == {"a": None, "b": "c"}
    assert capfd.readouterr().err == ""


def test_a_schema_leads_nowhere_else() -> None:
    schema = {"properties": {"a": {"type": "string", "$ref": "http://127.0.0.1:9/x"}}}
    assert read({"a": "text"}, schema).profile == {"a": "text"}


GOOD = '{"profile": {"name": "Ada"}, "sources": {"name": [2]}}'
ADA = Answer({**NULLS, "name": "Ada"}, {"name": ["id-2"]}, 0)


@pytest.mark.parametrize(
    "text",
    [
        GOOD,
        f"\ufeff \n{GOOD}\n",
        f"```json\n{GOOD}\n```",
        f"```\n{GOOD}\n```",
        f"Here is the profile:\n\n```json\n{GOOD}\n```\n\nIt's from fact [2]: see above.",
        f'I read "all" of it. {GOOD} Anything else?',
    ],
)
def test_one_object_is_read_whatever_stands_around_it(text: str) -> None:
    assert read(text) == ADA


def test_braces_in_a_string_are_text() -> None:
    assert value("name", '}{"[\\') == '}{"[\\'


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "EMPTY_ANSWER"),
        (" \n\t", "EMPTY_ANSWER"),
        ("I could not find anything.", "ANSWER_NOT_OBJECT"),
        ("null", "ANSWER_NOT_OBJECT"),
        ("42", "ANSWER_NOT_OBJECT"),
        ('"Ada"', "ANSWER_NOT_OBJECT"),
        ("[]", "ANSWER_NOT_OBJECT"),
        (f"[{GOOD}]", "ANSWER_NOT_OBJECT"),
        (f"[1, {GOOD}, 2]", "ANSWER_NOT_OBJECT"),
        (f"```json\n[ {GOOD} ]\n```", "ANSWER_NOT_OBJECT"),
        (f"{GOOD}\n{GOOD}", "ANSWER_NOT_ONE_OBJECT"),
        (f"Either {GOOD} or {{}}.", "ANSWER_NOT_ONE_OBJECT"),
        (f"[{GOOD}, {GOOD}]", "ANSWER_NOT_ONE_OBJECT"),
        (f"Fill in {{name}}: {GOOD}", "ANSWER_NOT_ONE_OBJECT"),
        (GOOD[:-1], "ANSWER_TRUNCATED"),
        (GOOD[:20], "ANSWER_TRUNCATED"),
        (f"{GOOD} {{", "ANSWER_TRUNCATED"),
        ("{", "ANSWER_TRUNCATED"),
        ("{'profile': {}}", "ANSWER_NOT_JSON"),
        ("{profile: {}}", "ANSWER_NOT_JSON"),
        ('{"profile": {},}', "ANSWER_NOT_JSON"),
        ('{"profile": {"age": 01}}', "ANSWER_NOT_JSON"),
        ('{"profile": [}]', "ANSWER_NOT_JSON"),
        (json.dumps(GOOD), "ANSWER_NOT_JSON"),
        ('{"error": "I cannot do that."}', "ANSWER_OFF_SCHEMA"),
        ('{"profile": null, "sources": {}}', "ANSWER_OFF_SCHEMA"),
        ('{"profile": "Ada"}', "ANSWER_OFF_SCHEMA"),
        ('{"profile": []}', "ANSWER_OFF_SCHEMA"),
        ('{"sources": {}}', "ANSWER_OFF_SCHEMA"),
    ],
)
def test_o52_what_is_not_exactly_one_such_object_is_a_failure(text: str, expected: str) -> None:
    assert code(text) == expected


def test_every_beginning_of_an_answer_is_a_failure_and_never_half_a_profile() -> None:
    for end in range(1, len(GOOD)):
        assert code(GOOD[:end]) == "ANSWER_TRUNCATED"


def test_a_profile_without_the_wrapper_has_no_sources() -> None:
    assert read({"name": "Ada", "mood": "good"}) == Answer({**NULLS, "name": "Ada"}, {}, 1)
    assert read({"name": "Ada", "sources": {"name": [1]}}).sources == {}
    assert read({"name": None}) == Answer(NULLS, {}, 0)
    assert read({}) == Answer(NULLS, {}, 0)


def test_properties_may_be_named_like_the_wrapper() -> None:
    schema = {"properties": {"profile": {"type": "string"}, "sources": {"type": "integer"}}}
    assert read({"profile": "thin", "sources": 3}, schema) == Answer(
        {"profile": "thin", "sources": 3}, {}, 0
    )
    wrapped = {"profile": {"profile": "thin", "sources": 3}, "sources": {"profile": [1]}}
    assert read(wrapped, schema) == Answer(
        {"profile": "thin", "sources": 3}, {"profile": ["id-1"]}, 0
    )


def test_the_last_value_of_a_key_that_is_given_twice_holds() -> None:
    text = '{"profile": {"age": 1}, "profile": {"age": 2, "age": 3}, "sources": {}}'
    assert read(text).profile["age"] == 3


@pytest.mark.parametrize(
    ("numbers", "ids"),
    [
        ([1, 8], ["id-1", "id-8"]),
        ([3, 3, 1, 3], ["id-3", "id-1"]),
        ([0, 9, -1, 10**30, 2], ["id-2"]),
        ([8, 7, 6, 5, 4, 3, 2], ["id-8", "id-7", "id-6", "id-5", "id-4"]),
        ([99] * 9 + [2], ["id-2"]),
        ([True, "1", None, [1], {"n": 1}, 1.5, "id-1", 2], ["id-2"]),
        ([99], None),
        ([], None),
        (1, None),
        ("1", None),
        ({"1": 1}, None),
        (None, None),
    ],
)
def test_only_numbers_of_facts_that_were_given_become_sources(
    numbers: object, ids: list[str] | None
) -> None:
    answer = read({"profile": {"name": "Ada"}, "sources": {"name": numbers}})
    assert answer.sources == ({} if ids is None else {"name": ids})
    assert answer.profile["name"] == "Ada"


def test_sources_are_only_for_declared_properties_that_have_a_value() -> None:
    named = {"name": [1], "age": [2], "mood": [3], "plan": [4], "postcode": [5]}
    told = {"name": "Ada", "age": "old", "mood": "good", "plan": None}
    assert read({"profile": told, "sources": named}).sources == {"name": ["id-1"]}


@pytest.mark.parametrize("sources", [None, [], "x", 5])
def test_sources_of_another_kind_are_none(sources: object) -> None:
    assert read({"profile": {"name": "Ada"}, "sources": sources}).sources == {}


def test_with_no_facts_given_there_are_no_sources() -> None:
    assert read({"profile": {"name": "Ada"}, "sources": {"name": [1]}}, given=[]).sources == {}


def test_nesting_is_bounded() -> None:
    def nested(levels: int) -> str:
        return '{"profile": {"x": ' + "[" * levels + "]" * levels + "}}"

    assert read(nested(DEEPEST - 2)).dropped == 1
    assert code(nested(DEEPEST - 1)) == "ANSWER_TOO_DEEP"
    assert code(nested(100_000)) == "ANSWER_TOO_DEEP"
    assert code('{"a":' * 100_000) == "ANSWER_TOO_DEEP"
    assert code("[" * 500_000) == "ANSWER_NOT_OBJECT"


def test_length_is_bounded() -> None:
    around = '{"profile": {"x": ""}}'
    assert read(around.replace('""', f'"{"x" * (MOST_CHARACTERS - len(around))}"')).dropped == 1
    assert code(around + " " * MOST_CHARACTERS) == "ANSWER_TOO_LONG"


@pytest.mark.parametrize(
    "text",
    [
        "{}" * 500_000,
        '{"a":1,' * 140_000,
        "{" + '"' * 999_998,
        '{"' + "\\" * 999_000,
        "\\{" * 499_999,
        '{"profile": {' + ",".join(f'"k{n}":1' for n in range(60_000)) + "}}",
        '{"profile": {"numbers": [' + ",".join(["1"] * 400_000) + "]}}",
        '{"profile": {}, "sources": {"name": [' + ",".join(["9"] * 400_000) + "]}}",
    ],
)
def test_the_longest_answers_are_read_in_linear_time(text: str) -> None:
    with suppress(AnswerError):
        read(text)


# What a model might write: values of all kinds, right and wrong, and text that is nearly JSON.
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text()
    | st.sampled_from(["free", "10115", "en", "Ada", 36, 3.0, 1e300, 2**53 + 1, "a\0", "\ud800"])
)
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=8
)
NAMES = st.sampled_from([*PROPERTIES, "profile", "sources", "other"])
PROFILES = st.dictionaries(NAMES, VALUES | st.lists(SCALARS))
WRAPPED = st.fixed_dictionaries(
    {"profile": PROFILES, "sources": st.dictionaries(NAMES, VALUES | st.lists(st.integers(-1, 12)))}
)
NEARLY = st.lists(
    st.sampled_from(['{"profile": {', '"name": "Ada"', "}", "{", "[", "]", '"', "\\", ", ", "NaN"])
    | st.text(max_size=5)
).map("".join)


def allows_null(schema: Json) -> Json:
    """The schema of a finished profile: every property there, each null or as it was declared."""
    either = {name: {"anyOf": [{"type": "null"}, each]} for name, each in PROPERTIES.items()}
    return {
        "type": "object",
        "properties": either,
        "required": list(either),
        "additionalProperties": False,
    }


FINISHED = jsonschema.Draft202012Validator(allows_null(SCHEMA))


def numbers_in(told: object) -> list[int | float]:
    if isinstance(told, list):
        return [number for each in told for number in numbers_in(each)]
    return [told] if isinstance(told, int | float) and not isinstance(told, bool) else []


def check(text: str) -> None:
    """Whatever the text: a failure of ours, or a profile that the database can store."""
    try:
        answer = read_answer(text, SCHEMA, GIVEN)
    except AnswerError:
        return
    FINISHED.validate(answer.profile)
    stored = json.dumps(answer.profile, allow_nan=False, ensure_ascii=False)
    assert "\\u0000" not in stored
    stored.encode()
    for name, told in answer.profile.items():
        assert all(math.isfinite(number) for number in numbers_in(told))
        if PROPERTIES[name]["type"] == "integer":
            assert told is None or (type(told) is int and abs(told) <= 2**53)
    for name, ids in answer.sources.items():
        assert answer.profile[name] is not None
        assert 1 <= len(ids) <= 5 and len(set(ids)) == len(ids) and set(ids) <= set(GIVEN)


@given(st.text() | NEARLY)
def test_any_text_is_read_or_refused(text: str) -> None:
    check(text)


@given(WRAPPED | PROFILES | VALUES)
@example({"profile": {"age": float("inf"), "height": float("nan")}})
def test_any_json_is_read_or_refused(answer: object) -> None:
    check(json.dumps(answer))


@given(WRAPPED, st.data())
def test_any_damaged_answer_is_read_or_refused(answer: object, data: st.DataObject) -> None:
    text = json.dumps(answer)
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, min(len(text), start + 10)))
    check(text[:start] + data.draw(st.text(max_size=3)) + text[end:])


STORABLE = st.characters(exclude_characters="\0", exclude_categories=["Cs"])
RIGHT = st.fixed_dictionaries(
    {
        "name": st.none() | st.text(STORABLE, min_size=2, max_size=10),
        "plan": st.sampled_from([None, "free", "paid"]),
        "postcode": st.none() | st.from_regex("[0-9]{5}", fullmatch=True).filter(str.isascii),
        "age": st.none() | st.integers(0, 2**53),
        "height": st.none() | st.floats(-5, 1e308),
        "smokes": st.none() | st.booleans(),
        "languages": st.none() | st.lists(st.sampled_from(["en", "it"]), max_size=3),
        "numbers": st.none() | st.lists(st.integers(-(2**53), 2**53), max_size=50),
    }
)  # fmt: skip


@given(RIGHT)
def test_a_right_answer_comes_out_as_it_was_and_again_the_same(profile: Json) -> None:
    answer = read({"profile": profile, "sources": {name: [] for name in profile}})
    assert (answer.profile, answer.dropped) == (profile, 0)
    assert read(answer.profile).profile == profile
    jsonschema.validate(
        {"profile": profile, "sources": {name: [] for name in profile}}, answer_schema(SCHEMA)
    )

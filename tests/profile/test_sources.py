"""Composite and model sources, and how an answer of a model is read."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Sequence
from typing import Any

import pytest

from loom.profile import (
    CompositeProfileSource,
    FactOp,
    LLMProfileSource,
    ProfileDelta,
    RuleProfileSource,
    Signal,
)
from loom.profile.answer import UnreadableAnswer, read_answer
from loom.profile.source import folded

SAID = [
    Signal("u1", "message", "I'm a backend dev, call me Sam.", role="user"),
    Signal("u1", "tool_result", "My name is Tool."),
]
BY_RULES = {"role": "backend dev", "name": "Sam"}

RIGHT = {
    "facts": [{"op": "add", "key": "city", "value": "Bonn"}],
    "traits": {"style": "concise", "expertise": None, "verbosity": None, "formality": None},
    "preferences": {"format": None, "language": None, "topics": None},
    "summary": None,
}


class Chat:
    """A model that answers by script: a text, or an error that it raises."""

    def __init__(self, *script: Any) -> None:
        self.script = list(script)
        self.asked: list[list[dict[str, Any]]] = []

    async def chat(self, messages: list[dict[str, Any]], model: str = "", **options: Any) -> str:
        self.asked.append(messages)
        step = self.script.pop(0)
        if isinstance(step, BaseException):
            raise step
        if step is None:
            await asyncio.sleep(60)
        return step if isinstance(step, str) else json.dumps(step)


def extract(chat: Chat, signals: Sequence[Signal] = SAID, **options: Any) -> ProfileDelta:
    return asyncio.run(LLMProfileSource(chat, **options).extract("u1", signals))


def facts(delta: ProfileDelta) -> dict[str, str]:
    return {op.key: op.value for op in delta.fact_ops}


def test_a_right_answer_is_taken() -> None:
    chat = Chat(RIGHT)
    delta = extract(chat)
    assert (facts(delta), delta.traits, delta.source) == (
        {"city": "Bonn"},
        {"style": "concise"},
        "llm",
    )
    assert len(chat.asked) == 1


def test_a_bad_answer_is_asked_for_once_more() -> None:
    chat = Chat("I cannot do that.", RIGHT)
    assert extract(chat).source == "llm"
    assert len(chat.asked) == 2
    assert chat.asked[1][:2] == chat.asked[0]


def test_after_two_bad_answers_the_rules_judge() -> None:
    chat = Chat("no", "{", RIGHT)
    delta = extract(chat)
    assert (facts(delta), delta.source, len(chat.asked)) == (BY_RULES, "rules", 2)


def test_no_text_is_a_bad_answer() -> None:
    class Silent(Chat):
        async def chat(self, messages: list[dict[str, Any]], model: str = "", **_: Any) -> Any:
            self.asked.append(messages)

    chat = Silent()
    delta = extract(chat)
    assert (facts(delta), delta.source, len(chat.asked)) == (BY_RULES, "rules", 2)


@pytest.mark.parametrize("failure", [RuntimeError("secret words"), ValueError(), None])
def test_a_call_that_fails_or_takes_too_long_is_not_repeated(
    failure: Any, caplog: pytest.LogCaptureFixture
) -> None:
    chat = Chat(failure, RIGHT)
    with caplog.at_level(logging.ERROR):
        delta = extract(chat, seconds=0.05)
    assert (facts(delta), delta.source, len(chat.asked)) == (BY_RULES, "rules", 1)
    assert "a model failed" in caplog.text
    assert "secret words" not in caplog.text


def test_a_cancelled_update_is_not_taken_for_a_failure() -> None:
    with pytest.raises(asyncio.CancelledError):
        extract(Chat(asyncio.CancelledError()))


def test_the_fallback_can_be_another() -> None:
    class Own:
        async def extract(self, user_id: str, signals: Sequence[Signal]) -> ProfileDelta:
            return ProfileDelta(summary="Own.")

    assert extract(Chat("no", "no"), fallback=Own()).summary == "Own."


def test_o32_the_model_reads_the_users_own_words_only() -> None:
    chat = Chat(RIGHT)
    extract(chat)
    told = json.dumps(chat.asked)
    assert ("backend dev" in told, "Tool" in told) == (True, False)
    silent = Chat()
    assert extract(silent, SAID[1:]) == ProfileDelta()
    assert silent.asked == []


def test_o33_it_reads_the_last_twenty_and_a_bounded_number_of_characters() -> None:
    chat = Chat(RIGHT, RIGHT)
    extract(chat, [Signal("u1", "message", f"number {number};") for number in range(30)])
    assert json.loads(chat.asked[0][1]["content"]) == [f"number {each};" for each in range(10, 30)]
    extract(chat, [Signal("u1", "message", str(each) * 20_000) for each in range(5)])
    assert json.loads(chat.asked[1][1]["content"]) == ["3" * 20_000, "4" * 20_000]


@pytest.mark.parametrize(
    "text",
    [
        json.dumps(RIGHT),
        f"```json\n{json.dumps(RIGHT, indent=2)}\n```",
        f"Here you are:\n{json.dumps(RIGHT)}\nAnything else?",
    ],
)
def test_one_object_is_read_whatever_is_around_it(text: str) -> None:
    assert facts(read_answer(text)) == {"city": "Bonn"}


@pytest.mark.parametrize(
    "text",
    [
        *("", "no", "null", "[]", "{", '{"facts": [', "{}", '{"error": "sorry"}', '"{"'),
        json.dumps([RIGHT]),
        json.dumps(RIGHT) + json.dumps(RIGHT),
        json.dumps(RIGHT) + "\n\n" + json.dumps({"facts": []}),
        json.dumps(RIGHT)[:-1],
        "{'facts': []}",
        '{"facts": ' + "[" * 100_000,
        "x" * 200_001,
    ],
)
def test_what_is_not_one_object_of_the_kind_is_not_read(text: str) -> None:
    with pytest.raises(UnreadableAnswer):
        read_answer(text)


def answer(**parts: Any) -> ProfileDelta:
    return read_answer(json.dumps({"facts": [], **parts}))


def test_o23_null_topics_keep_and_an_empty_list_clears() -> None:
    assert answer(preferences={"topics": None}).topics is None
    assert answer(preferences={}).topics is None
    assert answer(preferences={"topics": []}).topics == []
    assert answer(preferences={"topics": ["a", "", "a", 1, None, "b"]}).topics == ["a", "1", "b"]
    assert answer(preferences={"topics": [None, {}]}).topics is None
    assert answer(preferences={"topics": "all"}).topics is None


def test_o24_words_that_a_trait_has_not_are_left_out_and_the_rest_counts() -> None:
    delta = answer(
        traits={"style": "playful", "verbosity": "concise", "mood": "good", "expertise": ["x"]},
        preferences={"format": "table", "language": "de", "colour": "red"},
        summary=["no text"],
    )
    assert delta == ProfileDelta(traits={"verbosity": "concise"}, preferences={"language": "de"})


@pytest.mark.parametrize("part", [None, 1, "x", [], [1]])
def test_parts_of_another_type_say_nothing(part: Any) -> None:
    assert answer(traits=part, preferences=part, facts=part) == ProfileDelta()


def test_o39_a_value_that_cannot_be_stored_costs_that_value() -> None:
    ops: list[Any] = [
        {"op": "add", "key": "a", "value": "NUL \0"},
        {"op": "add", "key": "b", "value": "half \ud800"},
        {"op": "add", "key": "c", "value": "x" * 2001},
        {"op": "add", "key": "k" * 81, "value": "x"},
        {"op": "add", "key": "d", "value": None},
        {"op": "add", "key": "", "value": "x"},
        {"op": "remove", "key": "e", "value": "x"},
        {"op": "add", "key": "f", "value": " kept\nline "},
        {"op": "update", "key": "g", "value": 42},
        {"op": "update", "key": "h", "value": True},
        {"op": "forget", "key": "i", "value": "whatever"},
        {"key": "j", "value": "x"},
        None,
    ]
    assert answer(facts=ops).fact_ops == [
        FactOp("add", "f", "kept\nline"),
        FactOp("update", "g", "42"),
        FactOp("forget", "i"),
    ]


class Telling:
    """A source that tells one thing."""

    def __init__(self, delta: ProfileDelta | Exception) -> None:
        self.delta = delta

    async def extract(self, user_id: str, signals: Sequence[Signal]) -> ProfileDelta:
        if isinstance(self.delta, Exception):
            raise self.delta
        return self.delta


ONE = ProfileDelta(
    fact_ops=[FactOp("add", "a", "1"), FactOp("add", "b", ""), FactOp("forget", "c")],
    traits={"style": "", "formality": "casual"},
    preferences={"format": "bullets"},
    source="one",
)
TWO = ProfileDelta(
    fact_ops=[FactOp("add", "a", "2"), FactOp("add", "b", "2"), FactOp("add", "c", "2")],
    traits={"style": "detailed", "formality": "formal"},
    preferences={"format": "", "language": "de"},
    topics=["go"],
    summary="Two.",
    source="two",
)


def test_first_nonempty_means_what_it_says() -> None:
    together = folded([ONE, TWO], "first_nonempty")
    assert together == ProfileDelta(
        fact_ops=[FactOp("add", "a", "1"), FactOp("forget", "c"), FactOp("add", "b", "2")],
        traits={"style": "detailed", "formality": "casual"},
        preferences={"format": "bullets", "language": "de"},
        topics=["go"],
        summary="Two.",
        source="one,two",
    )


def test_last_nonempty_means_what_it_says() -> None:
    together = folded([ONE, TWO], "last_nonempty")
    assert together == ProfileDelta(
        fact_ops=TWO.fact_ops,
        traits={"style": "detailed", "formality": "formal"},
        preferences={"format": "bullets", "language": "de"},
        topics=["go"],
        summary="Two.",
        source="one,two",
    )
    assert folded([TWO, ONE], "last_nonempty").topics == ["go"]


def test_a_source_that_fails_is_skipped_and_logged(caplog: pytest.LogCaptureFixture) -> None:
    source = CompositeProfileSource(
        [Telling(RuntimeError("secret words")), Telling(ONE), RuleProfileSource()]
    )
    with caplog.at_level(logging.ERROR):
        delta = asyncio.run(source.extract("u1", SAID))
    assert facts(delta) == {"a": "1", "c": "", **BY_RULES}
    assert "a profile source failed" in caplog.text
    assert "secret words" not in caplog.text
    with pytest.raises(ValueError, match="first_nonempty"):
        CompositeProfileSource([], conflict="any")  # type: ignore[arg-type]

"""The stand-in for a model: each of Loom's prompts gets an answer that Loom takes."""

from __future__ import annotations

from bench.soak.model import DIMENSION, answer, reply
from loom.app.ask_prompt import ask_prompt, read_ask_answer
from loom.profile.answer import read_answer
from loom.profile.prompt import profile_prompt
from loom.worker.answer import read_summary
from loom.worker.prompt import profile_fold_prompt, structured_profile_prompt
from loom.worker.weaving import read_operations, weaving_messages

FACT = {
    "memory_id": "id-1",
    "memory_key": "home",
    "memory_type": "semantic",
    "value": "city: Oslo",
    "dated": "2026-01-01T00:00:00Z",
    "changed_at": "2026-01-01T00:00:00Z",
    "confidence": 1,
}
SCHEMA = {"type": "object", "properties": {"city": {"type": "string", "description": "Where"}}}


def loom_of(threads: int) -> dict[str, object]:
    told = [{"text": f"thread {n}"} for n in range(threads)]
    return {"retire_left": 1, "context": [], "threads": told, "turns": [{"text": "a turn"}]}


def said(messages: list[dict[str, str]]) -> str:
    """The text of the answer, as the endpoint sends it."""
    found = reply("/v1/chat/completions", {"messages": messages})
    return str(found["choices"][0]["message"]["content"])


def test_a_structured_profile_is_filled_in_from_the_facts() -> None:
    prompt = structured_profile_prompt(SCHEMA, [FACT])
    assert answer(prompt.messages)["profile"] == {"city": "Oslo"}


def test_a_fold_has_a_summary() -> None:
    prompt = profile_fold_prompt(1000, [FACT])
    assert read_summary(said(prompt.messages)) == "city: Oslo"


def test_a_user_profile_learns_a_fact() -> None:
    delta = read_answer(said([dict(each) for each in profile_prompt(["I am an engineer."])]))
    assert [each.key for each in delta.fact_ops] == ["role"]


def test_a_question_is_answered_from_a_fact() -> None:
    prompt = ask_prompt("Where?", [FACT], [])
    assert read_ask_answer(said(prompt.messages), prompt.given)["memory_ids"] == ["id-1"]


def test_a_loom_is_woven_and_keeps_few_threads() -> None:
    actions = [
        [each["action"] for each in read_operations(said(weaving_messages(loom_of(n), "-")))]
        for n in (0, 1, 3)
    ]
    assert actions == [["add"], ["revise"], ["revise", "retire"]]


def test_texts_that_share_words_have_vectors_that_are_alike() -> None:
    found = reply("/v1/embeddings", {"input": ["green tea", "green coffee", "a violin"]})
    tea, coffee, violin = (each["embedding"] for each in found["data"])
    assert len(tea) == DIMENSION
    assert dot(tea, coffee) > dot(tea, violin)


def dot(one: list[float], other: list[float]) -> float:
    return sum(a * b for a, b in zip(one, other, strict=True))

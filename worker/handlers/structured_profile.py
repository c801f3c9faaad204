"""Structured profiles: reads a user's facts, has a model fill the schema, and writes what holds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Final

from loom.worker.answer import is_readable, read_answer
from loom.worker.handlers.builder import Builder, Built, Question, Task
from loom.worker.prompt import Prompt, answer_schema, output_cap, structured_profile_prompt

KIND: Final = "structured_profile"


@dataclass(frozen=True)
class StructuredProfiles(Builder):
    """The handler of the kind. A schema's own estimate comes on top of ``base_tokens``."""

    kind: ClassVar[str] = KIND
    overtaken: ClassVar[str] = "SCHEMA_CHANGED"

    def question(self, task: Task) -> Question:
        schema = task["json_schema"]
        return Question(
            structured_profile_prompt(schema, task["sources"]),
            answer_schema(schema),
            output_cap(self.base_tokens, task["estimate"], len(schema["properties"])),
        )

    def built(self, text: str, task: Task, prompt: Prompt) -> Built:
        answer = read_answer(text, task["json_schema"], prompt.given)
        return Built(answer.profile, answer.sources, answer.dropped)

    def readable(self, task: Task) -> bool:
        return is_readable(task["json_schema"])

"""The fold: has a model put a user's preferences and decisions into one section of text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Final

from loom.worker.answer import read_summary
from loom.worker.handlers.builder import Builder, Built, Question, Task
from loom.worker.prompt import Prompt, profile_fold_prompt, summary_room, summary_schema

KIND: Final = "profile_consolidation"


@dataclass(frozen=True)
class ProfileFolds(Builder):
    """The handler of the kind."""

    kind: ClassVar[str] = KIND
    overtaken: ClassVar[str] = "SWITCHED_OFF"

    def question(self, task: Task) -> Question:
        room = summary_room(task["char_limit"], self.base_tokens)
        return Question(
            profile_fold_prompt(room, task["sources"]), summary_schema(), self.base_tokens
        )

    def built(self, text: str, task: Task, prompt: Prompt) -> Built:
        # However long: the database refuses it whole, since a part of it might say something else.
        return Built(read_summary(text))

"""Putting a prompt together from what is known."""

from __future__ import annotations

from dataclasses import dataclass

from loom.profile.model import UserProfile
from loom.profile.render import render, section_header


@dataclass
class ContextInput:
    """What a prompt is made of. ``profile`` comes before ``profile_text``; ``history_text`` is the
    conversation so far, in the caller's own words."""

    query: str
    system_prompt: str = ""
    include_profile: bool = False
    profile_text: str = ""
    profile: UserProfile | None = None
    history_text: str = ""
    language: str = "en"


@dataclass
class ContextOutput:
    """The prompt, and whether the profile is part of it."""

    system_prompt: str
    profile_used: bool = False


class ContextBuilder:
    """Joins the sections of a prompt, what changes least first: prompt, profile, history. What has
    nothing to say adds nothing, not even a header."""

    async def build(self, context: ContextInput) -> ContextOutput:
        """The system prompt of a request."""
        profile = _profile(context) if context.include_profile else ""
        history = _headed("history", context.history_text, context.language)
        parts = (context.system_prompt, profile, history)
        return ContextOutput("\n\n".join(part for part in parts if part), bool(profile))


def _profile(context: ContextInput) -> str:
    if context.profile is not None:
        return render(context.profile, language=context.language)
    return _headed("user_profile", context.profile_text, context.language)


def _headed(section: str, text: str, language: str) -> str:
    return f"{section_header(section, language)}\n{text}" if text.strip() else ""

"""A profile as part of a prompt: in Python what ``loom._user_profile_body`` is in the database."""

from __future__ import annotations

import re

from loom.profile.model import PREFERENCES, TRAITS, UserProfile
from loom.profile.reference import headers

_BREAKS = r"\n\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029"
_LINE_BREAK = re.compile(rf"[ \t]*[{_BREAKS}]+[ \t{_BREAKS}]*")


def render(profile: UserProfile, *, language: str = "en") -> str:
    """One line each: header, facts in their order, traits, preferences, topics, summary. Of a
    profile that says nothing it is empty."""
    lines = list(profile.facts.items())
    lines += [(name, getattr(profile.traits, name)) for name in TRAITS]
    lines += [(name, getattr(profile.preferences, name)) for name in PREFERENCES]
    lines += [("topics", ", ".join(profile.preferences.topics)), ("summary", profile.summary)]
    told = [f"- {one_line(name)}: {one_line(value)}" for name, value in lines if value]
    return "\n".join([section_header("user_profile", language), *told]) if told else ""


def one_line(text: str) -> str:
    """A text in one line, so that no value begins a line of its own."""
    return _LINE_BREAK.sub(" ", text).strip(" ")


def section_header(section: str, language: str = "en") -> str:
    """The header of ``user_profile`` or ``history`` in a language (de, de-AT); else in English."""
    primary = language.lower().replace("_", "-").partition("-")[0]
    return headers().get((section, primary)) or headers()[section, "en"]

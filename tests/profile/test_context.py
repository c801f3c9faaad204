"""ContextBuilder: what is known becomes part of a prompt, under a header of the language."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

import loom
from loom.profile import ContextBuilder, ContextInput, UserProfile, section_header

SAM = UserProfile("u1", facts={"name": "Sam"})


def build(**given: Any) -> tuple[str, bool]:
    out = asyncio.run(ContextBuilder().build(ContextInput(query="...", **given)))
    return out.system_prompt, out.profile_used


def test_a_profile_stands_under_its_header() -> None:
    assert build(
        system_prompt="You are an assistant.", include_profile=True, profile=SAM, language="en"
    ) == ("You are an assistant.\n\nUser profile:\n- name: Sam", True)


def test_the_profile_comes_before_the_text() -> None:
    given = {"include_profile": True, "profile_text": "Likes tea."}
    assert build(**given, profile=SAM)[0] == "User profile:\n- name: Sam"
    assert build(**given)[0] == "User profile:\nLikes tea."
    assert build(**given, profile=UserProfile("u1")) == ("", False)


def test_what_has_nothing_to_say_adds_nothing() -> None:
    assert build(system_prompt="Hi.", include_profile=True, profile=UserProfile("u1")) == (
        "Hi.",
        False,
    )
    assert build(system_prompt="Hi.", profile=SAM) == ("Hi.", False)
    assert build(profile_text=" \n", include_profile=True, history_text="") == ("", False)


def test_the_history_stands_last_under_its_own_header() -> None:
    text, _ = build(
        system_prompt="Hi.", include_profile=True, profile=SAM, history_text="a\nb", language="ru"
    )
    assert text == "Hi.\n\nПрофиль пользователя:\n- name: Sam\n\nИстория разговора:\na\nb"


@pytest.mark.parametrize("section", ["user_profile", "history"])
def test_headers_are_english_for_unknown_languages(section: str) -> None:
    english = section_header(section, "en")
    assert section_header(section, "tlh") == section_header(section, "") == english
    assert section_header(section, "RU_ru") == section_header(section, "ru") != english


def test_the_seeds_names_are_to_be_had_from_loom() -> None:
    assert loom.ContextBuilder is ContextBuilder
    assert loom.ContextInput is ContextInput
    assert loom.MemoryScope(tenant="a").tenant == "a"

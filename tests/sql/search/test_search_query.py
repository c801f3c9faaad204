"""search.query: facts, and profile sections when the question is about the user."""

from __future__ import annotations

import pytest

from tests.calls import Connection, operate, refused
from tests.sql.facts import section
from tests.sql.search.searching import facts, query

ABOUT = [
    "What do I like to drink?",
    "what's MY favourite colour",
    "tell me about u-42",
    "Was weißt du über mich?",
    "Quel est mon nom",
    "¿Cuál es mi dirección?",
    "Что ты знаешь обо мне",
    "私の好きな色は何ですか",
    "你知道什么",
    "What does Sam prefer?",
]
NOT_ABOUT = [
    "What currency are invoices in?",
    "refund policy",
    "u-421 and xu-42",
    "mystery meat",
    "Samuel's invoice",
    "Wie hoch ist die Rechnung",
    "請求書の通貨",
    "?",
]
SAM = {"user_id": "u-42"}


def prepare(conn: Connection) -> None:
    section(
        conn, "set", **SAM, label="structured_profile", agent="-", value={"preferred_name": "Sam"}
    )
    section(conn, "set", **SAM, label="style", value="brief answers, green tea")
    section(conn, "set", user_id="-", label="house", value="the house rules")
    section(conn, "set", user_id="other", label="theirs", value="green tea")
    facts(conn, {"drink": "green tea"}, **SAM)


@pytest.mark.parametrize("said", ABOUT)
def test_a_question_about_the_user_brings_sections(db: Connection, said: str) -> None:
    prepare(db)
    answer = query(db, said, **SAM)
    assert answer["about_user"] is True
    assert {item["label"] for item in answer["profile"]} == {"structured_profile", "style", "house"}


@pytest.mark.parametrize("said", NOT_ABOUT)
def test_another_question_does_not(db: Connection, said: str) -> None:
    prepare(db)
    answer = query(db, said, **SAM)
    assert (answer["about_user"], answer["profile"]) == (False, [])


def test_the_name_that_a_user_gave_in_a_message_names_them(db: Connection) -> None:
    prepare(db)
    said = "which tea for Samira?"
    assert query(db, said, **SAM)["about_user"] is False
    name = {"op": "add", "key": "name", "value": "Samira"}
    place = {"org": "acme", "namespace": "main", **SAM}
    operate(db, "user_profile.apply", **place, delta={"fact_ops": [name]})
    assert query(db, said, **SAM)["about_user"] is True
    assert query(db, said, user_id="other")["about_user"] is False


def test_profile_says_whether_whatever_the_question(db: Connection) -> None:
    prepare(db)
    assert query(db, "green tea", **SAM, profile=True)["profile"][0]["label"] == "style"
    assert query(db, "what do I like", **SAM, profile=False)["profile"] == []
    assert query(db, "what do I like", **SAM, profile="auto")["about_user"] is True
    with refused(db, "LM001") as refusal:
        query(db, "x", profile="yes")
    assert refusal.detail["field"] == "profile"


def test_sections_that_the_question_finds_come_first_then_the_rest(db: Connection) -> None:
    prepare(db)
    sections = query(db, "which tea is in the house?", **SAM, profile=True)["profile"]
    assert {item["label"] for item in sections[:2]} == {"house", "style"}
    assert [item["score"] is None for item in sections] == [False, False, True]
    assert sections[0]["value"] in ("the house rules", "brief answers, green tea")
    assert len(query(db, "my", **SAM, limit=2)["profile"]) == 2


def test_facts_are_those_of_a_search(db: Connection) -> None:
    prepare(db)
    answer = query(db, "green tea", **SAM)
    assert [item["memory_key"] for item in answer["memories"]] == ["drink"]
    assert answer["legs"]["text"] == {"ran": True}


def test_a_section_that_is_gone_is_not_answered(db: Connection) -> None:
    prepare(db)
    section(db, "delete", **SAM, label="style")
    found = query(db, "green tea", **SAM, profile=True)["profile"]
    assert {item["label"] for item in found} == {"structured_profile", "house"}

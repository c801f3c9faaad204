"""Tags for protected attributes, by whole words in three languages, and how to switch them off."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest

from tests.sql.doors import as_service
from tests.sql.facts import changes, fact, section

Connection = psycopg.Connection[Any]

ATTRIBUTES = (
    *("health", "religion", "ethnicity", "politics"),
    *("sexuality", "union", "biometric", "criminal"),
)


def tags(db: Connection, value: Any, **fields: Any) -> list[str]:
    """The tags of a row after a set of the value."""
    fact(db, "set", **{"memory_key": "k", "value": value, **fields})
    return fact(db, "get", memory_key="k")["tags"]  # type: ignore[no-any-return]


def test_there_are_words_for_every_attribute_in_three_languages(db: Connection) -> None:
    rows = db.execute(
        "select attribute, array_agg(distinct language order by language) from loom.attribute_word"
        " group by attribute"
    ).fetchall()
    languages = dict(rows)
    assert set(languages) == set(ATTRIBUTES)
    assert all(set(found) >= {"de", "en", "ru"} for found in languages.values())


@pytest.mark.parametrize(
    ("text", "attributes"),
    [
        ("She has diabetes.", ["health"]),
        ("Her DIABETES is new", ["health"]),
        ("Sie hat eine Angststörung", ["health"]),
        ("SIE HAT EINE ANGSTSTÖRUNG", ["health"]),
        ("У неё ДИАБЕТ", ["health"]),
        ("He is Muslim's guide", ["religion"]),
        ("Er ist katholisch", ["religion"]),
        ("она католик", ["religion"]),
        ("of kurdish descent", ["ethnicity"]),
        ("kurdisch", ["ethnicity"]),
        ("курдянка", ["ethnicity"]),
        ("a libertarian", ["politics"]),
        ("wählt die SPD", ["politics"]),
        ("коммунист", ["politics"]),
        ("gay-friendly", ["sexuality"]),
        ("lesbisch", ["sexuality"]),
        ("лесбиянка", ["sexuality"]),
        ("the shop is unionized", ["union"]),
        ("Gewerkschaft", ["union"]),
        ("профсоюз", ["union"]),
        ("her fingerprint", ["biometric"]),
        ("Fingerabdruck", ["biometric"]),
        ("отпечаток", ["biometric"]),
        ("was convicted", ["criminal"]),
        ("vorbestraft", ["criminal"]),
        ("осуждён", ["criminal"]),
        ("a gay muslim with cancer", ["health", "religion", "sexuality"]),
    ],
)
def test_a_word_tags_its_attribute(db: Connection, text: str, attributes: list[str]) -> None:
    assert tags(db, text) == [f"attribute:{name}" for name in attributes]


@pytest.mark.parametrize(
    "text",
    [
        "Gaynor likes Jewell's cancerous-sounding jazz",
        "cancers of the zodiac",
        "prisoners",
        "Krebse und Christstollen",
        "unionjack",
        "ракета и партиями",
        "diabetes2 xdiabetes",
        "gay\u0301",
        "",
    ],
)
def test_a_word_inside_another_is_none(db: Connection, text: str) -> None:
    assert tags(db, text) == []


@pytest.mark.parametrize(
    "text",
    [
        *("gay", "(gay)", '"gay"', "„gay“", "«gay»", "gay!", "gay…", "a/gay/b", "x_gay", "#gay"),
        *("is\ngay", "is\tgay", "is\u00a0gay", "gay\u3002", "gay—yes", "¿gay?", "a:gay", "[gay]"),
    ],
)
def test_words_end_at_any_mark_or_space(db: Connection, text: str) -> None:
    assert tags(db, text) == ["attribute:sexuality"]


@pytest.mark.parametrize(
    "value", [{"gay": 1}, ["x", "gay"], {"a": [{"b": "gay"}]}, {"orientation": {"gay": True}}]
)
def test_words_are_found_in_every_leaf_and_key(db: Connection, value: Any) -> None:
    assert tags(db, value) == ["attribute:sexuality"]


def test_leaves_do_not_run_together(db: Connection) -> None:
    assert tags(db, ["ga", "y"]) == []
    assert tags(db, ["can", {"cer": "x"}]) == []


def test_they_stand_beside_the_callers_tags_and_do_not_count_among_them(db: Connection) -> None:
    own = [f"tag{number}" for number in range(50)]
    assert tags(db, "gay", tags=own) == sorted([*own, "attribute:sexuality"])
    assert fact(db, "set", memory_key="k", value="gay", tags=own)["noop"] is True
    assert fact(db, "label", memory_key="k", sensitivity="high")["version"] == 2


def test_the_same_again_is_a_restatement_all_the_same(db: Connection) -> None:
    tags(db, "gay", tags=["t"])
    for fields in ({}, {"tags": ["t"]}, {"tags": ["t", "attribute:sexuality"]}):
        assert fact(db, "set", memory_key="k", value="gay", **fields)["noop"] is True


def test_sections_are_tagged_by_every_operation(db: Connection) -> None:
    section(db, "set", value="calm", label="k")
    section(db, "append", addition="and gay", label="k")
    assert fact(db, "get", memory_key="k")["tags"] == ["attribute:sexuality"]
    section(db, "replace", old="calm", new="muslim", label="k")
    assert fact(db, "get", memory_key="k")["tags"] == ["attribute:religion", "attribute:sexuality"]


def test_switched_off_nothing_is_tagged_and_what_was_stays(db: Connection) -> None:
    tags(db, "gay")
    db.execute("select loom.attribute_tagging(false)")
    fact(db, "set", memory_key="other", value="gay")
    assert fact(db, "get", memory_key="other")["tags"] == []
    assert fact(db, "get", memory_key="k")["tags"] == ["attribute:sexuality"]
    db.execute("select loom.attribute_tagging(true)")
    assert fact(db, "set", memory_key="other", value="gay")["version"] == 2
    assert fact(db, "get", memory_key="other")["tags"] == ["attribute:sexuality"]
    assert changes(db, memory_key="k") == ["set"]


def test_no_client_switches_it(services: Connection) -> None:
    for role in ("viewer", "writer", "admin", "operator"):
        login = f"loom_test_{role}"
        row = services.execute(
            "select has_function_privilege(%s, 'loom.attribute_tagging(boolean)', 'execute')",
            (login,),
        ).fetchone()
        assert row == (False,), role


def test_a_services_write_is_tagged_too(services: Connection) -> None:
    row = {"org": "acme", "namespace": "main", "agent": "coder", "memory_key": "k", "value": "gay"}
    as_service(services, "loom_test_writer", "memory.set", **row)
    assert fact(services, "get", memory_key="k")["tags"] == ["attribute:sexuality"]

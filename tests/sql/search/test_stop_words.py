"""loom._stop_words: which words of a question say nothing, and where the lists are from."""

from __future__ import annotations

import pytest

from tests.calls import Connection


def stop_words(conn: Connection, words: str) -> set[str]:
    row = conn.execute("select loom._stop_words(%s)", (words.split(),)).fetchone()
    assert row is not None
    return set(row[0])


@pytest.mark.parametrize(
    ("words", "dropped"),
    [
        ("what is the name of his son", {"what", "is", "the", "of", "his"}),
        ("wie heißt der sohn von ihr", {"wie", "der", "von", "ihr"}),
        ("son guerre", set()),
        ("the invoice", {"the"}),
        ("topic7 invoices", set()),
        ("", set()),
    ],
    ids=["english", "german", "one of another language", "one of English", "none", "no words"],
)
def test_they_are_those_of_the_language_that_has_the_most(
    db: Connection, words: str, dropped: set[str]
) -> None:
    assert stop_words(db, words) == dropped


def test_the_lists_are_those_of_the_servers_dictionaries(db: Connection) -> None:
    """Each word is dropped by its dictionary, and no dictionary with a list is left out."""
    others = db.execute(
        "select language, word from loom.stop_word where"
        " ts_lexize(('pg_catalog.' || language || '_stem')::regdictionary, word) <> '{}'"
    ).fetchall()
    assert others == []
    languages = db.execute("select language, count(*) from loom.stop_word group by 1").fetchall()
    dictionaries = db.execute(
        "select replace(dictname, '_stem', '') from pg_catalog.pg_ts_dict"
        " where dictnamespace = 'pg_catalog'::regnamespace and dictinitoption like '%%stopwords%%'",
        (),
    ).fetchall()
    assert {language for language, _ in languages} == {name for (name,) in dictionaries}
    assert min(count for _, count in languages) > 50

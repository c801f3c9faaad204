"""What a search finds of the quality set with the local model: no worse than when measured."""

from __future__ import annotations

import pytest

from bench.search_quality import measure, text
from bench.search_quality_data import FACTS
from tests.databases import Database
from tests.worker.embeddings import progress
from tests.worker.test_worker import login


def test_vectors_find_what_words_do_not(database: Database) -> None:
    conn = database.connect()
    if not progress(conn)["vectors"]:
        pytest.skip("the server has no pgvector")
    lines = {line.group: line for line in measure(database.dsn(), login(database))}
    assert lines["sharing words"].recall("text") == 1
    assert lines["reworded"].recall("text") < 0.2
    for group in ("all", "sharing words", "reworded", "English", "German", "Japanese"):
        assert lines[group].recall("both") >= 0.85, group
    assert conn.execute("select count(*) from loom.embedding").fetchone() == (len(FACTS),)
    # A model that runs in the worker costs nobody anything.
    assert conn.execute("select count(*) from loom.model_usage").fetchone() == (0,)
    report = text(list(lines.values()), "18.6")
    assert "| reworded | 54 |" in report

"""What the applier puts into the database of its settings."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest

from loom.installation import Installation
from loom.migrate import migrate
from loom.settings import Settings
from tests.calls import operate
from tests.databases import Database


def tagged(conn: psycopg.Connection[Any]) -> bool:
    """Whether a fact about health is tagged as one."""
    where = {"org": "acme", "namespace": "n", "memory_key": "k"}
    operate(conn, "memory.set", **where, value="has diabetes")
    tags: list[str] = operate(conn, "memory.get", **where)["tags"]
    operate(conn, "memory.delete", **where)
    return tags == ["attribute:health"]


def test_attribute_tagging_is_on_until_an_applier_says_otherwise(clean_database: Database) -> None:
    conn = clean_database.connect()
    assert tagged(conn)
    for said, holds in ((False, False), (None, False), (True, True), (None, True)):
        migrate(clean_database.dsn(), attribute_tagging=said, log=lambda _line: None)
        assert tagged(conn) is holds


@pytest.mark.parametrize("setting", ["on", "off"])
def test_an_installation_that_migrates_brings_its_setting(
    clean_database: Database, setting: str
) -> None:
    if not clean_database.cluster.own:
        pytest.skip("it would set passwords of logins that are not the tests'")
    settings = Settings.from_environment(
        {
            "LOOM_DATABASE_URL": clean_database.dsn(),
            "LOOM_MEMORY_ATTRIBUTE_TAGGING": setting,
        }
    )
    with Installation(settings, lambda _line: None) as installation:
        report = installation.migrate()
    assert not report.changed
    assert tagged(clean_database.connect()) is (setting == "on")

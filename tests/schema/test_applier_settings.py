"""What the applier puts into the database of its settings."""

from __future__ import annotations

from dataclasses import fields
from datetime import timedelta
from typing import Any

import psycopg
import pytest
from psycopg.rows import dict_row

from loom.heeded import Heeded
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
        heeded = Heeded(attribute_tagging=said)
        migrate(clean_database.dsn(), heeded=heeded, log=lambda _line: None)
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
            "LOOM_STRUCTURED_PROFILE_COOLDOWN_SECONDS": "7",
        }
    )
    with Installation(settings, lambda _line: None) as installation:
        report = installation.migrate()
    assert not report.changed
    assert tagged(clean_database.connect()) is (setting == "on")
    assert work_kind(clean_database.connect())["cooldown"] == 7


def daily_cap(conn: psycopg.Connection[Any]) -> int | None:
    """How many tokens the database lets an org use in a day."""
    row = conn.execute(
        "select value::bigint from loom.setting where name = 'model_daily_token_cap'"
    ).fetchone()
    return row[0] if row else None


def test_the_cap_on_tokens_reaches_the_database_and_goes_again(clean_database: Database) -> None:
    conn = clean_database.connect()
    assert daily_cap(conn) is None
    capped = Settings.from_environment({"LOOM_MODEL_DAILY_TOKEN_CAP": "1000000000000000"})
    for heeded, holds in (
        (Heeded.of(capped), 10**15),
        (Heeded(), 10**15),
        (Heeded(model_daily_token_cap=5), 5),
        (None, 5),
        (Heeded.of(Settings.from_environment({})), None),
        (Heeded(), None),
    ):
        migrate(clean_database.dsn(), heeded=heeded, log=lambda _line: None)
        assert daily_cap(conn) == holds


def embedding_models(conn: psycopg.Connection[Any]) -> dict[str, str]:
    """The models of vectors, with their states."""
    return dict(
        conn.execute("select model::text, state::text from loom.embedding_model").fetchall()
    )


def test_the_first_embedding_model_reaches_the_database_and_no_other(
    clean_database: Database,
) -> None:
    conn = clean_database.connect()
    vectors = conn.execute("select to_regclass('loom.embedding') is not null").fetchone() == (True,)

    def applied(model: str | None) -> dict[str, str]:
        heeded = Heeded(embedding_model=model)
        migrate(clean_database.dsn(), heeded=heeded, log=lambda _line: None)
        return embedding_models(conn)

    def with_vectors(states: dict[str, str]) -> dict[str, str]:
        return states if vectors else {}

    assert applied(None) == {}
    assert applied("mistyped") == with_vectors({"mistyped": "building"})
    first = with_vectors({"mistyped": "retired", "first": "building"})
    assert applied("first") == applied("first") == first
    conn.execute("update loom.embedding_model set dimension = 3 where model = 'first'")
    assert applied("other") == applied(None) == first


def work_kind(conn: psycopg.Connection[Any], kind: str = "structured_profile") -> dict[str, Any]:
    """What the database holds of a kind of work; times in seconds."""
    query = "select * from loom.work_kind where kind = %s"
    with conn.cursor(row_factory=dict_row) as cursor:
        row = cursor.execute(query, (kind,)).fetchone()
    assert row is not None
    return {
        name: value.total_seconds() if isinstance(value, timedelta) else value
        for name, value in row.items()
    }


DEFAULTS = {
    "kind": "structured_profile",
    "label": "structured_profile",
    "enabled": True,
    "memory_limit": 100,
    "max_users_per_pass": 20,
    "max_pass": 600,
    "pass_interval": 60,
    "idle_interval": 600,
    "cooldown": 600,
    "scan_max_age": 600.0,
    "backoff_base": 300,
    "backoff_cap": 21600,
    "refusal_retry": 21600,
    "lease": 300,
    "memory_types": ["semantic", "preference", "decision"],
    "char_limit": 65536,
    "recipe": None,
    "recipe_rev": None,
    "enabled_at": None,
}
FOLD: dict[str, Any] = {
    **DEFAULTS,
    "kind": "profile_consolidation",
    "label": "consolidated_profile",
    "enabled": False,
    "memory_types": ["preference", "decision"],
    "char_limit": 8192,
    "recipe": "fold-1",
    "recipe_rev": 0,
}


def test_the_settings_defaults_are_those_of_a_new_database(clean_database: Database) -> None:
    conn = clean_database.connect()
    for _ in range(2):
        assert work_kind(conn) == DEFAULTS
        assert work_kind(conn, FOLD["kind"]) == FOLD
        heeded = Heeded.of(Settings.from_environment({}))
        migrate(clean_database.dsn(), heeded=heeded, log=lambda _line: None)


def test_each_setting_of_night_weaving_reaches_the_database(clean_database: Database) -> None:
    prefix = "LOOM_NIGHT_WEAVING_"
    told = {
        "DEFAULT": "on",
        "QUIET_MINUTES": "7",
        "INTERVAL_SECONDS": "8",
        "LEASE_SECONDS": "90",
        "MAX_RETIRE_SHARE": "0.5",
    }
    settings = Settings.from_environment({f"{prefix}{name}": text for name, text in told.items()})
    assert {f"night_weaving_{name.lower()}" for name in told} == {
        field.name for field in fields(Settings) if field.name.startswith("night_weaving_")
    }
    migrate(clean_database.dsn(), heeded=Heeded.of(settings), log=lambda _line: None)
    rows = clean_database.connect().execute(
        "select name::text, value::text from loom.setting where name ^@ 'night_weaving_'"
    )
    assert dict(rows.fetchall()) == {
        f"night_weaving_{name.lower()}": text for name, text in told.items()
    }


def test_each_setting_of_the_fold_reaches_its_column(clean_database: Database) -> None:
    names = {field.name for field in fields(Settings)}
    told = {"COOLDOWN_SECONDS": 7, "MEMORY_LIMIT": 8, "MAX_USERS_PER_PASS": 9}
    assert {f"profile_consolidation_{name.lower()}" for name in (*told, "ENABLED")} == {
        name for name in names if name.startswith("profile_consolidation_")
    }
    prefix = "LOOM_PROFILE_CONSOLIDATION_"
    wanted = {f"{prefix}{name}": str(value) for name, value in told.items()}
    conn = clean_database.connect()
    # Each time it is switched on all are to be looked at again; said again it is nothing new.
    for switch, rev in (("off", 0), ("on", 1), ("on", 1), ("off", 1), ("on", 2)):
        settings = Settings.from_environment({**wanted, f"{prefix}ENABLED": switch})
        migrate(clean_database.dsn(), heeded=Heeded.of(settings), log=lambda _line: None)
        held = work_kind(conn, FOLD["kind"])
        assert (held.pop("enabled_at") is None) == (rev == 0)
        assert {**held, "enabled_at": None} == {
            **FOLD,
            **{"enabled": switch == "on", "recipe_rev": rev},
            **{"cooldown": 7, "memory_limit": 8, "max_users_per_pass": 9},
        }
    assert work_kind(conn) == DEFAULTS


def test_each_setting_of_structured_profiles_reaches_its_column_and_stays(
    clean_database: Database,
) -> None:
    """And what is left out stays as it was."""
    columns = {
        "MEMORY_LIMIT": "memory_limit",
        "MAX_USERS_PER_PASS": "max_users_per_pass",
        "MAX_PASS_SECONDS": "max_pass",
        "INTERVAL_SECONDS": "pass_interval",
        "IDLE_INTERVAL_SECONDS": "idle_interval",
        "COOLDOWN_SECONDS": "cooldown",
        "SCAN_MAX_AGE_SECONDS": "scan_max_age",
        "BACKOFF_BASE_SECONDS": "backoff_base",
        "BACKOFF_CAP_SECONDS": "backoff_cap",
        "REFUSAL_RETRY_SECONDS": "refusal_retry",
        "LEASE_SECONDS": "lease",
    }
    names = {field.name for field in fields(Settings)}
    prefix = "LOOM_STRUCTURED_PROFILE_"
    assert {f"structured_profile_{name.lower()}" for name in columns} == {
        name for name in names if name.startswith("structured_profile_")
    }
    told = {f"{prefix}{name}": str(900 + place) for place, name in enumerate(columns)}
    settings = Settings.from_environment(told)
    holds = {
        **DEFAULTS,
        **{column: int(told[f"{prefix}{name}"]) for name, column in columns.items()},
    }
    conn = clean_database.connect()
    for heeded in (Heeded.of(settings), Heeded(), None):
        migrate(clean_database.dsn(), heeded=heeded, log=lambda _line: None)
        assert work_kind(conn) == holds
    one = Heeded(work={"structured_profile": {"cooldown_seconds": 0}})
    migrate(clean_database.dsn(), heeded=one, log=lambda _line: None)
    assert work_kind(conn) == {**holds, "cooldown": 0}

"""Settings from the environment, and the logins that follow from them."""

from __future__ import annotations

import dataclasses
import json
import os
import stat
import threading
from pathlib import Path

import pytest
from psycopg.conninfo import conninfo_to_dict

from loom.database import resolve
from loom.heeded import Heeded
from loom.settings import Settings, SettingsError, is_loopback, variable

URL = "postgresql://boss:s3cret@db.example:5433/memory?sslmode=require"


def settings(tmp_path: Path, **env: str) -> Settings:
    named = {variable(name): value for name, value in env.items()}
    return Settings.from_environment({"LOOM_DATA_DIR": str(tmp_path), **named})


def test_the_defaults() -> None:
    plain = Settings.from_environment({})
    assert (plain.host, plain.port, plain.auth) == ("127.0.0.1", 7777, "required")
    assert (plain.read_connections, plain.write_connections) == (4, 16)
    assert (plain.worker_poll_seconds, plain.worker_concurrency) == (5.0, 2)
    assert plain.memory_attribute_tagging is True
    assert Heeded.of(plain).work == {
        "structured_profile": {
            "memory_limit": 100,
            "max_users_per_pass": 20,
            "max_pass_seconds": 600,
            "interval_seconds": 60,
            "idle_interval_seconds": 600,
            "cooldown_seconds": 600,
            "backoff_base_seconds": 300,
            "backoff_cap_seconds": 21600,
            "refusal_retry_seconds": 21600,
            "scan_max_age_seconds": 600,
            "lease_seconds": 300,
        },
        "profile_consolidation": {
            "enabled": False,
            "cooldown_seconds": 600,
            "memory_limit": 100,
            "max_users_per_pass": 20,
        },
    }
    assert plain.structured_profile_scan_max_age_seconds == 600
    assert plain.database_url is None
    assert plain.data_dir == Path(__file__).parents[2] / ".loom"


def test_a_variable_sets_its_field() -> None:
    read = Settings.from_environment(
        {"LOOM_PORT": "8080", "LOOM_WORKER_POLL_SECONDS": "0.5", "LOOM_DATA_DIR": "~/x"}
    )
    assert (read.port, read.worker_poll_seconds) == (8080, 0.5)
    assert read.data_dir == Path.home() / "x"


@pytest.mark.parametrize(("text", "value"), [("on", True), ("off", False)])
def test_a_switch_is_on_or_off(text: str, value: bool) -> None:
    read = Settings.from_environment({"LOOM_MEMORY_ATTRIBUTE_TAGGING": text})
    assert read.memory_attribute_tagging is value


def test_an_empty_variable_counts_as_unset() -> None:
    assert Settings.from_environment(
        {"LOOM_PORT": " ", "LOOM_DATABASE_URL": ""}
    ) == Settings.from_environment({})


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("LOOM_PORT", "70000"),
        ("LOOM_PORT", "-1"),
        ("LOOM_PORT", "٧٧"),
        ("LOOM_PORT", "http"),
        ("LOOM_AUTH", "off"),
        ("LOOM_READ_CONNECTIONS", "900"),
        ("LOOM_WORKER_POLL_SECONDS", "nan"),
        ("LOOM_WORKER_POLL_SECONDS", "soon"),
        ("LOOM_LOG_LEVEL", "loud"),
        ("LOOM_MEMORY_ATTRIBUTE_TAGGING", "ON"),
        ("LOOM_MEMORY_ATTRIBUTE_TAGGING", "true"),
        ("LOOM_STRUCTURED_PROFILE_MEMORY_LIMIT", "2000"),
        ("LOOM_STRUCTURED_PROFILE_MAX_USERS_PER_PASS", "-1"),
        ("LOOM_STRUCTURED_PROFILE_LEASE_SECONDS", "59"),
        ("LOOM_STRUCTURED_PROFILE_COOLDOWN_SECONDS", "-1"),
        ("LOOM_STRUCTURED_PROFILE_INTERVAL_SECONDS", "604801"),
        ("LOOM_STRUCTURED_PROFILE_BACKOFF_CAP_SECONDS", "1.5"),
        ("LOOM_STRUCTURED_PROFILE_SCAN_MAX_AGE_SECONDS", "never"),
        ("LOOM_NIGHT_WEAVING_DEFAULT", "yes"),
        ("LOOM_NIGHT_WEAVING_QUIET_MINUTES", "1441"),
        ("LOOM_NIGHT_WEAVING_MAX_RETIRE_SHARE", "1.01"),
        ("LOOM_NIGHT_WEAVING_MAX_RETIRE_SHARE", "nan"),
        ("LOOM_MODEL_CREDENTIALS", "s3cret"),
        ("LOOM_MODEL_CREDENTIALS", "team-a="),
        ("LOOM_MODEL_CREDENTIALS", "team-a=s3cret,team-a=other"),
        ("LOOM_MODEL_CREDENTIALS", "team-a=s3cret\x7f"),
    ],
)
def test_a_value_that_cannot_be_read_names_its_variable(name: str, value: str) -> None:
    with pytest.raises(SettingsError) as refused:
        Settings.from_environment({name: value})
    assert refused.value.variable == name
    assert str(refused.value).startswith(f"{name}: wants ")
    assert value not in str(refused.value)


def test_keys_are_named_and_not_shown() -> None:
    given = Settings.from_environment({"LOOM_MODEL_CREDENTIALS": "a=s3cret, b = x=y=="})
    assert given.model_credentials == {"a": "s3cret", "b": "x=y=="}
    assert "s3cret" not in repr(given)


def test_every_field_is_documented() -> None:
    for field in dataclasses.fields(Settings):
        assert field.metadata["doc"].endswith("."), field.name
        assert callable(field.metadata["parse"])


def test_passwords_are_not_shown(tmp_path: Path) -> None:
    given = settings(tmp_path, database_url=URL)
    assert "s3cret" not in repr(given)
    assert "s3cret" not in repr(resolve(given, None))


@pytest.mark.parametrize(
    ("host", "loopback"),
    [
        ("127.0.0.1", True),
        ("127.255.0.1", True),
        ("::1", True),
        ("[::1]", True),
        ("LocalHost", True),
        ("::ffff:127.0.0.1", True),
        ("0.0.0.0", False),
        ("::", False),
        ("localhost.example", False),
        ("127.1", False),
        ("2130706433", False),
        ("", False),
    ],
)
def test_what_is_loopback(host: str, loopback: bool) -> None:
    assert is_loopback(host) is loopback


def test_without_urls_there_are_no_logins(tmp_path: Path) -> None:
    logins = resolve(settings(tmp_path), None)
    assert logins.migration is None
    with pytest.raises(SettingsError) as refused:
        _ = logins.gateway
    assert refused.value.variable == "LOOM_GATEWAY_DATABASE_URL"
    with pytest.raises(SettingsError):
        _ = logins.worker


def test_the_other_logins_share_server_and_database_and_have_their_own_passwords(
    tmp_path: Path,
) -> None:
    logins = resolve(settings(tmp_path, database_url=URL), None)
    assert logins.migration == URL
    gateway, worker = conninfo_to_dict(logins.gateway), conninfo_to_dict(logins.worker)
    for login in (gateway, worker):
        assert (login["host"], login["port"], login["dbname"]) == ("db.example", "5433", "memory")
        assert login["sslmode"] == "require"
    assert (gateway["user"], worker["user"]) == ("loom_gateway", "loom_worker")
    assert len({gateway["password"], worker["password"], "s3cret"}) == 3
    assert logins.passwords == {
        "loom_gateway": gateway["password"],
        "loom_worker": worker["password"],
    }


def test_the_passwords_are_made_once_and_are_nobody_elses_to_read(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    given = settings(folder, database_url=URL)
    first = resolve(given, None)
    assert resolve(given, None) == first
    assert stat.S_IMODE((folder / "logins.json").stat().st_mode) == 0o600
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert [path.name for path in folder.iterdir()] == ["logins.json"]


def test_processes_that_start_together_agree_on_the_passwords(tmp_path: Path) -> None:
    given = settings(tmp_path, database_url=URL)
    found: list[str] = []
    barrier = threading.Barrier(8)

    def start() -> None:
        barrier.wait()
        found.append(resolve(given, None).gateway)

    threads = [threading.Thread(target=start) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 8
    assert len(set(found)) == 1


def test_a_password_file_that_others_can_read_is_refused(tmp_path: Path) -> None:
    given = settings(tmp_path, database_url=URL)
    resolve(given, None)
    (tmp_path / "logins.json").chmod(0o644)
    with pytest.raises(SettingsError, match="others may read"):
        resolve(given, None)


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"loom_gateway": "x"}', "\xff"])
def test_a_damaged_password_file_is_refused_and_not_replaced(tmp_path: Path, text: str) -> None:
    path = tmp_path / "logins.json"
    path.write_text(text, "latin-1")
    path.chmod(0o600)
    with pytest.raises(SettingsError, match="does not hold the passwords"):
        resolve(settings(tmp_path, database_url=URL), None)
    assert path.read_text("latin-1") == text


def test_without_a_password_none_is_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PGPASSWORD", raising=False)
    logins = resolve(settings(tmp_path, database_url="host=/run/pg dbname=memory"), None)
    assert logins.passwords == {}
    assert conninfo_to_dict(logins.gateway) == {
        "host": "/run/pg",
        "dbname": "memory",
        "user": "loom_gateway",
    }
    assert list(tmp_path.iterdir()) == []


def test_a_password_of_the_environment_counts_as_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PGPASSWORD", "s3cret")
    logins = resolve(settings(tmp_path, database_url="host=db.example"), None)
    assert set(logins.passwords) == {"loom_gateway", "loom_worker"}


def test_a_login_that_is_configured_is_used_and_gets_no_password(tmp_path: Path) -> None:
    gateway = "postgresql://api:own@other.example/memory"
    logins = resolve(settings(tmp_path, database_url=URL, gateway_database_url=gateway), None)
    assert logins.gateway == gateway
    assert set(logins.passwords) == {"loom_worker"}
    only = resolve(settings(tmp_path, gateway_database_url=gateway), None)
    assert (only.migration, only.gateway) == (None, gateway)


def test_configured_logins_need_no_data_folder(tmp_path: Path) -> None:
    folder = tmp_path / "none"
    both = {"gateway_database_url": URL, "worker_database_url": URL}
    resolve(settings(folder, database_url=URL, **both), None)
    assert not folder.exists()


def test_what_is_no_connection_string_is_refused_without_being_shown(tmp_path: Path) -> None:
    with pytest.raises(SettingsError) as refused:
        resolve(settings(tmp_path, database_url="postgresql://u:s3cret@[bad"), None)
    assert refused.value.variable == "LOOM_DATABASE_URL"
    assert "s3cret" not in str(refused.value)


def test_the_password_file_holds_only_the_two_logins(tmp_path: Path) -> None:
    resolve(settings(tmp_path, database_url=URL), None)
    kept = json.loads((tmp_path / "logins.json").read_text())
    assert set(kept) == {"loom_gateway", "loom_worker"}
    assert all(len(password) >= 32 for password in kept.values())
    assert os.access(tmp_path, os.W_OK)

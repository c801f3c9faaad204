"""The page on production and the container files: what they name is there."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import yaml  # type: ignore[import-untyped]
from prometheus_client import Metric

from loom.app.activity import Activity
from loom.app.metrics import Metrics, Tally
from loom.app.model_calls import ModelCalls
from loom.app.openapi import description
from loom.app.query_embeddings import QueryEmbeddings
from loom.cli import _parser
from loom.gateway import Pool
from loom.types import OPERATIONS
from scripts.reference.settings import settings_page

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "production.md").read_text()
COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "compose.yaml").read_text())
DOCKERFILE = (ROOT / "Dockerfile").read_text()

OURS = {name: each for name, each in COMPOSE["services"].items() if "build" in each}
OWNER, GATEWAY, WORKER = "loom", "loom_gateway", "loom_worker"


def user_of(url: str) -> str:
    match = re.fullmatch(r"postgresql://(\w+):\$\{\w+\}@database/loom", url)
    assert match is not None, url
    return match[1]


def test_every_metric_is_on_the_page() -> None:
    pool = Pool("")
    queries = QueryEmbeddings(None, ModelCalls(pool))
    metrics = Metrics(Tally(), pool, Activity(pool), queries)
    names = {name_of(metric) for metric in metrics.collect()}
    assert len(names) >= 9
    for name in names:
        assert f"`{name}{{" in PAGE, name
    assert set(re.findall(r"`(loom_\w+)\{", PAGE)) == names


def name_of(metric: Metric) -> str:
    return metric.name + ("_total" if metric.type == "counter" else "")


def commands() -> list[str]:
    """Every `loom` command in a block of the page, of the README and of CONTRIBUTING."""
    texts = [PAGE, *((ROOT / name).read_text() for name in ("README.md", "CONTRIBUTING.md"))]
    blocks = [block for text in texts for block in re.findall(r"```sh\n(.*?)```", text, re.DOTALL)]
    lines = [line for block in blocks for line in block.splitlines()]
    found = [re.match(r"(?:\.venv/bin/)?loom (.*)", line) for line in lines]
    return [match[1] for match in found if match]


@pytest.mark.parametrize("command", commands())
def test_commands_are_commands(command: str) -> None:
    assert _parser().parse_args(shlex.split(command, comments=True)).run


def test_services_run_commands_with_settings_that_there_are() -> None:
    assert set(OURS) == {"migrate", "api", "worker"}
    settings = settings_page()
    for service in OURS.values():
        assert _parser().parse_args(service["command"]).run
        for variable in service["environment"]:
            assert f"| `{variable}` |" in settings


def test_only_the_migrations_have_the_migration_login() -> None:
    logins = {
        name: {
            user_of(url) for key, url in each["environment"].items() if key.endswith("DATABASE_URL")
        }
        for name, each in OURS.items()
    }
    assert logins == {
        "migrate": {OWNER, GATEWAY, WORKER},
        "api": {GATEWAY},
        "worker": {WORKER},
    }
    assert COMPOSE["services"]["database"]["environment"]["POSTGRES_USER"] == OWNER


def test_the_logins_get_the_passwords_that_their_urls_have() -> None:
    script = COMPOSE["configs"]["logins"]["content"]
    read = dict(re.findall(r"\\getenv (\w+) (\w+)", script))
    made = re.findall(r"create role (\w+) login password :'(\w+)';", script)
    database = COMPOSE["services"]["database"]["environment"]
    urls = OURS["migrate"]["environment"]
    assert {role for role, _ in made} == {GATEWAY, WORKER}
    for role, variable in made:
        setting = read[variable]
        assert database[setting].startswith(f"${{{setting}:?")
        url = urls[f"{role.upper()}_DATABASE_URL"]
        assert f"{role}:${{{setting}}}@" in url


def test_the_api_and_the_worker_start_after_the_migrations_and_those_after_the_database() -> None:
    after = {name: each["depends_on"] for name, each in OURS.items()}
    migrated = {"migrate": {"condition": "service_completed_successfully"}}
    assert after["api"] == after["worker"] == migrated
    assert after["migrate"] == {"database": {"condition": "service_healthy"}}


def test_the_health_check_is_a_program_that_asks_a_page_that_there_is() -> None:
    kind, program, option, text = OURS["api"]["healthcheck"]["test"]
    assert (kind, program, option) == ("CMD", "python", "-c")
    compile(text, "healthcheck", "exec")
    asked = re.findall(r"http://127\.0\.0\.1:7777(/[\w/]+)", text)
    assert asked == ["/v1/ready"]
    assert asked[0] in description(OPERATIONS)["paths"]


def test_every_password_has_a_line_in_the_example() -> None:
    wanted = set(re.findall(r"\$\{(\w+)", (ROOT / "compose.yaml").read_text()))
    example = (ROOT / ".env.example").read_text()
    assert set(re.findall(r"^(\w+)=$", example, re.MULTILINE)) == wanted


def test_the_image_is_built_from_files_that_there_are() -> None:
    copied = [
        name
        for line in re.findall(r"^COPY (?!--from)(.*) \S+$", DOCKERFILE, re.MULTILINE)
        for name in line.split()
    ]
    allowed = re.findall(r"^!(.*)$", (ROOT / ".dockerignore").read_text(), re.MULTILINE)
    assert sorted(copied) == sorted(allowed)
    assert all((ROOT / name).exists() for name in copied)

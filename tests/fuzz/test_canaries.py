"""What is planted in one org, for one user or for one session, is shown to nobody else, whatever
they send; and no log line, no metric and no prompt for others has it."""

from __future__ import annotations

import asyncio
import io
import itertools
import logging
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import pytest

from loom.app import operations
from loom.app.limits import Receive, read_body
from loom.app.metrics import Tally
from loom.logs import configure
from loom.settings import Settings
from loom.types import OPERATIONS
from loom.worker.handlers import structured_profile
from loom.worker.handlers.configured import configured
from loom.worker.main import Worker
from loom.worker.prompt import Prompt, structured_profile_prompt
from tests.databases import Database
from tests.fuzz.described import routes
from tests.fuzz.machine import Findings, fuzz
from tests.fuzz.planted import (
    ACME,
    EMBEDDING,
    GLOBEX,
    OF_SESSION,
    PRIVATE,
    SPACE,
    USER,
    Planted,
    a_day,
    mixed,
    plant,
    telling,
)
from tests.http.api import Api, running, settings_for_tests
from tests.model_endpoint import ModelEndpoint, Request
from tests.tenancy.orgs import OWN_FIELDS, rows_by_org, tables_of_orgs
from tests.vectors import has_vectors
from tests.worker.test_worker import login

SEED = 5
WORK_EVERY = 10
"""Scenarios for one look of the worker at what is due."""

OF_THE_TESTS = ("urllib3", "hypothesis", "schemathesis")
"""Loggers of what sends requests here."""


@dataclass
class Trial:
    """Two filled orgs, an API and a worker that share a model, and what both have logged."""

    database: Database
    planted: Planted
    settings: Settings
    api: Api
    endpoint: ModelEndpoint
    log: io.StringIO

    def work(self) -> None:
        """A worker does what is due now."""

        async def once() -> None:
            async with configured(self.settings) as handlers:
                dsn = login(self.database)
                await Worker(dsn, poll_seconds=60, concurrency=2, handlers=handlers).once()

        asyncio.run(once())

    def fuzz(self, count: int, seed: int) -> Findings:
        """Send requests as those from whom something is hidden, while the worker works."""
        turns = itertools.count()

        def before_each() -> None:
            if next(turns) % WORK_EVERY == 0:
                self.work()

        findings = fuzz(
            self.api.url,
            self.planted.callers,
            count=count,
            seed=seed,
            before_each=before_each,
            guard=self.planted.guard,
        )
        self.work()
        for trouble in self.told():
            findings.note(trouble, "")
        return findings

    def told(self) -> list[str]:
        """Texts of either org in a log line or a metric, and texts of both in one prompt."""
        metrics = self.api.get("/metrics").text
        texts = [each for org in self.planted.texts.values() for each in org]
        found = [f"{each!r} in the metrics" for each in texts if each in metrics]
        lines = self.log.getvalue().splitlines()
        for text in texts:
            found += [f"{text!r} in a log line: {line[:1000]}" for line in lines if text in line][
                :1
            ]
        return found + mixed(self.endpoint.requests, self.planted)


@contextmanager
def logged() -> Iterator[io.StringIO]:
    """Everything that is logged as Loom's processes log it, from the least level on."""
    stream = io.StringIO()
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    configure("debug", stream)
    root.handlers[0].addFilter(lambda record: not record.name.startswith(OF_THE_TESTS))
    try:
        yield stream
    finally:
        root.handlers[:] = handlers
        root.setLevel(level)


@contextmanager
def on_trial(database: Database) -> Iterator[Trial]:
    planted = plant(database.connect())
    with ModelEndpoint(answer=telling) as endpoint, logged() as log:
        settings = settings_for_tests(
            model_base_url=endpoint.url,
            model="telling",
            embedding_base_url=endpoint.url,
            embedding_model=EMBEDDING,
        )
        with running(database, settings=settings) as api:
            yield Trial(database, planted, settings, api, endpoint, log)


@pytest.fixture
def trial(database: Database) -> Iterator[Trial]:
    if not database.cluster.own:
        pytest.skip("the API's login may have a password here")
    with on_trial(database) as made:
        yield made


SHOWN = {
    *("working_memory.get", "working_memory.list", "working_memory.render"),
    *("memory.get", "memory.list", "memory.history", "memory.search", "search.query"),
    *("profile.list", "profile.render", "profile.activity", "profile.structured"),
    *("user_profile.get", "user_profile.history", "user_profile.render", "context.pack"),
    *("looms.thread_list", "looms.bind", "looms.inspection", "looms.weaving_get"),
    *("looms.weaving_list", "memory.ask", "namespace.get", "namespace.list", "token.list"),
    *("audit.list", "blacklist.list", "profile_schema.get"),
}
"""Operations whose answer has a planted text, for those who may see it."""


def shown_to_its_own(trial: Trial) -> set[str]:
    """Operations in whose answer to the org's own admin a planted text stands."""
    org, bait = trial.planted.acme, trial.planted.guard.bait
    ids = {name: bait[name][0] for name in ("loomId", "weavingId", "userId")}
    found = set()
    for op, operation in OPERATIONS.items():
        if operation.mode == "write" and op != "looms.bind":
            continue
        for own, user in itertools.product(OWN_FIELDS[op], (USER, "a")):
            whole = {"namespace": SPACE, "user_id": user, "readScope": "namespace", **own, **ids}
            fields = operation.request.__struct_fields__
            body = {name: each for name, each in whole.items() if name in fields}
            answer = trial.api.call(op, body, token=org.token.text)
            if any(text in answer.text for text in trial.planted.texts[org.name]):
                found.add(op)
    return found


def try_at_length(trial: Trial, count: int, seed: int) -> Findings:
    """Days of both orgs, and then requests of all those who are to see less."""
    conn = trial.database.connect()
    assert set(rows_by_org(conn)["acme"]) == {*tables_of_orgs(conn), "org"}
    for org in (trial.planted.acme, trial.planted.globex):
        a_day(trial.api, org)
    trial.work()
    assert shown_to_its_own(trial) == SHOWN
    findings = trial.fuzz(count, seed)
    assert findings.sent >= count
    assert {name for name, _ in findings.answers} == routes(), findings.report()
    reached = {name for name, status in findings.answers if status == 200}
    assert len(reached) >= 0.6 * len(routes()), findings.report()
    # The worker did each kind of work for both, and had failures to speak of.
    done = set(conn.execute("select distinct org, purpose from loom.model_usage").fetchall())
    assert {purpose for _, purpose in done} == PURPOSES - LACKING[has_vectors(conn)]
    assert {org for org, _ in done} == trial.planted.texts.keys()
    return findings


PURPOSES = {
    *("ask", "embedding", "query_embedding", "night_weaving", "profile_consolidation"),
    *("structured_profile", "user_profile"),
}
"""What a model is asked for."""

LACKING = {True: set(), False: {"embedding", "query_embedding"}}
"""What it is not asked for, by whether the database has vectors."""


def test_o61_nobody_is_shown_what_is_planted_for_others(trial: Trial) -> None:
    findings = try_at_length(trial, 1000, SEED)
    assert not findings.wrong, findings.report()


@pytest.mark.slow
def test_o61_nobody_is_shown_what_is_planted_for_others_at_length(
    trial: Trial, capsys: pytest.CaptureFixture[str]
) -> None:
    findings = try_at_length(trial, 20_000, time.time_ns())
    with capsys.disabled():
        print(f"\n{findings.report()}")
    assert not findings.wrong, findings.report()


LEAKS = {
    "another org's block": ("org <> current_setting('loom.org')", ACME),
    "another session's block": ("session_id = 's1'", OF_SESSION),
}
"""Which rows faulty lists show, and the text by which that is found."""

LISTS = ("working_memory", "memory", "profile", "blacklist", "namespace", "token")


@pytest.mark.parametrize("name", LEAKS)
def test_a_planted_leak_is_found(trial: Trial, name: str) -> None:
    rows, text = LEAKS[name]
    admin = trial.database.connect()
    shown_rows = f"select string_agg(content, ' ') from loom.working_memory where {rows}"  # noqa: S608
    admin.execute(
        "create function loom.leaked() returns text language sql security definer"
        f" set search_path = loom, pg_temp as $$ {shown_rows} $$".encode()
    )
    for group in LISTS:
        admin.execute(
            f"create or replace function loom.{group}_list(p_request jsonb) returns jsonb"
            " language plpgsql security definer set search_path = loom, pg_temp as $$ begin"
            f" perform loom._enter('{group}.list', p_request);"
            " return jsonb_build_object('items', '[]'::jsonb, 'next_cursor', loom.leaked());"
            " end $$".encode()
        )
    findings = trial.fuzz(300, SEED)
    shown = [each for each in findings.wrong if f"shows {text!r}" in each]
    assert shown, findings.report()
    assert {each.split()[0] for each in shown} <= {"batch", *(f"{group}.list" for group in LISTS)}


def say(trial: Trial) -> None:
    """Each org tells its text to the API, and a worker builds from what it had."""
    for org in (trial.planted.acme, trial.planted.globex):
        block = {"namespace": "main", "content": org.canary}
        assert trial.api.call("working_memory.set", block, token=org.token.text).status_code == 200
    trial.work()


def test_without_a_leak_nothing_is_found(trial: Trial) -> None:
    say(trial)
    assert trial.log.getvalue()
    assert trial.told() == []


def _log_bodies(monkeypatch: pytest.MonkeyPatch) -> None:
    async def read_and_tell(receive: Receive, headers: Mapping[bytes, bytes]) -> bytes:
        body = await read_body(receive, headers)
        logging.getLogger("loom.app").debug("got %s", body)
        return body

    monkeypatch.setattr(operations, "read_body", read_and_tell)


def _log_prompts(monkeypatch: pytest.MonkeyPatch) -> None:
    def prompt_and_tell(schema: Any, sources: Any) -> Prompt:
        prompt = structured_profile_prompt(schema, sources)
        logging.getLogger("loom.worker").warning("asking", extra={"reason": prompt.messages[1]})
        return prompt

    monkeypatch.setattr(structured_profile, "structured_profile_prompt", prompt_and_tell)


def _label_by_body(monkeypatch: pytest.MonkeyPatch) -> None:
    add = Tally.add

    def add_and_tell(self: Tally, op: str, code: str, seconds: float) -> None:
        add(self, GLOBEX if op == "working_memory.set" else op, code, seconds)

    monkeypatch.setattr(Tally, "add", add_and_tell)


TELLTALES: dict[str, tuple[Callable[[pytest.MonkeyPatch], None], str]] = {
    "the API logs bodies": (_log_bodies, f"{GLOBEX!r} in a log line"),
    "the worker logs prompts": (_log_prompts, f"{PRIVATE!r} in a log line"),
    "a metric has a text for a label": (_label_by_body, f"{GLOBEX!r} in the metrics"),
}


@pytest.mark.parametrize("name", TELLTALES)
def test_a_planted_telltale_is_found(
    trial: Trial, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    plant_it, words = TELLTALES[name]
    plant_it(monkeypatch)
    say(trial)
    assert any(each.startswith(words) for each in trial.told()), trial.told()


def test_a_prompt_about_two_orgs_is_found(trial: Trial) -> None:
    both = f"{trial.planted.acme.canary} {trial.planted.globex.canary}"
    asked = Request("POST", "/v1/embeddings", {}, {"input": [both]})
    assert mixed([asked], trial.planted)
    assert not mixed([replace(asked, body={"input": [PRIVATE]})], trial.planted)

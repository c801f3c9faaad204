"""Structured profiles with a real model: whatever it makes of a user's facts, what is served fits
the schema, says truly where it comes from, and is counted. Nothing here asks whether it is wise.
"""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import httpx2
import pytest
from jsonschema import Draft202012Validator

from loom.logs import FIELDS
from tests.calls import Answer, Connection
from tests.cli.processes import Done, loom
from tests.cluster import Cluster
from tests.databases import Database, Templates, copy_of
from tests.e2e.people import PEOPLE, PROPERTIES, TOO_LONG, WITHOUT_CALL
from tests.e2e.real_model import NAME, is_installed, real_model
from tests.model_endpoint import ModelEndpoint, Request, Step, by_the_facts
from tests.sql.facts import fact
from tests.sql.structured_profile.building import explained, served, set_schema, settings
from tests.worker.profiles import KEY, NULLS, Site, leases
from tests.worker.profiles import PROPERTIES as SITE_PROPERTIES
from tests.worker.test_worker import login

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not is_installed(),
        reason="wants a real model: `make test-model` installs it (130 MB) and runs these tests",
    ),
]

CALL_SECONDS = 240
"""For one answer, on a machine that has other things to do."""

ALL_SECONDS = 1800.0

ANSWER_CODES = {
    "CUT_OFF",
    "EMPTY_ANSWER",
    "ANSWER_UNFINISHED",
    "ANSWER_TRUNCATED",
    "ANSWER_NOT_JSON",
    "ANSWER_NOT_OBJECT",
    "ANSWER_NOT_ONE_OBJECT",
    "ANSWER_OFF_SCHEMA",
    "ANSWER_TOO_DEEP",
}
"""What can be wrong with an answer that came; anything else is a fault of client or server."""


LONG_ENOUGH = 12
"""Of a line of a fact, not to be found in a log by chance."""


@dataclass(frozen=True)
class Run:
    """What one look of a real worker made of all users."""

    conn: Connection
    given: dict[str, set[str]]
    """By user the ids of all facts."""
    done: Done

    def profiles(self) -> dict[str, Any]:
        return {user: served(self.conn, user) for user in PEOPLE}

    def calls(self) -> list[tuple[str, str, int, int]]:
        """User, outcome and tokens of each call."""
        return self.conn.execute(
            "select user_id::text, outcome::text, prompt_tokens, completion_tokens"
            " from loom.model_usage where model = %s",
            (NAME,),
        ).fetchall()


@pytest.fixture(scope="module")
def model() -> Iterator[str]:
    with real_model() as url:
        yield url


@pytest.fixture(scope="module")
def run(model: str, cluster: Cluster, templates: Templates) -> Iterator[Run]:
    """`loom worker --once` as people run it, on a database as the applier makes it."""
    database = copy_of(cluster, templates.clean)
    conn = database.connect()
    settings(conn, max_users_per_pass=len(PEOPLE), max_pass_seconds=int(2 * ALL_SECONDS))
    set_schema(conn, PROPERTIES)
    given = {
        user: {
            str(fact(conn, "set", user_id=user, memory_key=f"note {n}", value=value)["memory_id"])
            for n, value in enumerate(facts)
        }
        for user, facts in PEOPLE.items()
    }
    env = {
        "LOOM_WORKER_DATABASE_URL": login(database),
        "LOOM_MODEL_BASE_URL": model,
        "LOOM_MODEL_API_KEY": KEY,
        "LOOM_MODEL": NAME,
        "LOOM_MODEL_TIMEOUT_SECONDS": str(CALL_SECONDS),
        "LOOM_LOG_LEVEL": "debug",
    }
    began = time.monotonic()
    done = loom("worker", "--once", env=env, seconds=ALL_SECONDS)
    print(f"\nthe worker took {time.monotonic() - began:.0f} s")
    yield Run(conn, given, done)
    database.close()


def fits(profile: dict[str, Any], properties: dict[str, dict[str, Any]]) -> None:
    """Fail unless every property is there, and each is null or as its schema says."""
    schema = {
        "type": "object",
        "properties": {
            name: {"anyOf": [{"type": "null"}, each]} for name, each in properties.items()
        },
        "required": list(properties),
        "additionalProperties": False,
    }
    Draft202012Validator(schema).validate(profile)


def test_every_user_is_dealt_with_and_the_worker_ends_in_good_order(run: Run) -> None:
    assert (run.done.code, run.done.out) == (0, f"pieces of work done: {len(PEOPLE)}\n")
    assert leases(run.conn) == 0
    assert run.conn.execute("select count(*) from loom.worker").fetchone() == (0,)


def test_o24_what_is_served_fits_the_schema_or_nothing_is(run: Run) -> None:
    for user, answer in run.profiles().items():
        fits(answer["profile"], PROPERTIES)
        error = explained(run.conn, user)["last_error"]
        if answer["status"] == "ready":
            assert error is None, user
        else:
            assert answer["status"] == "pending", user
            assert (answer["profile"], answer["version"]) == (dict.fromkeys(PROPERTIES), None), user
            assert error in ANSWER_CODES | {"PROMPT_TOO_LONG"}, user


def test_the_schema_is_heeded_by_the_model_so_that_most_answers_can_be_used(run: Run) -> None:
    """The server holds the model to the schema, from the first call on: no format is refused."""
    assert "FORMAT_REFUSED" not in {outcome for _user, outcome, *_tokens in run.calls()}
    statuses = Counter(answer["status"] for answer in run.profiles().values())
    print(f"\nstatuses: {dict(statuses)}")
    assert statuses["ready"] > len(PEOPLE) / 2
    values = [each for answer in run.profiles().values() for each in answer["profile"].values()]
    assert any(value is not None for value in values)


def test_o31_sources_are_facts_of_that_user(run: Run) -> None:
    named = 0
    for user in PEOPLE:
        sources = explained(run.conn, user)["sources"] or {}
        assert set(sources) <= set(PROPERTIES), user
        for ids in sources.values():
            assert 0 < len(ids) <= 5, user
            assert set(ids) <= run.given[user], user
            named += len(ids)
    assert named > 0


def test_each_call_is_counted_with_its_tokens(run: Run) -> None:
    calls = run.calls()
    assert Counter(user for user, *_rest in calls) == Counter(set(PEOPLE) - WITHOUT_CALL)
    for user, outcome, prompt_tokens, completion_tokens in calls:
        if user in TOO_LONG:
            assert (outcome, prompt_tokens, completion_tokens) == ("PROMPT_TOO_LONG", 0, 0)
        else:
            assert outcome in {"OK"} | ANSWER_CODES, user
            assert (prompt_tokens > 0, completion_tokens > 0) == (True, True), user
    row = run.conn.execute(
        "select sum(calls), sum(prompt_tokens), sum(completion_tokens) from loom.model_day"
    ).fetchone()
    assert row == (len(calls), sum(call[2] for call in calls), sum(call[3] for call in calls))


def test_a_prompt_that_the_model_has_no_room_for_is_a_failure_that_waits(run: Run) -> None:
    for user in TOO_LONG:
        told = explained(run.conn, user)
        assert (told["last_error"], told["attempts"]) == ("PROMPT_TOO_LONG", 1)
        assert told["next_attempt_at"] is not None


def test_facts_that_no_prompt_has_room_for_make_no_call(run: Run) -> None:
    for user in WITHOUT_CALL:
        answer = served(run.conn, user)
        assert (answer["status"], answer["profile"]) == ("ready", dict.fromkeys(PROPERTIES))


def test_nothing_of_a_user_and_no_key_is_logged(run: Run) -> None:
    log = run.done.err
    assert KEY not in log
    lines = [json.loads(line) for line in log.splitlines()]
    assert Counter(line["event"] for line in lines)["build ended"] == len(PEOPLE)
    for line in lines:
        assert set(line) <= {"time", "level", "logger", "event", *FIELDS}
    for user, facts in PEOPLE.items():
        assert user not in {value for line in lines for value in line.values()}
        for text in filter(lambda value: isinstance(value, str), facts):
            for part in text[:200].splitlines():
                assert len(part) < LONG_ENOUGH or part not in log, user


# Beyond the first look: what was good is not made worse.


@pytest.fixture
def site(database: Database) -> Site:
    return Site.of(database)


def through(url: str, **changes: Any) -> Callable[[Request], Step]:
    """The model, asked otherwise than the worker asked it; a field that is None is left out."""

    def answer(request: Request) -> Step:
        body = {**request.body, **changes, "model": NAME}
        asked = {name: value for name, value in body.items() if value is not None}
        reply = httpx2.post(f"{url}/chat/completions", json=asked, timeout=CALL_SECONDS)
        return Step(reply.status_code, reply.content)

    return answer


def good_profiles(site: Site, users: Sequence[str]) -> dict[str, Answer]:
    """A good profile of each user, and then another fact that wants it built anew."""
    for user in users:
        site.tell("name", "Sam", user=user)
    with ModelEndpoint(answer=by_the_facts) as endpoint:
        assert site.work(endpoint) == len(users)
    before = {user: served(site.conn, user) for user in users}
    for user, answer in before.items():
        assert (answer["status"], answer["profile"]) == ("ready", {**NULLS, "name": "Sam"})
        site.tell("note", PEOPLE["injecting"][0], user=user)
    site.clock.advance(hours=1)
    return before


def test_answers_that_are_cut_off_write_nothing_and_are_waited_for(site: Site, model: str) -> None:
    before = good_profiles(site, ["u1", "u2"])
    newcomers = ["ada", "chinese", "injecting"]
    for user in newcomers:
        site.tell("note", PEOPLE[user][0], user=user)
    everyone = [*before, *newcomers]
    with ModelEndpoint(answer=through(model, max_tokens=12)) as endpoint:
        assert site.work(endpoint, timeout=CALL_SECONDS) == len(everyone)
        assert site.work(endpoint) == 0  # not before something changes
    assert endpoint.calls == len(everyone)
    for user, old in before.items():
        assert served(site.conn, user) == {**old, "status": "stale"}
    for user in newcomers:
        answer = served(site.conn, user)
        assert (answer["status"], answer["profile"], answer["version"]) == ("pending", NULLS, None)
    for user in everyone:
        told = site.explained(user)
        assert (told["refused"], told["last_error"], told["attempts"]) == ("CUT_OFF", "CUT_OFF", 0)
    rows = site.conn.execute(
        "select user_id::text, prompt_tokens > 0, completion_tokens from loom.model_usage"
        " where outcome = 'CUT_OFF' order by user_id"
    ).fetchall()
    assert rows == [(user, True, 12) for user in sorted(everyone)]
    assert leases(site.conn) == 0


def test_an_endpoint_that_minds_no_format_damages_no_profile(site: Site, model: str) -> None:
    """The model writes what it likes: prose, code, half of an object."""
    before = good_profiles(site, [f"u{number}" for number in range(6)])
    with ModelEndpoint(answer=through(model, response_format=None)) as endpoint:
        assert site.work(endpoint, timeout=CALL_SECONDS) == len(before)
    refused = []
    for user, old in before.items():
        answer, told = served(site.conn, user), site.explained(user)
        if told["last_error"] is None:
            fits(answer["profile"], SITE_PROPERTIES)
            assert (answer["status"], answer["version"]) == ("ready", old["version"] + 1)
        else:
            refused.append(told["last_error"])
            assert answer == {**old, "status": "stale"}
            assert told["refused"] == "CUT_OFF" or told["attempts"] == 1
    assert refused, "every answer was an object of the wanted form: nothing was shown"
    assert set(refused) <= ANSWER_CODES
    assert {outcome for _user, outcome in site.calls()} <= {"OK"} | ANSWER_CODES

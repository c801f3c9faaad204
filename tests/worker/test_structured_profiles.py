"""Builds of structured profiles by a real worker: what each answer of the model comes to, what is
waited for after it, and what it never does."""

from __future__ import annotations

import asyncio
import json
import logging
from datetime import timedelta
from typing import Any

import pytest

from loom import logs
from loom.settings import Settings
from loom.worker.answer import Answer, is_readable, read_answer
from loom.worker.handlers import structured_profile
from loom.worker.handlers.configured import configured
from tests.databases import Database
from tests.model_endpoint import (
    ModelEndpoint,
    Step,
    by_the_facts,
    completion,
    cut_off,
    dropped_at_once,
    dropped_in_body,
    facts_of,
    format_refused,
    hang,
    profile,
    rate_limited,
    refusal,
    server_error,
)
from tests.sql.facts import NOON
from tests.sql.structured_profile.building import served, set_schema, settings
from tests.worker.profiles import KEY, NULLS, PROPERTIES, Site, leases

RIGHT = {"name": "Ada", "plan": "pro", "visits": 3, "score": 0.5, "langs": ["en", "de"]}
TEXT = json.dumps({"profile": RIGHT, "sources": {}})
HOUR = timedelta(hours=1)


@pytest.fixture
def site(database: Database) -> Site:
    return Site.of(database)


def told(**values: Any) -> Step:
    return profile({**RIGHT, **values})


def raw(name: str, value: str) -> Step:
    """An answer with a value that Python would not write so."""
    text = json.dumps({"profile": {**RIGHT, name: "?"}, "sources": {}})
    return completion(text.replace('"?"', value))


@pytest.mark.parametrize(
    ("step", "written"),
    [
        pytest.param(told(), {}, id="right"),
        pytest.param(told(visits="3", name=7), {"visits": None, "name": None}, id="wrong types"),
        pytest.param(told(plan="gold"), {"plan": None}, id="outside its enum"),
        pytest.param(told(name="A" * 21, score=-1), {"name": None, "score": None}, id="bounds"),
        pytest.param(told(langs=["en", "xyz"]), {"langs": ["en"]}, id="an element"),
        pytest.param(told(langs=["en", "de", "fr", "it"]), {"langs": None}, id="too many items"),
        pytest.param(told(hobby="chess"), {}, id="an undeclared key"),
        pytest.param(raw("score", "NaN"), {"score": None}, id="NaN"),
        pytest.param(raw("score", "1e999"), {"score": None}, id="infinite"),
        pytest.param(raw("visits", str(2**53 + 1)), {"visits": None}, id="past 2^53"),
        pytest.param(raw("visits", str(2**53)), {"visits": 2**53}, id="2^53"),
        pytest.param(told(name="A\0da"), {"name": None}, id="NUL"),
        pytest.param(completion(f"```json\n{TEXT}\n```"), {}, id="fenced"),
        pytest.param(completion(f"Here you are: {TEXT} Bye."), {}, id="in prose"),
        pytest.param(completion({}), dict.fromkeys(RIGHT), id="nothing settled"),
    ],
)
def test_o24_o39_a_bad_value_costs_that_value_and_nothing_else(
    site: Site, step: Step, written: dict[str, Any]
) -> None:
    site.build_first()
    with ModelEndpoint(step) as endpoint:
        assert site.work(endpoint) == 1
    answer = served(site.conn)
    assert (answer["status"], answer["version"]) == ("ready", 2)
    assert answer["profile"] == {**RIGHT, **written}
    explained = site.explained()
    assert (explained["attempts"], explained["last_error"]) == (0, None)
    assert endpoint.calls == 1
    assert site.calls() == [("u1", "OK"), ("u1", "OK")]


FAILED = (1, timedelta(seconds=300), None)
WAITING = (0, timedelta(seconds=300), None)
REFUSED = (0, None, "CUT_OFF")


@pytest.mark.parametrize(
    ("step", "code", "wait"),
    [
        pytest.param(cut_off(), "CUT_OFF", REFUSED, id="cut off"),
        pytest.param(completion(""), "EMPTY_ANSWER", FAILED, id="empty"),
        pytest.param(completion(None), "EMPTY_ANSWER", FAILED, id="null"),
        pytest.param(
            completion(f"One: {TEXT} Or two: {TEXT}"), "ANSWER_NOT_ONE_OBJECT", FAILED, id="two"
        ),
        pytest.param(completion("I cannot say."), "ANSWER_NOT_OBJECT", FAILED, id="prose"),
        pytest.param(completion('{"a": oops}'), "ANSWER_NOT_JSON", FAILED, id="no JSON"),
        pytest.param(completion({"sorry": 1}), "ANSWER_OFF_SCHEMA", FAILED, id="off the schema"),
        pytest.param(
            rate_limited("30"),
            "MODEL_RATE_LIMITED",
            (0, timedelta(seconds=30), None),
            id="429 with Retry-After",
        ),
        pytest.param(rate_limited(), "MODEL_RATE_LIMITED", WAITING, id="429"),
        pytest.param(server_error(), "MODEL_ERROR", FAILED, id="500"),
        pytest.param(server_error(503), "MODEL_UNAVAILABLE", WAITING, id="503"),
        pytest.param(hang(), "MODEL_TIMEOUT", FAILED, id="hang"),
        pytest.param(dropped_at_once(), "MODEL_UNREACHABLE", WAITING, id="dropped"),
        pytest.param(dropped_in_body(), "MODEL_DROPPED", FAILED, id="dropped in its answer"),
    ],
)
def test_o52_o55_without_an_answer_the_profile_stays_and_one_call_was_made(
    site: Site, step: Step, code: str, wait: tuple[int, timedelta | None, str | None]
) -> None:
    before = site.build_first()
    attempts, seconds, refused = wait
    with ModelEndpoint(step) as endpoint:
        assert site.work(endpoint, timeout=0.5) == 1
        assert site.work(endpoint) == 0
    answer, explained = served(site.conn), site.explained()
    assert {**answer, "status": "ready"} == before
    assert answer["status"] == "stale"
    assert (explained["attempts"], explained["last_error"]) == (attempts, code)
    assert explained["refused"] == refused
    until = None if seconds is None else logs_time(NOON + HOUR + seconds)
    assert explained["next_attempt_at"] == until
    assert endpoint.calls == 1
    # What the answer was worth is for us to say; the call itself may have ended well.
    outcomes = [outcome for _user, outcome in site.calls()]
    assert outcomes in (["OK", code], ["OK", "OK"])
    assert leases(site.conn) == 0


def logs_time(moment: Any) -> str:
    return str(moment.isoformat(timespec="microseconds").replace("+00:00", "Z"))


def test_o53_each_failure_waits_longer_and_a_success_ends_them(site: Site) -> None:
    site.tell("name", "Ada")
    with ModelEndpoint(server_error(), server_error(), answer=by_the_facts) as endpoint:
        for attempts, wait in ((1, 300), (2, 600)):
            assert site.work(endpoint) == 1
            assert site.explained()["attempts"] == attempts
            site.clock.advance(seconds=wait - 1)
            assert site.work(endpoint) == 0
            site.clock.advance(seconds=1)
        assert site.work(endpoint) == 1
    assert endpoint.calls == 3
    assert site.explained()["attempts"] == 0
    assert served(site.conn)["profile"]["name"] == "Ada"


def test_what_was_cut_off_is_asked_again_when_a_fact_changes(site: Site) -> None:
    site.tell("name", "Ada")
    with ModelEndpoint(cut_off(), answer=by_the_facts) as endpoint:
        site.work(endpoint)
        site.clock.advance(hours=5)
        assert (site.work(endpoint), endpoint.calls) == (0, 1)
        site.tell("plan", "pro")
        assert (site.work(endpoint), endpoint.calls) == (1, 2)
    assert served(site.conn)["profile"] == {**NULLS, "name": "Ada", "plan": "pro"}


def test_a_refused_format_is_a_second_call_of_the_same_attempt(site: Site) -> None:
    site.build_first()
    with ModelEndpoint(format_refused(), told()) as endpoint:
        assert site.work(endpoint) == 1
    assert [request.format for request in endpoint.requests] == ["json_schema", "json_object"]
    assert served(site.conn)["profile"] == RIGHT
    assert site.calls()[1:] == [("u1", "FORMAT_REFUSED"), ("u1", "OK")]


def test_o27_a_rebuild_follows_the_newest_of_facts_that_disagree(site: Site) -> None:
    def built(**fact: Any) -> Any:
        site.tell("name", **fact)
        site.clock.advance(hours=1)
        with ModelEndpoint(answer=by_the_facts) as endpoint:
            assert site.work(endpoint) == 1
        return served(site.conn)["profile"]["name"]

    assert built(value="Sam", agent="a") == "Sam"
    assert built(value="Ada", agent="b") == "Ada"
    # Told last, of a time before.
    assert built(value="Eve", agent="c", valid_at="2020-01-01T00:00:00Z") == "Ada"
    assert built(value="Max", agent="a") == "Max"


def test_o31_what_a_deleted_fact_said_is_built_out_and_never_comes_back(site: Site) -> None:
    def built() -> tuple[Any, str]:
        site.clock.advance(hours=1)
        with ModelEndpoint(answer=by_the_facts) as endpoint:
            assert site.work(endpoint) == 1
        (request,) = endpoint.requests
        return served(site.conn)["profile"], json.dumps(request.body)

    site.tell("name", "Ada")
    site.tell("plan", "pro")
    profile, prompt = built()
    assert (profile, "Ada" in prompt) == ({**NULLS, "name": "Ada", "plan": "pro"}, True)
    site.forget("name")
    profile, prompt = built()
    assert (profile, "Ada" in prompt) == ({**NULLS, "plan": "pro"}, False)
    # What was built before is not told to the model either.
    site.tell("visits", 3)
    profile, prompt = built()
    assert (profile, "Ada" in prompt) == ({**NULLS, "plan": "pro", "visits": 3}, False)


def test_o31_sources_are_those_that_were_given(site: Site) -> None:
    site.tell("name", "Ada")
    known = site.tell("plan", "pro")["memory_id"]

    def answer(request: Any) -> Step:
        numbers = {fact["key"]: fact["n"] for fact in facts_of(request)}
        named = {"plan": [numbers["plan"], 9, 0, -1], "name": [77], "hobby": [1]}
        return profile(RIGHT, named)

    with ModelEndpoint(answer=answer) as endpoint:
        site.work(endpoint)
    assert site.explained()["sources"] == {"plan": [known]}


def test_an_answer_longer_than_a_section_is_not_asked_for_again(site: Site) -> None:
    set_schema(site.conn, {"name": {"type": "string", "description": "All of it"}})
    site.tell("name", "Ada")
    with ModelEndpoint(profile({"name": "x" * 65_536})) as endpoint:
        assert site.work(endpoint) == 1
        site.clock.advance(hours=5)
        assert site.work(endpoint) == 0
    explained = site.explained()
    assert (explained["last_error"], explained["refused"]) == ("CHAR_LIMIT_EXCEEDED", "CUT_OFF")
    assert served(site.conn)["status"] == "pending"
    assert site.calls() == [("u1", "OK")]


def test_facts_all_gone_make_a_profile_of_nulls_without_a_call(site: Site) -> None:
    site.build_first()
    site.forget("name")
    with ModelEndpoint() as endpoint:
        assert site.work(endpoint) == 1
    assert (served(site.conn)["profile"], endpoint.calls) == (NULLS, 0)


def test_facts_that_are_all_too_long_make_no_call(site: Site) -> None:
    site.tell("novel", "x" * 31_000)
    with ModelEndpoint() as endpoint:
        assert site.work(endpoint) == 1
    answer = served(site.conn)
    assert (answer["status"], answer["profile"], endpoint.calls) == ("ready", NULLS, 0)


def test_a_schema_that_cannot_be_read_makes_its_namespace_wait(site: Site) -> None:
    site.tell("name", "Ada")
    site.conn.execute(
        "update loom.profile_schema set json_schema ="
        " jsonb_set(json_schema, '{properties,name,pattern}', '\"(?<=a)b\"')"
    )
    with ModelEndpoint(answer=by_the_facts) as endpoint:
        assert site.work(endpoint) == 1
        assert site.work(endpoint) == 0
        assert endpoint.calls == 0
        assert served(site.conn)["status"] == "no_schema"
        assert (leases(site.conn), site.explained()["attempts"]) == (0, 0)
        set_schema(site.conn, PROPERTIES)
        assert (site.work(endpoint), endpoint.calls) == (1, 1)
    assert served(site.conn)["status"] == "ready"


@pytest.mark.parametrize(
    ("schema", "readable"),
    [
        ({"properties": PROPERTIES}, True),
        ({"properties": {"a": {"type": "string", "pattern": r"^\pL+\z"}}}, True),
        ({"properties": {"a": {"type": "string", "pattern": "(?=a)"}}}, False),
        (
            {"properties": {"a": {"type": "array", "items": {"type": "string", "pattern": "("}}}},
            False,
        ),
        ({"properties": {"a": {"type": "array"}}}, False),
        ({"properties": {"a": {"type": "string", "minLength": "1"}}}, False),
        ({"properties": {"a": {"type": "thing"}}}, False),
        ({"properties": {"a": 1}}, False),
        ({"properties": {}}, False),
        ({"properties": None}, False),
        ({}, False),
        (None, False),
    ],
)
def test_which_schemas_can_be_read(schema: Any, readable: bool) -> None:
    assert is_readable(schema) is readable


def test_at_the_cap_of_the_day_users_wait_until_the_next(site: Site) -> None:
    site.conn.execute("select loom.model_daily_token_cap(200)")
    for user in ("u1", "u2", "u3"):
        site.tell("name", "Ada", user=user)
    with ModelEndpoint(answer=by_the_facts) as endpoint:
        assert site.work(endpoint) == 2  # 120 tokens each: the second call passed the cap
        assert [served(site.conn, user)["status"] for user in ("u1", "u2", "u3")] == [
            *("ready", "ready", "pending")
        ]
        site.clock.advance(hours=11)
        assert site.work(endpoint) == 0
        site.clock.advance(hours=1)
        assert (site.work(endpoint), endpoint.calls) == (1, 3)
    assert served(site.conn, "u3")["status"] == "ready"


def test_calls_that_never_end_meet_the_cap_of_the_day_too(site: Site) -> None:
    """Nobody says what they took; their prompts are counted by an estimate."""
    site.conn.execute("select loom.model_daily_token_cap(200)")
    for user in ("u1", "u2"):
        site.tell("name", "Ada", user=user)
    with ModelEndpoint(hang()) as endpoint:
        assert site.work(endpoint, timeout=0.5) == 1
    assert (endpoint.calls, site.calls()) == (1, [("u1", "MODEL_TIMEOUT")])
    assert site.explained("u2")["last_error"] == "MODEL_TOKEN_CAP"


def test_the_call_ends_30_seconds_before_the_lease(site: Site) -> None:
    settings(site.conn, lease_seconds=31)
    site.tell("name", "Ada")
    with ModelEndpoint(hang()) as endpoint:
        site.work(endpoint, timeout=3600)
    assert site.explained()["last_error"] == "MODEL_TIMEOUT"
    assert (endpoint.calls, site.calls()) == (1, [("u1", "MODEL_TIMEOUT")])


def test_o51_a_fault_of_ours_is_a_failure_of_that_user_alone(
    site: Site, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    site.tell("name", "Ada of Turin")
    site.tell("name", "Sam", user="u2")

    def broken(text: str, schema: Any, given: list[str]) -> Answer:
        if "Turin" in text:
            raise RuntimeError(text)
        return read_answer(text, schema, given)

    monkeypatch.setattr(structured_profile, "read_answer", broken)
    with ModelEndpoint(answer=by_the_facts) as endpoint, caplog.at_level(logging.INFO):
        assert site.work(endpoint) == 2
    explained = site.explained()
    assert (explained["attempts"], explained["last_error"]) == (1, "WORKER_ERROR")
    assert served(site.conn, "u2")["status"] == "ready"
    assert len(site.calls()) == 2
    (line,) = lines_of(caplog, "a build failed")
    assert (line["exception"], line["kind"]) == ("RuntimeError", "structured_profile")
    assert any("broken" in frame for frame in line["frames"])
    assert "Turin" not in caplog.text + json.dumps(line)


def test_a_refusal_of_the_database_is_told_by_its_code_alone(
    site: Site, caplog: pytest.LogCaptureFixture
) -> None:
    site.tell("name", "Ada of Turin")
    site.conn.execute(
        "alter table loom.memory add constraint odd check"
        " (memory_type <> 'profile' or value::text !~ 'Turin') not valid"
    )
    with ModelEndpoint(answer=by_the_facts) as endpoint, caplog.at_level(logging.INFO):
        site.work(endpoint)
    assert site.explained()["last_error"] == "WORKER_ERROR"
    (line,) = lines_of(caplog, "a build failed")
    assert (line["exception"], line["sqlstate"]) == ("CheckViolation", "23514")
    assert "Turin" not in caplog.text + json.dumps(line)


def lines_of(caplog: pytest.LogCaptureFixture, event: str) -> list[dict[str, Any]]:
    """The lines of an event, as they are written."""
    written = logs.JsonLines()
    return [json.loads(written.format(each)) for each in caplog.records if each.message == event]


SECRETS = ("Ada of Turin", "first_name", "u-secret", KEY, "echoed", "the provider's own words")


def test_no_text_of_a_user_a_provider_or_a_key_is_logged(
    site: Site, caplog: pytest.LogCaptureFixture
) -> None:
    user = "u-secret"
    steps = [
        refusal(500, "the provider's own words: Ada of Turin"),
        completion("echoed: Ada of Turin"),
        rate_limited("1"),
        cut_off("echoed"),
        profile({"name": "echoed", "first_name": "Ada of Turin"}),
    ]
    with ModelEndpoint(*steps) as endpoint, caplog.at_level(logging.DEBUG):
        for _ in steps:
            site.clock.advance(hours=7)
            site.tell("first_name", "Ada of Turin", user=user)
            site.work(endpoint)
    assert endpoint.calls == len(steps)
    assert served(site.conn, user)["profile"]["name"] == "echoed"
    written = "\n".join(logs.JsonLines().format(record) for record in caplog.records)
    ours = [record for record in caplog.records if record.name.startswith("loom")]
    assert len([each for each in ours if each.message == "build ended"]) == len(steps)
    for secret in SECRETS:
        assert secret not in written, secret
        assert not [record for record in ours if secret in str(record.__dict__)], secret


def test_without_a_model_nothing_is_done_and_it_is_said_once(
    site: Site, caplog: pytest.LogCaptureFixture
) -> None:
    async def kinds(**values: Any) -> list[str]:
        async with configured(Settings(**values)) as handlers:
            return list(handlers)

    with caplog.at_level(logging.INFO, "loom.worker"):
        assert asyncio.run(kinds()) == []
        assert asyncio.run(kinds(model="m")) == []
        assert asyncio.run(kinds(model_base_url="http://127.0.0.1:1/v1")) == []
        told_of = [each for each in caplog.records if each.message.startswith("no model")]
        assert [each.levelname for each in told_of] == ["INFO"] * 3
        url = "http://127.0.0.1:1/v1"
        assert asyncio.run(kinds(model="m", model_base_url=url)) == [
            *("structured_profile", "profile_consolidation", "user_profile", "night_weaving")
        ]

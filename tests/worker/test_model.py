"""The model client against a real endpoint that answers by script: what each reply comes to, and
how many calls it takes."""

from __future__ import annotations

import asyncio
import email.utils
import json
import logging
import socket
import threading
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx2
import pytest

from loom.model_client import MOST_BYTES, Completion, ModelClient
from loom.model_errors import CutOff, Failed, ModelError, Waiting
from loom.model_reply import LONGEST_RETRY_SECONDS, retry_seconds
from loom.settings import Settings, SettingsError
from loom.worker.answer import read_answer
from loom.worker.prompt import answer_schema, structured_profile_prompt
from tests.model_endpoint import (
    DRIP_SECONDS,
    ModelEndpoint,
    Request,
    Step,
    by_the_facts,
    completion,
    completion_tokens_wanted,
    cut_off,
    drip,
    dropped_at_once,
    dropped_in_body,
    format_refused,
    hang,
    huge,
    rate_limited,
    redirect,
    refusal,
    server_error,
)

KEY = "sk-very-secret"
SECRET = "Ada lives in Turin"
SCHEMA = {"type": "object", "properties": {}, "additionalProperties": False}
MESSAGES = [{"role": "system", "content": "Fill it in."}, {"role": "user", "content": SECRET}]
ANSWER = completion({"profile": {}, "sources": {}})

Work = Callable[[ModelClient], Awaitable[Any]]


async def ask(client: ModelClient, seconds: float = 10) -> Completion:
    return await client.complete("structured_profile", MESSAGES, SCHEMA, 77, seconds)


async def outcome(client: ModelClient, seconds: float = 10) -> str:
    """How an attempt ends: the format of its answer, or the code of its failure."""
    try:
        return (await ask(client, seconds)).format
    except ModelError as error:
        return error.code


def work_with(endpoint: ModelEndpoint | str, work: Work, *, timeout: float = 10) -> Any:
    url = endpoint if isinstance(endpoint, str) else endpoint.url

    async def whole() -> Any:
        async with ModelClient(url, KEY, "small", timeout) as client:
            return await work(client)

    return asyncio.run(whole())


def failure(*steps: Step, seconds: float = 10) -> tuple[ModelError, ModelEndpoint]:
    """How one attempt fails against a script."""
    with ModelEndpoint(*steps) as endpoint, pytest.raises(ModelError) as caught:
        work_with(endpoint, lambda client: ask(client, seconds))
    return caught.value, endpoint


def test_an_answer_with_what_it_took() -> None:
    with ModelEndpoint(completion("{}", usage=(120, 9))) as endpoint:
        done = work_with(endpoint, ask)
    assert (done.text, done.model, done.format) == ("{}", "small", "json_schema")
    assert (done.prompt_tokens, done.completion_tokens) == (120, 9)
    (call,) = done.calls
    assert (call.outcome, call.prompt_tokens, call.completion_tokens) == ("OK", 120, 9)
    assert call.milliseconds == done.milliseconds >= 0


def test_what_is_sent() -> None:
    with ModelEndpoint(ANSWER) as endpoint:
        work_with(endpoint, ask)
    (sent,) = endpoint.requests
    assert (sent.method, sent.path) == ("POST", "/v1/chat/completions")
    assert sent.headers["authorization"] == f"Bearer {KEY}"
    assert sent.headers["content-type"] == "application/json"
    assert sent.body == {
        "model": "small",
        "messages": MESSAGES,
        "max_tokens": 77,
        "response_format": {
            "type": "json_schema",
            "json_schema": {"name": "structured_profile", "strict": True, "schema": SCHEMA},
        },
    }


def test_without_a_key_none_is_sent_and_a_slash_more_does_not_matter() -> None:
    async def whole(url: str) -> None:
        async with ModelClient(url + "/", None, "small", 10) as client:
            await ask(client)

    with ModelEndpoint(ANSWER) as endpoint:
        asyncio.run(whole(endpoint.url))
    assert "authorization" not in endpoint.requests[0].headers
    assert endpoint.requests[0].path == "/v1/chat/completions"


def test_a_provider_that_does_not_say_what_it_used_is_counted_by_length() -> None:
    text = "x" * 41
    with ModelEndpoint(completion(text, usage=None), completion(text, usage=(True, -1))) as told:
        for _ in range(2):
            done = work_with(told, ask)
            characters = sum(len(message["content"]) for message in MESSAGES)
            assert done.prompt_tokens == -(-characters // 4)
            assert done.completion_tokens == 11


@pytest.mark.parametrize("status", [400, 404, 415, 422, 500, 501])
def test_a_refused_format_is_stepped_down_from_and_remembered(status: int) -> None:
    async def work(client: ModelClient) -> list[str]:
        return [await outcome(client), await outcome(client)]

    with ModelEndpoint(format_refused(status), ANSWER, ANSWER) as endpoint:
        assert work_with(endpoint, work) == ["json_object_schema", "json_object_schema"]
    formats = [request.body["response_format"] for request in endpoint.requests]
    assert [sent["type"] for sent in formats] == ["json_schema", "json_object", "json_object"]
    assert formats[1] == {"type": "json_object", "schema": SCHEMA}


def test_one_attempt_steps_down_once_and_the_next_begins_lower() -> None:
    async def work(client: ModelClient) -> list[str]:
        return [await outcome(client) for _ in range(3)]

    refused = format_refused()
    with ModelEndpoint(refused, refused, refused, ANSWER, ANSWER) as endpoint:
        assert work_with(endpoint, work) == ["FORMAT_REFUSED", "text", "text"]
    sent = [request.body.get("response_format") for request in endpoint.requests]
    assert sent[2] == {"type": "json_object"}
    assert [request.format for request in endpoint.requests] == [
        "json_schema", "json_object", "json_object", None, None,
    ]  # fmt: skip


def test_the_calls_of_a_failed_attempt_are_told() -> None:
    error, endpoint = failure(format_refused(), format_refused(422, "json_object"))
    assert isinstance(error, Failed)
    assert (error.code, error.outcome, endpoint.calls) == ("FORMAT_REFUSED", "failed", 2)
    assert [call.outcome for call in error.calls] == ["FORMAT_REFUSED"] * 2
    assert [call.prompt_tokens + call.completion_tokens for call in error.calls] == [0, 0]


@pytest.mark.parametrize(
    "what",
    [
        "response_format",
        "json_schema",
        "json_object",
        "the schema",
        "format",
        "a grammar",
        "Schema",
    ],
)
def test_what_names_the_format(what: str) -> None:
    with ModelEndpoint(format_refused(400, what), ANSWER) as endpoint:
        assert work_with(endpoint, outcome) == "json_object_schema"


@pytest.mark.parametrize(
    "body",
    [
        {"error": "response_format: not supported"},
        {"message": "unknown parameter response_format"},
        {"detail": "response_format is not permitted"},
        {"detail": [{"loc": ["body", "response_format", "type"], "msg": "Input is wrong"}]},
        {"error": {"message": "Unknown parameter.", "param": "response_format"}},
        "failed to parse grammar",
    ],
)
def test_where_other_providers_put_the_words(body: object) -> None:
    content = body.encode() if isinstance(body, str) else json.dumps(body).encode()
    with ModelEndpoint(Step(400, content), ANSWER) as endpoint:
        assert work_with(endpoint, outcome) == "json_object_schema"


@pytest.mark.parametrize(
    "step",
    [
        refusal(400, "The information in messages[0] is malformed."),
        # A request repeated in the refusal names the format, but does not refuse it.
        Step(422, b'{"detail": [{"msg": "too long", "input": {"response_format": {}}}]}'),
        Step(500, b'<meta name="format-detection">', {"Content-Type": "text/html"}),
        server_error(500),
    ],
)
def test_an_error_that_does_not_name_the_format_is_not_sent_again(step: Step) -> None:
    error, endpoint = failure(step)
    assert (error.code, error.outcome, endpoint.calls) == ("MODEL_ERROR", "failed", 1)


@pytest.mark.parametrize("status", [429, 503])
def test_another_status_that_names_the_format_refuses_nothing(status: int) -> None:
    error, endpoint = failure(format_refused(status))
    assert (error.outcome, endpoint.calls) == ("waiting", 1)


def test_plain_text_is_the_end_of_the_ladder() -> None:
    async def work(client: ModelClient) -> list[str]:
        return [await outcome(client) for _ in range(3)]

    with ModelEndpoint(*[format_refused()] * 5) as endpoint:
        assert work_with(endpoint, work) == ["FORMAT_REFUSED", "MODEL_ERROR", "MODEL_ERROR"]
    assert endpoint.calls == 5


def test_the_other_field_for_the_cap_is_taken_where_asked_for_and_remembered() -> None:
    async def work(client: ModelClient) -> list[Completion]:
        return [await ask(client), await ask(client)]

    with ModelEndpoint(completion_tokens_wanted(), ANSWER, ANSWER) as endpoint:
        first, second = work_with(endpoint, work)
    caps = [
        (request.body.get("max_tokens"), request.body.get("max_completion_tokens"))
        for request in endpoint.requests
    ]
    assert caps == [(77, None), (None, 77), (None, 77)]
    assert [call.outcome for call in first.calls] == ["TOKEN_FIELD_REFUSED", "OK"]
    assert [call.outcome for call in second.calls] == ["OK"]


def test_the_field_for_the_cap_does_not_use_up_the_step_down() -> None:
    with ModelEndpoint(completion_tokens_wanted(), format_refused(), ANSWER) as endpoint:
        assert work_with(endpoint, outcome) == "json_object_schema"
    assert endpoint.calls == 3


def test_a_field_that_is_refused_whatever_is_sent_ends_the_attempt() -> None:
    error, endpoint = failure(*[completion_tokens_wanted()] * 5)
    assert (error.code, endpoint.calls) == ("MODEL_ERROR", 2)


def test_a_cut_off_answer_is_discarded_and_its_cost_is_known() -> None:
    error, endpoint = failure(cut_off())
    assert isinstance(error, CutOff)
    assert (error.outcome, error.code, endpoint.calls) == ("cut_off", "CUT_OFF", 1)
    (call,) = error.calls
    assert (call.outcome, call.prompt_tokens, call.completion_tokens) == ("CUT_OFF", 100, 20)


def test_a_model_that_thought_until_its_cap_was_cut_off() -> None:
    assert failure(completion(None, finish_reason="length"))[0].outcome == "cut_off"


@pytest.mark.parametrize(
    ("step", "code"),
    [
        (completion("{}", finish_reason="content_filter"), "ANSWER_FILTERED"),
        (completion("{}", finish_reason="tool_calls"), "ANSWER_UNFINISHED"),
        (completion("{}", finish_reason=None), "ANSWER_UNFINISHED"),
        (completion(""), "EMPTY_ANSWER"),
        (completion(" \n"), "EMPTY_ANSWER"),
        (completion(None), "EMPTY_ANSWER"),
        (completion(None, refusal="I cannot."), "ANSWER_REFUSED"),
        (Step(body=b"{"), "MODEL_BAD_RESPONSE"),
        (Step(body=b""), "MODEL_BAD_RESPONSE"),
        (Step(body=b"[]"), "MODEL_BAD_RESPONSE"),
        (Step(body=b"\xff\xfe{}"), "MODEL_BAD_RESPONSE"),
        (Step(body=b"[" * 100_000), "MODEL_BAD_RESPONSE"),
        (Step(body=b'{"choices": []}'), "MODEL_BAD_RESPONSE"),
        (Step(body=b'{"choices": [{"finish_reason": "stop"}]}'), "MODEL_BAD_RESPONSE"),
        (Step(body=b'{"choices": [{"message": "{}"}]}'), "MODEL_BAD_RESPONSE"),
        (Step(204), "MODEL_BAD_RESPONSE"),
        (huge(MOST_BYTES), "MODEL_BAD_RESPONSE"),
        (Step(headers={"Content-Encoding": "gzip"}, body=b"\x1f\x8b"), "MODEL_BAD_RESPONSE"),
        (dropped_in_body(), "MODEL_DROPPED"),
        (refusal(401, "Incorrect API key provided."), "MODEL_AUTH"),
        (refusal(403, "Country not supported."), "MODEL_AUTH"),
        (refusal(404, "The model does not exist.", code="model_not_found"), "MODEL_NOT_FOUND"),
        (refusal(413, "Too large."), "PROMPT_TOO_LONG"),
        (refusal(400, "Too many.", code="context_length_exceeded"), "PROMPT_TOO_LONG"),
        (refusal(400, "Too many.", code=400, type="exceed_context_size_error"), "PROMPT_TOO_LONG"),
        (refusal(400, "Filtered.", code="content_filter"), "ANSWER_FILTERED"),
        (server_error(500), "MODEL_ERROR"),
    ],
)
def test_o52_a_failure_is_paid_for_once(step: Step, code: str) -> None:
    error, endpoint = failure(step)
    assert isinstance(error, Failed)
    assert (error.outcome, error.code, endpoint.calls) == ("failed", code, 1)
    assert [call.outcome for call in error.calls] == [code]
    assert error.retry_seconds is None


@pytest.mark.parametrize(
    ("step", "code"),
    [
        (rate_limited(), "MODEL_RATE_LIMITED"),
        (refusal(429, "You exceeded it.", type="insufficient_quota"), "MODEL_QUOTA"),
        (refusal(402, "Payment required."), "MODEL_QUOTA"),
        (server_error(502), "MODEL_UNAVAILABLE"),
        (server_error(503), "MODEL_UNAVAILABLE"),
        (server_error(504), "MODEL_UNAVAILABLE"),
        (server_error(529), "MODEL_UNAVAILABLE"),
        (server_error(408), "MODEL_TIMEOUT"),
        (dropped_at_once(), "MODEL_UNREACHABLE"),
    ],
)
def test_o55_an_outage_is_waited_for_with_its_reason(step: Step, code: str) -> None:
    error, endpoint = failure(step)
    assert isinstance(error, Waiting)
    assert (error.outcome, error.code, endpoint.calls) == ("waiting", code, 1)
    assert [call.outcome for call in error.calls] == [code]


@pytest.mark.parametrize(
    "step", [rate_limited("30"), refusal(503, "Busy.", headers={"Retry-After": "30"})]
)
def test_o55_the_wait_that_the_provider_asks_for_is_told(step: Step) -> None:
    assert failure(step)[0].retry_seconds == 30


def test_what_retry_after_can_say() -> None:
    now = datetime(2026, 3, 1, 12, tzinfo=UTC)

    def told(text: str) -> int | None:
        return retry_seconds(httpx2.Headers({b"Retry-After": text.encode("latin-1")}), now)

    def date(seconds: float) -> str:
        return email.utils.format_datetime(now + timedelta(seconds=seconds), usegmt=True)

    assert [told("0"), told("1.2"), told(" 90 "), told("-4")] == [1, 2, 90, 1]
    assert [told(date(75)), told(date(-75)), told(date(1e6))] == [75, 1, LONGEST_RETRY_SECONDS]
    assert [told("1" * 400), told("1e999"), told("999999")] == [LONGEST_RETRY_SECONDS] * 3
    assert [told(text) for text in ("", "soon", "nan", "²", "Mon, 99 Foo 2026")] == [None] * 5
    assert retry_seconds(httpx2.Headers(), now) is None


def test_nobody_there() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        url = f"http://127.0.0.1:{listening.getsockname()[1]}/v1"
    with pytest.raises(Waiting) as caught:
        work_with(url, ask)
    assert caught.value.code == "MODEL_UNREACHABLE"
    assert [call.outcome for call in caught.value.calls] == ["MODEL_UNREACHABLE"]


def test_the_deadline_ends_a_call_that_hangs_and_the_next_one_works() -> None:
    async def work(client: ModelClient) -> list[str]:
        return [await outcome(client, 0.2), await outcome(client)]

    with ModelEndpoint(hang(), ANSWER) as endpoint:
        assert work_with(endpoint, work) == ["MODEL_TIMEOUT", "json_schema"]
    assert endpoint.calls == 2


def test_the_clients_own_limit_holds_as_well() -> None:
    with ModelEndpoint(hang()) as endpoint, pytest.raises(Failed) as caught:
        work_with(endpoint, ask, timeout=0.2)
    (call,) = caught.value.calls
    assert caught.value.code == call.outcome == "MODEL_TIMEOUT"


def test_the_deadline_is_one_for_all_bytes_of_an_answer() -> None:
    assert len(drip().body) * DRIP_SECONDS > 2
    error, endpoint = failure(drip(), seconds=0.3)
    assert (error.code, endpoint.calls) == ("MODEL_TIMEOUT", 1)


def test_the_deadline_is_one_for_all_calls_of_an_attempt() -> None:
    error, endpoint = failure(format_refused(), hang(), seconds=0.3)
    assert (error.code, error.outcome, endpoint.calls) == ("MODEL_TIMEOUT", "failed", 2)
    assert [call.outcome for call in error.calls] == ["FORMAT_REFUSED", "MODEL_TIMEOUT"]


@pytest.mark.parametrize(
    ("step", "paid"),
    [
        (hang(), True),
        (dropped_in_body(), True),
        (Step(body=b"{"), True),
        (huge(MOST_BYTES), True),
        (dropped_at_once(), False),
        (server_error(503), False),
        (rate_limited(), False),
        (refusal(400, "No."), False),
    ],
)
def test_a_prompt_is_counted_where_a_model_may_have_read_it(step: Step, paid: bool) -> None:
    error, _endpoint = failure(step, seconds=0.3 if step.manner == "hang" else 10)
    (call,) = error.calls
    characters = sum(len(message["content"]) for message in MESSAGES)
    assert call.prompt_tokens == (-(-characters // 4) if paid else 0)
    assert call.completion_tokens == 0


@pytest.mark.parametrize("seconds", [0, -3])
def test_with_no_time_left_nothing_is_sent(seconds: float) -> None:
    error, endpoint = failure(ANSWER, seconds=seconds)
    assert (error.code, error.calls, endpoint.calls) == ("MODEL_TIMEOUT", (), 0)


def test_a_call_of_a_worker_that_stops_is_cancelled_and_no_time_out() -> None:
    arrived = threading.Event()

    def answer(request: Request) -> Step:
        arrived.set()
        return hang()

    async def work(client: ModelClient) -> None:
        task = asyncio.create_task(ask(client))
        assert await asyncio.to_thread(arrived.wait, 5)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    with ModelEndpoint(answer=answer) as endpoint:
        work_with(endpoint, work)


def test_a_redirect_is_not_followed_with_the_key() -> None:
    with ModelEndpoint(ANSWER) as elsewhere:
        error, endpoint = failure(redirect(elsewhere.url + "/chat/completions"))
    assert (error.code, error.outcome) == ("MODEL_REDIRECTED", "failed")
    assert (endpoint.calls, elsewhere.calls) == (1, 0)


def test_several_completions_at_a_time() -> None:
    async def work(client: ModelClient) -> list[Completion]:
        return await asyncio.gather(*(ask(client) for _ in range(20)))

    with ModelEndpoint(answer=lambda request: ANSWER) as endpoint:
        assert len(work_with(endpoint, work)) == endpoint.calls == 20


def test_completions_under_way_together_step_down_together() -> None:
    async def work(client: ModelClient) -> list[str]:
        return await asyncio.gather(*(outcome(client) for _ in range(8)))

    def json_object_only(request: Request) -> Step:
        return ANSWER if request.format == "json_object" else format_refused()

    with ModelEndpoint(answer=json_object_only) as endpoint:
        assert set(work_with(endpoint, work)) == {"json_object_schema"}


def test_o37_half_a_character_in_a_message_makes_no_broken_request() -> None:
    async def work(client: ModelClient) -> None:
        messages = [{"role": "user", "content": "cut \ud83d"}]
        await client.complete("structured_profile", messages, SCHEMA, 7, 10)

    with ModelEndpoint(ANSWER) as endpoint:
        work_with(endpoint, work)
    assert endpoint.calls == 1


def test_neither_key_nor_facts_nor_the_providers_words_are_kept_or_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG)
    told = f"Cannot process: {SECRET}"
    steps = [format_refused(), refusal(500, told), hang(), dropped_in_body(), Step(200, b"{")]
    seen: list[str] = []

    async def work(client: ModelClient) -> None:
        seen.append(repr(client))
        for _ in range(len(steps) - 1):
            with pytest.raises(ModelError) as caught:
                await ask(client, 0.3)
            error = caught.value
            assert error.__cause__ is None and error.__context__ is None
            seen.append(f"{error!r} {error} {error.__dict__}")

    with ModelEndpoint(*steps) as endpoint:
        work_with(endpoint, work)
    assert endpoint.calls == len(steps)
    for text in [*seen, caplog.text]:
        assert KEY not in text and SECRET not in text and "Invalid parameter" not in text


@pytest.mark.parametrize("url", ["", "example.org/v1", "ftp://example.org", "http://"])
def test_what_is_no_endpoint(url: str) -> None:
    with pytest.raises(ValueError, match="base_url"):
        ModelClient(url, None, "small", 10)


@pytest.mark.parametrize("key", ["two\nlines", "schlüssel", "nul\0"])
def test_a_key_that_no_header_can_carry_is_not_repeated(key: str) -> None:
    with pytest.raises(ValueError, match="api_key") as caught:
        ModelClient("http://example.org", key, "small", 10)
    assert key not in str(caught.value)


def test_from_facts_to_a_profile() -> None:
    """Prompt, endpoint and reading together, by a model that does as it is told."""
    schema = {
        "type": "object",
        "properties": {
            "timezone": {"type": "string", "description": "Zone"},
            "languages": {"type": "array", "items": {"type": "string"}, "description": "Spoken"},
            "age": {"type": "integer", "description": "Years"},
        },
    }
    facts = ["timezone: Europe/Berlin", "Likes tea", "languages: en, de", "timezone: Europe/Rome"]
    sources = [
        {
            "memory_id": f"id-{number}",
            "memory_type": "semantic",
            "value": text,
            "confidence": 0.9,
            "dated": f"2026-03-0{number}T12:00:00.000000Z",
        }
        for number, text in enumerate(facts, 1)
    ]
    prompt = structured_profile_prompt(schema, sources)

    async def work(client: ModelClient) -> Completion:
        shape = answer_schema(schema)
        return await client.complete("structured_profile", prompt.messages, shape, 200, 10)

    with ModelEndpoint(answer=by_the_facts) as endpoint:
        done = work_with(endpoint, work)
    answer = read_answer(done.text, schema, prompt.given)
    assert answer.profile == {"timezone": "Europe/Rome", "languages": ["en", "de"], "age": None}
    assert answer.sources == {"timezone": ["id-4"], "languages": ["id-3"]}


def test_the_settings_of_the_model() -> None:
    plain = Settings.from_environment({})
    assert (plain.model_base_url, plain.model_api_key, plain.model) == (None, None, None)
    assert (plain.model_timeout_seconds, plain.model_daily_token_cap) == (60, None)
    assert plain.llm_max_tokens("structured_profile") == 32
    given = Settings.from_environment(
        {
            "LOOM_MODEL_BASE_URL": "https://models.example/v1",
            "LOOM_MODEL_API_KEY": KEY,
            "LOOM_MODEL": "small",
            "LOOM_MODEL_TIMEOUT_SECONDS": "7.5",
            "LOOM_MODEL_DAILY_TOKEN_CAP": "2000000",
            "LOOM_LLM_MAX_TOKENS_OVERRIDES": "structured_profile=64, profile_consolidation = 900",
        }
    )
    assert (given.model_base_url, given.model) == ("https://models.example/v1", "small")
    assert (given.model_timeout_seconds, given.model_daily_token_cap) == (7.5, 2_000_000)
    assert given.llm_max_tokens_overrides == {
        "structured_profile": 64,
        "profile_consolidation": 900,
    }
    assert given.llm_max_tokens("structured_profile") == 64
    assert given.model_api_key == KEY and KEY not in repr(given)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("LOOM_MODEL_BASE_URL", "models.example/v1"),
        ("LOOM_MODEL_BASE_URL", "ftp://models.example"),
        ("LOOM_MODEL_BASE_URL", "http://"),
        ("LOOM_MODEL_BASE_URL", "http://[::1"),
        ("LOOM_MODEL_BASE_URL", "https://models.example/v1?key=s3cret"),
        ("LOOM_MODEL_API_KEY", "two\nlines"),
        ("LOOM_MODEL_API_KEY", "schlüssel"),
        ("LOOM_MODEL_TIMEOUT_SECONDS", "0"),
        ("LOOM_MODEL_DAILY_TOKEN_CAP", "0"),
        ("LOOM_MODEL_DAILY_TOKEN_CAP", "1e6"),
        ("LOOM_LLM_MAX_TOKENS_OVERRIDES", "structured_profile"),
        ("LOOM_LLM_MAX_TOKENS_OVERRIDES", "structured_profile=0"),
        ("LOOM_LLM_MAX_TOKENS_OVERRIDES", "structured_profile=64,"),
        ("LOOM_LLM_MAX_TOKENS_OVERRIDES", "structured_profile=1,structured_profile=2"),
        ("LOOM_LLM_MAX_TOKENS_OVERRIDES", "something_else=64"),
    ],
)
def test_a_setting_of_the_model_that_cannot_be_read_is_named(name: str, value: str) -> None:
    with pytest.raises(SettingsError, match=f"^{name}: wants ") as refused:
        Settings.from_environment({name: value})
    assert "s3cret" not in str(refused.value)

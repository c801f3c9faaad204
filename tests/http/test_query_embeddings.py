"""Searches whose question the API embeds: what is sent where, and what becomes of failures."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from loom.app import query_embeddings
from tests.calls import Answer, mint_token, operate
from tests.databases import Database
from tests.http.api import Api, Json, running, settings_for_tests
from tests.http.conftest import LogLines
from tests.model_endpoint import (
    ModelEndpoint,
    Step,
    by_the_words,
    embeddings,
    hang,
    rate_limited,
    server_error,
    words_vector,
)
from tests.sql.doors import IDENTITY
from tests.worker.embeddings import DIMENSION, MODEL, Site, manage, model_calls

TEA = "tea in the morning"


@pytest.fixture
def site(database: Database) -> Site:
    """A fact with its vector."""
    own = Site.of(database)
    own.tell("likes", TEA, user="u1")
    own.embed_all()
    return own


@contextmanager
def served(site: Site, endpoint: ModelEndpoint, **settings: Any) -> Iterator[Api]:
    named = {"embedding_base_url": endpoint.url, "embedding_model": MODEL, **settings}
    with running(site.database, settings=settings_for_tests(**named)) as api:
        api.token = mint_token(site.conn, org="acme", role="viewer").text
        yield api


def search(api: Api, query: str = "morning", op: str = "memory.search", **more: Any) -> Json:
    body = {"namespace": IDENTITY["namespace"], "user_id": "u1", "query": query, **more}
    response = api.call(op, body)
    assert response.status_code == 200, response.text
    return dict(response.json())


def vector_leg(answer: Json) -> tuple[bool, str | None]:
    leg = answer["legs"]["vector"]
    return leg["ran"], leg.get("reason")


def outcomes(api: Api) -> dict[str, float]:
    """What the metric has counted."""
    lines = api.get("/metrics").text.splitlines()
    pairs = (line.split('"') for line in lines if line.startswith("loom_query_embeddings_total{"))
    return {outcome: float(rest[2:]) for _, outcome, rest in pairs if float(rest[2:])}


def usage(site: Site) -> list[tuple[str, str, int]]:
    return [call for call in site.calls() if call[0] != "embedding"]


def test_a_question_is_embedded_and_finds_by_its_vector(site: Site) -> None:
    with ModelEndpoint(answer=by_the_words(DIMENSION)) as endpoint, served(site, endpoint) as api:
        answer = search(api)
        assert vector_leg(answer) == (True, None)
        assert answer["items"][0]["legs"]["vector"] == 1
        assert outcomes(api) == {"made": 1}
    assert endpoint.requests[0].body["input"] == ["morning"]
    assert usage(site) == [("query_embedding", "OK", 7)]


@pytest.mark.parametrize("op", ["memory.search", "search.query"])
def test_a_question_without_a_word_in_common_is_found_by_its_vector_alone(
    site: Site, op: str
) -> None:
    alike = embeddings([words_vector(f"likes: {TEA}", DIMENSION)])
    with ModelEndpoint(alike) as endpoint, served(site, endpoint) as api:
        answer = search(api, "Getränk", op)
    (item,) = answer["items" if op == "memory.search" else "memories"]
    assert item["legs"] == {"vector": 1}


def test_a_packed_context_holds_what_its_question_means(site: Site) -> None:
    place = {"namespace": IDENTITY["namespace"], "user_id": "u1"}
    alike = embeddings([words_vector(f"likes: {TEA}", DIMENSION)])
    with ModelEndpoint(alike) as endpoint, served(site, endpoint) as api:
        packed = api.call("context.pack", {**place, "query": "Getränk"})
        assert packed.status_code == 200
        assert TEA in packed.json()["text"]
        plain = api.call("context.pack", place)
        assert TEA not in plain.json()["text"]
    assert [request.body["input"] for request in endpoint.requests] == [["Getränk"]]


def test_a_pack_that_leaves_out_what_is_found_asks_no_model(site: Site) -> None:
    pack = {"namespace": IDENTITY["namespace"], "user_id": "u1", "query": "morning"}
    with ModelEndpoint(answer=by_the_words(DIMENSION)) as endpoint, served(site, endpoint) as api:
        for only in (["profile"], []):
            packed = api.call("context.pack", {**pack, "only_sections": only})
            assert (packed.status_code, "legs" in packed.json()) == (200, False)
        assert endpoint.requests == []
        found = api.call("context.pack", {**pack, "only_sections": ["profile", "memories"]})
        assert vector_leg(found.json()) == (True, None)
    assert len(endpoint.requests) == 1


def test_a_question_that_was_asked_before_is_not_embedded_again(site: Site) -> None:
    with ModelEndpoint(answer=by_the_words(DIMENSION)) as endpoint, served(site, endpoint) as api:
        first = search(api)
        assert search(api)["items"] == first["items"]
        search(api, "morning", "search.query")
        search(api, "Morning")
        assert outcomes(api) == {"made": 2, "kept": 2}
    assert endpoint.calls == 2


def test_the_oldest_questions_are_forgotten(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(query_embeddings, "MOST_KEPT", 2)
    with ModelEndpoint(answer=by_the_words(DIMENSION)) as endpoint, served(site, endpoint) as api:
        for query in ("one", "two", "one", "three", "one", "two"):
            search(api, query)
        assert outcomes(api) == {"made": 4, "kept": 2}
    assert [request.body["input"] for request in endpoint.requests] == [
        ["one"],
        ["two"],
        ["three"],
        ["two"],
    ]


def test_a_vector_that_the_request_brings_is_taken_as_it_is(site: Site) -> None:
    given = {"model": MODEL, "vector": words_vector(TEA, DIMENSION)}
    with ModelEndpoint() as endpoint, served(site, endpoint) as api:
        assert vector_leg(search(api, query_embedding=given)) == (True, None)
        other = {**given, "model": "other"}
        assert vector_leg(search(api, query_embedding=other)) == (False, "other_model")
        assert outcomes(api) == {}
    assert endpoint.calls == 0


def test_null_is_no_vector(site: Site) -> None:
    with ModelEndpoint(answer=by_the_words(DIMENSION)) as endpoint, served(site, endpoint) as api:
        assert vector_leg(search(api, query_embedding=None)) == (True, None)
    assert endpoint.calls == 1


# Failures: never the search's.


@pytest.mark.parametrize(
    "step",
    [
        rate_limited(),
        server_error(500),
        server_error(503),
        embeddings([]),
        embeddings([[0.0] * DIMENSION]),
        Step(body=b"{"),
        hang(),
    ],
)
def test_o55_a_search_goes_by_text_while_the_model_fails(
    site: Site, step: Step, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(query_embeddings, "QUERY_SECONDS", 0.3)
    with ModelEndpoint(step) as endpoint, served(site, endpoint) as api:
        for _ in range(3):
            answer = search(api)
            assert vector_leg(answer) == (False, "no_query_embedding")
            assert [item["memory_key"] for item in answer["items"]] == ["likes"]
        assert outcomes(api) == {"failed": 1, "resting": 2}
    assert endpoint.calls == 1
    assert [purpose for purpose, *_ in usage(site)] == ["query_embedding"]


def test_vectors_of_another_size_than_the_stored_ones_fail_no_search(site: Site) -> None:
    with (
        ModelEndpoint(answer=by_the_words(DIMENSION + 1)) as endpoint,
        served(site, endpoint) as api,
    ):
        for _ in range(3):
            answer = search(api)
            assert vector_leg(answer) == (False, "no_query_embedding")
            assert [item["memory_key"] for item in answer["items"]] == ["likes"]
        assert outcomes(api) == {"made": 1, "resting": 2}


def test_a_vector_of_the_callers_own_that_does_not_fit_is_told(site: Site) -> None:
    given = {"model": MODEL, "vector": [1.0]}
    with ModelEndpoint() as endpoint, served(site, endpoint) as api:
        body = {"namespace": IDENTITY["namespace"], "query": "x", "query_embedding": given}
        response = api.call("memory.search", body)
    assert response.status_code == 400
    assert response.json()["detail"]["field"] == "query_embedding.vector"


def test_without_an_embedding_model_search_goes_by_text(site: Site) -> None:
    with running(site.database) as api:
        api.token = mint_token(site.conn, org="acme", role="viewer").text
        answer = search(api)
        assert vector_leg(answer) == (False, "no_query_embedding")
        assert [item["memory_key"] for item in answer["items"]] == ["likes"]


def test_without_vectors_no_question_leaves(database: Database) -> None:
    """Nor does one on a server without pgvector."""
    conn = database.connect()
    operate(conn, "memory.set", **IDENTITY, user_id="u1", memory_key="likes", value=TEA)
    with ModelEndpoint() as endpoint:
        settings = settings_for_tests(embedding_base_url=endpoint.url, embedding_model=MODEL)
        with running(database, settings=settings) as api:
            api.token = mint_token(conn, org="acme", role="viewer").text
            assert vector_leg(search(api)) == (False, "no_model")
            assert outcomes(api) == {"none": 1}
    assert endpoint.calls == 0


# Who may have a question sent.


def test_where_calls_are_off_no_question_leaves(site: Site) -> None:
    model_calls(site.conn, False)
    with ModelEndpoint() as endpoint, served(site, endpoint) as api:
        assert vector_leg(search(api)) == (False, "no_query_embedding")
        assert outcomes(api) == {"held": 1}
    assert endpoint.calls == 0


def test_at_the_days_cap_no_question_leaves(site: Site) -> None:
    site.conn.execute("select loom.model_daily_token_cap(7)")
    with ModelEndpoint() as endpoint, served(site, endpoint) as api:
        search(api)
        assert outcomes(api) == {"held": 1}
    assert endpoint.calls == 0


@pytest.mark.parametrize(
    ("token", "status"),
    [("", 401), ("loom_" + "0" * 32 + "_" + "0" * 64, 401), ("nothing", 401)],
)
def test_a_caller_without_a_valid_token_costs_no_call(site: Site, token: str, status: int) -> None:
    with ModelEndpoint() as endpoint, served(site, endpoint) as api:
        api.token = None
        response = api.call("memory.search", {"query": "x"}, token=token)
        assert response.status_code == status
    assert endpoint.calls == 0


def test_nor_does_one_who_may_not_read_there(site: Site) -> None:
    with ModelEndpoint() as endpoint, served(site, endpoint) as api:
        bound = mint_token(site.conn, org="acme", role="viewer", namespace="other").text
        body = {"namespace": IDENTITY["namespace"], "query": "x"}
        assert api.call("memory.search", body, token=bound).status_code == 403
    assert endpoint.calls == 0


def test_one_orgs_questions_tell_another_nothing(site: Site) -> None:
    with ModelEndpoint(answer=by_the_words(DIMENSION)) as endpoint, served(site, endpoint) as api:
        search(api)
        place = {"org": "other", "namespace": "n"}
        operate(site.conn, "memory.set", **place, memory_key="likes", value=TEA)
        other = mint_token(site.conn, org="other", role="viewer", namespace="n").text
        assert api.call("memory.search", {"query": "morning"}, token=other).status_code == 200
    assert endpoint.calls == 2


# The request's bytes.


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"[]",
        b"{",
        b'{"query": 5}',
        b'{"query": "x", "unknown": 1}',
        b'{"query": "\\u0000"}',
        b'{"query": "\xff"}',
        b'{"query": ""}',
        b'{"query": null}',
        b"{}",
        json.dumps({"query": "x" * 2001}).encode(),
        b'{"query": "x", "query_embedding": ' + b"[" * 3000 + b"]" * 3000 + b"}",
        b'{"query": "x", "unknown": ' + b"[" * 3000 + b"]" * 3000 + b"}",
    ],
)
def test_a_wrong_request_is_refused_as_without_a_model(site: Site, body: bytes) -> None:
    with ModelEndpoint(answer=by_the_words(DIMENSION)) as endpoint, served(site, endpoint) as api:
        told = api.post("memory.search", body)
    with running(site.database) as plain:
        plain.token = api.token
        wanted = plain.post("memory.search", body)
    assert told.status_code == wanted.status_code >= 400
    left_out = {"request_id"}
    mine, theirs = (
        {name: value for name, value in each.json()["detail"].items() if name not in left_out}
        for each in (told, wanted)
    )
    assert mine == theirs


def test_the_request_stays_as_it_was_but_for_the_vector(site: Site) -> None:
    """Spaces at its end, keys given twice, characters beyond the basic plane."""
    with ModelEndpoint(answer=by_the_words(DIMENSION)) as endpoint, served(site, endpoint) as api:
        space = IDENTITY["namespace"]
        body = (
            f' {{"query": "no", "namespace": "{space}", "user_id": "u1", "query": "mörning 😀"}} \n'
        )
        response = api.post("memory.search", body.encode())
        assert response.status_code == 200, response.text
        assert vector_leg(response.json()) == (True, None)
    assert endpoint.requests[0].body["input"] == ["mörning 😀"]


def test_other_operations_are_not_looked_at(site: Site) -> None:
    with ModelEndpoint() as endpoint, served(site, endpoint) as api:
        api.call("memory.list", {"namespace": IDENTITY["namespace"]})
        item = {"op": "memory.search", "namespace": IDENTITY["namespace"], "query": "morning"}
        response = api.call("batch", {"requests": [item]})
        (result,) = response.json()["results"]
        assert vector_leg(result["result"]) == (False, "no_query_embedding")
    assert endpoint.calls == 0


def test_neither_question_nor_key_is_logged(site: Site, log_lines: LogLines) -> None:
    steps = [server_error(500)]
    with (
        ModelEndpoint(*steps, answer=by_the_words(DIMENSION)) as endpoint,
        served(site, endpoint, embedding_api_key="sk-very-secret") as api,
    ):
        search(api, "a very secret question")
        assert endpoint.requests[0].headers["authorization"] == "Bearer sk-very-secret"
    assert "searches go by text" in log_lines.text
    assert "secret" not in log_lines.text


# A change of models under searches.


def test_o78_no_search_fails_while_the_model_changes(site: Site) -> None:
    for number in range(3):
        site.tell(f"k{number}", f"morning {number}", user="u1")
    site.embed_all()
    seen: list[Answer] = []

    def looked(api: Api) -> Callable[[], object]:
        return lambda: seen.append(search(api))

    with ModelEndpoint(answer=by_the_words(DIMENSION)) as old, served(site, old) as api:
        manage(site.conn, "add", model="next")
        looked(api)()
        site.embed_all(model="next", dimension=3)
        looked(api)()
    with (
        ModelEndpoint(answer=by_the_words(3)) as new,
        served(site, new, embedding_model="next") as api,
    ):
        looked(api)()
    assert [vector_leg(answer) for answer in seen] == [
        (True, None),
        (False, "other_model"),  # until the API has the new model too
        (True, None),
    ]
    assert {len(answer["items"]) for answer in seen} == {4}

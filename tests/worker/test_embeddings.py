"""Vectors by real workers: which texts the model is sent, what is kept of its answers, what comes
of its failures, and the way from one model to the next."""

from __future__ import annotations

import asyncio
import logging
import signal
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from loom.embedding_client import EmbeddingClient
from loom.settings import Settings
from loom.worker import main
from loom.worker.embedding_batch import LEASE_SECONDS, MOST_TEXTS
from loom.worker.handlers.configured import configured
from loom.worker.handlers.embedding import KIND, LONGEST_REST_SECONDS, REST_SECONDS, Embeddings
from loom.worker.main import Worker
from tests.calls import operate
from tests.cli.processes import started
from tests.cli.processes import until as until_now
from tests.databases import Database
from tests.model_endpoint import (
    ModelEndpoint,
    Request,
    Step,
    by_the_words,
    embeddings,
    hang,
    rate_limited,
    refusal,
    server_error,
)
from tests.sql.facts import fact
from tests.worker.embeddings import (
    DIMENSION,
    KEY,
    MODEL,
    Site,
    manage,
    meanwhile,
    model_calls,
    progress,
)
from tests.worker.lost_connections import cut
from tests.worker.test_housekeeping import until
from tests.worker.test_worker import LONG, login


@pytest.fixture
def site(database: Database) -> Site:
    return Site.of(database)


# What is sent and kept.


def test_each_text_is_sent_once_and_has_its_vector(site: Site) -> None:
    for number in range(3):
        site.tell(f"drink_{number}", f"tea number {number}")
    with ModelEndpoint(answer=by_the_words(DIMENSION)) as endpoint:
        assert site.work(endpoint) == 1
        assert site.work(endpoint) == 0
    (request,) = endpoint.requests
    assert sorted(request.body["input"]) == [f"drink {n}: tea number {n}" for n in range(3)]
    assert site.embedded() == ["drink_0", "drink_1", "drink_2"]
    assert site.due() == []
    assert site.calls() == [("embedding", "OK", 7)]


def test_a_backlog_is_worked_off_batch_by_batch_without_a_wait(site: Site) -> None:
    """O56."""
    for number in range(2 * MOST_TEXTS + 1):
        site.tell(f"k{number:03}", f"fact {number}")
    assert site.embed_all() == 3
    assert len(site.embedded()) == 2 * MOST_TEXTS + 1


def test_what_was_only_labelled_is_not_sent_again(site: Site) -> None:
    site.tell("likes", "tea")
    site.embed_all()
    fact(site.conn, "label", user_id="u1", memory_key="likes", tags={"add": ["drink"]})
    with ModelEndpoint() as endpoint:
        assert site.work(endpoint) == 0
    assert endpoint.calls == 0


def test_a_changed_text_loses_its_vector_until_it_has_its_own(site: Site) -> None:
    site.tell("likes", "tea")
    site.embed_all()
    site.tell("likes", "coffee")
    assert site.embedded() == []
    site.embed_all()
    assert site.embedded() == ["likes"]


def test_of_a_batch_what_changed_while_the_model_worked_is_not_kept(site: Site) -> None:
    for key in ("a", "b", "c", "d"):
        site.tell(key, f"old {key}")

    def change() -> None:
        site.tell("b", "new b")
        fact(site.conn, "delete", user_id="u1", memory_key="c")

    with ModelEndpoint(answer=meanwhile(change)) as endpoint:
        assert site.work(endpoint) == 2
    assert endpoint.requests[1].body["input"] == ["b: new b"]
    assert site.embedded() == ["a", "b", "d"]
    row = site.conn.execute("select count(*) from loom.embedding").fetchone()
    assert row == (3,)


def test_vectors_outlive_the_connection_that_is_lost_meanwhile(site: Site) -> None:
    site.tell("likes", "tea")
    with ModelEndpoint(answer=meanwhile(lambda: cut(site.conn))) as endpoint:
        assert site.work(endpoint) == 1
    assert endpoint.calls == 1
    assert site.embedded() == ["likes"]
    assert [call[:2] for call in site.calls()] == [(KIND, "OK")]


def test_o69_nothing_of_an_erased_user_comes_back(site: Site) -> None:
    site.tell("likes", "tea")
    site.tell("likes", "milk", user="u2")

    def erase() -> None:
        operate(site.conn, "erasure.request", org="acme", user_id="u1")

    with ModelEndpoint(answer=meanwhile(erase)) as endpoint:
        site.work(endpoint)
    rows = site.conn.execute("select user_id::text from loom.embedding").fetchall()
    assert rows == [("u2",)]
    assert site.due() == []


def test_what_is_of_high_sensitivity_goes_to_no_provider_and_holds_up_nothing(site: Site) -> None:
    for number in range(MOST_TEXTS):
        site.tell(f"k{number:02}", "secret", sensitivity="high")
    site.clock.advance(seconds=1)
    site.tell("likes", "tea")
    with ModelEndpoint(answer=by_the_words(DIMENSION)) as endpoint:
        assert site.work(endpoint) == 1
    assert [request.body["input"] for request in endpoint.requests] == [["likes: tea"]]
    assert site.due() == []


def test_several_orgs_take_turns_and_no_request_mixes_them(site: Site) -> None:
    site.tell("likes", "tea")
    operate(site.conn, "memory.set", org="other", namespace="n", memory_key="likes", value="milk")
    with ModelEndpoint(answer=by_the_words(DIMENSION)) as endpoint:
        assert site.work(endpoint) == 2
    assert sorted(request.body["input"] for request in endpoint.requests) == [
        ["likes: milk"],
        ["likes: tea"],
    ]


# Failures.


@pytest.mark.parametrize(
    ("step", "outcome", "wait", "rest"),
    [
        (rate_limited("30"), "MODEL_RATE_LIMITED", 30, 30),
        (rate_limited(), "MODEL_RATE_LIMITED", 60, REST_SECONDS),
        (rate_limited("7200"), "MODEL_RATE_LIMITED", 7200, LONGEST_REST_SECONDS),
        (server_error(503), "MODEL_UNAVAILABLE", 60, REST_SECONDS),
        (refusal(402, "Pay."), "MODEL_QUOTA", 60, REST_SECONDS),
        (refusal(401, "No."), "MODEL_AUTH", 300, LONGEST_REST_SECONDS),
        (refusal(404, "No such model."), "MODEL_NOT_FOUND", 300, LONGEST_REST_SECONDS),
    ],
)
def test_o55_a_provider_that_cannot_serve_costs_no_attempt_and_is_left_alone(
    site: Site, step: Step, outcome: str, wait: int, rest: int
) -> None:
    site.tell("likes", "tea")
    with ModelEndpoint(step, answer=by_the_words(DIMENSION)) as endpoint:
        seen = []

        def rested() -> None:
            seen.append((site.due(), site.calls(), endpoint.calls))
            site.clock.advance(seconds=wait)
            site.ticks.now = rest - 1

        assert site.work(endpoint, then=[rested, site.ticks.to(rest)]) == 2
    assert seen == [([("likes", 0, outcome, wait)], [("embedding", outcome, 0)], 1)]
    assert endpoint.calls == 2
    assert site.embedded() == ["likes"]


@pytest.mark.parametrize(
    ("step", "outcome"),
    [
        (server_error(500), "MODEL_ERROR"),
        (refusal(400, "Bad."), "MODEL_ERROR"),
        (embeddings([]), "EMBEDDINGS_MISCOUNTED"),
        (embeddings([[1.0]] * 2), "EMBEDDINGS_MISCOUNTED"),
        (embeddings([[0.0] * DIMENSION]), "EMBEDDINGS_NOT_FINITE"),
        (embeddings([[1e39] * DIMENSION]), "EMBEDDINGS_NOT_FINITE"),
        (Step(body=b'{"data": [{"index": 0, "embedding": [NaN]}]}'), "MODEL_BAD_RESPONSE"),
    ],
)
def test_o79_a_failure_stores_nothing_and_waits_its_backoff(
    site: Site, step: Step, outcome: str
) -> None:
    site.tell("likes", "tea")
    with ModelEndpoint(step, step, answer=by_the_words(DIMENSION)) as endpoint:
        assert site.work(endpoint) == 1
        assert site.due() == [("likes", 1, outcome, 60)]
        site.clock.advance(seconds=60)
        site.work(endpoint)
        assert site.due() == [("likes", 2, outcome, 120)]
        assert site.embedded() == []
        site.clock.advance(seconds=120)
        site.work(endpoint)
    assert site.embedded() == ["likes"]
    assert [call[1] for call in site.calls()] == [outcome, outcome, "OK"]


def test_a_provider_that_hangs_is_given_up_in_time(site: Site) -> None:
    site.tell("likes", "tea")
    with ModelEndpoint(hang()) as endpoint:
        assert site.work(endpoint, timeout=0.3) == 1
    assert site.due() == [("likes", 1, "MODEL_TIMEOUT", 60)]


def test_a_text_that_fails_does_not_spoil_the_others_again(site: Site) -> None:
    for key in ("a", "b", "poison"):
        site.tell(key, f"the {key}")
    embed = by_the_words(DIMENSION)

    def answer(request: Request) -> Step:
        spoiled = any("poison" in text for text in request.body["input"])
        return server_error(500) if spoiled else embed(request)

    with ModelEndpoint(answer=answer) as endpoint:
        site.work(endpoint)
        for _ in range(4):
            site.clock.advance(hours=6)
            site.ticks.now += LONGEST_REST_SECONDS
            site.work(endpoint)
    assert site.embedded() == ["a", "b"]
    assert [key for key, *_ in site.due()] == ["poison"]


def test_vectors_of_another_size_than_the_stored_ones_are_no_texts_fault(site: Site) -> None:
    site.tell("likes", "tea")
    site.embed_all()
    site.tell("eats", "bread")
    with ModelEndpoint(answer=by_the_words(DIMENSION + 1)) as endpoint:
        site.work(endpoint)
    assert site.due() == [("eats", 0, "EMBEDDINGS_OTHER_SIZE", 300)]
    assert site.embedded() == ["likes"]
    assert site.calls()[-1] == ("embedding", "OK", 7)  # it was paid for all the same


def test_a_second_failure_in_a_row_lets_the_model_rest(site: Site) -> None:
    for number in range(3 * MOST_TEXTS):
        site.tell(f"k{number:03}", f"fact {number}")
    with ModelEndpoint(answer=lambda request: server_error(500)) as endpoint:
        assert site.work(endpoint) == 2
    assert endpoint.calls == 2  # a batch takes two requests, but the first one ended it
    assert sum(attempts for _, attempts, _, _ in site.due()) == 2 * MOST_TEXTS


# What stops it, and what wakes it.


def test_an_org_whose_calls_are_off_has_none_made_and_the_others_go_on(site: Site) -> None:
    site.tell("likes", "tea")
    operate(site.conn, "memory.set", org="other", namespace="n", memory_key="k", value="milk")
    model_calls(site.conn, False)
    with ModelEndpoint(answer=by_the_words(DIMENSION)) as endpoint:
        assert site.work(endpoint) == 1
        assert endpoint.requests[0].body["input"] == ["k: milk"]
        model_calls(site.conn, True)
        assert site.work(endpoint) == 1
    assert site.embedded() == ["k", "likes"]


def test_at_the_cap_of_the_day_texts_wait_for_the_next(site: Site) -> None:
    """O53."""
    site.conn.execute("select loom.model_daily_token_cap(7)")
    site.tell("likes", "tea")
    assert site.embed_all() == 1
    site.tell("eats", "bread")
    with ModelEndpoint(answer=by_the_words(DIMENSION)) as endpoint:
        assert site.work(endpoint) == 0
        site.clock.advance(hours=12)
        assert site.work(endpoint) == 1
    assert site.embedded() == ["eats", "likes"]


def test_without_an_embedding_model_a_worker_has_no_such_kind() -> None:
    async def kinds(**settings: str) -> list[str]:
        async with configured(Settings(**settings)) as handlers:  # type: ignore[arg-type]
            return list(handlers)

    assert asyncio.run(kinds()) == []
    with ModelEndpoint() as endpoint:
        named = {"embedding_base_url": endpoint.url, "embedding_model": MODEL}
        assert asyncio.run(kinds(**named)) == [KIND]
    assert endpoint.calls == 0  # O55


def test_a_worker_whose_model_nobody_added_has_nothing_to_do(site: Site) -> None:
    site.tell("likes", "tea")
    with ModelEndpoint() as endpoint:
        assert site.work(endpoint, model="unknown") == 0
    assert endpoint.calls == 0
    assert site.due() == [("likes", 0, None, 0)]


def run(site: Site, endpoint: ModelEndpoint, test: Callable[[Worker], Awaitable[None]]) -> None:
    """Do `test` beside a running worker, then stop it and wait for its end."""

    async def whole() -> None:
        async with EmbeddingClient(endpoint.url, KEY, MODEL, 60) as client:
            own = Worker(
                login(site.database),
                poll_seconds=LONG,
                concurrency=1,
                handlers={KIND: Embeddings(client)},
            )
            task = asyncio.create_task(own.run())
            try:
                async with asyncio.timeout(30):
                    await test(own)
            finally:
                own.stop()
                async with asyncio.timeout(20):
                    await task

    asyncio.run(whole())


def armed(site: Site) -> bool:
    row = site.conn.execute("select armed_until is not null from loom.worker_bell").fetchone()
    assert row is not None
    return bool(row[0])


def test_a_write_rings_for_a_worker_that_sleeps(site: Site) -> None:
    with ModelEndpoint(answer=by_the_words(DIMENSION)) as endpoint:

        async def test(_own: Worker) -> None:
            await until(lambda: armed(site))
            site.tell("likes", "tea")
            await until(lambda: site.embedded() == ["likes"])

        run(site, endpoint, test)
    assert endpoint.calls == 1


def test_o50_a_worker_that_stops_gives_its_texts_back(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(main, "GRACE_SECONDS", 0.1)
    site.tell("likes", "tea")
    with ModelEndpoint(hang()) as endpoint:

        async def test(_own: Worker) -> None:
            await until(lambda: endpoint.calls == 1)

        run(site, endpoint, test)
    assert site.due() == [("likes", 0, "WORKER_STOPPED", 0)]
    assert site.calls() == [("embedding", "CANCELLED", 0)]
    site.embed_all()
    assert site.embedded() == ["likes"]


def test_o51_a_killed_workers_texts_wait_for_the_end_of_its_lease(site: Site) -> None:
    site.tell("likes", "tea")
    with ModelEndpoint(hang(), answer=by_the_words(DIMENSION)) as endpoint:
        env = {
            "LOOM_WORKER_DATABASE_URL": login(site.database),
            "LOOM_EMBEDDING_BASE_URL": endpoint.url,
            "LOOM_EMBEDDING_MODEL": MODEL,
        }
        with started("worker", env=env) as process:
            until_now("the model is asked", lambda: endpoint.calls == 1)
            process.process.send_signal(signal.SIGKILL)
            process.ended()
        assert site.work(endpoint) == 0
        assert site.due() == [("likes", 1, None, LEASE_SECONDS)]
        site.clock.advance(seconds=LEASE_SECONDS)
        assert site.work(endpoint) == 1
    assert site.embedded() == ["likes"]


def test_o47_the_metrics_tell_how_many_texts_wait_and_for_how_long(site: Site) -> None:
    def told() -> dict[str, Any]:
        row = site.conn.execute("select loom.work_metrics() #> '{kinds,embedding}'").fetchone()
        assert row is not None
        return dict(row[0])

    nothing = told()
    assert (nothing["due"], nothing["oldest_due_seconds"], nothing["claims"]) == (0, None, 0)
    site.tell("likes", "tea")
    site.tell("eats", "bread")
    site.clock.advance(seconds=40)
    waiting = told()
    assert (waiting["due"], waiting["oldest_due_seconds"]) == (2, 40)
    model_calls(site.conn, False)
    assert told()["oldest_due_seconds"] is None  # nobody may claim it
    model_calls(site.conn, True)
    seen = []
    with ModelEndpoint(answer=meanwhile(lambda: seen.append(told()))) as endpoint:
        site.work(endpoint)
    assert (seen[0]["under_way"], seen[0]["due"], seen[0]["oldest_due_seconds"]) == (True, 2, None)
    done = told()
    assert (done["due"], done["under_way"], done["claims"]) == (0, False, 2)
    assert done["builds"] == {"stored": 2}


# From one model to the next.


def test_o78_a_new_model_takes_over_when_every_text_has_its_vector(site: Site) -> None:
    """O80: of another size, side by side with the old one's."""
    for number in range(70):
        site.tell(f"k{number:02}", f"fact {number}")
    site.embed_all()
    manage(site.conn, "add", model="next")
    states = []

    def state() -> dict[str, str]:
        return {each["model"]: each["state"] for each in progress(site.conn)["models"]}

    def written() -> None:
        states.append((state(), len(site.embedded())))
        site.tell("new", "written meanwhile")

    with ModelEndpoint(answer=meanwhile(written, DIMENSION * 3)) as endpoint:
        assert site.work(endpoint, model="next") == 2
    assert states == [({MODEL: "active", "next": "building"}, 70)]
    assert state() == {MODEL: "retired", "next": "active"}
    assert len(site.embedded("next")) == 71
    assert len(site.embedded(MODEL)) == 70
    sizes = site.conn.execute(
        "select model::text, dimension from loom.embedding_model order by 1"
    ).fetchall()
    assert sizes == [(MODEL, DIMENSION), ("next", 3 * DIMENSION)]


def test_a_change_of_models_goes_on_where_it_was_broken_off(site: Site) -> None:
    for number in range(3 * MOST_TEXTS):
        site.tell(f"k{number:03}", f"fact {number}")
    site.embed_all()
    manage(site.conn, "add", model="next")
    batch = embeddings([[1.0] * 24] * 32)
    with ModelEndpoint(batch, batch, rate_limited("60")) as endpoint:
        assert site.work(endpoint, model="next") == 2
    assert len(site.embedded("next")) == MOST_TEXTS
    site.clock.advance(seconds=60)
    with ModelEndpoint(answer=by_the_words(24)) as endpoint:
        assert site.work(endpoint, model="next") == 2
    assert endpoint.calls == 4  # nothing that has its vector is sent again
    assert len(site.embedded("next")) == 3 * MOST_TEXTS


def test_while_models_change_the_old_one_is_kept_current_by_its_own_worker(site: Site) -> None:
    site.tell("likes", "tea")
    site.embed_all()
    manage(site.conn, "add", model="next")
    site.tell("likes", "coffee")
    site.embed_all()
    assert (site.embedded(), site.embedded("next")) == (["likes"], [])
    site.embed_all(model="next", dimension=3)
    assert site.embedded("next") == ["likes"]


def test_texts_that_were_there_before_the_first_model_get_their_vectors(database: Database) -> None:
    site = Site.of(database, model=None)
    site.tell("likes", "tea")
    manage(site.conn, "add", model=MODEL)
    assert site.embed_all() == 1
    assert site.embedded() == ["likes"]
    (model,) = progress(site.conn)["models"]
    assert (model["state"], model["dimension"]) == ("active", DIMENSION)


def test_neither_texts_nor_key_are_logged(site: Site, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    site.tell("likes", "a very secret tea")
    with ModelEndpoint(refusal(400, "no a very secret tea"), answer=by_the_words(8)) as endpoint:
        site.work(endpoint)
        site.clock.advance(seconds=60)
        site.work(endpoint)
    assert site.embedded() == ["likes"]
    assert "secret" not in caplog.text and KEY not in caplog.text
    assert {record.message for record in caplog.records} >= {"texts embedded", "texts not embedded"}

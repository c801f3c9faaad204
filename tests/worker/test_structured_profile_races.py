"""What happens to a user while the model thinks about it: nothing wrong is written, the status is
right, and what was paid for is recorded."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Any

import pytest

from loom.worker import main
from loom.worker.model import ModelClient
from tests.calls import operate
from tests.databases import Database
from tests.model_endpoint import ModelEndpoint, Request, Step, by_the_facts, hang
from tests.sql.erasure.rows_of import erase, rows_of
from tests.sql.facts import fact
from tests.sql.structured_profile.building import NAME, build_row, served, set_schema
from tests.worker.profiles import KEY, MODEL, NULLS, PROPERTIES, Site, leases, meanwhile, worker
from tests.worker.test_housekeeping import until

PASS_SECONDS = 600
"""By then a lease is over, and the pass in which it was given, so that another takes users."""

ROW = {"user_id": "u1", "memory_key": "structured_profile", "agent": "-"}


@pytest.fixture
def site(database: Database) -> Site:
    return Site.of(database)


def build_while(site: Site, change: Callable[[], object]) -> ModelEndpoint:
    """One build, during which something changes."""
    with ModelEndpoint(answer=meanwhile(change)) as endpoint:
        site.work(endpoint)
    return endpoint


def test_o13_a_fact_deleted_meanwhile_is_not_in_the_profile(site: Site) -> None:
    site.tell("name", "Ada")
    site.tell("plan", "pro")
    endpoint = build_while(site, lambda: site.forget("plan"))
    # Nothing of the first answer was written; a deletion is built at once.
    answer = served(site.conn)
    assert (answer["status"], answer["version"]) == ("ready", 1)
    assert answer["profile"] == {**NULLS, "name": "Ada"}
    assert (endpoint.calls, site.calls()) == (2, [("u1", "OK")] * 2)


def test_o13_a_fact_edited_meanwhile_is_read_anew_after_the_cooldown(site: Site) -> None:
    before = site.build_first()
    endpoint = build_while(site, lambda: site.tell("name", "Eve"))
    answer, explained = served(site.conn), site.explained()
    assert (answer["status"], answer["version"]) == ("stale", before["version"])
    assert answer["profile"] == before["profile"]
    assert (explained["last_error"], explained["attempts"]) == ("SOURCES_CHANGED", 0)
    assert endpoint.calls == 1
    site.clock.advance(seconds=600)
    with ModelEndpoint(answer=by_the_facts) as endpoint:
        assert site.work(endpoint) == 1
    assert served(site.conn)["profile"]["name"] == "Eve"
    assert len(site.calls()) == 3


def test_o70_a_user_erased_meanwhile_gets_nothing_back(site: Site) -> None:
    site.build_first()
    site.tell("name", "Eve", user="u2")
    site.clock.advance(hours=1)
    endpoint = build_while(site, lambda: erase(site.conn, "u1"))
    assert endpoint.calls == 2
    answer = served(site.conn)
    assert (answer["status"], answer["profile"], answer["version"]) == ("ready", NULLS, None)
    assert build_row(site.conn) == {}
    assert set(rows_of(site.conn, "u1").values()) <= {0}
    # The call is counted, but not for whom it was.
    assert sorted(site.calls()) == [("-", "OK"), ("u2", "OK")]
    spent = site.conn.execute("select sum(calls) from loom.model_day").fetchone()
    assert spent == (3,)


def test_o26_another_schema_meanwhile_is_built_under_it(site: Site) -> None:
    site.build_first()
    endpoint = build_while(site, lambda: set_schema(site.conn, NAME))
    assert endpoint.calls == 2
    answer = served(site.conn)
    assert (answer["status"], answer["profile"]) == ("ready", {"name": "Ada"})
    assert answer["version"] == 2
    assert [outcome for _user, outcome in site.calls()] == ["OK"] * 3


def test_a_schema_cleared_meanwhile_writes_nothing(site: Site) -> None:
    site.build_first()
    build_while(site, lambda: set_schema(site.conn, None))
    assert served(site.conn)["status"] == "no_schema"
    set_schema(site.conn, PROPERTIES)
    assert served(site.conn)["profile"]["name"] == "Sam"


@pytest.mark.parametrize(
    ("verb", "more", "refused"),
    [("pin", {}, "PINNED_CONFLICT"), ("lock", {"reason": "mine"}, "LOCKED")],
)
def test_o31_a_row_held_meanwhile_is_left_as_it_is(
    site: Site, verb: str, more: dict[str, Any], refused: str
) -> None:
    before = site.build_first()
    endpoint = build_while(site, lambda: fact(site.conn, verb, **ROW, **more))
    answer, explained = served(site.conn), site.explained()
    assert (answer["status"], answer["profile"]) == ("stale", before["profile"])
    assert (explained["refused"], explained["attempts"]) == (refused, 0)
    assert endpoint.calls == 1
    assert [outcome for _user, outcome in site.calls()] == ["OK", "OK"]


def test_a_row_labelled_high_meanwhile_is_left_as_it_is(site: Site) -> None:
    site.build_first()
    endpoint = build_while(site, lambda: fact(site.conn, "label", **ROW, sensitivity="high"))
    answer, explained = served(site.conn), site.explained()
    assert (answer["status"], answer["profile"]) == ("pending", NULLS)
    assert (explained["refused"], endpoint.calls) == ("HIGH_SENSITIVITY", 1)


def test_model_calls_switched_off_meanwhile_write_nothing(site: Site) -> None:
    before = site.build_first()

    def switch(enabled: bool) -> None:
        operate(site.conn, "org.set_model_calls", org="acme", enabled=enabled)

    endpoint = build_while(site, lambda: switch(False))
    answer, explained = served(site.conn), site.explained()
    assert (answer["status"], answer["profile"]) == ("stale", before["profile"])
    assert (explained["last_error"], explained["attempts"]) == ("MODEL_CALLS_OFF", 0)
    assert endpoint.calls == 1
    assert [outcome for _user, outcome in site.calls()] == ["OK", "OK"]
    site.clock.advance(hours=1)
    with ModelEndpoint(answer=by_the_facts) as endpoint:
        assert site.work(endpoint) == 0
        switch(True)
        assert (site.work(endpoint), endpoint.calls) == (1, 1)
    assert served(site.conn)["status"] == "ready"


def test_a_lease_that_ran_out_meanwhile_writes_nothing(site: Site) -> None:
    before = site.build_first()
    endpoint = build_while(site, lambda: site.clock.advance(seconds=301))
    assert endpoint.calls == 1
    assert served(site.conn)["version"] == before["version"]
    assert site.calls() == [("u1", "OK"), ("-", "OK")]
    site.clock.advance(seconds=PASS_SECONDS)
    with ModelEndpoint(answer=by_the_facts) as endpoint:
        assert site.work(endpoint) == 1
    assert served(site.conn)["version"] == before["version"] + 1
    assert site.explained()["attempts"] == 0


def test_a_worker_that_stops_gives_its_user_back_although_the_model_thinks(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(main, "GRACE_SECONDS", 0.1)
    site.tell("name", "Ada")

    async def whole(endpoint: ModelEndpoint) -> None:
        async with ModelClient(endpoint.url, KEY, MODEL, 3600) as model:
            own = worker(site.database, model)
            task = asyncio.create_task(own.run())
            await until(lambda: endpoint.calls == 1)
            assert leases(site.conn) == 1
            own.stop()
            async with asyncio.timeout(10):
                await task

    with ModelEndpoint(hang(), answer=by_the_facts) as endpoint:
        asyncio.run(whole(endpoint))
        assert leases(site.conn) == 0
        explained = site.explained()
        assert (explained["attempts"], explained["last_error"]) == (0, None)
        assert site.calls() == [("u1", "CANCELLED")]
        # Due at once, for another worker.
        assert site.work(endpoint) == 1
    assert served(site.conn)["status"] == "ready"


def test_one_look_that_is_stopped_gives_its_user_back(site: Site) -> None:
    site.tell("name", "Ada")

    async def whole(endpoint: ModelEndpoint) -> int:
        async with ModelClient(endpoint.url, KEY, MODEL, 3600) as model:
            own = worker(site.database, model)
            task = asyncio.create_task(own.once())
            await until(lambda: endpoint.calls == 1)
            own.stop()
            async with asyncio.timeout(10):
                return await task

    with ModelEndpoint(hang()) as endpoint:
        assert asyncio.run(whole(endpoint)) == 0
    assert (leases(site.conn), site.explained()["attempts"]) == (0, 0)


def test_a_lost_connection_leaves_the_lease_to_run_out(
    site: Site, caplog: pytest.LogCaptureFixture
) -> None:
    site.tell("name", "Ada")

    def cut() -> None:
        site.conn.execute(
            "select pg_terminate_backend(pid, 5000) from pg_stat_activity"
            " where datname = current_database() and usename = 'loom_worker'"
        )

    with caplog.at_level(logging.WARNING, "loom.worker"):
        build_while(site, cut)
    assert [record.message for record in caplog.records] == [
        "a build failed",
        "a piece of work failed",
    ]
    assert served(site.conn)["status"] == "pending"
    assert site.explained()["attempts"] == 1
    site.clock.advance(seconds=PASS_SECONDS)
    with ModelEndpoint(answer=by_the_facts) as endpoint:
        assert site.work(endpoint) == 1
    assert served(site.conn)["status"] == "ready"


def test_a_held_lock_is_waited_for_before_an_answer_is_given_up(site: Site) -> None:
    """The completion is tried again: what was paid for is worth it."""
    site.tell("name", "Ada")
    site.conn.execute("alter role loom_worker set lock_timeout = '100ms'")
    holder = site.database.connect()

    async def whole(endpoint: ModelEndpoint) -> None:
        async with ModelClient(endpoint.url, KEY, MODEL, 10) as model:
            await worker(site.database, model).once()

    def hold_and_let_go(request: Request) -> Step:
        holder.execute("begin; select from loom.user_state where user_id = 'u1' for update")
        asyncio.get_running_loop().call_later(0.15, holder.execute, "commit")
        return by_the_facts(request)

    try:
        with ModelEndpoint(answer=hold_and_let_go) as endpoint:
            asyncio.run(whole(endpoint))
    finally:
        site.conn.execute("alter role loom_worker set lock_timeout = '5s'")
    assert served(site.conn)["status"] == "ready"
    assert endpoint.calls == 1

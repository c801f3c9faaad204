"""What happens to a user while the model thinks about it: nothing wrong is written, the status is
right, and what was paid for is recorded."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Any

import psycopg
import pytest

from loom.model_client import ModelClient
from loom.worker import lasting_connection, main
from loom.worker.handlers import Connection
from loom.worker.handlers.structured_profile import KIND
from loom.worker.leases import Lease
from loom.worker.statements import TRIES
from tests.calls import operate
from tests.databases import Database
from tests.model_endpoint import ModelEndpoint, Request, Step, by_the_facts, hang, server_error
from tests.sql.erasure.rows_of import erase, rows_of
from tests.sql.facts import fact
from tests.sql.structured_profile.building import NAME, build_row, served, set_schema
from tests.worker.lost_connections import cut, lost_after
from tests.worker.profiles import KEY, MODEL, NULLS, PROPERTIES, Site, leases, meanwhile, worker
from tests.worker.test_housekeeping import until
from tests.worker.test_worker import login

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
        spent = site.conn.execute("select prompt_tokens, completion_tokens from loom.model_usage")
        characters = sum(len(each["content"]) for each in endpoint.requests[0].body["messages"])
        assert spent.fetchall() == [(-(-characters // 4), 0)]
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


def test_an_answer_outlives_the_connection_that_is_lost_meanwhile(
    site: Site, caplog: pytest.LogCaptureFixture
) -> None:
    """Once a model has been paid, another connection writes what it said; and the lane goes on."""
    site.tell("name", "Ada")
    site.tell("name", "Sam", user="u2")
    with caplog.at_level(logging.WARNING, "loom.worker"):
        endpoint = build_while(site, lambda: cut(site.conn))
    assert [record.message for record in caplog.records] == [
        "connection lost during a piece of work"
    ]
    assert endpoint.calls == 2
    assert sorted(site.calls()) == [("u1", "OK"), ("u2", "OK")]
    for user, name in (("u1", "Ada"), ("u2", "Sam")):
        answer = served(site.conn, user)
        assert (answer["status"], answer["profile"]["name"]) == ("ready", name)
        assert (answer["version"], site.explained(user)["attempts"]) == (1, 0)
    assert leases(site.conn) == 0


def test_a_failure_of_the_model_is_told_although_the_connection_is_lost_meanwhile(
    site: Site,
) -> None:
    site.tell("name", "Ada")

    def answer(request: Request) -> Step:
        cut(site.conn)
        return server_error()

    with ModelEndpoint(answer=answer) as endpoint:
        assert site.work(endpoint) == 1
    assert endpoint.calls == 1
    assert site.calls() == [("u1", "MODEL_ERROR")]
    assert site.explained()["last_error"] == "MODEL_ERROR"
    assert leases(site.conn) == 0


def test_a_connection_lost_after_the_commit_writes_nothing_twice(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    site.tell("name", "Ada")
    sent = lost_after(monkeypatch, site.conn, b"work_complete")
    with ModelEndpoint(answer=by_the_facts) as endpoint:
        assert site.work(endpoint) == 1
    assert (len(sent), endpoint.calls) == (2, 1)
    answer = served(site.conn)
    assert (answer["status"], answer["profile"]["name"], answer["version"]) == ("ready", "Ada", 1)
    assert site.explained()["attempts"] == 0


def with_a_lost_connection(site: Site, work: Callable[[Lease], Awaitable[None]]) -> None:
    """Do something with a lease whose facts were read, and whose connection was lost then."""

    async def whole() -> None:
        connection = await psycopg.AsyncConnection.connect(login(site.database), autocommit=True)
        lease = await Lease.claim(connection, KIND)
        assert lease is not None
        await lease.read()
        cut(site.conn)
        try:
            await work(lease)
        finally:
            await lease.close()
            await connection.close()

    asyncio.run(whole())


def test_the_connection_in_its_place_is_made_with_the_same(site: Site) -> None:
    async def whole() -> None:
        lost = await psycopg.AsyncConnection.connect(
            login(site.database), autocommit=True, application_name="loom work", password="told"
        )
        cut(site.conn)
        with pytest.raises(psycopg.OperationalError):
            await lost.execute("select 1")
        assert lost.closed
        connection = await lasting_connection.another(lost)
        assert connection.info.get_parameters() == lost.info.get_parameters()
        assert (connection.info.password, connection.autocommit) == ("told", True)
        await connection.close()
        await lost.close()

    asyncio.run(whole())


def test_a_database_that_is_away_is_waited_for_while_the_lease_lives(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    site.tell("name", "Ada")
    tries = 0
    another = lasting_connection.another

    async def back_at_the_third(lost: Connection) -> Connection:
        nonlocal tries
        tries += 1
        if tries < 3:
            raise psycopg.OperationalError("the database system is starting up")
        return await another(lost)

    async def work(lease: Lease) -> None:
        assert (await lease.complete({"name": "Ada"}))["outcome"] == "written"

    monkeypatch.setattr(lasting_connection, "another", back_at_the_third)
    monkeypatch.setattr(lasting_connection, "FIRST_WAIT", 0.001)
    with_a_lost_connection(site, work)
    assert tries == 3
    assert served(site.conn)["status"] == "ready"


def test_a_database_that_stays_away_is_given_up_with_the_lease(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    site.tell("name", "Ada")
    tries = 0

    async def away(lost: Connection) -> Connection:
        nonlocal tries
        tries += 1
        lease_lives[0] -= 100  # each try takes so long
        raise psycopg.OperationalError("the database system is starting up")

    lease_lives = [250.0]

    async def work(lease: Lease) -> None:
        monkeypatch.setattr(lease.connection, "_seconds_left", lambda: lease_lives[0])
        with pytest.raises(psycopg.OperationalError, match="starting up"):
            await lease.complete({"name": "Ada"})

    monkeypatch.setattr(lasting_connection, "another", away)
    monkeypatch.setattr(lasting_connection, "FIRST_WAIT", 0.001)
    with_a_lost_connection(site, work)
    assert tries == 3
    assert served(site.conn)["status"] == "pending"


def test_a_statement_that_ends_its_connection_is_not_sent_for_ever(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    site.tell("name", "Ada")
    sent = 0
    execute = psycopg.AsyncConnection.execute

    async def deadly(self: Any, statement: Any, *arguments: Any) -> Any:
        nonlocal sent
        if b"work_complete" in statement:
            sent += 1
            cut(site.conn)
        return await execute(self, statement, *arguments)

    async def work(lease: Lease) -> None:
        with pytest.raises(psycopg.OperationalError):
            await lease.complete({"name": "Ada"})

    monkeypatch.setattr(psycopg.AsyncConnection, "execute", deadly)
    with_a_lost_connection(site, work)
    assert sent == TRIES


def test_before_anything_was_read_a_lost_connection_is_only_a_failure(site: Site) -> None:
    """Nothing has been paid for, so the lease runs out, or another worker takes the user then."""
    site.tell("name", "Ada")

    async def whole() -> None:
        connection = await psycopg.AsyncConnection.connect(login(site.database), autocommit=True)
        lease = await Lease.claim(connection, KIND)
        assert lease is not None
        cut(site.conn)
        with pytest.raises(psycopg.OperationalError):
            await lease.read()
        await connection.close()

    asyncio.run(whole())
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

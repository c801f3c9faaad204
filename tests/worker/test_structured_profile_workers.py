"""Structured profiles by running workers: beside each other, woken, killed, restarted, and what a
day of them costs."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any
from uuid import UUID

import pytest

from loom import Agent
from loom.client import Client
from loom.model_client import ModelClient
from loom.retry import RetryPolicy
from loom.worker import listener, main
from loom.worker.listener import Listener
from loom.worker.main import Worker
from tests.cli.processes import Up, loom, started
from tests.cli.processes import until as until_now
from tests.databases import Database
from tests.embedded.folders import public_parent, temporary
from tests.model_endpoint import ModelEndpoint, Request, Step, by_the_facts, facts_of, hang
from tests.sql.facts import NOON, fact
from tests.sql.structured_profile.building import (
    NAME,
    people,
    served,
    set_schema,
    settings,
    status,
)
from tests.worker.profiles import KEY, MODEL, Site, leases, worker
from tests.worker.test_housekeeping import until
from tests.worker.test_structured_profile_races import PASS_SECONDS
from tests.worker.test_worker import LONG, login

USERS = 500
COOLDOWN = timedelta(seconds=600)


@pytest.fixture
def site(database: Database) -> Site:
    return Site.of(database)


def armed(site: Site) -> bool:
    row = site.conn.execute("select armed_until is not null from loom.worker_bell").fetchone()
    assert row is not None
    return bool(row[0])


def run(
    site: Site,
    endpoint: ModelEndpoint,
    test: Callable[[Worker], Awaitable[None]],
    *,
    concurrency: int = 1,
    poll_seconds: float = LONG,
) -> None:
    """Do `test` beside a running worker, then stop it and wait for its end."""

    async def whole() -> None:
        async with ModelClient(endpoint.url, KEY, MODEL, 60) as model:
            own = worker(site.database, model, concurrency=concurrency, poll_seconds=poll_seconds)
            task = asyncio.create_task(own.run())
            try:
                async with asyncio.timeout(30):
                    await test(own)
            finally:
                own.stop()
                async with asyncio.timeout(20):
                    await task

    asyncio.run(whole())


# Beside each other.


def test_eight_workers_call_once_for_each_of_500_users(site: Site) -> None:
    """O56: pass after pass, without a wait between them."""
    set_schema(site.conn, NAME)
    people(site.conn, USERS)
    with ModelEndpoint(answer=by_the_facts) as endpoint:
        assert site.work(endpoint, workers=8) == USERS
    said = Counter(facts_of(request)[0]["fact"] for request in endpoint.requests)
    assert said == Counter(f"tea {n}" for n in range(1, USERS + 1))
    assert Counter(site.calls()) == Counter((f"u{n:04}", "OK") for n in range(1, USERS + 1))
    row = site.conn.execute("select count(*) from loom.build where built_at is not null").fetchone()
    assert row == (USERS,)


def test_o56_a_budget_that_is_spent_makes_room_for_the_next_pass_at_once(site: Site) -> None:
    settings(site.conn, max_users_per_pass=2)
    people(site.conn, 7)
    with ModelEndpoint(answer=by_the_facts) as endpoint:
        assert site.work(endpoint) == 7
    assert endpoint.calls == 7


def test_while_one_lane_waits_for_the_model_another_takes_what_falls_due(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(main, "GRACE_SECONDS", 0.1)
    site.tell("name", "Ada")
    with ModelEndpoint(hang(), answer=by_the_facts) as endpoint:

        async def test(own: Worker) -> None:
            await until(lambda: endpoint.calls == 1 and armed(site))
            site.tell("name", "Sam", user="u2")
            await until(lambda: status(site.conn, "u2") == "ready")
            assert leases(site.conn) == 1
            own.stop()

        run(site, endpoint, test, concurrency=2)


# Woken.


def test_a_write_that_makes_work_due_rings_for_a_worker_that_sleeps(site: Site) -> None:
    with ModelEndpoint(answer=by_the_facts) as endpoint:

        async def test(_own: Worker) -> None:
            for number in range(3):
                await until(lambda: armed(site))
                site.tell("name", "Ada", user=f"u{number}")
                await until(lambda: status(site.conn, f"u{number}") == "ready")  # noqa: B023

        run(site, endpoint, test)
    assert not armed(site)
    assert endpoint.calls == 3


def test_a_worker_that_is_stopped_while_it_arms_the_bell_disarms_it(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_bell = Listener.set_bell

    async def unheard(self: Listener, wanted: bool) -> None:
        await set_bell(self, wanted)
        if wanted:
            await asyncio.Event().wait()

    monkeypatch.setattr(Listener, "set_bell", unheard)
    with ModelEndpoint(answer=by_the_facts) as endpoint:

        async def test(_own: Worker) -> None:
            await until(lambda: armed(site))

        run(site, endpoint, test)
    assert not armed(site)


def test_o46_without_any_notification_the_poll_finds_what_falls_due(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def set_bell(self: Listener, wanted: bool) -> None:
        pass

    monkeypatch.setattr(Listener, "set_bell", set_bell)
    with ModelEndpoint(answer=by_the_facts) as endpoint:

        async def test(_own: Worker) -> None:
            for number in range(3):
                site.tell("name", "Ada", user=f"u{number}")
                await until(lambda: status(site.conn, f"u{number}") == "ready")  # noqa: B023

        run(site, endpoint, test, poll_seconds=0.05)
    assert not armed(site)
    assert endpoint.calls == 3


def test_o46_what_fell_due_while_no_worker_ran_is_built_when_one_starts(site: Site) -> None:
    people(site.conn, 7)
    site.clock.advance(days=1)
    with ModelEndpoint(answer=by_the_facts) as endpoint:

        async def test(_own: Worker) -> None:
            await until(lambda: endpoint.calls == 7 and leases(site.conn) == 0)

        run(site, endpoint, test)  # it polls once an hour
    assert [outcome for _user, outcome in site.calls()] == ["OK"] * 7
    assert status(site.conn, "u0007") == "ready"


def test_the_bell_is_not_armed_while_every_lane_is_busy(site: Site) -> None:
    site.tell("name", "Ada")
    seen: list[bool] = []

    def answer(request: Request) -> Step:
        seen.append(armed(site))
        return by_the_facts(request)

    with ModelEndpoint(answer=answer) as endpoint:

        async def test(_own: Worker) -> None:
            await until(lambda: status(site.conn) == "ready")
            await until(lambda: armed(site))

        run(site, endpoint, test)
    assert seen == [False]


def test_a_worker_without_a_model_has_nobody_ring(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[object] = []
    beat = Listener.beat

    async def counted(self: Listener, worker_id: UUID) -> None:
        told.append(worker_id)
        await beat(self, worker_id)

    async def set_bell(self: Listener, wanted: bool) -> None:
        told.append(wanted)

    monkeypatch.setattr(Listener, "beat", counted)
    monkeypatch.setattr(Listener, "set_bell", set_bell)

    async def whole() -> None:
        own = Worker(login(site.database), poll_seconds=0.05, concurrency=1, handlers={})
        task = asyncio.create_task(own.run())
        await until(lambda: len(told) > 3)
        own.stop()
        await task
        assert set(told) == {own.worker_id}

    asyncio.run(whole())


def test_o65_where_notifications_are_swallowed_it_says_so_and_polls(
    site: Site, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    # As a pooler does that gives each statement another session.
    monkeypatch.setattr(listener, "_LISTEN", "select 'listen loom_work'")
    monkeypatch.setattr(listener, "ECHO_SECONDS", 0.2)
    bells: list[bool] = []

    async def set_bell(self: Listener, wanted: bool) -> None:
        bells.append(wanted)

    monkeypatch.setattr(Listener, "set_bell", set_bell)
    with ModelEndpoint(answer=by_the_facts) as endpoint:

        async def test(_own: Worker) -> None:
            for number in range(3):
                site.tell("name", "Ada", user=f"u{number}")
                await until(lambda: status(site.conn, f"u{number}") == "ready")  # noqa: B023

        with caplog.at_level(logging.WARNING, "loom.worker"):
            run(site, endpoint, test, poll_seconds=0.05)
    assert [record.message for record in caplog.records] == [
        "notifications do not arrive; work is found by polling"
    ]
    assert (bells, endpoint.calls) == ([], 3)


# As processes.


@pytest.fixture
def env(site: Site) -> Iterator[dict[str, str]]:
    """What a worker's process needs, but the endpoint."""
    yield {
        "LOOM_WORKER_DATABASE_URL": login(site.database),
        "LOOM_MODEL": MODEL,
        "LOOM_MODEL_API_KEY": KEY,
    }


def test_loom_worker_once_does_what_is_due_and_ends(site: Site, env: dict[str, str]) -> None:
    people(site.conn, 3)
    with ModelEndpoint(answer=by_the_facts) as endpoint:
        done = loom("worker", "--once", env={**env, "LOOM_MODEL_BASE_URL": endpoint.url})
        assert (done.code, done.out) == (0, "pieces of work done: 3\n")
    assert endpoint.calls == 3
    assert endpoint.requests[0].headers["authorization"] == f"Bearer {KEY}"
    assert endpoint.requests[0].body["model"] == MODEL
    assert leases(site.conn) == 0
    assert KEY not in done.err
    del env["LOOM_MODEL"]
    people(site.conn, 1, prefix="v")
    done = loom("worker", "--once", env=env)
    assert (done.code, done.out) == (0, "pieces of work done: 0\n")
    assert done.err.count("no model is configured") == 1
    assert status(site.conn, "v0001") == "pending"


def test_o51_a_killed_workers_user_is_built_by_another_when_the_lease_is_over(
    site: Site, env: dict[str, str]
) -> None:
    site.tell("name", "Ada")
    with ModelEndpoint(hang(), answer=by_the_facts) as endpoint:
        with started("worker", env={**env, "LOOM_MODEL_BASE_URL": endpoint.url}) as process:
            until_now("the model is asked", lambda: endpoint.calls == 1)
            process.process.send_signal(signal.SIGKILL)
            process.ended()
        explained = site.explained()
        assert (leases(site.conn), explained["attempts"]) == (1, 1)
        site.clock.advance(seconds=299)
        assert site.work(endpoint) == 0
        site.clock.advance(seconds=PASS_SECONDS)
        assert site.work(endpoint) == 1
    assert endpoint.calls == 2
    assert (status(site.conn), site.explained()["attempts"]) == ("ready", 0)


@pytest.mark.slow
def test_a_worker_that_is_told_to_stop_gives_its_user_back_in_time(
    site: Site, env: dict[str, str]
) -> None:
    """Within the 15 seconds after which `loom up` would kill it."""
    site.tell("name", "Ada")
    endpoint = ModelEndpoint(hang())
    with endpoint, started("worker", env={**env, "LOOM_MODEL_BASE_URL": endpoint.url}) as process:
        until_now("the model is asked", lambda: endpoint.calls == 1)
        process.process.send_signal(signal.SIGTERM)
        assert process.process.wait(15) == 0
    assert (leases(site.conn), site.explained()["attempts"]) == (0, 0)
    assert site.calls() == [("u1", "CANCELLED")]


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks into /proc")
def test_o57_a_restarted_postgresql_is_worked_on_again() -> None:
    """Under `loom up`, which starts it anew: what fell due is built, woken or by the next poll."""

    async def tell(url: str, user: str) -> None:
        retry = RetryPolicy(tries=200, first_wait=0.05, longest_wait=0.2)
        client = Client(url, retry=retry, timeout=60)
        async with Agent(org="acme", namespace="support", agent="chat", client=client) as bot:
            if user == "before":
                schema = {"type": "object", "properties": NAME}
                await bot.client.profile_schema.set({"json_schema": schema})
            await bot.memory.set("name", "Ada", user_id=user)
            async with asyncio.timeout(30):
                while True:
                    answer = await bot.client.profile.structured({"user_id": user})
                    if answer["status"] == "ready":
                        break
                    await asyncio.sleep(0.05)
        assert answer["profile"] == {"name": "Ada"}

    with (
        ModelEndpoint(answer=by_the_facts) as endpoint,
        temporary(public_parent(), 0o755) as folder,
    ):
        up = Up(folder / "loom", LOOM_MODEL_BASE_URL=endpoint.url, LOOM_MODEL=MODEL)
        try:
            up.ready()
            asyncio.run(tell(up.url, "before"))
            old = up.child("worker")
            os.kill(up.postmaster(), signal.SIGKILL)
            asyncio.run(tell(up.url, "after"))
            assert up.child("worker") == old  # it did not need to be started again
        finally:
            up.kill()
    assert endpoint.calls == 2


# A day.


@dataclass
class Reckoning:
    """What the rules ask of a user: a build when its facts are others than those last built from,
    once the cooldown is over, or at once when there are fewer and the last one did not hurry so."""

    facts: dict[str, tuple[Any, datetime]] = field(default_factory=dict)
    built: dict[str, tuple[Any, datetime]] = field(default_factory=dict)
    built_at: datetime | None = None
    hurried: bool = False

    def cooled(self, now: datetime) -> bool:
        return self.built_at is None or now >= self.built_at + COOLDOWN

    def needs(self, now: datetime) -> bool:
        if self.facts == self.built:
            return False
        fewer = len(self.facts) < len(self.built) and not self.hurried
        return self.cooled(now) or fewer or not self.facts

    def build(self, now: datetime) -> int:
        """How many calls it takes: none when nothing is left to tell."""
        self.hurried = not self.cooled(now)
        self.built, self.built_at = dict(self.facts), now
        return 1 if self.facts else 0


def test_o54_a_random_day_takes_one_call_for_each_rebuild_and_none_for_no_change(
    site: Site,
) -> None:
    random = Random(54)
    users = {f"u{number}": Reckoning() for number in range(4)}
    now = NOON
    needed = 0
    with ModelEndpoint(answer=by_the_facts) as endpoint:
        while now < NOON + timedelta(days=1):
            user = random.choice(list(users))
            facts = users[user].facts
            key = random.choice(["name", "plan", "likes"])
            match random.choice(["tell", "tell", "forget", "pin", "nothing"]):
                case "tell":
                    value = f"{key} {random.randrange(3)}"  # no twin of another's
                    site.tell(key, value, user=user)
                    facts[key] = (value, now)
                case "forget" if key in facts:
                    site.forget(key, user=user)
                    del facts[key]
                case "pin" if key in facts:
                    for verb in ("pin", "unpin"):  # no change of what is known
                        fact(site.conn, verb, user_id=user, memory_key=key)
            for each in users.values():
                if each.needs(now):
                    needed += each.build(now)
            site.work(endpoint)
            assert endpoint.calls == needed
            now = site.clock.advance(seconds=random.choice([20, 400, 1500, 4000]))
        site.clock.advance(hours=1)
        needed += sum(each.build(now) for each in users.values() if each.needs(now + 2 * COOLDOWN))
        site.work(endpoint)
        assert endpoint.calls == needed
        site.work(endpoint)
        assert endpoint.calls == needed > 25
    for name in users:
        assert served(site.conn, name)["status"] == "ready"
    told: dict[str, str] = {}
    for user, request in zip((user for user, _ in site.calls()), endpoint.requests, strict=True):
        prompt = request.body["messages"][-1]["content"]
        assert told.get(user) != prompt  # not asked twice about the same
        told[user] = prompt

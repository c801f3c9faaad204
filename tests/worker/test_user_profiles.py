"""Updates of user profiles by a real worker: what each answer of the model comes to, and how often
it is asked."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import psycopg
import pytest

from loom import logs
from loom.model_client import ModelClient
from loom.worker.handlers.user_profile import KIND, UserProfiles
from loom.worker.runner import Runner
from tests.calls import Answer, Connection, operate
from tests.databases import Clock, Database
from tests.model_endpoint import (
    ModelEndpoint,
    Request,
    Step,
    completion,
    cut_off,
    dropped_at_once,
    hang,
    rate_limited,
    server_error,
)
from tests.sql.facts import NOON
from tests.sql.user_profile.profiles import facts, tell, up
from tests.worker.lost_connections import cut
from tests.worker.test_worker import login

MODEL = "scripted"
SAID = "I'm a backend dev, call me Sam."
BY_RULES = {"role": "backend dev", "name": "Sam"}
NO_TRAITS = dict.fromkeys(("style", "expertise", "verbosity", "formality"))


def told(ops: list[tuple[str, ...]] = (), **parts: Any) -> Step:  # type: ignore[assignment]
    """A right answer with facts."""
    listed = [dict(zip(("op", "key", "value"), op, strict=True)) for op in ops]
    return completion(_answer(facts=listed, **parts))


def _answer(**parts: Any) -> Answer:
    preferences = {"format": None, "language": None, "topics": None}
    return {"facts": [], "traits": NO_TRAITS, "preferences": preferences, "summary": None, **parts}


CITY = told([("add", "city", "Bonn")])


class Site:
    """A database with a stopped clock, and workers that do what is due."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self.conn: Connection = database.connect()
        self.clock = Clock(self.conn)
        self.clock.set(NOON)

    def work(self, endpoint: ModelEndpoint, *, timeout: float = 10, concurrency: int = 1) -> int:
        """One look at what is due; how many pieces were done."""

        async def connect() -> psycopg.AsyncConnection[Any]:
            return await psycopg.AsyncConnection.connect(login(self.database), autocommit=True)

        async def look() -> int:
            async with ModelClient(endpoint.url, "key", MODEL, timeout) as model:
                handlers = {KIND: UserProfiles(model, 1024)}
                return await Runner(handlers, connect, concurrency).sweep()

        return asyncio.run(look())

    def ask(self, *texts: str, **request: Any) -> None:
        assert tell(self.conn, *(texts or (SAID,)), source="llm", **request)["queued"]

    def profile(self, **request: Any) -> Answer:
        return up(self.conn, "get", **request)

    def calls(self) -> list[tuple[str, str]]:
        """Purpose and outcome of each recorded call of a model."""
        rows = self.conn.execute(
            "select purpose::text, outcome::text from loom.model_usage order by at, ctid"
        )
        return rows.fetchall()

    def task(self) -> tuple[int, str | None, Any]:
        """Attempts, last error and due time of the one task there is."""
        row = self.conn.execute(
            "select attempts, last_error::text, due_at from loom.user_profile_task"
        ).fetchone()
        assert row is not None
        return (row[0], row[1], row[2])


@pytest.fixture
def site(database: Database) -> Site:
    return Site(database)


def test_an_answer_outlives_the_connection_that_is_lost_meanwhile(site: Site) -> None:
    site.ask()

    def answer(request: Request) -> Step:
        cut(site.conn)
        return CITY

    with ModelEndpoint(answer=answer) as endpoint:
        assert site.work(endpoint) == 1
    assert endpoint.calls == 1
    assert site.calls() == [(KIND, "OK")]
    assert facts(site.profile()) == {"city": "Bonn"}


def test_what_the_model_tells_is_merged(site: Site) -> None:
    tell(site.conn, "Call me Max.")
    site.ask(user_id="u1")
    step = told(
        [("add", "city", "Bonn"), ("forget", "name", "")],
        traits={**NO_TRAITS, "expertise": "expert"},
        preferences={"format": "bullets", "language": "de", "topics": ["sql"]},
        summary="From Bonn.",
    )
    with ModelEndpoint(step) as endpoint:
        assert site.work(endpoint) == 1
        assert endpoint.calls == 1
    read = site.profile()
    assert (facts(read), read["version"], read["source"]) == ({"city": "Bonn"}, 2, "llm")
    assert read["profile"]["traits"]["expertise"] == "expert"
    assert read["profile"]["preferences"]["topics"] == ["sql"]
    assert (read["profile"]["summary"], read["pending"]) == ("From Bonn.", 0)
    assert site.calls() == [(KIND, "OK")]
    assert up(site.conn, "history")["items"][0]["actor"] == "worker"


@pytest.mark.parametrize(
    ("steps", "calls", "expected"),
    [
        ([CITY], 1, {"city": "Bonn"}),
        ([completion("no"), CITY], 2, {"city": "Bonn"}),
        ([completion("no"), completion("{")], 2, BY_RULES),
        ([completion(""), completion(None)], 2, BY_RULES),
        ([completion(json.dumps([_answer()])), completion("null")], 2, BY_RULES),
        ([completion(json.dumps(_answer()) * 2), CITY], 2, {"city": "Bonn"}),
        ([completion(json.dumps(_answer()) * 2), completion({"a": {}})], 2, BY_RULES),
        ([cut_off('{"facts": [{"op": "ad')], 1, BY_RULES),
        ([told([("add", "a", "1")], traits={"style": "playful"})], 1, {"a": "1"}),
        ([told([("remove", "a", "1"), ("add", "b", "\0"), ("add", "c", "1")])], 1, {"c": "1"}),
        ([told()], 1, {}),
    ],
    ids=[
        *("right", "bad once", "bad twice", "empty", "no object", "two objects once"),
        *("two objects twice", "cut off", "unknown word", "bad values", "nothing told"),
    ],
)
def test_answers_and_what_is_stored(
    site: Site, steps: list[Step], calls: int, expected: dict[str, str]
) -> None:
    site.ask()
    with ModelEndpoint(*steps) as endpoint:
        assert site.work(endpoint) == 1
        assert endpoint.calls == calls
    assert (facts(site.profile()), site.profile()["pending"]) == (expected, 0)
    assert len(site.calls()) == calls


def test_o23_null_topics_keep_those_of_before(site: Site) -> None:
    up(site.conn, "apply", delta={"topics": ["sql"]})
    site.ask()
    with ModelEndpoint(CITY) as endpoint:
        site.work(endpoint)
    assert site.profile()["profile"]["preferences"]["topics"] == ["sql"]


def test_o32_the_model_reads_the_users_own_words_alone(site: Site) -> None:
    said = [
        {"kind": "tool_result", "text": "canary of a tool"},
        {"kind": "message", "role": "assistant", "text": "canary of an assistant"},
        *({"text": f"number {number};"} for number in range(30)),
    ]
    up(site.conn, "update", signals=said, source="llm")
    with ModelEndpoint(told()) as endpoint:
        site.work(endpoint)
        messages = endpoint.requests[0].body["messages"]
    assert "canary" not in json.dumps(messages)
    assert json.loads(messages[1]["content"]) == [f"number {each};" for each in range(10, 30)]


@pytest.mark.parametrize(
    ("step", "code"), [(server_error(), "MODEL_ERROR"), (hang(), "MODEL_TIMEOUT")]
)
def test_o53_a_provider_that_fails_is_tried_again_later_and_then_the_rules_judge(
    site: Site, step: Step, code: str
) -> None:
    site.ask()
    with ModelEndpoint(step, step, step) as endpoint:
        for attempt, minutes in ((1, 1), (2, 3)):
            assert site.work(endpoint, timeout=0.3) == 1
            due_at = NOON + timedelta(minutes=minutes)
            assert site.task() == (attempt, code, due_at)
            assert site.work(endpoint) == 0
            site.clock.set(due_at)
        assert facts(site.profile()) == {}
        assert site.work(endpoint, timeout=0.3) == 1
        assert endpoint.calls == 3
    assert (facts(site.profile()), site.profile()["pending"]) == (BY_RULES, 0)
    assert site.calls() == [(KIND, code)] * 3


def test_o55_a_provider_that_cannot_serve_is_waited_for_without_using_an_attempt(
    site: Site,
) -> None:
    site.ask()
    for step, code in [(rate_limited("60"), "MODEL_RATE_LIMITED")] * 5 + [
        (dropped_at_once(), "MODEL_UNREACHABLE")
    ]:
        with ModelEndpoint(step) as endpoint:
            site.work(endpoint)
        attempts, error, due_at = site.task()
        now = site.clock.advance(seconds=60)
        assert (attempts, error, due_at) == (0, code, now)
    with ModelEndpoint(CITY) as endpoint:
        site.work(endpoint)
    assert facts(site.profile()) == {"city": "Bonn"}


def test_updates_of_a_profile_are_done_in_their_order(site: Site) -> None:
    site.ask("first")
    site.ask("second")
    site.ask("other", user_id="u2")
    with ModelEndpoint(answer=_echo) as endpoint:
        assert site.work(endpoint, concurrency=4) == 3
    assert (facts(site.profile()), site.profile()["version"]) == ({"said": "second"}, 2)
    assert facts(site.profile(user_id="u2")) == {"said": "other"}


def test_what_stands_behind_a_failure_waits_with_it(site: Site) -> None:
    site.ask("first")
    site.ask("second")
    with ModelEndpoint(rate_limited("60"), answer=_echo) as endpoint:
        assert site.work(endpoint) == 1
        assert endpoint.calls == 1
    site.clock.advance(seconds=60)
    with ModelEndpoint(answer=_echo) as endpoint:
        assert site.work(endpoint) == 2
    assert facts(site.profile()) == {"said": "second"}


def _echo(request: Request) -> Step:
    (text,) = json.loads(request.body["messages"][1]["content"])
    return told([("add", "said", text)])


def test_composite_takes_the_models_word_first_and_the_rules_for_the_rest(site: Site) -> None:
    tell(site.conn, SAID, source="composite")
    step = told(
        [("add", "name", "Samuel")], traits={**NO_TRAITS, "verbosity": "detailed"}, summary="Sam."
    )
    with ModelEndpoint(step) as endpoint:
        site.work(endpoint)
    read = site.profile()
    assert facts(read) == {"name": "Samuel", "role": "backend dev"}
    assert read["profile"]["traits"]["verbosity"] == "detailed"
    assert read["profile"]["preferences"]["language"] == "en"
    assert (read["source"], read["version"]) == ("llm,rules", 1)


def test_o30_what_a_profile_cannot_take_is_refused_and_those_behind_go_on(site: Site) -> None:
    ops = [{"op": "add", "key": f"k{number}", "value": "v"} for number in range(200)]
    up(site.conn, "apply", delta={"fact_ops": ops})
    site.ask("first")
    site.ask("second")
    with ModelEndpoint(CITY, told([("update", "k0", "new")])) as endpoint:
        assert site.work(endpoint) == 2
    assert (site.task()[1:], site.profile()["pending"]) == (("LIMIT_EXCEEDED", None), 0)
    assert facts(site.profile())["k0"] == "new"
    kept = site.conn.execute("select signals from loom.user_profile_task").fetchall()
    assert kept == [([],)]
    shown = site.conn.execute("select user_id, last_error from loom.v_user_profile_tasks")
    assert shown.fetchall() == [("u1", "LIMIT_EXCEEDED")]


def test_what_is_blacklisted_meanwhile_is_refused(site: Site) -> None:
    site.ask()
    operate(site.conn, "blacklist.add", org="acme", namespace="main", pattern="bonn")
    with ModelEndpoint(CITY) as endpoint:
        site.work(endpoint)
    assert (site.task()[1], site.profile()["found"]) == ("BLACKLISTED", False)


@pytest.mark.parametrize(
    ("change", "found"),
    [
        (lambda conn: operate(conn, "erasure.request", org="acme", user_id="u1"), False),
        (lambda conn: up(conn, "delete"), False),
        (lambda conn: up(conn, "reset"), True),
    ],
    ids=["erasure", "deletion", "reset"],
)
def test_o70_nothing_comes_back_of_what_was_removed_while_the_model_thought(
    site: Site, change: Callable[[Connection], Answer], found: bool
) -> None:
    tell(site.conn, "Call me Max.")
    site.ask()

    def answer(request: Request) -> Step:
        change(site.conn)
        return CITY

    with ModelEndpoint(answer=answer) as endpoint:
        assert site.work(endpoint) == 1
    read = site.profile()
    assert (read["found"], facts(read), read["pending"]) == (found, {}, 0)
    row = site.conn.execute("select count(*) from loom.model_usage where user_id <> '-'").fetchone()
    assert row == (0,)


def test_o13_what_was_written_while_the_model_thought_stays(site: Site) -> None:
    site.ask()

    def answer(request: Request) -> Step:
        tell(site.conn, "Call me Eve.")
        return CITY

    with ModelEndpoint(answer=answer) as endpoint:
        site.work(endpoint)
    assert facts(site.profile()) == {"name": "Eve", "city": "Bonn"}


def test_without_leave_no_model_is_called_and_the_signals_wait(site: Site) -> None:
    operate(site.conn, "org.set_model_calls", org="acme", enabled=False)
    site.ask()
    with ModelEndpoint(CITY) as endpoint:
        assert site.work(endpoint) == 0
        assert endpoint.calls == 0
        operate(site.conn, "org.set_model_calls", org="acme", enabled=True)
        assert site.work(endpoint) == 1
    assert facts(site.profile()) == {"city": "Bonn"}


def test_o50_what_a_killed_worker_left_is_taken_when_its_lease_is_over(site: Site) -> None:
    site.ask()
    worker = site.database.connect("loom_worker")
    lost = worker.execute("select loom.user_profile_claim('acme')").fetchone()
    assert lost is not None
    with ModelEndpoint(CITY) as endpoint:
        assert site.work(endpoint) == 0
        site.clock.advance(seconds=300)
        assert site.work(endpoint) == 1
    late = worker.execute(
        "select loom.user_profile_complete('acme', %s, '{}')", (lost[0]["lease_id"],)
    ).fetchone()
    assert late == ({"outcome": "lost"},)
    again = worker.execute(
        "select loom.user_profile_fail('acme', %s, 'failed', 'LATE')", (lost[0]["lease_id"],)
    ).fetchone()
    assert again == ({"found": False},)


def test_o51_a_fault_of_ours_is_a_failure_of_that_user_alone(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    from loom.worker.handlers import user_profile

    def broken(*_: Any) -> None:
        raise RuntimeError("canary")

    site.ask()
    with monkeypatch.context() as patched, ModelEndpoint(CITY) as endpoint:
        patched.setattr(user_profile, "read_answer", broken)
        assert site.work(endpoint) == 1
    assert site.task()[:2] == (1, "WORKER_ERROR")


def test_o51_what_ends_its_worker_each_time_is_paid_for_three_times_at_most(site: Site) -> None:
    site.ask()
    worker = site.database.connect("loom_worker")
    for _ in range(3):  # claimed, and never heard of again
        worker.execute("select loom.user_profile_claim('acme')")
        site.clock.advance(minutes=5)
    with ModelEndpoint(CITY) as endpoint:
        assert site.work(endpoint) == 1
        assert endpoint.calls == 0
    assert (facts(site.profile()), site.profile()["pending"]) == (BY_RULES, 0)


def test_no_text_of_a_user_is_logged(site: Site, caplog: pytest.LogCaptureFixture) -> None:
    site.ask("My secret is canary.")
    caplog.set_level(logging.DEBUG, logger="loom")
    with ModelEndpoint(completion("canary"), completion("canary")) as endpoint:
        site.work(endpoint)
    lines = "".join(logs.JsonLines().format(record) for record in caplog.records)
    assert "canary" not in lines
    assert '"RULES"' in lines


def test_the_worker_is_woken_by_what_is_queued(site: Site) -> None:
    worker = site.database.connect("loom_worker")
    worker.execute("select loom.worker_bell_set(true)")
    worker.execute("listen loom_work")
    site.ask()
    assert [each.channel for each in worker.notifies(timeout=5, stop_after=1)] == ["loom_work"]


@pytest.mark.parametrize(
    "arguments",
    [
        ("failed", "no code", None),
        ("forgotten", "CODE", None),
        ("waiting", "CODE", -1),
        (None, "CODE", None),
    ],
)
def test_a_lease_ends_in_one_of_four_ways(site: Site, arguments: tuple[Any, ...]) -> None:
    from tests.calls import refused

    site.ask()
    worker = site.database.connect("loom_worker")
    claimed = worker.execute("select loom.user_profile_claim('acme')").fetchone()
    assert claimed is not None
    with refused(worker, "LM001"):
        worker.execute(
            "select loom.user_profile_fail('acme', %s, %s, %s, %s)",
            (claimed[0]["lease_id"], *arguments),
        )
    released = worker.execute(
        "select loom.user_profile_fail('acme', %s, 'released', 'WORKER_STOPPED')",
        (claimed[0]["lease_id"],),
    ).fetchone()
    assert released is not None
    assert released[0]["attempts"] == 0
    assert worker.execute("select loom.user_profile_due()").fetchall() == [("acme",)]

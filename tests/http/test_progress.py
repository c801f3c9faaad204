"""How work goes on, as readiness and metrics tell of it: O47, ready means progress."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from prometheus_client.parser import text_string_to_metric_families

from loom.gateway import Patience
from tests.calls import acting_as, operate
from tests.databases import Clock, Database
from tests.http.api import Api, detail, running, settings_for_tests
from tests.sql.facts import NOON, fact
from tests.sql.structured_profile.building import (
    FOLD,
    KIND,
    cap,
    claim,
    due,
    fail,
    finish,
    lease,
    set_schema,
    settings,
    used,
)

Connection = psycopg.Connection[Any]

MODEL = {"model_base_url": "http://127.0.0.1:1/v1", "model": "gpt"}

# Two polls of 5 seconds, and some.
LONGEST = 15


@pytest.fixture
def conn(database: Database) -> Connection:
    """A database with a schema and one user who is due, and a clock that stands still."""
    own = database.connect()
    Clock(own).set(NOON)
    set_schema(own)
    fact(own, "set", user_id="u1", value="tea")
    return own


@pytest.fixture
def clock(conn: Connection) -> Clock:
    return Clock(conn)


@pytest.fixture
def served(database: Database, conn: Connection) -> Iterator[Api]:
    """A server with a model and two polls' patience."""
    with running(database, settings=settings_for_tests(**MODEL)) as api:
        yield api


def beat(conn: Connection) -> None:
    """A worker shows that it is alive; its silence is measured by the real clock."""
    conn.execute("delete from loom.worker")
    conn.execute(
        "insert into loom.worker values (%s, clock_timestamp(), clock_timestamp())", (uuid.uuid4(),)
    )


def worker(api: Api) -> str:
    """The check, and that it decides on readiness."""
    response = api.get("/v1/ready")
    if response.status_code == 503:
        checks = detail(response, 503, "UNAVAILABLE")["checks"]
        assert checks["worker"] == "stalled"
    else:
        checks = response.json()["checks"]
        assert checks["worker"] != "stalled"
    assert (checks["database"], checks["schema"], checks["model"]) == ("ok", "ok", "configured")
    return str(checks["worker"])


@pytest.mark.parametrize("heard", ["none", "running", "silent"])
def test_o47_work_due_with_nothing_claimed_for_two_polls_is_not_ready(
    served: Api, conn: Connection, clock: Clock, heard: str
) -> None:
    """A worker that beats and claims nothing is no better than none."""
    if heard != "none":
        beat(conn)
    if heard == "silent":
        conn.execute("update loom.worker set last_seen_at = last_seen_at - interval '1 hour'")
    clock.advance(seconds=LONGEST)
    assert worker(served) == heard
    clock.advance(seconds=1)
    assert worker(served) == "stalled"
    taken = lease(conn)
    beat(conn)
    assert worker(served) == "running"
    finish(conn, taken, {"name": "Sam"})
    clock.advance(hours=9)
    assert worker(served) == "running"


def test_o47_what_was_claimed_a_moment_ago_is_progress(
    served: Api, conn: Connection, clock: Clock
) -> None:
    beat(conn)
    fact(conn, "set", user_id="u2", value="tea")
    due(conn)
    clock.advance(seconds=60)
    assert worker(served) == "stalled"
    (taken,) = claim(conn, 1)
    assert worker(served) == "running"
    # Who thinks for long has no hand free.
    clock.advance(seconds=60)
    beat(conn)
    assert worker(served) == "running"
    fail(conn, taken)
    clock.advance(seconds=LONGEST)
    assert worker(served) == "running"
    clock.advance(seconds=1)
    assert worker(served) == "stalled"


def test_o47_folds_that_nobody_claims_are_not_ready_either(
    served: Api, conn: Connection, clock: Clock
) -> None:
    finish(conn, lease(conn), {"name": "Sam"})
    settings(conn, FOLD, enabled=True)
    fact(conn, "set", user_id="u1", memory_key="drink", value="tea", memory_type="preference")
    clock.advance(seconds=LONGEST + 1)
    assert worker(served) == "stalled"
    taken = lease(conn, kind=FOLD)
    beat(conn)
    assert worker(served) == "running"
    finish(conn, taken, "Likes tea.")
    shown = samples(served)
    assert [shown[f"builds_total,{kind},written"] for kind in (KIND, FOLD)] == [1, 1]
    settings(conn, FOLD, enabled=False)
    set_schema(conn, None)
    clock.advance(hours=9)
    fact(conn, "set", user_id="u1", memory_key="drink", value="x", memory_type="preference")
    assert samples(served)[f"due,{FOLD}"] == 0
    assert worker(served) == "running"


def test_o47_a_lease_of_a_worker_that_died_is_no_progress(
    served: Api, conn: Connection, clock: Clock
) -> None:
    fact(conn, "set", user_id="u2", value="tea")
    due(conn)
    assert len(claim(conn, 1)) == 1
    clock.advance(seconds=LONGEST + 1)
    assert worker(served) == "stalled"


def test_o55_what_waits_for_a_provider_has_not_stalled(
    served: Api, conn: Connection, clock: Clock
) -> None:
    beat(conn)
    fail(conn, lease(conn), "waiting", "MODEL_RATE_LIMITED", 120)
    assert due(conn) == {}
    clock.advance(seconds=120 + LONGEST)
    assert worker(served) == "running"
    clock.advance(seconds=1)
    assert worker(served) == "stalled"


def test_what_nobody_may_build_has_not_stalled(served: Api, conn: Connection, clock: Clock) -> None:
    beat(conn)
    operate(conn, "org.set_model_calls", org="acme", enabled=False)
    clock.advance(hours=1)
    assert worker(served) == "running"
    operate(conn, "org.set_model_calls", org="acme", enabled=True)
    assert worker(served) == "running"
    cap(conn, 10)
    used(conn, 10)
    clock.advance(hours=1)
    assert worker(served) == "running"


def test_without_a_model_builds_wait_and_the_api_is_ready(
    database: Database, conn: Connection, clock: Clock
) -> None:
    clock.advance(hours=1)
    for named in ({}, {"model": "gpt"}, {"model_base_url": MODEL["model_base_url"]}):
        with running(database, settings=settings_for_tests(**named)) as api:
            checks = api.get("/v1/ready").json()["checks"]
            assert (checks["worker"], checks["model"]) == ("none", "not configured")


def test_polls_are_as_long_as_is_set(database: Database, conn: Connection, clock: Clock) -> None:
    clock.advance(seconds=60)
    for poll, wanted in ((1.0, 503), (60.0, 200)):
        settings = settings_for_tests(**MODEL, worker_poll_seconds=poll)
        with running(database, settings=settings) as api:
            assert api.get("/v1/ready").status_code == wanted


def test_readiness_of_a_database_that_does_not_tell_of_work(served: Api, conn: Connection) -> None:
    """The rest of it stands."""
    conn.execute(
        "create or replace function loom.work_metrics() returns jsonb language plpgsql"
        " set search_path = loom, pg_temp as 'begin raise division_by_zero; end'"
    )
    assert worker(served) == "none"
    assert "loom_requests_total" in served.get("/metrics").text


def samples(api: Api) -> dict[str, float]:
    """The metrics of work on structured profiles, by name and labels."""
    page = api.get("/metrics")
    assert page.status_code == 200
    return {
        ",".join((sample.name.removeprefix("loom_"), *sample.labels.values())): sample.value
        for family in text_string_to_metric_families(page.text)
        for sample in family.samples
        if sample.name.startswith(("loom_due", "loom_claims", "loom_builds", "loom_model"))
        and sample.labels.get("kind") != "embedding"
    }


def test_o47_metrics_show_what_is_due_claimed_and_built(
    served: Api, conn: Connection, clock: Clock
) -> None:
    names = ("due", "due_oldest_seconds", "claims_total")
    quiet = {f"{name},{kind}": 0 for name in names for kind in (FOLD, "night_weaving")}
    assert samples(served) == quiet | {
        **{f"due,{KIND}": 1, f"due_oldest_seconds,{KIND}": 0},
        f"claims_total,{KIND}": 0,
    }
    fact(conn, "set", user_id="u2", value="tea")
    clock.advance(seconds=42)
    assert samples(served)[f"due_oldest_seconds,{KIND}"] == 42
    due(conn)
    one, two = claim(conn)
    used(conn, 100, 17, taken=one)
    finish(conn, one, {"name": "Sam"})
    fail(conn, two)
    assert samples(served) == quiet | {
        f"due,{KIND}": 0,
        f"due_oldest_seconds,{KIND}": 0,
        f"claims_total,{KIND}": 2,
        f"builds_total,{KIND},written": 1,
        f"builds_total,{KIND},failed": 1,
        f"model_tokens_total,{KIND}": 117,
    }


def test_metrics_without_a_database_show_what_the_process_knows(database: Database) -> None:
    with running(database, patience=Patience(wait=0.2, look=0.02)) as api:
        assert samples(api)
        with database.cluster.maintenance() as conn:
            conn.execute(f'alter database "{database.name}" allow_connections false'.encode())
            conn.execute(
                "select pg_terminate_backend(pid, 5000) from pg_stat_activity"
                " where datname = %s and usename = 'loom_gateway'",
                (database.name,),
            )
        assert samples(api) == {}
        assert "loom_pool_open" in api.get("/metrics").text
        with database.cluster.maintenance() as conn:
            conn.execute(f'alter database "{database.name}" allow_connections true'.encode())


def test_metrics_name_nobody(served: Api, conn: Connection) -> None:
    with acting_as(conn, "loom_gateway"):
        page = served.get("/metrics").text
    assert "acme" not in page
    assert "u1" not in page.replace("cpu1", "")


def test_texts_that_wait_for_their_vectors_make_nothing_unready(
    served: Api, conn: Connection, clock: Clock
) -> None:
    """A search does without: a model that no worker has, or a provider that is down for hours."""
    if conn.execute("select loom.embedding_progress() -> 'vectors'").fetchone() != (True,):
        pytest.skip("the server has no pgvector")
    beat(conn)
    conn.execute("""select loom.embedding_model_add('{"model": "m"}')""")
    conn.execute("""select loom.embedding_model_activate('{"model": "m"}')""")
    fact(conn, "set", user_id="u2", value="milk")
    clock.advance(seconds=10 * LONGEST)
    page = served.get("/metrics").text
    assert 'loom_due{kind="embedding"} 1.0' in page
    assert 'loom_due_oldest_seconds{kind="embedding"} 150.0' in page
    conn.execute("delete from loom.build")
    assert worker(served) == "running"

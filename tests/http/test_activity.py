"""Reads of profile sections: counted after the answer, recorded with the reader's own token."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, cast

import psycopg
import pytest

from loom.app.activity import MOST_IN_A_CALL, RECORD, Activity
from loom.app.auth import NOBODY, Caller
from loom.gateway import DatabaseRefusal, DatabaseUnavailable, Pool
from loom.types import OPERATIONS
from tests.calls import Token, mint_token, operate
from tests.databases import Database
from tests.http.api import Api, Json, detail, running, settings_for_tests
from tests.http.conftest import LogLines

Connection = psycopg.Connection[Any]

READER = Caller(b"o" * 16, b"h" * 32)


@dataclass
class FakePool:
    """Stands for the pool: keeps what is recorded, after failing as often as it is told to."""

    failures: list[Exception] = field(default_factory=list)
    calls: list[tuple[Caller, Json]] = field(default_factory=list)
    called: asyncio.Event = field(default_factory=asyncio.Event)

    async def call(
        self,
        org: bytes | None,
        token_hash: bytes | None,
        op: str,
        body: bytes,
        idempotency_key: str | None,
        write: bool,
    ) -> bytes:
        assert (op, idempotency_key, write) == (RECORD, None, True)
        if self.failures:
            raise self.failures.pop(0)
        self.calls.append((Caller(org, token_hash), json.loads(body)))
        self.called.set()
        return b"{}"

    def reads(self) -> dict[tuple[str, str], int]:
        """All that was recorded, by section."""
        total: dict[tuple[str, str], int] = {}
        for _, body in self.calls:
            for read in body["reads"]:
                section = (read["user_id"], read["label"])
                total[section] = total.get(section, 0) + read["reads"]
        return total


def render(*labels: str, user_id: str = "u", **more: Any) -> bytes:
    """A render's answer."""
    place = {"agent": "-", "session_id": "-", "user_id": user_id, "content_sha256": "00"}
    sections = [{"label": label, **place} for label in labels]
    return json.dumps({"text": "…", "sections": sections, "sha256": "00", **more}).encode()


def reasons(log_lines: LogLines) -> list[Json]:
    """The lines that say why something was not recorded."""
    return [line for line in log_lines.lines if "reason" in line]


def activity(pool: FakePool, **options: Any) -> Activity:
    return Activity(cast(Pool, pool), **options)


def test_reads_of_a_section_are_added_up_and_recorded_in_one_call() -> None:
    pool = FakePool()
    counted = activity(pool)
    for _ in range(3):
        counted.saw("profile.render", READER, b"{}", render("a", "b"))
    counted.saw("profile.render", READER, b"{}", render("a", user_id="-"))
    assert counted.waiting == 7
    assert pool.calls == []
    asyncio.run(counted.flush())
    assert pool.reads() == {("u", "a"): 3, ("u", "b"): 3, ("-", "a"): 1}
    assert len(pool.calls) == 1
    assert (counted.waiting, dict(counted.counts)) == (0, {"counted": 7, "recorded": 7})


def test_each_reader_and_place_is_recorded_as_its_own() -> None:
    pool = FakePool()
    counted = activity(pool)
    other = Caller(b"o" * 16, b"i" * 32)
    for caller, body in (
        (READER, {"namespace": "n", "agent": "a", "user_id": "u"}),
        (READER, {"namespace": "n", "agent": None}),
        (READER, {"namespace": "m", "labels": ["x"]}),
        (other, {}),
        (NOBODY, {"org": "acme"}),
    ):
        counted.saw("profile.render", caller, json.dumps(body).encode(), render("a"))
    asyncio.run(counted.flush())
    reads = [{"user_id": "u", "label": "a", "reads": 1}]
    assert pool.calls == [
        (READER, {"namespace": "n", "agent": "a", "reads": reads}),
        (READER, {"namespace": "n", "reads": reads}),
        (READER, {"namespace": "m", "reads": reads}),
        (other, {"reads": reads}),
        (NOBODY, {"org": "acme", "reads": reads}),
    ]


def test_a_render_that_changed_nothing_was_read_too() -> None:
    counted = activity(FakePool())
    counted.saw("profile.render", READER, b"{}", render("a", unchanged=True))
    assert counted.waiting == 1


def test_an_empty_render_leaves_nothing_to_record() -> None:
    pool = FakePool()
    counted = activity(pool)
    counted.saw("profile.render", READER, b"{}", render())
    asyncio.run(counted.flush())
    assert pool.calls == []


def test_renders_in_a_batch_count_each_in_its_own_place() -> None:
    pool = FakePool()
    counted = activity(pool)
    requests = [
        {"op": "memory.get", "memory_key": "k"},
        {"op": "profile.render", "namespace": "n", "agent": "a"},
        {"op": "profile.render", "org": "acme", "namespace": "m"},
        {"op": "profile.render", "labels": 7},
        {"op": "memory.set", "memory_key": "k", "value": {"sections": 1}},
    ]
    results = [
        {"status": 200, "result": {"found": True, "value": {"sections": [1]}}},
        {"status": 200, "result": json.loads(render("a", "b"))},
        {"status": 200, "result": json.loads(render("c"))},
        {"status": 400, "error": {"code": "INVALID_REQUEST"}},
        {"status": 200, "result": {}},
    ]
    body = json.dumps({"requests": requests, "atomic": False}).encode()
    counted.saw("batch", READER, body, json.dumps({"results": results}).encode())
    asyncio.run(counted.flush())
    bodies = [{k: v for k, v in body.items() if k != "reads"} for _, body in pool.calls]
    assert bodies == [
        {"org": "acme", "namespace": "n", "agent": "a"},
        {"org": "acme", "namespace": "m"},
    ]
    assert pool.reads() == {("u", "a"): 1, ("u", "b"): 1, ("u", "c"): 1}


def packed(*labels: str) -> Json:
    """A pack's answer, with a section that is no profile."""
    memory = {"memory_id": "…", "user_id": "u", "label": "not a section of the profile"}
    return {
        "text": "…",
        "sections": [
            {"name": "profile", "items": json.loads(render(*labels))["sections"], "omitted": []},
            {"name": "working_memory", "items": [{"block_key": "state"}], "omitted": []},
            {"name": "memories", "items": [memory], "omitted": []},
        ],
    }


def test_a_pack_counts_the_profile_sections_it_holds() -> None:
    pool = FakePool()
    counted = activity(pool)
    counted.saw(
        "context.pack", READER, b'{"namespace": "n"}', json.dumps(packed("a", "b")).encode()
    )
    body = json.dumps({"requests": [{"op": "context.pack", "namespace": "n"}]}).encode()
    results = {"results": [{"status": 200, "result": packed("a")}]}
    counted.saw("batch", READER, body, json.dumps(results).encode())
    asyncio.run(counted.flush())
    assert pool.reads() == {("u", "a"): 2, ("u", "b"): 1}
    assert len(pool.calls) == 1


def test_a_batch_without_a_render_is_not_even_read() -> None:
    counted = activity(FakePool())
    counted.saw("batch", READER, b"not looked at", b'{"results": []}')
    assert (counted.waiting, dict(counted.counts)) == (0, {})


def test_many_sections_are_recorded_in_portions() -> None:
    pool = FakePool()
    counted = activity(pool)
    labels = [f"label{number}" for number in range(2 * MOST_IN_A_CALL + 1)]
    counted.saw("profile.render", READER, b"{}", render(*labels))
    asyncio.run(counted.flush())
    sizes = [len(body["reads"]) for _, body in pool.calls]
    assert sizes == [MOST_IN_A_CALL, MOST_IN_A_CALL, 1]
    assert len(pool.reads()) == len(labels)


def test_memory_is_bounded_and_what_is_dropped_is_counted() -> None:
    pool = FakePool()
    counted = activity(pool, most=3)
    for _ in range(2):
        counted.saw("profile.render", READER, b"{}", render("a", "b", "c", "d", "e"))
    assert (counted.waiting, counted.counts["dropped"]) == (6, 4)
    asyncio.run(counted.flush())
    counted.saw("profile.render", READER, b"{}", render("d"))
    asyncio.run(counted.flush())
    assert counted.counts == {"counted": 11, "recorded": 7, "dropped": 4}


def test_a_failure_is_tried_once_more_then_given_up(log_lines: LogLines) -> None:
    away = DatabaseUnavailable("connection lost", outcome_unknown=True)
    pool = FakePool([away])
    counted = activity(pool)
    counted.saw("profile.render", READER, b"{}", render("a"))
    asyncio.run(counted.flush())
    assert (counted.waiting, pool.calls) == (1, [])
    asyncio.run(counted.flush())
    assert counted.counts == {"counted": 1, "recorded": 1}

    pool.failures = [away, away]
    counted.saw("profile.render", READER, b"{}", render("a"))
    for _ in range(3):
        asyncio.run(counted.flush())
    assert (counted.waiting, counted.counts) == (
        0,
        {"counted": 2, "recorded": 1, "dropped": 1},
    )
    told = [(line["event"], line["reason"], line["count"]) for line in reasons(log_lines)]
    assert told == [
        ("reads not recorded yet", "connection lost", 1),
        ("reads not recorded yet", "connection lost", 1),
        ("reads not recorded", "connection lost", 1),
    ]


def test_a_refusal_is_not_tried_again(log_lines: LogLines) -> None:
    pool = FakePool([DatabaseRefusal("LM301", "The request carries no valid token.", None, None)])
    counted = activity(pool)
    counted.saw("profile.render", READER, b"{}", render("a"))
    counted.saw("profile.render", READER, b'{"namespace": "n"}', render("b"))
    asyncio.run(counted.flush())
    assert counted.counts == {"counted": 2, "dropped": 1, "recorded": 1}
    assert [line["reason"] for line in reasons(log_lines)] == ["LM301"]


def test_one_portion_that_fails_in_an_unforeseen_way_does_not_stop_the_rest(
    log_lines: LogLines,
) -> None:
    pool = FakePool([RuntimeError("the user's text")])
    counted = activity(pool)
    for label in ("a", "b"):
        body = json.dumps({"namespace": label}).encode()
        counted.saw("profile.render", READER, body, render(label))
    asyncio.run(counted.flush())
    assert counted.counts == {"counted": 2, "dropped": 1, "recorded": 1}
    assert "user's text" not in log_lines.text


def test_what_cannot_be_counted_harms_nothing(log_lines: LogLines) -> None:
    counted = activity(FakePool())
    counted.saw("profile.render", READER, b'{"namespace": 7}', render("a"))
    assert (counted.waiting, counted.counts) == (0, {"counted": 1, "dropped": 1})
    assert "profile.render" in [line.get("op") for line in log_lines.lines]


def test_what_is_waiting_at_the_end_is_recorded() -> None:
    pool = FakePool([DatabaseUnavailable("connection lost")])

    async def whole() -> None:
        async with activity(pool, seconds=3600) as counted:
            counted.saw("profile.render", READER, b"{}", render("a"))

    asyncio.run(whole())
    assert pool.reads() == {("u", "a"): 1}


def test_reads_are_recorded_time_and_again() -> None:
    pool = FakePool()

    async def whole() -> None:
        async with activity(pool, seconds=0.001) as counted:
            for _ in range(3):
                pool.called.clear()
                counted.saw("profile.render", READER, b"{}", render("a"))
                async with asyncio.timeout(20):
                    await pool.called.wait()

    asyncio.run(whole())
    assert pool.reads() == {("u", "a"): 3}


# Over HTTP, with a real database.


@pytest.fixture
def quick(database: Database) -> Iterator[Api]:
    """A server that records reads almost at once; its token is a writer's without a label."""
    admin = database.connect()
    with running(database, flush_seconds=0.01) as server:
        server.token = mint_token(admin, org="acme", namespace="n").text
        yield server


def recorded(api: Api, reads: int, **request: Any) -> list[Json]:
    """The activity, as soon as it tells of so many reads."""
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        response = api.call("profile.activity", {"read_scope": "namespace", **request})
        assert response.status_code == 200, response.text
        clients: list[Json] = response.json()["clients"]
        if sum(client["reads"] for client in clients) >= reads:
            return clients
        time.sleep(0.01)
    raise AssertionError(f"not recorded: {clients}")


def section(api: Api, label: str, **ids: str) -> None:
    assert api.call("profile.set", {"label": label, "value": "x", **ids}).status_code == 200


def test_a_read_is_told_by_client_section_and_day(quick: Api, database: Database) -> None:
    admin = database.connect()
    labelled = mint_token(admin, org="acme", namespace="n", role="viewer", label="dashboard").text
    section(quick, "style")
    section(quick, "tasks", user_id="u")
    assert quick.call("profile.render", {"user_id": "u", "agent": "a"}).status_code == 200
    for _ in range(2):
        body = {"labels": ["style"]}
        assert quick.call("profile.render", body, token=labelled).status_code == 200
    clients = recorded(quick, 4)
    told = {(c["client"], c["agent"], c["label"]): c["reads"] for c in clients}
    assert told == {
        ("writer", "a", "style"): 1,
        ("writer", "a", "tasks"): 1,
        ("dashboard", "-", "style"): 2,
    }
    assert all(list(c["days"].values()) == [c["reads"]] for c in clients)
    rows = admin.execute(
        "select user_id, label, reads from loom.profile_activity where client = 'writer'"
        " order by label"
    ).fetchall()
    assert rows == [("-", "style", 1), ("u", "tasks", 1)]
    assert {c["label"] for c in recorded(quick, 1, read_scope="own_user")} == {"style"}


def test_a_read_of_a_pinned_user_is_recorded_with_that_users_token(
    quick: Api, database: Database
) -> None:
    admin = database.connect()
    pinned: Token = mint_token(admin, org="acme", namespace="n", role="viewer", read_user_id="u")
    section(quick, "tasks", user_id="u")
    assert quick.call("profile.render", token=pinned.text).status_code == 200
    recorded(quick, 1)
    row = admin.execute("select client, user_id from loom.profile_activity").fetchone()
    assert row == ("viewer", "u")


def test_a_pack_is_recorded_as_a_read_of_its_sections(quick: Api) -> None:
    section(quick, "style")
    assert quick.call("context.pack", {"agent": "a"}).status_code == 200
    (client,) = recorded(quick, 1)
    assert (client["agent"], client["label"], client["reads"]) == ("a", "style", 1)


def test_a_render_in_a_batch_is_recorded(quick: Api) -> None:
    section(quick, "style")
    batch = {"requests": [{"op": "profile.render", "agent": "b"}, {"op": "namespace.get"}]}
    assert quick.call("batch", batch).status_code == 200
    (client,) = recorded(quick, 1)
    assert (client["agent"], client["label"], client["reads"]) == ("b", "style", 1)


def test_in_open_mode_a_read_without_a_token_is_recorded(database: Database) -> None:
    admin = database.connect()
    admin.execute("select loom.open_mode_set(60)")
    with running(database, settings=settings_for_tests(auth="open"), flush_seconds=0.01) as api:
        section(api, "style")
        assert api.call("profile.render", {"agent": "b"}).status_code == 200
        (client,) = recorded(api, 1)
        assert (client["client"], client["agent"]) == ("open", "b")
        section(api, "style", org="acme", namespace="m")
        assert api.call("profile.render", {"org": "acme", "namespace": "m"}).status_code == 200
        recorded(api, 1, org="acme", namespace="m")


def test_reads_are_recorded_when_the_server_stops(database: Database) -> None:
    admin = database.connect()
    with running(database) as api:
        api.token = mint_token(admin, org="acme", namespace="n").text
        section(api, "style")
        assert api.call("profile.render").status_code == 200
        assert admin.execute("select count(*) from loom.profile_activity").fetchone() == (0,)
    assert admin.execute("select reads from loom.profile_activity").fetchall() == [(1,)]


def test_a_read_of_an_erased_user_brings_nothing_back(database: Database) -> None:
    admin = database.connect()
    with running(database) as api:
        api.token = mint_token(admin, org="acme", namespace="n").text
        section(api, "tasks", user_id="u")
        assert api.call("profile.render", {"user_id": "u"}).status_code == 200
        operate(admin, "erasure.request", org="acme", user_id="u")
    assert admin.execute("select count(*) from loom.profile_activity").fetchone() == (0,)


def test_a_revoked_token_records_nothing_and_stops_nobody(
    database: Database, log_lines: LogLines
) -> None:
    admin = database.connect()
    with running(database) as api:
        api.token = mint_token(admin, org="acme", namespace="n").text
        passing = mint_token(admin, org="acme", namespace="n", role="viewer")
        section(api, "style")
        for token in (passing.text, api.token):
            assert api.call("profile.render", token=token).status_code == 200
        operate(admin, "token.revoke", org="acme", token_id=passing.answer["token_id"])
    assert admin.execute("select client, reads from loom.profile_activity").fetchall() == [
        ("writer", 1)
    ]
    assert any(line.get("reason") == "LM301" for line in log_lines.lines)


def test_metrics_tell_what_became_of_reads(quick: Api) -> None:
    section(quick, "style")
    assert quick.call("profile.render").status_code == 200
    recorded(quick, 1)
    deadline = time.monotonic() + 20
    while 'loom_profile_reads_total{outcome="recorded"} 1.0' not in quick.get("/metrics").text:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    page = quick.get("/metrics").text
    assert 'loom_profile_reads_total{outcome="dropped"} 0.0' in page
    assert 'loom_profile_reads_total{outcome="counted"} 1.0' in page


# Nobody else records reads.

REQUEST: Json = {"reads": [{"user_id": "-", "label": "style", "reads": 1}]}


@pytest.mark.parametrize("path", [f"/v1/{RECORD}", f"/v1/admin/{RECORD}"])
def test_recording_has_no_path(api: Api, path: str) -> None:
    response = api.client.post(
        api.url + path, json=REQUEST, headers={"Authorization": f"Bearer {api.token}"}
    )
    detail(response, 404, "UNKNOWN_OPERATION")


@pytest.mark.parametrize("atomic", [False, True])
def test_recording_has_no_place_in_a_batch(api: Api, admin: Connection, atomic: bool) -> None:
    section(api, "style")
    item = {"op": RECORD, **REQUEST}
    response = api.call("batch", {"requests": [item], "atomic": atomic})
    if not atomic:
        assert response.json()["results"][0]["status"] == 400
    else:
        assert response.status_code == 400
    assert admin.execute("select count(*) from loom.profile_activity").fetchone() == (0,)


def test_recording_is_not_described(api: Api) -> None:
    assert RECORD not in OPERATIONS
    assert RECORD not in api.get("/v1/openapi.json").text
    assert RECORD not in api.get("/docs").text

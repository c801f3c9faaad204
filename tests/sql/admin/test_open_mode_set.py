"""loom.open_mode_set: for a minute at most, requests without a token act as admin."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
import pytest

from tests.calls import Token, acting_as, operate, refused
from tests.databases import Clock
from tests.sql.doors import through_api, wm

Connection = psycopg.Connection[Any]
Mint = Callable[..., Token]

NOON = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


def switch_on(db: Connection, seconds: int = 60) -> Any:
    row = db.execute("select loom.open_mode_set(%s)", (seconds,)).fetchone()
    assert row is not None
    return row[0]


def audited(db: Connection) -> list[Any]:
    return db.execute("select org, action, subject from loom.audit order by at").fetchall()


def test_without_open_mode_a_token_is_required(db: Connection) -> None:
    for request in ({}, {"org": "acme", "namespace": "main"}):
        with refused(db, "LM301") as refusal:
            through_api(db, None, "working_memory.get", **request)
        assert refusal.detail == {}


def test_a_request_without_a_token_is_admin_of_dev_and_local(db: Connection) -> None:
    switch_on(db)
    receipt = through_api(db, None, "working_memory.set", content="x", read_only=True)
    assert (receipt["org"], receipt["namespace"]) == ("dev", "local")
    assert through_api(db, None, "namespace.update", quiet_minutes=3)["namespace"] == "local"
    assert through_api(db, None, "token.mint", role="admin")["org"] == "dev"


def test_a_request_without_a_token_is_admin_of_what_it_names(db: Connection) -> None:
    switch_on(db)
    receipt = through_api(db, None, "working_memory.set", org="o", namespace="n", content="x")
    assert (receipt["org"], receipt["namespace"]) == ("o", "n")
    got = through_api(db, None, "working_memory.get", org="o", namespace="n")
    assert got["content"] == "x"
    assert through_api(db, None, "working_memory.get", org="o")["namespace"] == "local"


def test_rows_name_open_mode_as_their_actor(db: Connection) -> None:
    switch_on(db)
    through_api(db, None, "working_memory.set", content="x")
    (item,) = through_api(db, None, "working_memory.list")["items"]
    assert (item["created_by"], item["updated_by"]) == ("open", "open")


def test_a_token_is_judged_as_a_token_in_open_mode_too(
    db: Connection, mint: Mint, clock: Clock
) -> None:
    clock.set(NOON)
    switch_on(db)
    token = mint(role="viewer", namespace="main", ttl_seconds=30)
    with refused(db, "LM302"):
        through_api(db, token, "working_memory.set", content="x")
    with refused(db, "LM302"):
        through_api(db, token, "working_memory.get", namespace="other")
    clock.advance(seconds=30)
    with refused(db, "LM301"):
        through_api(db, token, "working_memory.get")


def test_it_ends_by_itself(db: Connection, clock: Clock) -> None:
    clock.set(NOON)
    assert switch_on(db, 60) == NOON + timedelta(seconds=60)
    clock.advance(seconds=59.999999)
    through_api(db, None, "working_memory.get")
    clock.advance(microseconds=1)
    with refused(db, "LM301"):
        through_api(db, None, "working_memory.get")


def test_it_is_renewed_by_setting_it_again(db: Connection, clock: Clock) -> None:
    clock.set(NOON)
    switch_on(db, 60)
    clock.advance(seconds=40)
    assert switch_on(db, 60) == NOON + timedelta(seconds=100)
    clock.advance(seconds=59)
    through_api(db, None, "working_memory.get")
    assert db.execute("select count(*) from loom.open_mode").fetchone() == (1,)


def test_switching_on_is_audited_and_renewing_is_not(db: Connection, clock: Clock) -> None:
    clock.set(NOON)
    switch_on(db)
    clock.advance(seconds=20)
    switch_on(db)
    assert audited(db) == [("-", "open_mode.on", {})]
    row = db.execute("select actor from loom.audit").fetchone()
    assert row is not None
    assert row[0].startswith("operator:")
    clock.advance(seconds=60)
    switch_on(db)
    assert [action for _org, action, _subject in audited(db)] == ["open_mode.on"] * 2


def test_each_admin_operation_under_it_is_audited(db: Connection, clock: Clock) -> None:
    clock.set(NOON)
    switch_on(db)
    clock.advance(seconds=1)
    through_api(db, None, "working_memory.set", org="o", content="x")
    through_api(db, None, "working_memory.get", org="o")
    through_api(db, None, "namespace.list", org="o")
    clock.advance(seconds=1)
    through_api(db, None, "token.list", org="o")
    clock.advance(seconds=1)
    through_api(db, None, "namespace.update", org="o", key="k")
    through_api(db, None, "namespace.update", org="o", key="k")
    assert audited(db)[1:] == [
        ("o", "open_mode.admin", {"op": "token.list"}),
        ("o", "open_mode.admin", {"op": "namespace.update"}),
    ]


def test_admin_operations_in_a_batch_under_it_are_audited(db: Connection) -> None:
    switch_on(db)
    through_api(db, None, "batch", requests=[{"op": "token.list"}, {"op": "namespace.list"}])
    assert audited(db)[1:] == [("dev", "open_mode.admin", {"op": "token.list"})]


def test_a_tokens_admin_operations_are_not_open_modes(db: Connection, mint: Mint) -> None:
    switch_on(db)
    through_api(db, mint(role="admin"), "token.list")
    assert "open_mode.admin" not in [action for _org, action, _subject in audited(db)]


@pytest.mark.parametrize("seconds", [0, -1, 61, 2**31 - 1, None])
def test_it_lasts_a_minute_at_most(db: Connection, seconds: int | None) -> None:
    with refused(db, "LM001") as refusal:
        db.execute("select loom.open_mode_set(%s::integer)", (seconds,))
    assert refusal.detail["field"] == "p_seconds"


@pytest.mark.parametrize(
    "login",
    [
        *("loom_gateway", "loom_worker", "loom_test_viewer", "loom_test_writer"),
        *("loom_test_admin", "loom_test_operator"),
    ],
)
def test_no_client_switches_it_on_or_off(db: Connection, login: str) -> None:
    for statement in (b"select loom.open_mode_set(60)", b"select loom.open_mode_clear()"):
        with refused(db, "42501"), acting_as(db, login):
            db.execute(statement)


def test_it_is_no_pass_for_services(db: Connection) -> None:
    switch_on(db)
    with refused(db, "LM302"), acting_as(db, "loom_test_viewer"):
        operate(db, "working_memory.get", org="acme", namespace="main")


def test_no_setting_switches_it_on(db: Connection) -> None:
    for setting in ("loom.open_mode", "loom.org", "loom.role"):
        db.execute("select set_config(%s, 'on', false)", (setting,))
    with refused(db, "LM301"):
        through_api(db, None, "working_memory.get", org="on")


def test_an_org_of_nobody_reads_as_empty(db: Connection) -> None:
    switch_on(db)
    wm(db, "set", content="x")
    answer = through_api(db, None, "working_memory.list", org="nobody's", namespace="main")
    assert answer["items"] == []
    assert db.execute("select name from loom.org").fetchall() == [("acme",)]

"""profile.activity, and its record: who read which sections, as the API alone records it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import psycopg
import pytest

from tests.calls import Answer, Token, operate, refused
from tests.databases import Clock
from tests.sql.doors import IDENTITY, as_service, batch, execute, through_api
from tests.sql.facts import NOON, section

Connection = psycopg.Connection[Any]
Mint = Callable[..., Token]

PLACE: Answer = {"namespace": "main", "agent": "coder"}


@pytest.fixture(autouse=True)
def _sections(db: Connection, clock: Clock) -> None:
    """Two sections of u, one of v and one of everyone's, at noon."""
    clock.set(NOON)
    for user, label in (("u", "one"), ("u", "two"), ("v", "one"), ("-", "one")):
        section(db, "set", label=label, value="x", user_id=user)


def record(db: Connection, token: Token | None, *reads: tuple[str, str, int], **more: Any) -> int:
    """Records reads as the API does: user, label, how often. How many rows were written."""
    told = [{"user_id": user, "label": label, "reads": count} for user, label, count in reads]
    answer = through_api(db, token, "profile.activity_record", **{**PLACE, "reads": told, **more})
    return answer["recorded"]  # type: ignore[no-any-return]


def activity(db: Connection, **request: Any) -> list[Answer]:
    return section(db, "activity", **{"read_scope": "namespace", **request})["clients"]  # type: ignore[no-any-return]


def test_reads_are_told_by_client_section_and_day(db: Connection, clock: Clock, mint: Mint) -> None:
    labelled, plain = mint(role="viewer", label="dashboard"), mint(role="writer")
    assert record(db, labelled, ("u", "one", 3), ("u", "two", 1)) == 2
    clock.advance(seconds=5)
    assert record(db, labelled, ("u", "one", 2)) == 1
    clock.advance(hours=13)
    record(db, labelled, ("u", "one", 1), agent="other")
    record(db, labelled, ("u", "one", 10))
    clock.advance(seconds=1)
    record(db, plain, ("u", "one", 1))
    assert section(db, "activity", user_id="u") == {
        "lookback_days": 30,
        "clients": [
            {
                "client": "writer",
                "agent": "coder",
                "label": "one",
                "reads": 1,
                "last_at": "2026-03-02T01:00:06.000000Z",
                "days": {"2026-03-02": 1},
            },
            {
                "client": "dashboard",
                "agent": "coder",
                "label": "one",
                "reads": 15,
                "last_at": "2026-03-02T01:00:05.000000Z",
                "days": {"2026-03-01": 5, "2026-03-02": 10},
            },
            {
                "client": "dashboard",
                "agent": "other",
                "label": "one",
                "reads": 1,
                "last_at": "2026-03-02T01:00:05.000000Z",
                "days": {"2026-03-02": 1},
            },
            {
                "client": "dashboard",
                "agent": "coder",
                "label": "two",
                "reads": 1,
                "last_at": "2026-03-01T12:00:00.000000Z",
                "days": {"2026-03-01": 1},
            },
        ],
    }


def test_there_is_one_row_for_a_client_a_section_and_a_day(db: Connection, mint: Mint) -> None:
    token = mint(role="viewer")
    for _ in range(3):
        record(db, token, ("u", "one", 1), ("u", "one", 2))
    rows = db.execute("select reads, day::text from loom.profile_activity").fetchall()
    assert rows == [(9, "2026-03-01")]


def test_without_a_token_the_client_is_open_mode(db: Connection) -> None:
    db.execute("select loom.open_mode_set(60)")
    record(db, None, ("u", "one", 1), org="acme")
    assert [client["client"] for client in activity(db)] == ["open"]


def test_days_are_those_of_utc(db: Connection, clock: Clock, mint: Mint) -> None:
    db.execute("set local timezone = 'Pacific/Kiritimati'")
    clock.set(NOON.replace(hour=23, minute=59))
    record(db, mint(role="viewer"), ("u", "one", 1))
    assert activity(db)[0]["days"] == {"2026-03-01": 1}


def test_only_sections_that_are_there_are_recorded(db: Connection, mint: Mint) -> None:
    reads = [("u", "three", 1), ("w", "one", 1), ("u", "one", 1), ("u", "One", 1), ("u%", "one", 1)]
    assert record(db, mint(role="viewer"), *reads) == 1
    assert record(db, mint(role="viewer"), ("u", "one", 1), namespace="other") == 0


def test_recording_makes_no_namespace_of_another(db: Connection, mint: Mint) -> None:
    with refused(db, "LM302"):
        record(db, mint(role="viewer", namespace="main"), ("u", "one", 1), namespace="other")


@pytest.mark.parametrize("days", [1, 2, 30])
def test_a_look_back_counts_whole_days_with_today(
    db: Connection, clock: Clock, mint: Mint, days: int
) -> None:
    token = mint(role="viewer")
    record(db, token, ("u", "one", 1))
    clock.set(NOON.replace(hour=0))
    clock.advance(days=days - 1, hours=23, minutes=59)
    assert len(activity(db, lookback_days=days)) == 1
    clock.advance(minutes=1)
    assert activity(db, lookback_days=days) == []


@pytest.mark.parametrize("days", [0, 31, -1, 1.5, "30", True])
def test_a_look_back_is_one_to_thirty_days(db: Connection, days: Any) -> None:
    with refused(db, "LM001") as refusal:
        section(db, "activity", lookback_days=days)
    assert refusal.detail["field"] == "lookback_days"


def test_activity_reaches_no_further_than_other_reads(db: Connection, mint: Mint) -> None:
    token = mint(role="viewer")
    record(db, token, ("u", "one", 1), ("v", "one", 2), ("-", "one", 4))

    def total(**request: Any) -> int:
        return sum(client["reads"] for client in activity(db, **request))

    assert total(read_scope="own_user") == 4
    assert total(read_scope="own_user", user_id="u") == 5
    assert total() == 7
    pinned = mint(role="viewer", read_user_id="v")
    answer = through_api(db, pinned, "profile.activity", namespace="main")
    assert [client["reads"] for client in answer["clients"]] == [6]
    assert total(namespace="other") == 0


def test_reading_takes_no_more_than_a_viewer(services: Connection) -> None:
    answer = as_service(
        services, "loom_test_viewer", "profile.activity", org="acme", namespace="main"
    )
    assert answer == {"lookback_days": 30, "clients": []}


READS: Answer = {"reads": [{"user_id": "u", "label": "one", "reads": 1}]}


@pytest.mark.parametrize("role", ["viewer", "writer", "admin"])
def test_no_service_records(services: Connection, role: str) -> None:
    request = {"org": "acme", "namespace": "main", **READS}
    with refused(services, "LM302") as refusal:
        as_service(services, f"loom_test_{role}", "profile.activity_record", **request)
    assert refusal.detail == {"reason": "only the API records reads"}
    assert services.execute("select count(*) from loom.profile_activity").fetchone() == (0,)


def test_no_operator_records_by_any_door(db: Connection) -> None:
    with refused(db, "LM302"):
        operate(db, "profile.activity_record", **IDENTITY, **READS)
    with refused(db, "LM302"):
        execute(db, "profile.activity_record", **IDENTITY, **READS)
    (result,) = batch(db, {"op": "profile.activity_record", **IDENTITY, **READS})
    assert (result["status"], result["error"]["field"]) == (400, "op")


@pytest.mark.parametrize(
    "reads",
    [
        *(None, "u", 1, {}, [1], ["u"], [None], [[]]),
        *([{}], [{"user_id": "u", "label": "one"}], [{"user_id": "u", "reads": 1}]),
        *([{"label": "one", "reads": 1}], [{"user_id": 1, "label": "one", "reads": 1}]),
        *([{"user_id": "u", "label": None, "reads": 1}],),
        *([{"user_id": "u", "label": "one", "reads": count}] for count in (0, -1, "1", 1_000_001)),
        [{"user_id": "u", "label": "one", "reads": 10**400}],
        [{"user_id": "u", "label": "one", "reads": 1}] * 1001,
    ],
    ids=lambda reads: ascii(reads)[:60],
)
def test_reads_of_another_shape_are_refused(db: Connection, mint: Mint, reads: Any) -> None:
    with refused(db, "LM001") as refusal:
        through_api(db, mint(role="viewer"), "profile.activity_record", **{**PLACE, "reads": reads})
    assert refusal.detail["field"] == "reads"


def test_a_thousand_reads_are_recorded_at_once(db: Connection, mint: Mint) -> None:
    assert record(db, mint(role="viewer"), *[("u", "one", 1_000_000)] * 1000) == 1
    assert activity(db)[0]["reads"] == 10**9


def test_no_reads_are_none(db: Connection, mint: Mint) -> None:
    assert record(db, mint(role="viewer")) == 0

"""What the fields of memory.set take: tags, confidence, sources, times, and what clears them."""

from __future__ import annotations

import json
from typing import Any

import psycopg
import pytest

from tests.calls import refused
from tests.databases import Clock
from tests.sql.facts import NOON, each, fact
from tests.sql.texts import UNITS, exactly

Connection = psycopg.Connection[Any]

DATES = {"valid_at": "2026-01-01T00:00:00.000000Z", "valid_to": "2027-01-01T00:00:00.000000Z"}
TIME_FIELDS = ("valid_at", "valid_to", "expires_at")


def dates(db: Connection) -> dict[str, str | None]:
    got = fact(db, "get")
    return {name: got[name] for name in DATES}


def test_tags_come_back_sorted_in_byte_order_and_each_once(db: Connection) -> None:
    tags = ["b", "a", "B", "é", "😀", "b", "a ", "%", "\uff61"]
    fact(db, "set", value=1, tags=tags)
    assert fact(db, "get")["tags"] == sorted(set(tags), key=str.encode)


@pytest.mark.parametrize("unit", UNITS.values(), ids=UNITS)
def test_o37_a_tag_has_at_most_a_hundred_code_points(db: Connection, unit: str) -> None:
    fact(db, "set", value=1, tags=[exactly(100, unit)])
    with refused(db, "LM406") as refusal:
        fact(db, "set", value=1, tags=["a", exactly(101, unit)])
    assert refusal.detail == {"what": "tags", "limit": 100, "value": 101, "unit": "characters"}


def test_a_tag_is_not_empty(db: Connection) -> None:
    with refused(db, "LM406") as refusal:
        fact(db, "set", value=1, tags=["a", ""])
    assert refusal.detail == {"what": "tags", "limit": 100, "value": 0, "unit": "characters"}


def test_a_row_has_at_most_fifty_tags(db: Connection) -> None:
    fifty = [f"tag{number}" for number in range(50)]
    fact(db, "set", value=1, tags=fifty * 2)
    with refused(db, "LM406") as refusal:
        fact(db, "set", value=1, tags=[*fifty, "one more"])
    assert refusal.detail == {"what": "tags", "limit": 50, "value": 51}


@pytest.mark.parametrize("tags", ["a", 1, {}, [1], [None], [["a"]], [True], ["a", 10**400]])
def test_tags_are_a_list_of_strings(db: Connection, tags: Any) -> None:
    with refused(db, "LM001") as refusal:
        fact(db, "set", value=1, tags=tags)
    assert refusal.detail == {"field": "tags", "reason": "must be a list of strings"}


@pytest.mark.parametrize(
    ("given", "kept"),
    [(0, 0), (1, 1), (0.5, 0.5), (0.1234, 0.123), (0.1235, 0.124), (1e-9, 0), (0.9999, 1)],
)
def test_confidence_keeps_three_decimals(db: Connection, given: float, kept: float) -> None:
    fact(db, "set", value=1, confidence=given)
    assert fact(db, "get")["confidence"] == kept


@pytest.mark.parametrize(
    "confidence", [-0.001, 1.0001, 2, "1", "", True, [], {}, 10**400, "NaN", "Infinity"]
)
def test_confidence_is_a_number_from_0_to_1(db: Connection, confidence: Any) -> None:
    with refused(db, "LM001") as refusal:
        fact(db, "set", value=1, confidence=confidence)
    assert refusal.detail == {"field": "confidence", "reason": "must be a number from 0 to 1"}


def test_confidence_of_few_characters_and_many_digits_is_only_a_small_number(
    db: Connection,
) -> None:
    db.execute(
        "select loom.memory_set(%s)",
        (
            '{"org": "acme", "namespace": "main", "agent": "coder", "memory_key": "likes",'
            ' "value": 1, "confidence": 1e-16000}',
        ),
    )
    assert fact(db, "get")["confidence"] == 0


def test_o58_a_caller_cannot_write_as_the_worker(db: Connection) -> None:
    with refused(db, "LM001") as refusal:
        fact(db, "set", value=1, source_class="derived")
    assert refusal.detail["field"] == "source_class"
    for trace in ("profile.fold:", "profile.fold:1,2", "profile.fold:😀"):
        with refused(db, "LM001") as refusal:
            fact(db, "set", value=1, source_trace=trace)
        assert refusal.detail == {"field": "source_trace", "reason": "is the worker's own"}
    for trace in ("profile.fold", "a profile.fold:", "Profile.fold:1", " profile.fold:"):
        fact(db, "set", value=1, source_trace=trace)
        assert fact(db, "get")["source_trace"] == trace


@pytest.mark.parametrize("unit", UNITS.values(), ids=UNITS)
def test_o37_a_trace_has_at_most_two_thousand_code_points(db: Connection, unit: str) -> None:
    fact(db, "set", value=1, source_trace=exactly(2000, unit))
    with refused(db, "LM406") as refusal:
        fact(db, "set", value=1, source_trace=exactly(2001, unit))
    assert refusal.detail == {"what": "source_trace", "limit": 2000, "value": 2001}


@pytest.mark.parametrize("field", TIME_FIELDS)
@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("2027-01-31T09:30:00Z", "2027-01-31T09:30:00.000000Z"),
        ("2027-01-31t09:30:00z", "2027-01-31T09:30:00.000000Z"),
        ("2027-01-31 09:30:00.5+02:00", "2027-01-31T07:30:00.500000Z"),
        ("2027-01-01T00:30:00+05:45", "2026-12-31T18:45:00.000000Z"),
        ("2027-01-31T09:30:00.123456789Z", "2027-01-31T09:30:00.123457Z"),
        ("2028-02-29T23:59:59.999999-12:00", "2028-03-01T11:59:59.999999Z"),
        ("9999-12-31T23:59:59Z", "9999-12-31T23:59:59.000000Z"),
    ],
)
def test_a_time_is_iso_8601_with_a_zone(db: Connection, field: str, given: str, kept: str) -> None:
    db.execute("set local timezone = 'America/St_Johns'")
    db.execute("set local datestyle = 'SQL, DMY'")
    fact(db, "set", value=1, **{field: given})
    assert fact(db, "get")[field] == kept


@pytest.mark.parametrize("field", TIME_FIELDS)
@pytest.mark.parametrize(
    "given",
    [
        *("", "now", "infinity", "-infinity", "epoch", "tomorrow", "allballs", "2027"),
        *("2027-01-31", "2027-01-31T09:30:00", "2027-01-31T09:30Z", "09:30:00Z"),
        *("2027-02-29T00:00:00Z", "2100-02-29T00:00:00Z", "2027-13-01T00:00:00Z"),
        *("2027-00-01T00:00:00Z", "2027-01-00T00:00:00Z", "2027-04-31T00:00:00Z"),
        *("2027-01-31T24:00:00Z", "2027-01-31T23:60:00Z", "2027-01-31T23:59:60Z"),
        *("2027-01-31T09:30:00+24:00", "2027-01-31T09:30:00+01:60", "2027-01-31T09:30:00+1"),
        *("0000-01-01T00:00:00Z", "12027-01-31T09:30:00Z", "-2027-01-31T09:30:00Z"),
        *("2027-01-31T09:30:00Z\n", " 2027-01-31T09:30:00Z", "2027-01-31T09:30:00Z BC"),
        *("2027-01-31T09:30:00.Z", "2027-01-31T09:30:00.1234567890Z", "٢٠٢٧-01-31T09:30:00Z"),
        *("2027-01-31T09:30:00 Europe/Berlin", "31/01/2027 09:30:00Z", "x" * 100_000),
        # No such year when told in UTC.
        *("0001-01-01T00:00:00+01:00", "9999-12-31T23:59:59-01:00"),
        "9999-12-31T23:59:59.9999999Z",
    ],
)
def test_any_other_time_is_refused(db: Connection, field: str, given: str) -> None:
    with refused(db, "LM001") as refusal:
        fact(db, "set", value=1, **{field: given})
    assert refusal.detail["field"] == field
    assert refusal.detail["reason"].startswith("must be a time")


def test_a_changed_value_drops_the_dates_of_the_old_one(db: Connection) -> None:
    fact(db, "set", value="old", **DATES)
    fact(db, "set", value="old", confidence=0.5)
    assert dates(db) == DATES
    fact(db, "set", value="new")
    assert dates(db) == dict.fromkeys(DATES)


@pytest.mark.parametrize("named", DATES)
def test_a_changed_value_has_the_dates_named_with_it(db: Connection, named: str) -> None:
    fact(db, "set", value="old", **DATES)
    fact(db, "set", value="new", **{named: "2026-06-01T00:00:00Z"})
    assert dates(db) == {**dict.fromkeys(DATES), named: "2026-06-01T00:00:00.000000Z"}


@pytest.mark.parametrize("named", DATES)
def test_the_same_value_keeps_the_date_that_is_not_named(db: Connection, named: str) -> None:
    fact(db, "set", value="old", **DATES)
    fact(db, "set", value="old", **{named: "2026-06-01T00:00:00Z"})
    assert dates(db) == {**DATES, named: "2026-06-01T00:00:00.000000Z"}


def test_clear_valid_takes_the_dates_away(db: Connection) -> None:
    fact(db, "set", value="old", **DATES)
    assert fact(db, "set", value="old", clear_valid=False)["noop"] is True
    assert fact(db, "set", value="old", clear_valid=True)["version"] == 2
    assert dates(db) == dict.fromkeys(DATES)
    assert fact(db, "set", value="old", clear_valid=True)["noop"] is True
    fact(db, "set", value="old", clear_valid=True, valid_at=DATES["valid_at"])
    assert dates(db) == {"valid_at": DATES["valid_at"], "valid_to": None}


def test_a_time_to_live_counts_from_the_write(db: Connection, clock: Clock) -> None:
    clock.set(NOON)
    fact(db, "set", value=1, ttl_seconds=90)
    assert fact(db, "get")["expires_at"] == "2026-03-01T12:01:30.000000Z"
    clock.advance(seconds=60)
    fact(db, "set", value=1, ttl_seconds=315_360_000)
    assert fact(db, "get")["expires_at"] == "2036-02-27T12:01:00.000000Z"


def test_expiry_stays_over_a_changed_value_until_it_is_cleared(
    db: Connection, clock: Clock
) -> None:
    clock.set(NOON)
    fact(db, "set", value=1, ttl_seconds=90)
    fact(db, "set", value=2)
    assert fact(db, "get")["expires_at"] == "2026-03-01T12:01:30.000000Z"
    fact(db, "set", value=2, clear_expiry=False)
    assert fact(db, "get")["expires_at"] is not None
    fact(db, "set", value=2, clear_expiry=True)
    assert fact(db, "get")["expires_at"] is None
    clock.advance(seconds=5)
    fact(db, "set", value=2, clear_expiry=True, ttl_seconds=1)
    assert fact(db, "get")["expires_at"] == "2026-03-01T12:00:06.000000Z"


def test_a_time_to_live_contradicts_an_expiry(db: Connection) -> None:
    with refused(db, "LM001") as refusal:
        fact(db, "set", value=1, ttl_seconds=1, expires_at="2030-01-01T00:00:00Z")
    assert refusal.detail == {"field": "ttl_seconds", "reason": "contradicts expires_at"}
    fact(db, "set", value=1, ttl_seconds=None, expires_at="2030-01-01T00:00:00Z")


@pytest.mark.parametrize("ttl", [0, -1, 315_360_001, 1.5, "60", True, [], 10**400])
def test_a_time_to_live_is_a_second_to_ten_years(db: Connection, ttl: Any) -> None:
    with refused(db, "LM001") as refusal:
        fact(db, "set", value=1, ttl_seconds=ttl)
    assert refusal.detail["field"] == "ttl_seconds"


@pytest.mark.parametrize(
    ("field", "wrong"),
    [
        *each("memory_type", "fact", "", "Semantic", "semantic ", 1, []),
        *each("source_class", "worker", "", "STATED", 1, {}),
        *each("sensitivity", "secret", "", "HIGH", 1, True),
        *(*each("pinned", "true", 1, []), *each("clear_valid", "true", 1, [])),
        *(*each("clear_expiry", "", 0, {}), *each("dry_run", "", 0, {})),
        *[("if_absent", "yes"), ("if_match_sha256", 1), ("source_trace", ["x"])],
        *each("char_limit", "1", 1.5, True, []),
    ],
    ids=json.dumps,
)
def test_a_field_of_another_type_or_word_is_refused_by_name(
    db: Connection, field: str, wrong: Any
) -> None:
    with refused(db, "LM001") as refusal:
        fact(db, "set", value=1, **{field: wrong})
    assert refusal.detail["field"] == field

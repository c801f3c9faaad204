"""The bounds of a soak: what grows is found, and what only moves is not."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bench.soak.samples import Memory, Sample, Table
from bench.soak.verdict import growth, verdict

PACE = 400.0
MIB = 1 << 20


def sample(number: int) -> Sample:
    """The n-th of a run in which nothing grows, five seconds after the one before; a little moves
    up and down, as in any."""
    shake = number % 3
    return Sample(
        seconds=5.0 * (number + 1),
        memory={"API": Memory(60_000, 50_000 + 300 * shake), "worker": Memory(60_000, 50_000)},
        cpu={"PostgreSQL": 0.5},
        tables={
            "memory": Table(1000, 100 * shake, (8 + shake) * MIB, 8 * MIB),
            "audit": Table(1000, 0, 8 * MIB, 8 * MIB),
        },
        oldest_due={"structured_profile": float(shake), "embedding": 0.0},
        work={"structured_profile: written": number},
        ops_per_second=PACE - shake,
        p50_ms=5.0,
        p99_ms=50.0,
        errors=0,
        late=0,
    )


RUN = [sample(number) for number in range(60)]


def broken(samples: list[Sample], errors: dict[str, int] | None = None, log: str = "") -> list[str]:
    """The bounds that do not hold."""
    found = verdict(samples, PACE, errors or {}, [log] if log else [])
    return [each.what for each in found if not each.holds]


def test_a_run_in_which_nothing_grows_holds_all_bounds() -> None:
    found = verdict(RUN, PACE, {}, [])
    assert all(each.holds for each in found), found
    assert len({each.what for each in found}) == len(found) >= 8


def test_a_process_that_leaks_is_named() -> None:
    leaking = [
        replace(each, memory={**each.memory, "worker": Memory(0, 50_000 + 150 * number)})
        for number, each in enumerate(RUN)
    ]
    assert broken(leaking) == ["memory of the worker"]


def test_what_grew_only_at_the_start_is_no_leak() -> None:
    warming = [
        replace(each, memory={**each.memory, "API": Memory(0, 50_000 if number >= 20 else 20_000)})
        for number, each in enumerate(RUN)
    ]
    assert broken(warming) == []


def test_one_odd_sample_is_no_leak() -> None:
    odd = [*RUN[:-1], replace(RUN[-1], memory={**RUN[-1].memory, "API": Memory(0, 500_000)})]
    assert broken(odd) == []


def test_a_table_that_grows_while_its_rows_do_not_is_named() -> None:
    bloated = [
        replace(each, tables={**each.tables, "memory": Table(1000, 0, 8 * MIB + number * MIB, 0)})
        for number, each in enumerate(RUN)
    ]
    assert broken(bloated) == ["bytes of tables and indexes: memory"]


def with_words(mib_of_indexes: list[float], mib_of_rows: int = 2) -> list[Sample]:
    return [
        replace(
            each,
            tables={
                **each.tables,
                "memory_text": Table(1000, 0, mib_of_rows * MIB, int(mib * MIB)),
            },
        )
        for each, mib in zip(RUN, mib_of_indexes, strict=True)
    ]


def test_an_index_that_is_built_anew_now_and_then_may_grow_until_then() -> None:
    assert broken(with_words([n % 9 / 3 for n in range(60)])) == []


def test_while_it_is_built_there_are_two() -> None:
    assert broken(with_words([1.0] * 59 + [99.0])) == []


def test_one_that_nobody_builds_anew_is_named() -> None:
    words = "bytes of indexes for each of rows: memory_text"
    assert broken(with_words([n / 10 for n in range(60)])) == [words]


def test_the_rows_of_such_a_table_may_grow_no_more_than_others() -> None:
    grown = [
        replace(each, tables={**each.tables, "memory_text": Table(1000, 0, (8 + n) * MIB, 0)})
        for n, each in enumerate(RUN)
    ]
    assert broken(grown) == ["bytes of tables and indexes: memory_text"]


def test_what_is_kept_on_purpose_may_grow_by_its_rows_and_by_no_more() -> None:
    kept = [
        replace(each, tables={**each.tables, "audit": Table(1000 + 100 * n, 0, (10 + n) * MIB, 0)})
        for n, each in enumerate(RUN)
    ]
    assert broken(kept) == []
    bloated = [
        replace(each, tables={**each.tables, "audit": Table(1000, 0, (10 + n) * MIB, 0)})
        for n, each in enumerate(RUN)
    ]
    assert broken(bloated) == ["bytes a row of what is kept: audit"]


def test_work_that_waits_for_too_long_is_named_with_its_kind() -> None:
    waiting = [*RUN[:-1], replace(RUN[-1], oldest_due={"embedding": 61.0})]
    (late,) = (each for each in verdict(waiting, PACE, {}, []) if not each.holds)
    assert late.found == "61 s (embedding)"


def test_a_pace_that_was_not_kept_is_found() -> None:
    slow = [replace(each, ops_per_second=0.8 * PACE) for each in RUN]
    assert broken(slow) == ["operations a second"]


@pytest.mark.parametrize(
    ("errors", "log", "what"),
    [
        ({"memory.set: 500 INTERNAL": 1}, "", "refused or failed calls"),
        ({}, '{"level": "error"}', "errors in the logs"),
    ],
)
def test_a_single_error_is_enough(errors: dict[str, int], log: str, what: str) -> None:
    assert broken(RUN, errors, log) == [what]


def test_failed_work_is_found() -> None:
    failed = [*RUN[:-1], replace(RUN[-1], work={"night_weaving: failed": 1})]
    assert broken(failed) == ["work that failed"]


def test_growth_is_the_median_slope_times_the_time() -> None:
    assert growth([(0.0, 10.0), (1.0, 12.0), (2.0, 14.0), (3.0, 16.0)]) == 6.0
    assert growth([(0.0, 10.0)]) == 0.0

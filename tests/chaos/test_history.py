"""The checker: a history that is whole passes, and each way of breaking it is found."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from tests.chaos.history import History, Row, Write, check

Final = dict[str, Row]


def whole() -> tuple[History, Final]:
    """Three writers' lines in a shared row, batches over two, and own rows."""
    history = History()
    history.shared = [
        Write("log", "a-1", 1),
        Write("log", "b-1", 2),
        Write("log", "c-1", None),  # cut off, and carried out
        Write("log", "a-2", 4, together="batch"),
        Write("other", "a-2'", 1, together="batch"),
        Write("log", "b-2", None),  # cut off, and not carried out
        Write("log", "c-2", None, together="cut off"),
        Write("other", "c-2'", None, together="cut off"),
    ]
    history.own["own"] = [Write("own", "one", 1), Write("own", None, 2), Write("own", "three", 3)]
    history.own["kept"] = [
        Write("kept", "1", 1),
        Write("kept", None, 2),
        Write("kept", "x", None),
    ]
    history.own["new"] = [Write("new", "one", None)]
    history.reads = [("own", 2, 2), ("own", 3, 2)]
    final = {
        "log": Row("a-1\nb-1\nc-1\na-2", 4),
        "other": Row("a-2'", 1),
        "own": Row("three", 3),
        "kept": Row(None, 2, ("1", None)),
    }
    return history, final


def test_a_whole_history_is_clean() -> None:
    history, final = whole()
    verdict = check(history, final)
    assert verdict.clean, verdict.report()
    assert (history.acknowledged, history.unanswered) == (9, 6)


def test_a_write_that_was_cut_off_may_be_there_or_not() -> None:
    history, final = whole()
    history.own["own"].append(Write("own", "four", None))
    assert check(history, final).clean
    assert check(history, {**final, "own": Row("four", 4)}).clean
    assert check(history, {**final, "new": Row("one", 1)}).clean
    assert check(history, {**final, "kept": Row("x", 3, ("1", None, "x"))}).clean


Break = Callable[[History, Final], None]


def lose_a_line(_: History, final: Final) -> None:
    final["log"] = Row("a-1\nc-1\na-2", 3)


def lose_the_last_line(_: History, final: Final) -> None:
    final["other"] = Row(None, 0)


def lose_a_row(_: History, final: Final) -> None:
    del final["log"]


def lose_an_own_row(_: History, final: Final) -> None:
    del final["own"]


def lose_the_last_own_write(_: History, final: Final) -> None:
    final["own"] = Row(None, 2)


def begin_versions_again(history: History, _: Final) -> None:
    history.own["own"][2] = Write("own", "three", 1)


def double_a_line(_: History, final: Final) -> None:
    final["log"] = Row("a-1\nb-1\nc-1\na-2\na-1", 5)


def double_a_line_that_was_cut_off(_: History, final: Final) -> None:
    final["log"] = Row("a-1\nb-1\nc-1\na-2\nc-1", 5)


def double_an_own_write(history: History, final: Final) -> None:
    history.own["own"][2] = Write("own", "three", 4)
    final["own"] = Row("three", 4)


def double_the_last_own_write(_: History, final: Final) -> None:
    final["own"] = Row("three", 4)


def skip_a_version(_: History, final: Final) -> None:
    final["log"] = replace(final["log"], version=5)


def swap_two_lines(_: History, final: Final) -> None:
    final["log"] = Row("b-1\na-1\nc-1\na-2", 4)


def tell_a_version_twice(history: History, _: Final) -> None:
    history.shared[1] = Write("log", "b-1", 1)


def keep_an_old_text(_: History, final: Final) -> None:
    final["own"] = Row("one", 3)


def drop_a_version(_: History, final: Final) -> None:
    final["kept"] = Row(None, 2, ("1",))


def change_a_version(_: History, final: Final) -> None:
    final["kept"] = Row(None, 2, ("two", None))


def tear_a_batch(_: History, final: Final) -> None:
    final["log"] = Row("a-1\nb-1\nc-1\na-2\nc-2", 5)


def tear_an_acknowledged_batch(_: History, final: Final) -> None:
    del final["other"]


def read_the_past(history: History, _: Final) -> None:
    history.reads.append(("own", 1, 2))


def write_what_nobody_wrote(_: History, final: Final) -> None:
    final["log"] = Row("a-1\nb-1\nc-1\na-2\nz-9", 5)


def make_a_row(_: History, final: Final) -> None:
    final["strange"] = Row("", 1)


@pytest.mark.parametrize(
    ("kind", "how"),
    [
        ("lost", lose_a_line),
        ("lost", lose_the_last_line),
        ("lost", lose_a_row),
        ("lost", lose_an_own_row),
        ("lost", lose_the_last_own_write),
        ("lost", begin_versions_again),
        ("doubled", double_a_line),
        ("doubled", double_a_line_that_was_cut_off),
        ("doubled", double_an_own_write),
        ("doubled", double_the_last_own_write),
        ("gaps", skip_a_version),
        ("gaps", swap_two_lines),
        ("gaps", tell_a_version_twice),
        ("gaps", keep_an_old_text),
        ("gaps", drop_a_version),
        ("gaps", change_a_version),
        ("torn", tear_a_batch),
        ("torn", tear_an_acknowledged_batch),
        ("stale", read_the_past),
        ("unknown", write_what_nobody_wrote),
        ("unknown", make_a_row),
    ],
)
def test_what_is_broken_is_found(kind: str, how: Break) -> None:
    history, final = whole()
    how(history, final)
    verdict = check(history, final)
    assert verdict.counts[kind] > 0, verdict.report()
    assert not verdict.clean
    assert kind in verdict.report()

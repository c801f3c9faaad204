"""The checker: a history that is whole passes, and each way of breaking it is found."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from tests.chaos.history import Final, History, Row, Write, check
from tests.chaos.linearizability import Operation


def whole() -> tuple[History, Final]:
    """Three writers' lines in a shared row, batches over two, own rows, items, and all else."""
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
    history.items = [Write("thread", "t-1", 0), Write("turn", "t-1", 0), Write("turn", "t-2", None)]
    history.latest["name"] = [Write("name", "Ann", 0), Write("name", "Bo", 0)]
    history.bound["run"] = {"loom 1"}
    history.operations = [
        Operation("k", 1, "write", "done", 0, 1, "a", None, 1),
        Operation("k", 2, "write", "unknown", 2, text="b"),
        Operation("k", 1, "read", "done", 3, 4, "a", version=1),
    ]
    rows = {
        "log": Row("a-1\nb-1\nc-1\na-2", 4),
        "other": Row("a-2'", 1),
        "own": Row("three", 3),
        "kept": Row(None, 2, ("1", None)),
        "name": Row("Bo", 2),
    }
    return history, Final(rows, {"thread": ["t-1"], "turn": ["t-1"]})


def test_a_whole_history_is_clean() -> None:
    history, final = whole()
    verdict = check(history, final)
    assert verdict.clean, verdict.report()
    assert (history.acknowledged, history.unanswered) == (14, 8)


def test_a_write_that_was_cut_off_may_be_there_or_not() -> None:
    history, final = whole()
    history.own["own"].append(Write("own", "four", None))
    history.latest["name"].append(Write("name", "Cy", None))
    assert check(history, final).clean
    final.rows["own"] = Row("four", 4)
    final.rows["new"] = Row("one", 1)
    final.rows["kept"] = Row("x", 3, ("1", None, "x"))
    final.rows["name"] = Row("Cy", 3)
    final.items["turn"].append("t-2")
    assert check(history, final).clean


Break = Callable[[History, Final], None]


def lose_a_line(_: History, final: Final) -> None:
    final.rows["log"] = Row("a-1\nc-1\na-2", 3)


def lose_the_last_line(_: History, final: Final) -> None:
    final.rows["other"] = Row(None, 0)


def lose_a_row(_: History, final: Final) -> None:
    del final.rows["log"]


def lose_an_own_row(_: History, final: Final) -> None:
    del final.rows["own"]


def lose_the_last_own_write(_: History, final: Final) -> None:
    final.rows["own"] = Row(None, 2)


def begin_versions_again(history: History, _: Final) -> None:
    history.own["own"][2] = Write("own", "three", 1)


def double_a_line(_: History, final: Final) -> None:
    final.rows["log"] = Row("a-1\nb-1\nc-1\na-2\na-1", 5)


def double_a_line_that_was_cut_off(_: History, final: Final) -> None:
    final.rows["log"] = Row("a-1\nb-1\nc-1\na-2\nc-1", 5)


def double_an_own_write(history: History, final: Final) -> None:
    history.own["own"][2] = Write("own", "three", 4)
    final.rows["own"] = Row("three", 4)


def double_the_last_own_write(_: History, final: Final) -> None:
    final.rows["own"] = Row("three", 4)


def skip_a_version(_: History, final: Final) -> None:
    final.rows["log"] = replace(final.rows["log"], version=5)


def swap_two_lines(_: History, final: Final) -> None:
    final.rows["log"] = Row("b-1\na-1\nc-1\na-2", 4)


def tell_a_version_twice(history: History, _: Final) -> None:
    history.shared[1] = Write("log", "b-1", 1)


def keep_an_old_text(_: History, final: Final) -> None:
    final.rows["own"] = Row("one", 3)


def drop_a_version(_: History, final: Final) -> None:
    final.rows["kept"] = Row(None, 2, ("1",))


def change_a_version(_: History, final: Final) -> None:
    final.rows["kept"] = Row(None, 2, ("two", None))


def tear_a_batch(_: History, final: Final) -> None:
    final.rows["log"] = Row("a-1\nb-1\nc-1\na-2\nc-2", 5)


def tear_an_acknowledged_batch(_: History, final: Final) -> None:
    del final.rows["other"]


def read_the_past(history: History, _: Final) -> None:
    history.reads.append(("own", 1, 2))


def write_what_nobody_wrote(_: History, final: Final) -> None:
    final.rows["log"] = Row("a-1\nb-1\nc-1\na-2\nz-9", 5)


def lose_an_item(_: History, final: Final) -> None:
    final.items["thread"].clear()


def double_an_item(_: History, final: Final) -> None:
    final.items["turn"].append("t-1")


def double_an_item_that_was_cut_off(_: History, final: Final) -> None:
    final.items["turn"] += ["t-2", "t-2"]


def make_an_item(_: History, final: Final) -> None:
    final.items["turn"].append("t-9")


def go_back_to_what_was_said_before(_: History, final: Final) -> None:
    final.rows["name"] = Row("Ann", 2)


def bind_two_looms_to_one_place(history: History, _: Final) -> None:
    history.bound["run"].add("loom 2")


def refuse_without_reason(history: History, _: Final) -> None:
    history.refused.append("memory: restore: MEMORY_NOT_FOUND")


def let_two_win(history: History, _: Final) -> None:
    history.operations.append(Operation("k", 3, "write", "done", 0, 1, "c", None, 1))


def make_a_row(_: History, final: Final) -> None:
    final.rows["strange"] = Row("", 1)


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
        ("lost", lose_an_item),
        ("doubled", double_an_item),
        ("doubled", double_an_item_that_was_cut_off),
        ("unknown", make_an_item),
        ("lost", go_back_to_what_was_said_before),
        ("doubled", bind_two_looms_to_one_place),
        ("impossible", let_two_win),
        ("refused", refuse_without_reason),
    ],
)
def test_what_is_broken_is_found(kind: str, how: Break) -> None:
    history, final = whole()
    how(history, final)
    verdict = check(history, final)
    assert verdict.counts[kind] > 0, verdict.report()
    assert not verdict.clean
    assert kind in verdict.report()

"""Pairs of writes of one block, and what the second must come to after the first."""

from __future__ import annotations

from dataclasses import dataclass

from tests.concurrency.callers import ADMIN, WRITER, Step, step

SET = "working_memory.set"
APPEND = "working_memory.append"
REPLACE = "working_memory.replace"
DELETE = "working_memory.delete"

ABSENT: tuple[Step, ...] = ()
LIVE = (step(SET, content="one"),)
TOMBSTONE = (*LIVE, step(DELETE))


@dataclass(frozen=True)
class Case:
    """What stands before, the two writes, and what the second must come to.

    `after` is the text at the end, None where no block is live. `answer` are fields of what the
    second answers, or of its refusal `sqlstate`.
    """

    name: str
    before: tuple[Step, ...]
    first: Step
    second: Step
    after: str | None
    answer: dict[str, object]
    sqlstate: str | None = None
    commit: bool = True
    first_login: str = WRITER


MINE = step(SET, content="mine")
THEIRS = step(SET, content="theirs")

CASES = [
    Case("set on absent, set", ABSENT, THEIRS, MINE, "mine", {"version": 2, "created": False}),
    Case(
        "set on absent taken back, set",
        ABSENT,
        THEIRS,
        MINE,
        "mine",
        {"version": 1, "created": True},
        commit=False,
    ),
    Case("set on live, set", LIVE, THEIRS, MINE, "mine", {"version": 3, "created": False}),
    Case(
        "set on tombstone, set", TOMBSTONE, THEIRS, MINE, "mine", {"version": 4, "created": False}
    ),
    Case(
        "set on tombstone taken back, set",
        TOMBSTONE,
        THEIRS,
        MINE,
        "mine",
        {"version": 3, "created": True},
        commit=False,
    ),
    Case(
        "set, delete",
        LIVE,
        THEIRS,
        step(DELETE),
        None,
        {"found": True, "tombstoned": True, "version": 3},
    ),
    Case(
        "set taken back, delete",
        LIVE,
        THEIRS,
        step(DELETE),
        None,
        {"found": True, "tombstoned": True, "version": 2},
        commit=False,
    ),
    Case("delete, set", LIVE, step(DELETE), MINE, "mine", {"version": 3, "created": True}),
    Case(
        "delete taken back, set",
        LIVE,
        step(DELETE),
        MINE,
        "mine",
        {"version": 2, "created": False},
        commit=False,
    ),
    Case(
        "delete, set with a hash",
        LIVE,
        step(DELETE),
        step(
            SET,
            content="mine",
            if_match_sha256="7692c3ad3540bb803c020b3aee66cd8887123234ea0c6e7143c0add73ff431ed",
        ),
        None,
        {"current_sha256": None, "current_version": None},
        "LM201",
    ),
    Case(
        "delete, set if absent",
        LIVE,
        step(DELETE),
        step(SET, content="mine", if_absent=True),
        "mine",
        {"version": 3, "created": True},
    ),
    Case(
        "delete, delete",
        LIVE,
        step(DELETE),
        step(DELETE),
        None,
        {"found": False, "tombstoned": True, "version": 2},
    ),
    Case(
        "set on tombstone, delete",
        TOMBSTONE,
        THEIRS,
        step(DELETE),
        None,
        {"found": True, "version": 4},
    ),
    Case(
        "append on absent, append",
        ABSENT,
        step(APPEND, addition="a"),
        step(APPEND, addition="b"),
        "a\nb",
        {"version": 2, "created": False},
    ),
    Case(
        "append on absent taken back, append",
        ABSENT,
        step(APPEND, addition="a"),
        step(APPEND, addition="b"),
        "b",
        {"version": 1, "created": True},
        commit=False,
    ),
    Case(
        "append on tombstone, append",
        TOMBSTONE,
        step(APPEND, addition="a"),
        step(APPEND, addition="b"),
        "a\nb",
        {"version": 4, "created": False},
    ),
    Case(
        "append on tombstone taken back, append",
        TOMBSTONE,
        step(APPEND, addition="a"),
        step(APPEND, addition="b"),
        "b",
        {"version": 3, "created": True},
        commit=False,
    ),
    Case(
        "set on absent, append",
        ABSENT,
        THEIRS,
        step(APPEND, addition="b"),
        "theirs\nb",
        {"version": 2},
    ),
    Case("append on absent, set", ABSENT, step(APPEND, addition="a"), MINE, "mine", {"version": 2}),
    Case(
        "delete, append",
        LIVE,
        step(DELETE),
        step(APPEND, addition="b"),
        "b",
        {"version": 3, "created": True},
    ),
    Case(
        "append, delete",
        LIVE,
        step(APPEND, addition="a"),
        step(DELETE),
        None,
        {"found": True, "version": 3},
    ),
    Case(
        "append, replace",
        LIVE,
        step(APPEND, addition="one"),
        step(REPLACE, old="one", new="two"),
        "two\ntwo",
        {"version": 3, "replacements": 2},
    ),
    Case(
        "append, replace of a count no longer there",
        LIVE,
        step(APPEND, addition="one"),
        step(REPLACE, old="one", new="two", expected_count=1),
        "one\none",
        {"replacements": 2},
        "LM203",
    ),
    Case(
        "replace, append",
        LIVE,
        step(REPLACE, old="one", new="two"),
        step(APPEND, addition="one"),
        "two\none",
        {"version": 3},
    ),
    Case(
        "replace, replace of the same",
        LIVE,
        step(REPLACE, old="one", new="two"),
        step(REPLACE, old="one", new="three"),
        "two",
        {},
        "LM403",
    ),
    Case(
        "replace taken back, replace",
        LIVE,
        step(REPLACE, old="one", new="two"),
        step(REPLACE, old="one", new="three"),
        "three",
        {"version": 2},
        commit=False,
    ),
    Case(
        "delete, replace",
        LIVE,
        step(DELETE),
        step(REPLACE, old="one", new="two"),
        None,
        {},
        "LM101",
    ),
    Case(
        "set if absent, set if absent",
        ABSENT,
        step(SET, content="theirs", if_absent=True),
        step(SET, content="mine", if_absent=True),
        "theirs",
        {},
        "LM202",
    ),
    Case(
        "set if absent taken back, set if absent",
        ABSENT,
        step(SET, content="theirs", if_absent=True),
        step(SET, content="mine", if_absent=True),
        "mine",
        {"version": 1, "created": True},
        commit=False,
    ),
    Case(
        "a smaller limit, append",
        LIVE,
        step(SET, content="one", char_limit=4),
        step(APPEND, addition="b"),
        "one",
        {"value_length": 5, "char_limit": 4, "overage": 1},
        "LM401",
    ),
    Case(
        "a larger limit, set",
        LIVE,
        step(SET, content="one", char_limit=5000),
        step(SET, content="x" * 5000),
        "x" * 5000,
        {"version": 3, "char_limit": 5000},
    ),
    Case(
        "a block made with a smaller limit, append",
        ABSENT,
        step(SET, content="one", char_limit=4),
        step(APPEND, addition="b"),
        "one",
        {"value_length": 5, "char_limit": 4, "overage": 1},
        "LM401",
    ),
    Case(
        "a shrinking set, append",
        (step(SET, content="abcd", char_limit=4),),
        step(SET, content="a"),
        step(APPEND, addition="b"),
        "a\nb",
        {"version": 3},
    ),
    Case(
        "locked by an admin, set",
        LIVE,
        step(SET, content="theirs", read_only=True),
        MINE,
        "theirs",
        {"reason": "read_only", "until": None},
        "LM205",
        first_login=ADMIN,
    ),
    Case(
        "locked by an admin, append",
        LIVE,
        step(SET, content="theirs", read_only=True),
        step(APPEND, addition="b"),
        "theirs",
        {"reason": "read_only", "until": None},
        "LM205",
        first_login=ADMIN,
    ),
    Case(
        "locked by an admin, delete",
        LIVE,
        step(SET, content="theirs", read_only=True),
        step(DELETE),
        "theirs",
        {"reason": "read_only", "until": None},
        "LM205",
        first_login=ADMIN,
    ),
]

"""_schema_pattern: which regular expressions a profile schema takes; RE2 compiles each of them."""

from __future__ import annotations

import time
from typing import Any

import psycopg
import pytest
import re2  # type: ignore[import-untyped]
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.databases import Database
from tests.sql.profile_schemas import NO_PATTERNS, PATTERNS

Connection = psycopg.Connection[Any]

# RE2 gives up at 131072 instructions (max_mem 8 MiB), for matching backwards too.
MOST_INSTRUCTIONS = 65536

QUIET = re2.Options()
QUIET.log_errors = False


def reason(conn: Connection, pattern: str) -> str | None:
    row = conn.execute("select loom._schema_pattern(%s)", (pattern,)).fetchone()
    assert row is not None
    return row[0]  # type: ignore[no-any-return]


def compiles(pattern: str) -> bool:
    """Whether RE2 compiles a pattern, well within its limits."""
    try:
        made = re2.compile(pattern, QUIET)
    except re2.error:
        return False
    return bool(
        0 < made.programsize < MOST_INSTRUCTIONS and 0 < made.reverseprogramsize < MOST_INSTRUCTIONS
    )


@pytest.mark.parametrize("pattern", PATTERNS)
def test_a_pattern_of_the_subset_is_taken(db: Connection, pattern: str) -> None:
    assert reason(db, pattern) is None
    assert compiles(pattern)


@pytest.mark.parametrize(
    ("pattern", "why"),
    [(pattern, why) for why, listed in NO_PATTERNS.items() for pattern in listed],
)
def test_any_other_is_refused(db: Connection, pattern: str, why: str) -> None:
    assert reason(db, pattern) == why


FRAGMENTS = (
    *(
        "a",
        "b",
        "é",
        "一",
        "💶",
        " ",
        "\n",
        "-",
        ",",
        "0",
        "9",
        "^",
        "$",
        ".",
        "|",
        "(",
        "(?:",
        ")",
        "(?",
    ),
    *(
        "*",
        "+",
        "?",
        "{2}",
        "{0,100}",
        "{3,}",
        "{100}",
        "{9,5}",
        "{",
        "}",
        "{,2}",
        "{007}",
        "[",
        "]",
        "[^",
    ),
    *(
        "[a-z]",
        "[^a-z]",
        "[-a]",
        "[a-]",
        r"[\d\W]",
        r"[^\s]",
        "[é一-龥💶]",
        "a-z",
        "z-a",
        ":alpha:",
        "[:",
    ),
    *(
        "\\",
        r"\d",
        r"\D",
        r"\w",
        r"\W",
        r"\s",
        r"\S",
        r"\n",
        r"\v",
        r"\.",
        r"\]",
        r"\[",
        r"\-",
        r"\_",
    ),
    *(
        r"\^",
        r"\\",
        r"\b",
        r"\A",
        r"\1",
        r"\x",
        r"\u",
        r"\p",
        r"\Q",
        "(?=",
        "(?i)",
        "(?P<n>",
        "***:",
        "&&",
    ),
)


@st.composite
def sound(draw: st.DrawFn, depth: int = 4) -> str:
    """A pattern that is mostly of the subset, with bounds inside bounds."""
    parts = []
    for _ in range(draw(st.integers(1, 4))):
        atom = draw(
            st.sampled_from(
                ["a", "é", ".", r"\w", r"\W", "[a-z]", "[^a]", "[^é一-龥]", "^", "$", r"\$"]
            )
        )
        if depth and draw(st.booleans()):
            atom = draw(st.sampled_from(["(", "(?:"])) + draw(sound(depth - 1)) + ")"
        times = draw(
            st.sampled_from(["", "", "*", "+", "?", "{2}", "{10}", "{100}", "{0,9}", "{7,}"])
        )
        parts.append(
            atom + ("" if atom in "^$" else times + draw(st.sampled_from(["", "?"])) * bool(times))
        )
    return draw(st.sampled_from(["", "|"])).join(parts)


@given(
    st.lists(
        st.one_of(
            st.lists(st.sampled_from(FRAGMENTS), max_size=12).map("".join),
            sound(),
            st.text(st.sampled_from("ab^$.|()?*+{}[]\\-:=,019dDwWsSbnuxé"), max_size=20),
        ),
        min_size=50,
        max_size=50,
    )
)
@settings(max_examples=40, deadline=None, suppress_health_check=[*HealthCheck])
def test_all_that_is_taken_compiles_in_re2(db: Connection, patterns: list[str]) -> None:
    rows = db.execute(
        "select pattern from unnest(%s::text[]) as pattern"
        " where loom._schema_pattern(pattern) is null",
        (patterns,),
    ).fetchall()
    for (pattern,) in rows:
        assert compiles(pattern), pattern


LARGEST = (
    *("(" * 40 + "a" + "?)" * 40, "(?:a?){31}", ".{0,100}" * 9, r"\W{100}" * 3, "[^é]{100}" * 4),
    *("(?:[^a]{10}){50}", "(?:(?:.{10}){10}){9}", "[" + "一丂七丄丆三不丐丒专丗丝" * 15 + "]{25}"),
    *("[" + "".join(chr(0x10000 + 4099 * n) for n in range(190)) + "]{20}", "(?:.*){90}"),
    *("(?:" + r"[\W]?" * 20 + "){16}", "(x+x+)+y", "(?:a|b)*a(?:a|b){100}"),
)
"""Patterns next to the limits."""


@pytest.mark.parametrize("pattern", LARGEST)
def test_the_largest_compile_in_both_in_no_time(database: Database, pattern: str) -> None:
    conn = database.connect()
    conn.execute("set statement_timeout = '2s'")
    started = time.process_time()
    if reason(conn, pattern) is None:
        assert compiles(pattern)
        re2.compile(pattern, QUIET).search("ab é 一 " * 5000)
    assert time.process_time() - started < 2

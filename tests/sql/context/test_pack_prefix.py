"""context.pack: its stable part is a pure function of what is rendered, whatever is asked."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import psycopg
import pytest

from tests.databases import Clock, Database
from tests.sql.context.packs import pack, part, prefix
from tests.sql.doors import wm
from tests.sql.facts import NOON, fact, section
from tests.sql.texts import FAMILY
from tests.sql.user_profile.profiles import up

Connection = psycopg.Connection[Any]

WORDS = [
    "tea",
    "billing",
    "Währung",
    "請求書",
    "😀",
    FAMILY,
    "<b>",
    "```",
    "session:x",
    "&amp;",
    "\n",
]
QUERIES = [
    "tea",
    "Which Währung is billed?",
    "請求書",
    "nothing of all this",
    "```<b>",
    "😀 " * 900,
]
RUN = {"user_id": "u", "session_id": "s", "run_id": "r"}


def fill(db: Connection, generator: random.Random) -> None:
    """Blocks, sections and facts of random content in random places, in random order."""

    def some() -> str:
        return " ".join(generator.choices(WORDS, k=generator.randrange(1, 40)))

    places = [{}, {"user_id": "u"}, {"user_id": "u", "session_id": "s"}, {"user_id": "v"}]
    for number in range(generator.randrange(4, 14)):
        place = generator.choice(places)
        kind = generator.randrange(3)
        if kind == 0:
            wm(
                db,
                "set",
                block_key=f"{generator.choice(WORDS)}{number}"[:80],
                content=some(),
                **place,
            )
        elif kind == 1:
            section(db, "set", label=f"{generator.choice(WORDS)}{number}", value=some(), **place)
        else:
            types = ("semantic", "preference", "decision")
            fact(
                db,
                "set",
                memory_key=f"k{number}",
                value=some(),
                **place,
                memory_type=generator.choice(types),
            )


@pytest.mark.parametrize("seed", range(25))
def test_o40_o42_for_the_same_content_every_query_has_the_same_prefix(
    db: Connection, seed: int
) -> None:
    generator = random.Random(seed)
    fill(db, generator)
    request = {
        **RUN,
        "format": generator.choice(["xml", "markdown"]),
        "token_budget": generator.choice([100, 180, 400, 4000]),
        "read_scope": generator.choice(["own_user", "own_session", "namespace"]),
    }
    without = pack(db, **request)
    for query in QUERIES:
        told = pack(db, query=query[:2000], **request)
        assert prefix(told) == prefix(without)
        assert told["stable_hash"] == without["stable_hash"]
        assert told["text"][told["stable_prefix_chars"] :].startswith(("\n\n", "<", "#")) or (
            told["text"] == prefix(told)
        )


def test_o41_the_same_content_has_the_same_bytes_in_another_database_at_another_time(
    db: Connection, database: Database, clock: Clock
) -> None:
    other = database.connect()
    writes: list[Callable[[Connection], Any]] = [
        lambda c: wm(c, "set", block_key="a", content="first"),
        lambda c: wm(c, "set", block_key="b", content="second", user_id="u"),
        lambda c: section(c, "set", label="x", value="third"),
        lambda c: section(c, "set", label="y", value={"n": [1, 2]}, user_id="u"),
        lambda c: fact(c, "set", value="prefers tea", memory_type="decision"),
    ]
    clock.set(NOON)
    for write in writes:
        write(db)
    here = pack(db, user_id="u", query="tea")
    for write in reversed(writes):
        wm(other, "set", block_key="a", content="an earlier version")
        write(other)
    there = pack(other, user_id="u", query="tea")
    assert here["text"] == there["text"]
    clock.advance(days=400)
    assert pack(db, user_id="u", query="tea")["text"] == here["text"]


OUTSIDE: dict[str, Any] = {
    "a fact": lambda db: fact(db, "set", memory_key="new", value="prefers tea"),
    "a decision": lambda db: fact(db, "set", memory_key="n", value="tea", memory_type="decision"),
    "another user's block": lambda db: wm(db, "set", block_key="new", content="x", user_id="v"),
    "another run's block": lambda db: wm(
        db, "set", block_key="new", content="x", user_id="u", session_id="s", run_id="other"
    ),
    "another agent's block": lambda db: wm(db, "set", block_key="new", content="x", agent="other"),
    "a wider block of the same key": lambda db: wm(db, "set", block_key="state", content="x"),
    "another user's section": lambda db: section(db, "set", label="n", value="x", user_id="v"),
    "a section of another namespace": lambda db: section(
        db, "set", label="n", value="x", namespace="m"
    ),
    "the same section again": lambda db: section(
        db, "set", label="style", value="brief", user_id="u"
    ),
    "a pin": lambda db: fact(db, "pin", memory_key="style", user_id="u"),
    "a lock": lambda db: fact(db, "lock", memory_key="style", user_id="u", reason="why"),
    "a tag": lambda db: fact(db, "label", memory_key="style", user_id="u", tags={"add": ["t"]}),
    "the same block again": lambda db: wm(db, "set", block_key="state", content="step 3", **RUN),
    "another user's own profile": lambda db: up(
        db, "apply", user_id="v", delta={"summary": "likes tea"}
    ),
    "a block that came and went": lambda db: (
        wm(db, "set", block_key="new", content="x"),
        wm(db, "delete", block_key="new"),
    ),
}


@pytest.fixture
def written(db: Connection) -> Connection:
    """`db` with a block and a section that a pack of `RUN` renders."""
    wm(db, "set", block_key="state", content="step 3", **RUN)
    section(db, "set", label="style", value="brief", user_id="u")
    return db


@pytest.mark.parametrize("write", OUTSIDE.values(), ids=OUTSIDE)
def test_o42_a_write_of_what_is_not_rendered_leaves_the_prefix(
    written: Connection, write: Any
) -> None:
    before = pack(written, **RUN)
    write(written)
    after = pack(written, **RUN, if_none_match=before["stable_hash"])
    assert (after["unchanged"], after["stable_hash"]) == (True, before["stable_hash"])


def test_o42_what_stands_before_the_section_that_changes_stays_byte_for_byte(
    written: Connection,
) -> None:
    """A caller whose blocks change at each turn puts them last, and caches all before them."""
    request = {**RUN, "block_order": ["profile", "user_profile", "working_memory"], "query": "tea"}
    before = pack(written, **request)
    wm(written, "append", block_key="state", addition="step 4", **RUN)
    fact(written, "set", memory_key="new", value="prefers tea")
    after = pack(written, **request)
    assert before["text"] != after["text"]
    kept = part(before, "profile")["text"] + "\n\n"
    assert "brief" in kept
    assert before["text"].startswith(kept)
    assert after["text"].startswith(kept)
    assert part(after, "profile")["sha256"] == part(before, "profile")["sha256"]


INSIDE: dict[str, Any] = {
    "a block": lambda db: wm(db, "append", block_key="state", addition="4", **RUN),
    "a new block of the agent": lambda db: wm(db, "set", block_key="rules", content="x"),
    "a section": lambda db: section(db, "set", label="style", value="long", user_id="u"),
    "a section of user -": lambda db: section(db, "set", label="new", value="x", agent="other"),
    "the user's own profile": lambda db: up(
        db, "apply", user_id="u", delta={"summary": "likes tea"}
    ),
    "a deletion": lambda db: section(db, "delete", label="style", user_id="u"),
    "a redaction": lambda db: fact(db, "redact", memory_key="style", user_id="u", reason="why"),
}


@pytest.mark.parametrize("write", INSIDE.values(), ids=INSIDE)
def test_o43_a_write_of_what_is_rendered_changes_it_and_the_hashes_say_where(
    written: Connection, write: Any
) -> None:
    before = pack(written, **RUN)
    write(written)
    after = pack(written, **RUN, if_none_match=before["stable_hash"])
    assert (after["unchanged"], after["stable_hash"] != before["stable_hash"]) == (False, True)
    changed = [
        name
        for name in ("working_memory", "profile", "user_profile")
        if part(before, name)["sha256"] != part(after, name)["sha256"]
    ]
    assert len(changed) == 1


def test_it_changes_with_the_commit_and_not_before(database: Database) -> None:
    reader, writer = database.connect(), database.connect()
    wm(writer, "set", block_key="state", content="step 3")
    before = pack(reader)
    with writer.transaction():
        wm(writer, "append", block_key="state", addition="step 4")
        assert pack(reader)["stable_hash"] == before["stable_hash"]
    assert pack(reader)["stable_hash"] != before["stable_hash"]


def test_a_block_of_the_run_shadows_a_wider_one_and_the_prefix_follows(written: Connection) -> None:
    wm(written, "set", block_key="state", content="of the agent")
    assert "of the agent" not in pack(written, **RUN)["text"]
    wm(written, "delete", block_key="state", **RUN)
    assert "of the agent" in pack(written, **RUN)["text"]

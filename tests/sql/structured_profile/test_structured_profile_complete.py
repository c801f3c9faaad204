"""loom.structured_profile_complete: the row that a build writes, and what is told of it."""

from __future__ import annotations

from typing import Any

import pytest

from tests.calls import Answer, Connection, operate, refused
from tests.databases import Clock
from tests.sql.canaries import tables_with
from tests.sql.context.packs import pack, part
from tests.sql.facts import NOON, changes, fact, history, section
from tests.sql.structured_profile.building import (
    NAME_AND_CITY,
    build,
    build_row,
    claim,
    complete,
    due,
    explained,
    finish,
    lease,
    read,
    rest,
    served,
    set_schema,
    settings,
    status,
    take,
)

U1 = {"user_id": "u1"}
ROW = {**U1, "memory_key": "structured_profile", "agent": "-"}
BOTH = {"name": "Sam", "city": "Ulm"}


@pytest.fixture(autouse=True)
def _noon(db: Connection, clock: Clock) -> None:
    clock.set(NOON)
    set_schema(db, NAME_AND_CITY)


def _likes(db: Connection, value: str = "tea", **fields: Any) -> str:
    return fact(db, "set", **{**U1, "value": value, **fields})["memory_id"]  # type: ignore[no-any-return]


def _row(db: Connection) -> Answer:
    return fact(db, "get", **ROW)


def test_the_row_is_the_workers_profile_section(db: Connection) -> None:
    ids = sorted([_likes(db), _likes(db, "water", memory_key="other")])
    told = build(db, answer=BOTH)
    row = _row(db)
    assert told == {
        "outcome": "written",
        "reason": None,
        "memory_id": row["memory_id"],
        "version": 1,
        "version_text": "1",
    }
    assert (row["value"], row["memory_type"], row["agent"]) == (BOTH, "profile", "-")
    assert row["source_class"] == "derived"
    assert row["source_trace"] == f"profile.fold:structured_profile:{','.join(ids)}"
    (version,) = history(db, **ROW)
    assert (version["change"], version["actor"]) == ("set", "worker")
    authors = db.execute(
        "select author, actor, created_by from loom.memory where memory_type = 'profile'"
    )
    assert authors.fetchall() == [("worker", "worker", "worker")]
    assert served(db)["memory_id"] == row["memory_id"]


def test_every_property_is_in_it(db: Connection) -> None:
    _likes(db)
    build(db, answer={"city": "Ulm"})
    assert served(db)["profile"] == _row(db)["value"] == {"name": None, "city": "Ulm"}


@pytest.mark.parametrize("answer", [None, {}])
def test_no_answer_is_a_profile_of_nulls(db: Connection, answer: Any) -> None:
    _likes(db)
    assert finish(db, lease(db), answer)["outcome"] == "written"
    assert served(db)["profile"] == {"name": None, "city": None}


def test_o58_versions_are_added_and_facts_are_left(db: Connection, clock: Clock) -> None:
    _likes(db)
    before = db.execute(
        "select to_jsonb(m) from loom.memory m where memory_type <> 'profile'"
    ).fetchall()
    build(db, answer={"name": "Sam"})
    rest(db, clock, 600)
    _likes(db, "water", memory_key="other")
    told = build(db, answer={"name": "Max"})
    assert (told["outcome"], told["version"]) == ("written", 2)
    assert [version["value"]["name"] for version in history(db, **ROW)] == ["Sam", "Max"]
    assert changes(db, **ROW) == ["set", "set"]
    # One call takes it back.
    fact(db, "revert", **ROW, version=1)
    assert _row(db)["value"]["name"] == "Sam"
    after = db.execute(
        "select to_jsonb(m) from loom.memory m where memory_key = 'likes'"
    ).fetchall()
    assert after == before


def test_a_value_and_sources_that_are_the_same_write_no_version(
    db: Connection, clock: Clock
) -> None:
    """Said again the fact is newer, and the build of another digest; that is all."""
    _likes(db)
    _likes(db, "water", memory_key="other")
    build(db, answer=BOTH)
    rest(db, clock, 600)
    _likes(db)
    assert status(db) == "stale"
    told = build(db, answer=BOTH)
    assert (told["outcome"], told["version"]) == ("unchanged", 1)
    answer = served(db)
    assert (answer["status"], answer["built_at"]) == ("ready", "2026-03-01T12:10:00.000000Z")
    assert len(history(db, **ROW)) == 1


def test_o36_the_same_value_from_other_sources_is_a_version(db: Connection, clock: Clock) -> None:
    """Its trace says what it was built from, for a redaction."""
    _likes(db)
    build(db, answer=BOTH)
    rest(db, clock, 600)
    other = _likes(db, "water", memory_key="other")
    assert build(db, answer=BOTH)["outcome"] == "written"
    assert other in _row(db)["source_trace"]


# Sources by property.


def test_o31_sources_are_kept_where_they_were_given(db: Connection) -> None:
    one, two = _likes(db), _likes(db, "water", memory_key="other")
    foreign = fact(db, "set", user_id="u2", value="x")["memory_id"]
    due(db)
    taken = {each.user_id: each for each in claim(db)}["u1"]
    finish(
        db,
        taken,
        BOTH,
        {
            "name": [one, two, one],
            "city": [foreign, "00000000-0000-0000-0000-000000000000", "text", None, 1],
            "undeclared": [one],
            "toString": [one],
        },
    )
    assert explained(db)["sources"] == {"name": sorted([one, two]), "city": []}


@pytest.mark.parametrize("sources", [None, [], "text", {}, {"name": "text"}, {"name": None}])
def test_sources_of_another_shape_are_none(db: Connection, sources: Any) -> None:
    _likes(db)
    finish(db, lease(db), BOTH, sources)
    assert explained(db)["sources"] == {}


def test_sources_beyond_the_memory_limit_were_not_given(db: Connection) -> None:
    settings(db, memory_limit=1)
    given = _likes(db)
    held_back = _likes(db, "water", memory_key="other", confidence=0.1)
    finish(db, lease(db), BOTH, {"name": [given, held_back]})
    assert explained(db)["sources"] == {"name": [given]}
    assert held_back not in _row(db)["source_trace"]


# Users without facts.


def test_facts_all_gone_are_a_profile_of_nulls_without_a_call(db: Connection, clock: Clock) -> None:
    _likes(db)
    build(db, answer=BOTH)
    clock.advance(seconds=1)
    fact(db, "delete", **U1)
    assert build_row(db)["modelless"] is True
    taken = lease(db)
    assert read(db, taken)["sources"] == []
    assert complete(db, taken)["outcome"] == "written"
    answer = served(db, explain=True)
    assert (answer["status"], answer["profile"]) == ("ready", {"name": None, "city": None})
    assert answer["explain"]["sources"] == {}
    assert _row(db)["source_trace"] == "profile.fold:structured_profile:"
    assert take(db) == []


def test_a_user_whose_facts_and_row_went_meanwhile_gets_no_row(
    db: Connection, clock: Clock
) -> None:
    _likes(db)
    build(db, answer=BOTH)
    fact(db, "delete", **U1)
    taken = lease(db)
    read(db, taken)
    fact(db, "delete", **ROW)
    told = complete(db, taken)
    assert (told["outcome"], told["memory_id"], told["version"]) == ("nothing", None, None)
    assert _row(db)["found"] is False
    assert (status(db), take(db)) == ("ready", [])


def test_facts_that_came_after_an_empty_read_are_built_later(db: Connection, clock: Clock) -> None:
    _likes(db)
    build(db, answer=BOTH)
    fact(db, "delete", **U1)
    taken = lease(db)
    read(db, taken)
    _likes(db, "water", memory_key="other")
    assert complete(db, taken)["outcome"] == "written"
    assert status(db) == "stale"
    rest(db, clock, 600)
    build(db, answer=BOTH)
    assert (status(db), served(db)["profile"]) == ("ready", BOTH)


# Rows of others at its key.


@pytest.mark.parametrize("facts", [True, False])
def test_a_callers_row_reads_as_no_profile_and_is_built_over(db: Connection, facts: bool) -> None:
    if facts:
        _likes(db)
    section(db, "set", **U1, agent="-", label="structured_profile", value="mine")
    fact(db, "label", **ROW, tags={"add": ["t"]})
    told = served(db)
    assert (told["status"], told["profile"]) == ("pending", {"name": None, "city": None})
    assert (told["memory_id"], told["version"], told["built_at"]) == (None, None, None)
    assert finish(db, lease(db), BOTH if facts else None)["version"] == 3
    assert status(db) == "ready"
    assert _row(db)["tags"] == ["t"]


@pytest.mark.parametrize("way", ["set", "append", "revert"])
def test_what_a_caller_writes_over_a_built_row_is_built_over(
    db: Connection, clock: Clock, way: str
) -> None:
    _likes(db)
    build(db, answer=BOTH)
    clock.advance(seconds=1)
    place = {**U1, "agent": "-", "label": "structured_profile"}
    if way == "revert":
        fact(db, "revert", **ROW, version=1)
    elif way == "append":
        section(db, "set", **place, value="x")
        section(db, "append", **place, addition="y")
    else:
        section(db, "set", **place, value={"name": "Eve"})
    assert status(db) == "pending"
    assert explained(db)["sources"] == {}
    rest(db, clock, 600)
    assert build(db, answer=BOTH)["outcome"] == "written"
    assert (status(db), _row(db)["source_class"]) == ("ready", "derived")


def test_rows_of_another_agent_or_session_are_not_it(db: Connection) -> None:
    _likes(db)
    for place in ({"agent": "coder"}, {"agent": "-", "session_id": "s1"}):
        section(db, "set", **{**U1, **place, "label": "structured_profile", "value": "theirs"})
    build(db, answer=BOTH)
    assert served(db)["profile"] == BOTH
    values = db.execute(
        "select count(*) from loom.memory where value = to_jsonb('theirs'::text)"
    ).fetchone()
    assert values == (2,)


def test_o49_a_fact_under_its_key_is_no_loop(db: Connection, clock: Clock) -> None:
    """A source that the build writes over: what is left is built once more, then all is quiet."""
    _likes(db)
    fact(db, "set", **ROW, value="a fact", memory_type="semantic")
    assert len(read(db, first := lease(db))["sources"]) == 2
    assert complete(db, first, BOTH)["outcome"] == "written"
    assert build(db, answer=BOTH)["outcome"] == "written"
    assert (status(db), take(db)) == ("ready", [])
    clock.advance(days=1)
    assert take(db) == []


@pytest.mark.parametrize("way", ["redact", "delete", "expire"])
def test_a_row_that_is_no_profile_any_more_is_rebuilt(
    db: Connection, clock: Clock, way: str
) -> None:
    _likes(db)
    build(db, answer=BOTH)
    if way == "redact":
        fact(db, "redact", **ROW, reason="asked")
    elif way == "delete":
        fact(db, "delete", **ROW)
    else:
        db.execute("update loom.memory set expires_at = loom._now() where memory_type = 'profile'")
    assert (status(db), served(db)["profile"]) == ("pending", {"name": None, "city": None})
    rest(db, clock, 600)
    told = build(db, answer=BOTH)
    assert told["outcome"] == "written"
    assert (status(db), served(db)["version"]) == ("ready", told["version"])
    assert _row(db)["expires_at"] is None


def test_a_pin_or_a_lock_does_not_end_what_is_served(db: Connection) -> None:
    """Who wrote the value counts, not who marked the row last."""
    _likes(db)
    build(db, answer=BOTH)
    fact(db, "pin", **ROW)
    fact(db, "lock", **ROW, reason="keep")
    fact(db, "unlock", **ROW)
    answer = served(db)
    assert (answer["status"], answer["profile"], answer["version"]) == ("ready", BOTH, 4)


def test_a_high_row_is_held_back_until_it_is_not_high(db: Connection) -> None:
    _likes(db)
    build(db, answer=BOTH)
    fact(db, "label", **ROW, sensitivity="high")
    answer = served(db, explain=True)
    assert (answer["status"], answer["profile"]) == ("pending", {"name": None, "city": None})
    assert (answer["memory_id"], answer["explain"]["sources"]) == (None, {})
    assert take(db) == []
    fact(db, "label", **ROW, sensitivity="normal")
    assert (status(db), served(db)["profile"]) == ("ready", BOTH)
    assert take(db) == []


# Redactions.


def test_a_redaction_of_a_source_scrubs_the_profile_and_it_is_rebuilt(
    db: Connection, clock: Clock
) -> None:
    _likes(db, "canary")
    _likes(db, "water", memory_key="other")
    build(db, answer={"name": "canary", "city": "Ulm"})
    clock.advance(seconds=1)
    told = fact(db, "redact", **U1, reason="asked")
    assert told["derived"] == [_row(db)["memory_id"]]
    assert tables_with(db, "canary") == {}
    assert (status(db), served(db)["profile"]) == ("pending", {"name": None, "city": None})
    # A fact has gone: no cooldown.
    assert build(db, answer={"city": "Ulm"})["outcome"] == "written"
    assert (status(db), served(db)["profile"]) == ("ready", {"name": None, "city": "Ulm"})
    assert tables_with(db, "canary") == {}


def test_a_redaction_reaches_the_versions_that_name_the_fact_and_no_others(
    db: Connection, clock: Clock
) -> None:
    _likes(db, "water", memory_key="other")
    build(db, answer={"name": "before"})
    rest(db, clock, 600)
    _likes(db, "canary")
    build(db, answer={"name": "canary"})
    fact(db, "delete", **U1)
    build(db, answer={"name": "after"})
    fact(db, "redact", **U1, reason="asked")
    assert [version["value"] and version["value"]["name"] for version in history(db, **ROW)] == [
        "before",
        None,
        "after",
    ]
    assert (status(db), tables_with(db, "canary")) == ("ready", {})


def test_a_redaction_waits_for_a_lock_on_the_profile(db: Connection) -> None:
    _likes(db, "canary")
    build(db, answer={"name": "canary"})
    fact(db, "lock", **ROW, reason="legal hold")
    with refused(db, "LM205") as refusal:
        fact(db, "redact", **U1, reason="asked")
    assert refusal.detail["memory_key"] == "structured_profile"
    fact(db, "unlock", **ROW)
    fact(db, "redact", **U1, reason="asked")
    assert tables_with(db, "canary") == {}


def test_sources_of_unchanged_builds_are_reached_by_a_redaction(
    db: Connection, clock: Clock
) -> None:
    _likes(db)
    build(db, answer={"name": "canary"})
    rest(db, clock, 600)
    _likes(db)
    assert build(db, answer={"name": "canary"})["outcome"] == "unchanged"
    fact(db, "redact", **U1, reason="asked")
    assert tables_with(db, "canary") == {}


# Elsewhere.


def test_a_render_and_a_list_carry_it(db: Connection) -> None:
    _likes(db)
    build(db, answer=BOTH)
    rendered = section(db, "render", **U1)
    assert "structured_profile" in rendered["text"]
    assert "Ulm" in rendered["text"]
    assert [part["label"] for part in rendered["sections"]] == ["structured_profile"]


def test_a_pack_carries_it(db: Connection) -> None:
    _likes(db)
    build(db, answer=BOTH)
    told = part(pack(db, **U1), "profile")
    assert [item["label"] for item in told["items"]] == ["structured_profile"]
    assert told["text"] == section(db, "render", **U1)["text"]


def test_an_erasure_counts_it_as_a_structured_profile(db: Connection) -> None:
    _likes(db)
    build(db, answer=BOTH)
    removed = operate(db, "erasure.request", org="acme", **U1)["removed"]
    assert (removed["structured_profile"], removed["work"], removed["memory"]) == (1, 1, 1)
    assert (status(db), build_row(db)) == ("ready", {})


def test_each_user_has_a_profile_of_their_own(db: Connection) -> None:
    for user in ("u1", "u2", "john_doe", "john-doe", "JOHN_DOE"):
        fact(db, "set", user_id=user, value=user)
    due(db)
    for taken in claim(db):
        finish(db, taken, {"name": taken.user_id})
    for user in ("u1", "u2", "john_doe", "john-doe", "JOHN_DOE"):
        assert served(db, user)["profile"]["name"] == user
    assert claim(db) == []


def test_a_row_that_comes_back_after_nothing_was_built_is_not_ready(
    db: Connection, clock: Clock
) -> None:
    """It says what facts said that are gone."""
    row = {"user_id": "u9", "memory_key": "structured_profile", "agent": "-"}
    fact(db, "set", user_id="u9", value="tea")
    build(db, "u9")
    fact(db, "delete", user_id="u9")
    taken = lease(db, "u9")
    assert read(db, taken)["sources"] == []
    fact(db, "delete", **row)
    assert complete(db, taken)["outcome"] == "nothing"
    assert (status(db, "u9"), build_row(db, "u9")["attempts"]) == ("ready", 0)
    fact(db, "restore", **row)
    assert status(db, "u9") == "stale"
    clock.advance(seconds=600)
    assert finish(db, lease(db, "u9"))["outcome"] == "written"
    assert (status(db, "u9"), served(db, "u9")["profile"]["name"]) == ("ready", None)

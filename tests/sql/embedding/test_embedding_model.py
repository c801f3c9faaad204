"""Models of vectors: added, built beside the active one, switched to, retired, dropped."""

from __future__ import annotations

import pytest

from tests.calls import Connection, acting_as, operate, refused
from tests.databases import Clock
from tests.sql.doors import IDENTITY
from tests.sql.facts import NOON, fact
from tests.sql.search.searching import ask, facts
from tests.vectors import Answer, active_model, embed, has_vectors, need_vectors, worked

OLD = {"tea": [1.0, 0.0], "chess": [0.0, 1.0]}
NEW = {"tea": [1.0, 0.0, 0.0], "chess": [0.0, 0.0, 1.0]}


def advance(conn: Connection, **request: int) -> dict[str, Answer]:
    with acting_as(conn, "loom_worker"):
        answer = worked(conn, "embedding_advance", **request)
    return {model["model"]: model for model in answer["models"]}


def states(conn: Connection) -> dict[str, str]:
    row = conn.execute("select loom.embedding_progress()").fetchone()
    assert row is not None
    return {model["model"]: model["state"] for model in row[0]["models"]}


def legs(conn: Connection, model: str, vector: list[float]) -> Answer:
    answer = ask(conn, "?", query_embedding={"model": model, "vector": vector})
    return {
        "leg": answer["legs"]["vector"],
        "keys": [item["memory_key"] for item in answer["items"]],
    }


def test_without_pgvector_a_model_cannot_be_added(db: Connection) -> None:
    if has_vectors(db):
        pytest.skip("this server has pgvector")
    with refused(db, "LM001") as refusal:
        worked(db, "embedding_model_add", model="m")
    assert "vector" in refusal.detail["reason"]
    row = db.execute("select loom.embedding_progress()").fetchone()
    assert row == ({"vectors": False, "models": []},)
    facts(db, {"k": "green tea"})
    answer = ask(db, "tea", query_embedding={"model": "m", "vector": [1, 0]})
    assert [item["memory_key"] for item in answer["items"]] == ["k"]
    assert answer["legs"]["vector"] == {"ran": False, "reason": "no_model"}


def test_o78_another_model_of_another_size_takes_over_while_searches_go_on(db: Connection) -> None:
    need_vectors(db)
    facts(db, {"drink": "green tea", "game": "chess"})
    worked(db, "embedding_model_add", model="old", dimension=2)
    assert legs(db, "old", [1, 0])["leg"] == {"ran": False, "reason": "no_model"}
    advance(db)
    embed(db, OLD, org="acme", model="old")
    advance(db)
    assert states(db) == {"old": "active"}
    assert legs(db, "old", [1, 0])["keys"] == ["drink", "game"]

    worked(db, "embedding_model_add", model="new")
    facts(db, {"late": "chess at night"})
    progress = advance(db)
    assert (progress["new"]["listed"], progress["new"]["due"]) == (3, 3)
    assert progress["old"]["due"] == 1
    embed(db, NEW, org="acme", model="new")
    assert legs(db, "old", [0, 1])["keys"] == ["game", "drink"]
    assert legs(db, "new", [0, 0, 1])["leg"] == {"ran": False, "reason": "other_model"}
    assert states(db) == {"old": "active", "new": "building"}
    advance(db)
    assert states(db) == {"old": "retired", "new": "active"}
    assert legs(db, "new", [0, 0, 1])["keys"][:2] in (["game", "late"], ["late", "game"])
    assert legs(db, "old", [0, 1])["leg"] == {"ran": False, "reason": "other_model"}
    assert db.execute("select count(*) from loom.embedding_due").fetchone() == (0,)


def test_building_goes_on_where_it_stopped_in_bounded_batches(db: Connection) -> None:
    need_vectors(db)
    facts(db, {f"k{n}": f"tea {n}" for n in range(7)})
    fact(db, "set", **{**IDENTITY, "org": "other"}, memory_key="k", value="tea")
    worked(db, "embedding_model_add", model="m")
    assert advance(db, limit=3)["m"]["listed"] == 3
    assert advance(db, limit=3)["m"]["listed"] == 3  # as many are waiting
    embed(db, OLD, org="acme", model="m")
    assert [advance(db, limit=3)["m"]["listed"] for _ in range(2)] == [6, 6]
    assert states(db) == {"m": "building"}
    for org in ("acme", "acme", "other"):
        embed(db, OLD, org=org, model="m")
        progress = advance(db, limit=3)["m"]
    embed(db, OLD, org="other", model="m")
    progress = advance(db, limit=3)["m"]
    assert (progress["state"], progress["total"], progress["listed"]) == ("active", 8, 8)
    assert db.execute("select count(*) from loom.embedding").fetchone() == (8,)


def test_an_org_that_calls_no_model_does_not_hold_a_switch_up(db: Connection) -> None:
    need_vectors(db)
    facts(db, {"k": "tea"})
    operate(db, "org.set_model_calls", org="acme", enabled=False)
    worked(db, "embedding_model_add", model="m")
    assert advance(db)["m"]["state"] == "active"
    operate(db, "org.set_model_calls", org="acme", enabled=True)
    assert embed(db, OLD, org="acme", model="m")["stored"] == 1


def test_a_text_given_up_does_not_hold_a_switch_up(db: Connection, clock: Clock) -> None:
    need_vectors(db)
    clock.set(NOON)
    facts(db, {"k": "tea"})
    worked(db, "embedding_model_add", model="m")
    for _ in range(8):
        assert advance(db)["m"]["state"] == "building"
        claim = worked(db, "embedding_claim", org="acme", model="m")
        worked(
            db,
            "embedding_fail",
            org="acme",
            model="m",
            lease_id=claim["lease_id"],
            outcome="failed",
            error="REFUSED",
        )
        clock.advance(hours=6)
    assert advance(db)["m"]["state"] == "active"


def test_the_active_model_is_gone_through_once_a_day(db: Connection, clock: Clock) -> None:
    """A row that a long transaction wrote past the listing is found."""
    need_vectors(db)
    clock.set(NOON)
    active_model(db, "m")
    facts(db, {"k": "tea"})
    db.execute("delete from loom.embedding_due")
    clock.advance(hours=23)
    assert advance(db)["m"]["due"] == 0
    clock.advance(hours=1)
    assert advance(db)["m"]["due"] == 1


def test_one_model_is_built_at_a_time_and_others_are_refused(db: Connection) -> None:
    need_vectors(db)
    facts(db, {"k": "tea"})
    worked(db, "embedding_model_add", model="a")
    with refused(db, "LM001") as refusal:
        worked(db, "embedding_model_add", model="b")
    assert refusal.detail == {"field": "model", "reason": "another model is being built"}
    assert states(db) == {"a": "building"}
    worked(db, "embedding_model_add", model="a")
    worked(db, "embedding_model_activate", model="a")
    worked(db, "embedding_model_add", model="b", dimension=5)
    assert states(db) == {"a": "active", "b": "building"}
    worked(db, "embedding_model_retire", model="b")
    with refused(db, "LM001"):
        worked(db, "embedding_model_add", model="b", dimension=6)
    with refused(db, "LM001"):
        worked(db, "embedding_model_activate", model="b")


def test_a_retired_model_is_dropped_bit_by_bit(db: Connection) -> None:
    need_vectors(db)
    active_model(db, "m")
    facts(db, {f"k{n}": "tea" for n in range(5)})
    embed(db, OLD, org="acme", model="m")
    with refused(db, "LM001"):
        worked(db, "embedding_model_drop", model="m")
    worked(db, "embedding_model_retire", model="m")
    facts(db, {"after": "tea"})
    assert db.execute("select count(*) from loom.embedding_due").fetchone() == (0,)
    answers = [worked(db, "embedding_model_drop", model="m", limit=3) for _ in range(2)]
    assert answers == [{"removed": 3, "done": False}, {"removed": 2, "done": True}]
    assert states(db) == {}
    acts = db.execute("select action from loom.audit where org = '-' order by at").fetchall()
    assert [action for (action,) in acts][-2:] == ["embedding_model.retire", "embedding_model.drop"]


def test_a_model_taken_up_again_keeps_the_vectors_it_has(db: Connection) -> None:
    need_vectors(db)
    active_model(db, "m")
    facts(db, {"a": "tea", "b": "chess"})
    embed(db, OLD, org="acme", model="m")
    worked(db, "embedding_model_retire", model="m")
    facts(db, {"b": "chess again"})
    worked(db, "embedding_model_add", model="m")
    assert advance(db)["m"]["due"] == 1

"""Vectors while others write: two workers, an erasure, a change of text, a deletion."""

from __future__ import annotations

import pytest

from tests.calls import Connection, operate
from tests.databases import Database
from tests.races import Rival, wait_until_blocked
from tests.sql.facts import fact
from tests.sql.search.searching import USER, facts
from tests.vectors import Answer, active_model, need_vectors, worked

PLACE = {"org": "acme", "model": "m"}


@pytest.fixture
def modelled(database: Database) -> Database:
    """A database with an active model, and three texts that are due."""
    conn = database.connect()
    need_vectors(conn)
    active_model(conn, "m")
    facts(conn, {"a": "one", "b": "two", "c": "three"})
    return database


def store(conn: Connection, claimed: Answer) -> Answer:
    items = [
        {name: item[name] for name in ("memory_id", "content_sha256")} | {"embedding": [1, 2]}
        for item in claimed["items"]
    ]
    return worked(conn, "embedding_store", **PLACE, lease_id=claimed["lease_id"], items=items)


def counts(conn: Connection) -> tuple[int, int]:
    """Vectors, and texts that are due."""
    row = conn.execute(
        "select (select count(*) from loom.embedding), (select count(*) from loom.embedding_due)"
    ).fetchone()
    assert row is not None
    return int(row[0]), int(row[1])


def test_two_workers_claim_each_text_once_and_wait_for_nobody(modelled: Database) -> None:
    one, other = modelled.connect(), modelled.connect()
    other.execute("set lock_timeout = '5s'")
    with one.transaction():
        held = one.execute(
            "select memory_id::text from loom.embedding_due order by due_at, memory_id limit 2"
            " for update"
        ).fetchall()
        claimed = worked(other, "embedding_claim", **PLACE)["items"]
    rest = worked(one, "embedding_claim", **PLACE)["items"]
    assert len(claimed) == 1
    assert {item["memory_id"] for item in rest} == {memory_id for (memory_id,) in held}


def test_a_vector_stored_while_its_text_changes_is_not_found_and_is_made_anew(
    modelled: Database,
) -> None:
    conn, writer = modelled.connect(), modelled.connect()
    claimed = worked(conn, "embedding_claim", **PLACE)
    with writer.transaction():
        facts(writer, {"a": "changed"})
        # The row that someone is writing just now is left to them.
        assert store(conn, claimed)["stored"] == 2
    assert counts(conn) == (2, 1)
    (again,) = worked(conn, "embedding_claim", **PLACE)["items"]
    assert again["text"] == "a: changed"


def test_a_change_that_meets_a_store_makes_the_text_due_again(modelled: Database) -> None:
    conn, writer, observer = modelled.connect(), modelled.connect(), modelled.connect()
    claimed = worked(conn, "embedding_claim", **PLACE)
    with conn.transaction():
        assert store(conn, claimed)["stored"] == 3
        rival = Rival(writer, lambda: facts(writer, {"a": "changed"}))
        wait_until_blocked(observer, rival, by=conn.info.backend_pid)
    rival.result()
    assert counts(conn) == (3, 1)
    wanted = {"model": "m", "vector": [1, 2]}
    found = operate(
        conn,
        "memory.search",
        org="acme",
        namespace="main",
        **USER,
        query="?",
        query_embedding=wanted,
    )
    assert sorted(item["memory_key"] for item in found["items"]) == ["b", "c"]


def test_o70_an_erasure_waits_for_a_store_and_takes_its_vectors(modelled: Database) -> None:
    conn, eraser, observer = modelled.connect(), modelled.connect(), modelled.connect()
    claimed = worked(conn, "embedding_claim", **PLACE)
    with conn.transaction():
        assert store(conn, claimed)["stored"] == 3
        rival = Rival(eraser, lambda: operate(eraser, "erasure.request", org="acme", user_id="u1"))
        wait_until_blocked(observer, rival, by=conn.info.backend_pid)
    assert rival.result()["removed"]["embedding"] == 3
    assert counts(conn) == (0, 0)


def test_o70_a_store_that_meets_an_erasure_waits_and_stores_nothing(modelled: Database) -> None:
    conn, eraser, observer = modelled.connect(), modelled.connect(), modelled.connect()
    claimed = worked(conn, "embedding_claim", **PLACE)
    with eraser.transaction():
        operate(eraser, "erasure.request", org="acme", user_id="u1")
        rival = Rival(conn, lambda: store(conn, claimed))
        wait_until_blocked(observer, rival, by=eraser.info.backend_pid)
    assert rival.result() == {"stored": 0, "refused": 3, "dimension": 2}
    assert counts(conn) == (0, 0)


def test_a_store_beside_a_deletion_neither_waits_nor_leaves_a_vector(modelled: Database) -> None:
    conn, deleter = modelled.connect(), modelled.connect()
    claimed = worked(conn, "embedding_claim", **PLACE)
    with deleter.transaction():
        fact(deleter, "delete", **USER, memory_key="a")
        assert store(conn, claimed)["stored"] == 2
    assert counts(conn) == (2, 0)


def test_two_first_stores_of_different_sizes_leave_one(modelled: Database) -> None:
    """The size is the model's: whoever comes second waits, and is refused."""
    one, other, observer = modelled.connect(), modelled.connect(), modelled.connect()
    first = worked(one, "embedding_claim", **PLACE, limit=1)
    second = worked(other, "embedding_claim", **PLACE, limit=1)
    item = second["items"][0]
    odd = [{**{n: item[n] for n in ("memory_id", "content_sha256")}, "embedding": [1, 2, 3]}]
    wanted = {**PLACE, "lease_id": second["lease_id"], "items": odd}
    with one.transaction():
        assert store(one, first)["stored"] == 1
        rival = Rival(other, lambda: worked(other, "embedding_store", **wanted))
        wait_until_blocked(observer, rival, by=one.info.backend_pid)
    with pytest.raises(Exception, match="The request is not valid") as refused:
        rival.result()
    assert getattr(refused.value, "sqlstate", None) == "LM001"
    assert counts(one)[0] == 1


def test_one_worker_at_a_time_goes_on_with_a_model(modelled: Database) -> None:
    one, other = modelled.connect(), modelled.connect()
    worked(one, "embedding_model_add", model="next")
    with one.transaction():
        worked(one, "embedding_advance")
        (listed,) = [
            model["listed"]
            for model in worked(other, "embedding_advance")["models"]
            if model["model"] == "next"
        ]
    assert listed == 0
    row = one.execute("select listed from loom.embedding_model where model = 'next'").fetchone()
    assert row == (3,)

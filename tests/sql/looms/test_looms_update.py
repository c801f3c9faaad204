"""looms.update, looms.delete and looms.list."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.calls import Connection, Token, operate, refused
from tests.databases import Clock
from tests.sql.doors import as_service, through_api
from tests.sql.facts import audited
from tests.sql.loom_doors import NOBODY, PLACE, RUN, add, bind, looms, make, texts


def test_o9_what_is_left_out_stays_and_null_is_as_good(db: Connection) -> None:
    settings = {"nightWeaving": True, "quietMinutes": 3, "weaverModel": "m"}
    loom = make(db, description="d", settings=settings)
    before = looms(db, "get", loomId=loom)
    looms(db, "update", loomId=loom)
    looms(db, "update", loomId=loom, name=None, description=None, settings=None)
    looms(db, "update", loomId=loom, settings={})
    after = looms(db, "get", loomId=loom)
    assert {**after, "dateUpdated": ""} == {**before, "dateUpdated": ""}


@pytest.mark.parametrize("name", ["nightWeaving", "quietMinutes", "weaverModel"])
def test_a_setting_that_is_null_inherits_and_the_others_stay(db: Connection, name: str) -> None:
    settings = {"nightWeaving": True, "quietMinutes": 3, "weaverModel": "m"}
    loom = make(db, settings=settings)
    updated = looms(db, "update", loomId=loom, settings={name: None})["entity"]["settings"]
    assert {key: updated[key] for key in settings} == {**settings, name: None}


def test_a_loom_can_be_renamed_but_not_to_a_name_that_is_taken(db: Connection) -> None:
    loom = make(db)
    make(db, "taken")
    with refused(db, "LM202"):
        looms(db, "update", loomId=loom, name="taken")
    assert looms(db, "update", loomId=loom, name="plans")["entity"]["name"] == "plans"
    assert looms(db, "update", loomId=loom, name="goals")["entity"]["name"] == "goals"
    assert make(db, "plans")


def test_a_deleted_loom_is_gone_with_all_in_it_and_audited(db: Connection) -> None:
    source = make(db)
    thread = add(db, source, "shared")
    looms(db, "activity", loomId=source, text="turn")
    looms(db, "weave", loomId=source)
    heir = bind(db, scope="run", processId=RUN, seedFromLoomId=source)[0]["loom"]
    assert looms(db, "delete", loomId=source) == {"id": source, "threads": 1}
    for verb in ("get", "thread_list", "inspection", "weaving_list", "delete"):
        with refused(db, "LM103"):
            looms(db, verb, loomId=source)
    with refused(db, "LM103"):
        looms(db, "thread_delete", loomId=source, threadId=thread["id"])
    (row,) = audited(db, "looms.delete")
    assert "shared" not in str(row)
    assert texts(db, heir["id"]) == ["shared"]
    left = db.execute("select count(*) from loom.loom_turn").fetchone()
    assert left == (0,)


def test_a_list_is_paged_newest_first_and_empty_past_its_end(db: Connection, clock: Clock) -> None:
    names = [f"loom {number}" for number in range(5)]
    for number, name in enumerate(names):
        make(db, name)
        db.execute(
            "update loom.loom set created_at = timestamptz '2026-01-01' + %s * interval '1 minute'"
            " where name = %s",
            (number, name),
        )
    make(db, "elsewhere", namespace="second")
    first = looms(db, "list", page=1, pageSize=2)
    assert [each["name"] for each in first["items"]] == ["loom 4", "loom 3"]
    assert (first["page"], first["pageSize"], first["total"]) == (1, 2, 5)
    assert [each["name"] for each in looms(db, "list", page=3, pageSize=2)["items"]] == ["loom 0"]
    past = looms(db, "list", page=1_000_000, pageSize=200)
    assert (past["items"], past["total"]) == ([], 5)
    assert [each["name"] for each in looms(db, "list")["items"]] == names[::-1]


def test_of_a_namespace_nobody_has_written_into_the_list_is_empty(db: Connection) -> None:
    assert looms(db, "list", namespace="new") == {
        "items": [],
        "page": 1,
        "pageSize": 50,
        "total": 0,
    }


WRITES = {
    "create": {"name": "new"},
    "update": {"loomId": NOBODY},
    "delete": {"loomId": NOBODY},
    "thread_delete": {"loomId": NOBODY, "threadId": NOBODY},
    "weave": {"loomId": NOBODY},
    "weaving_revert": {"loomId": NOBODY, "weavingId": NOBODY},
}


@pytest.mark.parametrize("verb", WRITES)
def test_what_concerns_the_whole_loom_is_not_for_a_pinned_token(
    db: Connection, mint: Callable[..., Token], verb: str
) -> None:
    operate(db, "namespace.update", **PLACE)
    pinned = mint(namespace="main", read_user_id="u1")
    with refused(db, "LM302"):
        through_api(db, pinned, f"looms.{verb}", **WRITES[verb])


@pytest.mark.parametrize("verb", [*WRITES, "thread_add", "activity", "bind"])
def test_a_viewer_writes_nothing(
    services: Connection, mint: Callable[..., Token], verb: str
) -> None:
    loom = make(services)
    request = {"loomId": loom, "text": "t"} if verb in ("thread_add", "activity") else {}
    request = WRITES.get(verb, request)
    with refused(services, "LM302") as refusal:
        through_api(services, mint(namespace="main", role="viewer"), f"looms.{verb}", **request)
    assert refusal.detail["needed"] == "writer"
    with refused(services, "42501"):
        as_service(services, "loom_test_viewer", f"looms.{verb}", **PLACE, **request)


def test_looms_cannot_stand_in_a_batch(db: Connection) -> None:
    requests = [{"op": "looms.create", **PLACE, "name": "new"}]
    (result,) = operate(db, "batch", org="acme", requests=requests)["results"]
    assert result["error"]["reason"] == "cannot stand in a batch"

"""looms.thread_add, looms.thread_list, looms.thread_delete and looms.activity."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

import pytest

from tests.calls import Connection, Token, operate, refused
from tests.databases import Clock
from tests.sql.doors import execute, through_api
from tests.sql.loom_doors import NOBODY, PLACE, RUN, add, looms, make, texts
from tests.sql.looms.test_looms_create import MOMENT


def test_a_thread_is_shared_or_an_agents_own(db: Connection) -> None:
    loom = make(db)
    shared = add(db, loom, "text", tags=["b", "a", "b"])
    assert shared.keys() == {
        *("id", "loomId", "kind", "agent", "userId", "text", "tags", "wovenFrom", "version"),
        *("dateCreated", "dateUpdated", "deletedAt"),
    }
    assert (shared["kind"], shared["agent"], shared["userId"]) == ("shared", None, "-")
    assert (shared["version"], shared["tags"], shared["wovenFrom"]) == (1, ["a", "b"], [])
    assert MOMENT.fullmatch(shared["dateCreated"])
    assert shared["deletedAt"] is None
    own = add(db, loom, "text", agent="a", userId="u1")
    assert (own["kind"], own["agent"], own["userId"]) == ("own", "a", "u1")
    assert looms(db, "get", loomId=loom)["lastWovenAt"] == own["dateCreated"]


def test_a_text_has_1_to_16384_characters(db: Connection) -> None:
    loom = make(db)
    assert add(db, loom, "😀" * 16384)["text"] == "😀" * 16384
    for verb in ("thread_add", "activity"):
        with refused(db, "LM406") as limit:
            looms(db, verb, loomId=loom, text="x" * 16385)
        assert limit.detail == {"what": "text", "limit": 16384, "value": 16385}
        for wrong in ("", None, 1, ["x"]):
            with refused(db, "LM001") as refusal:
                looms(db, verb, loomId=loom, text=wrong)
            assert refusal.detail["field"] == "text"


def test_what_is_blacklisted_is_not_woven(db: Connection) -> None:
    loom = make(db)
    operate(db, "blacklist.add", **PLACE, pattern="secret")
    for verb in ("thread_add", "activity"):
        with refused(db, "LM407"):
            operate(db, f"looms.{verb}", org="acme", loomId=loom, text="a SECRET")
    with refused(db, "LM407"):
        add(db, loom, "text", tags=["secret"])


def test_a_list_is_paged_newest_first_within_the_read_scope(db: Connection) -> None:
    loom = make(db)
    for number in range(5):
        add(db, loom, f"{number}")
    add(db, loom, "u1's", userId="u1", agent="a")
    add(db, loom, "u2's", userId="u2")
    page = looms(db, "thread_list", loomId=loom, pageSize=2, page=2)
    assert [each["text"] for each in page["items"]] == ["2", "1"]
    assert (page["page"], page["pageSize"], page["total"]) == (2, 2, 5)
    assert looms(db, "thread_list", loomId=loom, page=9)["items"] == []
    assert texts(db, loom, readScope="own_user", userId="u1")[-1] == "u1's"
    assert looms(db, "thread_list", loomId=loom, userId="u1")["total"] == 6
    assert looms(db, "thread_list", loomId=loom, readScope="namespace")["total"] == 7
    assert texts(db, loom, agent="a") == ["u1's"]
    assert "u1's" not in texts(db, loom, agent="-")


@pytest.mark.parametrize("user", ["u%", "u_", "%", "U1", "u1 ", "\\"])
def test_o59_users_named_like_patterns_are_other_users(db: Connection, user: str) -> None:
    loom = make(db)
    add(db, loom, "u1's", userId="u1")
    add(db, loom, "theirs", userId=user)
    assert texts(db, loom, readScope="own_user", userId=user) == ["theirs"]


def test_o58_a_deleted_thread_is_a_tombstone_and_its_versions_are_kept(
    db: Connection, clock: Clock
) -> None:
    clock.set(datetime(2026, 1, 1, 12, tzinfo=UTC))
    loom = make(db)
    thread = add(db, loom, "text")
    clock.advance(minutes=1)
    gone = looms(db, "thread_delete", loomId=loom, threadId=thread["id"])["entity"]
    assert gone["version"] == 2
    assert gone["deletedAt"] == "2026-01-01T12:01:00.0000000Z"
    assert gone["dateCreated"] == thread["dateCreated"]
    clock.advance(minutes=1)
    again = looms(db, "thread_delete", loomId=loom, threadId=thread["id"])["entity"]
    assert again == gone
    assert texts(db, loom) == []
    listed = looms(db, "thread_list", loomId=loom, includeDeleted=True)
    assert (listed["items"], listed["total"]) == ([gone], 1)
    versions = db.execute("select version, text, deleted_at from loom.loom_thread_version")
    assert versions.fetchall() == [(1, "text", None)]


def test_a_thread_is_found_in_its_own_loom_alone(db: Connection) -> None:
    loom, other = make(db), make(db, "other")
    thread = add(db, loom, "text")
    for where, which in ((other, thread["id"]), (loom, NOBODY)):
        with refused(db, "LM104"):
            looms(db, "thread_delete", loomId=where, threadId=which)
    assert texts(db, loom) == ["text"]


def test_a_turn_is_told_by_the_looms_activity(db: Connection, clock: Clock) -> None:
    clock.set(datetime(2026, 1, 1, 12, tzinfo=UTC))
    loom = make(db)
    answer = looms(
        db,
        "activity",
        loomId=loom,
        text="a turn",
        agent="a",
        processId=RUN,
        credentials="team-a",
        model="m",
    )
    assert answer.pop("turnId")
    assert answer == {
        "loomId": loom,
        "lastActivityAt": "2026-01-01T12:00:00.0000000Z",
        "lastActivityProcessId": RUN,
        "nightWeavingPending": True,
    }
    found = looms(db, "get", loomId=loom)
    assert (found["lastActivityAt"], found["lastActivityProcessId"]) == (
        answer["lastActivityAt"],
        RUN,
    )
    assert found["nightWeavingPending"] is True
    clock.advance(minutes=1)
    later = looms(db, "activity", loomId=loom, text="another")
    assert later["lastActivityProcessId"] is None
    # A name, and nothing else of a secret, is kept, and only of the last run.
    assert db.execute("select activity_credentials from loom.loom").fetchall() == [(None,)]


def test_o40_a_turn_is_not_answered_with_its_text(db: Connection) -> None:
    answer = looms(db, "activity", loomId=make(db), text="canary")
    assert "canary" not in str(answer)


def test_a_pinned_token_adds_its_own_users_threads_and_turns_and_no_others(
    db: Connection, mint: Callable[..., Token]
) -> None:
    loom = make(db)
    pinned = mint(namespace="main", read_user_id="u1")
    for op in ("looms.thread_add", "looms.activity"):
        through_api(db, pinned, op, loomId=loom, text="mine")
        for user in ("u2", "-"):
            with refused(db, "LM302") as refusal:
                through_api(db, pinned, op, loomId=loom, text="theirs", userId=user)
            assert refusal.detail["reason"] == "userId is outside the token's bounds"
    owners = db.execute(
        "select user_id from loom.loom_thread union all select user_id from loom.loom_turn"
    ).fetchall()
    assert owners == [("u1",), ("u1",)]
    for op in ("looms.thread_list", "looms.inspection"):
        with refused(db, "LM302"):
            through_api(db, pinned, op, loomId=loom, readScope="namespace")


def test_a_token_of_a_session_reads_looms_and_weaves_nothing_into_them(
    db: Connection, mint: Callable[..., Token]
) -> None:
    loom = make(db)
    add(db, loom, "mine", userId="u1")
    bound = mint(namespace="main", read_user_id="u1", session_id="s1")
    assert through_api(db, bound, "looms.thread_list", loomId=loom)["total"] == 1
    assert through_api(db, bound, "looms.bind", loomId=loom)["bindings"][0]["threadCount"] == 1
    for op in ("looms.thread_add", "looms.activity"):
        with refused(db, "LM302") as refusal:
            through_api(db, bound, op, loomId=loom, text="t")
        assert refusal.detail["reason"] == "the token is bound to a session"


def test_a_thread_added_under_a_key_is_added_once(db: Connection) -> None:
    loom = make(db)
    request = {**PLACE, "loomId": loom, "text": "once", "userId": "u1"}
    first = execute(db, "looms.thread_add", key="k", **request)
    assert execute(db, "looms.thread_add", key="k", **request) == first
    assert texts(db, loom) == ["once"]
    with refused(db, "LM206"):
        execute(db, "looms.thread_add", key="k", **{**request, "text": "twice"})
    # The kept answer holds the text, and goes with its user.
    assert operate(db, "erasure.request", org="acme", user_id="u1")["removed"]["idempotency"] == 1


def test_o69_an_erasure_takes_threads_versions_and_turns(db: Connection) -> None:
    loom = make(db)
    for user in ("u1", "u2"):
        gone = add(db, loom, f"canary of {user}", userId=user)
        looms(db, "thread_delete", loomId=loom, threadId=gone["id"])
        add(db, loom, f"canary of {user}", userId=user)
        looms(db, "activity", loomId=loom, text=f"canary of {user}", userId=user)
    removed = operate(db, "erasure.request", org="acme", user_id="u1")["removed"]
    assert removed["loom_thread"] == 4
    seen = looms(db, "inspection", loomId=loom, readScope="namespace")
    assert "of u1" not in str(seen)
    assert "of u2" in str(seen)
    left = db.execute("select count(*) from loom.loom_thread_version").fetchone()
    assert left == (1,)


def test_o69_the_answer_kept_of_a_deletion_goes_with_the_threads_user(db: Connection) -> None:
    loom = make(db)
    for user in ("u1", "u2"):
        thread = add(db, loom, f"canary of {user}", userId=user)
        named = {"loomId": loom, "threadId": thread["id"]}
        execute(db, "looms.thread_delete", key=user, **PLACE, **named)
    operate(db, "erasure.request", org="acme", user_id="u1")
    rows = db.execute("select key, answer::text from loom.idempotency").fetchall()
    assert [key for key, _ in rows] == ["u2"]
    assert "u1" not in str(rows)

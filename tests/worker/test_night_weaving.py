"""Night weaving by a real worker: when a loom is due, what each answer of the model comes to, and
what no answer can do."""

from __future__ import annotations

import asyncio
import json
from contextlib import suppress
from datetime import UTC, timedelta
from typing import Any

import msgspec
import psycopg
import pytest

from loom.heeded import Heeded
from loom.settings import Settings
from loom.types import OPERATIONS
from loom.worker.handlers.configured import configured
from loom.worker.handlers.night_weaving import NightWeaving
from loom.worker.main import Worker
from loom.worker.model_clients import ModelClients
from tests.calls import operate, refused
from tests.databases import Database
from tests.model_endpoint import (
    ModelEndpoint,
    Request,
    Step,
    completion,
    cut_off,
    dropped_in_body,
    hang,
    rate_limited,
    server_error,
)
from tests.races import wait_until
from tests.sql.loom_doors import PLACE, RUN, looms, make
from tests.worker.looms import QUIET, Loft, add_, operations, retire, revise, told
from tests.worker.lost_connections import cut, lost_after
from tests.worker.test_worker import login

NOTHING = operations()


@pytest.fixture
def loft(database: Database) -> Loft:
    return Loft.of(database)


def test_a_quiet_loom_is_woven_and_stamped(loft: Loft) -> None:
    kept, old = loft.add("kept"), loft.add("old plan")
    for number in range(4):
        loft.add(f"filler {number}")
    gone = loft.add("of no use")
    loft.turn("the plan is new", agent="a")
    loft.night()
    numbers = {"old plan": 2, "of no use": 7}
    with ModelEndpoint(
        operations(add_("added"), revise(numbers["old plan"], "new plan"), retire(7))
    ) as endpoint:
        assert loft.work(endpoint) == 1
    (request,) = endpoint.requests
    given = told(request)
    assert [each["text"] for each in given["turns"]] == ["the plan is new"]
    assert given["threads"][1] == {"n": 2, "text": "old plan", "tags": []}
    assert given["context"] == []
    assert {"added", "new plan", "kept"} <= set(loft.texts())
    assert not {"old plan", "of no use"} & set(loft.texts())
    state = loft.state
    assert state["nightWeavingPending"] is False
    assert state["lastNightWeavingAt"] == state["lastWovenAt"] > state["lastActivityAt"]
    assert state["nightWeavingNotBefore"] is None
    weaving = loft.last
    assert (weaving["state"], weaving["cause"], weaving["error"]) == ("done", "night", None)
    assert (weaving["added"], weaving["revised"], weaving["retired"]) == (1, 1, 1)
    assert (weaving["promptTokens"], weaving["completionTokens"]) == (100, 20)
    assert (weaving["processId"], weaving["model"]) == (RUN, "scripted")
    by_action = {change["action"]: change for change in weaving["changes"]}
    assert by_action["revise"]["threadId"] == old["id"]
    assert (by_action["revise"]["fromVersion"], by_action["revise"]["toVersion"]) == (1, 2)
    assert by_action["retire"]["threadId"] == gone["id"]
    (added,) = [each for each in loft.threads() if each["text"] == "added"]
    turn = loft.conn.execute("select turn_id::text from loom.loom_turn").fetchone()
    assert turn is not None
    assert added["wovenFrom"] == [turn[0]]
    assert [each for each in loft.threads() if each["id"] == kept["id"]] == [kept]
    # Nothing is due any more.
    loft.night(10_000)
    assert loft.weave() == 0


LEVELS: list[tuple[dict[str, Any], dict[str, Any], dict[str, Any], bool]] = [
    ({"nightWeaving": True}, {}, {}, True),
    ({}, {"night_weaving": True}, {}, True),
    ({}, {}, {"default": True}, True),
    ({"nightWeaving": False}, {"night_weaving": True}, {"default": True}, False),
    ({}, {"night_weaving": False}, {"default": True}, False),
    ({}, {}, {}, False),
]


@pytest.mark.parametrize(("own", "namespace", "installation", "woven"), LEVELS)
def test_the_nearest_of_three_levels_says_whether_a_loom_is_woven(
    loft: Loft,
    own: dict[str, Any],
    namespace: dict[str, Any],
    installation: dict[str, Any],
    woven: bool,
) -> None:
    looms(loft.conn, "update", loomId=loft.loom, settings={"nightWeaving": None, **own})
    operate(loft.conn, "namespace.update", **PLACE, **namespace)
    Heeded(night_weaving=installation).put(loft.conn)
    loft.turn()
    loft.night()
    assert loft.weave(NOTHING) == woven


@pytest.mark.parametrize(
    ("own", "namespace", "installation", "minutes"),
    [
        ({"quietMinutes": 7}, {"quiet_minutes": 30}, {"quiet_minutes": 60}, 7),
        ({}, {"quiet_minutes": 30}, {"quiet_minutes": 60}, 30),
        ({}, {}, {"quiet_minutes": 60}, 60),
        ({}, {}, {}, 5),
        ({"quietMinutes": 0}, {"quiet_minutes": 30}, {}, 0),
    ],
)
@pytest.mark.parametrize("inherits", [False, True])
def test_o48_a_loom_is_due_just_when_the_quiet_period_of_the_nearest_level_is_reached(
    loft: Loft,
    own: dict[str, Any],
    namespace: dict[str, Any],
    installation: dict[str, Any],
    minutes: int,
    inherits: bool,
) -> None:
    """The clock alone makes it due."""
    settings = {"quietMinutes": None, "nightWeaving": None if inherits else True, **own}
    looms(loft.conn, "update", loomId=loft.loom, settings=settings)
    operate(loft.conn, "namespace.update", **PLACE, night_weaving=inherits, **namespace)
    Heeded(night_weaving=installation).put(loft.conn)
    loft.turn()
    if minutes:
        loft.night(minutes - 0.001)
        assert loft.weave() == 0
        loft.night(0.001)
    assert loft.weave(NOTHING) == 1


def test_a_turn_puts_the_weaving_off(loft: Loft) -> None:
    loft.turn("first")
    loft.night(QUIET - 1)
    loft.turn("second")
    loft.night(QUIET - 1)
    assert loft.weave() == 0
    loft.night(1)
    with ModelEndpoint(NOTHING) as endpoint:
        assert loft.work(endpoint) == 1
    assert [each["text"] for each in told(endpoint.requests[0])["turns"]] == ["first", "second"]


def test_a_worker_that_was_down_catches_up_once(loft: Loft) -> None:
    for number in range(3):
        loft.turn(f"night {number}")
        loft.night(24 * 60)
    with ModelEndpoint(NOTHING) as endpoint:
        assert loft.work(endpoint) == 1
        assert loft.work(endpoint) == 0
    assert len(told(endpoint.requests[0])["turns"]) == 3


def test_o49_what_a_weaving_writes_makes_nothing_due(loft: Loft) -> None:
    loft.turn()
    loft.night()
    assert loft.weave(operations(add_("woven"))) == 1
    assert loft.state["nightWeavingPending"] is False
    loft.night(10_000)
    assert loft.weave() == 0


def test_what_comes_while_the_model_thinks_stays_pending(loft: Loft) -> None:
    loft.turn("before")
    loft.night()

    def meanwhile(_request: Request) -> Step:
        loft.turn("meanwhile")
        return NOTHING

    with ModelEndpoint(answer=meanwhile) as endpoint:
        assert loft.work(endpoint) == 1
    assert loft.state["nightWeavingPending"] is True
    assert loft.weave() == 0
    loft.night()
    with ModelEndpoint(NOTHING) as endpoint:
        assert loft.work(endpoint) == 1
    assert [each["text"] for each in told(endpoint.requests[0])["turns"]] == ["meanwhile"]
    assert loft.state["nightWeavingPending"] is False


def test_o56_a_long_day_is_woven_in_pieces_until_nothing_is_left(loft: Loft) -> None:
    for number in range(9):
        loft.turn(f"{number}" * 16384)
    loft.night()
    with ModelEndpoint(NOTHING, NOTHING, NOTHING) as endpoint:
        assert loft.work(endpoint) == 3
    read = [each["text"][0] for request in endpoint.requests for each in told(request)["turns"]]
    assert read == [str(number) for number in range(9)]
    assert all(
        len(request.body["messages"][1]["content"]) < 70_000 for request in endpoint.requests
    )
    assert loft.state["nightWeavingPending"] is False


@pytest.mark.parametrize(
    ("step", "code", "wait", "attempts"),
    [
        pytest.param(cut_off(), "CUT_OFF", 5, 1, id="half an answer"),
        pytest.param(dropped_in_body(), "MODEL_DROPPED", 5, 1, id="half a reply"),
        pytest.param(completion("garbage"), "ANSWER_NOT_OBJECT", 5, 1, id="garbage"),
        pytest.param(completion(""), "EMPTY_ANSWER", 5, 1, id="nothing"),
        pytest.param(completion({"threads": []}), "ANSWER_OFF_SCHEMA", 5, 1, id="off the schema"),
        pytest.param(completion({"operations": {}}), "ANSWER_OFF_SCHEMA", 5, 1, id="no list"),
        pytest.param(server_error(), "MODEL_ERROR", 5, 1, id="500"),
        pytest.param(rate_limited("90"), "MODEL_RATE_LIMITED", 1.5, 0, id="429"),
        pytest.param(server_error(503), "MODEL_UNAVAILABLE", 5, 0, id="503"),
    ],
)
def test_o53_a_failure_changes_nothing_and_is_waited_for(
    loft: Loft, step: Step, code: str, wait: float, attempts: int
) -> None:
    loft.add("kept")
    loft.turn()
    loft.night()
    now = loft.clock.advance(milliseconds=0)
    before = (loft.threads(), loft.state["lastNightWeavingAt"])
    assert loft.weave(step) == 1
    assert (loft.threads(), loft.state["lastNightWeavingAt"]) == before
    assert loft.state["nightWeavingPending"] is True
    until = (now + timedelta(minutes=wait)).astimezone(UTC)
    assert loft.state["nightWeavingNotBefore"] == until.strftime("%Y-%m-%dT%H:%M:%S.%f0Z")
    assert (loft.last["state"], loft.last["error"]) == ("failed", code)
    night = looms(loft.conn, "inspection", loomId=loft.loom)["nightWeaving"]
    assert (night["waitsFor"], night["attempts"]) == (["backoff"], attempts)
    loft.night(wait - 0.001)
    assert loft.weave() == 0
    loft.night(0.001)
    assert loft.weave(operations(add_("at last"))) == 1
    assert loft.texts() == ["at last", "kept"]
    assert loft.state["nightWeavingNotBefore"] is None


@pytest.mark.parametrize("users", [1, 3])
def test_o53_a_weaving_takes_users_as_wholes_and_turns_never_stay(loft: Loft, users: int) -> None:
    """Also those of a user with many agents, of whatever names."""
    for user in range(users):
        for number in range(120 // users):
            loft.add("own", agent=f"#{number}", userId=f"u{user}")
            loft.turn(agent=f"#{number}", userId=f"u{user}")
    loft.night()
    parts = claim(loft)["parts"]
    assert [part["user_id"] for part in parts if part["agent"] == "-"] == ["u0", "u1"][:users]
    assert len(parts) == {1: 100, 3: 82}[users]
    assert parts[-1]["agent"] == "-"


def test_o56_a_user_whose_turns_make_the_model_fail_keeps_nobody_else_waiting(loft: Loft) -> None:
    loft.add("own of u1", userId="u1", agent="a")
    for user in ("u1", "u2"):
        loft.turn(f"turn of {user}", userId=user, agent="a")
    loft.night()

    def answer(request: Request) -> Step:
        if told(request)["threads"]:
            return completion("garbage")
        return operations(add_(f"from {told(request)['turns'][0]['text']}"))

    with ModelEndpoint(answer=answer) as endpoint:
        assert loft.work(endpoint) == 1
    # What u1's own thread has not been told yet is not taken for consolidated by the shared ones.
    assert len(endpoint.requests) == 2
    assert loft.texts() == ["from turn of u2", "own of u1"]
    assert (loft.last["state"], loft.last["error"]) == ("failed", "ANSWER_NOT_OBJECT")
    assert loft.state["nightWeavingPending"] is True
    loft.night()
    with ModelEndpoint(NOTHING, NOTHING) as endpoint:
        assert loft.work(endpoint) == 1
    assert "u2" not in str([told(request) for request in endpoint.requests])
    assert loft.state["nightWeavingPending"] is False


def test_o53_an_endpoint_that_fails_is_asked_once_for_all_users(loft: Loft) -> None:
    for user in ("u1", "u2"):
        loft.turn(f"turn of {user}", userId=user)
    loft.night()
    with ModelEndpoint(answer=lambda _request: server_error()) as endpoint:
        assert loft.work(endpoint) == 1
    assert len(endpoint.requests) == 1


def test_o53_waits_grow_with_each_failure_up_to_six_hours(loft: Loft) -> None:
    loft.turn()
    loft.night()
    waits = []
    for _ in range(9):
        at = loft.conn.execute("select loom._now()").fetchone()
        assert loft.weave(server_error()) == 1
        until = loft.conn.execute("select night_weaving_not_before from loom.loom").fetchone()
        assert at is not None
        assert until is not None
        waits.append((until[0] - at[0]).total_seconds() / 60)
        loft.night(waits[-1])
    assert waits == [5, 10, 20, 40, 80, 160, 320, 360, 360]


def test_o58_of_a_model_that_retires_everything_a_fifth_is_done_in_a_day(loft: Loft) -> None:
    for number in range(11):
        loft.add(f"thread {number}")
    everything = operations(*(retire(number) for number in range(1, 12)))
    for hour in range(5):
        loft.turn()
        loft.night(60)
        assert loft.weave(everything) == 1
        assert len(loft.threads()) == 9, hour
    assert (loft.last["retired"], loft.last["dropped"]) == (0, 11)
    # Tombstones, and a day later as much again of what there is.
    assert len(loft.threads(includeDeleted=True)) == 11
    loft.turn()
    loft.night(24 * 60)
    loft.weave(everything)
    assert len(loft.threads()) == 8


def test_o58_only_what_a_revert_brings_back_may_be_retired_again(loft: Loft) -> None:
    Heeded(night_weaving={"max_retire_share": 0.5}).put(loft.conn)
    for number in range(10):
        loft.add(f"secret {number}" if number < 4 else f"thread {number}")
    everything = operations(*(retire(number) for number in range(1, 11)))
    looms(loft.conn, "weave", loomId=loft.loom)
    loft.weave(everything)
    operate(loft.conn, "blacklist.add", **PLACE, pattern="secret")
    answered = loft.revert(loft.last["id"])
    assert (answered["reverted"], answered["kept"]) == (1, 4)
    looms(loft.conn, "weave", loomId=loft.loom)
    loft.weave(everything)
    assert len(loft.threads()) == 5


@pytest.mark.parametrize(("share", "left"), [(0, 4), (0.5, 2), (1, 0)])
def test_o58_the_share_is_a_setting(loft: Loft, share: float, left: int) -> None:
    Heeded(night_weaving={"max_retire_share": share}).put(loft.conn)
    for number in range(4):
        loft.add(f"thread {number}")
    loft.turn()
    loft.night()
    loft.weave(operations(*(retire(number) for number in range(1, 5))))
    assert len(loft.threads()) == left


BAD: list[Any] = [
    *(revise(0, "x"), revise(-1, "x"), revise(3, "x"), revise(10**30, "x"), retire(99)),
    *({"action": "revise", "thread": "1", "text": "x"}, {"action": "revise", "thread": True}),
    *({"action": "revise", "thread": 1}, {"action": "revise", "thread": 1, "text": ""}),
    *(revise(1, "x" * 16385), revise(1, "one"), {"action": "delete", "thread": 1}),
    *({"action": ["retire"], "thread": 1}, "retire 1", None, 1, []),
    *(add_(""), add_("  "), add_("one"), {"action": "add"}, add_("x" * 16385), add_("a\0b")),
    {"action": "add", "text": "half \ud800"},
]


def test_o39_what_cannot_be_done_is_left_out_and_costs_nothing_else(loft: Loft) -> None:
    loft.add("one")
    loft.add("two")
    loft.turn()
    loft.night()
    right = revise(2, "zwei")
    content = json.dumps({"operations": [*BAD, right]})
    assert loft.weave(completion(content)) == 1
    assert loft.texts() == ["one", "zwei"]
    assert (loft.last["state"], loft.last["dropped"]) == ("done", len(BAD))


def test_ids_that_a_model_invents_are_nobodys(loft: Loft) -> None:
    """Turns it names that it was not given, too."""
    loft.turn()
    loft.night()
    loft.weave(operations(add_("new", turns=[1, 2, -1, 10**40, 1], thread=77, userId="u9")))
    (thread,) = loft.threads()
    assert (len(thread["wovenFrom"]), thread["userId"], thread["kind"]) == (1, "-", "shared")


def test_o13_threads_changed_or_gone_meanwhile_are_kept_as_they_are(loft: Loft) -> None:
    threads = [loft.add(text) for text in ("edited", "deleted", "untouched", "a", "b")]
    loft.turn()
    loft.night()

    def meanwhile(_request: Request) -> Step:
        loft.add("woven meanwhile")
        named = {"loomId": loft.loom, "threadId": threads[1]["id"]}
        looms(loft.conn, "thread_delete", **named)
        loft.conn.execute(
            "update loom.loom_thread set version = 2, text = 'by hand' where thread_id = %s",
            (threads[0]["id"],),
        )
        return operations(
            revise(1, "by the model"), revise(2, "back again"), revise(3, "touched"), retire(2)
        )

    with ModelEndpoint(answer=meanwhile) as endpoint:
        assert loft.work(endpoint) == 1
    assert loft.texts() == ["a", "b", "by hand", "touched", "woven meanwhile"]
    assert loft.last["dropped"] == 3


def test_an_agents_own_thread_never_becomes_shared(loft: Loft) -> None:
    """What is its own is woven apart: the shared part does not even see it."""
    own = loft.add("a's secret", agent="a")
    loft.add("shared")
    loft.turn("turn of a", agent="a")
    loft.turn("turn of b", agent="b")
    loft.night()

    def share_it(request: Request) -> Step:
        texts = [each["text"] for each in told(request)["threads"]]
        wanted = [add_(f"copy of {text}", agent=None, kind="shared") for text in texts]
        return operations(*wanted, revise(1, f"now {texts[0]}", agent=None, kind="shared"))

    with ModelEndpoint(answer=share_it) as endpoint:
        assert loft.work(endpoint) == 1
    first, second = (told(request) for request in endpoint.requests)
    assert [each["text"] for each in first["threads"]] == ["a's secret"]
    assert [each["text"] for each in first["turns"]] == ["turn of a"]
    assert [each["text"] for each in first["context"]] == ["shared"]
    assert [each["text"] for each in second["turns"]] == ["turn of a", "turn of b"]
    assert "a's secret" not in str(second)
    of_a = [each for each in loft.threads() if "secret" in each["text"]]
    assert {each["agent"] for each in of_a} == {"a"}
    assert [each["text"] for each in of_a if each["id"] == own["id"]] == ["now a's secret"]


def test_o63_users_are_woven_one_at_a_time_and_what_is_written_is_theirs(loft: Loft) -> None:
    for user in ("-", "u1", "u2"):
        loft.add(f"thread of {user}", userId=user)
        if user != "-":
            loft.turn(f"turn of {user}", userId=user)
    loft.night()

    def answer(request: Request) -> Step:
        return operations(add_(f"from {told(request)['turns'][0]['text']}"), retire(1))

    with ModelEndpoint(answer=answer) as endpoint:
        assert loft.work(endpoint) == 1
    assert len(endpoint.requests) == 2
    for user, other, request in zip(("u1", "u2"), ("u2", "u1"), endpoint.requests, strict=True):
        given = told(request)
        assert [each["text"] for each in given["context"]] == ["thread of -"]
        assert other not in str(given)
        written = [each for each in loft.threads() if each["text"] == f"from turn of {user}"]
        assert [each["userId"] for each in written] == [user]
    assert "thread of -" in loft.texts()


def test_o70_of_a_user_who_is_erased_while_the_model_thinks_nothing_comes_back(loft: Loft) -> None:
    loft.add("thread of u1", userId="u1")
    loft.turn("turn of u1", userId="u1")
    loft.turn("turn of u2", userId="u2")
    loft.night()

    def meanwhile(request: Request) -> Step:
        if "u1" in str(told(request)):
            loft.erase("u1")
        return operations(add_(f"from {told(request)['turns'][0]['text']}"))

    with ModelEndpoint(answer=meanwhile) as endpoint:
        assert loft.work(endpoint) == 1
    assert loft.texts() == ["from turn of u2"]
    rows = loft.conn.execute(
        "select count(*) from loom.loom_weaving_change where user_id = 'u1'"
    ).fetchone()
    assert rows == (0,)
    assert "u1" not in str(loft.last)


def test_a_user_erased_before_the_claim_leaves_nothing_to_ask_a_model(loft: Loft) -> None:
    loft.turn("turn of u1", userId="u1")
    loft.night()
    loft.erase("u1")
    assert loft.weave() == 1
    assert loft.state["nightWeavingPending"] is False


def test_a_weaving_is_taken_back_byte_for_byte(loft: Loft) -> None:
    texts = ["  spaces \t", "é e\u0301 👩‍👩‍👧‍👦", "plain", "4", "5"]
    for text in texts:
        loft.add(text, tags=["t"])
    before = loft.threads()
    loft.turn()
    loft.night()
    loft.weave(operations(revise(1, "other"), revise(2, "é"), retire(3), add_("new")))
    assert len(loft.threads()) == 5
    answer = loft.revert(loft.last["id"])
    msgspec.convert(answer, OPERATIONS["looms.weaving_revert"].answer, strict=True)
    assert (answer["reverted"], answer["kept"]) == (4, 0)
    assert answer["entity"]["dateReverted"]
    after = loft.threads()
    varies = ("version", "dateUpdated")
    for thread in [*before, *after]:
        for name in varies:
            thread.pop(name)
    assert after == before
    assert all(change["reverted"] for change in loft.last["changes"])
    # Again it changes nothing.
    again = loft.revert(loft.last["id"])
    assert (again["reverted"], again["kept"], loft.texts()) == (4, 0, sorted(texts))
    versions = loft.conn.execute(
        "select array_agg(version order by version) from loom.loom_thread_version"
        " group by thread_id having count(*) > 1"
    ).fetchall()
    assert versions == [([1, 2],)] * 3


def test_a_revert_leaves_what_came_after_and_never_brings_back_what_was_erased(loft: Loft) -> None:
    for text in ("one", "two", "secret", "4", "5"):
        loft.add(text)
    loft.add("of u1", userId="u1")
    loft.turn(userId="u1")
    loft.turn()
    loft.night()

    def answer(request: Request) -> Step:
        if len(told(request)["threads"]) == 1:
            return operations(revise(1, "of u1, revised"), add_("new of u1"))
        return operations(revise(1, "eins"), revise(2, "zwei"), revise(3, "known"))

    with ModelEndpoint(answer=answer) as endpoint:
        loft.work(endpoint)
    weaving = loft.last["id"]
    (two,) = [each for each in loft.threads() if each["text"] == "zwei"]
    looms(loft.conn, "thread_delete", loomId=loft.loom, threadId=two["id"])
    loft.erase("u1")
    operate(loft.conn, "blacklist.add", **PLACE, pattern="secret")
    answered = loft.revert(weaving)
    assert (answered["reverted"], answered["kept"]) == (1, 2)
    assert loft.texts() == ["4", "5", "known", "one"]
    assert "u1" not in str(loft.weaving(weaving))


def test_weavings_are_taken_back_one_after_another_from_the_last(loft: Loft) -> None:
    for number in range(5):
        loft.add(f"{number}")
    weavings = []
    for answer in (
        operations(revise(1, "0 first"), add_("new")),
        operations(revise(1, "0 second"), revise(6, "new, revised")),
    ):
        loft.turn()
        loft.night()
        loft.weave(answer)
        weavings.append(loft.last["id"])
    first, second = weavings
    assert [loft.revert(first)[name] for name in ("reverted", "kept")] == [0, 2]
    assert [loft.revert(second)[name] for name in ("reverted", "kept")] == [2, 0]
    assert loft.texts() == ["0 first", "1", "2", "3", "4", "new"]
    assert [loft.revert(first)[name] for name in ("reverted", "kept")] == [2, 0]
    assert loft.texts() == ["0", "1", "2", "3", "4"]


def test_a_thread_deleted_after_it_was_retired_does_not_come_back(loft: Loft) -> None:
    threads = [loft.add(f"{number}") for number in range(5)]
    loft.turn()
    loft.night()
    loft.weave(operations(retire(1)))
    named = {"loomId": loft.loom, "threadId": threads[0]["id"]}
    deleted = [looms(loft.conn, "thread_delete", **named)["entity"] for _ in range(2)]
    assert deleted[0] == deleted[1]
    answered = loft.revert(loft.last["id"])
    assert (answered["reverted"], answered["kept"]) == (0, 1)
    assert loft.texts() == ["1", "2", "3", "4"]


def test_a_weaving_asked_for_needs_neither_settings_nor_quiet_nor_turns(loft: Loft) -> None:
    looms(loft.conn, "update", loomId=loft.loom, settings={"nightWeaving": False})
    loft.add("one")
    asked = looms(loft.conn, "weave", loomId=loft.loom)["entity"]["id"]
    assert loft.weave(operations(revise(1, "eins"))) == 1
    assert loft.texts() == ["eins"]
    assert (loft.last["id"], loft.last["state"], loft.last["cause"]) == (asked, "done", "request")


def test_a_dry_run_shows_all_and_changes_nothing(loft: Loft) -> None:
    for number in range(5):
        loft.add(f"thread {number}")
    loft.turn("a turn")
    asked = looms(loft.conn, "weave", loomId=loft.loom, dryRun=True)["entity"]["id"]
    before, state = loft.threads(), loft.state
    assert loft.weave(operations(add_("new"), revise(1, "revised"), retire(2), retire(3))) == 1
    assert loft.threads() == before
    assert {**loft.state, "dateUpdated": ""} == {**state, "dateUpdated": ""}
    weaving = loft.weaving(asked)
    assert (weaving["state"], weaving["dryRun"], weaving["dropped"]) == ("done", True, 1)
    shown = [(each["action"], each["text"], each["toVersion"]) for each in weaving["changes"]]
    assert shown == [("add", "new", None), ("revise", "revised", None), ("retire", None, None)]
    with refused(loft.conn, "LM001"):
        loft.revert(asked)
    # The turn is still to be woven.
    loft.night()
    assert loft.weave(NOTHING) == 1


def test_a_dry_run_shows_what_would_be_done_and_no_more(loft: Loft) -> None:
    """Also where an answer says something twice."""
    for number in range(10):
        loft.add(f"thread {number}")
    answer = operations(
        *(retire(1), retire(1), revise(1, "one"), revise(2, "two"), revise(2, "zwei"), retire(2)),
        *(add_("new"), add_("new"), add_("two")),
    )
    shown = []
    for dry_run in (True, False):
        asked = looms(loft.conn, "weave", loomId=loft.loom, dryRun=dry_run)["entity"]["id"]
        assert loft.weave(answer) == 1
        weaving = loft.weaving(asked)
        assert weaving["dropped"] == 6
        shown.append([(each["action"], each["text"]) for each in weaving["changes"]])
    assert shown[0] == shown[1] == [("retire", None), ("revise", "two"), ("add", "new")]


def test_the_credentials_are_those_of_the_last_run_by_name(loft: Loft) -> None:
    loft.turn(credentials="team-a", model="their-model")
    loft.night()
    with ModelEndpoint(NOTHING) as endpoint:
        loft.work(endpoint)
    (request,) = endpoint.requests
    assert request.headers["authorization"] == "Bearer sk-of-team-a"
    assert request.body["model"] == "their-model"
    assert loft.last["model"] == "their-model"
    loft.turn()
    loft.night()
    looms(loft.conn, "update", loomId=loft.loom, settings={"weaverModel": "weaver"})
    with ModelEndpoint(NOTHING) as endpoint:
        loft.work(endpoint)
    (request,) = endpoint.requests
    assert request.headers["authorization"] == "Bearer sk-own"
    assert request.body["model"] == "weaver"


def test_credentials_that_nobody_knows_are_not_replaced_by_others(loft: Loft) -> None:
    loft.turn(credentials="team-b")
    loft.night()
    with ModelEndpoint() as endpoint:
        assert loft.work(endpoint) == 1
        assert endpoint.requests == []
    assert (loft.last["state"], loft.last["error"]) == ("failed", "CREDENTIALS_UNKNOWN")


@pytest.mark.parametrize(
    ("keys", "named", "sent"),
    [
        ({"acme/team": "sk-acme", "team": "sk-all"}, "team", "sk-acme"),
        ({"acme/team": "sk-acme"}, "team", "sk-acme"),
        ({"other/team": "sk-other", "team": "sk-all"}, "team", "sk-all"),
        ({"other/team": "sk-other"}, "team", None),
        ({"other/team": "sk-other"}, "other/team", None),
        ({"acme/team": "sk-acme"}, "acme/team", None),
    ],
)
def test_credentials_of_an_org_are_for_its_own_runs_alone(
    loft: Loft, keys: dict[str, str], named: str, sent: str | None
) -> None:
    loft.turn(credentials=named)
    loft.night()
    with ModelEndpoint(NOTHING) as endpoint:
        assert loft.work(endpoint, keys=keys) == 1
        used = [request.headers["authorization"] for request in endpoint.requests]
    assert used == ([f"Bearer {sent}"] if sent else [])
    assert loft.last["error"] == (None if sent else "CREDENTIALS_UNKNOWN")


def test_an_org_whose_calls_are_off_or_whose_day_is_used_up_waits(loft: Loft) -> None:
    loft.turn()
    loft.night()
    operate(loft.conn, "org.set_model_calls", org="acme", enabled=False)
    assert loft.weave() == 0
    operate(loft.conn, "org.set_model_calls", org="acme", enabled=True)
    Heeded(model_daily_token_cap=100).put(loft.conn)
    assert loft.weave(NOTHING) == 1
    used = loft.conn.execute(
        "select purpose, prompt_tokens, completion_tokens from loom.model_day"
    ).fetchall()
    assert used == [("night_weaving", 100, 20)]
    loft.turn()
    loft.night()
    assert loft.weave() == 0
    waits = looms(loft.conn, "inspection", loomId=loft.loom)["nightWeaving"]["waitsFor"]
    assert waits == ["model_token_cap"]
    loft.night(24 * 60)
    assert loft.weave(NOTHING) == 1


def test_o50_o51_a_loom_whose_worker_died_waits_and_is_woven_by_another(loft: Loft) -> None:
    loft.add("one")
    loft.turn()
    loft.night()
    claimed = claim(loft)
    assert claimed["found"] is True
    assert claim(loft) == {"found": False}
    assert loft.weave() == 0
    loft.clock.advance(seconds=599)
    assert loft.weave() == 0
    # The lease is over: the next worker says so, and the attempt was counted by the claim.
    loft.clock.advance(seconds=1)
    assert loft.weave(operations(revise(1, "eins"))) == 1
    page = looms(loft.conn, "weaving_list", loomId=loft.loom)["items"]
    states = sorted((each["state"], each["error"]) for each in page)
    assert states == [("done", None), ("failed", "LEASE_LOST")]
    # What the dead one would still write is nobody's.
    for statement in (
        "select loom.weaving_apply('acme', %s, '-', '-', '[]')",
        "select loom.weaving_read('acme', %s, '-', '-')",
    ):
        row = loft.conn.execute(statement.encode(), (claimed["lease_id"],)).fetchone()
        assert row is not None
        assert row[0] in ({"outcome": "lost"}, {"found": False})
    assert loft.texts() == ["eins"]


def test_an_answer_outlives_the_connection_that_is_lost_meanwhile(loft: Loft) -> None:
    for user in ("u1", "u2"):
        loft.turn(f"turn of {user}", userId=user)
    loft.night()

    def answer(request: Request) -> Step:
        cut(loft.conn)
        return operations(add_(f"from {told(request)['turns'][0]['text']}"))

    with ModelEndpoint(answer=answer) as endpoint:
        assert loft.work(endpoint) == 1
    assert len(endpoint.requests) == 2
    assert loft.texts() == ["from turn of u1", "from turn of u2"]
    assert (loft.last["state"], loft.last["error"], loft.last["added"]) == ("done", None, 2)


def test_a_connection_lost_after_the_commit_weaves_nothing_twice(
    loft: Loft, monkeypatch: pytest.MonkeyPatch
) -> None:
    loft.turn()
    loft.night()
    sent = lost_after(monkeypatch, loft.conn, b"weaving_apply")
    assert loft.weave(operations(add_("once"))) == 1
    assert len(sent) == 2
    assert loft.texts() == ["once"]
    assert (loft.last["state"], loft.last["added"]) == ("done", 1)


def test_o50_a_worker_that_goes_on_from_user_to_user_keeps_its_lease(loft: Loft) -> None:
    for number in range(5):
        loft.turn(f"turn of u{number}", userId=f"u{number}")
    loft.night()

    def slow(request: Request) -> Step:
        loft.clock.advance(seconds=400)
        return operations(add_(f"from {told(request)['turns'][0]['text']}"))

    with ModelEndpoint(answer=slow) as endpoint:
        assert loft.work(endpoint) == 1
    assert len(endpoint.requests) == 5
    assert loft.texts() == [f"from turn of u{number}" for number in range(5)]
    assert (loft.last["state"], loft.last["added"]) == ("done", 5)
    assert loft.state["nightWeavingNotBefore"] is None


def claim(loft: Loft) -> Any:
    row = loft.conn.execute("select loom.weaving_claim('acme', %s)", (loft.loom,)).fetchone()
    assert row is not None
    return row[0]


@pytest.mark.parametrize("asked", [False, True])
def test_a_worker_that_stops_gives_the_loom_back(loft: Loft, asked: bool) -> None:
    loft.turn()
    if asked:
        looms(loft.conn, "weave", loomId=loft.loom)
    else:
        loft.night()
    claimed = claim(loft)
    loft.conn.execute(
        "select loom.weaving_finish('acme', %s, 'released', 'WORKER_STOPPED', null)",
        (claimed["lease_id"],),
    )
    assert loft.state["nightWeavingNotBefore"] is None
    page = looms(loft.conn, "weaving_list", loomId=loft.loom)["items"]
    assert [each["state"] for each in page] == (["queued"] if asked else [])
    assert loft.weave(NOTHING) == 1


def test_many_looms_that_are_due_at_once_are_shared_by_two_workers(loft: Loft) -> None:
    ids = [loft.loom] + [
        make(loft.conn, f"loom {number}", settings={"nightWeaving": True}) for number in range(11)
    ]
    for number, loom in enumerate(ids):
        loft.turn(f"turn {number}", loom=loom)
    loft.night()
    with ModelEndpoint(answer=lambda _request: operations(add_("woven"))) as endpoint:
        assert loft.work(endpoint, workers=2, concurrency=2) == len(ids)
    assert len(endpoint.requests) == len(ids)
    for loom in ids:
        page = looms(loft.conn, "thread_list", loomId=loom)
        assert [each["text"] for each in page["items"]] == ["woven"]


def test_o56_orgs_take_turns_whatever_one_of_them_has_due(loft: Loft) -> None:
    for number in range(5):
        loom = make(loft.conn, f"loom {number}", settings={"nightWeaving": True})
        loft.turn(loom=loom)
    theirs = operate(
        loft.conn,
        "looms.create",
        org="small",
        namespace="main",
        name="one",
        settings={"nightWeaving": True},
    )["entity"]["id"]
    loft.clock.advance(seconds=1)
    operate(loft.conn, "looms.activity", org="small", loomId=theirs, text="t")
    loft.night()
    rows = loft.conn.execute("select org::text from loom.weaving_due(20, true)").fetchall()
    assert len(rows) == 6
    assert ("small",) in rows[:2]


@pytest.mark.parametrize("how", ["own", "inherited", "asked"])
def test_o56_an_org_that_may_call_no_model_hides_nobody_else(loft: Loft, how: str) -> None:
    """However much it has due, and for however long."""
    night = True if how == "own" else None
    many = loft.conn.execute(
        "with place as ("
        "  insert into loom.namespace (org, name, created_at, created_by, updated_at, updated_by)"
        "  select 'acme', 'n' || number, loom._now(), 'test', loom._now(), 'test'"
        "  from generate_series(1, 60) as number"
        "  returning name)"
        " insert into loom.loom (org, namespace, name, night_weaving, last_activity_at,"
        "  night_weaving_pending, created_at, created_by, updated_at, updated_by)"
        " select 'acme', place.name, number::text, %s, loom._now(), true, loom._now(), 'test',"
        "  loom._now(), 'test' from place, generate_series(1, 25) as number",
        (night,),
    ).rowcount
    assert many == 1500
    if how == "asked":
        loft.conn.execute(
            "insert into loom.loom_weaving (org, namespace, loom_id, cause, dry_run, state,"
            " requested_at, requested_by) select org, namespace, loom_id, 'request', false,"
            " 'queued', loom._now(), 'test' from loom.loom"
        )
    if how == "inherited":
        Heeded(night_weaving={"default": True}).put(loft.conn)
    operate(loft.conn, "org.set_model_calls", org="acme", enabled=False)
    loft.clock.advance(seconds=1)
    theirs = {"org": "small", "namespace": "main"}
    settings = {"nightWeaving": night}
    made = operate(loft.conn, "looms.create", **theirs, name="one", settings=settings)
    named = {**theirs, "loomId": made["entity"]["id"]}
    operate(loft.conn, "looms.activity", **named, text="t")
    if how == "asked":
        operate(loft.conn, "looms.weave", **named)
    loft.night()
    rows = loft.conn.execute(
        "select org::text, loom_id::text from loom.weaving_due(20, %s)", (how != "asked",)
    ).fetchall()
    assert rows == [("small", named["loomId"])]


def test_a_model_that_does_not_answer_in_time_is_a_failure(loft: Loft) -> None:
    loft.turn()
    loft.night()
    with ModelEndpoint(hang()) as endpoint:
        assert loft.work(endpoint, timeout=0.2) == 1
    assert loft.last["error"] == "MODEL_TIMEOUT"


def test_what_is_old_is_removed(loft: Loft) -> None:
    gone = loft.add("deleted")
    looms(loft.conn, "thread_delete", loomId=loft.loom, threadId=gone["id"])
    loft.add("kept")
    loft.turn("woven")
    loft.night()
    loft.weave(NOTHING)
    loft.turn("pending")
    keep = b"select loom.housekeeping_looms(100)"
    loft.night(14 * 24 * 60 - QUIET - 1)
    assert loft.conn.execute(keep).fetchone() == (0,)
    loft.night(1)
    assert loft.conn.execute(keep).fetchone() == (2,)  # the thread, and the turn that is woven
    assert loft.texts(includeDeleted=True) == ["kept"]
    left = loft.conn.execute("select text from loom.loom_turn").fetchall()
    assert left == [("pending",)]
    loft.night(77 * 24 * 60)
    assert loft.conn.execute(keep).fetchone() == (1,)  # the weaving
    assert loft.conn.execute(keep).fetchone() == (0,)


def test_o46_o47_metrics_tell_what_is_due_and_for_how_long(loft: Loft) -> None:
    def metrics() -> Any:
        row = loft.conn.execute("select loom.work_metrics()").fetchone()
        assert row is not None
        return row[0]["kinds"]["night_weaving"]

    assert (metrics()["due"], metrics()["oldest_due_seconds"]) == (0, None)
    loft.turn()
    loft.night()
    # A worker looks once a minute: until then nobody is late.
    assert (metrics()["due"], metrics()["oldest_due_seconds"]) == (1, None)
    loft.night(3)
    assert metrics()["oldest_due_seconds"] == 120
    claim(loft)
    told = metrics()
    assert (told["due"], told["under_way"], told["claims"]) == (0, True, 1)
    loft.night(10)
    assert (metrics()["due"], metrics()["under_way"]) == (1, False)
    assert loft.weave(NOTHING) == 1
    assert metrics()["builds"] == {"done": 1}
    looms(loft.conn, "weave", loomId=loft.loom)
    loft.night(1)
    assert metrics()["oldest_due_seconds"] == 60


def test_a_worker_as_its_settings_want_it_weaves(loft: Loft) -> None:
    loft.turn()
    loft.night()

    async def once(url: str) -> int:
        async with configured(Settings(model_base_url=url, model="m")) as handlers:
            dsn = login(loft.database)
            worker = Worker(dsn, poll_seconds=3600, concurrency=1, handlers=handlers)
            return await worker.once()

    with ModelEndpoint(operations(add_("woven"))) as endpoint:
        assert asyncio.run(once(endpoint.url)) == 1
    assert loft.texts() == ["woven"]


def test_a_worker_that_stops_while_the_model_thinks_says_what_it_cost(loft: Loft) -> None:
    loft.add("kept")
    loft.turn()
    loft.night()

    async def cut_off_at_the_call(endpoint: ModelEndpoint) -> None:
        settings = Settings(model_base_url=endpoint.url, model="m", model_timeout_seconds=30)
        dsn = login(loft.database)
        async with (
            ModelClients(settings) as models,
            await psycopg.AsyncConnection.connect(dsn, autocommit=True) as connection,
        ):
            weaving = asyncio.ensure_future(NightWeaving(models.of, 4096, 0.0)(connection))
            await asyncio.to_thread(wait_until, lambda: bool(endpoint.requests), "a call")
            weaving.cancel()
            with suppress(asyncio.CancelledError):
                await weaving

    with ModelEndpoint(hang()) as endpoint:
        asyncio.run(cut_off_at_the_call(endpoint))
    assert loft.state["nightWeavingNotBefore"] is None
    assert looms(loft.conn, "weaving_list", loomId=loft.loom)["total"] == 0
    used = loft.conn.execute("select outcome::text from loom.model_usage").fetchall()
    assert used == [("CANCELLED",)]
    assert loft.weave(operations(revise(1, "kept on"))) == 1
    assert loft.texts() == ["kept on"]

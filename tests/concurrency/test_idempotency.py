"""Calls that carry one idempotency key at the same time: one effect, one answer."""

from __future__ import annotations

import random
from functools import partial

import pytest

from tests.calls import Answer, call, mint_token, operate, refused
from tests.concurrency.callers import (
    WRITER,
    Connection,
    Outcome,
    Step,
    at_once,
    perform,
    step,
    while_open,
)
from tests.databases import Clock, Database
from tests.races import Rival, wait_until_blocked

APPEND = step("working_memory.append", key="k", addition="x")
OTHER = step("working_memory.append", key="k", addition="y")


def _text(conn: Connection) -> str | None:
    block = operate(conn, "working_memory.get", org="acme", namespace="dev")
    return block.get("content")


def test_three_calls_with_one_key_have_one_effect_and_one_answer(acme: Database) -> None:
    outcomes = at_once(acme, WRITER, perform, [APPEND] * 3)
    assert outcomes[0].answer["version"] == 1
    assert outcomes == [outcomes[0]] * 3
    assert _text(acme.connect()) == "x"


def test_16_calls_by_token_with_one_key_have_one_effect(database: Database) -> None:
    with database.connect() as conn:
        token = mint_token(conn, org="acme", namespace="dev")

    def append(conn: Connection, key: str) -> Answer:
        return call(conn, token, "working_memory.append", key=key, addition="x")

    answers = at_once(database, "loom_gateway", append, ["k"] * 16)
    assert answers == [answers[0]] * 16
    assert _text(database.connect()) == "x"


def test_three_batches_with_one_key_have_one_effect_and_one_answer(acme: Database) -> None:
    items = [
        {"op": "working_memory.append", "namespace": "dev", "addition": "x"},
        {"op": "working_memory.replace", "namespace": "dev", "old": "absent", "new": ""},
    ]
    batch = step("batch", key="k", requests=items)
    del batch.request["namespace"]
    outcomes = at_once(acme, WRITER, perform, [batch] * 3)
    assert outcomes == [outcomes[0]] * 3
    assert [result["status"] for result in outcomes[0].answer["results"]] == [200, 422]
    assert _text(acme.connect()) == "x"


def test_a_second_call_waits_for_the_first_and_gets_its_answer(acme: Database) -> None:
    first, second = while_open(acme, APPEND, APPEND)
    assert second == first
    assert _text(acme.connect()) == "x"


def test_a_second_call_runs_when_the_first_is_taken_back(acme: Database) -> None:
    first, second = while_open(acme, APPEND, APPEND, commit=False)
    assert (first.sqlstate, second.sqlstate) == (None, None)
    assert second.answer["created"] is True
    assert _text(acme.connect()) == "x"


def test_another_request_under_a_key_in_use_waits_and_is_refused(acme: Database) -> None:
    _, second = while_open(acme, APPEND, OTHER)
    assert second.sqlstate == "LM206"
    assert _text(acme.connect()) == "x"


def test_another_request_runs_when_the_first_of_the_key_is_taken_back(acme: Database) -> None:
    _, second = while_open(acme, APPEND, OTHER, commit=False)
    assert second.sqlstate is None
    assert _text(acme.connect()) == "y"


def test_a_second_call_runs_when_the_first_is_refused(acme: Database) -> None:
    """Both are under way at once: the first waits for a rival, the second for the first."""
    observer, rival, one, two = (acme.connect(login) for login in (None, WRITER, WRITER, WRITER))
    perform(rival, step("working_memory.set", content="a"))
    replace = step("working_memory.replace", key="k", old="a", new="b", expected_count=1)
    with rival.transaction():
        perform(rival, step("working_memory.set", content="aa"))
        first = Rival(one, partial(perform, one, replace))
        wait_until_blocked(observer, first, by=rival.info.backend_pid)
        second = Rival(two, partial(perform, two, replace))
        wait_until_blocked(observer, second, by=one.info.backend_pid)
    # The first meets two places and is refused; the second, which had to run, meets them too.
    assert (first.result().sqlstate, second.result().sqlstate) == ("LM203", "LM203")
    perform(rival, step("working_memory.set", content="a"))
    assert perform(one, replace).answer["replacements"] == 1
    assert _text(observer) == "b"


def test_a_refused_call_leaves_its_key_free(acme: Database) -> None:
    conn = acme.connect(WRITER)
    replace = step("working_memory.replace", key="k", old="a", new="b")
    assert perform(conn, replace).sqlstate == "LM101"
    perform(conn, step("working_memory.set", content="a"))
    assert perform(conn, replace).answer["replacements"] == 1
    assert perform(conn, replace).answer["replacements"] == 1
    assert _text(conn) == "b"


def test_a_replay_after_a_rollback_has_the_effect(acme: Database) -> None:
    conn = acme.connect(WRITER)
    with conn.transaction(force_rollback=True):
        perform(conn, APPEND)
    assert perform(conn, APPEND).answer["version"] == 1
    assert perform(conn, APPEND).answer["version"] == 1
    assert _text(conn) == "x"


def test_a_replay_inside_the_same_transaction_has_no_effect(acme: Database) -> None:
    conn = acme.connect(WRITER)
    with conn.transaction():
        assert perform(conn, APPEND) == perform(conn, APPEND)
    assert _text(conn) == "x"


def test_a_replay_answers_as_first_though_the_block_has_changed(acme: Database) -> None:
    conn = acme.connect(WRITER)
    first = perform(conn, APPEND)
    perform(conn, step("working_memory.delete"))
    assert perform(conn, APPEND) == first
    assert _text(conn) is None


def test_keys_of_two_callers_are_apart(acme: Database) -> None:
    with acme.connect() as conn:
        tokens = [mint_token(conn, org="acme", namespace="dev") for _ in range(2)]
    gateway = acme.connect("loom_gateway")
    for token in tokens:
        call(gateway, token, "working_memory.append", key="k", addition="x")
    perform(acme.connect(WRITER), APPEND)
    assert _text(acme.connect()) == "x\nx\nx"


@pytest.mark.parametrize("callers", [2, 8])
def test_a_key_whose_day_is_over_is_taken_once_more(acme: Database, callers: int) -> None:
    operator = acme.connect()
    clock = Clock(operator)
    now = operator.execute("select now()").fetchone()
    assert now is not None
    clock.set(now[0])
    perform(acme.connect(WRITER), APPEND)
    clock.advance(hours=24)
    outcomes = at_once(acme, WRITER, perform, [APPEND] * callers)
    assert [outcome.sqlstate for outcome in outcomes] == [None] * callers
    assert _versions(outcomes) == {2}
    assert _text(operator) == "x\nx"


def _versions(outcomes: list[Outcome]) -> set[int]:
    return {outcome.answer["version"] for outcome in outcomes}


def test_housekeeping_beside_a_call_under_an_expired_key_waits_for_nothing(acme: Database) -> None:
    operator, one, worker = acme.connect(), acme.connect(WRITER), acme.connect("loom_worker")
    clock = Clock(operator)
    now = operator.execute("select now()").fetchone()
    assert now is not None
    clock.set(now[0])
    perform(one, APPEND)
    perform(one, step("working_memory.append", key="other", addition="z"))
    clock.advance(hours=25)
    worker.execute("set lock_timeout = '2s'")
    with one.transaction():
        assert perform(one, APPEND).answer["version"] == 3
        assert worker.execute("select loom.housekeeping(100)").fetchone() == (1,)
    assert perform(one, APPEND).answer["version"] == 3
    assert _text(operator) == "x\nz\nx"


def test_a_replay_may_name_or_leave_out_what_its_token_decides(acme: Database) -> None:
    """The request is compared after the token's bounds are laid over it."""
    with acme.connect() as conn:
        token = mint_token(conn, org="acme", namespace="dev", read_user_id="u", session_id="s")
    gateway = acme.connect("loom_gateway")
    first = call(gateway, token, "working_memory.append", key="k", addition="x")
    for more in (
        {"user_id": "u"},
        {"org": "acme", "namespace": "dev", "session_id": "s"},
        {"agent": "-", "run_id": None},
    ):
        assert call(gateway, token, "working_memory.append", key="k", addition="x", **more) == first
    with refused(gateway, "LM206"):
        call(gateway, token, "working_memory.append", key="k", addition="x", agent="a")


@pytest.mark.parametrize("atomic", [False, True])
def test_hostile_users_of_items_do_not_break_a_batch_with_a_key(
    acme: Database, atomic: bool
) -> None:
    """Ids that are going to be refused must neither reach an index nor fill the lock table."""
    conn = acme.connect(WRITER)
    good = {"op": "working_memory.append", "namespace": "dev", "addition": "x"}
    bad = [
        {**good, "user_id": random.Random(1).randbytes(10_000).hex()},
        {**good, "user_id": "x" * 201},
        {**good, "user_id": "\U0001f469" * 65},
        {**good, "user_id": 5},
        {**good, "user_id": ["x"]},
        {**good, "user_id": ""},
    ]
    batch = {"org": "acme", "requests": [good, *bad], "atomic": atomic}
    outcome = perform(conn, Step("batch", batch, "k"))
    if atomic:
        assert outcome.sqlstate in {"LM001", "LM406"}
        return
    statuses = [result["status"] for result in outcome.answer["results"]]
    assert statuses == [200, 422, 422, 422, 400, 400, 422]
    assert perform(conn, Step("batch", batch, "k")) == outcome
    longest = acme.connect().execute(
        "select max(octet_length(user_id)), bool_or(user_id = '-') from loom.idempotency_user"
    )
    assert longest.fetchone() == (201, True)


@pytest.mark.parametrize(
    "requests",
    [
        None,
        5,
        "x",
        {},
        {"op": "x"},
        [],
        [5],
        [None],
        [[]],
        [{"op": "working_memory.get", "user_id": str(number)} for number in range(20_000)],
    ],
    ids=lambda value: f"{value!r:.20}",
)
def test_a_batch_that_is_no_list_of_requests_is_refused_with_a_key_as_without(
    acme: Database, requests: object
) -> None:
    conn = acme.connect(WRITER)
    for key in (None, "k"):
        with conn.transaction(force_rollback=True):
            outcome = perform(conn, Step("batch", {"org": "acme", "requests": requests}, key))
            assert outcome.sqlstate == "LM001"


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ({"a": {}, "b": 1}, {"a": {"b": 1}}),
        ({"a": [1], "b": 2}, {"a": [1, "b", 2]}),
        ({"a": [[1], [2]]}, {"a": [[1, [2]]]}),
        ({"a": [[], [1]]}, {"a": [[[1]]]}),
        ({"a": 1}, {"a": "1"}),
        ({"a": True}, {"a": "true"}),
        ({"a": ["b", "c"]}, {"a": ["c", "b"]}),
        ({"a": "\u00e9"}, {"a": "e\u0301"}),
    ],
)
def test_a_key_tells_requests_apart_that_differ_only_in_shape(
    acme: Database, first: object, second: object
) -> None:
    """As items of a batch, which is answered whatever its items look like."""
    conn = acme.connect(WRITER)
    for number, item in enumerate((first, second)):
        assert isinstance(item, dict)
        batch = {"org": "acme", "requests": [{"op": "working_memory.get", **item}]}
        outcome = perform(conn, Step("batch", batch, "k"))
        assert outcome.sqlstate == ("LM206" if number else None)


def test_a_key_takes_equal_requests_for_one(acme: Database) -> None:
    """Order of fields, spaces and how a number is written are no difference."""
    conn = acme.connect(WRITER)
    answers = [
        conn.execute(
            "select loom.execute('working_memory.set', %s::jsonb, 'k')", (request,)
        ).fetchone()
        for request in (
            '{"org": "acme", "namespace": "dev", "content": "x", "char_limit": 100}',
            '{"char_limit":1e2,"content":"\\u0078","namespace":"dev","org":"acme"}',
        )
    ]
    assert answers[0] == answers[1]

"""Two writes of one block, the second sent while the first is under way.

Each case is the same race with a known order: the second waits, which the server confirms, and is
then decided by what the first left, whether that was committed or taken back.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

import pytest

from tests.calls import operate
from tests.cluster import Cluster
from tests.concurrency.callers import ADMIN, WRITER, Step, perform, step, while_open
from tests.concurrency.pairs import ABSENT, APPEND, CASES, LIVE, SET, TOMBSTONE, Case
from tests.databases import Database, Templates, copy_of
from tests.races import Rival, wait_until_blocked


@pytest.fixture(scope="module")
def shared(cluster: Cluster, templates: Templates) -> Iterator[Database]:
    """One database for all cases, each of which has an agent of its own."""
    database = copy_of(cluster, templates.base)
    with database.connect() as conn:
        for login in (WRITER, ADMIN):
            conn.execute("select loom.service_bind(%s, 'acme')", (login,))
        # So that no case waits for the making of the namespace.
        operate(conn, SET, org="acme", namespace="dev", content="x")
    yield database
    database.close()


@pytest.mark.parametrize("case", CASES, ids=[case.name.replace(" ", "_") for case in CASES])
def test_o19_the_second_write_is_decided_by_what_the_first_left(
    shared: Database, case: Case
) -> None:
    def by_agent(wanted: Step) -> Step:
        return replace(wanted, request={**wanted.request, "agent": case.name})

    with shared.connect(WRITER) as conn:
        for each in case.before:
            assert perform(conn, by_agent(each)).sqlstate is None
        first, second = while_open(
            shared,
            by_agent(case.first),
            by_agent(case.second),
            commit=case.commit,
            first_login=case.first_login,
        )
        block = perform(conn, by_agent(step("working_memory.get"))).answer

    assert first.sqlstate is None
    assert second.sqlstate == case.sqlstate
    told = second.detail if case.sqlstate else second.answer
    assert {field: told[field] for field in case.answer} == case.answer
    assert block.get("content") == case.after


def _set(text: str, **fields: str) -> Step:
    return step(SET, content=text, **fields)


@pytest.mark.parametrize("before", [ABSENT, LIVE, TOMBSTONE], ids=["absent", "live", "tombstone"])
def test_o19_writers_that_wait_in_a_queue_each_keep_their_text(
    acme: Database, before: tuple[Step, ...]
) -> None:
    """The insert race with more than one loser: each starts again."""
    observer, one = acme.connect(), acme.connect(WRITER)
    others = [acme.connect(WRITER) for _ in range(4)]
    for each in before:
        perform(one, each)
    with one.transaction():
        first = perform(one, step(APPEND, addition="first"))
        rivals = []
        for number, conn in enumerate(others):
            wanted = step(APPEND, addition=str(number))
            rivals.append(Rival(conn, partial(perform, conn, wanted)))
            wait_until_blocked(observer, rivals[-1])
    outcomes = [rival.result() for rival in rivals]
    versions = sorted(outcome.answer["version"] for outcome in (first, *outcomes))
    assert versions == list(range(versions[0], versions[0] + 5))
    block = operate(one, "working_memory.get", org="acme", namespace="dev")
    lines = block["content"].split("\n")
    assert sorted(lines) == sorted(["0", "1", "2", "3", "first", *["one"] * (before is LIVE)])


def test_writes_of_two_blocks_do_not_wait_for_each_other(acme: Database) -> None:
    one, two = acme.connect(WRITER), acme.connect(WRITER)
    perform(one, _set("makes the namespace"))
    two.execute("set lock_timeout = '2s'")
    with one.transaction():
        perform(one, _set("a", block_key="a"))
        assert perform(two, _set("b", block_key="b")).sqlstate is None
        assert perform(two, _set("b", user_id="u")).sqlstate is None
        assert perform(two, _set("b", namespace="other")).sqlstate is None


def test_reads_do_not_wait_for_a_write_and_see_what_is_committed(acme: Database) -> None:
    one, two = acme.connect(WRITER), acme.connect(WRITER)
    perform(one, _set("before"))
    two.execute("set lock_timeout = '2s'")
    with one.transaction():
        perform(one, _set("after"))
        block = operate(two, "working_memory.get", org="acme", namespace="dev")
        assert block["content"] == "before"
        rendered = operate(two, "working_memory.render", org="acme", namespace="dev")
        assert "before" in rendered["text"]
    assert operate(two, "working_memory.get", org="acme", namespace="dev")["content"] == "after"

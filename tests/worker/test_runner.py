"""The runner: kinds take turns, failures rest, nothing new begins after a stop."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Any

import psycopg
import pytest

from loom.logs import JsonLines
from loom.worker.handlers import Connection, Handler
from loom.worker.runner import Runner


class FakeConnection:
    """Stands for a lane's connection: which lane is working, and whether it was closed."""

    def __init__(self) -> None:
        self.closed = False

    async def close(self) -> None:
        self.closed = True


class Lanes:
    """Opens connections, and knows those it opened."""

    def __init__(self, failure: Exception | None = None) -> None:
        self.opened: list[Any] = []
        self.failure = failure

    async def __call__(self) -> Any:
        if self.failure is not None:
            raise self.failure
        self.opened.append(FakeConnection())
        return self.opened[-1]


def due(log: list[str], kind: str, pieces: int) -> Handler:
    """A handler with so many pieces due."""
    left = pieces

    async def handler(connection: Connection) -> bool:
        nonlocal left
        if left == 0:
            return False
        left -= 1
        log.append(kind)
        await asyncio.sleep(0)
        return True

    return handler


def sweep(handlers: dict[str, Handler], *, concurrency: int = 1, lanes: Lanes | None = None) -> int:
    async def whole() -> int:
        return await Runner(handlers, lanes or Lanes(), concurrency).sweep()

    return asyncio.run(whole())


def test_a_sweep_does_everything_that_is_due_and_counts_it() -> None:
    log: list[str] = []
    assert sweep({"a": due(log, "a", 3), "b": due(log, "b", 2)}) == 5
    assert sorted(log) == ["a", "a", "a", "b", "b"]


def test_o56_a_large_backlog_drains_in_one_sweep_and_kinds_take_turns() -> None:
    log: list[str] = []
    assert sweep({"big": due(log, "big", 200), "small": due(log, "small", 3)}) == 203
    assert log[:6] == ["big", "small", "big", "small", "big", "small"]


def test_nothing_to_do_opens_no_connection() -> None:
    lanes = Lanes()
    assert sweep({}, lanes=lanes) == 0
    assert lanes.opened == []


def test_a_connection_that_was_lost_is_replaced_for_the_next_piece() -> None:
    lanes = Lanes()
    worked_on: list[Any] = []

    async def handler(connection: Any) -> bool:
        assert not connection.closed
        worked_on.append(connection)
        connection.closed = len(worked_on) == 1  # lost during the first piece
        return len(worked_on) < 4

    assert sweep({"a": handler}, lanes=lanes) == 3
    assert worked_on == [lanes.opened[0]] + 3 * [lanes.opened[1]]
    assert len(lanes.opened) == 2


def test_where_it_cannot_be_replaced_the_lane_rests(caplog: pytest.LogCaptureFixture) -> None:
    lanes = Lanes()
    log: list[str] = []

    async def handler(connection: Any) -> bool:
        log.append("done")
        connection.closed = True
        lanes.failure = psycopg.OperationalError("no")
        return len(log) < 3

    with caplog.at_level(logging.WARNING, "loom.worker"):
        assert sweep({"a": handler}, lanes=lanes) == 1
    assert log == ["done"]
    assert [record.message for record in caplog.records] == ["no connection for work"]


def test_lanes_work_side_by_side_and_close_their_connections() -> None:
    lanes = Lanes()
    log: list[str] = []
    assert sweep({"a": due(log, "a", 10)}, concurrency=3, lanes=lanes) == 10
    assert len(lanes.opened) == 3
    assert all(connection.closed for connection in lanes.opened)


def test_o21_a_piece_that_fails_frees_its_lane_and_the_others_go_on(
    caplog: pytest.LogCaptureFixture,
) -> None:
    log: list[str] = []

    text = "the user's words"

    async def broken(connection: Connection) -> bool:
        raise RuntimeError(text)

    lanes = Lanes()
    with caplog.at_level(logging.ERROR, "loom.worker"):
        assert sweep({"broken": broken, "a": due(log, "a", 2)}, lanes=lanes) == 2
    assert [record.message for record in caplog.records] == ["a piece of work failed"]
    assert "RuntimeError" in JsonLines().format(caplog.records[0])
    assert text not in caplog.text
    assert lanes.opened[0].closed


def test_a_kind_that_failed_is_tried_again_in_the_next_sweep() -> None:
    tries = 0

    async def flaky(connection: Connection) -> bool:
        nonlocal tries
        tries += 1
        if tries == 1:
            raise RuntimeError
        return tries == 2

    async def whole() -> list[int]:
        runner = Runner({"flaky": flaky}, Lanes(), 1)
        return [await runner.sweep(), await runner.sweep()]

    assert asyncio.run(whole()) == [0, 1]


def test_a_sweep_without_a_database_ends() -> None:
    lanes = Lanes(psycopg.OperationalError("away"))
    log: list[str] = []
    assert sweep({"a": due(log, "a", 1)}, lanes=lanes, concurrency=2) == 0
    assert log == []


def running(
    work: Callable[[Runner, asyncio.Task[None]], Any], handlers: dict[str, Handler]
) -> None:
    async def whole() -> None:
        runner = Runner(handlers, Lanes(), 1)
        task = asyncio.create_task(runner.run())
        await work(runner, task)
        async with asyncio.timeout(5):
            await task

    asyncio.run(whole())


def test_a_wake_during_a_sweep_leads_to_another() -> None:
    looks = 0
    began, go_on = asyncio.Event(), asyncio.Event()
    again = asyncio.Event()

    async def handler(connection: Connection) -> bool:
        nonlocal looks
        looks += 1
        if looks == 1:
            began.set()
            await go_on.wait()
        else:
            again.set()
        return False

    async def work(runner: Runner, task: asyncio.Task[None]) -> None:
        runner.wake()
        await began.wait()
        runner.wake()
        go_on.set()
        async with asyncio.timeout(5):
            await again.wait()
        runner.stop()

    running(work, {"a": handler})
    assert looks == 2


def test_a_lane_that_works_holds_up_no_other() -> None:
    """What falls due while one lane is at a long piece is done by another, woken for it."""
    pieces: list[str] = ["long"]
    done: list[str] = []
    began, go_on = asyncio.Event(), asyncio.Event()

    async def handler(connection: Connection) -> bool:
        if not pieces:
            return False
        piece = pieces.pop()
        if piece == "long":
            began.set()
            await go_on.wait()
        done.append(piece)
        return True

    async def whole() -> None:
        runner = Runner({"a": handler}, Lanes(), 2)
        task = asyncio.create_task(runner.run())
        async with asyncio.timeout(5):
            runner.wake()
            await began.wait()
            await runner.rested()
            pieces.append("short")
            runner.wake()
            await runner.rested()
            assert done == ["short"]
            runner.stop()
            go_on.set()
            await task
        assert done == ["short", "long"]

    asyncio.run(whole())


def test_nobody_rests_while_every_lane_works() -> None:
    go_on = asyncio.Event()

    async def handler(connection: Connection) -> bool:
        await go_on.wait()
        return False

    async def whole() -> None:
        runner = Runner({"a": handler}, Lanes(), 2)
        task = asyncio.create_task(runner.run())
        runner.wake()
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(runner.rested(), 0.05)
        go_on.set()
        await asyncio.wait_for(runner.rested(), 5)
        runner.stop()
        await task

    asyncio.run(whole())


def test_a_cancelled_run_cancels_what_is_under_way_and_waits_for_it() -> None:
    said: list[str] = []
    began = asyncio.Event()

    async def handler(connection: Connection) -> bool:
        began.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            await asyncio.sleep(0)
            said.append("given back")
            raise
        return True

    async def whole() -> None:
        lanes = Lanes()
        runner = Runner({"a": handler}, lanes, 1)
        task = asyncio.create_task(runner.run())
        runner.wake()
        await began.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert said == ["given back"]
        assert lanes.opened[0].closed

    asyncio.run(whole())


def test_a_stop_lets_the_piece_under_way_finish_and_begins_no_other() -> None:
    done: list[int] = []
    began, go_on = asyncio.Event(), asyncio.Event()

    async def handler(connection: Connection) -> bool:
        began.set()
        await go_on.wait()
        done.append(1)
        return True

    async def work(runner: Runner, task: asyncio.Task[None]) -> None:
        runner.wake()
        await began.wait()
        runner.stop()
        go_on.set()

    running(work, {"a": handler})
    assert done == [1]

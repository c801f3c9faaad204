"""The bench beside the peers, on a server: all do the work that is counted."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import psycopg
import pytest

from bench.cpu import server_seconds
from bench.peers.crowd import Crowd
from bench.peers.raw_upserts import CLIENTS, Pgbench
from bench.peers.workloads import PACK, PEER_BATCH, PEER_GET, PEER_SET
from bench.servers import Stage
from bench.workloads import BATCH, BLOCKS, SECTIONS, SET

if TYPE_CHECKING:
    from bench.peers.doors import PeerDoors

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def doors(running: Stage) -> Iterator[PeerDoors]:
    """The peers' doors, where they are installed: in the environment of `make bench-peers`."""
    pytest.importorskip("langgraph.store.postgres")
    from bench.peers.__main__ import prepare
    from bench.peers.doors import PeerDoors

    prepare(running)
    opened = PeerDoors(running.places)
    yield opened
    opened.close()


def rows(running: Stage, statement: bytes) -> list[tuple[Any, ...]]:
    with psycopg.connect(running.admin) as connection:
        return connection.execute(statement).fetchall()


def test_each_answer_that_the_crowd_counts_is_a_set_that_was_made(running: Stage) -> None:
    crowd = Crowd(running.places.api, running.places.token, 5)
    done = [crowd.run(SET, 0.2) for _ in range(2)]
    crowd.close()
    found = rows(
        running,
        b"select user_id, sum(version) from loom.working_memory where org = 'bench' "
        b"and agent = 'writer' group by user_id order by user_id",
    )
    assert [user for user, _ in found] == [f"writer-{user}" for user in range(2000, 2005)]
    assert sum(each for _, each in found) == sum(len(report.nanoseconds) for report in done)
    assert all(report.cpu_seconds > 0 for report in done)


def test_pgbench_writes_rows_with_version_and_hash_for_eight_clients(running: Stage) -> None:
    pgbench = Pgbench(running.programs, running.places.conninfo, running.folder)
    if not pgbench.there:
        pytest.skip("this server came without pgbench")
    done = pgbench.run(1, lambda: server_seconds(running.postmaster))
    found = rows(
        running,
        b"select user_id, sum(version), bool_and(content_sha256 = "
        b"encode(sha256(convert_to(content, 'UTF8')), 'hex') and length(content) > 400) "
        b"from bench.block where user_id like 'pgbench-%' group by user_id",
    )
    assert {user for user, *_ in found} == {f"pgbench-{client}" for client in range(CLIENTS)}
    assert all(right for *_, right in found)
    assert 0 < pgbench.cpu_seconds < 2.5
    # Its backends have ended by now, and what they ran is in the server's time all the same.
    assert done.server_us > 20
    # The rate is taken over a little more than the second in which clients begin another upsert.
    assert sum(versions for _, versions, _ in found) >= done.ops_per_second * 0.9


def test_the_stores_hold_the_same_texts_as_the_blocks(doors: PeerDoors) -> None:
    for client, door in enumerate("ef"):
        for n in range(3):
            request = PEER_SET.request(client, n)
            ask(doors, door, PEER_SET, request)
            doors.call("b", PEER_SET)(request)
            read = PEER_GET.request(client, n)
            answer = doors.call("b", PEER_GET)(read)
            assert ask(doors, door, PEER_GET, read).value == {"text": answer["content"]}


def test_a_batch_of_the_stores_puts_all_of_its_items(doors: PeerDoors) -> None:
    for client, door in enumerate("ef", start=7):
        ask(doors, door, PEER_BATCH, PEER_BATCH.request(client, 0))
        for n in range(BATCH):
            content = PEER_SET.request(client, n)["content"]
            assert ask(doors, door, PEER_GET, PEER_GET.request(client, n)).value["text"] == content


def test_a_pack_by_hand_renders_what_a_pack_does(doors: PeerDoors) -> None:
    for seeding, times in PACK.seed:
        for door in "ab":
            for n in range(times):
                doors.call(door, seeding)(seeding.request(3, n))
    request = PACK.request(3, 0)
    pack = doors.call("b", PACK)(request)["text"]
    by_hand = "".join(row[0] for answer in doors.call("a", PACK)(request) for row in answer)
    for said in (pack, by_hand):
        assert said.count("<working-memory block=") == BLOCKS
        assert said.count("<section label=") == SECTIONS
        assert said.count("&lt;billing&gt;") == 5 * (BLOCKS + SECTIONS)


def ask(doors: PeerDoors, door: str, workload: Any, request: dict[str, Any]) -> Any:
    if door == "e":
        return doors.call(door, workload)(request)
    (call,) = doors.async_calls(door, workload, 1)

    async def asked() -> Any:
        return await call(request)

    return doors.await_(asked())


def test_the_stores_get_and_put_lose_lines_that_appends_keep(doors: PeerDoors) -> None:
    from bench.peers.__main__ import survivors_of

    kept = {each.way: each for each in asyncio.run(survivors_of(doors.places, 8, 5))}
    assert len(kept) == 4
    for way, each in kept.items():
        assert each.of == 40
        assert (each.kept == 40) == ("append" in way or "if unchanged" in way), each

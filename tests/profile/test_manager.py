"""ProfileManager: from signals to the next version, on any store."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from loom.profile import (
    FactOp,
    InMemoryProfileStore,
    MemoryScope,
    ProfileDelta,
    ProfileManager,
    RuleProfileSource,
    Signal,
    UserProfile,
    as_async_profile,
)
from tests.databases import Database
from tests.profile.messages import cases
from tests.profile.stores import AwaitedStore, ComparingStore, PlainStore

ACME = MemoryScope(tenant="acme", user="u1")


def said(text: str, **more: Any) -> Signal:
    return Signal("u1", "message", text, role="user", **more)


class Scripted:
    """A source that tells what it is given, and counts."""

    def __init__(self, *deltas: ProfileDelta) -> None:
        self.deltas = list(deltas)
        self.read: list[list[str]] = []
        self.told: list[dict[str, str]] = []

    async def extract(self, user_id: str, signals: Sequence[Signal]) -> ProfileDelta:
        self.read.append([signal.text for signal in signals])
        delta = self.deltas.pop(0)
        self.told.append({op.key: op.value for op in delta.fact_ops})
        return delta


def fact(value: str, key: str = "a") -> ProfileDelta:
    return ProfileDelta(fact_ops=[FactOp("add", key, value)], source="scripted")


def test_each_update_is_merged_into_what_was_there(any_store: Any) -> None:
    async def work() -> None:
        manager = ProfileManager(any_store, RuleProfileSource())
        first = await manager.update("u1", [said("I'm a backend dev, I write Python and SQLite.")])
        assert first.facts == {"role": "backend dev", "tech_stack": "Python, SQLite"}
        assert first.version == 1
        second = await manager.update("u1", [Signal("u1", "feedback", "I like short answers.")])
        assert (second.version, second.facts) == (2, first.facts)
        assert second.traits.verbosity == "concise"
        assert await manager.get("u1") == second
        same = await manager.update("u1", [Signal("u1", "feedback", "I like short answers.")])
        assert same == second
        assert (await manager.reset("u1")).version == 3
        await manager.delete("u1")
        assert await manager.get("u1") is None

    asyncio.run(work())


def test_rules_tell_the_same_on_every_store(any_store: Any) -> None:
    async def work() -> None:
        manager = ProfileManager(any_store)
        expected = ProfileManager(InMemoryProfileStore())
        for case in cases():
            found = await manager.update("u1", case.as_python)
            wanted = await expected.update("u1", case.as_python)
            assert (found.facts, found.traits, found.preferences, found.version) == (
                wanted.facts,
                wanted.traits,
                wanted.preferences,
                wanted.version,
            ), case.name

    asyncio.run(work())


def test_o28_a_signal_with_an_id_is_merged_once(any_store: Any) -> None:
    async def work() -> None:
        manager = ProfileManager(any_store)
        await manager.update("u1", [said("Call me Sam.", id="1"), said("Call me Max.", id="2")])
        again = await manager.update("u1", [said("Call me Sam.", id="1")])
        assert (again.facts, again.version) == ({"name": "Max"}, 1)
        third = [said("Call me Sam.", id="1"), said("Call me Eve.", id="3")]
        assert (await manager.update("u1", third)).facts == {"name": "Eve"}

    asyncio.run(work())


def test_o28_signals_that_were_merged_change_nothing_by_any_source(any_store: Any) -> None:
    async def work() -> None:
        source = Scripted(fact("1"), fact("2"), fact("3"))
        manager = ProfileManager(any_store, source)
        for expected in ({"a": "1"}, {"a": "1"}):
            found = await manager.update("u1", [said("x", id="1"), said("x", id="1")])
            assert found.facts == expected
        # Nobody can tell whether one without an id was merged.
        assert (await manager.update("u1", [said("x", id="1"), said("y")])).facts != {"a": "1"}

    asyncio.run(work())


def test_o28_a_source_reads_only_signals_that_were_not_merged(any_store: Any) -> None:
    async def work() -> None:
        source = Scripted(fact("1"), fact("2"))
        manager = ProfileManager(any_store, source)
        await manager.update("u1", [said("x", id="1")])
        await manager.update("u1", [said("x", id="1"), said("y", id="2")])
        assert source.read == [["x"], ["y"]]

    asyncio.run(work())


def test_without_signals_nothing_changes_and_no_source_is_asked(any_store: Any) -> None:
    async def work() -> None:
        source = Scripted()
        for manager in (ProfileManager(any_store), ProfileManager(any_store, source)):
            assert await manager.update("u1", []) == UserProfile("u1")
        assert (source.read, any_store.get("u1")) == ([], None)

    asyncio.run(work())


def test_signals_of_another_user_are_refused() -> None:
    store = PlainStore()
    with pytest.raises(ValueError, match="another user"):
        asyncio.run(ProfileManager(store).update("u2", [said("x")]))
    assert store.calls == []


def test_a_scope_needs_a_store_that_keeps_scopes_apart() -> None:
    for store in (PlainStore(), as_async_profile(PlainStore())):
        with pytest.raises(ValueError, match="supports_profile_scopes"):
            ProfileManager(store, scope=ACME)
        ProfileManager(store, scope=MemoryScope())
    truthy = PlainStore()
    truthy.supports_profile_scopes = "yes"  # type: ignore[attr-defined]
    with pytest.raises(ValueError, match="supports_profile_scopes"):
        ProfileManager(truthy, scope=ACME)
    assert truthy.calls == []


def test_a_manager_of_a_scope_reads_and_writes_there_alone(any_store: Any) -> None:
    async def work() -> None:
        plain, scoped = ProfileManager(any_store), ProfileManager(any_store, scope=ACME)
        await plain.update("u1", [said("Call me Sam.")])
        found = await scoped.update("u1", [said("Call me Max.")])
        assert (found.user_id, found.facts, found.version) == ("u1", {"name": "Max"}, 1)
        await scoped.reset("u1")
        await scoped.delete("u1")
        left = await plain.get("u1")
        assert left is not None
        assert left.facts == {"name": "Sam"}

    asyncio.run(work())


def test_a_legacy_record_is_left_as_it_is_by_every_method(keyed_store: Any) -> None:
    legacy = UserProfile(ACME.storage_key("u1"), version=7, summary="Somebody else's.")
    keyed_store.put(legacy)
    for store in (keyed_store, AwaitedStore(keyed_store)):
        manager = ProfileManager(store, scope=ACME)
        with pytest.raises(ValueError, match="left as it is"):
            asyncio.run(manager.update("u1", [said("Call me Sam.", id="1")]))
        with pytest.raises(ValueError, match="left as it is"):
            asyncio.run(manager.apply("u1", fact("1")))
        with pytest.raises(ValueError, match="left as it is"):
            asyncio.run(manager.reset("u1"))
        with pytest.raises(ValueError, match="left as it is"):
            asyncio.run(manager.delete("u1"))
        assert asyncio.run(manager.get("u1")) is None
    assert keyed_store.get(legacy.user_id) == legacy


def test_a_plain_store_is_read_and_written(tmp_path: Any) -> None:
    store = PlainStore()
    asyncio.run(ProfileManager(store).update("u1", [said("Call me Sam.")]))
    assert store.calls == ["get", "put"]
    asyncio.run(ProfileManager(store).update("u1", [said("Call me Sam.")]))
    assert store.calls == ["get", "put", "get"]
    for _ in range(2):  # empty already, it stays as it is
        assert asyncio.run(ProfileManager(store).reset("u1")).version == 2


def test_o15_a_delta_is_merged_anew_when_another_writer_came_first() -> None:
    def rival() -> None:
        store.profiles["u1"] = UserProfile("u1", facts={"b": "rival"}, version=1)

    store = ComparingStore(rival)
    found = asyncio.run(ProfileManager(store, Scripted(fact("1"))).update("u1", [said("x")]))
    assert (found.facts, found.version) == ({"b": "rival", "a": "1"}, 2)
    assert store.calls == ["get", "compare_and_put", "get", "compare_and_put"]


def test_an_asynchronous_store_is_awaited(keyed_store: Any) -> None:
    manager = ProfileManager(AwaitedStore(keyed_store), scope=ACME)
    assert asyncio.run(manager.update("u1", [said("Call me Sam.")])).facts == {"name": "Sam"}
    assert keyed_store.get("u1", scope=ACME).facts == {"name": "Sam"}


def test_an_update_of_postgres_is_one_statement(database: Database) -> None:
    from loom.profile import PostgresProfileStore

    conn = database.connect()

    def statements() -> int:
        row = conn.execute(
            "select coalesce(sum(calls), 0) from loom_test.pg_stat_statements"
            " where query ^@ 'select loom.execute' and dbid ="
            " (select oid from pg_database where datname = current_database())"
        ).fetchone()
        assert row is not None
        return int(row[0])

    with PostgresProfileStore(database.dsn()) as store:
        # A source that is not the database's own reads no signal twice: that is asked first.
        for source, most in ((RuleProfileSource(), 1), (Scripted(fact("1")), 2)):
            before = statements()
            signal = said("Call me Sam.", id=f"of {most}")
            asyncio.run(ProfileManager(store, source).update("u1", [signal]))
            assert statements() == before + most

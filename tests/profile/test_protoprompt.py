"""The store for the library protoprompt: its published contract, its documents, its manager."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest
from protoprompt import MemoryScope  # type: ignore[import-untyped]
from protoprompt.profile import (  # type: ignore[import-untyped]
    Preferences,
    ProfileManager,
    RuleProfileSource,
    Signal,
    Traits,
    UserProfile,
    as_async_profile,
)
from protoprompt.testing.contracts import check_profile_store  # type: ignore[import-untyped]

from loom.profile.protoprompt import ProtopromptStore
from tests.calls import operate
from tests.databases import Database

PLACE = {"org": "dev", "namespace": "local", "user_id": "u1"}
DOCUMENT = UserProfile(
    "u1",
    traits=Traits(style="playful", verbosity="concise"),
    preferences=Preferences(format="table", language="ru", topics=["b", "a", "b", ""]),
    facts={"z": "1", "a": "", "": "no key"},
    summary="Said.",
    updated_at="yesterday",
    version=12,
    source="their own",
)


@pytest.fixture
def store(database: Database) -> Iterator[ProtopromptStore]:
    with ProtopromptStore(database.dsn()) as opened:
        yield opened


def test_it_keeps_the_contract_of_profile_stores(store: ProtopromptStore) -> None:
    report = asyncio.run(check_profile_store(store))
    assert report.checks == ("create", "roundtrip", "stale_rejection", "compare_and_put", "delete")
    # Also for a user whose profile was deleted before, and asynchronously.
    asyncio.run(check_profile_store(store, user_id="u1"))
    asyncio.run(check_profile_store(as_async_profile(store), user_id="u1"))


def test_a_document_comes_back_as_it_was_given(store: ProtopromptStore) -> None:
    store.put(DOCUMENT)
    found = store.get("u1")
    assert found == DOCUMENT
    assert isinstance(found, UserProfile)
    assert list(found.facts) == list(DOCUMENT.facts)
    assert store.get("u2") is None


def test_loom_renders_what_it_takes_of_a_document(
    store: ProtopromptStore, database: Database
) -> None:
    store.put(DOCUMENT)
    conn = database.connect()
    text = operate(conn, "user_profile.render", **PLACE)["text"]
    assert text == (
        "User profile:\n- z: 1\n- verbosity: concise\n- language: ru\n- topics: b, a\n"
        "- summary: Said."
    )


def test_after_a_merge_of_looms_own_the_document_is_what_loom_holds(
    store: ProtopromptStore, database: Database
) -> None:
    store.put(DOCUMENT)
    delta = {"fact_ops": [{"op": "add", "key": "name", "value": "Sam"}]}
    operate(database.connect(), "user_profile.apply", **PLACE, delta=delta)
    found = store.get("u1")
    assert found is not None
    assert (found.version, found.facts) == (13, {"z": "1", "name": "Sam"})
    assert found.traits == Traits(verbosity="concise")
    late = UserProfile("u1", version=13)
    assert store.compare_and_put(late, expected_version=12) is False
    assert store.compare_and_put(late, expected_version=13) is True


def test_its_manager_keeps_scopes_apart(store: ProtopromptStore) -> None:
    said = [Signal("u1", "message", "короткий текст", role="user")]

    async def work() -> None:
        scopes = [None, MemoryScope(tenant="acme"), MemoryScope(user="acme")]
        for number, scope in enumerate(scopes):
            manager = ProfileManager(store, RuleProfileSource(), scope=scope)
            for _ in range(number + 1):
                await manager.update("u1", said)
        for number, scope in enumerate(scopes):
            found = await ProfileManager(store, scope=scope).get("u1")
            assert found is not None
            assert (found.user_id, found.version) == ("u1", number + 1)
        await ProfileManager(store, scope=scopes[1]).delete("u1")
        assert await ProfileManager(store, scope=scopes[1]).get("u1") is None
        assert (await ProfileManager(store).reset("u1")).version == 0
        assert (await ProfileManager(store).update("u1", said)).version == 1

    asyncio.run(work())

"""The stores: what is put comes back, writers do not lose each other, and scopes stay apart."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pytest

from loom.profile import (
    FactOp,
    MemoryScope,
    PostgresProfileStore,
    ProfileDelta,
    ProfileError,
    SqliteProfileStore,
    UserProfile,
    as_async_profile,
)
from loom.profile.merge import same_content
from tests.databases import Database
from tests.profile.random_profiles import delta, profile
from tests.profile.stores import PlainStore

ACME = MemoryScope(tenant="acme")
FACT = ProfileDelta(fact_ops=[FactOp("add", "a", "1")], source="test")


def fact(value: str) -> ProfileDelta:
    return ProfileDelta(fact_ops=[FactOp("add", "a", value)])


def test_what_was_put_comes_back(any_store: Any) -> None:
    assert any_store.get("u1") is None
    random = Random(3)
    for _ in range(20):
        given = profile(random)
        any_store.put(given)
        found = any_store.get("u1")
        assert same_content(found, given)
        assert (found.version, found.source) == (given.version, given.source)
    any_store.delete("u1")
    any_store.delete("u1")
    assert any_store.get("u1") is None


def test_what_a_caller_does_with_a_profile_is_not_stored(any_store: Any) -> None:
    given = UserProfile("u1", facts={"a": "1"})
    any_store.put(given)
    given.facts["a"] = "2"
    any_store.get("u1").facts["a"] = "3"
    assert any_store.get("u1").facts == {"a": "1"}


def test_o16_a_profile_is_written_over_the_named_version_only(any_store: Any) -> None:
    one, two = UserProfile("u1", version=1), UserProfile("u1", version=2, summary="Two.")
    assert any_store.compare_and_put(one, expected_version=0) is False
    assert any_store.compare_and_put(one, expected_version=None) is True
    assert any_store.compare_and_put(two, expected_version=None) is False
    assert any_store.compare_and_put(two, expected_version=0) is False
    assert any_store.compare_and_put(two, expected_version=1) is True
    assert any_store.get("u1").summary == "Two."
    any_store.delete("u1")
    assert any_store.compare_and_put(two, expected_version=2) is False
    assert any_store.compare_and_put(one, expected_version=None) is True
    assert any_store.get("u1").version == 1


def test_a_version_0_is_a_version(any_store: Any) -> None:
    any_store.put(UserProfile("u1"))
    assert any_store.compare_and_put(UserProfile("u1", version=1), expected_version=None) is False
    assert any_store.compare_and_put(UserProfile("u1", version=1), expected_version=0) is True


def test_the_same_deltas_leave_the_same_profile_in_each(any_store: Any) -> None:
    from loom.profile import merge

    random = Random(5)
    expected = UserProfile("u1")
    for _ in range(60):
        told = delta(random)
        expected = merge(expected, told)
        found = any_store.apply("u1", told)
        assert same_content(found, expected)
        assert found.version == expected.version
    kept = any_store.get("u1")
    assert same_content(kept, expected)


def test_o28_signals_that_were_merged_change_nothing(any_store: Any) -> None:
    any_store.apply("u1", fact("1"), signal_ids=["s1", "s2"])
    any_store.apply("u1", fact("2"))
    assert any_store.apply("u1", fact("1"), signal_ids=["s2", "s1"]).facts == {"a": "2"}
    assert any_store.apply("u1", fact("3"), signal_ids=["s1", "s3"]).facts == {"a": "3"}
    assert any_store.apply("u1", fact("1"), signal_ids=["s1"], scope=ACME).facts == {"a": "1"}


def test_a_reset_is_an_empty_next_version(any_store: Any) -> None:
    any_store.apply("u1", FACT)
    fresh = any_store.reset("u1")
    assert (fresh.version, fresh.facts, fresh.source) == (2, {}, "reset")
    assert any_store.get("u1").version == 2
    assert any_store.reset("u1").version == 2  # it is empty already


def test_a_delta_that_cannot_be_stored_is_refused_and_nothing_is(any_store: Any) -> None:
    for wrong in (
        ProfileDelta(fact_ops=[FactOp("remove", "a")]),
        ProfileDelta(fact_ops=[FactOp("add", "")]),
        ProfileDelta(fact_ops=[FactOp("add", "a", "x" * 2001)]),
        ProfileDelta(fact_ops=[FactOp("add", f"k{number}", "v") for number in range(201)]),
        ProfileDelta(traits={"style": "playful"}),
        ProfileDelta(traits={"mood": "good"}),
        ProfileDelta(preferences={"format": "table"}),
        ProfileDelta(preferences={"colour": "red"}),
        ProfileDelta(topics=["t" * 201]),
        ProfileDelta(topics=[str(number) for number in range(51)]),
        ProfileDelta(summary="s" * 4001),
    ):
        with pytest.raises(ProfileError):
            any_store.apply("u1", wrong)
    assert any_store.get("u1") is None


COLLIDING = [
    ("u1", None),
    ("u1", MemoryScope(tenant="a")),
    ("u1", MemoryScope(user="a")),
    ("u1", MemoryScope(thread="a")),
    ("u1", MemoryScope(kind="a")),
    ("u1", MemoryScope(tenant="a", user="b")),
    ("u1", MemoryScope(tenant="ab")),
    ("u1", MemoryScope(tenant='a","b')),
    ("bu1", MemoryScope(tenant="a")),
    ("a__u1", MemoryScope(tenant="a")),
    ("__u1", MemoryScope(tenant="a")),
]


def test_scopes_and_ids_that_collide_when_joined_stay_apart(any_store: Any) -> None:
    for number, (user, scope) in enumerate(COLLIDING):
        any_store.apply(user, fact(str(number)), scope=scope)
    for number, (user, scope) in enumerate(COLLIDING):
        found = any_store.get(user, scope=scope)
        assert (found.user_id, found.facts) == (user, {"a": str(number)})
    any_store.delete(*COLLIDING[1][:1], scope=COLLIDING[1][1])
    left = [any_store.get(user, scope=scope) is not None for user, scope in COLLIDING]
    assert left == [number != 1 for number in range(len(COLLIDING))]


def test_an_empty_scope_is_none(any_store: Any) -> None:
    any_store.put(UserProfile("u1"), scope=MemoryScope())
    assert any_store.get("u1") is not None


@pytest.mark.parametrize(
    ("scope", "digest"),
    [
        (MemoryScope(tenant="acme"), "cdafc933e8d82f2aebfed8dc"),
        (MemoryScope(tenant="acme", user="u1"), "9a694577d7eab2d1adad3b26"),
    ],
)
def test_the_keys_of_scopes_are_these(scope: MemoryScope, digest: str) -> None:
    assert scope.storage_key("u-42") == f"ppscope_{digest}__u-42"


def test_an_empty_scope_adds_nothing_to_the_key() -> None:
    assert MemoryScope().storage_key("u1") == "u1"
    assert MemoryScope(tenant="é").storage_key("u") != MemoryScope(tenant="e\u0301").storage_key(
        "u"
    )
    with pytest.raises(TypeError):
        MemoryScope(tenant=1)  # type: ignore[arg-type]


WRITES: dict[str, Callable[[Any], Any]] = {
    "put": lambda store: store.put(UserProfile("u1"), scope=ACME),
    "compare_and_put, none": lambda store: store.compare_and_put(
        UserProfile("u1"), expected_version=None, scope=ACME
    ),
    "compare_and_put, its version": lambda store: store.compare_and_put(
        UserProfile("u1"), expected_version=7, scope=ACME
    ),
    "delete": lambda store: store.delete("u1", scope=ACME),
    "apply": lambda store: store.apply("u1", FACT, scope=ACME),
    "reset": lambda store: store.reset("u1", scope=ACME),
    "unmerged": lambda store: store.unmerged("u1", ["s1"], scope=ACME),
}


@pytest.mark.parametrize("asynchronous", [False, True], ids=["sync", "async"])
@pytest.mark.parametrize("write", WRITES)
def test_a_legacy_record_is_never_adopted_or_written_over(
    keyed_store: Any, write: str, asynchronous: bool
) -> None:
    legacy = UserProfile(ACME.storage_key("u1"), version=7, summary="Somebody else's.")
    keyed_store.put(legacy)

    def attempt() -> Any:
        if not asynchronous:
            return WRITES[write](keyed_store)

        async def awaited() -> Any:
            return await WRITES[write](as_async_profile(keyed_store))

        return asyncio.run(awaited())

    assert keyed_store.get("u1", scope=ACME) is None
    assert asyncio.run(as_async_profile(keyed_store).get("u1", scope=ACME)) is None
    with pytest.raises(ValueError, match="left as it is"):
        attempt()
    assert keyed_store.get(legacy.user_id) == legacy


def test_a_plain_id_does_not_reach_into_a_scope_either(keyed_store: Any) -> None:
    keyed_store.put(UserProfile("u1", summary="Of a scope."), scope=ACME)
    plain = ACME.storage_key("u1")
    assert keyed_store.get(plain) is None
    with pytest.raises(ValueError, match="left as it is"):
        keyed_store.put(UserProfile(plain))
    assert keyed_store.get("u1", scope=ACME).summary == "Of a scope."


def test_the_async_wrapper_refuses_a_scope_that_its_store_does_not_know() -> None:
    store = PlainStore()
    wrapped = as_async_profile(store)
    assert wrapped.supports_profile_scopes is False

    async def attempts() -> None:
        with pytest.raises(ValueError, match="supports_profile_scopes"):
            await wrapped.get("u1", scope=ACME)
        with pytest.raises(ValueError, match="supports_profile_scopes"):
            await wrapped.put(UserProfile("u1"), scope=ACME)
        with pytest.raises(ValueError, match="supports_profile_scopes"):
            await wrapped.delete("u1", scope=ACME)
        await wrapped.put(UserProfile("u1"), scope=MemoryScope())
        assert (await wrapped.get("u1")).user_id == "u1"

    asyncio.run(attempts())
    assert store.calls == ["put", "get"]


def test_o20_parallel_writers_of_threads_all_arrive(any_store: Any) -> None:
    def add(number: int) -> None:
        any_store.apply("u1", ProfileDelta(fact_ops=[FactOp("add", f"k{number}", "v")]))

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(add, range(40)))
    found = any_store.get("u1")
    assert (found.version, set(found.facts)) == (40, {f"k{number}" for number in range(40)})


def test_a_refused_write_of_sqlite_leaves_nothing_open(tmp_path: Path) -> None:
    with SqliteProfileStore(tmp_path / "p.db") as store:
        with pytest.raises(ProfileError):
            store.apply("u1", ProfileDelta(traits={"style": "x"}), signal_ids=["s1"])
        assert store.unmerged("u1", ["s1"]) == {"s1"}
        with SqliteProfileStore(tmp_path / "p.db") as other:
            other.apply("u1", FACT)
        assert store.get("u1") == replace(other_version(store), source="test")


def other_version(store: SqliteProfileStore) -> UserProfile:
    found = store.get("u1")
    assert found is not None
    return found


def test_postgres_opens_a_new_connection_after_a_lost_one(database: Database) -> None:
    import psycopg

    admin = database.connect()
    with PostgresProfileStore(database.dsn()) as store:
        store.put(UserProfile("u1"))
        admin.execute(
            "select pg_terminate_backend(pid) from pg_stat_activity"
            " where application_name = 'loom profile' and datname = current_database()"
        )
        with pytest.raises(psycopg.OperationalError):
            store.get("u1")
        assert store.get("u1") is not None


def test_o38_a_text_that_cannot_be_stored_is_refused_and_the_next_write_goes_on(
    database: Database,
) -> None:
    with PostgresProfileStore(database.dsn()) as store:
        for wrong in ("NUL \0", "half a pair \ud800"):
            with pytest.raises(ProfileError):
                store.apply("u1", fact(wrong))
        assert store.apply("u1", fact("1")).facts == {"a": "1"}


def test_postgres_keeps_namespaces_and_orgs_apart(database: Database) -> None:
    with (
        PostgresProfileStore(database.dsn(), namespace="a") as one,
        PostgresProfileStore(database.dsn(), namespace="b") as two,
        PostgresProfileStore(database.dsn(), org="other", namespace="a") as three,
    ):
        one.put(UserProfile("u1"))
        assert (two.get("u1"), three.get("u1")) == (None, None)

"""erasure.request: everything of one user goes, in every plane, and nothing of anyone else."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from tests.calls import Answer, Connection, mint_token, operate, refused
from tests.databases import Clock
from tests.sql.canaries import tables_with
from tests.sql.doors import IDENTITY, execute, through_api
from tests.sql.erasure.rows_of import PLANES, erase, fill, rows_of
from tests.sql.facts import audited, fact, value_of

NOTHING = dict.fromkeys(PLANES, 0)
EVERYWHERE = {"agent": "coder", "user_id": "u1"}


def test_o60_everything_of_the_user_goes_and_the_rows_are_counted(db: Connection) -> None:
    expected = fill(db, "u1")
    assert erase(db) == expected
    assert rows_of(db, "u1") == {}
    assert tables_with(db, "canary") == {}


def test_o60_other_users_and_the_user_of_everyone_are_left_as_they_are(db: Connection) -> None:
    others = ("u2", "-", "U1", "u1 ", "u", "u11", "u%", "u_", "%")
    for user in (*others, "u1"):
        fill(db, user)
    fill(db, "u1", org="other")
    before = {user: rows_of(db, user) for user in others}
    theirs = rows_of(db, "u1", org="other")
    erase(db)
    assert {user: rows_of(db, user) for user in others} == before
    assert rows_of(db, "u1", org="other") == theirs
    assert rows_of(db, "u1") == {}


def test_o60_users_named_like_patterns_take_nobody_with_them(db: Connection) -> None:
    fill(db, "u1")
    for user in ("u%", "%", "u_", "U1", "u1 ", "*"):
        assert erase(db, user) == NOTHING
    assert len(rows_of(db, "u1")) == 17


def test_a_second_call_removes_nothing(db: Connection) -> None:
    fill(db, "u1")
    erase(db)
    assert erase(db) == NOTHING


def test_what_is_written_later_is_new_data(db: Connection) -> None:
    fill(db, "u1")
    erase(db)
    written = fact(db, "set", user_id="u1", memory_key="a", value="new")
    assert (written["created"], written["version"]) == (True, 1)
    assert fact(db, "restore", user_id="u1", memory_key="a")["restored"] is False
    with refused(db, "LM102"):
        fact(db, "restore", user_id="u1", memory_key="b")
    assert erase(db) == {**NOTHING, "memory": 1, "memory_version": 1, "work": 1}


def test_o69_no_read_finds_what_was_erased(db: Connection) -> None:
    fill(db, "u1")
    ids = [
        item["memory_id"] for item in fact(db, "list", **EVERYWHERE, include_deleted=True)["items"]
    ]
    erase(db)
    assert ids
    for memory_id in ids:
        assert fact(db, "get", **EVERYWHERE, memory_id=memory_id)["status"] == "absent"
        assert fact(db, "history", **EVERYWHERE, memory_id=memory_id)["found"] is False
        past = fact(db, "get", **EVERYWHERE, memory_id=memory_id, as_of="9999-01-01T00:00:00Z")
        assert past["found"] is False
    for op in ("memory.list", "profile.list"):
        assert operate(db, op, **IDENTITY, read_scope="namespace")["items"] == []
    rendered = operate(db, "profile.render", **IDENTITY, read_scope="namespace")
    assert (rendered["sections"], "canary" in rendered["text"]) == ([], False)
    activity = operate(db, "profile.activity", **IDENTITY, read_scope="namespace")
    assert activity["clients"] == []


def test_named_namespaces_are_erased_and_others_are_not(db: Connection) -> None:
    spaces = ("main", "other", "Main", "m%")
    for namespace in spaces:
        fill(db, "u1", namespace=namespace)
    expected = fill(db, "u2")
    removed = erase(db, namespaces=["main", "m%", "main"])
    assert removed == {plane: 2 * count for plane, count in expected.items()}
    left = " ".join(row for rows in rows_of(db, "u1").values() for row in rows)
    assert all(
        (f'"namespace": "{space}"' in left) is (space in ("other", "Main")) for space in spaces
    )
    assert erase(db, namespaces=["nowhere"]) == NOTHING
    answer = operate(db, "erasure.request", org="acme", user_id="u1", namespaces=["b", "a", "b"])
    assert answer["namespaces"] == ["a", "b"]
    assert operate(db, "erasure.request", org="acme", user_id="u1")["namespaces"] is None
    assert rows_of(db, "u1") == {}


@pytest.mark.parametrize("namespaces", [[], "main", [1], [None], {}, ["x"] * 0 + [["main"]]])
def test_namespaces_are_a_list_of_names(db: Connection, namespaces: object) -> None:
    with refused(db, "LM001") as refusal:
        erase(db, namespaces=namespaces)
    assert refusal.detail["field"] == "namespaces"


@pytest.mark.parametrize("request_", [{"user_id": "-"}, {"user_id": None}, {}])
def test_o60_an_erasure_of_everyone_is_refused(db: Connection, request_: Answer) -> None:
    fill(db, "-")
    before = rows_of(db, "-")
    with refused(db, "LM001") as refusal:
        operate(db, "erasure.request", org="acme", **request_)
    assert refusal.detail["field"] == "user_id"
    assert rows_of(db, "-") == before


def test_the_epoch_rises_in_the_namespaces_erased(db: Connection) -> None:
    for namespace in ("main", "other"):
        fill(db, "u1", namespace=namespace)
        fill(db, "u2", namespace=namespace)

    def epochs() -> dict[tuple[str, str], int]:
        rows = db.execute("select user_id, namespace, epoch from loom.user_state").fetchall()
        return {(user, namespace): epoch for user, namespace, epoch in rows}

    assert set(epochs().values()) == {0}
    erase(db, namespaces=["main"])
    assert epochs()["u1", "main"] == 1
    assert epochs()["u1", "other"] == 0
    erase(db)
    assert epochs() == {
        ("u1", "main"): 2,
        ("u1", "other"): 1,
        ("u2", "main"): 0,
        ("u2", "other"): 0,
    }


def test_what_was_to_be_built_goes_and_the_digest_is_of_no_sources(db: Connection) -> None:
    place = {"org": "acme", "user_id": "u1"}
    for namespace in ("main", "other"):
        fill(db, "u1", namespace=namespace)
        fill(db, "u2", namespace=namespace)
        # Something whose end of validity is still to come, so that the user has a next change.
        operate(
            db,
            "memory.set",
            **place,
            namespace=namespace,
            memory_key="till",
            value="x",
            valid_to="2999-01-01T00:00:00Z",
        )

    def builds() -> list[tuple[str, str]]:
        rows = db.execute("select user_id, namespace from loom.build order by 1, 2")
        return [(user, namespace) for user, namespace in rows]

    def state(user: str, namespace: str) -> tuple[bool, int, bool]:
        """Whether the digest is that of nothing; the number of sources; a next change."""
        row = db.execute(
            "select source_digest = 0::bit(128), source_count, next_change_at is not null"
            " from loom.user_state where user_id = %s and namespace = %s",
            (user, namespace),
        ).fetchone()
        assert row is not None
        digest_of_nothing, count, changes = row
        return digest_of_nothing, count, changes

    theirs = {namespace: state("u2", namespace) for namespace in ("main", "other")}
    ours = state("u1", "other")
    assert ours == (False, ours[1], True)
    assert ours[1] > 0
    assert len(builds()) == 4
    assert erase(db, namespaces=["main"])["work"] == 1
    assert builds() == [("u1", "other"), ("u2", "main"), ("u2", "other")]
    assert state("u1", "main") == (True, 0, False)
    assert state("u1", "other") == ours
    assert erase(db)["work"] == 1
    assert builds() == [("u2", "main"), ("u2", "other")]
    assert state("u1", "main") == state("u1", "other") == (True, 0, False)
    assert {namespace: state("u2", namespace) for namespace in theirs} == theirs


def test_stored_answers_that_name_the_user_go_those_of_batches_too(db: Connection) -> None:
    def write(key: str, *users: str) -> None:
        items = [
            {"op": "memory.set", **IDENTITY, "user_id": user, "memory_key": key, "value": "canary"}
            for user in users
        ]
        execute(db, "batch", key=key, org="acme", requests=items)

    write("of one", "u1")
    write("of three", "u2", "u1", "u3")
    write("of others", "u2", "u3")
    token = mint_token(db, org="acme", read_user_id="u1", namespace="main")
    through_api(db, token, "profile.append", key="pinned", label="persona", addition="canary")
    items = [{"op": "profile.append", "label": "persona", "addition": "canary"}]
    through_api(db, token, "batch", key="pinned batch", requests=items)
    assert erase(db)["idempotency"] == 4
    assert db.execute("select key from loom.idempotency").fetchall() == [("of others",)]
    named = db.execute("select distinct user_id, key from loom.idempotency_user order by 1")
    assert named.fetchall() == [("u2", "of others"), ("u3", "of others")]


@pytest.mark.parametrize(
    "read",
    [
        {"op": "memory.list", "read_scope": "namespace"},
        {"op": "memory.history", "memory_key": "a", "read_scope": "namespace"},
        {"op": "profile.render", "read_scope": "namespace"},
        {"op": "profile.activity", "read_scope": "namespace"},
    ],
    ids=lambda read: str(read["op"]),
)
def test_a_batch_that_read_a_whole_namespace_keeps_nothing_of_it(
    db: Connection, read: Answer
) -> None:
    fill(db, "u1")
    items = [{**IDENTITY, **read}, {"op": "working_memory.append", **IDENTITY, "addition": "x"}]
    results = execute(db, "batch", key="k", org="acme", requests=items)["results"]
    assert [result["status"] for result in results] == [200, 200]
    assert "canary" in str(results[0]) or "persona" in str(results[0])
    erase(db)
    assert tables_with(db, "canary") == tables_with(db, "persona") == {}


def test_an_erasure_under_a_key_has_one_effect_and_keeps_no_name(db: Connection) -> None:
    user = "uniquely named user"
    expected = fill(db, user)
    first = execute(db, "erasure.request", key="k", org="acme", user_id=user)
    assert (first["user_id"], first["removed"]) == (user, expected)
    # What remains of the name is the row that orders the user's writers, with its epoch.
    assert tables_with(db, user) == {"user_state": 1}
    assert erase(db, user) == NOTHING
    fact(db, "set", user_id=user, value="new")
    assert execute(db, "erasure.request", key="k", org="acme", user_id=user) == first
    assert fact(db, "get", user_id=user)["found"] is True
    with refused(db, "LM206"):
        execute(db, "erasure.request", key="k", org="acme", user_id="another")


def test_it_is_audited_by_its_counts_and_without_the_user(db: Connection, clock: Clock) -> None:
    clock.set(datetime(2026, 3, 1, 12, 0, tzinfo=UTC))
    user = "uniquely named user"
    expected = fill(db, user)
    erase(db, user, namespaces=["main"])
    assert audited(db, "erasure.request") == [{"removed": expected, "namespaces": ["main"]}]
    assert "audit" not in tables_with(db, user)
    assert "audit" not in tables_with(db, "canary")


def test_it_cannot_stand_in_a_batch(db: Connection) -> None:
    """Its lock is exclusive, and others' shared ones would be held already."""
    fill(db, "u1")
    items = [{"op": "erasure.request", "user_id": "u1"}]
    (result,) = operate(db, "batch", org="acme", requests=items)["results"]
    assert (result["status"], result["error"]["field"]) == (400, "op")
    assert value_of(db, **EVERYWHERE, memory_key="a") == ["canary of u1"]

"""Idempotency keys: a write repeated under its key has no second effect."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import psycopg
import pytest

from tests.calls import Answer, Token, acting_as, refused
from tests.databases import Clock
from tests.sql.doors import execute, through_api, wm
from tests.sql.texts import exactly

Connection = psycopg.Connection[Any]
Mint = Callable[..., Token]

NOON = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
APPEND = "working_memory.append"


def content(db: Connection, **identity: Any) -> str:
    got = wm(db, "get", **{"agent": None, **identity})
    return got["content"]  # type: ignore[no-any-return]


def test_the_same_key_and_request_give_the_first_answer_again(
    db: Connection, mint: Mint, clock: Clock
) -> None:
    clock.set(NOON)
    token = mint(namespace="main")
    first = through_api(db, token, APPEND, key="k", addition="line")
    clock.advance(minutes=5)
    through_api(db, token, APPEND, addition="another")
    assert through_api(db, token, APPEND, key="k", addition="line") == first
    assert content(db) == "line\nanother"


def test_a_service_has_the_same_by_execute(services: Connection) -> None:
    request = {"org": "acme", "namespace": "main", "addition": "line"}
    with acting_as(services, "loom_test_writer"):
        first = execute(services, APPEND, key="k", **request)
        assert execute(services, APPEND, key="k", **request) == first
        execute(services, APPEND, **request)
    assert content(services) == "line\nline"


def test_another_request_under_the_key_is_a_conflict(db: Connection, mint: Mint) -> None:
    token = mint(namespace="main")
    through_api(db, token, APPEND, key="k", addition="line")
    for other in (
        {"addition": "line "},
        {"addition": "line", "separator": ""},
        {"addition": "line", "block_key": "k"},
        {"addition": "line", "user_id": "u"},
        {"addition": "line", "run_id": "r"},
    ):
        with refused(db, "LM206") as refusal:
            through_api(db, token, APPEND, key="k", **other)
        assert refusal.detail == {"reason": "with another request"}
    assert content(db) == "line"


def test_the_order_of_fields_makes_no_other_request(db: Connection, mint: Mint) -> None:
    token = mint(namespace="main")
    first = through_api(db, token, APPEND, key="k", addition="line", separator="")
    assert through_api(db, token, APPEND, key="k", separator="", addition="line") == first


@pytest.mark.parametrize(
    "named",
    [
        {"org": "acme"},
        {"namespace": "main"},
        {"user_id": "u"},
        {"session_id": "s"},
        {"run_id": "-"},
    ],
    ids=str,
)
def test_naming_what_the_token_or_the_default_says_makes_no_other_request(
    db: Connection, mint: Mint, named: dict[str, str]
) -> None:
    token = mint(namespace="main", read_user_id="u", session_id="s")
    first = through_api(db, token, APPEND, key="k", addition="line")
    assert through_api(db, token, APPEND, key="k", addition="line", **named) == first


def test_the_same_request_with_other_bounds_minted_for_is_another(
    db: Connection, mint: Mint
) -> None:
    token = mint(role="admin")
    through_api(db, token, "token.mint", key="k", role="viewer", namespace="a")
    with refused(db, "LM206") as refusal:
        through_api(db, token, "token.mint", key="k", role="viewer", namespace="b")
    assert refusal.detail == {"reason": "with another request"}


def test_keys_belong_to_caller_operation_and_org(services: Connection, mint: Mint) -> None:
    db = services
    first, second = mint(namespace="main"), mint(namespace="main")
    other = mint(namespace="main", org="other")
    for token in (first, second, other):
        through_api(db, token, APPEND, key="k", addition="line")
    through_api(db, first, "working_memory.set", key="k", block_key="b", content="x")
    with acting_as(db, "loom_test_writer"):
        execute(db, APPEND, key="k", org="acme", namespace="main", addition="line")
    assert content(db) == "line\nline\nline"
    assert content(db, org="other") == "line"
    assert content(db, block_key="b") == "x"


def test_only_successes_are_kept(db: Connection, mint: Mint) -> None:
    token = mint(namespace="main")
    request = {"old": "a", "new": "b"}
    with refused(db, "LM101"):
        through_api(db, token, "working_memory.replace", key="k", **request)
    wm(db, "set", agent=None, content="a")
    answer = through_api(db, token, "working_memory.replace", key="k", **request)
    assert answer["replacements"] == 1


def test_a_key_is_free_again_after_a_day(db: Connection, mint: Mint, clock: Clock) -> None:
    clock.set(NOON)
    token = mint(namespace="main")
    first = through_api(db, token, APPEND, key="k", addition="line")
    clock.advance(hours=24, microseconds=-1)
    assert through_api(db, token, APPEND, key="k", addition="line") == first
    clock.advance(microseconds=1)
    second = through_api(db, token, APPEND, key="k", addition="line")
    assert second["version"] == 2
    clock.advance(hours=23)
    assert through_api(db, token, APPEND, key="k", addition="line") == second
    clock.advance(hours=1)
    through_api(db, token, APPEND, key="k", addition="another request")
    assert content(db) == "line\nline\nanother request"


def test_a_minted_secret_is_not_given_twice(db: Connection, mint: Mint) -> None:
    admin = mint(role="admin")
    minted = through_api(db, admin, "token.mint", key="k", role="viewer")
    with refused(db, "LM206") as refusal:
        through_api(db, admin, "token.mint", key="k", role="viewer")
    assert refusal.detail == {"reason": "the first answer held a secret, which is not kept"}
    stored = db.execute("select answer from loom.idempotency").fetchall()
    assert stored == [(None,)]
    listed = through_api(db, admin, "token.list")["items"]
    assert minted["token_id"] in {item["token_id"] for item in listed}
    assert len(listed) == 2


def test_a_key_has_one_to_two_hundred_characters(db: Connection, mint: Mint) -> None:
    token = mint(namespace="main")
    through_api(db, token, APPEND, key=exactly(200, "😀"), addition="line")
    for key in ("", exactly(201)):
        with refused(db, "LM406") as refusal:
            through_api(db, token, APPEND, key=key, addition="line")
        assert refusal.detail == {"what": "idempotency_key", "limit": 200, "value": len(key)}
    assert content(db) == "line"


def test_the_longest_key_and_ids_together_fit_the_index(db: Connection, mint: Mint) -> None:
    longest = "".join(chr(0x20000 + 97 * number) for number in range(64))
    key = "".join(chr(0x20000 + 89 * number) for number in range(200))
    token = mint(org=longest, namespace=longest)
    receipt = through_api(db, token, APPEND, key=key, addition="x", user_id=longest)
    again = through_api(db, token, APPEND, key=key, addition="x", user_id=longest)
    assert again == receipt


def test_a_stored_answer_names_its_user(db: Connection, mint: Mint) -> None:
    pinned = mint(namespace="main", read_user_id="u1")
    through_api(db, pinned, APPEND, key="pinned", addition="x")
    through_api(db, mint(namespace="main"), APPEND, key="named", addition="x", user_id="u2")
    through_api(db, mint(namespace="main"), APPEND, key="nobody", addition="x")
    through_api(db, mint(role="admin", namespace="main"), "namespace.update", key="none")
    rows = db.execute("select key, user_ids from loom.idempotency").fetchall()
    assert dict(rows) == {"pinned": ["u1"], "named": ["u2"], "nobody": ["-"], "none": []}
    found = db.execute("select user_id, key from loom.idempotency_user").fetchall()
    assert set(found) == {("u1", "pinned"), ("u2", "named"), ("-", "nobody")}


def test_a_stored_answer_of_a_batch_names_all_its_users(db: Connection, mint: Mint) -> None:
    token = mint(namespace="main")
    requests: list[Answer] = [
        {"op": APPEND, "addition": "x", "user_id": user} for user in ("u2", "u1", "u2")
    ]
    requests.append({"op": APPEND, "addition": "x"})
    first = through_api(db, token, "batch", key="k", requests=requests)
    assert through_api(db, token, "batch", key="k", requests=requests) == first
    assert db.execute("select user_ids from loom.idempotency").fetchall() == [(["-", "u1", "u2"],)]
    assert content(db, user_id="u2") == "x\nx"
    with refused(db, "LM206"):
        through_api(db, token, "batch", key="k", requests=requests[:1])


def test_a_batch_with_a_refused_item_is_kept_like_any_other(db: Connection, mint: Mint) -> None:
    token = mint(namespace="main")
    requests = [{"op": APPEND, "addition": "x"}, {"op": "working_memory.get", "user_id": ""}]
    first = through_api(db, token, "batch", key="k", requests=requests)
    assert [result["status"] for result in first["results"]] == [200, 422]
    assert through_api(db, token, "batch", key="k", requests=requests) == first
    assert content(db) == "x"


def test_an_item_with_a_hostile_user_does_not_end_a_batch_with_a_key(
    db: Connection, mint: Mint
) -> None:
    # Nothing a compressor could make small enough for an index.
    hostile = "".join(chr(0x20000 + 131 * number % 40_000) for number in range(3000))
    requests = [
        {"op": APPEND, "addition": "x", "user_id": "u"},
        {"op": APPEND, "addition": "x", "user_id": hostile},
        {"op": APPEND, "addition": "x", "user_id": ["u"]},
        {"op": APPEND, "addition": "x", "user_id": ""},
    ]
    results = through_api(db, mint(namespace="main"), "batch", key="k", requests=requests)[
        "results"
    ]
    assert [result["status"] for result in results] == [200, 422, 400, 422]
    ((users,),) = db.execute("select user_ids from loom.idempotency").fetchall()
    assert "u" in users
    assert hostile not in users


def test_a_token_that_ended_gets_no_stored_answer(db: Connection, mint: Mint, clock: Clock) -> None:
    clock.set(NOON)
    token = mint(namespace="main", ttl_seconds=60)
    through_api(db, token, APPEND, key="k", addition="line")
    clock.advance(seconds=60)
    with refused(db, "LM301"):
        through_api(db, token, APPEND, key="k", addition="line")


def test_a_request_nested_deeper_than_64_is_refused_under_a_key(services: Connection) -> None:
    """To be told from others, each list and object in it is looked at with all that it holds."""
    for depth, reason in ((63, "must be a string"), (64, "is nested deeper than 64")):
        value: Any = "x"
        for _ in range(depth):
            value = [value]
        request = {"org": "acme", "namespace": "main", "addition": value}
        with acting_as(services, "loom_test_writer"), refused(services, "LM001") as refusal:
            execute(services, APPEND, key="k", **request)
        assert refusal.detail["reason"] == reason

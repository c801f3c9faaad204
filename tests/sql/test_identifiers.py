"""Ids and keys: how long they may be, and that every character of them is plain data."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest

from tests.calls import mint_token, operate, refused
from tests.sql.doors import batch, through_api, wm
from tests.sql.requests import IDENTIFIERS, VALID
from tests.sql.test_request_shape import ACCEPTED
from tests.sql.texts import FAMILY, UNITS, exactly

Connection = psycopg.Connection[Any]

IDS = [
    (op, field)
    for op, fields in ACCEPTED.items()
    for field in fields
    if field in IDENTIFIERS and field != "block_key"
]
COLLIDING = [
    *(
        "a",
        "A",
        "a%",
        "a_",
        "%",
        "_",
        "a\\",
        "a:b",
        "a.b",
        "a-b",
        "-a",
        "--",
        "a ",
        " a",
        "ab",
        "**",
    ),
    *(
        "a/b",
        "a'b",
        'a"b',
        "a;--",
        "a\nb",
        "a\tb",
        "{}",
        "null",
        "ａ",
        "á",
        "a\u0301",
        "😀",
        FAMILY,
    ),
    *("ß", "ss", "SS", "İ", "i\u0307", "\u200b", "a\u200b", "$1", "${a}"),
]


def request_for(op: str, field: str, value: str) -> dict[str, Any]:
    request = {**VALID[op], field: value}
    if op == "token.mint" and field == "session_id":
        request["read_user_id"] = "u"
    return request


@pytest.mark.parametrize(("op", "field"), IDS)
def test_an_id_has_at_most_two_hundred_characters(db: Connection, op: str, field: str) -> None:
    if op == "working_memory.replace":
        wm(db, "set", content="old", block_key="live", **{"agent": None, field: exactly(200)})
    operate(db, op, **request_for(op, field, exactly(200)))
    with refused(db, "LM406") as refusal:
        operate(db, op, **request_for(op, field, exactly(201)))
    expected = {"what": field, "limit": 200, "value": 201, "unit": "characters"}
    assert refusal.detail == expected


@pytest.mark.parametrize(("op", "field"), IDS)
def test_an_id_has_at_most_256_bytes(db: Connection, op: str, field: str) -> None:
    if op == "working_memory.replace":
        wm(db, "set", content="old", block_key="live", **{"agent": None, field: "😀" * 64})
    operate(db, op, **request_for(op, field, "😀" * 64))
    with refused(db, "LM406") as refusal:
        operate(db, op, **request_for(op, field, "😀" * 64 + "x"))
    assert refusal.detail == {"what": field, "limit": 256, "value": 257, "unit": "bytes"}


@pytest.mark.parametrize(("op", "field"), IDS)
def test_an_id_is_never_empty(db: Connection, op: str, field: str) -> None:
    with refused(db, "LM406") as refusal:
        operate(db, op, **request_for(op, field, ""))
    assert (refusal.detail["what"], refusal.detail["value"]) == (field, 0)


@pytest.mark.parametrize("verb", ["set", "append", "replace", "delete", "get"])
@pytest.mark.parametrize("unit", UNITS.values(), ids=UNITS)
def test_a_block_key_has_one_to_eighty_characters(db: Connection, verb: str, unit: str) -> None:
    request = {**VALID[f"working_memory.{verb}"], "block_key": exactly(80, unit)}
    wm(db, "set", agent=None, content="old", block_key=exactly(80, unit))
    operate(db, f"working_memory.{verb}", **request)
    for key in (exactly(81, unit), ""):
        with refused(db, "LM406") as refusal:
            operate(db, f"working_memory.{verb}", **{**request, "block_key": key})
        assert refusal.detail == {
            "what": "block_key",
            "limit": 80,
            "value": len(key),
            "unit": "characters",
        }


def test_the_longest_ids_and_key_together_fit_the_index(db: Connection) -> None:
    # Distinct characters: what a compressor cannot make small.
    longest = "".join(chr(0x20000 + 97 * number) for number in range(64))
    ids = dict.fromkeys(("namespace", "agent", "user_id", "session_id", "run_id"), longest)
    key = "".join(chr(0x20000 + 89 * number) for number in range(80))
    wm(db, "set", org=longest, content="x", block_key=key, **ids)
    assert wm(db, "get", org=longest, block_key=key, **ids)["content"] == "x"


@pytest.mark.parametrize(
    "field", ["org", "namespace", "agent", "user_id", "session_id", "run_id", "block_key"]
)
def test_o59_o61_ids_that_look_alike_never_meet(db: Connection, field: str) -> None:
    for number, value in enumerate(COLLIDING):
        wm(db, "set", content=f"text {number}", **{field: value})
    for number, value in enumerate(COLLIDING):
        assert wm(db, "get", **{field: value})["content"] == f"text {number}"
        if field != "block_key":
            items = wm(db, "list", **{field: value})["items"]
            assert [item[field] for item in items] == [value]
            rendered = wm(db, "render", layered=True, **{field: value})
            assert [block["block_key"] for block in rendered["blocks"]] == ["scratchpad"]
            assert f"text {number}<" in rendered["text"]
    for value in COLLIDING[::2]:
        wm(db, "delete", **{field: value})
    left = [wm(db, "get", **{field: value})["found"] for value in COLLIDING]
    assert left == [number % 2 == 1 for number in range(len(COLLIDING))]


@pytest.mark.parametrize("org", ["a", "a%", "a_", "A", "a:b", "😀"])
def test_o61_a_token_of_one_org_finds_nothing_of_another_with_a_name_like_it(
    db: Connection, org: str
) -> None:
    others = [name for name in ("a", "a%", "a_", "A", "a:b", "😀") if name != org]
    for other in others:
        wm(db, "set", org=other, agent=None, content="other's")
        mint_token(db, org=other, role="writer", namespace="main", label="other's")
    token = mint_token(db, org=org, role="admin")
    assert through_api(db, token, "working_memory.get", namespace="main")["found"] is False
    assert through_api(db, token, "working_memory.list", namespace="main")["items"] == []
    assert through_api(db, token, "working_memory.render", namespace="main")["text"] == ""
    assert through_api(db, token, "namespace.list")["items"] == []
    assert through_api(db, token, "namespace.get", namespace="main")["found"] is False
    listed = through_api(db, token, "token.list")["items"]
    assert [item["token_id"] for item in listed] == [token.answer["token_id"]]
    deleted = through_api(db, token, "working_memory.delete", namespace="main")
    assert deleted["version"] is None
    through_api(db, token, "working_memory.set", namespace="main", content="own")
    for other in others:
        assert wm(db, "get", org=other, agent=None)["content"] == "other's"


def test_an_id_over_its_limit_is_refused_inside_a_batch_too(db: Connection) -> None:
    item = {"op": "working_memory.get", "namespace": "main", "user_id": exactly(201)}
    (result,) = batch(db, item, org="acme")
    assert result["status"] == 422
    assert result["error"]["what"] == "user_id"


@pytest.mark.parametrize("dash", ["agent", "user_id", "session_id", "run_id"])
def test_a_dash_means_not_set_at_this_level(db: Connection, dash: str) -> None:
    wm(db, "set", agent=None, content="x")
    assert wm(db, "get", **{"agent": None, dash: "-"})["content"] == "x"

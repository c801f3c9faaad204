"""profile_schema.set: what is stored and answered, the hash, the revision, and who may.

What is taken and refused stands in tests.sql.profile_schemas; tests.http.test_profile_schema sends
the same over the wire, test_schema_pattern holds patterns to RE2.
"""

from __future__ import annotations

import copy
import time
from collections.abc import Callable
from typing import Any

import psycopg
import pytest
from psycopg.types.json import Jsonb

from tests.calls import Answer, Token, operate, refused
from tests.databases import Clock, Database
from tests.races import Rival, wait_until_blocked
from tests.sql.canonical_json import canonical
from tests.sql.doors import DOORS, as_service, batch, through_api
from tests.sql.facts import NOON, audited
from tests.sql.profile_schemas import (
    ACCEPTED,
    EXAMPLE,
    REFUSED,
    Schema,
    array,
    boolean,
    item,
    many,
    number,
    schema,
    text,
)
from tests.sql.texts import sha256

Connection = psycopg.Connection[Any]
Mint = Callable[..., Token]

PLACE: Answer = {"org": "acme", "namespace": "main"}

WRITTEN = '{"type":"object","properties":{"p":{%s}}}'


def put(conn: Connection, json_schema: Any, **place: Any) -> Answer:
    return operate(conn, "profile_schema.set", **{**PLACE, **place}, json_schema=json_schema)


def raw(conn: Connection, json_schema: str) -> Answer:
    """Sets a schema that is written as text, for numbers that Python would write otherwise."""
    row = conn.execute(
        "select loom.profile_schema_set("
        "jsonb_build_object('org', 'acme', 'namespace', 'main', 'json_schema', %s::jsonb))",
        (json_schema,),
    ).fetchone()
    assert row is not None
    return row[0]  # type: ignore[no-any-return]


def revision(conn: Connection, namespace: str = "main") -> int:
    row = conn.execute(
        "select schema_rev from loom.profile_schema where org = 'acme' and namespace = %s",
        (namespace,),
    ).fetchone()
    assert row is not None
    return int(row[0])


def hash_of(json_schema: Schema) -> str:
    """The hash that is to be answered: of the properties without titles."""
    properties = copy.deepcopy(json_schema["properties"])
    for one in properties.values():
        one.pop("title", None)
        one.get("items", {}).pop("title", None)
    return sha256(canonical(properties))


@pytest.mark.parametrize("name", ACCEPTED)
def test_a_schema_of_the_subset_is_answered_as_it_was_sent(db: Connection, name: str) -> None:
    answer = put(db, ACCEPTED[name])
    assert answer["json_schema"] == ACCEPTED[name]
    assert answer["schema_sha256"] == hash_of(ACCEPTED[name])


@pytest.mark.parametrize(
    ("wrong", "path", "reason"),
    REFUSED,
    ids=[f"{n}-{case[1]}"[:60] for n, case in enumerate(REFUSED)],
)
def test_o25_any_other_is_refused_with_its_place_and_why(
    db: Connection, wrong: Any, path: str, reason: str
) -> None:
    with refused(db, "LM405") as refusal:
        put(db, wrong)
    assert refusal.detail == {"path": path, "reason": reason}
    assert refusal.message == "The profile schema is not valid."
    assert refusal.hint


@pytest.mark.parametrize("door", DOORS)
def test_every_door_refuses_alike(db: Connection, door: str) -> None:
    with refused(db, "LM405") as refusal:
        DOORS[door](db, "profile_schema.set", **PLACE, json_schema={**EXAMPLE, "required": []})
    assert refusal.detail["path"] == "$.required"


def test_in_a_batch_the_error_is_the_item_s(db: Connection) -> None:
    request = {"op": "profile_schema.set", **PLACE}
    first, second = batch(db, {**request, "json_schema": []}, {**request, "json_schema": EXAMPLE})
    assert (first["status"], first["error"]["code"]) == (422, "PROFILE_SCHEMA_INVALID")
    assert (first["error"]["path"], second["status"]) == ("$", 200)


@pytest.mark.parametrize("request_json", [{}, {"json_schema": None}])
def test_there_must_be_a_schema(db: Connection, request_json: Answer) -> None:
    with refused(db, "LM001") as refusal:
        operate(db, "profile_schema.set", **PLACE, **request_json)
    assert refusal.detail == {"field": "json_schema", "reason": "is required"}


def test_a_schema_is_answered_as_it_stands(db: Connection, clock: Clock) -> None:
    clock.set(NOON)
    answer = put(db, EXAMPLE)
    assert answer.pop("updated_by").startswith("operator:")
    assert answer == {
        "found": True,
        "json_schema": EXAMPLE,
        "schema_sha256": hash_of(EXAMPLE),
        "updated_at": "2026-03-01T12:00:00.000000Z",
    }


def test_it_replaces_the_former_one_of_its_namespace_alone(db: Connection) -> None:
    for namespace in ("main", "other"):
        put(db, EXAMPLE, namespace=namespace)
    put(db, schema(boolean()))
    shown = operate(db, "profile_schema.get", **PLACE)
    assert shown["json_schema"] == schema(boolean())
    other = operate(db, "profile_schema.get", **{**PLACE, "namespace": "other"})
    assert other["json_schema"] == EXAMPLE
    assert (revision(db), revision(db, "other")) == (2, 1)
    with refused(db, "LM405"):
        put(db, {})
    assert operate(db, "profile_schema.get", **PLACE) == shown


# The hash and the revision


def test_titles_and_the_order_of_properties_change_no_hash(db: Connection) -> None:
    plain = schema(a=array(item(minLength=1)), b=text(enum=["x", "y"]), title=text())
    first = put(db, plain)
    titled = schema(
        title=text(title="t"),
        b=text(title="", enum=["x", "y"]),
        a=array(item(title="t", minLength=1), title="u"),
    )
    second = put(db, {**titled, "title": "all", "additionalProperties": False})
    assert second["schema_sha256"] == first["schema_sha256"]
    assert second["json_schema"]["properties"]["a"]["title"] == "u"
    assert revision(db) == 1


@pytest.mark.parametrize(
    "other",
    [
        schema(a=text(description="other"), title=text()),
        schema(a=text(maxLength=9), title=text()),
        schema(a=text()),
        schema(a=text(), title=text(), b=text()),
        schema(a=text(), titles=text()),
        schema(a=array(item()), title=text()),
        schema(a=number(), title=text()),
    ],
)
def test_anything_else_changes_it(db: Connection, other: Schema) -> None:
    before = put(db, schema(a=text(), title=text()))["schema_sha256"]
    assert put(db, other)["schema_sha256"] != before
    assert revision(db) == 2


def test_numbers_that_are_equal_hash_alike(db: Connection) -> None:
    written = [
        WRITTEN.replace("%s", f'"type":"number","description":"d","minimum":{n}')
        for n in ("100", "1e2", "100.000", "1.0E+2")
    ]
    assert len({raw(db, each)["schema_sha256"] for each in written}) == 1
    assert revision(db) == 1


def test_a_schema_that_comes_back_has_its_hash_again_and_a_new_revision(db: Connection) -> None:
    one, other = EXAMPLE, schema(boolean())
    hashes = [put(db, each)["schema_sha256"] for each in (one, other, one, one, other)]
    assert hashes == [hash_of(each) for each in (one, other, one, one, other)]
    assert revision(db) == 4


def test_after_a_clear_the_revision_goes_on(db: Connection) -> None:
    put(db, EXAMPLE)
    operate(db, "profile_schema.clear", **PLACE)
    put(db, EXAMPLE)
    assert revision(db) == 3


def test_a_schema_set_anew_is_waited_for_no_longer(db: Connection) -> None:
    put(db, EXAMPLE)
    for again in (EXAMPLE, schema(boolean())):
        db.execute("update loom.profile_schema set attempts = 3, wait_until = now() + '1 hour'")
        put(db, again)
        row = db.execute("select attempts, wait_until from loom.profile_schema").fetchone()
        assert row == (0, None)


def test_of_two_sets_the_last_stays_and_each_raises_the_revision(database: Database) -> None:
    first, second, observer = (database.connect() for _ in range(3))
    put(observer, schema(text()))
    with first.transaction():
        put(first, schema(boolean()))
        rival = Rival(second, lambda: put(second, EXAMPLE))
        wait_until_blocked(observer, rival, by=first.info.backend_pid)
    assert rival.result()["schema_sha256"] == hash_of(EXAMPLE)
    assert operate(observer, "profile_schema.get", **PLACE)["json_schema"] == EXAMPLE
    assert revision(observer) == 3


def test_of_two_first_sets_the_second_counts_on(database: Database) -> None:
    first, second, observer = (database.connect() for _ in range(3))
    operate(observer, "namespace.update", **PLACE)
    with first.transaction():
        put(first, schema(boolean()))
        rival = Rival(second, lambda: put(second, EXAMPLE))
        wait_until_blocked(observer, rival, by=first.info.backend_pid)
    rival.result()
    assert revision(observer) == 2
    assert operate(observer, "profile_schema.get", **PLACE)["json_schema"] == EXAMPLE


# Hostile documents


@pytest.mark.parametrize("hostile", ["1e100000", "-1e100000", "1e-16000", "1e-1101", "9e999"])
@pytest.mark.parametrize(
    "place",
    [
        '{"type":"object","properties":{"p":{"type":"number","description":"d","minimum":%s}}}',
        '{"type":"object","properties":{"p":{"type":"integer","description":"d","maximum":%s}}}',
        '{"type":"object","properties":{"p":{"type":"string","description":"d","minLength":%s}}}',
        '{"type":"object","properties":{"p":{"type":"string","description":"d","enum":[%s]}}}',
        '{"type":"object","properties":{"p":{"type":"string","description":"d","pattern":%s}}}',
        '{"type":"object","properties":{"p":{"type":"string","description":%s}}}',
        '{"type":"object","properties":{"p":{"type":%s,"description":"d"}}}',
        '{"type":"object","properties":{"p":{"type":"boolean","description":"d","default":%s}}}',
        '{"type":"object","properties":{"p":%s}}',
        '{"type":"object","properties":%s}',
        '{"type":%s,"properties":{}}',
        '{"type":"object","properties":{},"x":%s}',
        '{"type":"object","properties":{},"additionalProperties":%s}',
        "%s",
    ],
)
def test_a_short_number_that_prints_long_is_refused_without_printing_it(
    db: Connection, place: str, hostile: str
) -> None:
    started = time.process_time()
    with refused(db, "LM405") as refusal:
        raw(db, place.replace("%s", hostile))
    assert len(str(refusal.detail)) < 300
    assert time.process_time() - started < 1


def test_the_largest_double_is_a_number_like_others(db: Connection) -> None:
    largest = 1.7976931348623157e308
    answer = put(db, schema(number(minimum=-largest, maximum=largest)))
    assert float(answer["json_schema"]["properties"]["p"]["maximum"]) == largest


def test_a_number_next_to_zero_is_kept_as_zero(db: Connection) -> None:
    written = WRITTEN.replace("%s", '"type":"number","description":"d","minimum":1e-1000')
    assert raw(db, written)["json_schema"]["properties"]["p"]["minimum"] == 0


@pytest.mark.parametrize(
    "make",
    [
        lambda: many(200_000, boolean()),
        lambda: schema(text(enum=[str(n) for n in range(200_000)])),
        lambda: schema(text(enum=["a"] * 200_000)),
        lambda: schema(text(pattern="(" * 1_000_000)),
        lambda: schema(text(pattern="[" * 200)),
        lambda: schema(text(pattern="(" * 100 + "a" + ")" * 99)),
        lambda: schema(text(description=" " * 1_000_000)),
        lambda: schema(text(description="x" * 1_000_000)),
        lambda: schema(text(**{f"k{n}": n for n in range(100_000)})),
        lambda: {**EXAMPLE, "k" * 1_000_000: 1},
        lambda: schema(**{"n" * 1_000_000: boolean()}),
    ],
)
def test_a_wide_document_is_refused_at_once(database: Database, make: Callable[[], Schema]) -> None:
    conn = database.connect()
    conn.execute("set statement_timeout = '3s'")
    with refused(conn, "LM405") as refusal:
        put(conn, make())
    assert len(refusal.detail["path"]) <= 200


def test_a_deep_document_is_refused_where_it_leaves_the_shape(db: Connection) -> None:
    deep = "[" * 5000 + "]" * 5000
    with refused(db, "LM405") as refusal:
        raw(db, WRITTEN.replace("%s", f'"type":"array","description":"d","items":{deep}'))
    assert refusal.detail["path"] == "$.properties.p.items"


def test_a_refusal_repeats_nothing_but_the_path(db: Connection) -> None:
    mark = "s3cret"
    for wrong in (
        schema({"type": mark, "description": mark}),
        schema(text(description=[mark])),
        schema(text(pattern=f"(?={mark})")),
        schema(text(pattern=f"[z-a]{mark}")),
        schema(text(enum=[mark, mark])),
        schema(text(enum=[mark], maxLength=1)),
        schema(number(minimum=mark)),
        {**EXAMPLE, "type": mark},
    ):
        with refused(db, "LM405") as refusal:
            put(db, wrong)
        assert mark not in f"{refusal.message} {refusal.hint} {Jsonb(refusal.detail).obj}"


# Who may


def test_it_is_audited_without_the_schema(db: Connection, mint: Mint) -> None:
    token = mint(role="admin")
    answer = through_api(db, token, "profile_schema.set", namespace="main", json_schema=EXAMPLE)
    assert answer["updated_by"] == f"token:{token.answer['token_id']}"
    with refused(db, "LM405"):
        put(db, {})
    assert audited(db, "profile_schema.set") == [
        {"namespace": "main", "schema_sha256": hash_of(EXAMPLE)}
    ]


@pytest.mark.parametrize("role", ["viewer", "writer"])
def test_it_takes_an_admin(services: Connection, mint: Mint, role: str) -> None:
    request: Answer = {"namespace": "main", "json_schema": EXAMPLE}
    with refused(services, "LM302") as refusal:
        through_api(services, mint(role=role), "profile_schema.set", **request)
    assert refusal.detail == {"reason": "role", "needed": "admin"}
    with refused(services, "42501"):
        as_service(services, f"loom_test_{role}", "profile_schema.set", org="acme", **request)


def test_an_admin_of_one_namespace_sets_that_of_no_other(db: Connection, mint: Mint) -> None:
    token = mint(role="admin", namespace="main")
    assert through_api(db, token, "profile_schema.set", json_schema=EXAMPLE)["found"]
    with refused(db, "LM302"):
        through_api(db, token, "profile_schema.set", namespace="other", json_schema=EXAMPLE)

"""Database, functions, comments, request types, page and served OpenAPI say the same.

They are held to each other pair by pair, and ranges and required fields to what the functions do.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

import psycopg
import pytest

from loom.app.errors import BY_SQLSTATE
from loom.app.openapi import description
from loom.sql_tree import SqlTree
from loom.types import OPERATIONS, Operation
from scripts.reference.comments import read_comments
from scripts.reference.operations import function_of, operations_page
from tests.calls import Answer, operate
from tests.databases import Database
from tests.docs.page import operations
from tests.docs.sources import may_raise, raised_fields
from tests.http.api import running
from tests.sql.doors import wm
from tests.sql.requests import VALID, woven

Connection = psycopg.Connection[Any]
Json = dict[str, Any]

OPENAPI = description(OPERATIONS)
COMMENTS = read_comments(SqlTree.read())
TOLD = operations(operations_page())

# What every operation may answer, whatever its comment says: `_enter` is the first it calls.
BY_ENTER = set(re.findall(r"LM\d{3}", COMMENTS["_enter"].text))

NEVER = {
    # It asks the function that all writes ask, with a length of 0.
    ("working_memory.delete", "LM401"),
    # They ask the function that all edits ask, without an if_match_sha256.
    ("memory.pin", "LM201"),
    ("memory.unpin", "LM201"),
    ("memory.label", "LM201"),
    # It asks about a row that is not current, whose lock does not count.
    ("memory.restore", "LM205"),
    # Those of its items, which its comment speaks of as such.
    ("batch", "LM004"),
    ("batch", "LM206"),
}
"""What the text of the functions lets happen, and what they call it with does not."""

FOR_THE_API_ALONE = {"profile.activity_record", "model.admit", "model.record"}
"""Operations that the API calls by itself: no client has a path, a type or a page for them."""

RECEIPTS = {
    name: set(re.findall(r"\w+", listed))
    for comment in COMMENTS.values()
    for name, listed in re.findall(r"\b((?:row )?receipt): ([^.;]*)", comment.section("Returns"))
}
"""What a comment means where it speaks of a receipt without listing its fields."""

each_operation = pytest.mark.parametrize("operation", OPERATIONS.values(), ids=lambda each: each.op)


def schema(name: str) -> Json:
    """A type of the OpenAPI description."""
    return OPENAPI["components"]["schemas"][name]  # type: ignore[no-any-return]


def request_schema(operation: Operation) -> Json:
    return schema(operation.request.__name__)


def one_of(shape: Json) -> Json:
    """What a field takes, leaving null aside."""
    options = [each for each in shape.get("anyOf", [shape]) if each.get("type") != "null"]
    assert len(options) == 1, shape
    return options[0]  # type: ignore[no-any-return]


def test_comments_in_the_files_are_those_of_the_database(db: Connection) -> None:
    rows = db.execute(
        "select proname::text, obj_description(oid, 'pg_proc') from pg_proc"
        " where pronamespace = 'loom'::regnamespace"
    ).fetchall()
    in_migrations = {name for script in SqlTree.read().all_migrations for name in script.creates}
    # What an extension adds is there where the server has it.
    vectors = db.execute("select to_regclass('loom.embedding') is not null").fetchone() == (True,)
    added = [script for each in SqlTree.read().additions for script in each.functions]
    lacking = set() if vectors else {name for script in added for name in script.creates}
    in_files = {name: comment.text for name, comment in COMMENTS.items() if name not in lacking}
    assert in_files == {name: text for name, text in rows if name not in in_migrations}


def test_an_operation_is_a_row_a_function_a_type_a_page_and_a_path(db: Connection) -> None:
    rows = db.execute("select op, function_name from loom.operation").fetchall()
    functions = dict(rows)
    assert all("for the API alone" in COMMENTS[functions.pop(op)].about for op in FOR_THE_API_ALONE)
    assert functions == {op: function_of(operation) for op, operation in OPERATIONS.items()}
    assert list(TOLD) == list(OPERATIONS)
    posted = {
        methods["post"]["operationId"]: path
        for path, methods in OPENAPI["paths"].items()
        if "post" in methods and path.startswith("/v1/")
    }
    assert posted == {op: operation.path for op, operation in OPERATIONS.items()}
    assert posted == {op: told.path for op, told in TOLD.items()}


def test_the_description_that_is_served_is_the_one_looked_at_here(database: Database) -> None:
    if not database.cluster.own:
        pytest.skip("the API's login may have a password here")
    with running(database) as api:
        assert api.get("/v1/openapi.json").json() == OPENAPI


@each_operation
def test_role_mode_and_fields_are_the_same_everywhere(db: Connection, operation: Operation) -> None:
    row = db.execute(
        "select role, mode, identity, fields from loom.operation where op = %s", (operation.op,)
    ).fetchone()
    assert row is not None
    role, mode, identity, own = row
    told = TOLD[operation.op]
    posted = OPENAPI["paths"][operation.path]["post"]
    assert (role, mode) == (operation.role, operation.mode) == (told.role, told.mode)
    assert operation.role in posted["description"]
    keyed = "Idempotency-Key" in [each["name"] for each in posted["parameters"]]
    assert keyed == (mode == "write")
    assert set(identity) == set(operation.identity) == told.identity
    assert set(own) == set(told.request)
    assert {*identity, *own} == set(request_schema(operation)["properties"])
    assert request_schema(operation)["additionalProperties"] is False
    assert set(request_schema(operation).get("required", ())) == told.required


@each_operation
def test_the_comment_names_the_fields_of_the_request(operation: Operation) -> None:
    named = dict(fields_in(COMMENTS[function_of(operation)].section("Request")))
    own = set(TOLD[operation.op].request)
    if named.keys() == {"no"}:  # "no fields beside …"
        assert own == set()
        return
    assert named.keys() - set(operation.identity) == own
    starred = {name for name, (star, _) in named.items() if star}
    assert starred & own == TOLD[operation.op].required
    for name, (_, note) in named.items():
        kind = TOLD[operation.op].request.get(name, note)
        for range_ in re.findall(r"\d+ to \d+", note):
            assert f", {range_}" in kind, name
        for most in re.findall(r"(\d+)(?: \w+)? at most", note):
            assert f" to {most} " in kind, name


def fields_in(text: str) -> Iterator[tuple[str, tuple[bool, str]]]:
    """Each field of a comment's `Request:`, whether it has a star, and its note."""
    depth = 0
    parts = [""]
    for sign in text.rstrip("."):
        depth += (sign in "([{") - (sign in ")]}")
        if sign == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += sign
    for part in parts:
        match = re.match(r"\s*(\w+\*?(?: or \w+\*?)*)\s*(.*)", part, re.DOTALL)
        assert match is not None, part
        for name in match[1].split(" or "):
            yield name.rstrip("*"), (name.endswith("*"), match[2])


@each_operation
def test_the_comment_names_the_fields_of_the_answer(operation: Operation) -> None:
    told = TOLD[operation.op]
    text = COMMENTS[function_of(operation)].section("Returns")
    words = set(re.findall(r"\w+", text))
    named = set(words)
    # Where the answer names whose data it is, "identity" says so too.
    if "identity" in words:
        named |= set(operation.identity)
    for receipt in re.findall(r"\b(?:row )?receipt\b", text):
        named |= RECEIPTS[receipt]
    assert told.answer <= named
    answer = schema(operation.answer.__name__)
    assert told.answer == set(answer["properties"])
    assert told.always == set(answer.get("required", ()))
    known = set(nested(answer)) | set(request_schema(operation)["properties"])
    known |= set(choices(answer))
    assert {word for word in words if "_" in word} <= known


def nested(shape: Json) -> Iterator[str]:
    """The names of all fields in a type, inner ones too."""
    for name, field in shape.get("properties", {}).items():
        yield name
        for reference in re.findall(r"'\$ref': '#/components/schemas/(\w+)'", repr(field)):
            yield from nested(schema(reference))


def choices(shape: Json) -> Iterator[str]:
    """The words that fields of a type choose from, those of inner ones too."""
    for field in shape.get("properties", {}).values():
        for listed in re.findall(r"'enum': \[([^]]*)\]", repr(field)):
            yield from re.findall(r"'(\w+)'", listed)
        for reference in re.findall(r"'\$ref': '#/components/schemas/(\w+)'", repr(field)):
            yield from choices(schema(reference))


@each_operation
def test_the_comment_lists_the_errors_that_the_function_can_raise(operation: Operation) -> None:
    function = function_of(operation)
    listed = set(re.findall(r"LM\d{3}", COMMENTS[function].section("Errors")))
    possible = may_raise(function) - {code for op, code in NEVER if op == operation.op}
    assert listed <= possible
    assert possible <= listed | BY_ENTER
    assert {BY_SQLSTATE[sqlstate].code for sqlstate in listed} == TOLD[operation.op].errors


@each_operation
def test_the_openapi_has_an_answer_for_every_error_of_an_operation(operation: Operation) -> None:
    responses = OPENAPI["paths"][operation.path]["post"]["responses"]
    for sqlstate in may_raise(function_of(operation)) | BY_ENTER:
        error = BY_SQLSTATE[sqlstate]
        if error.code != "UNKNOWN_OPERATION":
            assert responses[str(error.status)]["$ref"].endswith(f"/Error{error.status}"), error
            shape = OPENAPI["components"]["responses"][f"Error{error.status}"]
            assert error.code in repr(shape)


def test_the_fields_of_an_error_are_in_the_error_table() -> None:
    unknown = {
        (function, sqlstate, name)
        for function, sqlstate, names in raised_fields()
        for name in names - set(BY_SQLSTATE[sqlstate].fields)
    }
    assert unknown == set()


def test_what_is_read_from_the_functions_is_what_is_there(db: Connection) -> None:
    bodies = db.execute(
        "select prosrc from pg_proc where pronamespace = 'loom'::regnamespace"
    ).fetchall()
    assert len(list(raised_fields())) == sum(body.count("errcode = 'LM") for (body,) in bodies)
    assert may_raise("_no_such_function") == frozenset()


@pytest.fixture
def live(db: Connection) -> Connection:
    """`db` with what the valid requests need."""
    wm(db, "set", agent=None, content="old", block_key="live")
    woven(db)
    return db


def attempt(db: Connection, op: str, request: Mapping[str, Any]) -> Answer:
    """What a request is refused for: the fields of an LM error, empty when it is not refused."""
    try:
        with db.transaction(force_rollback=True):
            operate(db, op, **request)
    except psycopg.Error as error:
        assert (error.diag.sqlstate or "").startswith("LM"), error
        fields: Answer = {"sqlstate": error.diag.sqlstate}
        if error.diag.message_detail:
            fields |= json.loads(error.diag.message_detail)
        return fields
    return {}


@each_operation
def test_a_field_is_required_just_when_the_types_say_so(
    live: Connection, operation: Operation
) -> None:
    schema = request_schema(operation)
    required = set(schema.get("required", ()))
    valid = VALID[operation.op]
    assert required <= set(valid)
    for name in required:
        without = [{k: v for k, v in valid.items() if k != name}]
        if one_of(schema["properties"][name]).keys() & {"type", "enum", "anyOf"}:
            without.append({**valid, name: None})  # else null is a value like any other
        for request in without:
            refusal = attempt(live, operation.op, request)
            assert (refusal.get("sqlstate"), refusal.get("field")) == ("LM001", name)
    assert attempt(live, operation.op, valid).get("sqlstate") not in ("LM001", "LM003")


@each_operation
def test_a_range_in_the_types_is_the_range_that_the_function_takes(
    live: Connection, operation: Operation
) -> None:
    for name, shape in request_schema(operation)["properties"].items():
        field = one_of(shape)
        for value in beyond(field):
            refusal = attempt(live, operation.op, {**VALID[operation.op], name: value})
            about = refusal.get("field") or refusal.get("what")
            if not refusal.get("sqlstate", "").startswith("LM1"):  # first there must be a row
                assert about == name, f"{name} of {len(str(value))} signs: {refusal}"
        for value in just_within(field):
            refusal = attempt(live, operation.op, {**VALID[operation.op], name: value})
            assert refusal.get("what") != name, f"{name}={value!r}: {refusal}"
            assert "must be a whole number from" not in str(refusal), f"{name}={value!r}: {refusal}"


def beyond(field: Json) -> Iterator[Any]:
    """Values one step outside the range of a field."""
    if "minimum" in field:
        yield field["minimum"] - 1
    if "maximum" in field:
        yield field["maximum"] + 1
    if field.get("minLength"):
        yield "x" * (field["minLength"] - 1)
    if "maxLength" in field:
        yield "x" * (field["maxLength"] + 1)
    if "maxItems" in field:
        yield samples(field["items"], field["maxItems"] + 1)
    if field.get("minItems"):
        yield samples(field["items"], field["minItems"] - 1)


def just_within(field: Json) -> Iterator[Any]:
    """The ends of the range of a field."""
    yield from (field[name] for name in ("minimum", "maximum") if name in field)
    yield from ("x" * field[name] for name in ("minLength", "maxLength") if field.get(name))


def samples(field: Json, count: int) -> list[Any]:
    """So many things of a field's type, each another one."""
    kind = field.get("type")
    return [f"x{n}" if kind == "string" else n if kind == "integer" else {} for n in range(count)]

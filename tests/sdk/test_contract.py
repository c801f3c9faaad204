"""The SDK's types and errors are the server's: operations, fields, ids, roles, codes."""

from __future__ import annotations

from typing import Any

import psycopg

from loom.app.activity import RECORD
from loom.app.errors import ERRORS
from loom.app.model_calls import ADMIT
from loom.app.model_calls import RECORD as MODEL_RECORD
from loom.errors import BY_CODE, Unreachable
from loom.types import OPERATIONS

Connection = psycopg.Connection[Any]


def test_the_catalogue_is_the_databases(db: Connection) -> None:
    rows = db.execute("select op, role, mode, identity, fields from loom.operation").fetchall()
    in_database = {
        op: (role, mode, set(identity), set(own)) for op, role, mode, identity, own in rows
    }
    # The API's own: they are no caller's to know.
    assert in_database.pop(RECORD)[:2] == ("viewer", "write")
    assert in_database.pop(ADMIT)[:2] == ("viewer", "read")
    assert in_database.pop(MODEL_RECORD)[:2] == ("viewer", "write")
    assert in_database == {
        op: (
            operation.role,
            operation.mode,
            set(operation.identity),
            set(operation.request.__struct_fields__) - set(operation.identity),
        )
        for op, operation in OPERATIONS.items()
    }


def test_every_operation_says_what_it_does() -> None:
    for operation in OPERATIONS.values():
        assert operation.summary.endswith(".")
        assert operation.request.__doc__
        assert operation.answer.__doc__


def test_every_code_of_the_server_has_a_class_and_no_class_is_left_over() -> None:
    assert set(BY_CODE) == {error.code for error in ERRORS} | {Unreachable.code}


def test_the_fields_of_a_code_are_attributes_of_its_class() -> None:
    for error in ERRORS:
        assert set(error.fields) <= set(BY_CODE[error.code].own_fields()), error.code

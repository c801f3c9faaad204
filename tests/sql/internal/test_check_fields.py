"""loom._check_fields: a request is an object of accepted fields, and nothing else."""

from __future__ import annotations

from typing import Any

import pytest
from psycopg.types.json import Jsonb

from tests.calls import Connection, refused


def check(db: Connection, request: Any, accepted: list[str] | None) -> Any:
    row = db.execute("select loom._check_fields(%s, %s)", (request, accepted)).fetchone()
    assert row is not None
    return row[0]


def test_accepted_fields_pass_whatever_they_hold(db: Connection) -> None:
    for request in ({}, {"a": 1}, {"a": None, "b": [{"c": 1}]}):
        assert check(db, Jsonb(request), ["a", "b"]) == request


@pytest.mark.parametrize("request_", [None, Jsonb(None), Jsonb([]), Jsonb("a"), Jsonb(1)], ids=str)
def test_what_is_no_object_is_refused(db: Connection, request_: Any) -> None:
    with refused(db, "LM001") as refusal:
        check(db, request_, ["a"])
    assert refusal.detail == {"field": None, "reason": "must be a JSON object"}


def test_the_first_field_that_is_not_accepted_is_named(db: Connection) -> None:
    for accepted in ([], ["a"]):
        with refused(db, "LM001") as refusal:
            check(db, Jsonb({"z": 1, "b": 2, "a": 3}), accepted)
        assert refusal.detail["field"] == ("b" if accepted else "a")


def test_where_nothing_says_what_is_accepted_nothing_is(db: Connection) -> None:
    for request in ({}, {"a": 1}):
        with refused(db, "LM001"):
            check(db, Jsonb(request), None)

"""profile_schema.get: the schema that is set, and nothing where none is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import psycopg
import pytest

from tests.calls import Answer, Token, operate, refused
from tests.sql.doors import through_api
from tests.sql.profile_schemas import EXAMPLE

Connection = psycopg.Connection[Any]
Mint = Callable[..., Token]

PLACE: Answer = {"org": "acme", "namespace": "main"}
NOTHING = {
    "found": False,
    **dict.fromkeys(("json_schema", "schema_sha256", "updated_by", "updated_at")),
}


def test_what_was_set_is_read(db: Connection) -> None:
    answer = operate(db, "profile_schema.set", **PLACE, json_schema=EXAMPLE)
    assert operate(db, "profile_schema.get", **PLACE) == answer


def test_where_no_schema_is_nothing_is_found(db: Connection) -> None:
    assert operate(db, "profile_schema.get", **PLACE) == NOTHING
    operate(db, "profile_schema.set", **PLACE, json_schema=EXAMPLE)
    operate(db, "profile_schema.clear", **PLACE)
    assert operate(db, "profile_schema.get", **PLACE) == NOTHING


@pytest.mark.parametrize("bounds", [{}, {"role": "viewer"}, {"read_user_id": "u"}])
def test_everyone_of_the_namespace_may_read_it(db: Connection, mint: Mint, bounds: Answer) -> None:
    operate(db, "profile_schema.set", **PLACE, json_schema=EXAMPLE)
    token = mint(namespace="main", **bounds)
    assert through_api(db, token, "profile_schema.get")["json_schema"] == EXAMPLE
    with refused(db, "LM302"):
        through_api(db, token, "profile_schema.get", namespace="other")


def test_other_orgs_and_namespaces_do_not_see_it(db: Connection) -> None:
    operate(db, "profile_schema.set", **PLACE, json_schema=EXAMPLE)
    for org, namespace in [("acme", "other"), ("zenith", "main")]:
        assert operate(db, "profile_schema.get", org=org, namespace=namespace) == NOTHING

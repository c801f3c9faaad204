"""Requests of tests that go through all operations, and who may send them."""

from __future__ import annotations

from psycopg.types.json import Jsonb

from tests.tenancy.orgs import OWN_FIELDS, Answer, Connection, of_others

SERVICES = {"loom_test_viewer": 1, "loom_test_writer": 2, "loom_test_admin": 3}
"""The services' logins with the rank of their roles."""

RANKS = {"viewer": 1, "writer": 2, "admin": 3}

FORGED = {"actor": "open", "role": "admin", "org": "acme"}
"""A `_caller` as loom.call lays it over a request, sent by someone else."""

NO_TOKEN = "00000000-0000-0000-0000-000000000000"


def operations(conn: Connection) -> list[tuple[str, str, list[str]]]:
    """Name, least role and identity fields of every operation."""
    return conn.execute("select op, role, identity from loom.operation order by op").fetchall()


def own_fields(op: str) -> list[Answer]:
    """Own fields of valid requests of an operation, one at least."""
    if op == "token.revoke":
        return [{"token_id": NO_TOKEN}]
    if op == "batch":
        return [{"requests": [{"op": "namespace.list"}]}]
    if op.startswith("looms."):
        return [each for own in OWN_FIELDS[op] for each in of_others(op, own, [])]
    return OWN_FIELDS[op]


def request_of(op: str, identity: list[str], **more: object) -> Answer:
    """A valid request in namespace n, with more fields."""
    where = {"namespace": "n"} if "namespace" in identity else {}
    return {**where, **own_fields(op)[0], **more}


def refusals_of(op: str) -> set[str]:
    """How a service's valid request may end, but for an answer, where there is nothing yet.

    An erasure and the profiles that are built are a user's, and no request here names one; reads
    and calls of models are the API's own business, and the database asks no model.
    """
    if op.startswith("user_profile."):
        return {"LM001"}
    apart = {
        "erasure.request": {"LM001"},
        "profile.structured": {"LM001"},
        "profile.structured_build": {"LM001"},
        "profile.activity_record": {"LM302"},
        "memory.ask": {"LM501"},
        "model.admit": {"LM302"},
        "model.record": {"LM302"},
    }
    return apart.get(op, {"LM101", "LM102", "LM103", "LM403"})


def execute(conn: Connection, op: str, request: Answer, key: str | None = None) -> Answer:
    """Runs an operation by `loom.execute`, as a service does."""
    row = conn.execute("select loom.execute(%s, %s, %s)", (op, Jsonb(request), key)).fetchone()
    assert row is not None
    return row[0]  # type: ignore[no-any-return]

"""The first writes into a namespace, many at once: one namespace comes of them, and no error."""

from __future__ import annotations

import pytest

from tests.calls import Answer, Token, call, mint_token, operate
from tests.concurrency.callers import (
    WRITER,
    Connection,
    Step,
    at_once,
    perform,
    step,
    while_open,
)
from tests.databases import Database

FIRST_WRITERS = 16


def _namespaces(conn: Connection, org: str) -> list[str]:
    rows = conn.execute("select name from loom.namespace where org = %s", (org,)).fetchall()
    return [name for (name,) in rows]


def _write(number: int, **fields: str) -> Step:
    return step("working_memory.set", content="x", block_key=f"block {number}", **fields)


def test_16_first_writes_make_one_namespace(acme: Database) -> None:
    outcomes = at_once(acme, WRITER, perform, [_write(n) for n in range(FIRST_WRITERS)])
    assert {outcome.sqlstate for outcome in outcomes} == {None}
    conn = acme.connect()
    assert _namespaces(conn, "acme") == ["dev"]
    blocks = operate(conn, "working_memory.list", org="acme", namespace="dev")["items"]
    assert len(blocks) == FIRST_WRITERS


def test_16_first_writes_of_one_block_make_one_namespace_and_one_block(acme: Database) -> None:
    append = step("working_memory.append", addition="x")
    outcomes = at_once(acme, WRITER, perform, [append] * FIRST_WRITERS)
    assert sorted(outcome.answer["version"] for outcome in outcomes) == list(range(1, 17))
    assert _namespaces(acme.connect(), "acme") == ["dev"]


def test_16_first_writes_by_tokens_make_one_namespace(database: Database) -> None:
    with database.connect() as conn:
        token = mint_token(conn, org="acme")

    def append(conn: Connection, number: int) -> None:
        call(conn, token, "working_memory.append", namespace="new", addition=str(number))

    at_once(database, "loom_gateway", append, range(FIRST_WRITERS))
    assert _namespaces(database.connect(), "acme") == ["new"]


def test_16_first_writes_in_open_mode_make_one_org_and_one_namespace(database: Database) -> None:
    operator = database.connect()
    operator.execute("select loom.open_mode_set(60)")

    def append(conn: Connection, number: int) -> Answer:
        return call(conn, None, "working_memory.append", addition=str(number))

    answers = at_once(database, "loom_gateway", append, range(FIRST_WRITERS))
    assert {(answer["org"], answer["namespace"]) for answer in answers} == {("dev", "local")}
    assert operator.execute("select name from loom.org").fetchall() == [("dev",)]
    assert _namespaces(operator, "dev") == ["local"]


def test_16_operators_minting_the_first_tokens_of_an_org_make_one_org(database: Database) -> None:
    def mint(conn: Connection, label: str) -> Token:
        return mint_token(conn, org="new", role="admin", label=label)

    tokens = at_once(database, None, mint, [str(n) for n in range(FIRST_WRITERS)])
    assert len({token.text for token in tokens}) == FIRST_WRITERS
    assert len({token.org_id for token in tokens}) == 1
    names = database.connect().execute("select name from loom.org").fetchall()
    assert names == [("new",)]


def test_16_bindings_of_a_service_to_a_new_org_make_one_org(database: Database) -> None:
    def bind(conn: Connection, login: str) -> None:
        conn.execute("select loom.service_bind(%s, 'new')", (login,))

    at_once(database, None, bind, [WRITER] * FIRST_WRITERS)
    conn = database.connect()
    assert conn.execute("select name from loom.org").fetchall() == [("new",)]
    assert conn.execute("select count(*) from loom.service_binding").fetchone() == (1,)


@pytest.mark.parametrize("commit", [True, False], ids=["kept", "taken back"])
def test_a_first_write_beside_another_waits_and_goes_on(acme: Database, commit: bool) -> None:
    _, second = while_open(acme, _write(1), _write(2), commit=commit)
    assert second.answer["created"] is True
    conn = acme.connect()
    assert _namespaces(conn, "acme") == ["dev"]
    blocks = operate(conn, "working_memory.list", org="acme", namespace="dev")["items"]
    assert [item["block_key"] for item in blocks] == ["block 1"] * commit + ["block 2"]


def test_a_refused_first_write_makes_no_namespace(acme: Database) -> None:
    conn = acme.connect(WRITER)
    assert perform(conn, step("working_memory.replace", old="a", new="b")).sqlstate == "LM101"
    assert _namespaces(acme.connect(), "acme") == []


def test_a_read_makes_no_namespace(acme: Database) -> None:
    conn = acme.connect(WRITER)
    for op in ("working_memory.get", "working_memory.list", "working_memory.render"):
        assert perform(conn, step(op)).sqlstate is None
    assert _namespaces(acme.connect(), "acme") == []

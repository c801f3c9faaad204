"""What callers meet when the database fails in ways nobody planned: no text of its own, ever."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.calls import mint_token
from tests.databases import Database
from tests.http.api import Api, detail, running
from tests.http.conftest import LogLines

_FAILS = """
create or replace function loom.working_memory_get(p_request jsonb) returns jsonb
language plpgsql as $$ begin {body} end $$
"""


@pytest.fixture
def broken(database: Database) -> Iterator[Api]:
    """A server whose database the test breaks."""
    with running(database) as api:
        conn = database.connect()
        api.token = mint_token(conn, org="acme", role="admin", namespace="n").text
        yield api


def _get_fails(api: Api, body: str) -> None:
    api.database.connect().execute(_FAILS.replace("{body}", body).encode())


def test_an_unexpected_error_has_the_request_id_only(broken: Api, log_lines: LogLines) -> None:
    _get_fails(
        broken, "raise division_by_zero using message = p_request::text, detail = p_request::text;"
    )
    response = broken.call("working_memory.get", {"user_id": "s3cret"})
    assert detail(response, 500, "INTERNAL") == {}
    assert "s3cret" not in response.text
    (line,) = [x for x in log_lines.lines if x.get("code") == "INTERNAL"]
    assert line["level"] == "error"
    assert line["sqlstate"] == "22012"
    assert line["request_id"] == response.headers["x-request-id"]
    assert "s3cret" not in log_lines.text


def test_an_input_error_inside_a_function_is_not_blamed_on_the_body(broken: Api) -> None:
    _get_fails(broken, "return to_jsonb((p_request ->> 'user_id')::int);")
    response = broken.call("working_memory.get", {"user_id": "s3cret"})
    assert detail(response, 500, "INTERNAL") == {}


def test_an_error_code_that_is_not_in_the_table_is_internal(broken: Api) -> None:
    _get_fails(broken, "raise exception using errcode = 'LM999', message = 'text';")
    response = broken.call("working_memory.get")
    assert detail(response, 500, "INTERNAL") == {}


def test_a_lock_that_is_not_had_in_time_is_503(broken: Api) -> None:
    conn = broken.database.connect()
    name = broken.database.name
    conn.execute(f'alter role loom_gateway in database "{name}" set lock_timeout = 50'.encode())
    with conn.transaction():
        conn.execute("lock table loom.working_memory in access exclusive mode")
        response = broken.call("working_memory.set", {"content": "x"})
    fields = detail(response, 503, "UNAVAILABLE")
    assert fields == {"reason": "the database is busy or restarting", "outcome": "not_carried_out"}
    assert response.headers["retry-after"] == "1"
    assert broken.call("working_memory.get").json()["found"] is False


def test_a_statement_that_takes_too_long_is_503(broken: Api) -> None:
    name = broken.database.name
    broken.database.connect().execute(
        f'alter role loom_gateway in database "{name}" set statement_timeout = 100'.encode()
    )
    _get_fails(broken, "perform pg_sleep(60); return '{}';")
    # Sessions that were open before still have the old limit.
    broken.database.connect().execute(
        "select pg_terminate_backend(pid, 5000) from pg_stat_activity"
        " where usename = 'loom_gateway' and datname = current_database()"
    )
    response = broken.call("working_memory.get")
    assert detail(response, 503, "UNAVAILABLE")["outcome"] == "not_carried_out"


def test_a_race_lost_again_and_again_is_503(broken: Api) -> None:
    _get_fails(broken, "raise serialization_failure using message = 'row of s3cret';")
    response = broken.call("working_memory.get")
    assert detail(response, 503, "UNAVAILABLE") == {
        "reason": "retries spent",
        "outcome": "not_carried_out",
    }
    assert broken.pool.retries["read", "40001"] == 5


@pytest.mark.parametrize("sqlstate", ["40001", "40P01"])
def test_a_lost_race_is_run_again(broken: Api, sqlstate: str) -> None:
    conn = broken.database.connect()
    # A sequence keeps its place over the rollback, so the third try is the first to succeed.
    conn.execute("create sequence loom_test.tries")
    conn.execute("grant usage on schema loom_test to loom_gateway, loom_api")
    conn.execute("grant usage on sequence loom_test.tries to loom_api")
    conn.execute("alter function loom.working_memory_get(jsonb) owner to loom_api")
    _get_fails(
        broken,
        "if nextval('loom_test.tries') < 3 then raise exception using errcode = '"
        + sqlstate
        + "'; end if;"
        "return '{\"found\": false}';",
    )
    assert broken.call("working_memory.get").json() == {"found": False}
    assert broken.pool.retries["read", sqlstate] == 2

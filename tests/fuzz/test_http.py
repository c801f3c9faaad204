"""Generated requests from callers of every kind: no 5xx, no answer outside the description, and
nothing in it that is the database's own text."""

from __future__ import annotations

import time
from collections.abc import Iterator
from random import Random
from typing import get_args

import pytest

from loom.types import OPERATIONS
from loom.types.fields import Role
from tests.calls import Connection, mint_token
from tests.databases import Database
from tests.fuzz.described import routes
from tests.fuzz.hostile import BROKEN, REQUESTS
from tests.fuzz.leaks import database_text, sentences
from tests.fuzz.machine import Findings, fuzz, without_model
from tests.fuzz.requests import hostile_requests, operations
from tests.http.api import Api, running, settings_for_tests

SEED = 7


@pytest.fixture(scope="module")
def open_api(fuzzed: Database) -> Iterator[Api]:
    """A server in open mode; the mode itself lasts a minute and is renewed by `fuzz_all`."""
    with running(fuzzed, settings=settings_for_tests(auth="open")) as api:
        yield api


def callers(admin: Connection) -> dict[str, str | None]:
    """Everyone who calls, all in the org that open mode means."""
    tokens = {role: mint_token(admin, org="dev", role=role) for role in get_args(Role)}
    pinned = mint_token(admin, org="dev", namespace="n", read_user_id="u", session_id="s")
    bounded = mint_token(admin, org="dev", namespace="n", role="admin")
    tokens |= {"pinned": pinned, "bounded": bounded}
    return {"open": None, **{name: token.text for name, token in tokens.items()}}


def fuzz_all(api: Api, *, count: int, seed: int = SEED) -> Findings:
    admin = api.database.connect()

    def renew_open_mode() -> None:
        admin.execute("select loom.open_mode_set(60)")

    return fuzz(api.url, callers(admin), count=count, seed=seed, before_each=renew_open_mode)


def judge(findings: Findings, count: int) -> None:
    assert not findings.wrong, findings.report()
    assert findings.sent >= count
    # All tokens are good, until a caller who has listed them revokes one.
    if ("token.revoke", 200) not in findings.answers:
        assert 401 not in {status for _, status in findings.answers}, findings.report()
    assert {name for name, _ in findings.answers} == routes(), findings.report()
    # Not refused every time: a dozen requests each miss many that want much to be just so.
    reached = {op for op, status in findings.answers if status == 200}
    assert len(reached) >= (0.6 if count > 1000 else 0.5) * len(routes()), findings.report()


def test_a_thousand_requests_of_all_callers(open_api: Api) -> None:
    judge(fuzz_all(open_api, count=1000), 1000)


@pytest.mark.slow
def test_twenty_thousand_requests_of_all_callers(
    open_api: Api, capsys: pytest.CaptureFixture[str]
) -> None:
    findings = fuzz_all(open_api, count=20_000, seed=time.time_ns())
    with capsys.disabled():
        print(f"\n{findings.report()}")
    judge(findings, 20_000)


def test_hostile_bodies_are_refused_by_http_as_by_sql(open_api: Api) -> None:
    """Texts that are no JSON, and JSON that no generator thinks of, to every operation."""
    random = Random(SEED)
    admin = open_api.database.connect()
    admin.execute("select loom.open_mode_set(60)")
    token = mint_token(admin, org="acme", role="admin").text
    for operation in [each for each in operations(admin) if each.op in OPERATIONS]:
        whole = random.sample(list(REQUESTS.items()), k=6)
        parts = random.sample(list(hostile_requests(operation)), k=15)
        for what, body in [*BROKEN.items(), *whole, *((each.what, each.body) for each in parts)]:
            caller = random.choice([token, ""])
            headers = random.choice([{}, {"Idempotency-Key": f"{operation.op} {what}"}])
            answer = open_api.post(operation.op, body.encode(), token=caller, headers=headers)
            failed = answer.status_code >= 500 and not without_model(answer.content)
            assert not failed, (operation.op, what, answer.text)
            assert not database_text(answer.json(), body), (operation.op, what, answer.text)
            if what in BROKEN:
                assert answer.status_code in (400, 422), (operation.op, what, answer.text)


REFUSE = "raise exception using errcode = '{}', message = '{}', detail = '{{\"reason\": \"{}\"}}'"
NOT_VALID = "The request is not valid."

PLANTED = {
    "working_memory.get": ("Server error", "raise exception 'boom'"),
    "working_memory.list": ("'violates '", REFUSE.format("LM001", NOT_VALID, "violates a rule")),
    "working_memory.render": ("is none of ours", REFUSE.format("LM001", "Odd.", "x")),
    "namespace.get": ("Undocumented", REFUSE.format("LM101", "There is no such block.", "x")),
    "namespace.list": ("schema", 'return \'{"items": [], "next_cursor": null, "more": 1}\''),
    "token.list": ("schema", 'return \'{"items": 1, "next_cursor": null}\''),
}
"""For an operation the words of the finding, and the body of a function that it is to find."""


def test_what_is_planted_is_found_and_nothing_else(database: Database) -> None:
    admin = database.connect()
    for op, (_, body) in PLANTED.items():
        admin.execute(
            f"create or replace function loom.{op.replace('.', '_')}(p_request jsonb) returns jsonb"
            " language plpgsql security definer set search_path = loom, pg_temp"
            f" as $$begin {body}; end$$".encode()
        )
    with running(database, settings=settings_for_tests(auth="open")) as api:
        findings = fuzz_all(api, count=900)
    for op, (words, _) in PLANTED.items():
        found = [each for each in findings.wrong if each.startswith(f"{op} ")]
        assert any(words in each for each in found), (op, findings.report())
    ops = {each.split()[0] for each in findings.wrong}
    assert ops <= {*PLANTED, "batch"}, findings.report()  # a batch answers its items' errors


def test_what_breaks_the_fuzz_itself_is_not_taken_for_chance(open_api: Api) -> None:
    calls = iter(range(100))

    def breaks_once() -> None:
        if next(calls) == 1:
            raise LookupError("once")

    with pytest.raises(LookupError, match="once"):
        fuzz(open_api.url, {"open": None}, count=200, seed=SEED, before_each=breaks_once)


def test_every_sentence_of_the_error_table_counts_as_ours() -> None:
    assert NOT_VALID in sentences()
    assert len(sentences()) > 10


@pytest.mark.parametrize(
    "text",
    [
        'new row for relation "block" violates check constraint "fits"',
        "PL/pgSQL function loom.call(uuid) line 3 at RAISE",
        "invalid input syntax for type json",
        "SQLSTATE 22P02",
        "23505",
        "LM401",
    ],
)
def test_database_text_is_known(text: str) -> None:
    answer = {"detail": {"message": NOT_VALID, "reason": text}}
    assert database_text(answer, "{}")
    assert not database_text(answer, text)  # what the caller wrote may be answered
    assert not database_text({"content": text}, "{}")  # somebody's data
    assert database_text({"results": [{"error": answer["detail"]}]}, "{}")

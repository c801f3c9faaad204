"""Every SQL function, called by every client role with what it does not expect.

Allowed are the LM errors and PostgreSQL's own word about a type, a missing right or a text that is
no JSON; never an internal error, a broken constraint, a row that changed though the call was
refused, or a call that takes seconds.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from random import Random

import pytest
from psycopg import sql

from tests.calls import Token, mint_token
from tests.cluster import SERVICES
from tests.databases import Database
from tests.fuzz.doors import doors
from tests.fuzz.functions import (
    CLIENTS,
    NO_SUCH_FUNCTION,
    NOT_PERMITTED,
    SECONDS,
    TOO_COMPLEX,
    Caller,
    Function,
    functions,
)
from tests.fuzz.hostile import ARGUMENTS, BROKEN, PLAIN, Raw, array
from tests.fuzz.requests import (
    Operation,
    Request,
    hostile_requests,
    mixed_requests,
    operations,
    plain_reads,
    seeds,
)

ORG = "acme"
SEED = 11
SOME = 3000
"""Requests in the test run, as many of each operation, by one door each; `make fuzz` sends all."""

DOORS_EACH = 3
PRINTS_LONG = ("huge number in an object", "many tiny numbers", "many zeros", "many large numbers")
ITEMS = 600

NOT_JSON = frozenset({"22P02", "22P05", "22021", "22003", TOO_COMPLEX})


@pytest.fixture
def caller(database: Database) -> Iterator[Caller]:
    """Sessions of every client; the services among them are bound to the org."""
    admin = database.connect()
    for login in SERVICES:
        admin.execute("select loom.service_bind(%s, %s)", (login, ORG))
    for seed in seeds(operations(admin)):
        admin.execute("select loom.execute(%s, %s::jsonb, null)", (seed.op.op, seed.body))
    admin.execute("select loom.open_mode_set(60)")
    made = Caller(database)
    yield made
    made.finish()


@pytest.fixture
def all_functions(database: Database) -> list[Function]:
    return functions(database.connect())


def test_a_client_without_the_right_is_refused_by_every_function(
    caller: Caller, all_functions: list[Function]
) -> None:
    for function, client in itertools.product(all_functions, CLIENTS):
        if client not in function.callers:
            # Not null, where there is a value: a strict function of null is not called at all.
            arguments = [_plain(each) for each in function.types]
            answer = caller.attempt(
                client, function.name, function.call(), arguments, allowed={NOT_PERMITTED}
            )
            assert answer is None, (client, function.name)
    assert set(caller.outcomes) == {NOT_PERMITTED}


def _plain(type_name: str) -> str | None:
    return "{}" if type_name.endswith("[]") else PLAIN.get(type_name)


def test_no_client_may_call_an_internal_function(all_functions: list[Function]) -> None:
    assert [each.name for each in all_functions if each.name.startswith("_") and each.callers] == []


def test_arguments_of_another_type_find_no_function(
    caller: Caller, all_functions: list[Function]
) -> None:
    others = ("'x'::text", "null::point", "array[1.5]", "'{}'::json", "row(1, 2)")
    for function in all_functions:
        for client, other in itertools.product(sorted(function.callers), others):
            arguments = ", ".join([other] * max(1, len(function.types)))
            if other == "'x'::text" and set(function.types) <= {"text", "name"}:
                continue
            statement = sql.SQL("select {}({})::text").format(
                sql.Identifier("loom", function.name), sql.SQL(arguments)
            )
            answer = caller.attempt(
                client, f"{function.name}({other})", statement, (), allowed=NO_SUCH_FUNCTION
            )
            assert answer is None, (client, function.name, other)


def test_arguments_of_the_right_type_and_hostile_values(
    caller: Caller, all_functions: list[Function], database: Database
) -> None:
    names = {operation.function for operation in operations(database.connect())}
    token = mint_token(database.connect(), org=ORG, role="admin")
    for function in all_functions:
        if function.name not in names:
            for client in sorted(function.callers):
                _one_hostile_argument(caller, client, function, token)


def _one_hostile_argument(caller: Caller, client: str, function: Function, token: Token) -> None:
    good = {
        "p_org": str(token.org_id),
        "p_token_hash": f"\\x{token.secret_sha256.hex()}",
        "p_op": "namespace.list",
        "p_request": json.dumps({"org": ORG}),
    }
    plain = [good.get(name) for name in function.arguments]
    for place, type_name in enumerate(function.types):
        for value in ARGUMENTS[type_name]:
            arguments = [*plain[:place], value, *plain[place + 1 :]]
            caller.attempt(
                client,
                f"{function.name}: {function.arguments[place]} = {str(value)[:100]!r}",
                function.call(),
                arguments,
                allowed={TOO_COMPLEX},
                prefixes=("22",),
            )


PLANTED = {
    "P0001": "raise exception 'boom'",
    "23502": "insert into loom.worker values (null, now(), now())",
    "57014": "perform pg_sleep(60)",
    "grew by": "perform length(repeat('x', 300000000))",
}
"""For a finding its words, and what `worker_gone` does to be found."""


@pytest.mark.parametrize("words", PLANTED)
def test_what_is_planted_is_found(words: str, database: Database) -> None:
    database.connect().execute(
        "create or replace function loom.worker_gone(p_worker_id uuid) returns void"
        " language plpgsql security definer set search_path = loom, pg_temp"
        f" as $$begin {PLANTED[words]}; end$$".encode()
    )
    caller = Caller(database, seconds=0.5 if words == "57014" else SECONDS)
    statement = sql.SQL("select loom.worker_gone(gen_random_uuid())::text")
    caller.attempt("loom_worker", "planted", statement, ())
    assert any(words in found for found in caller.wrong), caller.report()
    with pytest.raises(AssertionError):
        caller.finish()


def test_a_long_answer_is_found(database: Database) -> None:
    caller = Caller(database)
    caller.attempt("loom_worker", "planted", sql.SQL("select repeat('x', 3000000)"), ())
    assert any("3000000 characters" in found for found in caller.wrong)


def test_every_type_of_argument_has_hostile_values(all_functions: list[Function]) -> None:
    """A function with an argument of a new type is to be fuzzed, too."""
    wanted = {each for function in all_functions if function.callers for each in function.types}
    assert wanted <= ARGUMENTS.keys()


def test_some_hostile_requests_of_every_operation(caller: Caller, database: Database) -> None:
    """A choice of them, each by one door; the doors take turns."""
    random = Random(SEED)
    ways = itertools.cycle(doors(caller, ORG))
    found = operations(database.connect())
    each = SOME // len(found)
    for operation in found:
        chosen = random.sample(list(hostile_requests(operation)), k=each * 3 // 4)
        for request in [*chosen, *mixed_requests(operation, random, each // 4)]:
            answer = next(ways).send(caller, request)
            _read_back(caller, found, request, answer)


@pytest.mark.slow
def test_all_hostile_requests_of_every_operation(
    caller: Caller, database: Database, capsys: pytest.CaptureFixture[str]
) -> None:
    admin = database.connect()
    random = Random()
    ways = doors(caller, ORG)
    found = operations(admin)
    for operation in found:
        admin.execute("select loom.open_mode_set(60)")
        for request in [*hostile_requests(operation), *mixed_requests(operation, random, 200)]:
            answers = [way.send(caller, request) for way in random.sample(ways, k=DOORS_EACH)]
            _read_back(caller, found, request, *answers)
    with capsys.disabled():
        print(f"\n{caller.report()}")


def test_a_short_request_makes_no_long_row(caller: Caller, database: Database) -> None:
    """A number of eight characters can print as sixteen thousand."""
    found = operations(database.connect())
    admin = next(door for door in doors(caller, ORG) if door.client == "loom_test_admin")
    for operation in found:
        for request in hostile_requests(operation):
            if not operation.reads and request.what.endswith(PRINTS_LONG):
                _read_back(caller, found, request, admin.send(caller, request))


def _read_back(
    caller: Caller, found: list[Operation], request: Request, *answers: str | None
) -> None:
    """What was let in must come out again, and not as a thousand times as much."""
    if not request.op.reads and any(answers):
        for plain in plain_reads(found, request.op):
            statement = sql.SQL("select loom.execute(%s, %s::jsonb, null)::text")
            what = f"{plain.op.op} after {request.op.op} {request.what}"
            parameters = (plain.op.op, plain.body)
            caller.attempt("loom_test_admin", what, statement, parameters)


def test_texts_that_are_no_json(caller: Caller, database: Database) -> None:
    ways = itertools.cycle(doors(caller, ORG))
    for operation in operations(database.connect()):
        for what, body in BROKEN.items():
            answer = next(ways).send(caller, Request(operation, what, body), allowed=NOT_JSON)
            assert answer is None, (operation.op, what)


def test_a_batch_of_refused_items_changes_nothing(caller: Caller, database: Database) -> None:
    """Each item is refused in its own savepoint; the batch itself succeeds."""
    random = Random(SEED)
    refused: list[Raw] = []
    found = operations(database.connect())
    for operation in found:
        if operation.op == "batch":
            continue
        for request in random.sample(list(hostile_requests(operation)), k=ITEMS // len(found)):
            item = _item(request)
            if item and _statuses(_batch(caller, [item])) not in ([200], []):
                refused.append(item)
    assert len(refused) > 100
    for start in range(0, len(refused), 25):
        before = caller.state()
        statuses = _statuses(_batch(caller, refused[start : start + 25]))
        assert statuses
        assert 200 not in statuses
        assert caller.state() == before, refused[start : start + 25]


def _item(request: Request) -> Raw | None:
    """The request as an item of a batch; None where it is no object."""
    if not request.body.startswith("{") or len(request.body) > 20_000:
        return None
    rest = request.body[1:].strip()
    return f'{{"op":"{request.op.op}"' + (rest if rest == "}" else f",{rest}")


def _batch(caller: Caller, items: list[Raw]) -> str | None:
    body = f'{{"org":"{ORG}","requests":{array(items)}}}'
    statement = sql.SQL("select loom.batch(%s::jsonb)::text")
    return caller.attempt("loom_test_admin", f"batch of {body[:300]}", statement, (body,))


def _statuses(answer: str | None) -> list[int]:
    return [result["status"] for result in json.loads(answer)["results"]] if answer else []

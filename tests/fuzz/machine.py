"""A stateful fuzz of the API: schemathesis' state machine, with callers of every kind.

Each step is made by schemathesis from the served description, and its links lead from one step to
the next; then it is aimed, mostly at one place, so that steps meet each other's rows; and sent as
one of the callers, in turn. What is wrong is noted and the fuzz goes on: all of it is told at once.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from random import Random
from typing import Any

import hypothesis
import requests
import schemathesis
from hypothesis.errors import Flaky
from msgspec import structs
from schemathesis.checks import CheckFunction, not_a_server_error
from schemathesis.core import NotSet
from schemathesis.core.failures import FailureGroup
from schemathesis.core.result import Ok
from schemathesis.engine.recorder import ScenarioRecorder
from schemathesis.generation.stateful.state_machine import APIStateMachine, StepInput, StepOutput
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)
from schemathesis.specs.openapi.expressions import MultiMatch

from loom.types import OPERATIONS
from tests.fuzz.described import MAKES, PLACES, REST, prepared, taken
from tests.fuzz.leaks import database_text

CHECKS: list[CheckFunction] = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
]
SECONDS = 20.0
STEPS = 25
HOME = "n"
"""The namespace where most requests meet."""


@dataclass
class Findings:
    """What a fuzz sent, what was answered, and what was wrong with it: a message and an example."""

    answers: Counter[tuple[str, int]] = field(default_factory=Counter)
    wrong: dict[str, str] = field(default_factory=dict)
    broken: list[Exception] = field(default_factory=list)
    """What the fuzz itself has met, which hypothesis may take for chance."""
    rounds: int = 0

    @property
    def sent(self) -> int:
        return self.answers.total()

    def note(self, message: str, example: str) -> None:
        """Keep the first example of each kind of failure."""
        self.wrong.setdefault(message, example)

    def report(self) -> str:
        """All of it, to be read."""
        lines = [f"{self.sent} requests"]
        for op in sorted({op for op, _ in self.answers}):
            counts = {status: n for (of, status), n in sorted(self.answers.items()) if of == op}
            lines.append(f"  {op:28} {counts}")
        lines += [f"{message}\n    {example}" for message, example in self.wrong.items()]
        return "\n".join(lines)


@dataclass(frozen=True)
class Guard:
    """What callers must not be shown, and what they try in order to get at it.

    `hidden` are texts by caller, `namespaces` those where they are at home; `bait` is values by the
    name of the field they are tried in, none of them hidden from anyone: what a caller has named
    itself may stand in an answer.
    """

    hidden: Mapping[str, Collection[str]]
    namespaces: Mapping[str, str]
    bait: Mapping[str, Sequence[Any]]

    def baited(self, op: str, body: dict[str, Any], random: Random) -> dict[str, Any]:
        """A request that names what is not the caller's; seldom a place, since most of those are
        closed to it, and nothing else of the request would then be looked at."""
        names = {each.name for each in structs.fields(OPERATIONS[op].request)}
        often = {name: 0.1 if name in PLACES else 0.5 for name in self.bait if name in names}
        tried = [name for name, share in often.items() if random.random() < share]
        return {**body, **{name: random.choice(self.bait[name]) for name in tried}}

    def shown_to(self, caller: str, response: schemathesis.Response) -> list[str]:
        """The hidden texts that an answer holds."""
        answer = response.text + json.dumps(dict(response.headers))
        return [f"shows {each!r}" for each in self.hidden[caller] if each in answer]


@dataclass
class Trail:
    """What a caller has sent and made, for later requests to come back to."""

    sent: deque[dict[str, Any]] = field(default_factory=lambda: deque(maxlen=20))
    # What is named by an id that nothing but its making tells is rarely met by following links.
    made: dict[str, deque[dict[str, str]]] = field(default_factory=dict)

    def made_by(self, op: str, response: schemathesis.Response) -> None:
        """Remember the ids of what an operation has made."""
        if op in MAKES and response.status_code == 200:
            entity = json.loads(response.content)["entity"]
            ids = {MAKES[op]: entity["id"]}
            if "loomId" in entity:
                ids["loomId"] = entity["loomId"]
            self.made.setdefault(MAKES[op], deque(maxlen=5)).append(ids)

    def one_made(self, body: dict[str, Any], random: Random) -> dict[str, str]:
        """The ids of one thing that was made, and of the loom it is in."""
        for name in ("weavingId", "threadId", "loomId"):
            if name in body and self.made.get(name):
                return random.choice(self.made[name])
        return {}


def fuzz(
    url: str,
    callers: Mapping[str, str | None],
    *,
    count: int,
    seed: int,
    before_each: Callable[[], None] = lambda: None,
    guard: Guard | None = None,
) -> Findings:
    """Send `count` requests or a few more to the API at `url`.

    `callers` are tokens by the name of who has them, None for no token. `before_each` runs before
    each scenario of some steps. With something to guard a scenario is one caller's: links and
    what was sent before would else carry to one what another has seen.
    """
    findings = Findings()
    random = Random(seed)
    with requests.Session() as session:
        session.trust_env = False
        document = session.get(f"{url}/v1/openapi.json", timeout=SECONDS).json()
        schema = schemathesis.openapi.from_dict(prepared(document))
        schema.config.update(base_url=url)
        schema.config.generation.update(with_security_parameters=False)
        schema.config.output.sanitization.update(enabled=False)
        base = schema.as_state_machine()
        machine = _machine(base, session, callers, findings, random, before_each, guard)
        while findings.sent < count:
            settings = hypothesis.settings(
                max_examples=max(1, (count - findings.sent) // STEPS),
                stateful_step_count=STEPS,
                phases=[hypothesis.Phase.generate],
                deadline=None,
                database=None,
                suppress_health_check=list(hypothesis.HealthCheck),
            )
            machine._hypothesis_internal_use_seed = seed + findings.rounds
            # What earlier steps left in the database changes what hypothesis draws again: then it
            # begins anew, with the next seed.
            with suppress(Flaky):
                machine.run(settings=settings)
            if findings.broken:
                raise findings.broken[0]
            findings.rounds += 1
    return findings


def _machine(
    base: type[APIStateMachine],
    session: requests.Session,
    callers: Mapping[str, str | None],
    findings: Findings,
    random: Random,
    before_each: Callable[[], None],
    guard: Guard | None,
) -> type[APIStateMachine]:
    trails: dict[str, Trail] = defaultdict(Trail)

    class Machine(base):  # type: ignore[misc, valid-type]
        def setup(self) -> None:
            with _told(findings):
                before_each()
            self.caller = random.choice(list(callers))

        def step(self, input: StepInput) -> StepOutput:
            with _told(findings):
                return self.one(input)

        def one(self, input: StepInput) -> StepOutput:
            case = input.case
            name = str(case.operation.definition.raw.get("operationId", case.operation.path))
            op = name.removeprefix(REST)
            caller = self.caller if guard else random.choice(list(callers))
            trail = trails[caller if guard else ""]
            _settle(case)
            body = _fields(case)
            if body is not None:
                home = guard.namespaces[caller] if guard else HOME
                body = _aimed(op, body, _linked(input), home, random)
                # What a deletion takes is there no more for the others.
                if random.random() < (0.2 if op == "looms.delete" else 0.9):
                    body.update(trail.one_made(body, random))
                if guard:
                    body = guard.baited(op, body, random)
                if "requests" in body and trail.sent and random.random() < 0.8:
                    body["requests"] = random.choices(trail.sent, k=random.randint(1, 5))
                trail.sent.append({"op": op, **body})
                _put(case, body)
            headers = {"Authorization": f"Bearer {callers[caller]}"} if callers[caller] else {}
            response = case.call(session=session, headers=headers, timeout=SECONDS)
            self.after_call(response, case)
            findings.answers[name, response.status_code] += 1
            trail.made_by(op, response)
            troubles = _troubles(case, response, self.recorder, body)
            for trouble in [*troubles, *(guard.shown_to(caller, response) if guard else ())]:
                sent_as = f"as {caller}: {case.as_curl_command()[:2000]}"
                example = f"{sent_as}\n    {response.text[:1000]}"
                findings.note(f"{name} {response.status_code}: {trouble}", example)
            return StepOutput(response, case)

    return Machine


@contextmanager
def _told(findings: Findings) -> Iterator[None]:
    """Keep what goes wrong, on its way to hypothesis."""
    try:
        yield
    except Exception as error:
        findings.broken.append(error)
        raise


def _fields(case: schemathesis.Case[Any]) -> dict[str, Any] | None:
    """The fields of a request, of its path, its query and its body; None where it is no object."""
    body = {} if isinstance(case.body, NotSet) else case.body
    if not isinstance(body, dict):
        return None
    return {**(case.path_parameters or {}), **(case.query or {}), **body}


def _settle(case: schemathesis.Case[Any]) -> None:
    """Choose where schemathesis leaves a choice, in every part of a request."""
    for part in (case.path_parameters, case.query, case.headers, case.cookies):
        for name in list(part or ()):
            part[name] = _settled(part[name])
    if not isinstance(case.body, NotSet):
        case.body = _settled(case.body)


def _settled(value: Any) -> Any:
    """A value where, of a list that a link of its own found, schemathesis leaves the choice."""
    if isinstance(value, MultiMatch):
        return _settled(value.values[0])
    if isinstance(value, dict):
        return {name: _settled(each) for name, each in value.items()}
    if isinstance(value, list):
        return [_settled(each) for each in value]
    return value


def _put(case: schemathesis.Case[Any], fields: dict[str, Any]) -> None:
    """Put the fields of a request where its route takes them."""
    rest: dict[str, Any] = _settled(fields)
    for name in case.path_parameters or ():
        case.path_parameters[name] = rest.pop(name, case.path_parameters[name])
    if isinstance(case.body, NotSet):
        flags = {True: "true", False: "false"}
        case.query = {
            name: flags[each] if isinstance(each, bool) else each for name, each in rest.items()
        }
    else:
        case.body = rest


def _linked(input: StepInput) -> dict[str, Any] | None:
    """What the step before answered, if the link hands it on. One that schemathesis thought of by
    itself may lead nowhere."""
    link = input.transition.request_body if input.transition else None
    linked = link.value.ok() if link is not None and isinstance(link.value, Ok) else None
    return linked if isinstance(linked, dict) else None


def _troubles(
    case: schemathesis.Case[Any],
    response: schemathesis.Response,
    recorder: ScenarioRecorder,
    body: dict[str, Any] | None,
) -> list[str]:
    """What is wrong with an answer."""
    found = []
    try:
        checks = CHECKS[1:] if without_model(response.content) else CHECKS
        case.validate_response(response, checks=checks, recorder=recorder)
    except FailureGroup as group:
        found += [str(failure) for failure in group.exceptions]
    return found + _leaks(response, case.body if body is None else body)


def without_model(content: bytes) -> bool:
    """Whether an answer says that there is no model to ask, as there is none here: a 503 that is
    no failure."""
    try:
        answer = json.loads(content)
    except ValueError:
        return False
    detail = answer.get("detail") if isinstance(answer, dict) else None
    return isinstance(detail, dict) and detail.get("code") == "MODEL_UNAVAILABLE"


def _aimed(
    op: str, body: dict[str, Any], answer: dict[str, Any] | None, namespace: str, random: Random
) -> dict[str, Any]:
    """The request, with what the step before answered, and mostly at the place where others are."""
    operation = OPERATIONS[op]
    body = dict(body)
    fields = structs.fields(operation.request)
    # Fewer conditions than a generator thinks of: each of them is one more way to be refused.
    for name in [each.name for each in fields if not each.required and random.random() < 0.4]:
        body.pop(name, None)
    if answer is not None:
        names = [each.name for each in fields]
        # The whole answer came with the link.
        body = {name: each for name, each in body.items() if name in names or name not in answer}
        for name, value in taken(names, answer, random).items():
            if name in PLACES or random.random() < 0.7:
                body[name] = value
    for name in operation.identity:
        if random.random() < 0.9 and not (answer and name in answer):
            body.pop(name, None)
    if "namespace" in operation.identity and random.random() < 0.9:
        body["namespace"] = namespace
    return body


def _leaks(response: schemathesis.Response, sent: Any) -> list[str]:
    try:
        answer = json.loads(response.content)
    except ValueError:
        return []
    return database_text(answer, json.dumps(sent, ensure_ascii=False, default=str))

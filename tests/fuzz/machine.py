"""A stateful fuzz of the API: schemathesis' state machine, with callers of every kind.

Each step is made by schemathesis from the served description, and its links lead from one step to
the next; then it is aimed, mostly at one place, so that steps meet each other's rows; and sent as
one of the callers, in turn. What is wrong is noted and the fuzz goes on: all of it is told at once.
"""

from __future__ import annotations

import json
from collections import Counter, deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from random import Random
from typing import Any

import hypothesis
import requests
import schemathesis
from hypothesis.errors import Flaky
from msgspec import structs
from schemathesis.checks import CheckFunction, not_a_server_error
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

from loom.types import OPERATIONS
from tests.fuzz.described import PLACES, prepared, taken
from tests.fuzz.leaks import database_text

CHECKS: list[CheckFunction] = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
]
SECONDS = 20.0
MAKES = {"looms.create": "loomId", "looms.thread_add": "threadId", "looms.weave": "weavingId"}
"""Operations by the field in which others take the id of what they make."""
STEPS = 25


@dataclass
class Findings:
    """What a fuzz sent, what was answered, and what was wrong with it: a message and an example."""

    answers: Counter[tuple[str, int]] = field(default_factory=Counter)
    wrong: dict[str, str] = field(default_factory=dict)
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


def fuzz(
    url: str,
    callers: Mapping[str, str | None],
    *,
    count: int,
    seed: int,
    before_each: Callable[[], None] = lambda: None,
) -> Findings:
    """Send `count` requests or a few more to the API at `url`.

    `callers` are tokens by the name of who has them, None for no token. `before_each` runs before
    each scenario of some steps.
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
        machine = _machine(
            schema.as_state_machine(), session, callers, findings, random, before_each
        )
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
            findings.rounds += 1
    return findings


def _machine(
    base: type[APIStateMachine],
    session: requests.Session,
    callers: Mapping[str, str | None],
    findings: Findings,
    random: Random,
    before_each: Callable[[], None],
) -> type[APIStateMachine]:
    sent: deque[dict[str, Any]] = deque(maxlen=20)
    # What is named by an id that nothing but its making tells is rarely met by following links.
    made: dict[str, deque[dict[str, str]]] = {}

    class Machine(base):  # type: ignore[misc, valid-type]
        def setup(self) -> None:
            before_each()

        def step(self, input: StepInput) -> StepOutput:
            case = input.case
            op = str(case.operation.definition.raw.get("operationId", case.operation.path))
            if isinstance(case.body, dict):
                case.body = _aimed(op, input, random)
                # What a deletion takes is there no more for the others.
                if random.random() < (0.2 if op == "looms.delete" else 0.9):
                    case.body.update(_one_made(made, case.body, random))
                if "requests" in case.body and sent and random.random() < 0.8:
                    case.body["requests"] = random.choices(sent, k=random.randint(1, 5))
                sent.append({"op": op, **case.body})
            caller = random.choice(list(callers))
            headers = {"Authorization": f"Bearer {callers[caller]}"} if callers[caller] else {}
            response = case.call(session=session, headers=headers, timeout=SECONDS)
            self.after_call(response, case)
            findings.answers[op, response.status_code] += 1
            if op in MAKES and response.status_code == 200:
                entity = json.loads(response.content)["entity"]
                ids = {MAKES[op]: entity["id"]}
                if "loomId" in entity:
                    ids["loomId"] = entity["loomId"]
                made.setdefault(MAKES[op], deque(maxlen=5)).append(ids)
            for trouble in _troubles(case, response, self.recorder):
                sent_as = f"as {caller}: {case.as_curl_command()[:2000]}"
                example = f"{sent_as}\n    {response.text[:1000]}"
                findings.note(f"{op} {response.status_code}: {trouble}", example)
            return StepOutput(response, case)

    return Machine


def _troubles(
    case: schemathesis.Case[Any], response: schemathesis.Response, recorder: ScenarioRecorder
) -> list[str]:
    """What is wrong with an answer."""
    found = []
    try:
        checks = CHECKS[1:] if without_model(response.content) else CHECKS
        case.validate_response(response, checks=checks, recorder=recorder)
    except FailureGroup as group:
        found += [str(failure) for failure in group.exceptions]
    return found + _leaks(response, case.body)


def without_model(content: bytes) -> bool:
    """Whether an answer says that there is no model to ask, as there is none here: a 503 that is
    no failure."""
    try:
        answer = json.loads(content)
    except ValueError:
        return False
    detail = answer.get("detail") if isinstance(answer, dict) else None
    return isinstance(detail, dict) and detail.get("code") == "MODEL_UNAVAILABLE"


def _aimed(op: str, input: StepInput, random: Random) -> dict[str, Any]:
    """The body, with what the step before answered, and mostly at the place where others are."""
    operation = OPERATIONS[op]
    assert isinstance(input.case.body, dict)
    body: dict[str, Any] = dict(input.case.body)
    fields = structs.fields(operation.request)
    # Fewer conditions than a generator thinks of: each of them is one more way to be refused.
    for name in [each.name for each in fields if not each.required and random.random() < 0.4]:
        body.pop(name, None)
    link = input.transition.request_body if input.transition else None
    linked = link.value.ok() if link is not None and isinstance(link.value, Ok) else None
    # A link that schemathesis thought of by itself may lead nowhere.
    answer = linked if isinstance(linked, dict) else None
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
        body["namespace"] = "n"
    return body


def _one_made(
    made: dict[str, deque[dict[str, str]]], body: dict[str, Any], random: Random
) -> dict[str, str]:
    """The ids of one thing that was made, and of the loom it is in."""
    for name in ("weavingId", "threadId", "loomId"):
        if name in body and made.get(name):
            return random.choice(made[name])
    return {}


def _leaks(response: schemathesis.Response, sent: Any) -> list[str]:
    try:
        answer = json.loads(response.content)
    except ValueError:
        return []
    return database_text(answer, json.dumps(sent, ensure_ascii=False, default=str))

"""Two orgs with a text planted in every plane, and callers from whom some of it is hidden."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any
from zlib import crc32

from psycopg.types.json import Jsonb

from loom.app.looms import ROUTES
from loom.cli import stand_in
from loom.types import OPERATIONS
from tests.calls import Answer, Connection, mint_token, operate
from tests.fuzz.machine import Guard
from tests.http.api import Api
from tests.model_endpoint import Request, Step, by_the_facts, by_the_words, completion, refusal
from tests.sql.loom_rows import weave_rows
from tests.sql.requests import VALID, woven
from tests.sql.structured_profile.building import FOLD, settings
from tests.tenancy.orgs import Org, seed
from tests.vectors import has_vectors, worked

SPACE = "a"
"""The namespace that `seed` fills; one of the same name is in both orgs."""

USER = "victim"
SESSION = "s1"
ACME, GLOBEX = "canary-00-", "canary-01-"
"""What `seed` plants in each."""

PRIVATE, OF_SESSION, NAMED = "private-00-", "session-00-", "named-00-"
"""Acme's: what one user alone may see, what one session alone; and names, which are texts too."""

EMBEDDING = "words"
DIMENSION = 8


@dataclass(frozen=True)
class Planted:
    """The orgs, their admins' tokens, and the callers with what is hidden from each."""

    acme: Org
    globex: Org
    callers: dict[str, str]
    guard: Guard

    @property
    def texts(self) -> dict[str, tuple[str, ...]]:
        """By org the texts that are somebody's: no log line or metric has any of them."""
        return {
            self.acme.name: (self.acme.canary, PRIVATE, OF_SESSION, NAMED),
            self.globex.name: (self.globex.canary,),
        }


def plant(conn: Connection) -> Planted:
    """Fill two orgs and mint the tokens of those who are to see less than all."""
    settings(conn, FOLD, enabled=True)
    if has_vectors(conn):
        worked(conn, "embedding_model_add", model=EMBEDDING)
    acme, globex = seed(conn, "acme", 0), seed(conn, "globex", 1)
    assert (acme.canary, globex.canary) == (ACME, GLOBEX)
    acme = replace(acme, traces=(*acme.traces, PRIVATE, OF_SESSION, NAMED))
    _schema_with_a_text(conn, acme)
    _fill(conn, acme, PRIVATE, user_id=USER)
    _fill(conn, acme, OF_SESSION, user_id=USER, session_id=SESSION)
    _fill(conn, acme, NAMED, user_id=f"{NAMED}user", agent=f"{NAMED}agent", run_id=f"{NAMED}run")
    _of_a_user(conn, acme, PRIVATE, USER)
    bait = _bait(conn, acme, weave_rows(conn, acme.name, SPACE, PRIVATE, USER))
    for org in (acme, globex):
        woven(conn, org.name, "main")
    elsewhere = (PRIVATE, OF_SESSION, *globex.traces)
    callers: dict[str, tuple[str, Answer, tuple[str, ...]]] = {
        "admin of another org": ("globex", {"role": "admin"}, acme.traces),
        "writer of another org": ("globex", {"namespace": SPACE}, acme.traces),
        "admin of another namespace": ("acme", {"role": "admin", "namespace": "m"}, elsewhere),
        "another user": ("acme", {"namespace": SPACE, "read_user_id": "a"}, elsewhere),
        "another session": (
            "acme",
            # One who writes could tell others of the user what it may see of them.
            {"namespace": SPACE, "read_user_id": USER, "session_id": "s2", "role": "viewer"},
            (OF_SESSION, *globex.traces),
        ),
    }
    return Planted(
        acme,
        globex,
        {who: mint_token(conn, org=org, **to).text for who, (org, to, _) in callers.items()},
        Guard(
            {who: hidden for who, (_, _, hidden) in callers.items()},
            {who: to.get("namespace", SPACE) for who, (_, to, _) in callers.items()},
            bait,
        ),
    )


def _schema_with_a_text(conn: Connection, org: Org) -> None:
    described = {"type": "string", "description": org.canary}
    json_schema = {"type": "object", "title": org.canary, "properties": {"secret": described}}
    operate(conn, "profile_schema.set", org=org.name, namespace=SPACE, json_schema=json_schema)


def _fill(conn: Connection, org: Org, text: str, **ids: str) -> None:
    """Blocks, facts and sections of a place, under plain keys and under one that is the text; also
    by a batch under a key, whose answer is kept."""
    place = {"org": org.name, "namespace": SPACE, **ids}
    memory = {name: each for name, each in place.items() if name != "run_id"}
    for key in ("a", "scratchpad", text):
        block = {"block_key": key, "content": text, "description": text}
        operate(conn, "working_memory.set", **place, **block)
        fact: Answer = {"memory_key": key, "value": {text: text}, "tags": [text]}
        operate(conn, "memory.set", **memory, **fact, source_trace=text)
    operate(conn, "memory.set", **memory, memory_key="secret", value=text)
    operate(conn, "memory.set", **memory, memory_key="wish", value=text, memory_type="preference")
    for label in ("persona", text):
        operate(conn, "profile.set", **memory, label=label, value=text)
    items = [
        {"op": "working_memory.append", **place, "block_key": f"{text}{n}", "addition": text}
        for n in range(2)
    ]
    conn.execute(
        "select loom.execute('batch', %s, %s)",
        (Jsonb({"org": org.name, "requests": items}), f"{text} {ids}"),
    )


def _of_a_user(conn: Connection, org: Org, text: str, user: str) -> None:
    """What is learnt of a user, some of it still to be read by a model."""
    whom = {"org": org.name, "namespace": SPACE, "user_id": user}
    learnt = {"summary": text, "fact_ops": [{"op": "add", "key": text, "value": text}]}
    operate(conn, "user_profile.apply", **whom, delta={**learnt, "source": text})
    for source in ("rules", "llm"):
        said = [{"id": f"{text}{source}", "text": f"Call me {text}."}]
        operate(conn, "user_profile.update", **whom, signals=said, source=source)


def _bait(conn: Connection, org: Org, loom: str) -> dict[str, list[Any]]:
    """Ids of what is hidden, none of which is a trace, and names that are the same everywhere."""

    def ids(statement: str, *parameters: str) -> list[str]:
        rows = conn.execute(statement.encode(), (org.name, *parameters)).fetchall()
        return [str(each) for (each,) in rows]

    operate(conn, "namespace.update", org=org.name, namespace="bait")
    token = mint_token(conn, org=org.name, label=NAMED).answer["token_id"]
    spaces = ids("select namespace_id from loom.namespace where org = %s and name = 'bait'")
    of_user = "from loom.memory where org = %s and user_id = %s"
    return {
        "memory_id": ids(f"select memory_id {of_user}", USER),
        "loomId": [loom],
        "seedFromLoomId": [loom],
        "include_looms": [[loom]],
        "threadId": ids(
            "select thread_id from loom.loom_thread where org = %s and loom_id = %s", loom
        ),
        "weavingId": ids(
            "select weaving_id from loom.loom_weaving where org = %s and loom_id = %s", loom
        ),
        "namespaceId": spaces,
        "token_id": [token],
        "org": [org.name, "globex"],
        "namespace": [SPACE, "A", "a%", "bait", "main"],
        **{name: [USER, "a", "-", "*"] for name in ("user_id", "userId", "read_user_id")},
        "session_id": [SESSION, "s2", "-"],
        "agent": ["a", "-"],
        **{name: ["a", "scratchpad", "persona"] for name in ("block_key", "memory_key", "label")},
        "block_keys": [["a", "scratchpad"]],
        "labels": [["persona"]],
        "key_prefix": ["s", "a"],
        "query": ["private", "canary secret", "session", "named user"],
        "scope": [{"user": USER}, {}, "org"],
        "read_scope": ["namespace", "user"],
        "readScope": ["namespace"],
        "signal_ids": [["1", "2"]],
        **{name: [True] for name in ("include_deleted", "includeDeleted", "layered", "explain")},
        **{name: [100] for name in ("limit", "pageSize")},
    }


def a_day(api: Api, org: Org) -> None:
    """An admin sends the org's text in every field of every operation, as an idempotency key, in
    every path and as a token: much of it is refused, and any of it may be logged."""
    numbers = iter(range(1_000_000))
    for op, body in _with_the_text(org):
        headers = {"Idempotency-Key": f"{org.canary}{next(numbers)}"}
        response = api.call(op, body, token=org.token.text, headers=headers)
        assert response.status_code < 500 or op == "memory.ask", (op, body, response.text)
    bearer = {"Authorization": f"Bearer {org.token.text}"}
    for route in ROUTES:
        path = route.path.replace("{", org.canary).replace("}", "")
        api.client.request(
            route.method, api.url + path, headers=bearer, params={"userId": org.canary}
        )
    for path in (f"/v1/{org.canary}", f"/{org.canary}", f"/v1/memory.get?q={org.canary}"):
        api.client.post(api.url + path, headers=bearer, content=org.canary)
    for token in (org.canary, f"loom_{org.canary}_x"):
        api.call("memory.list", {"namespace": SPACE}, token=token)


def _with_the_text(org: Org) -> Iterator[tuple[str, Answer]]:
    for op, operation in OPERATIONS.items():
        valid = {**VALID[op], "org": org.name}
        yield op, valid
        for name in operation.request.__struct_fields__:
            yield op, {**valid, name: org.canary}
            yield op, {**valid, name: [org.canary, {org.canary: org.canary}]}


def telling(request: Request) -> Step:
    """A model that tells everything it was told, as its answer or, half of what is of globex, as
    its error. What it was given of others would so be told to whoever asked."""
    if request.path.endswith("/embeddings"):
        return by_the_words(DIMENSION)(request)
    messages = request.body["messages"]
    told = messages[-1]["content"]
    if GLOBEX in told and crc32(told.encode()) % 2:
        return refusal(400, f"I cannot do this: {told}")
    if stand_in.understands(messages):
        return by_the_facts(request)
    if "<question>" in told:
        return completion({"answer": told[:20_000], "facts": [1]})
    if "<turns>" in told:
        change = {"action": "add", "thread": None, "text": told[-4000:], "turns": [1]}
        return completion({"operations": [{**change, "reason": told[-100:]}]})
    return completion({"summary": told[-3000:]})


def mixed(requests: list[Request], planted: Planted) -> list[str]:
    """What a model was asked with texts of both orgs."""
    found = []
    for request in requests:
        told = json.dumps(request.body, ensure_ascii=False)
        orgs = [org for org, texts in planted.texts.items() if any(each in told for each in texts)]
        if len(orgs) > 1:
            found.append(f"asked {request.path} about {orgs}: {told[:1000]}")
    return found

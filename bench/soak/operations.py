"""What the load is made of: operations over all planes, with how often each comes.

Users, keys and labels are from fixed sets. What a user's rows grow by is taken back by deletions,
expiry and, for all of a user at once, erasures.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from typing import Any, Final, NamedTuple

from bench.workloads import ORG

USERS: Final = 64
NAMESPACES: Final = ("support", "sales")
LOOMS: Final = 4
BLOCKS: Final = 6
FACTS: Final = 20
SECTIONS: Final = 5
APPENDS: Final = 4
"""One of so many additions begins the text anew, so that none comes to its limit."""

TTL_SECONDS: Final = 20

PROPERTIES: Final = ("city", "role", "tool")
SCHEMA: Final = {
    "type": "object",
    "properties": {name: {"type": "string", "description": f"Their {name}"} for name in PROPERTIES},
}

_TYPES: Final = ("semantic", "semantic", "preference", "decision", "episodic")
# fmt: off
_WORDS: Final = (
    "invoice", "refund", "currency", "harbour", "garden", "violin", "station", "winter", "market",
    "letter", "bridge", "coffee", "report", "ticket", "deploy", "schema", "query", "backup",
    "branch", "release", "budget", "contract", "meeting", "travel",
)
# fmt: on

Request = dict[str, Any]
Make = Callable[["Where"], Request]


class Call(NamedTuple):
    """One call: the operation and its request."""

    op: str
    request: Request


class Where(NamedTuple):
    """What a request is made from. `writer` numbers the client, `n` its calls."""

    random: Random
    writer: int
    n: int
    looms: Sequence[str]

    @property
    def place(self) -> Request:
        """A namespace, an agent and a user."""
        user = self.random.randrange(USERS)
        return {
            "org": ORG,
            "namespace": NAMESPACES[user % len(NAMESPACES)],
            "agent": f"agent-{user % 3}",
            "user_id": f"user-{user:03}",
        }

    @property
    def text(self) -> str:
        """A short text; a few words of a small vocabulary, and numbers that make it another one."""
        words = self.random.choices(_WORDS, k=12)
        return f"{' '.join(words)} {self.writer}.{self.n}"

    @property
    def words(self) -> str:
        """A question."""
        return " ".join(self.random.sample(_WORDS, 3))

    def one(self, name: str, of: int) -> str:
        """A name of a fixed set."""
        return f"{name}-{self.random.randrange(of)}"


def _block(w: Where) -> Request:
    return w.place | {"block_key": w.one("block", BLOCKS)}


def _log(w: Where) -> Request:
    """Working memory of a run."""
    return w.place | {"run_id": f"run-{w.writer}", "block_key": f"log-{w.n % 3}"}


def _fact(w: Where) -> Request:
    kind = w.random.choice(_TYPES)
    return w.place | {"memory_key": f"{kind}-{w.random.randrange(FACTS // 4)}"}


def _said_fact(w: Where) -> Request:
    request = _fact(w)
    return request | {"value": w.text, "memory_type": request["memory_key"].partition("-")[0]}


def _passing_fact(w: Where) -> Request:
    key = {"memory_key": w.one("passing", FACTS), "ttl_seconds": TTL_SECONDS}
    return w.place | key | {"value": w.text}


def _property(w: Where) -> Request:
    name = w.random.choice(PROPERTIES)
    return w.place | {"memory_key": name, "value": f"{name}: {w.random.choice(_WORDS)}"}


def _section(w: Where) -> Request:
    return w.place | {"label": w.one("section", SECTIONS)}


def _signals(w: Where) -> Request:
    """What a user says, under an id, so that it counts once."""
    text = f"I'm a backend engineer and I use Python and {w.random.choice(_WORDS)}."
    place = w.place
    return {name: place[name] for name in ("org", "namespace", "user_id")} | {
        "signals": [{"id": f"{w.writer}-{w.n}", "text": text}]
    }


def _whose(w: Where) -> Request:
    place = w.place
    return {name: place[name] for name in ("org", "namespace", "user_id")}


def _loom(w: Where) -> Request:
    """A user's place at a loom, which is its namespace's."""
    number = w.random.randrange(USERS)
    loom = number % len(w.looms)
    return {
        "org": ORG,
        "namespace": NAMESPACES[loom % len(NAMESPACES)],
        "loomId": w.looms[loom],
        "userId": f"user-{number:03}",
    }


def _question(w: Where) -> Request:
    return w.place | {"query": w.words}


def _batch(w: Where) -> Request:
    place = w.place
    item = {"op": "working_memory.set"} | place
    items = [item | {"block_key": f"block-{n}", "content": w.text} for n in range(BLOCKS)]
    return {"org": ORG, "requests": items}


def _erased(w: Where) -> Request:
    place = w.place
    return {"org": ORG, "user_id": place["user_id"]}


class Operation(NamedTuple):
    """An operation, how often it comes among the others, and what it sends."""

    op: str
    weight: float
    make: Make
    with_key: bool = False
    """Whether under an idempotency key, whose answer is kept for a day."""


OPERATIONS: Final[Sequence[Operation]] = (
    Operation("working_memory.set", 12, lambda w: _block(w) | {"content": w.text}),
    Operation("working_memory.set", 2, lambda w: _block(w) | {"content": w.text}, with_key=True),
    Operation("working_memory.append", 6, lambda w: _log(w) | {"addition": w.text[:40]}),
    Operation("working_memory.get", 12, _block),
    Operation("working_memory.render", 6, lambda w: w.place | {"layered": True}),
    Operation("working_memory.delete", 2, _block),
    Operation("working_memory.list", 1, lambda w: w.place),
    Operation("batch", 1, _batch),
    Operation("memory.set", 10, _said_fact),
    Operation("memory.set", 3, _passing_fact),
    Operation("memory.set", 1, _property),
    Operation("memory.get", 8, _fact),
    Operation("memory.list", 1, lambda w: w.place),
    Operation("memory.history", 0.5, _fact),
    Operation("memory.delete", 2, _fact),
    Operation("memory.search", 3, _question),
    Operation("search.query", 1, _question),
    Operation("memory.ask", 0.2, _question),
    Operation("context.pack", 3, _question),
    Operation("profile.set", 2, lambda w: _section(w) | {"value": w.text}),
    Operation("profile.append", 1, lambda w: _section(w) | {"addition": w.text[:40]}),
    Operation("profile.delete", 0.3, _section),
    Operation("profile.render", 4, lambda w: w.place),
    Operation("profile.structured", 3, _whose),
    Operation("user_profile.update", 1.5, _signals),
    Operation("user_profile.update", 0.5, lambda w: _signals(w) | {"source": "llm"}),
    Operation("user_profile.render", 2, _whose),
    Operation("looms.bind", 1, lambda w: _loom(w) | {"agents": ["agent-1"]}),
    Operation("looms.activity", 1, lambda w: _loom(w) | {"text": w.text, "agent": "agent-1"}),
    Operation("looms.thread_add", 0.3, lambda w: _loom(w) | {"text": w.text}),
    Operation("looms.thread_list", 0.3, _loom),
    Operation("looms.inspection", 0.2, _loom),
    Operation("erasure.request", 0.2, _erased),
)

_WEIGHTS: Final = [operation.weight for operation in OPERATIONS]


def drawn(where: Where) -> tuple[Call, str | None]:
    """The next call of a client, and its idempotency key."""
    chosen = where.random.choices(OPERATIONS, _WEIGHTS)[0]
    op, request = chosen.op, chosen.make(where)
    if where.random.randrange(APPENDS) == 0:
        op, request = _anew(op, request)
    return Call(op, request), f"{where.writer}-{where.n}" if chosen.with_key else None


def _anew(op: str, request: Request) -> tuple[str, Request]:
    """In place of an addition the text's beginning; anything else as it is."""
    if op.endswith(".append"):
        field = "content" if op == "working_memory.append" else "value"
        kept = {name: value for name, value in request.items() if name != "addition"}
        return op.replace(".append", ".set"), kept | {field: request["addition"]}
    return op, request

"""``make bench-search-quality``: how often a search finds the fact that answers a question.

Among its first five, by full text, by vectors of the local model, and by both.

The facts and questions are our own (bench/data/search_quality.json). They go the way of all facts:
written by memory.set, embedded by a worker, found by memory.search.
"""

from __future__ import annotations

import argparse
import asyncio
import shutil
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import msgspec
import psycopg

from bench.functions import answer
from bench.search_quality_data import FACTS, QUESTIONS, Question
from loom.database import WORKER
from loom.embedded import EmbeddedServer
from loom.embedding import vector_json
from loom.embedding_local import LocalEmbedder
from loom.migrate import migrate
from loom.worker.handlers import Connection as WorkerConnection
from loom.worker.handlers.embedding import KIND, Embeddings
from loom.worker.runner import Runner

Connection = psycopg.Connection[Any]

MODEL: Final = "local:use-multilingual-v3"
FIRST: Final = 5
_ROOT: Final = Path(__file__).resolve().parents[1]
_PLACE: Final = {"org": "bench", "namespace": "quality", "user_id": "u"}

LEGS: Final = ("text", "vector", "both")

_GROUPS: Final[Mapping[str, Callable[[Question], bool]]] = {
    "all": lambda question: True,
    "sharing words": lambda question: not question.reworded,
    "reworded": lambda question: question.reworded,
    "English": lambda question: question.language == "en",
    "German": lambda question: question.language == "de",
    "Japanese": lambda question: question.language == "ja",
}


@dataclass(frozen=True)
class Line:
    """A group of questions, and of how many of them each leg has the fact among its first."""

    group: str
    questions: int
    found: Mapping[str, int]

    def recall(self, leg: str) -> float:
        """The share of them."""
        return self.found[leg] / self.questions


def measure(admin: str, worker: str) -> list[Line]:
    """All groups, on a database with the schema. ``admin`` and ``worker`` are logins."""
    with LocalEmbedder(MODEL) as embedder, psycopg.connect(admin, autocommit=True) as conn:
        answer(conn, "embedding_model_add", {"model": MODEL})
        for key, fact in FACTS.items():
            answer(conn, "memory.set", {**_PLACE, "memory_key": key, "value": fact.value})
        asyncio.run(_embed(embedder, worker))
        vectors = asyncio.run(embedder.embed([each.query for each in QUESTIONS], 60)).vectors
        ranked = [
            _ranked(conn, question, vector_json(vector))
            for question, vector in zip(QUESTIONS, vectors, strict=True)
        ]
    return [_line(group, belongs, ranked) for group, belongs in _GROUPS.items()]


async def _embed(embedder: LocalEmbedder, worker: str) -> None:
    async def connect() -> WorkerConnection:
        return await psycopg.AsyncConnection.connect(worker, autocommit=True)

    await Runner({KIND: Embeddings(embedder)}, connect, 1).sweep()


def _ranked(conn: Connection, question: Question, vector: bytes) -> dict[str, list[str]]:
    """The keys that each leg finds first."""
    request = {**_PLACE, "query": question.query, "limit": 100}
    embedding = {"model": MODEL, "vector": msgspec.json.decode(vector)}
    text = answer(conn, "memory.search", request)["items"]
    both = answer(conn, "memory.search", {**request, "query_embedding": embedding})
    if not both["legs"]["vector"]["ran"]:
        raise RuntimeError(f"vectors were not searched: {both['legs']}")
    by_vector = [item for item in both["items"] if "vector" in item["legs"]]
    by_vector.sort(key=lambda item: item["legs"]["vector"])
    found = {"text": text, "vector": by_vector, "both": both["items"]}
    return {leg: [item["memory_key"] for item in items[:FIRST]] for leg, items in found.items()}


def _line(
    group: str, belongs: Callable[[Question], bool], ranked: Sequence[Mapping[str, list[str]]]
) -> Line:
    asked = [
        (question, found)
        for question, found in zip(QUESTIONS, ranked, strict=True)
        if belongs(question)
    ]
    found = {leg: sum(question.expects in each[leg] for question, each in asked) for leg in LEGS}
    return Line(group, len(asked), found)


def text(lines: Sequence[Line], version: str) -> str:
    """The report, in Markdown."""
    rows = [
        f"| {line.group} | {line.questions} | "
        + " | ".join(f"{line.recall(leg):.2f}" for leg in LEGS)
        + " |"
        for line in lines
    ]
    return "\n".join(
        [
            f"{datetime.now(UTC).date().isoformat()}; PostgreSQL {version}; {len(FACTS)} facts of "
            f"one user, text search language `simple`; vectors of `{MODEL}`",
            "",
            f"Share of questions whose fact is among the first {FIRST}.",
            "",
            "| questions | | full text | vectors | both |",
            "|---|--:|--:|--:|--:|",
            *rows,
            "",
        ]
    )


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, print, and keep the results."""
    parser = argparse.ArgumentParser(prog="make bench-search-quality", description=__doc__)
    parser.add_argument("--data", type=Path, default=_ROOT / "build")
    parser.add_argument("--results", type=Path, default=_ROOT / "bench" / "results")
    args = parser.parse_args(argv)
    args.data.mkdir(parents=True, exist_ok=True)
    with ExitStack() as stack:
        folder = Path(tempfile.mkdtemp(prefix="bench-", dir=args.data))
        folder.chmod(0o711)  # root's server runs as another account, which passes through
        stack.callback(shutil.rmtree, folder, ignore_errors=True)
        embedded = EmbeddedServer(
            folder / "data", logins=(WORKER,), say=lambda said: print(said, file=sys.stderr)
        )
        server = stack.enter_context(embedded)
        stack.push(lambda *_: shutil.rmtree(server.data.parent, ignore_errors=True))
        stack.callback(embedded.release)
        migrate(server.dsn(), log=lambda line: None)
        lines = measure(server.dsn(), server.dsn(WORKER))
        with psycopg.connect(server.dsn()) as conn:
            version = conn.info.server_version
    report = text(lines, f"{version // 10000}.{version % 10000}")
    print(report)
    name = f"{datetime.now(UTC).date().isoformat()}-search-quality.md"
    (args.results / name).write_text(report)
    return 0


if __name__ == "__main__":
    sys.exit(main())

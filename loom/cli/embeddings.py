"""`loom embeddings`: the models that make vectors, and what an operator does with them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final

import psycopg
from psycopg.types.json import Jsonb

from loom.cli.operator import table
from loom.embedding_index import EmbeddingIndex, EmbeddingsError, vector_schema
from loom.installation import Installation

Connection = psycopg.Connection[Any]
Say = Callable[[str], None]
Models = Sequence[Mapping[str, Any]]

WATCH_SECONDS: Final = 2.0
COUNTED: Final = 10_000
"""The database counts no further."""

_STATEMENTS: Final = {
    "add": "select loom.embedding_model_add(%s)",
    "activate": "select loom.embedding_model_activate(%s)",
    "retire": "select loom.embedding_model_retire(%s)",
    "drop": "select loom.embedding_model_drop(%s)",
}


def status(installation: Installation, say: Say, *, watch: bool = False) -> int:
    """Print all models with how far each is; with ``watch`` until none is being built."""
    with _operator(installation) as conn:
        if watch:
            _watch(conn, say)
        told = _progress(conn)
        if not told["vectors"]:
            print("the database has no pgvector: search is by text alone")
        elif not told["models"]:
            print("no model yet; `loom embeddings use MODEL` adds one")
        else:
            print(_table(conn, told["models"]))
    return 0


def use(
    installation: Installation, say: Say, model: str, *, at_once: bool = False, watch: bool = False
) -> int:
    """Have vectors made of a model, and search by it when all texts have one, or at once."""
    with _operator(installation) as conn:
        models = _manage(conn, "add", model=model)["models"]
        if at_once:
            models = _manage(conn, "activate", model=model)["models"]
        if _of(models, model)["state"] == "active":
            print(f"searches go by {model}")
            return 0
        say(
            f"{model} is being built by workers with LOOM_EMBEDDING_MODEL={model}; "
            "`loom embeddings status` shows how far it is"
        )
        if watch:
            _watch(conn, say)
            print(f"searches go by {model}")
    return 0


def retire(installation: Installation, say: Say, model: str) -> int:
    """Take a model out of use; its vectors stay."""
    with _operator(installation) as conn:
        _known(conn, model)
        _manage(conn, "retire", model=model)
    print(f"{model} is out of use; `loom embeddings drop` removes its vectors")
    return 0


def index(installation: Installation, say: Say, model: str) -> int:
    """Build the model's index, while Loom is in use."""
    with _operator(installation) as conn, _operator(installation) as other:
        built = _index(conn, model).build(conn, other, say)
    print("the index is built" if built else "the index is there already")
    return 0


def drop(installation: Installation, say: Say, model: str) -> int:
    """Remove a retired model: its index, its vectors, itself."""
    with _operator(installation) as conn:
        found = _known(conn, model)
        if found["state"] != "retired":
            raise EmbeddingsError(f"{model} is in use: `loom embeddings retire` comes first")
        if found["dimension"] is not None:
            _index(conn, model).drop(conn)
        removed = 0
        done = False
        while not done:
            answer = _manage(conn, "drop", model=model)
            removed, done = removed + answer["removed"], answer["done"]
            if not done:
                say(f"{removed} vectors removed")
    print(f"{model} is removed, with {removed} vectors")
    return 0


@contextmanager
def _operator(installation: Installation) -> Iterator[Connection]:
    """The migration login, which owns what these commands change."""
    if installation.is_embedded:
        installation.migrate(in_passing=True)
    with psycopg.connect(installation.migration_dsn, autocommit=True) as conn:
        yield conn


def _progress(conn: Connection) -> Mapping[str, Any]:
    row = conn.execute("select loom.embedding_progress()").fetchone()
    return dict(row[0]) if row else {}


def _manage(conn: Connection, verb: str, **request: Any) -> Mapping[str, Any]:
    row = conn.execute(_STATEMENTS[verb].encode(), (Jsonb(request),)).fetchone()
    return dict(row[0]) if row else {}


def _of(models: Models, model: str) -> Mapping[str, Any]:
    for each in models:
        if each["model"] == model:
            return each
    raise EmbeddingsError(f"there is no model {model}; `loom embeddings status` lists them")


def _known(conn: Connection, model: str) -> Mapping[str, Any]:
    return _of(_progress(conn)["models"], model)


def _index(conn: Connection, model: str) -> EmbeddingIndex:
    schema = vector_schema(conn)
    dimension = _known(conn, model)["dimension"]
    if dimension is None:
        raise EmbeddingsError(f"{model} has no vectors yet")
    return EmbeddingIndex(model, dimension, schema)


def _watch(conn: Connection, say: Say) -> None:
    """Say how far the model is that is being built, until none is."""
    told = None
    while True:
        building = [each for each in _progress(conn)["models"] if each["state"] == "building"]
        if not building:
            return
        text = "; ".join(f"{each['model']}: {_done(each)}" for each in building)
        if text != told:
            say(text)
        told = text
        time.sleep(WATCH_SECONDS)


def _is_whole(model: Mapping[str, Any]) -> bool:
    return bool(model["state"] == "active" and model["swept"] and not model["due"])


def _done(model: Mapping[str, Any]) -> str:
    """How many of the texts have their vectors. Those that are waiting were looked at, but for
    what was written since, so that it is an estimate."""
    made = max(0, model["listed"] - model["due"])
    total = max(model["total"], made)
    share = f", {100 * made // total} %" if total else ""
    return f"{made} of {total}{share}"


def _table(conn: Connection, models: Models) -> str:
    rows = [
        {
            **model,
            "done": "whole" if _is_whole(model) else _done(model),
            "due": f"{COUNTED} or more" if model["due"] >= COUNTED else str(model["due"]),
            "given_up": str(model["given_up"]),
            "index": _indexed(conn, model),
        }
        for model in models
    ]
    return table(rows, ("model", "dimension", "state", "done", "due", "given_up", "index"))


def _indexed(conn: Connection, model: Mapping[str, Any]) -> str:
    if model["dimension"] is None:
        return "none"
    valid = EmbeddingIndex(model["model"], model["dimension"], vector_schema(conn)).is_valid(conn)
    return {None: "none", True: "built", False: "unfinished"}[valid]

"""The served OpenAPI description, made fit for a stateful fuzz.

Two things are added to what the server publishes. Links: what one operation answers (a key, a hash,
an id, a cursor) is what another one takes, found by the names of the fields, so that operations
made later are linked without a word here. The routes of looms take ids in their paths: they follow
what makes these. And closed answers: a field that the description does not name is an error in an
answer, too.
"""

from __future__ import annotations

import copy
from collections.abc import Collection, Iterator
from random import Random
from typing import Any

from loom.app.looms import ROUTES
from loom.types import OPERATIONS

Json = dict[str, Any]

_SCHEMAS = "#/components/schemas/"

REST = "rest."
"""What the ids of the routes of looms begin with; behind it stands the operation."""

PLACES = frozenset({"org", "namespace", "agent", "user_id", "session_id", "run_id"})
"""Fields that say where something is; on their own they lead nowhere."""

# Request field: the fields of answers whose value it takes, beside that of its own name.
_ALSO = {
    "if_match_sha256": ("content_sha256",),
    "if_none_match": ("sha256",),
    "cursor": ("next_cursor",),
    "old": ("content",),
    "if_match_version": ("version",),
    "expected_version": ("version",),
    "loomId": ("id",),
    "threadId": ("id",),
    "weavingId": ("id",),
}


def routes() -> set[str]:
    """The ids of every way to an operation: its own path, and the routes of looms."""
    return {*OPERATIONS, *(f"{REST}{route.op}" for route in ROUTES)}


MAKES = {"looms.create": "loomId", "looms.thread_add": "threadId", "looms.weave": "weavingId"}
"""Operations by the field in which others take the id of what they make."""


def prepared(document: Json) -> Json:
    """A copy of the description with links and closed answers."""
    made = copy.deepcopy(document)
    found = [each for path in made["paths"].values() for each in path.values()]
    routes = [each for each in found if each.get("operationId", "").startswith(REST)]
    operations = [each for each in found if "operationId" in each and each not in routes]
    for source in operations:
        _close(made, _answer(source))
        links = dict(_links(made, source, operations))
        source["responses"]["200"]["links"] = links | dict(_links_to_routes(made, source, routes))
    for route in routes:
        _close(made, _answer(route))
        links = dict(_links_to_routes(made, route, routes))
        route["responses"]["200"]["links"] = links | {f"{route['operationId']} again": _to(route)}
    return made


def taken(wanted: Collection[str], answer: Json, random: Random) -> Json:
    """Of the fields that an operation takes, those that an answer (or an item of it) has."""
    items = answer.get("items")
    found = {**answer, **random.choice(items)} if isinstance(items, list) and items else answer
    if isinstance(answer.get("entity"), dict):
        found = {**found, **answer["entity"]}
    body = {}
    for name in sorted(wanted):
        for candidate in (name, *_ALSO.get(name, ())):
            if found.get(candidate) is not None:
                body[name] = found[candidate]
                break
    for name in [name for name in body if name.endswith("_key")]:
        # A row is named by its key or by its id, not by both.
        other = f"{name.removesuffix('_key')}_id"
        if other in body:
            del body[random.choice((name, other))]
    return body


def _links(document: Json, source: Json, targets: list[Json]) -> Iterator[tuple[str, Json]]:
    found = set(_properties(document, _answer(source)))
    items = _properties(document, _answer(source)).get("items", {})
    found.update(_properties(document, items.get("items", {})))
    found.update(_properties(document, _properties(document, _answer(source)).get("entity", {})))
    for target in targets:
        wanted = _properties(
            document, target["requestBody"]["content"]["application/json"]["schema"]
        )
        shared = any(
            found.intersection((name, *_ALSO.get(name, ()))) for name in wanted.keys() - PLACES
        )
        # What has nothing to hand on follows itself: schemathesis leaves out what has no link.
        if shared or source is target:
            yield (
                f"{source['operationId']} to {target['operationId']}",
                # The whole answer: which of its fields are there is known only then.
                {"operationId": target["operationId"], "requestBody": "$response.body"},
            )


def _links_to_routes(
    document: Json, source: Json, routes: list[Json]
) -> Iterator[tuple[str, Json]]:
    """From what makes a thing to every route that has its id in the path, and those of the loom
    that it is in."""
    name = source["operationId"].removeprefix(REST)
    if name not in MAKES:
        return
    made = _properties(document, _properties(document, _answer(source))["entity"])
    pointers = {MAKES[name]: "id", **({"loomId": "loomId"} if "loomId" in made else {})}
    for route in routes:
        taken_ids = {
            f"path.{each['name']}": f"$response.body#/entity/{pointers[each['name']]}"
            for each in route["parameters"]
            if each["in"] == "path" and each["name"] in pointers
        }
        if taken_ids:
            ids = {"parameters": taken_ids}
            yield f"{source['operationId']} to {route['operationId']}", {**_to(route), **ids}


def _to(target: Json) -> Json:
    return {"operationId": target["operationId"]}


def _answer(operation: Json) -> Json:
    schema: Json = operation["responses"]["200"]["content"]["application/json"]["schema"]
    return schema


def _properties(document: Json, schema: Json) -> Json:
    properties: Json = _resolved(document, schema).get("properties", {})
    return properties


def _resolved(document: Json, schema: Json) -> Json:
    while "$ref" in schema:
        schema = document["components"]["schemas"][schema["$ref"].removeprefix(_SCHEMAS)]
    return schema


def _close(document: Json, schema: Any) -> None:
    """Let an answer have no field but those it names, all the way down."""
    if isinstance(schema, list):
        for each in schema:
            _close(document, each)
    elif isinstance(schema, dict):
        schema = _resolved(document, schema)
        if "properties" in schema:
            if "additionalProperties" in schema:
                return  # seen before, or open on purpose
            schema["additionalProperties"] = False
        for each in list(schema.values()):
            _close(document, each)

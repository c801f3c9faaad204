"""The OpenAPI description, made from the operations' types and the error table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from importlib.metadata import PackageNotFoundError, version
from typing import Any, Final

import msgspec

from loom.app.errors import ERRORS, ErrorCode
from loom.app.looms import ROUTES
from loom.types import Operation

_REF: Final = "#/components/schemas/{name}"

# What any operation can answer, and what only one that writes can.
_ALWAYS: Final = (400, 401, 403, 413, 422, 500, 503)
_WRITES: Final = (404, 409, 423)

Json = dict[str, Any]


def description(operations: Mapping[str, Operation]) -> Json:
    """The whole document, OpenAPI 3.1."""
    types = [t for operation in operations.values() for t in (operation.request, operation.answer)]
    schemas, components = msgspec.json.schema_components(types, ref_template=_REF)
    references = dict(zip(types, schemas, strict=True))
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Loom",
            "version": product_version(),
            "description": "Memory for AI agents, kept in PostgreSQL.",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "paths": {
            **{
                operation.path: {"post": _operation(operation, references)}
                for operation in operations.values()
            },
            **_loom_routes(operations, references, components),
            **_pages(),
        },
        "components": {
            "schemas": {**components, "Error": _error_schema(ERRORS)},
            "responses": {f"Error{status}": _error(status) for status in statuses()},
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{"token": []}, {}],
    }


def product_version() -> str:
    """The version of the installed package."""
    try:
        return version("loom-memory")
    except PackageNotFoundError:
        return "0"


def statuses() -> list[int]:
    """Every HTTP status of the error table."""
    return sorted({error.status for error in ERRORS})


def codes(status: int) -> list[ErrorCode]:
    """The errors that are answered with `status`."""
    return [error for error in ERRORS if error.status == status]


def _operation(operation: Operation, references: Mapping[type, Json]) -> Json:
    wanted = {*_ALWAYS, *(_WRITES if operation.mode == "write" else ())}
    if {"loomId", "include_looms"} & set(operation.request.__struct_fields__):
        wanted.add(404)
    parameters = [_REQUEST_ID, _IDEMPOTENCY_KEY] if operation.mode == "write" else [_REQUEST_ID]
    return {
        "operationId": operation.op,
        "summary": operation.summary,
        "description": f"Least role: {operation.role}.",
        "tags": [operation.op.partition(".")[0]],
        "parameters": parameters,
        "requestBody": {"required": True, "content": _json(references[operation.request])},
        "responses": {
            "200": {
                "description": "Done.",
                "headers": _ANSWER_HEADERS,
                "content": _json(references[operation.answer]),
            },
            **{
                str(status): {"$ref": f"#/components/responses/Error{status}"}
                for status in sorted(wanted)
            },
        },
    }


def _loom_routes(
    operations: Mapping[str, Operation], references: Mapping[type, Json], components: Json
) -> Json:
    """The routes of looms: the same operations, with fields in the path and the query."""
    paths: Json = {}
    for route in ROUTES:
        operation = operations[route.op]
        described = _operation(operation, references)
        schema: Json = components[operation.request.__name__]
        required = set(schema.get("required", ()))
        body = {name: s for name, s in schema["properties"].items() if name not in route.fields}
        parameters = [_parameter(n, "path", schema["properties"][n], True) for n in route.fields]
        if route.has_body:
            wanted = sorted(required - set(route.fields))
            content = {**schema, "properties": body, "required": wanted}
            described["requestBody"] = {"required": bool(wanted), "content": _json(content)}
        else:
            del described["requestBody"]
            parameters += [_parameter(n, "query", s, n in required) for n, s in body.items()]
        described["operationId"] = f"rest.{operation.op}"
        described["parameters"] = [*parameters, *described["parameters"]]
        paths.setdefault(route.path, {})[route.method.lower()] = described
    return paths


def _parameter(name: str, place: str, schema: Json, required: bool) -> Json:
    return {"name": name, "in": place, "required": required, "schema": schema}


def _error(status: int) -> Json:
    found = codes(status)
    headers = dict(_ANSWER_HEADERS)
    if status == 503:
        headers["Retry-After"] = {"description": "Seconds.", "schema": {"type": "integer"}}
    return {
        "description": " ".join(f"{error.code}: {error.message}" for error in found),
        "headers": headers,
        "content": _json(_error_schema(found)),
    }


def _error_schema(found: Iterable[ErrorCode]) -> Json:
    errors = list(found)
    return {
        "type": "object",
        "required": ["detail"],
        "properties": {
            "detail": {
                "type": "object",
                "description": "The error; its own fields stand beside the common ones.",
                "required": ["code", "message", "category", "retryable", "request_id"],
                "properties": {
                    "code": {"enum": sorted({error.code for error in errors})},
                    "message": {"type": "string"},
                    "category": {"enum": sorted({error.category for error in errors})},
                    "retryable": {"type": "boolean"},
                    "request_id": {"type": "string"},
                    "hint": {"type": "string", "description": "What to do."},
                    **{
                        name: {"description": f"Of {error.code}."}
                        for error in errors
                        for name in error.fields
                    },
                },
            }
        },
    }


def _pages() -> Json:
    def get(summary: str, content: Json, *others: int) -> Json:
        return {
            "get": {
                "summary": summary,
                "security": [],
                "responses": {
                    "200": {"description": "Done.", "content": content},
                    **{
                        str(status): {"$ref": f"#/components/responses/Error{status}"}
                        for status in others
                    },
                },
            }
        }

    anything = _json({"type": "object"})
    return {
        "/v1/health": get("Whether the process is up.", anything),
        "/v1/ready": get("Whether operations can be answered now.", anything, 503),
        "/v1/openapi.json": get("This description.", anything),
        "/metrics": get(
            "Counts and times for Prometheus.", {"text/plain": {"schema": {"type": "string"}}}
        ),
        "/docs": get("The operations as a page.", {"text/html": {"schema": {"type": "string"}}}),
    }


def _json(schema: Json) -> Json:
    return {"application/json": {"schema": schema}}


_REQUEST_ID: Final[Json] = {
    "name": "X-Request-Id",
    "in": "header",
    "required": False,
    "description": "An id to find this request by, answered back; made when left out or unfit.",
    "schema": {"type": "string", "pattern": "^[A-Za-z0-9._:-]{1,64}$"},
}
_IDEMPOTENCY_KEY: Final[Json] = {
    "name": "Idempotency-Key",
    "in": "header",
    "required": False,
    "description": "The same for every try of one request.",
    "schema": {"type": "string", "maxLength": 200},
}
_ANSWER_HEADERS: Final[Json] = {
    "X-Request-Id": {"description": "The request's id.", "schema": {"type": "string"}}
}

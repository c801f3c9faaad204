"""The fields of a request or an answer as rows of a table, from the OpenAPI description.

What is in a list of objects, or in an object, gets rows of its own under a name such as
`items[].block_key`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

Json = Mapping[str, Any]

_COUNTED = {"string": "characters", "array": "items"}


class Field(NamedTuple):
    """One field. `always`: a request must have it, an answer always does."""

    name: str
    kind: str
    always: bool
    meaning: str


def fields_of(
    schema: Json, schemas: Json, *, prefix: str = "", above: tuple[str, ...] = ()
) -> Iterator[Field]:
    """The fields of an object, each followed by those inside it.

    `schemas` are the components that references point to; `above` the names of those around.
    """
    target, name = _resolve(schema, schemas)
    always = set(target.get("required", ()))
    for field, shape in target.get("properties", {}).items():
        yield Field(
            prefix + field, kind_of(shape, schemas), field in always, _meaning(shape, schemas)
        )
        inner, suffix = _inside(shape, schemas)
        around = (*above, name)
        # A type that holds itself is told once.
        if _resolve(inner, schemas)[1] not in around:
            yield from fields_of(inner, schemas, prefix=prefix + field + suffix, above=around)


def kind_of(shape: Json, schemas: Json) -> str:
    """The type of a field in words, with its range."""
    target, _ = _resolve(shape, schemas)
    if "anyOf" in target:
        return " or ".join(dict.fromkeys(kind_of(each, schemas) for each in target["anyOf"]))
    if "enum" in target:
        return " or ".join(f"`{value}`" for value in target["enum"])
    if "const" in target:
        return f"`{target['const']}`"
    kind = target.get("type", "any JSON value")
    if kind == "array":
        inner, comma, range_ = kind_of(target.get("items", {}), schemas).partition(", ")
        each = f" ({range_})" if comma else ""
        return f"list of {inner}{each}{_range(target, 'array')}"
    return f"{kind}{_range(target, str(kind))}"


def _range(target: Json, kind: str) -> str:
    names = {"string": ("minLength", "maxLength"), "array": ("minItems", "maxItems")}
    low, high = (target.get(name) for name in names.get(kind, ("minimum", "maximum")))
    unit = f" {_COUNTED[kind]}" if kind in _COUNTED else ""
    if low is None and high is None:
        return ""
    if high is None:
        return f", from {low}{unit}"
    if low is None:
        return f", up to {high}{unit}"
    return f", {low} to {high}{unit}"


def _meaning(shape: Json, schemas: Json) -> str:
    """The field's own description, else that of what it is."""
    if "description" in shape:
        return str(shape["description"])
    options = [each for each in shape.get("anyOf", ()) if each.get("type") != "null"]
    for each in options:
        if "description" in each:
            return str(each["description"])
    target, name = _resolve(shape, schemas)
    return str(target.get("description", "")) if name else ""


def _inside(shape: Json, schemas: Json) -> tuple[Json, str]:
    """The object inside a field (empty when there is none), and what joins its name to theirs."""
    for each in shape.get("anyOf", (shape,)):
        target, _ = _resolve(each, schemas)
        if target.get("type") == "array":
            inner, suffix = _inside(target.get("items", {}), schemas)
            return inner, "[]" + suffix
        if "properties" in target:
            return each, "."
    return {}, "."


def _resolve(shape: Json, schemas: Json) -> tuple[Json, str]:
    """A schema itself, and its name where it was a reference."""
    name = ""
    while "$ref" in shape:
        name = str(shape["$ref"]).rpartition("/")[2]
        shape = schemas[name]
    return shape, name

"""`/docs`: the OpenAPI description as one HTML page that loads nothing else."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import escape
from typing import Any, Final

Json = dict[str, Any]

_CODE: Final = re.compile(r"`([^`]+)`")

# What the page may load: nothing. Its style stands in it.
SECURITY_POLICY: Final = b"default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'"

_STYLE: Final = """
:root { color-scheme: light dark; --line: #8884; --soft: #8881; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
code, pre { font: 0.9em ui-monospace, monospace; }
pre { background: var(--soft); padding: 0.75rem; overflow-x: auto; }
h2 { margin-top: 3rem; border-bottom: 1px solid var(--line); }
h3 code { font-size: 1em; }
table { border-collapse: collapse; width: 100%; margin: 0.5rem 0 1rem; }
th, td { text-align: left; vertical-align: top; padding: 0.3rem 0.6rem 0.3rem 0;
  border-bottom: 1px solid var(--line); }
nav a { margin-right: 1rem; white-space: nowrap; }
summary { cursor: pointer; }
.required { font-weight: 600; }
"""


def page(description: Json, base_url: str) -> bytes:
    """The page for an OpenAPI `description`. `base_url` is where its examples go."""
    return "".join(_page(description, base_url)).encode()


def _page(description: Json, base_url: str) -> Iterator[str]:
    operations = {
        path: methods["post"]
        for path, methods in description["paths"].items()
        if "post" in methods and path.startswith("/v1/")
    }
    yield '<!doctype html><html lang="en"><head><meta charset="utf-8">'
    yield '<meta name="viewport" content="width=device-width, initial-scale=1">'
    yield f"<title>Loom: operations</title><style>{_STYLE}</style></head><body>"
    yield f"<h1>Loom {escape(description['info']['version'])}</h1>"
    yield f"<p>{escape(description['info']['description'])} One JSON object in, one out. Send "
    yield "<code>Authorization: Bearer TOKEN</code>; in open mode no token is needed. "
    yield 'The same as <a href="/v1/openapi.json">OpenAPI</a>.</p>'
    yield f"<pre>{escape(_example(base_url))}</pre><nav>"
    for operation in operations.values():
        name = escape(operation["operationId"])
        yield f'<a href="#{name}">{name}</a> '
    yield '<a href="#errors">errors</a></nav>'
    group = ""
    for path, operation in operations.items():
        if operation["tags"][0] != group:
            group = operation["tags"][0]
            yield f"<h2>{escape(group)}</h2>"
        yield from _operation(path, operation, description)
    yield from _errors(description)
    yield "</body></html>"


def _example(base_url: str) -> str:
    body = '{"agent": "triage", "block_key": "lease", "content": "held by worker 7"}'
    return f"curl {base_url}/v1/working_memory.set -d '{body}'"


def _operation(path: str, operation: Json, description: Json) -> Iterator[str]:
    name = escape(operation["operationId"])
    yield f'<h3 id="{name}"><code>POST {escape(path)}</code></h3>'
    yield f"<p>{escape(operation['summary'])} {escape(operation['description'])}</p>"
    request = operation["requestBody"]["content"]["application/json"]["schema"]
    answer = operation["responses"]["200"]["content"]["application/json"]["schema"]
    yield from _fields(_resolve(request, description), description)
    yield "<details><summary>Answer</summary>"
    yield from _fields(_resolve(answer, description), description)
    yield "</details>"


def _fields(schema: Json, description: Json) -> Iterator[str]:
    required = set(schema.get("required", ()))
    yield "<table><tr><th>Field</th><th>Type</th><th>Meaning</th></tr>"
    for name, field in schema.get("properties", {}).items():
        style = ' class="required"' if name in required else ""
        shape, meaning = _shape(field, description)
        star = " *" if name in required else ""
        yield f"<tr><td{style}><code>{escape(name)}</code>{star}</td>"
        yield f"<td>{escape(shape)}</td><td>{_prose(meaning)}</td></tr>"
    yield "</table>"


def _prose(text: str) -> str:
    """Text as HTML; what stands between backticks is code."""
    return _CODE.sub(r"<code>\1</code>", escape(text))


def _shape(field: Json, description: Json) -> tuple[str, str]:
    """The type of a field in a few words, and its description."""
    if "$ref" in field:
        target = _resolve(field, description)
        return "object", str(target.get("description", ""))
    if "anyOf" in field:
        options = [_shape(option, description) for option in field["anyOf"]]
        names = [name for name, _ in options if name != "null"]
        meaning = field.get("description") or next((text for _, text in options if text), "")
        return " or ".join(names), str(meaning)
    if "enum" in field:
        return " | ".join(str(value) for value in field["enum"]), field.get("description", "")
    name = str(field.get("type", "any"))
    if name == "array":
        name = f"list of {_shape(field.get('items', {}), description)[0]}"
    low = field.get("minimum", field.get("minLength"))
    high = field.get("maximum", field.get("maxLength", field.get("maxItems")))
    if low is not None or high is not None:
        name += f" ({'' if low is None else low}–{'' if high is None else high})"
    return name, str(field.get("description", ""))


def _resolve(schema: Json, description: Json) -> Json:
    while "$ref" in schema:
        schema = description["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
    return schema


def _errors(description: Json) -> Iterator[str]:
    yield '<h2 id="errors">Errors</h2><p>An error is <code>{"detail": {"code", "message", '
    yield '"category", "retryable", "request_id", …}}</code>.</p>'
    yield "<table><tr><th>Status</th><th>Codes</th></tr>"
    for name, response in description["components"]["responses"].items():
        status = name.removeprefix("Error")
        yield f"<tr><td>{escape(status)}</td><td>{escape(response['description'])}</td></tr>"
    yield "</table>"

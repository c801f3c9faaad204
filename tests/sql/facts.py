"""Memory rows and profile sections in tests: calling their operations, and looking behind them."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any
from xml.etree import ElementTree

from tests.calls import Answer, Connection, operate
from tests.sql.canonical_json import canonical
from tests.sql.doors import IDENTITY
from tests.sql.texts import sha256

NOON = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
"""When a stopped clock stands still first."""

KEY = "likes"
"""The memory key that `fact` means, where a test does not say otherwise."""

LABEL = "persona"
"""The label that `section` means."""

TYPES = ("semantic", "episodic", "procedural", "preference", "decision", "profile")

_UNKEYED = {"list", "search", "render", "activity"}


def fact(conn: Connection, verb: str, /, **request: Any) -> Answer:
    """Runs `memory.<verb>` directly, as the login of the connection, on the key `KEY`."""
    key = {} if verb in _UNKEYED or "memory_id" in request else {"memory_key": KEY}
    return operate(conn, f"memory.{verb}", **{**IDENTITY, **key, **request})


def section(conn: Connection, verb: str, /, **request: Any) -> Answer:
    """Runs `profile.<verb>` directly, as the login of the connection, on the label `LABEL`."""
    label = {} if verb in _UNKEYED else {"label": LABEL}
    return operate(conn, f"profile.{verb}", **{**IDENTITY, **label, **request})


def value_of(conn: Connection, **request: Any) -> Any:
    """What `memory.get` answers as the value; None as well where nothing is found."""
    return fact(conn, "get", **request).get("value")


def history(conn: Connection, **request: Any) -> list[Answer]:
    """The versions of a row, oldest first."""
    return list(reversed(fact(conn, "history", limit=200, **request)["items"]))


def changes(conn: Connection, **request: Any) -> list[str]:
    """What made each version of a row, oldest first."""
    return [version["change"] for version in history(conn, **request)]


def keys(page: Answer) -> list[str]:
    """The keys of a page of `memory.list`."""
    return [item["memory_key"] for item in page["items"]]


def hash_of(value: Any) -> str:
    """The hash a receipt must name: of the UTF-8 bytes of the value's canonical JSON."""
    return sha256(canonical(value))


def audited(conn: Connection, action: str) -> list[Answer]:
    """The subjects of what was audited as an action, oldest first."""
    rows = conn.execute(
        "select subject from loom.audit where action = %s order by at, audit_id", (action,)
    ).fetchall()
    return [subject for (subject,) in rows]


def each(name: str, *values: Any) -> list[tuple[str, Any]]:
    """A field with each of several values, as parameters of a test."""
    return [(name, value) for value in values]


def xml_sections(text: str) -> list[tuple[Answer, str]]:
    """Attributes and text of each section of an XML render, as an XML parser reads them."""
    if not text:
        return []
    root = ElementTree.fromstring(text)
    assert (root.tag, root.attrib, root.text, root[-1].tail) == ("profile", {}, "\n", "\n")
    for element in root:
        assert (element.tag, len(element)) == ("section", 0)
        assert element.tail == "\n"
        names = ["label", "agent", "user", "session"]
        assert list(element.attrib) == [name for name in names if name in element.attrib]
    return [(element.attrib, element.text or "") for element in root]

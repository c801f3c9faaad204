"""The shape of every request and answer, and the catalogue of operations.

One msgspec Struct per request and one per answer; field names are the names on the wire. The
OpenAPI page is made from these types, and the SDK learns from them which ids an operation takes.
The server does not validate with them: the database alone judges a request, so that REST, SQL and
the SDK answer alike.
"""

from __future__ import annotations

from loom.types.catalogue import OPERATIONS
from loom.types.operation import ADMIN_GROUPS, SCOPES, Mode, Operation, path_of

__all__ = ["ADMIN_GROUPS", "OPERATIONS", "SCOPES", "Mode", "Operation", "path_of"]

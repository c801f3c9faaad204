"""The shape of every request and answer, and the catalogue of operations.

One msgspec Struct per request and one per answer; field names are the names on the wire. The
OpenAPI page is made from these types, and the SDK learns from them which ids an operation takes.
The server does not validate with them: the database alone judges a request, so that REST, SQL and
the SDK answer alike.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from msgspec import Struct

from loom.types import batch, namespace, token, working_memory
from loom.types.fields import Identity, NamespaceScope, OrgScope, Role, RunIdentity

Mode = Literal["read", "write"]

# Narrowest first: a request belongs to the first of these that it is built on.
SCOPES: tuple[type[Struct], ...] = (RunIdentity, Identity, NamespaceScope, OrgScope)

ADMIN_GROUPS = frozenset({"token", "org", "audit"})


@dataclass(frozen=True)
class Operation:
    """One operation: its types, the least role that may call it, and whether it writes."""

    op: str
    request: type[Struct]
    answer: type[Struct]
    role: Role
    mode: Mode
    summary: str
    accumulates: bool = False
    """Doing it twice differs from doing it once, whatever its fields say."""

    @property
    def identity(self) -> tuple[str, ...]:
        """The ids that say whose data is meant.

        A field of such a name outside the request's scope is plain data: the ``namespace`` of
        ``token.mint`` is a bound to set, not a place to act in.
        """
        scope = next(scope for scope in SCOPES if issubclass(self.request, scope))
        return scope.__struct_fields__

    @property
    def path(self) -> str:
        """The HTTP path that answers ``POST``."""
        return path_of(self.op)


def path_of(op: str) -> str:
    """The HTTP path of an operation, known here or not."""
    group = op.partition(".")[0]
    return f"/v1/admin/{op}" if group in ADMIN_GROUPS else f"/v1/{op}"


_CATALOGUE = (
    Operation(
        "working_memory.set",
        working_memory.WorkingMemorySet,
        working_memory.BlockReceipt,
        "writer",
        "write",
        "Replace a block's content, or create the block.",
    ),
    Operation(
        "working_memory.append",
        working_memory.WorkingMemoryAppend,
        working_memory.BlockReceipt,
        "writer",
        "write",
        "Add text at the end of a block, or create the block with it.",
        accumulates=True,
    ),
    Operation(
        "working_memory.replace",
        working_memory.WorkingMemoryReplace,
        working_memory.BlockReplaced,
        "writer",
        "write",
        "Replace every occurrence of a text inside a block.",
        accumulates=True,
    ),
    Operation(
        "working_memory.delete",
        working_memory.WorkingMemoryDelete,
        working_memory.BlockDeleted,
        "writer",
        "write",
        "Delete a block, leaving a tombstone without its text.",
    ),
    Operation(
        "working_memory.get",
        working_memory.WorkingMemoryGet,
        working_memory.BlockRead,
        "viewer",
        "read",
        "Read one block.",
    ),
    Operation(
        "working_memory.list",
        working_memory.WorkingMemoryList,
        working_memory.BlockPage,
        "viewer",
        "read",
        "List blocks without their text.",
    ),
    Operation(
        "working_memory.render",
        working_memory.WorkingMemoryRender,
        working_memory.BlockRender,
        "viewer",
        "read",
        "Render blocks as XML or Markdown for a prompt.",
    ),
    Operation(
        "token.mint",
        token.TokenMint,
        token.TokenMinted,
        "admin",
        "write",
        "Make a token; its secret is shown once.",
        accumulates=True,
    ),
    Operation(
        "token.list",
        token.TokenList,
        token.TokenPage,
        "admin",
        "read",
        "List tokens without their secrets.",
    ),
    Operation(
        "token.revoke",
        token.TokenRevoke,
        token.TokenRevoked,
        "admin",
        "write",
        "Revoke a token.",
    ),
    Operation(
        "namespace.list",
        namespace.NamespaceList,
        namespace.NamespacePage,
        "viewer",
        "read",
        "List the org's namespaces.",
    ),
    Operation(
        "namespace.get",
        namespace.NamespaceGet,
        namespace.NamespaceRead,
        "viewer",
        "read",
        "Read one namespace and its settings.",
    ),
    Operation(
        "namespace.update",
        namespace.NamespaceUpdate,
        namespace.NamespaceUpdated,
        "admin",
        "write",
        "Change a namespace's settings.",
    ),
    Operation(
        "batch",
        batch.Batch,
        batch.BatchResults,
        "viewer",
        "write",
        "Run several operations of one org in one commit.",
    ),
)

OPERATIONS: dict[str, Operation] = {operation.op: operation for operation in _CATALOGUE}

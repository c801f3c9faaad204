"""Door d: the operations as ordinary Litestar handlers, as well as that can be done.

The body is decoded and checked by msgspec as the request's type, a connection comes from a
psycopg_pool, the answer is decoded from jsonb and encoded again by Litestar. All that costs time
without being part of the idiom is off: autocommit (one statement a request needs no BEGIN and
COMMIT), statements prepared at once, msgspec for psycopg's JSON, a pool that is never empty, no
logging, no OpenAPI, uvicorn on uvloop and httptools.

    python -m bench.plain_app SOCKET LIFELINE CONNECTIONS CONNINFO
"""

from __future__ import annotations

import socket
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Final
from uuid import UUID

import msgspec
import psycopg
import uvicorn
from litestar import Litestar, Request, Response, post
from litestar.di import Provide
from litestar.handlers import HTTPRouteHandler
from psycopg.types.json import Jsonb, set_json_dumps, set_json_loads
from psycopg_pool import AsyncConnectionPool

from bench.workloads import WORKLOADS
from loom.app.auth import Caller, caller_of_token
from loom.cli.supervisor import end_with_parent
from loom.types import OPERATIONS, Operation

Pool = AsyncConnectionPool[psycopg.AsyncConnection[Any]]

_CALL: Final = "select loom.call(%s, %s, %s, %s, %s)"


def handler(operation: Operation, pool: Pool) -> HTTPRouteHandler:
    """The route of one operation."""

    async def run(data: Any, caller: Caller) -> dict[str, Any]:
        org = UUID(bytes=caller.org)
        parameters = (org, caller.token_hash, operation.op, Jsonb(data), None)
        async with pool.connection() as connection:
            cursor = await connection.execute(_CALL, parameters)
            row = await cursor.fetchone()
        answer: dict[str, Any] = row[0] if row else {}
        return answer

    run.__annotations__ = {
        "data": operation.request,
        "caller": Caller,
        "return": dict[str, Any],
    }
    return post(operation.path, status_code=200)(run)


def caller(request: Request[Any, Any, Any]) -> Caller:
    """Who calls, by the token."""
    return caller_of_token(request.headers["authorization"].encode("latin-1"))


def refused(request: Request[Any, Any, Any], error: psycopg.Error) -> Response[Any]:
    """The answer to what the database refuses."""
    return Response({"error": {"code": error.sqlstate}}, status_code=422)


def create_app(pool: Pool) -> Litestar:
    """The application; it opens and closes `pool`."""

    @asynccontextmanager
    async def pool_open(app: Litestar) -> AsyncIterator[None]:
        async with pool:
            await pool.wait()
            yield

    ops = {workload.op for workload in WORKLOADS if "d" in workload.doors}
    return Litestar(
        [handler(OPERATIONS[op], pool) for op in sorted(ops)],
        dependencies={"caller": Provide(caller, sync_to_thread=False)},
        exception_handlers={psycopg.Error: refused},
        lifespan=[pool_open],
        openapi_config=None,
        logging_config=None,
    )


def main(arguments: list[str]) -> None:
    """Serve on an inherited socket until SIGTERM, or until the parent ends."""
    listener, lifeline, connections, conninfo = arguments
    end_with_parent(int(lifeline))
    set_json_dumps(msgspec.json.encode)
    set_json_loads(msgspec.json.decode)
    pool: Pool = AsyncConnectionPool(
        conninfo,
        min_size=int(connections),
        max_size=int(connections),
        kwargs={"autocommit": True, "prepare_threshold": 0},
        open=False,
    )
    config = uvicorn.Config(
        create_app(pool),
        loop="uvloop",
        http="httptools",
        ws="none",
        proxy_headers=False,
        server_header=False,
        timeout_keep_alive=75,
        access_log=False,
        log_level="warning",
    )
    # Not uvicorn's own `fd`: it takes the socket for a Unix one, and leaves Nagle's delay on.
    with socket.socket(fileno=int(listener)) as listening:
        uvicorn.Server(config).run(sockets=[listening])


if __name__ == "__main__":
    main(sys.argv[1:])

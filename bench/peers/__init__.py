"""What Loom costs beside what others use for the same: `make bench-peers`.

LangGraph's store on PostgreSQL, on the same server, in the same run, with values alike and durable
commits. Beside the doors of ``make bench`` (a plain SQL, b SQL function, c HTTP, d plain Litestar):

- ``e``: LangGraph's PostgresStore, a connection for each client;
- ``f``: LangGraph's AsyncPostgresStore as its first example sets it up, with one connection;
- ``g``: the same on a pool of 5 to 20 connections, and ``h``: in a pipeline, its two other set-ups;
- ``i``: Loom's SQL functions from one process too, a held connection for each of its tasks.

Also counted: how many of 320 appends to one key are there afterwards when 32 writers make them at
once; and HTTP on 64 connections is held against plain upserts by pgbench.
"""

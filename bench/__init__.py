"""What Loom costs, measured against doing the same without it: `make bench`.

One embedded server with durable commits, and four ways to do the same work on it, the doors:

- ``a``: plain SQL through psycopg, on a table of the same shape;
- ``b``: the SQL function through psycopg, as the login of a trusted service;
- ``c``: HTTP to the API's own process, with a token;
- ``d``: HTTP to the same operations written as ordinary Litestar handlers over psycopg_pool.

The doors take turns in short slices, round after round, so that whatever else the machine does
hits all of them alike; what is shown are medians over the rounds.
"""

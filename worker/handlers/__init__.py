"""What the worker can do: one module for each kind of work.

A handler is given an open connection in autocommit mode as ``loom_worker``. It claims one due
piece of its kind, does it, and answers whether there was one; so a False means that nothing of
this kind is due now. What a killed worker leaves half done becomes due again by itself, because a
claim is a lease in the database.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import psycopg

Connection = psycopg.AsyncConnection[Any]
Handler = Callable[[Connection], Awaitable[bool]]

"""Whoever runs a function may run all that it calls.

A right left out shows only where a row takes that way.
"""

from __future__ import annotations

import re
from collections import defaultdict
from typing import NamedTuple

import pytest

from tests.calls import Connection

_FUNCTIONS = """
select p.oid, p.oid::regprocedure::text, p.proname, p.prosrc, p.proowner::regrole::text,
  p.prosecdef, p.prorettype = 'trigger'::regtype
from pg_catalog.pg_proc p where p.pronamespace = 'loom'::regnamespace
"""


class Function(NamedTuple):
    oid: int
    signature: str
    name: str
    source: str
    owner: str
    as_owner: bool
    is_trigger: bool


def missing_rights(db: Connection, role: str) -> set[str]:
    """What functions run with a role's rights call, through any others, that the role may not."""
    functions = [Function(*row) for row in db.execute(_FUNCTIONS.encode()).fetchall()]
    named: dict[str, list[Function]] = defaultdict(list)
    for each in functions:
        named[each.name].append(each)
    # Triggers run with the rights of whoever writes, which may be any of the owners of operations.
    due = [each for each in functions if each.owner == role and each.as_owner]
    if role == "loom_scheduler":
        due += [each for each in functions if each.is_trigger]
    known = {each.oid for each in due}
    reached: list[Function] = []
    while due:
        source = re.sub(r"--[^\n]*", "", due.pop().source)
        for name in set(re.findall(r"loom\.(\w+)\s*\(", source)):
            for each in named[name]:
                if each.oid not in known:
                    known.add(each.oid)
                    reached.append(each)
                    if not each.as_owner:
                        due.append(each)
    assert reached
    statement = "select has_function_privilege(%s, %s::oid, 'execute')"
    return {
        each.signature
        for each in reached
        if db.execute(statement, (role, each.oid)).fetchone() != (True,)
    }


@pytest.mark.parametrize("role", ["loom_api", "loom_scheduler", "loom_search"])
def test_an_owner_of_operations_may_run_all_that_these_call(db: Connection, role: str) -> None:
    assert missing_rights(db, role) == set()


def test_a_right_left_out_is_found_however_deep_it_is_needed(db: Connection) -> None:
    db.execute("revoke execute on function loom._is_double(numeric) from loom_scheduler")
    assert missing_rights(db, "loom_scheduler") == {"loom._is_double(numeric)"}

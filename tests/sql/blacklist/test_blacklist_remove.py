"""blacklist.remove: a pattern off its scope."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import psycopg
import pytest

from tests.calls import Answer, mint_token, operate, refused
from tests.sql.doors import through_api
from tests.sql.facts import audited, fact

Connection = psycopg.Connection[Any]

PLACE: Answer = {"org": "acme", "namespace": "main"}


def add(db: Connection, pattern: str, **more: Any) -> str:
    request = {**PLACE, "pattern": pattern, "pattern_type": "regex", **more}
    return operate(db, "blacklist.add", **request)["blacklist_id"]  # type: ignore[no-any-return]


def remove(db: Connection, blacklist_id: str, **more: Any) -> Answer:
    return operate(db, "blacklist.remove", **{**PLACE, "blacklist_id": blacklist_id, **more})


def test_a_removed_pattern_refuses_nothing_and_the_others_still_do(db: Connection) -> None:
    first, second = add(db, "apple"), add(db, "p[e]ar")
    assert remove(db, first) == {"blacklist_id": first, "found": True}
    fact(db, "set", value="apple")
    with refused(db, "LM407"):
        fact(db, "set", value="pear")
    remove(db, second)
    fact(db, "set", value="pear")
    assert audited(db, "blacklist.remove") == [
        {"blacklist_id": first},
        {"blacklist_id": second},
    ]


def test_o9_removing_twice_or_nothing_is_no_error(db: Connection) -> None:
    entry = add(db, "apple")
    remove(db, entry)
    assert remove(db, entry) == {"blacklist_id": entry, "found": False}
    assert remove(db, str(uuid4()))["found"] is False
    assert len(audited(db, "blacklist.remove")) == 1


def test_a_pattern_is_removed_from_its_own_scope_only(db: Connection) -> None:
    entry = add(db, "apple")
    for elsewhere in (
        {"scope": "org"},
        {"scope": "namespace", "namespace": "other"},
        {"org": "else"},
    ):
        assert remove(db, entry, **elsewhere)["found"] is False
    with refused(db, "LM407"):
        fact(db, "set", value="apple")
    orgs = add(db, "pear", scope="org")
    assert remove(db, orgs, scope="namespace")["found"] is False
    assert remove(db, orgs, scope="org")["found"] is True


@pytest.mark.parametrize("scope", ["namespace", "org"])
def test_an_id_alone_says_which_scope_it_is_of(db: Connection, scope: str) -> None:
    entry = add(db, "apple", scope=scope)
    answer = operate(db, "blacklist.remove", org="acme", blacklist_id=entry)
    assert answer == {"blacklist_id": entry, "found": True}
    fact(db, "set", value="apple")


def test_a_namespaces_admin_does_not_find_the_orgs_entries(db: Connection) -> None:
    entries = [add(db, "apple", scope="org"), add(db, "pear", namespace="other")]
    token = mint_token(db, org="acme", role="admin", namespace="main")
    for entry in entries:
        answer = through_api(db, token, "blacklist.remove", blacklist_id=entry)
        assert answer == {"blacklist_id": entry, "found": False}
    with refused(db, "LM407"):
        fact(db, "set", value="apple")


@pytest.mark.parametrize("blacklist_id", [None, "", "x", 1, "0" * 32])
def test_an_id_is_required_and_a_uuid(db: Connection, blacklist_id: Any) -> None:
    with refused(db, "LM001") as refusal:
        remove(db, blacklist_id)
    assert refusal.detail["field"] == "blacklist_id"

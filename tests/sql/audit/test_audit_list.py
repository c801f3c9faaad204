"""audit.list: what was done in the org that an auditor asks for, and never a value."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import psycopg
import pytest

from tests.calls import Answer, Token, operate, refused
from tests.databases import Clock
from tests.sql.doors import as_service, pages_of, through_api
from tests.sql.facts import NOON, fact, section

Connection = psycopg.Connection[Any]
Mint = Callable[..., Token]

SECRET = "do-not-tell"


@pytest.fixture(autouse=True)
def _noon(clock: Clock) -> None:
    clock.set(NOON)


def audit(db: Connection, **request: Any) -> Answer:
    return operate(db, "audit.list", **{"org": "acme", **request})


def actions(page: Answer) -> list[str]:
    return [item["action"] for item in page["items"]]


def test_an_item_says_what_was_done_when_by_whom_to_what(services: Connection) -> None:
    clock_free = {"org": "acme", "namespace": "main", "agent": "coder", "memory_key": "k"}
    receipt = as_service(services, "loom_test_writer", "memory.set", **clock_free, value=1)
    as_service(services, "loom_test_writer", "memory.pin", **clock_free)
    (item,) = audit(services, action="memory.pin")["items"]
    assert len(item.pop("audit_id")) == 36
    assert item == {
        "at": "2026-03-01T12:00:00.000001Z",
        "actor": "service:loom_test_writer",
        "action": "memory.pin",
        "subject": {"memory_id": receipt["memory_id"]},
    }


def everything(db: Connection) -> None:
    """Does all that is audited, with a secret wherever a caller can put text."""
    named: Answer = {"memory_key": SECRET, "user_id": SECRET, "agent": SECRET}
    fact(db, "set", **named, value=SECRET, tags=[SECRET], source_trace=SECRET)
    for verb, fields in (
        ("lock", {"reason": SECRET}),
        ("unlock", {}),
        ("pin", {}),
        ("unpin", {}),
        ("set", {"value": SECRET, "pinned": True}),
    ):
        fact(db, verb, **named, **fields)
    section(db, "set", value=SECRET, label=SECRET, user_id=SECRET)
    place = {"org": "acme", "namespace": "main"}
    entry = operate(db, "blacklist.add", **place, pattern=f"{SECRET}1", reason=SECRET)
    operate(db, "blacklist.remove", **place, blacklist_id=entry["blacklist_id"])
    operate(db, "org.set_model_calls", org="acme", enabled=False)
    token = operate(db, "token.mint", org="acme", role="admin", label=SECRET)
    operate(db, "token.revoke", org="acme", token_id=token["token_id"])
    fact(db, "redact", **named, reason="told by the auditor")
    operate(db, "erasure.request", org="acme", user_id=SECRET)
    db.execute("select loom.service_bind('loom_test_viewer', 'acme')")
    db.execute("select loom.service_unbind('loom_test_viewer', 'acme')")
    db.execute("select loom.open_mode_set(60)")
    through_api(db, None, "org.set_model_calls", org="acme", enabled=True)


AUDITED = {
    *("memory.lock", "memory.unlock", "memory.pin", "memory.unpin", "memory.redact"),
    *("blacklist.add", "blacklist.remove", "org.set_model_calls", "erasure.request"),
    *("token.mint", "token.revoke", "service.bind", "service.unbind", "open_mode.admin"),
}


def test_all_that_an_auditor_asks_for_is_there_and_nothing_else(db: Connection) -> None:
    everything(db)
    assert set(actions(audit(db, limit=200))) == AUDITED


def test_no_entry_holds_a_value_a_key_or_an_id_of_a_user(db: Connection) -> None:
    everything(db)
    for item in audit(db, limit=200)["items"]:
        if item["action"] != "token.mint":  # a label is how an operator knows the token
            assert SECRET not in json.dumps(item), item["action"]


def test_the_newest_comes_first_page_by_page(db: Connection, clock: Clock) -> None:
    for number in range(7):
        clock.advance(seconds=number % 2)
        operate(db, "org.set_model_calls", org="acme", enabled=number % 2 == 0)
    whole = audit(db)["items"]
    assert len(whole) == 7
    assert whole == sorted(whole, key=lambda item: (item["at"], item["audit_id"]), reverse=True)
    for limit in (1, 3, 6, 7, 200):
        pages = list(pages_of(db, "audit.list", org="acme", limit=limit))
        assert [item for page in pages for item in page["items"]] == whole
        assert [len(page["items"]) for page in pages[:-1]] == [limit] * (len(pages) - 1)


def test_only_one_kind_of_action_when_it_is_named(db: Connection) -> None:
    everything(db)
    for action in AUDITED:
        assert set(actions(audit(db, action=action))) == {action}
    assert audit(db, action="memory.%")["items"] == []
    pages = list(pages_of(db, "audit.list", org="acme", action="memory.pin", limit=1))
    assert [actions(page) for page in pages] == [["memory.pin"], ["memory.pin"]]


def test_each_org_sees_its_own(db: Connection) -> None:
    operate(db, "org.set_model_calls", org="acme", enabled=False)
    assert audit(db, org="else")["items"] == []


@pytest.mark.parametrize("role", ["viewer", "writer"])
def test_the_audit_is_an_admins(services: Connection, mint: Mint, role: str) -> None:
    with refused(services, "LM302") as refusal:
        through_api(services, mint(role=role), "audit.list")
    assert refusal.detail == {"reason": "role", "needed": "admin"}
    with refused(services, "42501"):
        as_service(services, f"loom_test_{role}", "audit.list", org="acme")


def test_an_admin_of_one_namespace_does_not_see_the_orgs_audit(db: Connection, mint: Mint) -> None:
    with refused(db, "LM302") as refusal:
        through_api(db, mint(role="admin", namespace="main"), "audit.list")
    assert refusal.detail == {"reason": "the token is bound to a namespace"}


@pytest.mark.parametrize(
    ("field", "wrong", "sqlstate"),
    [
        *[("limit", wrong, "LM001") for wrong in (0, 201, "1", True)],
        *[("action", 1, "LM001"), ("action", "x" * 101, "LM406"), ("cursor", "x", "LM001")],
        ("namespace", "main", "LM001"),
    ],
)
def test_a_field_of_another_kind_is_refused(
    db: Connection, field: str, wrong: Any, sqlstate: str
) -> None:
    with refused(db, sqlstate):
        audit(db, **{field: wrong})


def test_entries_are_only_ever_added(db: Connection) -> None:
    """No right of the functions' owner changes or removes one."""
    rows = db.execute(
        "select privilege_type from information_schema.role_table_grants"
        " where table_schema = 'loom' and table_name = 'audit' and grantee = 'loom_api' order by 1"
    ).fetchall()
    assert [privilege for (privilege,) in rows] == ["INSERT", "SELECT"]

"""loom._ts: the one way a time becomes text."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import psycopg
import pytest

from tests.calls import operate
from tests.databases import Clock
from tests.sql.doors import batch, through_api, wm

Connection = psycopg.Connection[Any]

HOSTILE = [
    ("Asia/Kathmandu", "SQL, DMY"),
    ("America/St_Johns", "German"),
    ("Pacific/Kiritimati", "Postgres, MDY"),
    ("<-03>+3", "ISO, YMD"),
]
AT = datetime(2026, 12, 31, 23, 59, 59, 70, tzinfo=UTC)
TEXT = "2026-12-31T23:59:59.000070Z"


@pytest.mark.parametrize(
    ("at", "text"),
    [
        ("2026-03-29 02:30:00+02", "2026-03-29T00:30:00.000000Z"),
        ("2026-12-31 23:59:59.9999999+00", "2027-01-01T00:00:00.000000Z"),
        ("1999-01-01 00:00:00.1+05:45", "1998-12-31T18:15:00.100000Z"),
        ("0099-01-01 00:00:00+00", "0099-01-01T00:00:00.000000Z"),
    ],
)
def test_a_time_is_utc_with_microseconds_and_z(db: Connection, at: str, text: str) -> None:
    for zone, style in HOSTILE:
        db.execute("select set_config('timezone', %s, true)", (zone,))
        row = db.execute("select loom._ts(%s::timestamptz)", (at,)).fetchone()
        assert row == (text,), zone
        db.execute("select set_config('datestyle', %s, true)", (style,))
        assert db.execute("select loom._ts(%s)", (AT,)).fetchone() == (TEXT,)


@pytest.mark.parametrize(("zone", "style"), HOSTILE)
def test_no_operation_and_no_door_shows_another_form(
    db: Connection, clock: Clock, zone: str, style: str
) -> None:
    clock.set(AT)
    db.execute("select set_config('timezone', %s, true)", (zone,))
    db.execute("select set_config('datestyle', %s, true)", (style,))
    db.execute("set local intervalstyle = 'sql_standard'")
    place = {"org": "acme", "namespace": "main"}
    minted = operate(db, "token.mint", org="acme", role="admin", ttl_seconds=1)
    assert minted["created_at"] == TEXT
    assert minted["expires_at"] == "2027-01-01T00:00:00.000070Z"
    receipts = [
        wm(db, "set", content="x"),
        wm(db, "append", addition="x"),
        wm(db, "replace", old="x", new="y"),
        wm(db, "get"),
        batch(db, {"op": "working_memory.set", **place, "content": "x"})[0]["result"],
        operate(db, "namespace.update", **place),
        operate(db, "namespace.get", **place),
    ]
    assert {receipt["updated_at"] for receipt in receipts} == {TEXT}
    wm(db, "delete")
    (item,) = wm(db, "list", include_deleted=True)["items"]
    assert {item[name] for name in ("created_at", "updated_at", "deleted_at")} == {TEXT}
    revoked = operate(db, "token.revoke", org="acme", token_id=minted["token_id"])
    (token,) = operate(db, "token.list", org="acme")["items"]
    assert revoked["revoked_at"] == token["revoked_at"] == TEXT
    db.execute("select loom.open_mode_set(60)")
    (listed,) = through_api(db, None, "namespace.list", org="acme")["items"]
    assert listed["created_at"] == TEXT

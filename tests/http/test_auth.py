"""Tokens at the edge, and the guards of open mode."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from loom.app.auth import caller_of_token, stranger
from loom.app.errors import Refusal
from loom.settings import Settings, SettingsError
from tests.calls import mint_token
from tests.cluster import Cluster
from tests.databases import Templates, copy_of
from tests.http.api import Api, detail, running, settings_for_tests
from tests.http.conftest import NO_LOGIN

Connection = psycopg.Connection[Any]

ORG = "0123456789abcdef" * 2
SECRET = "fedcba9876543210" * 4


def test_a_token_is_an_org_and_the_hash_of_its_secret() -> None:
    caller = caller_of_token(f"Bearer loom_{ORG}_{SECRET}".encode())
    assert caller.org == bytes.fromhex(ORG)
    assert caller.token_hash == hashlib.sha256(SECRET.encode()).digest()


def test_the_scheme_is_not_case_sensitive() -> None:
    expected = caller_of_token(f"Bearer loom_{ORG}_{SECRET}".encode())
    assert caller_of_token(f"bearer   loom_{ORG}_{SECRET} ".encode()) == expected


MALFORMED = [
    "",
    "Bearer",
    "Bearer ",
    f"loom_{ORG}_{SECRET}",
    f"Basic loom_{ORG}_{SECRET}",
    f"Bearer loom_{ORG}_{SECRET}0",
    f"Bearer loom_{ORG}_{SECRET[:-1]}",
    f"Bearer loom_{ORG[:-1]}_{SECRET}",
    f"Bearer loom_{ORG}-{SECRET}",
    f"Bearer LOOM_{ORG}_{SECRET}",
    f"Bearer loom_{ORG}_{SECRET.upper()}",
    f"Bearer loom_{ORG}_{SECRET}, Bearer x",
    f"Bearer loom_{ORG}_{SECRET[:-1]}g",
    f"Bearer loom_{ORG}_" + "\u0661" * 64,
]


@pytest.mark.parametrize("header", MALFORMED)
def test_what_is_no_token_of_ours_is_refused_at_the_edge(header: str) -> None:
    with pytest.raises(Refusal) as refused:
        caller_of_token(header.encode())
    assert refused.value.error.code == "AUTH_REQUIRED"


def test_a_request_without_a_token_is_401_and_asks_the_database_nothing(
    api: Api, admin: Connection
) -> None:
    before = _calls(admin)
    for headers in ({}, {"Authorization": "Bearer nonsense"}, {"Authorization": ""}):
        response = api.client.post(api.url + "/v1/working_memory.get", json={}, headers=headers)
        detail(response, 401, "AUTH_REQUIRED")
        assert response.headers["www-authenticate"] == "Bearer"
    assert _calls(admin) == before


def test_an_unknown_revoked_or_expired_token_is_401(api: Api, admin: Connection) -> None:
    good = mint_token(admin, org="acme", role="viewer", namespace="n")
    assert api.call("working_memory.get", token=good.text).status_code == 200
    assert api.call("token.revoke", {"token_id": good.answer["token_id"]}).status_code == 200
    detail(api.call("working_memory.get", token=good.text), 401, "AUTH_REQUIRED")
    org = good.text.split("_")[1]
    detail(api.call("working_memory.get", token=f"loom_{org}_{SECRET}"), 401, "AUTH_REQUIRED")
    elsewhere = secrets.token_hex(16)
    stolen = api.token.replace(org, elsewhere) if api.token else ""
    detail(api.call("working_memory.get", token=stolen), 401, "AUTH_REQUIRED")


def test_a_token_cannot_bring_its_own_caller(api: Api, admin: Connection) -> None:
    viewer = mint_token(admin, org="acme", role="viewer", namespace="n").text
    grant = {"actor": "x", "role": "admin", "org": "acme"}
    response = api.call("token.list", {"_caller": grant}, token=viewer)
    assert detail(response, 400, "INVALID_REQUEST")["field"] == "_caller"


# Open mode


@pytest.fixture(scope="module")
def open_api(cluster: Cluster, templates: Templates) -> Iterator[Api]:
    """A server in open mode, switched on in its database too."""
    if not cluster.own:
        pytest.skip(NO_LOGIN)
    own = copy_of(cluster, templates.base)
    own.connect().execute("select loom.open_mode_set(60)")
    with running(own, settings=settings_for_tests(auth="open")) as server:
        yield server
    own.close()


def test_open_mode_answers_without_a_token_as_admin_of_dev_and_local(open_api: Api) -> None:
    read = open_api.call("working_memory.set", {"content": "x"}).json()
    assert (read["org"], read["namespace"]) == ("dev", "local")
    assert open_api.call("token.list").status_code == 200


@pytest.mark.parametrize(
    "host", ["localhost", "localhost:7777", "127.0.0.1", "127.8.9.1:80", "[::1]:7777", "LOCALHOST"]
)
def test_open_mode_answers_a_loopback_host(open_api: Api, host: str) -> None:
    assert open_api.call("working_memory.get", headers={"Host": host}).status_code == 200


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "localhost.evil.example",
        "127.0.0.1.evil.example",
        "evil.example:7777",
        "10.0.0.1",
        "0.0.0.0",
        "[::]:7777",
        "user@localhost",
    ],
)
def test_open_mode_refuses_another_host(open_api: Api, host: str) -> None:
    response = open_api.call("working_memory.get", headers={"Host": host})
    assert response.status_code in (400, 401)
    if response.status_code == 401:
        assert "Host" in detail(response, 401, "AUTH_REQUIRED")["reason"]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("Origin", "https://evil.example"),
        ("Origin", "null"),
        ("Origin", "http://localhost:1"),
        ("Origin", "http://127.0.0.1"),
        ("Sec-Fetch-Site", "cross-site"),
        ("Sec-Fetch-Site", "same-site"),
        ("Forwarded", "for=10.0.0.1"),
        ("X-Forwarded-For", "10.0.0.1"),
        ("X-Forwarded-Host", "localhost"),
        ("X-Forwarded-Proto", "https"),
        ("X-Forwarded-Anything", ""),
        ("X-Real-IP", "127.0.0.1"),
        ("Via", "1.1 proxy"),
    ],
)
def test_open_mode_refuses_pages_and_proxies(open_api: Api, name: str, value: str) -> None:
    response = open_api.call("working_memory.get", headers={name: value})
    detail(response, 401, "AUTH_REQUIRED")


def test_open_mode_answers_its_own_origin(open_api: Api) -> None:
    headers = {"Origin": open_api.url, "Sec-Fetch-Site": "same-origin"}
    assert open_api.call("working_memory.get", headers=headers).status_code == 200


def test_a_form_of_another_site_changes_nothing_in_open_mode(open_api: Api) -> None:
    # What a browser sends for <form method=post enctype="text/plain"> on a page elsewhere.
    response = open_api.post(
        "working_memory.set",
        b'{"content":"forged","block_key":"form","agent":"="}\r\n',
        headers={
            "Content-Type": "text/plain",
            "Origin": "https://evil.example",
            "Sec-Fetch-Site": "cross-site",
            "Sec-Fetch-Mode": "navigate",
        },
    )
    detail(response, 401, "AUTH_REQUIRED")
    read = open_api.call("working_memory.get", {"block_key": "form", "agent": "="})
    assert read.json()["found"] is False


def test_two_hosts_are_refused_in_open_mode() -> None:
    headers = [(b"host", b"localhost"), (b"host", b"evil.example")]
    assert stranger(headers, "127.0.0.1") is not None
    assert stranger([], "127.0.0.1") is not None


def test_open_mode_answers_only_this_machine() -> None:
    assert stranger([(b"host", b"localhost")], "127.0.0.1") is None
    assert stranger([(b"host", b"localhost")], "::1") is None
    assert stranger([(b"host", b"localhost")], "10.0.0.7") is not None


@pytest.mark.parametrize("headers", [{}, {"Origin": "https://app.example"}, {"Via": "1.1 proxy"}])
def test_in_open_mode_a_token_is_judged_by_its_token(
    open_api: Api, headers: dict[str, str]
) -> None:
    conn = open_api.database.connect()
    viewer = mint_token(conn, org="acme", role="viewer", namespace="n").text
    read = open_api.call("working_memory.get", token=viewer, headers=headers)
    assert read.status_code == 200
    written = open_api.call("working_memory.set", {"content": "x"}, token=viewer, headers=headers)
    detail(written, 403, "AUTH_INSUFFICIENT")
    detail(
        open_api.call("working_memory.get", token="wrong", headers=headers), 401, "AUTH_REQUIRED"
    )


def test_open_mode_ends_when_it_is_cleared_in_the_database(open_api: Api) -> None:
    conn = open_api.database.connect()
    conn.execute("select loom.open_mode_clear()")
    detail(open_api.call("working_memory.get"), 401, "AUTH_REQUIRED")
    conn.execute("select loom.open_mode_set(60)")
    assert open_api.call("working_memory.get").status_code == 200


def test_a_server_that_requires_tokens_does_not_care_for_open_mode_in_the_database(
    api: Api, admin: Connection
) -> None:
    admin.execute("select loom.open_mode_set(60)")
    response = api.client.post(api.url + "/v1/working_memory.get", json={})
    detail(response, 401, "AUTH_REQUIRED")
    admin.execute("select loom.open_mode_clear()")


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "10.1.2.3", "example.org"])
def test_open_mode_starts_only_on_a_loopback_address(host: str) -> None:
    with pytest.raises(SettingsError) as refused:
        Settings.from_environment({"LOOM_AUTH": "open", "LOOM_HOST": host})
    assert refused.value.variable == "LOOM_AUTH"
    Settings.from_environment({"LOOM_AUTH": "required", "LOOM_HOST": host})


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "::1", "127.9.9.9"])
def test_open_mode_starts_on_any_loopback_address(host: str) -> None:
    assert Settings.from_environment({"LOOM_AUTH": "open", "LOOM_HOST": host}).auth == "open"


def _calls(admin: Connection) -> int:
    """How often this database ran loom.call."""
    row = admin.execute(
        "select coalesce(sum(calls), 0) from loom_test.pg_stat_statements s join pg_database d"
        " on d.oid = s.dbid where datname = current_database() and query like 'SELECT loom.call%'"
    ).fetchone()
    assert row is not None
    return int(row[0])

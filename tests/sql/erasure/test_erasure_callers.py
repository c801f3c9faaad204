"""Who may erase whom: an admin within its bounds, and a pinned token its own user."""

from __future__ import annotations

import pytest

from tests.calls import Answer, Connection, mint_token, refused
from tests.sql.doors import as_service, through_api
from tests.sql.erasure.rows_of import fill, rows_of

OP = "erasure.request"


@pytest.fixture
def filled(services: Connection) -> Connection:
    for namespace in ("main", "other"):
        for user in ("u1", "u2"):
            fill(services, user, namespace=namespace)
    return services


def _namespaces(conn: Connection, user: str) -> set[str]:
    rows = conn.execute("select namespace from loom.memory where user_id = %s", (user,))
    return {namespace for (namespace,) in rows}


@pytest.mark.parametrize("role", ["viewer", "writer"])
def test_one_that_is_neither_admin_nor_pinned_is_refused(filled: Connection, role: str) -> None:
    for bounds in ({}, {"namespace": "main"}):
        token = mint_token(filled, org="acme", role=role, **bounds)
        with refused(filled, "LM302") as refusal:
            through_api(filled, token, OP, user_id="u1")
        assert refusal.detail["reason"] == "role"
    with refused(filled, "LM302"):
        as_service(filled, f"loom_test_{role}", OP, org="acme", user_id="u1")
    assert _namespaces(filled, "u1") == {"main", "other"}


def test_an_admin_erases_any_user_of_its_org(filled: Connection) -> None:
    fill(filled, "u1", org="theirs")
    token = mint_token(filled, org="acme", role="admin")
    with refused(filled, "LM302"):
        through_api(filled, token, OP, org="theirs", user_id="u1")
    through_api(filled, token, OP, user_id="u1")
    as_service(filled, "loom_test_admin", OP, org="acme", user_id="u2")
    assert rows_of(filled, "u1") == rows_of(filled, "u2") == {}
    assert rows_of(filled, "u1", org="theirs")


@pytest.mark.parametrize("named", [{}, {"namespaces": ["main"]}])
def test_an_admin_of_a_namespace_erases_in_it_alone(filled: Connection, named: Answer) -> None:
    token = mint_token(filled, org="acme", role="admin", namespace="main")
    for beyond in (["other"], ["main", "other"]):
        with refused(filled, "LM302") as refusal:
            through_api(filled, token, OP, user_id="u1", namespaces=beyond)
        assert refusal.detail["reason"] == "namespace is not the token's"
    answer = through_api(filled, token, OP, user_id="u1", **named)
    assert answer["namespaces"] == ["main"]
    assert _namespaces(filled, "u1") == {"other"}
    assert _namespaces(filled, "u2") == {"main", "other"}


@pytest.mark.parametrize("named", [{}, {"user_id": "u1"}])
def test_a_pinned_user_erases_itself(filled: Connection, named: Answer) -> None:
    token = mint_token(filled, org="acme", read_user_id="u1")
    for other in ("u2", "-", "U1"):
        with refused(filled, "LM302"):
            through_api(filled, token, OP, user_id=other)
    assert through_api(filled, token, OP, **named)["user_id"] == "u1"
    assert rows_of(filled, "u1") == {}
    assert _namespaces(filled, "u2") == {"main", "other"}


def test_a_pinned_user_of_a_namespace_erases_itself_in_it(filled: Connection) -> None:
    token = mint_token(filled, org="acme", read_user_id="u1", namespace="main")
    with refused(filled, "LM302"):
        through_api(filled, token, OP, namespaces=["other"])
    through_api(filled, token, OP)
    assert _namespaces(filled, "u1") == {"other"}


@pytest.mark.parametrize("bounds", [{"session_id": "s"}, {"session_id": "s", "namespace": "main"}])
def test_a_token_of_one_session_erases_nothing(filled: Connection, bounds: Answer) -> None:
    token = mint_token(filled, org="acme", read_user_id="u1", **bounds)
    with refused(filled, "LM302"):
        through_api(filled, token, OP)
    assert _namespaces(filled, "u1") == {"main", "other"}


def test_a_pinned_viewer_erases_itself_too(filled: Connection) -> None:
    """Whose data it is decides, not what else the token may write."""
    token = mint_token(filled, org="acme", role="viewer", read_user_id="u1")
    with refused(filled, "LM302"):
        through_api(filled, token, OP, user_id="u2")
    through_api(filled, token, OP)
    assert rows_of(filled, "u1") == {}
    assert _namespaces(filled, "u2") == {"main", "other"}

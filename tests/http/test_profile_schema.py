"""Profile schemas over HTTP: what is taken and refused is the same as by SQL."""

from __future__ import annotations

from typing import Any

import pytest

from tests.http.api import Api, detail
from tests.sql.profile_schemas import ACCEPTED, EXAMPLE, REFUSED


@pytest.mark.parametrize("name", ACCEPTED)
def test_a_schema_of_the_subset_is_taken(api: Api, name: str) -> None:
    answer = api.call("profile_schema.set", {"json_schema": ACCEPTED[name]})
    assert answer.status_code == 200, answer.text
    assert answer.json()["json_schema"] == ACCEPTED[name]
    assert api.call("profile_schema.get").json() == answer.json()


@pytest.mark.parametrize(
    ("wrong", "path", "reason"),
    REFUSED,
    ids=[f"{n}-{case[1]}"[:60] for n, case in enumerate(REFUSED)],
)
def test_any_other_is_refused_with_its_place_and_why(
    api: Api, wrong: Any, path: str, reason: str
) -> None:
    answer = api.call("profile_schema.set", {"json_schema": wrong})
    assert detail(answer, 422, "PROFILE_SCHEMA_INVALID") == {"path": path, "reason": reason}


def test_a_schema_is_set_read_and_cleared(api: Api) -> None:
    assert api.call("profile_schema.set", {"json_schema": EXAMPLE}).json()["found"] is True
    assert api.call("profile_schema.clear").json() == {"cleared": True}
    assert api.call("profile_schema.clear").json() == {"cleared": False}
    assert api.call("profile_schema.get").json()["found"] is False

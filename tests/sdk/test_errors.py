"""The error tree: one class per code, the fields of the error as attributes."""

from __future__ import annotations

import pytest

from loom import errors
from loom.errors import (
    BY_CODE,
    BadRequest,
    Conflict,
    LoomError,
    ServerFault,
    StaleWrite,
    WorkingMemoryLimitExceeded,
    from_detail,
)


def test_the_tree_at_the_top_names_every_class_once() -> None:
    classes = [
        value
        for value in vars(errors).values()
        if isinstance(value, type) and issubclass(value, LoomError)
    ]
    named = (errors.__doc__ or "").replace(",", " ").split()
    for one in classes:
        assert named.count(one.__name__) == 1, one.__name__


def test_every_code_has_its_own_class_named_after_it() -> None:
    for code, leaf in BY_CODE.items():
        assert leaf.__name__.upper() == code.replace("_", "")


def test_an_error_carries_code_status_message_and_request_id() -> None:
    error = from_detail(
        409,
        {
            "code": "STALE_WRITE",
            "message": "The block has changed.",
            "category": "conflict",
            "retryable": False,
            "request_id": "abc",
            "current_sha256": "00ff",
            "current_version": 7,
        },
    )
    assert isinstance(error, StaleWrite)
    assert isinstance(error, Conflict)
    assert (error.code, error.status, error.request_id) == ("STALE_WRITE", 409, "abc")
    assert error.fields == {"current_sha256": "00ff", "current_version": 7}
    assert (error.current_sha256, error.current_version) == ("00ff", 7)
    assert "STALE_WRITE: The block has changed." in str(error)


def test_o4_a_refused_write_says_in_numbers_what_would_fit() -> None:
    detail = {"code": "WORKING_MEMORY_LIMIT_EXCEEDED", "value_length": 5000, "char_limit": 4096}
    error = from_detail(422, {**detail, "overage": 904})
    assert isinstance(error, WorkingMemoryLimitExceeded)
    assert (error.value_length, error.char_limit, error.overage) == (5000, 4096, 904)


def test_a_field_the_answer_lacks_is_none() -> None:
    error = from_detail(409, {"code": "STALE_WRITE"})
    assert isinstance(error, StaleWrite)
    assert error.current_sha256 is None


@pytest.mark.parametrize(
    ("status", "category"),
    [(400, BadRequest), (409, Conflict), (418, BadRequest), (599, ServerFault)],
)
def test_an_unknown_code_arrives_as_its_status(status: int, category: type[LoomError]) -> None:
    error = from_detail(status, {"code": "NEW_IN_A_LATER_SERVER", "hint_at": 3})
    assert type(error) is category
    assert (error.code, error.fields) == ("NEW_IN_A_LATER_SERVER", {"hint_at": 3})

"""What happens to a user while the model thinks about its fold: nothing wrong is written, and what
was paid for is recorded."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.calls import operate
from tests.databases import Database
from tests.model_endpoint import ModelEndpoint, by_the_facts
from tests.sql.canaries import tables_with
from tests.sql.erasure.rows_of import erase, rows_of
from tests.sql.facts import fact
from tests.sql.structured_profile.building import FOLD, build_row, settings
from tests.worker.profiles import Site, meanwhile

ROW = {"user_id": "u1", "memory_key": "consolidated_profile", "agent": "-"}


@pytest.fixture
def site(database: Database) -> Site:
    return Site.of_folds(database)


def fold_while(site: Site, change: Callable[[], object]) -> ModelEndpoint:
    """One fold, during which something changes."""
    with ModelEndpoint(answer=meanwhile(change)) as endpoint:
        site.work(endpoint)
    return endpoint


def test_o13_a_fact_deleted_meanwhile_is_not_in_the_section(site: Site) -> None:
    site.prefer("drink", "tea")
    site.prefer("food", "fish")
    endpoint = fold_while(site, lambda: site.forget("food"))
    # Nothing of the first answer was written; a deletion is folded at once.
    assert (site.folded()["value"], site.folded()["version"]) == ("tea", 1)
    assert (endpoint.calls, site.calls()) == (2, [("u1", "OK")] * 2)


@pytest.mark.parametrize("fields", [{}, {"memory_type": "semantic"}, {"sensitivity": "high"}])
def test_o13_a_fact_that_changed_meanwhile_is_read_anew_after_the_cooldown(
    site: Site, fields: dict[str, Any]
) -> None:
    before = site.fold_first()
    site.prefer("food", "fish")
    endpoint = fold_while(site, lambda: site.prefer("drink", "wine", **fields))
    after_all = endpoint.calls == 2  # where it is no source any more, that is a deletion
    assert after_all == bool(fields)
    if after_all:
        assert site.folded()["value"] == "fish"
        return
    build = build_row(site.conn, kind=FOLD)
    assert (build["last_error"], build["attempts"]) == ("SOURCES_CHANGED", 0)
    assert site.folded() == before
    site.clock.advance(seconds=600)
    with ModelEndpoint(answer=by_the_facts) as endpoint:
        assert (site.work(endpoint), endpoint.calls) == (1, 1)
    assert sorted(site.folded()["value"].split("; ")) == ["fish", "wine"]


def test_o70_a_user_erased_meanwhile_gets_nothing_back(site: Site) -> None:
    site.fold_first()
    endpoint = fold_while(site, lambda: erase(site.conn, "u1"))
    assert endpoint.calls == 1
    assert (site.folded()["found"], build_row(site.conn, kind=FOLD)) == (False, {})
    assert set(rows_of(site.conn, "u1").values()) <= {0}
    # The call is counted, but not for whom it was.
    assert site.calls() == [("-", "OK")]
    spent = site.conn.execute("select sum(calls) from loom.model_day").fetchone()
    assert spent == (2,)


def test_a_fact_redacted_meanwhile_is_in_no_version(site: Site) -> None:
    site.prefer("food", "fish")
    site.prefer("drink", "canary")
    key = {"user_id": "u1", "memory_key": "drink"}
    fold_while(site, lambda: fact(site.conn, "redact", **key, reason="asked"))
    assert site.folded()["value"] == "fish"
    assert tables_with(site.conn, "canary") == {}


@pytest.mark.parametrize(
    ("verb", "more", "refused"),
    [
        ("pin", {}, "PINNED_CONFLICT"),
        ("lock", {"reason": "mine"}, "LOCKED"),
        ("label", {"sensitivity": "high"}, "HIGH_SENSITIVITY"),
    ],
)
def test_o31_a_section_held_meanwhile_is_left_as_it_is(
    site: Site, verb: str, more: dict[str, Any], refused: str
) -> None:
    before = site.fold_first()
    endpoint = fold_while(site, lambda: fact(site.conn, verb, **ROW, **more))
    build = build_row(site.conn, kind=FOLD)
    assert (build["refused"], build["attempts"], endpoint.calls) == (refused, 0, 1)
    assert site.folded()["value"] == before["value"]
    assert site.calls() == [("u1", "OK"), ("u1", "OK")]


def test_folds_switched_off_meanwhile_write_nothing(site: Site) -> None:
    before = site.fold_first()
    endpoint = fold_while(site, lambda: settings(site.conn, FOLD, enabled=False))
    build = build_row(site.conn, kind=FOLD)
    assert (build["last_error"], build["attempts"], build["due_at"]) == ("SWITCHED_OFF", 0, None)
    assert (site.folded(), endpoint.calls) == (before, 1)
    with ModelEndpoint(answer=by_the_facts) as endpoint:
        site.clock.advance(hours=1)
        assert site.work(endpoint) == 0
        settings(site.conn, FOLD, enabled=True)
        assert (site.work(endpoint), endpoint.calls) == (1, 1)
    assert site.folded()["value"] == "coffee"


def test_model_calls_switched_off_meanwhile_write_nothing(site: Site) -> None:
    before = site.fold_first()
    place = {"org": "acme", "enabled": False}
    fold_while(site, lambda: operate(site.conn, "org.set_model_calls", **place))
    assert build_row(site.conn, kind=FOLD)["last_error"] == "MODEL_CALLS_OFF"
    assert site.folded() == before


def test_a_lease_that_ran_out_meanwhile_writes_nothing(site: Site) -> None:
    before = site.fold_first()
    endpoint = fold_while(site, lambda: site.clock.advance(seconds=301))
    assert (endpoint.calls, site.folded()) == (1, before)
    site.clock.advance(seconds=600)
    with ModelEndpoint(answer=by_the_facts) as endpoint:
        assert site.work(endpoint) == 1
    assert site.folded()["version"] == 2

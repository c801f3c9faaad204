"""working_memory.render with `layered`: wider layers too, the narrowest winning."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from typing import Any

import psycopg
import pytest

from tests.calls import refused
from tests.sql.doors import wm
from tests.sql.texts import xml_blocks

Connection = psycopg.Connection[Any]
Place = tuple[str, str, str, str]

LEVELS = ("agent", "user_id", "session_id", "run_id")
FULL: Place = ("coder", "u", "s", "r")
PLACES: list[Place] = list(itertools.product(*(("-", name) for name in FULL)))  # type: ignore[arg-type]


def identity(place: Place) -> dict[str, str]:
    return dict(zip(LEVELS, place, strict=True))


def layers(place: Place) -> dict[Place, str]:
    """Where a layered render reads, narrowest first; a place that is two layers is the wider."""
    agent, user, session, run = place
    named = [
        ((agent, user, session, run), "run"),
        ((agent, user, session, "-"), "session"),
        ((agent, user, "-", "-"), "user"),
        ((agent, "-", "-", "-"), "agent"),
        (("-", "-", "-", "-"), "namespace"),
    ]
    return dict(named)


def everywhere(db: Connection, keys: Iterable[str], places: Iterable[Place] = PLACES) -> None:
    """Writes blocks at each place, whose text is the key and the place."""
    for place in places:
        for key in keys:
            wm(db, "set", content=f"{key}@{'/'.join(place)}", block_key=key, **identity(place))


@pytest.mark.parametrize("place", PLACES, ids="/".join)
def test_each_key_once_and_the_narrowest_layer_wins(db: Connection, place: Place) -> None:
    everywhere(db, ["shared"])
    for other in PLACES:
        wm(db, "set", content="own", block_key="own:" + "/".join(other), **identity(other))
    expected = [("shared", f"shared@{'/'.join(place)}", next(iter(layers(place).values())))]
    for number, (layer, name) in enumerate(layers(place).items()):
        own = ("own:" + "/".join(layer), "own", name)
        expected.insert(0 if number == 0 else len(expected), own)
    rendered = wm(db, "render", layered=True, **identity(place))
    texts = xml_blocks(rendered["text"])
    found = [
        (key, text, block["layer"])
        for (key, text), block in zip(texts, rendered["blocks"], strict=True)
    ]
    assert found == expected


@pytest.mark.parametrize("place", PLACES, ids="/".join)
def test_without_layers_only_the_exact_scope_renders(db: Connection, place: Place) -> None:
    everywhere(db, ["k"])
    for layered in (False, None):
        rendered = wm(db, "render", layered=layered, **identity(place))
        assert xml_blocks(rendered["text"]) == [("k", f"k@{'/'.join(place)}")]
        assert rendered["blocks"][0]["layer"] == next(iter(layers(place).values()))


@pytest.mark.parametrize("deepest", range(5))
def test_a_key_missing_in_narrow_layers_comes_from_the_next_wider(
    db: Connection, deepest: int
) -> None:
    reached = list(layers(FULL).items())
    everywhere(db, ["k"], [place for place, _name in reached[deepest:]])
    rendered = wm(db, "render", layered=True, **identity(FULL))
    place, name = reached[deepest]
    assert xml_blocks(rendered["text"]) == [("k", f"k@{'/'.join(place)}")]
    assert rendered["blocks"][0]["layer"] == name


def test_a_tombstone_does_not_hide_the_wider_block(db: Connection) -> None:
    everywhere(db, ["k"], [FULL, ("coder", "-", "-", "-")])
    wm(db, "delete", block_key="k", **identity(FULL))
    rendered = wm(db, "render", layered=True, **identity(FULL))
    assert [block["layer"] for block in rendered["blocks"]] == ["agent"]


def test_the_order_is_layer_then_key(db: Connection) -> None:
    places: dict[str, Place] = {
        "z": FULL,
        "m": ("coder", "u", "s", "-"),
        "c": ("coder", "u", "-", "-"),
        "b": ("coder", "-", "-", "-"),
        "a": ("-", "-", "-", "-"),
    }
    for key, place in places.items():
        everywhere(db, [key, key + "2"], [place])
    rendered = wm(db, "render", layered=True, **identity(FULL))
    keys = [block["block_key"] for block in rendered["blocks"]]
    assert keys == ["z", "z2", "m", "m2", "c", "c2", "b", "b2", "a", "a2"]


def test_named_keys_keep_their_order_over_the_layers(db: Connection) -> None:
    everywhere(db, ["narrow"], [FULL])
    everywhere(db, ["wide"], [("-", "-", "-", "-")])
    rendered = wm(db, "render", layered=True, block_keys=["wide", "narrow"], **identity(FULL))
    assert [block["layer"] for block in rendered["blocks"]] == ["namespace", "run"]


def test_the_limit_cuts_the_widest_layers_first(db: Connection) -> None:
    everywhere(db, ["z"], [FULL])
    everywhere(db, ["a", "b"], [("-", "-", "-", "-")])
    rendered = wm(db, "render", layered=True, limit=2, **identity(FULL))
    assert [block["block_key"] for block in rendered["blocks"]] == ["z", "a"]
    assert rendered["omitted"] == ["b"]


def test_a_hidden_wider_block_is_not_omitted_but_overruled(db: Connection) -> None:
    everywhere(db, ["k"], list(layers(FULL)))
    rendered = wm(db, "render", layered=True, limit=1, **identity(FULL))
    assert (rendered["omitted"], rendered["omitted_count"]) == ([], 0)


def test_other_users_agents_and_namespaces_lend_nothing(db: Connection) -> None:
    everywhere(db, ["other's"], [("coder", "u2", "-", "-"), ("helper", "-", "-", "-")])
    wm(db, "set", content="x", block_key="elsewhere", namespace="other", agent="-")
    wm(db, "set", content="x", block_key="foreign", org="other", agent="-")
    assert wm(db, "render", layered=True, **identity(FULL))["blocks"] == []


def test_o41_layers_do_not_show_in_the_text(db: Connection) -> None:
    for place in (FULL, ("-", "-", "-", "-")):
        wm(db, "set", content="same", block_key="k", **identity(place))
    narrow = wm(db, "render", layered=True, **identity(FULL))
    wide = wm(db, "render", layered=True, agent="-")
    assert (narrow["text"], narrow["sha256"]) == (wide["text"], wide["sha256"])


def test_layered_takes_true_or_false(db: Connection) -> None:
    with refused(db, "LM001") as refusal:
        wm(db, "render", layered="yes")
    assert refusal.detail == {"field": "layered", "reason": "must be true or false"}

"""looms.create and looms.get: the loom object, its name, its settings, whose it is."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

from loom.heeded import Heeded
from loom.types import looms as types
from tests.calls import Connection, Token, acting_as, operate, refused
from tests.sql.doors import through_api
from tests.sql.loom_doors import INTERACTION, NOBODY, PLACE, bind, looms, make

MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{7}Z")
UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")

FIELDS: dict[str, tuple[type, ...]] = {
    **dict.fromkeys(
        ("name", "namespaceId", "tenantId", "id", "dateCreated", "dateUpdated"), (str,)
    ),
    **dict.fromkeys(
        ("description", "scopeKey", "seedFromLoomId", "seededAt", "lastWovenAt", "lastActivityAt"),
        (str, type(None)),
    ),
    **dict.fromkeys(
        ("lastActivityProcessId", "lastNightWeavingAt", "nightWeavingNotBefore"), (str, type(None))
    ),
    "settings": (dict,),
    "nightWeavingPending": (bool,),
}
"""The fields of the object as it is described, with their types."""


def check_object(loom: dict[str, Any]) -> None:
    """Fails unless it has just the fields of the object, each of its type and format."""
    assert loom.keys() == FIELDS.keys()
    for name, kinds in FIELDS.items():
        assert isinstance(loom[name], kinds), name
        if isinstance(loom[name], str) and name.endswith("Id"):
            assert UUID.fullmatch(loom[name]), name
        if isinstance(loom[name], str) and (name.endswith("At") or name.startswith("date")):
            assert MOMENT.fullmatch(loom[name]), name
    assert UUID.fullmatch(loom["id"])
    settings = loom["settings"]
    assert settings.keys() == {
        *("nightWeaving", "quietMinutes", "weaverModel"),
        *("effectiveNightWeaving", "effectiveQuietPeriod"),
    }
    assert isinstance(settings["effectiveNightWeaving"], bool)
    assert re.fullmatch(r"\d\d:\d\d:\d\d", settings["effectiveQuietPeriod"])


def test_a_new_loom_has_every_field_and_empty_ones_are_null(db: Connection) -> None:
    loom = looms(db, "create", name="plans", description="what is planned")["entity"]
    check_object(loom)
    assert (loom["name"], loom["description"]) == ("plans", "what is planned")
    unset = set(FIELDS) - {
        *("name", "description", "settings", "nightWeavingPending", "namespaceId", "tenantId"),
        *("id", "dateCreated", "dateUpdated"),
    }
    assert {name: loom[name] for name in unset} == dict.fromkeys(unset)
    assert loom["settings"] == {
        "nightWeaving": None,
        "quietMinutes": None,
        "weaverModel": None,
        "effectiveNightWeaving": False,
        "effectiveQuietPeriod": "00:05:00",
    }
    assert looms(db, "get", loomId=loom["id"]) == loom


def test_a_loom_with_everything_set_has_the_formats_of_the_object(db: Connection) -> None:
    source = make(db, "source")
    run = INTERACTION
    loom = bind(db, scope="interaction", interactionId=run, seedFromLoomId=source)[0]["loom"]["id"]
    looms(db, "thread_add", loomId=loom, text="t")
    looms(db, "activity", loomId=loom, text="t", processId=run)
    db.execute(
        "update loom.loom set last_night_weaving_at = now(), night_weaving_not_before = now(),"
        " description = 'd', weaver_model = 'm', night_weaving = true, quiet_minutes = 1440"
    )
    found = looms(db, "get", loomId=loom)
    check_object(found)
    assert None not in found.values()
    assert found["settings"] == {
        "nightWeaving": True,
        "quietMinutes": 1440,
        "weaverModel": "m",
        "effectiveNightWeaving": True,
        "effectiveQuietPeriod": "24:00:00",
    }


def test_ids_are_those_of_org_and_namespace(db: Connection) -> None:
    loom = looms(db, "create", name="plans")["entity"]
    place = operate(db, "namespace.get", **PLACE)
    assert (loom["tenantId"], loom["namespaceId"]) == (place["org_id"], place["namespace_id"])


def test_a_loom_can_be_made_by_the_namespaces_id_alone(db: Connection) -> None:
    namespace = operate(db, "namespace.update", **PLACE)["namespace_id"]
    loom = operate(db, "looms.create", org="acme", namespaceId=namespace, name="plans")["entity"]
    assert loom["namespaceId"] == namespace
    assert operate(db, "looms.get", org="acme", loomId=loom["id"]) == loom


@pytest.mark.parametrize("named", [NOBODY, "other's", "the other one"])
def test_a_namespace_id_must_be_the_orgs_and_the_one_named(db: Connection, named: str) -> None:
    place = operate(db, "namespace.update", org="other", namespace="main")
    second = operate(db, "namespace.update", org="acme", namespace="second")
    ids = {"other's": place["namespace_id"], "the other one": second["namespace_id"]}
    with refused(db, "LM001") as refusal:
        looms(db, "create", name="plans", namespaceId=ids.get(named, named))
    assert refusal.detail["field"] == "namespaceId"


def test_a_loom_needs_a_namespace(db: Connection) -> None:
    with refused(db, "LM003") as refusal:
        operate(db, "looms.create", org="acme", name="plans")
    assert refusal.detail == {"field": "namespaceId"}


def test_a_name_is_unique_in_its_namespace(db: Connection) -> None:
    make(db)
    with refused(db, "LM202"):
        make(db)
    assert make(db, namespace="second")
    assert make(db, "Plans")


def test_names_are_bounded_like_ids(db: Connection) -> None:
    for name, value in (("n" * 201, 201), ("", 0)):
        with refused(db, "LM406") as refusal:
            make(db, name)
        assert (refusal.detail["what"], refusal.detail["value"]) == ("name", value)
    with refused(db, "LM406") as refusal:
        make(db, "😀" * 65)
    assert refusal.detail["unit"] == "bytes"


@pytest.mark.parametrize(
    ("settings", "field"),
    [
        ([], "settings"),
        ("on", "settings"),
        ({"nightWeaving": "on"}, "nightWeaving"),
        ({"quietMinutes": -1}, "quietMinutes"),
        ({"quietMinutes": 1441}, "quietMinutes"),
        ({"quietMinutes": 1.5}, "quietMinutes"),
        ({"weaverModel": 1}, "weaverModel"),
        ({"effectiveNightWeaving": True}, "effectiveNightWeaving"),
    ],
)
def test_a_setting_of_another_type_or_range_is_refused_by_name(
    db: Connection, settings: Any, field: str
) -> None:
    with refused(db, "LM001") as refusal:
        make(db, settings=settings)
    assert refusal.detail["field"] == field


def test_o61_a_loom_of_another_org_or_namespace_is_not_there(db: Connection) -> None:
    loom = make(db)
    make(db, "theirs", org="other")
    for place in ({"org": "other"}, {"org": "acme", "namespace": "second"}):
        with refused(db, "LM103"):
            operate(db, "looms.get", **place, loomId=loom)


def test_a_token_of_another_namespace_finds_no_loom(
    db: Connection, mint: Callable[..., Token]
) -> None:
    loom = make(db)
    with refused(db, "LM103"):
        through_api(db, mint(namespace="second"), "looms.get", loomId=loom)
    theirs = operate(db, "namespace.get", **PLACE)["namespace_id"]
    for named in (theirs, NOBODY):
        with refused(db, "LM302"):
            through_api(db, mint(namespace="second"), "looms.list", namespaceId=named)


def test_settings_inherit_from_the_namespace_and_then_the_installation(db: Connection) -> None:
    loom = make(db)

    def effective() -> tuple[bool, str]:
        settings = looms(db, "get", loomId=loom)["settings"]
        return settings["effectiveNightWeaving"], settings["effectiveQuietPeriod"]

    assert effective() == (False, "00:05:00")
    Heeded(night_weaving={"default": True, "quiet_minutes": 7}).put(db)
    assert effective() == (True, "00:07:00")
    operate(db, "namespace.update", **PLACE, night_weaving=False, quiet_minutes=90)
    assert effective() == (False, "01:30:00")
    looms(db, "update", loomId=loom, settings={"nightWeaving": True, "quietMinutes": 0})
    assert effective() == (True, "00:00:00")
    looms(db, "update", loomId=loom, settings={"nightWeaving": None, "quietMinutes": None})
    assert effective() == (False, "01:30:00")


def test_only_the_migration_login_sets_what_the_installation_says(db: Connection) -> None:
    with refused(db, "42501"), acting_as(db, "loom_gateway"):
        db.execute("select loom.night_weaving_settings('{}')")
    with refused(db, "LM001") as refusal:
        db.execute("""select loom.night_weaving_settings('{"night": 1}')""")
    assert refusal.detail["field"] == "night"


@pytest.mark.parametrize("zone", ["UTC", "Asia/Kathmandu"])
@pytest.mark.parametrize("style", ["postgres", "iso_8601", "sql_standard"])
def test_times_and_periods_are_the_same_in_every_session(
    db: Connection, zone: str, style: str
) -> None:
    loom = looms(db, "create", name="plans")["entity"]
    for setting, value in (("timezone", zone), ("intervalstyle", style)):
        db.execute("select set_config(%s, %s, true)", (setting, value))
    assert looms(db, "get", loomId=loom["id"]) == loom


def test_a_blacklisted_name_is_refused(db: Connection) -> None:
    operate(db, "blacklist.add", **PLACE, pattern="project x")
    with refused(db, "LM407"):
        make(db, "Project X")


def test_the_object_has_the_fields_of_its_type() -> None:
    """The type is what the OpenAPI page and the SDK say."""

    assert set(types.Loom.__struct_fields__) == set(FIELDS)

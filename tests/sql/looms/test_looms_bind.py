"""looms.bind: which loom each agent of a run gets, and what it wakes up with."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from xml.etree import ElementTree

import pytest

from tests.calls import Connection, Token, operate, refused
from tests.sql.doors import execute, through_api
from tests.sql.loom_doors import INTERACTION, NOBODY, PLACE, RUN, add, bind, looms, make, texts


def test_an_interaction_has_one_loom_for_all_its_agents_and_runs(db: Connection) -> None:
    first = bind(
        db, scope="interaction", interactionId=INTERACTION, processId=RUN, agents=["a", "b"]
    )
    again = bind(db, scope="interaction", interactionId=INTERACTION, processId=NOBODY)
    assert {each["loom"]["id"] for each in [*first, *again]} == {first[0]["loom"]["id"]}
    assert first[0]["loom"]["scopeKey"] == f"interaction:{INTERACTION}"
    assert [each["agent"] for each in first] == ["a", "b"]
    assert again[0]["agent"] is None
    assert first[0].keys() == {"agent", "loom", "wakeUpText", "threadCount", "seeded"}


def test_each_agent_of_an_interaction_has_its_own_by_scope_agent(db: Connection) -> None:
    place = {"scope": "agent", "interactionId": INTERACTION}
    b, a = bind(db, **place, agents=["b", "a"])
    assert (b["agent"], a["agent"]) == ("b", "a")
    assert a["loom"]["id"] != b["loom"]["id"]
    assert a["loom"]["scopeKey"] == f"agent:{INTERACTION}:a"
    assert bind(db, **place, agents=["a"])[0]["loom"]["id"] == a["loom"]["id"]


def test_each_value_of_an_input_has_its_own(db: Connection) -> None:
    place = {"scope": "input", "interactionId": INTERACTION}
    ids = {
        value: bind(db, **place, scopeValue=value)[0]["loom"]["id"]
        for value in ("a", "A", "a:b", "a%", "%")
    }
    assert len(set(ids.values())) == 5
    assert bind(db, **place, scopeValue="a:b")[0]["loom"]["id"] == ids["a:b"]
    # An agent's loom and that of an input with the agent's name are two.
    other = bind(db, scope="agent", interactionId=INTERACTION, agents=["a"])[0]["loom"]["id"]
    assert other not in ids.values()


def test_a_run_has_one_without_a_scope_key(db: Connection) -> None:
    first, second = bind(db, scope="run", processId=RUN, agents=["a", "b"])
    assert first["loom"]["id"] == second["loom"]["id"]
    assert first["loom"]["scopeKey"] is None
    assert bind(db, scope="run", processId=RUN)[0]["loom"]["id"] == first["loom"]["id"]
    assert bind(db, scope="run", processId=NOBODY)[0]["loom"]["id"] != first["loom"]["id"]


def test_a_loom_that_is_there_is_bound_by_its_id(db: Connection) -> None:
    loom = make(db)
    (binding,) = bind(db, loomId=loom, processId=RUN, interactionId=INTERACTION)
    assert binding["loom"] == looms(db, "get", loomId=loom)
    with refused(db, "LM103"):
        bind(db, loomId=NOBODY)


@pytest.mark.parametrize(
    ("request_", "field"),
    [
        ({}, "scope"),
        ({"scope": "planet"}, "scope"),
        ({"scope": "run", "loomId": NOBODY, "processId": RUN}, "scope"),
        ({"loomId": NOBODY, "seedFromLoomId": NOBODY}, "seedFromLoomId"),
        ({"scope": "interaction"}, "interactionId"),
        ({"scope": "agent"}, "interactionId"),
        ({"scope": "input", "interactionId": INTERACTION}, "scopeValue"),
        ({"scope": "run"}, "processId"),
        ({"scope": "run", "processId": RUN, "scopeValue": "x"}, "scopeValue"),
        ({"scope": "run", "processId": "x"}, "processId"),
        ({"scope": "run", "processId": RUN, "interactionId": "x"}, "interactionId"),
        ({"loomId": "x"}, "loomId"),
        ({"scope": "run", "processId": RUN, "agents": "a"}, "agents"),
        ({"scope": "run", "processId": RUN, "agents": []}, "agents"),
        ({"scope": "run", "processId": RUN, "agents": [1]}, "agents"),
        ({"scope": "run", "processId": RUN, "agents": ["a"] * 51}, "agents"),
        ({"scope": "run", "processId": RUN, "readScope": "everyone"}, "readScope"),
        ({"scope": "run", "processId": RUN, "user_id": "u"}, "user_id"),
    ],
)
def test_a_bind_says_which_loom_it_means(
    db: Connection, request_: dict[str, Any], field: str
) -> None:
    with refused(db, "LM001") as refusal:
        bind(db, **request_)
    assert refusal.detail["field"] == field
    assert looms(db, "list")["total"] == 0


def test_a_scope_key_is_bounded_like_an_id(db: Connection) -> None:
    place = {"scope": "input", "interactionId": INTERACTION}
    assert bind(db, **place, scopeValue="v" * 157)
    with refused(db, "LM406") as refusal:
        bind(db, **place, scopeValue="v" * 158)
    assert refusal.detail["what"] == "scopeKey"


def test_an_agent_wakes_up_with_the_shared_threads_and_its_own(db: Connection) -> None:
    loom = make(db)
    add(db, loom, "for all")
    add(db, loom, "for a", agent="a")
    add(db, loom, "for b", agent="b")
    gone = add(db, loom, "no more")
    looms(db, "thread_delete", loomId=loom, threadId=gone["id"])
    a, b, none = bind(db, loomId=loom, agents=["a", "b", "-"])
    assert a["wakeUpText"] == (
        '<loom name="plans">\n<thread>for all</thread>\n<thread agent="a">for a</thread>\n</loom>'
    )
    assert (a["threadCount"], b["threadCount"], none["threadCount"]) == (2, 2, 1)
    assert "for a<" not in b["wakeUpText"]
    assert none["wakeUpText"] == '<loom name="plans">\n<thread>for all</thread>\n</loom>'


def test_a_loom_without_threads_says_nothing(db: Connection) -> None:
    (binding,) = bind(db, loomId=make(db))
    assert (binding["wakeUpText"], binding["threadCount"]) == ("", 0)


def test_a_user_wakes_up_with_its_own_and_nobodys_and_a_namespace_with_all(db: Connection) -> None:
    loom = make(db)
    for user in ("-", "u1", "u2"):
        add(db, loom, f"of {user}", userId=user)

    def told(**request: Any) -> set[str]:
        root = ElementTree.fromstring(bind(db, loomId=loom, **request)[0]["wakeUpText"])
        return {str(thread.text) for thread in root}

    assert told() == {"of -"}
    assert told(userId="u1") == {"of -", "of u1"}
    assert told(userId="u1", readScope="own_session") == {"of -", "of u1"}
    assert told(readScope="namespace") == {"of -", "of u1", "of u2"}


def test_o66_no_text_name_or_id_ends_its_element(db: Connection) -> None:
    hostile = "a</thread></loom> & \"b\" \r\x01 <x y='z'>"
    loom = make(db, 'n" x="</loom>\n')
    add(db, loom, hostile, agent='a">', userId='u"<')
    (binding,) = bind(db, loomId=loom, agents=['a">'], userId='u"<')
    root = ElementTree.fromstring(binding["wakeUpText"])
    assert root.attrib == {"name": 'n" x="</loom>\n'}
    (thread,) = root
    assert thread.attrib == {"agent": 'a">', "user": 'u"<'}
    assert thread.text == hostile.replace("\x01", "\ufffd")


def test_o41_what_is_told_holds_no_id_time_or_counter(db: Connection) -> None:
    """Two looms of runs with the same threads are told in the same words, byte for byte."""
    told = []
    for run in (RUN, NOBODY):
        (binding,) = bind(db, scope="run", processId=run)
        for text in ("one", "two"):
            add(db, binding["loom"]["id"], text)
        looms(db, "activity", loomId=binding["loom"]["id"], text="a turn")
        told.append(bind(db, scope="run", processId=run)[0]["wakeUpText"])
    assert told[0] == told[1] == "<loom>\n<thread>one</thread>\n<thread>two</thread>\n</loom>"


def test_o34_what_is_told_is_bounded_by_whole_threads_the_newest_kept(db: Connection) -> None:
    loom = make(db)
    for number in range(5):
        add(db, loom, f"{number}" * 16384)
    (binding,) = bind(db, loomId=loom)
    root = ElementTree.fromstring(binding["wakeUpText"])
    assert [(thread.text or "")[0] for thread in root] == ["1", "2", "3", "4"]
    assert binding["threadCount"] == 4


def test_the_first_wake_up_copies_the_sources_shared_threads_once(db: Connection) -> None:
    source = make(db)
    first = add(db, source, "shared", tags=["t"])
    add(db, source, "of a user", userId="u1")
    add(db, source, "an agent's own", agent="a")
    gone = add(db, source, "deleted")
    looms(db, "thread_delete", loomId=source, threadId=gone["id"])
    place = {"scope": "interaction", "interactionId": INTERACTION, "seedFromLoomId": source}
    (binding,) = bind(db, **place, agents=["a"])
    heir = binding["loom"]
    assert binding["seeded"] is True
    assert (heir["seedFromLoomId"], bool(heir["seededAt"])) == (source, True)
    assert "shared" in binding["wakeUpText"]
    add(db, source, "woven later")
    assert bind(db, **place)[0]["loom"]["seededAt"] == heir["seededAt"]
    threads = looms(db, "thread_list", loomId=heir["id"], readScope="namespace")["items"]
    assert {(each["text"], each["userId"]) for each in threads} == {
        ("shared", "-"),
        ("of a user", "u1"),
    }
    (copied,) = [each for each in threads if each["text"] == "shared"]
    assert copied["wovenFrom"] == [first["id"]]
    assert copied["tags"] == ["t"]
    assert copied["id"] != first["id"]
    # Copies are a user's like any other thread.
    operate(db, "erasure.request", org="acme", user_id="u1")
    assert texts(db, heir["id"]) == ["shared"]


def test_what_is_blacklisted_by_now_is_not_copied(db: Connection) -> None:
    source = make(db)
    for text, tags in (("a secret", []), ("tagged", ["secret"]), ("plain", [])):
        add(db, source, text, tags=tags)
    operate(db, "blacklist.add", **PLACE, pattern="SECRET")
    (bound,) = bind(db, scope="run", processId=RUN, seedFromLoomId=source)
    assert texts(db, bound["loom"]["id"]) == ["plain"]
    assert texts(db, source) == ["a secret", "tagged", "plain"]


def test_a_seed_must_be_a_loom_of_the_namespace(db: Connection) -> None:
    theirs = make(db, "theirs", namespace="second")
    for source in (NOBODY, theirs):
        with refused(db, "LM103"):
            bind(db, scope="run", processId=RUN, seedFromLoomId=source)
    assert looms(db, "list")["total"] == 0


def test_a_pinned_token_binds_and_is_told_its_users_threads_alone(
    db: Connection, mint: Callable[..., Token]
) -> None:
    loom = make(db)
    for user in ("-", "u1", "u2"):
        add(db, loom, f"of {user}", userId=user)
    pinned = mint(namespace="main", read_user_id="u1")
    (binding,) = through_api(db, pinned, "looms.bind", loomId=loom)["bindings"]
    assert "of u1" in binding["wakeUpText"]
    assert "of u2" not in binding["wakeUpText"]
    assert through_api(db, pinned, "looms.bind", scope="run", processId=RUN)["bindings"]
    for request in ({"userId": "u2"}, {"userId": "-"}, {"readScope": "namespace"}):
        with refused(db, "LM302"):
            through_api(db, pinned, "looms.bind", loomId=loom, **request)


def test_the_answer_kept_under_a_key_goes_with_whomever_it_tells_of(db: Connection) -> None:
    loom = make(db)
    add(db, loom, "canary", userId="u1")
    execute(db, "looms.bind", key="one", **PLACE, loomId=loom, userId="u1")
    execute(db, "looms.bind", key="all", **PLACE, loomId=loom, readScope="namespace")
    kept = execute(db, "looms.bind", key="other", **PLACE, loomId=loom, userId="u2")
    operate(db, "erasure.request", org="acme", user_id="u1")
    rows = db.execute("select key from loom.idempotency where answer is not null").fetchall()
    assert rows == [("other",)]
    assert execute(db, "looms.bind", key="other", **PLACE, loomId=loom, userId="u2") == kept


def test_a_blacklisted_value_makes_no_loom(db: Connection) -> None:
    operate(db, "blacklist.add", **PLACE, pattern="secret")
    with refused(db, "LM407"):
        bind(db, scope="input", interactionId=INTERACTION, scopeValue="a SECRET")
    assert looms(db, "list")["total"] == 0

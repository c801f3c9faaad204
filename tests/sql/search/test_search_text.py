"""The leg of full text: words, languages, rank and bounds; rows that no longer say it are gone."""

from __future__ import annotations

import random

import pytest

from tests.calls import Connection, operate, refused
from tests.databases import Clock
from tests.sql.doors import IDENTITY
from tests.sql.facts import NOON, fact, section
from tests.sql.search.searching import ask, facts, found, language

INVOICES = {
    "currency": "The customer wants invoices in Swiss francs.",
    "address": "Invoices go to the office in Basel.",
    "tea": "Prefers tea to coffee in meetings.",
    "cat": "Their cat is called Miso.",
}

HOSTILE = (
    "tea | coffee",
    "!tea & (coffee",
    "tea:* <-> coffee",
    "'tea' \\' \"coffee\"",
    "tea' || 'x",
    "tea\\",
    "tea %s %(a)s {} $1",
    "tea 😀 👩‍👩‍👧",
    "tea " + "x" * 1996,
    "tea " * 400,
    "tea <script>&amp;</script> https://example.com/a/b?c=d a@b.c",
    "tea \u0001ue000 \u0001n",
    "１２ ｔｅａ",
)


def test_a_natural_question_finds_the_fact(db: Connection) -> None:
    facts(db, INVOICES)
    assert found(db, "What currency does the customer want invoices in?") == ["currency", "address"]
    assert found(db, "what is the cat called") == ["cat"]


def test_a_written_fact_is_found_at_once_and_by_its_new_text_alone(db: Connection) -> None:
    fact(db, "set", user_id="u1", memory_key="drink", value="likes coffee")
    assert found(db, "coffee") == ["drink"]
    fact(db, "set", user_id="u1", memory_key="drink", value="likes tea")
    assert (found(db, "coffee"), found(db, "tea")) == ([], ["drink"])


def test_words_of_key_and_tags_count_and_the_value_counts_more(db: Connection) -> None:
    facts(db, {"billing_currency": "CHF", "note": "the currency is CHF"})
    facts(db, {"tagged": "EUR"}, tags=["currency"])
    assert found(db, "currency") == ["note", "billing_currency", "tagged"]
    fact(db, "label", user_id="u1", memory_key="tagged", tags={"remove": ["currency"]})
    assert found(db, "currency") == ["note", "billing_currency"]


def test_values_of_every_kind_are_found_by_what_they_say(db: Connection) -> None:
    facts(db, {"object": {"city": "Basel", "since": [2019, "spring"]}, "list": ["Bern", None]})
    facts(db, {"nothing": None, "empty": "", "no": False})
    assert found(db, "basel") == found(db, "2019") == found(db, "since") == ["object"]
    assert found(db, "bern") == ["list"]
    assert found(db, "nothing") == ["nothing"]


def test_more_words_then_rarer_words_rank_first_and_ties_go_to_the_newest(
    db: Connection, clock: Clock
) -> None:
    clock.set(NOON)
    for number in range(6):
        facts(db, {f"common{number}": f"the shared word {number}"})
        clock.advance(seconds=1)
    facts(db, {"rare": "the unusual word"})
    clock.advance(seconds=1)
    facts(db, {"both": "shared and unusual at once"})
    keys = found(db, "shared unusual")
    assert keys[:2] == ["both", "rare"]
    assert keys[2:] == [f"common{number}" for number in reversed(range(6))]
    assert found(db, "shared unusual", limit=3) == keys[:3]


def test_the_same_question_has_the_same_answer(db: Connection) -> None:
    words = ["alpha", "beta", "gamma", "delta"]
    chosen = random.Random(7)
    facts(db, {f"k{n}": " ".join(chosen.choices(words, k=3)) for n in range(40)})
    first = ask(db, "alpha beta gamma", limit=100)["items"]
    assert len(first) > 20
    assert ask(db, "alpha beta gamma", limit=100)["items"] == first
    assert ask(db, "gamma beta alpha", limit=100)["items"] == first


@pytest.mark.parametrize("query", ["the", "what is the", "und wie ist das", "?!", "'", " ", "😀"])
def test_a_query_without_words_finds_nothing_and_says_so(db: Connection, query: str) -> None:
    facts(db, {"k": "what is the und wie ist das"})
    answer = ask(db, query)
    assert answer["items"] == []
    assert answer["legs"]["text"] == {"ran": False, "reason": "no_words"}


def test_a_noun_that_is_a_particle_elsewhere_is_found(db: Connection) -> None:
    """Stop words are one language's: `son` is one in French, and nobody asked in French."""
    facts(db, {"family": "His son plays chess", "history": "The war ended"})
    assert found(db, "son") == ["family"]
    assert found(db, "what is the name of his son") == ["family"]
    assert found(db, "when did the war end") == ["history"]


@pytest.mark.parametrize("query", HOSTILE, ids=range(len(HOSTILE)))
def test_signs_in_a_query_mean_nothing(db: Connection, query: str) -> None:
    facts(db, {"drink": "black tea"})
    assert found(db, query) == ["drink"]


def test_german_and_its_endings_in_a_german_namespace(db: Connection) -> None:
    facts(db, {"haus": "Die Häuser gehören der Familie Müller", "hund": "Der Hund bellt nachts"})
    assert found(db, "Haus") == ["haus"]  # by its key alone
    fact(db, "delete", user_id="u1", memory_key="haus")
    language(db, "german")
    facts(db, {"wohnen": "Die Häuser gehören der Familie Müller"})
    assert found(db, "Wem gehört das Haus?") == ["wohnen"]
    assert found(db, "Mu\u0308ller") == ["wohnen"]  # a letter and a combining mark


def test_while_a_language_changes_both_are_asked(db: Connection) -> None:
    facts(db, {"old": "she runs marathons"})
    language(db, "english")
    facts(db, {"new": "she was running a marathon"})
    assert sorted(found(db, "running marathons")) == ["new", "old"]
    assert sorted(found(db, "runs")) == ["new", "old"]


def test_rows_from_before_there_was_a_search_are_not_looked_for_in_every_namespace(
    db: Connection,
) -> None:
    """Else an upgrade would take time by the square of their number."""
    db.execute(
        "select loom.memory_set(jsonb_build_object('org', 'acme', 'namespace', 'n' || n,"
        " 'user_id', 'u1', 'memory_key', 'k', 'value', 'tea')) from generate_series(1, 100) as n"
    )
    facts(db, {"old": "tea"}, namespace="z")
    db.execute("update loom.memory_text set language = '', words = '' where namespace = 'z'")
    counted = "select idx_scan from pg_stat_xact_user_tables where relname = 'namespace'"
    before = db.execute(counted).fetchone()
    assert before is not None
    assert db.execute("select loom.housekeeping_search(200)").fetchone() == (1,)
    after = db.execute(counted).fetchone()
    assert after is not None
    assert after[0] - before[0] <= 2
    assert found(db, "tea", namespace="z") == ["old"]


def test_japanese_without_spaces(db: Connection) -> None:
    facts(db, {"bill": "請求書はスイスフランで送ってください。", "tea": "お茶が好きです"})
    facts(db, {"phone": "iPhone16を使っています"})
    assert found(db, "スイスフラン") == ["bill"]
    assert found(db, "請求書の通貨は何ですか？") == ["bill", "tea"]  # です is in both
    assert found(db, "お茶") == ["tea"]
    assert found(db, "iphone16") == ["phone"]
    assert found(db, "ｉＰｈｏｎｅ１６") == ["phone"]


def test_a_text_too_long_for_the_index_is_kept_and_found_by_its_beginning(db: Connection) -> None:
    facts(db, {"long": "needle " + "x" * 5000 + " " + "word " * 40000 + "hidden"})
    facts(db, {"signs": "".join(chr(0x4E00 + n % 20000) for n in range(87000))})
    facts(db, {"pairs": "".join(chr(0x20000 + n % 40000) for n in range(65000))})
    assert found(db, "needle") == ["long"]
    assert found(db, "hidden") == []
    assert found(db, "一丁") == ["signs"]


def test_what_is_no_longer_current_is_gone_at_once(db: Connection, clock: Clock) -> None:
    """O69: by deletion, redaction, expiry and erasure; and back with a restoration."""
    clock.set(NOON)
    for key in ("deleted", "redacted", "kept"):
        facts(db, {key: f"a word of {len(key)} letters"})
    facts(db, {"expiring": "a last word"}, ttl_seconds=60)
    assert len(found(db, "word")) == 4
    fact(db, "delete", user_id="u1", memory_key="deleted")
    fact(db, "redact", user_id="u1", memory_key="redacted", reason="asked")
    assert sorted(found(db, "word")) == ["expiring", "kept"]
    assert sorted(found(db, "deleted redacted")) == []
    clock.advance(seconds=60)
    assert found(db, "word") == ["kept"]
    fact(db, "restore", user_id="u1", memory_key="deleted")
    assert sorted(found(db, "word")) == ["deleted", "kept"]
    operate(db, "erasure.request", org="acme", user_id="u1")
    assert found(db, "word") == []
    assert db.execute("select count(*) from loom.memory_text").fetchone() == (0,)


def test_rows_that_say_the_same_appear_once_as_the_oldest(db: Connection, clock: Clock) -> None:
    clock.set(NOON)
    for key in ("first", "second", "third"):
        facts(db, {key: "identical words"})
        clock.advance(seconds=1)
    facts(db, {"other": "identical words"}, memory_type="episodic")
    facts(db, {"theirs": "identical words"}, user_id="-")
    assert sorted(found(db, "identical")) == ["first", "other", "theirs"]
    fact(db, "delete", user_id="u1", memory_key="first")
    assert sorted(found(db, "identical")) == ["other", "second", "theirs"]


def test_sections_are_never_among_facts_whatever_they_say(db: Connection) -> None:
    facts(db, {"fact": "likes tea"})
    section(db, "set", user_id="u1", label="drinks", value="likes tea")
    fact(db, "set", user_id="u1", memory_key="moved", value="likes tea", memory_type="profile")
    assert found(db, "likes tea drinks moved") == ["fact"]
    assert found(db, "likes tea", read_scope="namespace") == ["fact"]
    with refused(db, "LM001") as refusal:
        ask(db, "tea", memory_type="profile")
    assert refusal.detail["field"] == "memory_type"


def test_the_filters_narrow_by_type_tags_and_class(db: Connection) -> None:
    facts(db, {"a": "tea"}, memory_type="preference", tags=["drink", "hot"])
    facts(db, {"b": "tea or not"}, memory_type="decision", tags=["drink"], source_class="imported")
    facts(db, {"c": "tea at four"})
    assert found(db, "tea", memory_type="decision") == ["b"]
    assert found(db, "tea", tags=["drink", "hot"]) == ["a"]
    assert sorted(found(db, "tea", tags=["drink"])) == ["a", "b"]
    assert found(db, "tea", source_class="imported") == ["b"]
    assert found(db, "tea", source_class="derived") == []
    fact(db, "set", user_id="u1", memory_key="c", value="tea at four", memory_type="preference")
    assert sorted(found(db, "tea", memory_type="preference")) == ["a", "c"]


def test_a_tag_that_a_younger_twin_alone_has_finds_that_one(db: Connection) -> None:
    facts(db, {"old": "identical"})
    facts(db, {"young": "identical"}, tags=["hot"])
    assert found(db, "identical", tags=["hot"]) == ["young"]


def test_rows_of_high_sensitivity_are_found_as_they_are_listed(db: Connection) -> None:
    facts(db, {"secret": "the door code"}, sensitivity="high")
    assert found(db, "door") == ["secret"]


def test_the_list_ends_where_values_come_to_a_megabyte(db: Connection) -> None:
    facts(db, {f"k{n}": {"a": "tea", "b": str(n) + "x" * 200_000} for n in range(8)})
    assert len(found(db, "tea")) == 5
    assert len(found(db, "tea", limit=2)) == 2


def test_common_words_among_many_rows_do_not_hide_a_rare_one(db: Connection) -> None:
    """More rows than are ranked: those with the rare word, and with all words, are among them."""
    many = [("common everyday usual", 3000), ("common everyday", 1)]
    for value, rows in many:
        db.execute(
            "select loom.memory_set(jsonb_build_object('org', 'acme', 'namespace', 'main',"
            " 'user_id', 'u1', 'memory_key', %s || n, 'value', %s || ' ' || n))"
            " from generate_series(1, %s) as n",
            (value.replace(" ", "-"), value, rows),
        )
    facts(db, {"needle": "an uncommon remark"})
    facts(db, {"whole": "common everyday usual uncommon remark"})
    assert found(db, "common everyday usual uncommon")[:2] == ["whole", "needle"]
    assert len(found(db, "common everyday usual", limit=100)) == 100


def test_a_question_may_have_more_words_than_are_asked(db: Connection) -> None:
    facts(db, {"last": "word299", "first": "word0"})
    asked = " ".join(f"word{n}" for n in range(250))
    assert found(db, asked[:2000]) == ["first"]
    assert len(ask(db, asked[:2000], explain=True)["explain"]["words"]) == 32


def test_o59_ids_are_plain_data(db: Connection) -> None:
    users = ["u%", "u_", "ux", "u", "u1", "U1", "u1 ", "u\\", "u.1", "u:1"]
    for user in users:
        fact(db, "set", user_id=user, memory_key="k", value=f"tea of {users.index(user)}")
    for user in users:
        items = ask(db, "tea", user_id=user)["items"]
        assert [item["user_id"] for item in items] == [user]


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ({"query": None}, "query"),
        ({"query": ""}, "query"),
        ({"query": 1}, "query"),
        ({"limit": 0}, "limit"),
        ({"limit": 101}, "limit"),
        ({"explain": "yes"}, "explain"),
        ({"source_class": "told"}, "source_class"),
        ({"tags": "hot"}, "tags"),
        ({"query_embedding": []}, "query_embedding"),
        ({"query_embedding": {"model": "m"}}, "query_embedding"),
        ({"query_embedding": {"model": 1, "vector": []}}, "query_embedding"),
        ({"query_embedding": {"model": "m", "vector": [], "more": 1}}, "query_embedding"),
        ({"cursor": "x"}, "cursor"),
    ],
)
def test_a_wrong_field_is_refused_by_name(
    db: Connection, wrong: dict[str, object], field: str
) -> None:
    with refused(db, "LM001") as refusal:
        operate(db, "memory.search", **{**IDENTITY, "query": "tea", **wrong})
    assert refusal.detail["field"] == field


def test_a_query_over_its_limit_is_refused(db: Connection) -> None:
    assert ask(db, "x" * 2000)["items"] == []
    with refused(db, "LM406") as refusal:
        ask(db, "x" * 2001)
    assert refusal.detail == {"what": "query", "limit": 2000, "value": 2001}


def test_a_restatement_writes_nothing_that_a_search_reads(db: Connection) -> None:
    """Metadata is written more often than text."""
    facts(db, {"k": "tea"})
    before = db.execute("select ctid, xmin from loom.memory_text").fetchall()
    with db.transaction():  # a subtransaction, so that a write would have another xmin
        facts(db, {"k": "tea"})
        facts(db, {"k": "tea"}, confidence=0.5)
        fact(db, "pin", user_id="u1", memory_key="k")
        fact(db, "lock", user_id="u1", memory_key="k", reason="why")
    assert db.execute("select ctid, xmin from loom.memory_text").fetchall() == before

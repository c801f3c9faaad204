"""loom.housekeeping_search: rows are made findable anew when a namespace's language changes."""

from __future__ import annotations

from tests.calls import Connection, acting_as, operate, refused
from tests.databases import Database
from tests.races import Rival, wait_until_blocked
from tests.sql.facts import fact
from tests.sql.search.searching import facts, found, language, texts

_FRESH = """
select bool_and(words = loom._memory_words(row_now, language))
from loom.memory_text join loom.memory as row_now using (org, memory_id)
"""


def keep_house(conn: Connection, most: int = 100) -> int:
    with acting_as(conn, "loom_worker"):
        row = conn.execute("select loom.housekeeping_search(%s)", (most,)).fetchone()
    assert row is not None
    return int(row[0])


def test_rows_come_to_the_namespaces_language_in_bounded_batches(db: Connection) -> None:
    facts(db, {f"k{n}": f"running {n}" for n in range(5)})
    fact(db, "set", namespace="other", memory_key="k", value="running")
    assert keep_house(db) == 0
    language(db, "english")
    assert set(texts(db).values()) == {"simple"}
    assert len(found(db, "runs")) == 0
    assert [keep_house(db, 2) for _ in range(4)] == [2, 2, 1, 0]
    assert sorted(texts(db).values()) == ["english"] * 5 + ["simple"]
    assert len(found(db, "runs")) == 5
    assert db.execute(_FRESH.encode()).fetchone() == (True,)


def test_rows_from_before_the_migration_become_findable(db: Connection) -> None:
    facts(db, {"k": "green tea", "gone": "old tea"})
    fact(db, "delete", user_id="u1", memory_key="gone")
    db.execute("update loom.memory_text set language = '', words = ''")
    assert found(db, "tea") == []
    assert (keep_house(db), keep_house(db)) == (1, 0)
    assert found(db, "tea") == ["k"]


def test_rows_of_every_kind_of_value_come_to_the_language(db: Connection) -> None:
    values = [1.5, 10**20, 1e-7, -3, True, None, "猫", {"weight": 62.5}, [0.1, [2]]]
    for number, value in enumerate(values):
        fact(db, "set", memory_key=f"k{number}", value=value, tags=["t"])
    language(db, "english")
    assert (keep_house(db), keep_house(db)) == (len(values), 0)
    assert db.execute(_FRESH.encode()).fetchone() == (True,)


def test_the_languages_of_two_orgs_are_their_own(db: Connection) -> None:
    for org in ("acme", "zenith"):
        fact(db, "set", org=org, user_id="u1", memory_key="k", value="running")
    operate(db, "namespace.update", org="zenith", namespace="main", text_search_language="english")
    assert keep_house(db) == 1
    rows = db.execute("select org, language from loom.memory_text order by 1").fetchall()
    assert rows == [("acme", "simple"), ("zenith", "english")]


def test_a_row_that_is_written_just_now_is_passed_over(database: Database) -> None:
    conn, writer = database.connect(), database.connect()
    facts(conn, {"a": "running far", "b": "running home"})
    language(conn, "english")
    with writer.transaction():
        facts(writer, {"a": "walking"})
        assert keep_house(conn) == 1
        assert texts(conn) == {"a": "simple", "b": "english"}
    assert keep_house(conn) == 0
    assert texts(conn) == {"a": "english", "b": "english"}
    assert found(conn, "walks") == ["a"]


def test_a_writer_that_meets_it_has_the_last_word(database: Database) -> None:
    conn, writer, observer = database.connect(), database.connect(), database.connect()
    facts(conn, {"a": "running"})
    language(conn, "english")
    with conn.transaction():
        assert keep_house(conn) == 1
        rival = Rival(writer, lambda: facts(writer, {"a": "walking"}))
        wait_until_blocked(observer, rival, by=conn.info.backend_pid)
    rival.result()
    assert (found(conn, "walks"), found(conn, "runs")) == (["a"], [])
    assert conn.execute(_FRESH.encode()).fetchone() == (True,)


def test_a_write_that_began_before_the_change_is_found_later(database: Database) -> None:
    """Its words are of the language it saw; the next round finds that."""
    conn, writer = database.connect(), database.connect()
    facts(conn, {"a": "running"})
    with writer.transaction():
        facts(writer, {"late": "running late"})
        language(conn, "english")
        assert (keep_house(conn), keep_house(conn)) == (1, 0)
    assert texts(conn) == {"a": "english", "late": "simple"}
    assert len(found(conn, "running")) == 2
    assert keep_house(conn) == 1


def test_only_the_worker_keeps_house(db: Connection) -> None:
    for login in ("loom_test_admin", "loom_gateway", "loom_operator"):
        with acting_as(db, login), refused(db, "42501"):
            db.execute("select loom.housekeeping_search(1)")

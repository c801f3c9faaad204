"""`loom embeddings`: what it prints, and what it makes of models, vectors and indexes."""

from __future__ import annotations

import pytest
from psycopg import sql
from psycopg.types.json import Jsonb

from loom.embedding_index import EmbeddingIndex, vector_schema
from loom.index_builds import LOCK
from tests.cli.processes import Done, loom, started
from tests.databases import Database
from tests.sql.doors import IDENTITY
from tests.worker.embeddings import DIMENSION, MODEL, Site, manage, progress


@pytest.fixture
def site(database: Database) -> Site:
    return Site.of(database, model=None)


def embeddings(site: Site, *arguments: str) -> Done:
    return loom("embeddings", *arguments, env={"LOOM_DATABASE_URL": site.database.dsn()})


def states(site: Site) -> dict[str, str]:
    return {each["model"]: each["state"] for each in progress(site.conn)["models"]}


def rows(done: Done) -> list[list[str]]:
    """The table that was printed, without its heading."""
    assert (done.code, done.err) == (0, "")
    return [line.split("  ") for line in done.out.splitlines()[1:]]


def cells(done: Done) -> list[list[str]]:
    return [[cell.strip() for cell in row if cell.strip()] for row in rows(done)]


# status and use


def test_a_database_without_pgvector_says_so(database: Database) -> None:
    conn = database.connect()
    if progress(conn)["vectors"]:
        pytest.skip("the server has pgvector")
    env = {"LOOM_DATABASE_URL": database.dsn()}
    done = loom("embeddings", "status", env=env)
    assert (done.code, "no pgvector" in done.out) == (0, True)
    done = loom("embeddings", "use", MODEL, env=env)
    assert (done.code, "needs the extension vector" in done.err) == (1, True)
    done = loom("embeddings", "index", MODEL, env=env)
    assert (done.code, "no extension `vector`" in done.err) == (1, True)


def test_a_model_is_added_built_by_a_worker_and_then_searched_by(site: Site) -> None:
    assert "no model yet" in embeddings(site, "status").out
    site.tell("likes", "tea")
    done = embeddings(site, "use", MODEL)
    assert done.code == 0
    assert f"LOOM_EMBEDDING_MODEL={MODEL}" in done.err
    assert cells(embeddings(site, "status")) == [
        [MODEL, "-", "building", "0 of 1, 0 %", "0", "0", "none"]
    ]
    site.embed_all()
    assert cells(embeddings(site, "status")) == [
        [MODEL, str(DIMENSION), "active", "whole", "0", "0", "none"]
    ]
    assert embeddings(site, "use", MODEL).out == f"searches go by {MODEL}\n"


def test_at_once_a_model_is_searched_by_before_it_is_whole(site: Site) -> None:
    site.tell("likes", "tea")
    assert embeddings(site, "use", MODEL, "--at-once").out == f"searches go by {MODEL}\n"
    assert states(site) == {MODEL: "active"}
    assert site.embed_all() == 1


def test_progress_is_shown_until_the_model_is_whole(site: Site) -> None:
    for number in range(3):
        site.tell(f"k{number}", f"fact {number}")
    env = {"LOOM_DATABASE_URL": site.database.dsn()}
    with started("embeddings", "use", MODEL, "--watch", env=env) as process:
        process.wait_for(f"{MODEL}: 0 of 3, 0 %")
        site.embed_all()
        assert process.ended() == 0
    assert states(site) == {MODEL: "active"}


def test_only_one_model_is_built_at_a_time(site: Site) -> None:
    embeddings(site, "use", MODEL)
    done = embeddings(site, "use", "other")
    assert done.code == 1
    assert "another model is being built" in done.err
    assert embeddings(site, "retire", MODEL).code == 0
    assert embeddings(site, "use", "other").code == 0


# index


def made(site: Site, model: str = MODEL, dimension: int = DIMENSION) -> EmbeddingIndex:
    """A model with a vector."""
    site.tell("likes", "tea")
    manage(site.conn, "add", model=model)
    site.embed_all(model=model, dimension=dimension)
    return EmbeddingIndex(model, dimension, vector_schema(site.conn))


def definition(site: Site, index: EmbeddingIndex) -> str:
    row = site.conn.execute("select pg_get_indexdef(to_regclass(%s))", (f"loom.{index.name}",))
    return str(row.fetchone())


@pytest.mark.parametrize(
    ("dimension", "kind"), [(DIMENSION, "vector"), (2000, "vector"), (2001, "halfvec")]
)
def test_an_index_is_built_beside_use_and_only_once(site: Site, dimension: int, kind: str) -> None:
    index = made(site, dimension=dimension)
    assert index.is_valid(site.conn) is None
    done = embeddings(site, "index", MODEL)
    assert (done.code, done.out) == (0, "the index is built\n")
    assert index.is_valid(site.conn) is True
    text = definition(site, index)
    assert f"{kind}({dimension})" in text and f"{kind}_cosine_ops" in text
    assert f"(model = '{MODEL}'::text)" in text
    assert embeddings(site, "index", MODEL).out == "the index is there already\n"
    assert cells(embeddings(site, "status"))[0][-1] == "built"


SCANS = "select pg_stat_get_xact_numscans(to_regclass(%s))"

INDEXED = """
select memory_id from loom._search_indexed(
  jsonb_populate_record(null::loom.caller, %s), row('memory', null, null, null)::loom.search_filter,
  %s, %s::text::{schema}.vector, 5)
"""


@pytest.mark.parametrize("dimension", [DIMENSION, 2001])
def test_it_is_the_index_that_searches_ask_for(site: Site, dimension: int) -> None:
    """Its name is the one they look for, and its expression the one they order by."""
    index = made(site, dimension=dimension)
    index.build(site.conn, site.conn, print)
    named = site.conn.execute("select loom._embedding_index(%s)::text", (MODEL,)).fetchone()
    assert named == (index.name,)
    caller = Jsonb({"org": "acme", "namespace": IDENTITY["namespace"], "users": ["u1", "-"]})
    vector = str([1.0] * dimension)
    with site.conn.transaction():
        found = site.conn.execute(
            sql.SQL(INDEXED).format(schema=sql.Identifier(index.schema)), (caller, MODEL, vector)
        ).fetchall()
        assert len(found) == 1
        assert site.conn.execute(SCANS, (f"loom.{index.name}",)).fetchone() == (1,)


def test_an_unfinished_index_is_dropped_and_built_anew(site: Site) -> None:
    """O72: what a build that was cut off leaves behind."""
    index = made(site)
    index.build(site.conn, site.conn, print)
    site.conn.execute(
        "update pg_index set indisvalid = false where indexrelid = to_regclass(%s)",
        (f"loom.{index.name}",),
    )
    assert cells(embeddings(site, "status"))[0][-1] == "unfinished"
    done = embeddings(site, "index", MODEL)
    assert (done.code, done.out) == (0, "the index is built\n")
    assert "left unfinished" in done.err
    assert index.is_valid(site.conn) is True


def test_a_model_without_vectors_has_nothing_to_index(site: Site) -> None:
    manage(site.conn, "add", model=MODEL)
    done = embeddings(site, "index", MODEL)
    assert (done.code, "has no vectors yet" in done.err) == (1, True)
    done = embeddings(site, "index", "unknown")
    assert (done.code, "there is no model unknown" in done.err) == (1, True)


def test_vectors_that_are_too_long_for_an_index_are_searched_exactly(site: Site) -> None:
    made(site, dimension=4001)
    done = embeddings(site, "index", MODEL)
    assert (done.code, "searches stay exact" in done.err) == (1, True)


def test_o72_a_second_build_does_not_wait_for_the_first(site: Site) -> None:
    made(site)
    site.conn.execute("select pg_advisory_lock(%s)", (LOCK,))
    done = embeddings(site, "index", MODEL)
    assert (done.code, "another session" in done.err) == (1, True)


def test_a_build_that_fails_lets_the_lock_go(site: Site) -> None:
    index = made(site)
    wrong = EmbeddingIndex(MODEL, DIMENSION + 1, index.schema)
    with pytest.raises(Exception, match="expected 9 dimensions"):
        wrong.build(site.conn, site.database.connect(), print)
    assert index.build(site.database.connect(), site.database.connect(), print) is True


@pytest.mark.parametrize("model", ["a'b", 'a"b', "a%b", "x" * 200, "org/model:latest"])
def test_a_models_name_may_hold_anything(site: Site, model: str) -> None:
    index = made(site, model=model)
    assert index.build(site.conn, site.database.connect(), print) is True
    assert index.drop(site.conn) is True
    assert index.is_valid(site.conn) is None


def test_the_progress_of_a_build_is_told(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """A build waits for what is under way, and says so."""
    index = made(site)
    monkeypatch.setattr("loom.embedding_index.WATCH_SECONDS", 0.02)
    said: list[str] = []
    rival = site.database.connect()
    rival.execute("begin")
    rival.execute("insert into loom.embedding_due select * from loom.embedding_due where false")
    rival.execute("lock table loom.embedding in row exclusive mode")

    def say(text: str) -> None:
        said.append(text)
        if rival.info.transaction_status:
            rival.rollback()

    index.build(site.conn, site.database.connect(), say)
    assert any("waiting" in text for text in said)


# drop


def test_a_model_is_removed_with_its_vectors_and_its_index(site: Site) -> None:
    index = made(site)
    index.build(site.conn, site.conn, print)
    manage(site.conn, "add", model="next")
    site.embed_all(model="next", dimension=3)
    done = embeddings(site, "drop", MODEL)
    assert (done.code, done.out) == (0, f"{MODEL} is removed, with 1 vectors\n")
    assert states(site) == {"next": "active"}
    assert index.is_valid(site.conn) is None
    assert (site.embedded(MODEL), site.embedded("next")) == ([], ["likes"])


def test_a_model_in_use_is_not_removed(site: Site) -> None:
    made(site)
    done = embeddings(site, "drop", MODEL)
    assert (done.code, "comes first" in done.err) == (1, True)
    assert site.embedded() == ["likes"]
    assert embeddings(site, "retire", MODEL).code == 0
    assert embeddings(site, "drop", MODEL).code == 0
    assert states(site) == {}


def test_a_login_that_is_no_operator_is_refused(site: Site) -> None:
    made(site)
    env = {"LOOM_DATABASE_URL": site.database.dsn("loom_worker")}
    for verb in ("use", "retire", "drop"):
        done = loom("embeddings", verb, MODEL, env=env)
        assert done.code == 1, verb
    assert states(site) == {MODEL: "active"}

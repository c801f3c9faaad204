"""Rows of a loom in every table, also those that only a worker makes."""

from __future__ import annotations

from uuid import uuid4

from tests.calls import Connection, operate


def weave_rows(conn: Connection, org: str, namespace: str, text: str, user_id: str = "-") -> str:
    """A loom with two threads of a user, one of them deleted, a turn, and a weaving with what it
    read and changed; the loom's id."""
    place = {"org": org, "namespace": namespace}
    name = f"loom {uuid4()}"
    loom: str = operate(conn, "looms.create", **place, name=name)["entity"]["id"]
    named = {**place, "loomId": loom}
    told = {**named, "userId": user_id, "text": text}
    thread = operate(conn, "looms.thread_add", **told, tags=[text])["entity"]["id"]
    gone = operate(conn, "looms.thread_add", **told)["entity"]["id"]
    operate(conn, "looms.thread_delete", **named, threadId=gone)
    operate(conn, "looms.activity", **told)
    weaving = operate(conn, "looms.weave", **named, dryRun=True)["entity"]["id"]
    ids = {"org": org, "namespace": namespace, "user": user_id, "thread": thread, "text": text}
    conn.execute(
        "insert into loom.loom_weaving_part (org, namespace, weaving_id, user_id, agent, turn_ids,"
        " thread_ids, versions, read_at)"
        " values (%(org)s, %(namespace)s, %(weaving)s, %(user)s, '-', '{}', '{}', '{}', now())",
        {**ids, "weaving": weaving},
    )
    conn.execute(
        "insert into loom.loom_weaving_change (org, namespace, weaving_id, place, user_id, action,"
        " thread_id, agent, from_version, text)"
        " values (%(org)s, %(namespace)s, %(weaving)s, 1, %(user)s, 'revise', %(thread)s, '-', 1,"
        " %(text)s)",
        {**ids, "weaving": weaving},
    )
    return loom

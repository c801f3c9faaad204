"""Any sequence of writes leaves a block as a small model in Python says it must be."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import psycopg
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.calls import Answer, refused
from tests.sql.doors import wm
from tests.sql.texts import as_xml_carries, markdown_blocks, sha256, xml_blocks

Connection = psycopg.Connection[Any]

# Few characters that meet often, and now and then any character there is.
_MEETING = st.text(alphabet="ab\n <&`\r", max_size=8)
_ANY = st.text(
    alphabet=st.characters(exclude_characters="\x00", exclude_categories=["Cs"]), max_size=6
)
TEXTS = st.one_of(_MEETING, _ANY)
CONDITIONS = st.sampled_from([None, None, None, "current", "stale"])

WRITES = st.one_of(
    st.tuples(
        st.just("set"),
        st.fixed_dictionaries(
            {"content": TEXTS},
            optional={
                "char_limit": st.integers(1, 20),
                "if_absent": st.booleans(),
                "if_match": CONDITIONS,
            },
        ),
    ),
    st.tuples(
        st.just("append"),
        st.fixed_dictionaries(
            {"addition": TEXTS}, optional={"separator": TEXTS, "if_match": CONDITIONS}
        ),
    ),
    st.tuples(
        st.just("replace"),
        st.fixed_dictionaries(
            {"old": TEXTS.filter(bool), "new": TEXTS},
            optional={"expected_count": st.integers(1, 3), "if_match": CONDITIONS},
        ),
    ),
    st.tuples(st.just("delete"), st.fixed_dictionaries({}, optional={"if_match": CONDITIONS})),
)


@dataclass
class Block:
    """What a block must be: content is None where none is live, version 0 where none ever was."""

    content: str | None = None
    version: int = 0
    limit: int = 4096

    def apply(self, verb: str, fields: Answer) -> str | None:
        """Does a write, or changes nothing and says with which SQLSTATE it is refused."""
        live = self.content is not None
        condition = fields.get("if_match_sha256")
        if fields.get("if_absent") and condition is not None:
            return "LM001"
        if fields.get("if_absent") and live:
            return "LM202"
        if verb == "replace" and not live:
            return "LM101"
        if condition is not None and (not live or condition != sha256(self.content or "")):
            return "LM201"
        if verb == "delete":
            self.content, self.version = None, self.version + live
            return None
        limit = fields.get("char_limit") or (self.limit if live else 4096)
        content = self._written(verb, fields)
        if isinstance(content, tuple):
            return content[0]
        if len(content) > limit:
            return "LM401"
        self.content, self.version, self.limit = content, self.version + 1, limit
        return None

    def _written(self, verb: str, fields: Answer) -> str | tuple[str]:
        if verb == "set":
            return fields["content"]  # type: ignore[no-any-return]
        if verb == "append" and self.content is None:
            return fields["addition"]  # type: ignore[no-any-return]
        assert self.content is not None
        if verb == "append":
            return self.content + fields.get("separator", "\n") + fields["addition"]  # type: ignore[no-any-return]
        count = self.content.count(fields["old"])
        if count == 0:
            return ("LM403",)
        if count != fields.get("expected_count", count):
            return ("LM203",)
        return self.content.replace(fields["old"], fields["new"])


def with_condition(fields: Answer, block: Block) -> Answer:
    """The request with the hash that its condition stands for."""
    wanted = fields.get("if_match")
    request = {name: value for name, value in fields.items() if name != "if_match"}
    if wanted is not None:
        current = sha256(block.content or "")
        request["if_match_sha256"] = current if wanted == "current" else sha256("stale")
    return request


def check(db: Connection, block: Block, receipt: Answer | None) -> None:
    """Holds get, list and both renders to the model, and a write's receipt to the get."""
    got = wm(db, "get")
    assert got["found"] is (block.content is not None)
    assert got["version"] == (block.version or None)
    listed = wm(db, "list", include_deleted=True)["items"]
    assert [item["version"] for item in listed] == ([block.version] if block.version else [])
    rendered = {form: wm(db, "render", format=form)["text"] for form in ("xml", "markdown")}
    if block.content is None:
        assert rendered == {"xml": "", "markdown": ""}
        return
    assert got["content"] == block.content
    assert got["content_sha256"] == listed[0]["content_sha256"] == sha256(block.content)
    assert (got["value_length"], got["char_limit"]) == (len(block.content), block.limit)
    assert abs(got["fill_ratio"] - len(block.content) / block.limit) <= 0.00005
    assert xml_blocks(rendered["xml"]) == [("scratchpad", as_xml_carries(block.content))]
    assert markdown_blocks(rendered["markdown"]) == [("scratchpad", block.content)]
    if receipt is not None:
        shared = set(receipt) & set(got) - {"created"}
        assert {name: receipt[name] for name in shared} == {name: got[name] for name in shared}


# One `db` serves all examples: each leaves it as it was.
@settings(
    max_examples=120,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(writes=st.lists(WRITES, min_size=1, max_size=12))
def test_any_sequence_of_writes_equals_the_model(
    db: Connection, writes: list[tuple[str, Answer]]
) -> None:
    block = Block()
    with db.transaction(force_rollback=True):
        for verb, fields in writes:
            request = with_condition(fields, block)
            sqlstate = block.apply(verb, request)
            receipt = None
            if sqlstate is None:
                receipt = wm(db, verb, **request)
            else:
                with refused(db, sqlstate):
                    wm(db, verb, **request)
            check(db, block, receipt if verb != "delete" else None)


@settings(
    max_examples=80,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(blocks=st.dictionaries(TEXTS.filter(bool), TEXTS, min_size=1, max_size=6))
def test_any_blocks_beside_each_other_are_read_back_from_their_render(
    db: Connection, blocks: dict[str, str]
) -> None:
    with db.transaction(force_rollback=True):
        for key, text in blocks.items():
            wm(db, "set", content=text, block_key=key)
        in_order = sorted(blocks, key=str.encode)
        as_xml = wm(db, "render")["text"]
        assert xml_blocks(as_xml) == [
            (as_xml_carries(key), as_xml_carries(blocks[key])) for key in in_order
        ]
        as_markdown = wm(db, "render", format="markdown")["text"]
        assert [text for _key, text in markdown_blocks(as_markdown)] == [
            blocks[key] for key in in_order
        ]

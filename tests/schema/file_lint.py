"""Rules of the SQL files that their text shows and the catalog does not.

Each rule takes the tree and yields findings; `RULES` lists them, `lint_files` runs them all.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from loom.sql_lint import Finding
from loom.sql_tree import Script, SqlTree
from tests.schema.sql_text import arguments_of, code_of, statements_of, without_comments

MOST_LINES = 100

CLOCK_EXCEPTIONS = {
    "_now": "it is the clock",
    "health": "a heartbeat's age is real time also while a test has stopped the clock",
}

_HEADER = re.compile(r"\A(.*?)\bas \$", re.DOTALL)
_TABLE = re.compile(r"^create table loom\.(\w+) \((.*?)^\)", re.DOTALL | re.MULTILINE)
_TIME = re.compile(r"\b(\w+)\s+timestamptz\b")
_ROW_VARIABLE = re.compile(r"\b(\w+)\s+(?:loom\.\w+|record)\b")
_UPPER_CASE = re.compile(
    r"\b(?:SELECT|INSERT|UPDATE|DELETE|FROM|WHERE|JOIN|CREATE|ALTER|BEGIN|END|DECLARE|RETURN|RETURNS"
    r"|LANGUAGE|FUNCTION|TABLE|NULL|NOT|AND|OR|GRANT|REVOKE|INTO|VALUES)\b"
)

# What must not be in the code (strings and comments aside) of a function, and why.
_FORBIDDEN = {
    "no_like": (
        re.compile(r"\b(?:i?like|similar\s+to)\b|~~", re.IGNORECASE),
        "compares with LIKE; keys are compared by equality, ^@ or ranges",
    ),
    "no_catch_all": (
        re.compile(r"\bwhen\s+others\b", re.IGNORECASE),
        "catches every error",
    ),
    "no_merge": (
        re.compile(r"\bmerge\s+into\b|\buuidv7\s*\(", re.IGNORECASE),
        "uses what PostgreSQL 15 lacks or what cannot be spread by org",
    ),
    "no_xml": (
        re.compile(r"\bxml(?:element|forest|agg|concat|serialize|attributes)\b", re.IGNORECASE),
        "renders with XML functions, which cost twice what string_agg and replace do",
    ),
}

Rule = Callable[[SqlTree], Iterator[Finding]]


def file_is_one_function(tree: SqlTree) -> Iterator[Finding]:
    """A file of functions/ makes exactly the function it is named after, and comments on it."""
    for script in tree.all_functions:
        if script.creates != (script.name,):
            made = ", ".join(script.creates) or "nothing"
            yield Finding("file_is_one_function", script.path, f"makes {made}")
        text = without_comments(script.text)
        if f"create or replace function loom.{script.name}(" not in text:
            yield Finding("file_is_one_function", script.path, "is not create or replace")
        if f"comment on function loom.{script.name}(" not in text:
            yield Finding("file_is_one_function", script.path, "has no comment on function")


def file_length(tree: SqlTree) -> Iterator[Finding]:
    """A function fits on a screen or two: at most 100 lines."""
    for script in tree.all_functions:
        lines = script.text.count("\n")
        if lines > MOST_LINES:
            yield Finding("file_length", script.path, f"has {lines} lines, at most {MOST_LINES}")


def header_in_full(tree: SqlTree) -> Iterator[Finding]:
    """The header states language and volatility: re-creating drops what it leaves out.

    The path is stated where a client or a trigger enters, and nowhere else.
    """
    for script in tree.all_functions:
        match = _HEADER.match(without_comments(script.text))
        header = match[1] if match else ""
        entered = re.search(r"\bsecurity definer\b|\breturns trigger\b", header)
        for wanted, pattern in (
            ("language", r"\blanguage (?:plpgsql|sql)\b"),
            ("volatility", r"\b(?:immutable|stable|volatile)\b"),
            *((("search path", r"\bset search_path = loom, pg_temp\b"),) if entered else ()),
        ):
            if not re.search(pattern, header):
                yield Finding("header_in_full", script.path, f"does not state its {wanted}")
        if not entered and "search_path" in header:
            yield Finding("header_in_full", script.path, "pins the path again")


def lower_case(tree: SqlTree) -> Iterator[Finding]:
    """Keywords are written small."""
    for script in (
        *tree.all_migrations,
        *_function_sets(tree),
        tree.roles,
        tree.bootstrap,
        *tree.lints,
    ):
        for line, word in _matches(_UPPER_CASE, script):
            yield Finding("lower_case", script.path, f"line {line}: {word}")


def forbidden_words(tree: SqlTree) -> Iterator[Finding]:
    """What no function does."""
    for script in tree.all_functions:
        for rule, (pattern, why) in _FORBIDDEN.items():
            for line, _word in _matches(pattern, script):
                yield Finding(rule, script.path, f"line {line}: {why}")


def one_clock(tree: SqlTree) -> Iterator[Finding]:
    """Functions take the time from loom._now alone, which tests can stop."""
    pattern = re.compile(
        r"\b(?:now|clock_timestamp|transaction_timestamp|statement_timestamp|timeofday)\s*\("
        r"|\b(?:current_timestamp|current_date|current_time|localtimestamp|localtime)\b"
    )
    for script in tree.all_functions:
        if script.name not in CLOCK_EXCEPTIONS:
            for line, word in _matches(pattern, script):
                yield Finding("one_clock", script.path, f"line {line}: {word}")


def one_setting(tree: SqlTree) -> Iterator[Finding]:
    """loom.org is the one setting that functions set, and then for the transaction only.

    Any client can set a setting, so none may be a permission. The isolation level is none: no
    statement of a transaction can change it any more.
    """
    pattern = re.compile(r"\b(current_setting|set_config)\s*\(\s*'([^']*)'([^;]*)")
    for script in tree.all_functions:
        text = without_comments(script.text)
        for function, name, rest in pattern.findall(text):
            if name not in ("loom.org", "server_version_num", "transaction_isolation"):
                yield Finding("one_setting", script.path, f"{function} of {name}")
            elif function == "set_config" and not re.search(r",\s*true\s*\)", rest):
                yield Finding("one_setting", script.path, f"{name} outlasts the transaction")


# Functions of the scheduler's that look at all orgs at once.
_ACROSS_ORGS = {
    *("_anything_due", "_pass_open", "_work_due_count", "work_metrics", "user_profile_due"),
    # Models of vectors are of the installation.
    *("_embedding_due_count", "_embedding_given_up", "_embedding_restart", "_embedding_switch"),
    *("_embedding_remove", "embedding_model_retire"),
    "_weaving_metrics",
}


def statement_names_org(tree: SqlTree) -> Iterator[Finding]:
    """Each statement on a table with an org column names org: a key of every look-up."""
    owned = {
        name
        for script in tree.all_migrations
        for name, columns in _TABLE.findall(script.text)
        if re.search(r"^\s*org\s", columns, re.MULTILINE)
    }
    used = re.compile(r"\b(?:from|join|into|update)\s+loom\.(\w+)")
    for script in tree.all_functions:
        if script.name in _ACROSS_ORGS:
            continue
        for statement in statements_of(code_of(script.text)):
            for table in used.findall(statement):
                if table in owned and not re.search(r"\borg\b", statement):
                    yield Finding("statement_names_org", script.path, f"{table} without org")


def times_by_ts(tree: SqlTree) -> Iterator[Finding]:
    """A time becomes text or JSON by loom._ts alone: all else follows the session's TimeZone."""
    columns = {name for script in tree.all_migrations for name in _TIME.findall(script.text)}
    for script in tree.all_functions:
        if script.name == "_ts":
            continue
        code = code_of(script.text)
        times = columns | set(_TIME.findall(code))
        for how in _ways_to_text(code, times):
            yield Finding("times_by_ts", script.path, how)


def _ways_to_text(code: str, times: set[str]) -> Iterator[str]:
    a_time = rf"(?:\w+\.)*(?:{'|'.join(sorted(times))})\b"
    for match in re.finditer(
        rf"\b{a_time}\s*::\s*(?:text|varchar|jsonb?|name)\b"  # a cast
        rf"|\|\|\s*{a_time}(?!\s*[-+(])|\b{a_time}\s*\|\|"  # a concatenation
        r"|\bto_char\s*\(",
        code,
    ):
        yield match[0]
    rows = set(_ROW_VARIABLE.findall(code))
    for function in ("to_jsonb", "to_json", "row_to_json"):
        for arguments in arguments_of(code, function):
            if arguments[0] in rows or re.fullmatch(a_time, arguments[0]):
                yield f"{function}({arguments[0]})"
    for function in ("jsonb?_build_object", "jsonb?_build_array", "jsonb?_agg", "format", "concat"):
        for arguments in arguments_of(code, function):
            for argument in arguments:
                if re.fullmatch(a_time, argument):
                    yield f"{argument} in {function.replace('b?', 'b')}"


def plain_migrations(tree: SqlTree) -> Iterator[Finding]:
    """Migrations fit into a transaction, also a caller's, and touch nothing in public."""
    pattern = re.compile(r"\bconcurrently\b|\bpublic\.|\b(?:commit|rollback|vacuum)\b|\bhashtext")
    for script in (*tree.all_migrations, tree.bootstrap):
        for line, word in _matches(pattern, script):
            yield Finding("plain_migrations", script.path, f"line {line}: {word}")


RULES: tuple[Rule, ...] = (
    file_is_one_function,
    file_length,
    header_in_full,
    lower_case,
    forbidden_words,
    one_clock,
    one_setting,
    statement_names_org,
    times_by_ts,
    plain_migrations,
)


def _function_sets(tree: SqlTree) -> tuple[Script, ...]:
    added = (script for addition in tree.additions for script in addition.function_set)
    return (*tree.function_set, *added)


def lint_files(tree: SqlTree) -> list[Finding]:
    """Runs all rules; sorted."""
    return sorted(finding for rule in RULES for finding in rule(tree))


def _matches(pattern: re.Pattern[str], script: Script) -> Iterator[tuple[int, str]]:
    code = code_of(script.text)
    for match in pattern.finditer(code):
        yield code.count("\n", 0, match.start()) + 1, match[0]

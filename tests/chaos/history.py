"""What clients wrote and were told, what is there in the end, and whether the two agree.

There are four kinds of rows. A shared one only grows, a line at a time, by whoever writes: its line
number n was written by the write that made version n. An own one has one writer, which replaces or
deletes it: its write number n makes version n. So each version can be accounted for. An item is
there or not; its row is the kind of it. And of a latest one, which a worker writes from what it was
told, only the last text counts.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from tests.chaos.findings import Findings
from tests.chaos.linearizability import Operation, violations


@dataclass(frozen=True)
class Write:
    """One write to one row. `text` is told apart from that of every other write.

    `version` is what the client was told, None when it was told nothing: then the write may have
    been carried out or not. In an own row `text` None means that the row was deleted. Writes with
    the same `together` were one batch: all of them are there, or none.
    """

    row: str
    text: str | None
    version: int | None
    together: str = ""


@dataclass(frozen=True)
class Row:
    """A row as it stands in the end; `content` None is a tombstone.

    `versions` are the contents of all its versions, the first one first, where the row keeps them.
    """

    content: str | None
    version: int
    versions: tuple[str | None, ...] | None = None


@dataclass
class History:
    """Everything that happened: shared writes in any order, own ones in the order of their writer.

    `reads` are a row's version that a client saw and the least it had to be, since the client had
    been told of it. `bound` are the ids that clients were told for one place, `erased` the users
    whose erasure was acknowledged, `operations` what is judged by `linearizability`, `refused`
    what was told no although nothing that happened speaks against it.
    """

    shared: list[Write] = field(default_factory=list)
    own: dict[str, list[Write]] = field(default_factory=lambda: defaultdict(list))
    items: list[Write] = field(default_factory=list)
    latest: dict[str, list[Write]] = field(default_factory=lambda: defaultdict(list))
    reads: list[tuple[str, int, int]] = field(default_factory=list)
    bound: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    erased: list[str] = field(default_factory=list)
    operations: list[Operation] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)

    @property
    def acknowledged(self) -> int:
        """How many writes were answered."""
        done = sum(each.kind == "write" and each.outcome == "done" for each in self.operations)
        return done + sum(write.version is not None for write in self._all())

    @property
    def unanswered(self) -> int:
        """How many writes were cut off."""
        unknown = sum(each.outcome == "unknown" for each in self.operations)
        return unknown + sum(write.version is None for write in self._all())

    def _all(self) -> Iterator[Write]:
        yield from self.shared
        yield from self.items
        for writes in (*self.own.values(), *self.latest.values()):
            yield from writes


@dataclass
class Verdict(Findings):
    """What the replay found.

    `lost`: acknowledged and not there. `doubled`: there twice. `gaps`: versions that nobody made,
    or that another write made than the one which was told so. `torn`: half a batch. `stale`: a read
    that did not show what had been acknowledged before. `unknown`: there, and nobody wrote it.
    `impossible`: compare-and-swap that cannot have happened one thing at a time. `refused`: what
    was told no, and need not have been.
    """

    lost: list[str] = field(default_factory=list)
    doubled: list[str] = field(default_factory=list)
    gaps: list[str] = field(default_factory=list)
    torn: list[str] = field(default_factory=list)
    stale: list[str] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)
    impossible: list[str] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)


@dataclass
class Final:
    """What is there in the end: rows by name, and the texts of each kind of item."""

    rows: dict[str, Row] = field(default_factory=dict)
    items: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))


def check(history: History, final: Final) -> Verdict:
    """Replay what was acknowledged, and compare it with what is there."""
    verdict, rows = Verdict(), final.rows
    by_row: dict[str, list[Write]] = defaultdict(list)
    for write in history.shared:
        by_row[write.row].append(write)
    for row, writes in by_row.items():
        _check_shared(row, writes, rows.get(row), verdict)
    for row, writes in history.own.items():
        _check_own(row, writes, rows.get(row), verdict)
        _check_versions(row, writes, rows.get(row), verdict)
    for row, writes in history.latest.items():
        _check_latest(row, writes, rows.get(row), verdict)
    _check_items(history.items, final.items, verdict)
    _check_batches(history.shared, rows, verdict)
    known = by_row.keys() | history.own.keys() | history.latest.keys()
    verdict.unknown += [f"row {row}" for row in sorted(rows.keys() - known)]
    for row, seen, least in history.reads:
        if seen < least:
            verdict.stale.append(f"{row}: version {seen} after {least} was acknowledged")
    for place, ids in history.bound.items():
        if len(ids) > 1:
            verdict.doubled.append(f"{place} was bound to {len(ids)} looms")
    verdict.impossible += violations(history.operations)
    verdict.refused += history.refused
    return verdict


def _lines(row: Row | None) -> list[str]:
    return row.content.split("\n") if row is not None and row.content is not None else []


def _check_shared(row: str, writes: list[Write], final: Row | None, verdict: Verdict) -> None:
    lines = _lines(final)
    count = Counter(lines)
    wanted = {write.text for write in writes}
    for write in writes:
        where = f"{row}: {write.text}"
        if write.text is not None and count[write.text] > 1:
            verdict.doubled.append(f"{where} stands there {count[write.text]} times")
        if write.version is None:
            continue
        if write.text not in count:
            verdict.lost.append(f"{where}, acknowledged as version {write.version}")
        elif lines[write.version - 1 : write.version] != [write.text]:
            verdict.gaps.append(f"{where}, acknowledged as version {write.version}, is another")
    verdict.unknown += [f"{row}: line {line}" for line in count if line not in wanted]
    if final is not None and final.version != len(lines):
        verdict.gaps.append(f"{row}: version {final.version} with {len(lines)} lines")
    told = Counter(write.version for write in writes if write.version is not None)
    verdict.gaps += [f"{row}: version {each} told {n} times" for each, n in told.items() if n > 1]


def _check_own(row: str, writes: list[Write], final: Row | None, verdict: Verdict) -> None:
    for number, write in enumerate(writes, start=1):
        if write.version is None:
            continue
        where = f"{row}: write {number} was acknowledged as version {write.version}"
        if write.version > number:
            # The excess stays for all later writes: told once.
            verdict.doubled.append(f"{where}: one before it, or it, was carried out twice")
            break
        if write.version < number:
            verdict.lost.append(f"{where}: one before it is gone")
            break
    done = [write for write in writes if write.version is not None]
    if not done:
        return
    version = final.version if final is not None else 0
    last = done[-1].version or 0
    if version < last:
        verdict.lost.append(f"{row}: stands at version {version}, {last} was acknowledged")
    elif version > len(writes):
        verdict.doubled.append(f"{row}: stands at version {version} after {len(writes)} writes")
    elif final is not None and final.content != writes[version - 1].text:
        verdict.gaps.append(f"{row}: version {version} has another write's text")


def _check_versions(row: str, writes: list[Write], final: Row | None, verdict: Verdict) -> None:
    """Where a row keeps its versions, each of them is the write of that number."""
    if final is None or final.versions is None:
        return
    kept = final.versions
    if len(kept) != final.version:
        verdict.gaps.append(f"{row}: {len(kept)} versions are kept of {final.version}")
    for number, (write, text) in enumerate(zip(writes, kept, strict=False), start=1):
        if write.text != text:
            verdict.gaps.append(f"{row}: version {number} has {text!r}, not {write.text!r}")


def _check_latest(row: str, writes: list[Write], final: Row | None, verdict: Verdict) -> None:
    """The text of the last write that was acknowledged, or of a later one that was cut off."""
    places = [place for place, write in enumerate(writes) if write.version is not None]
    if not places:
        return
    told = None if final is None else final.content
    if told not in [write.text for write in writes[places[-1] :]]:
        verdict.lost.append(f"{row}: says {told!r}, not {writes[places[-1]].text!r}")


def _check_items(writes: list[Write], final: Mapping[str, list[str]], verdict: Verdict) -> None:
    there = {kind: Counter(texts) for kind, texts in final.items()}
    for write in writes:
        count = there.get(write.row, Counter())[write.text or ""]
        if count > 1:
            verdict.doubled.append(f"{write.row} {write.text} is there {count} times")
        elif count == 0 and write.version is not None:
            verdict.lost.append(f"{write.row} {write.text}")
    wanted = {(write.row, write.text) for write in writes}
    for kind, texts in there.items():
        verdict.unknown += [f"{kind} {text}" for text in texts if (kind, text) not in wanted]


def _check_batches(writes: Iterable[Write], final: Mapping[str, Row], verdict: Verdict) -> None:
    batches: dict[str, list[Write]] = defaultdict(list)
    for write in writes:
        if write.together:
            batches[write.together].append(write)
    lines = {row: set(_lines(each)) for row, each in final.items()}
    for name, parts in batches.items():
        there = [part.text in lines.get(part.row, ()) for part in parts]
        if any(there) and not all(there):
            verdict.torn.append(f"batch {name}: {sum(there)} of {len(there)} writes are there")

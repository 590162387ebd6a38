"""The findings of a page: errors open, advice folded, many of a kind together."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from speccheck.validator.engine.locate import Location
from speccheck.validator.evidence.record import Record
from speccheck.validator.report.document import (
    Code,
    Fold,
    Frame,
    FrameLine,
    Heading,
    Items,
    Paragraph,
    Parts,
    Small,
    Terms,
    Word,
    joined,
    level_word,
    note,
)
from speccheck.validator.report.findings_text import (
    MOST_FRAMES,
    advice,
    by_cause,
    is_leaf,
    label_of,
    marked_length,
    section_counts,
    section_of,
    sections,
    statements,
    window,
)
from speccheck.validator.report.merge_findings import Shown
from speccheck.validator.report.style import counted

_OPEN_WARNINGS = 8
_ALONE = 5  # more blocks of one rule stand together, folded
_MOST_OF_RULE = 25
_MOST_LEAVES = 12
_WIDTH = 110  # of a line of a file
_MOST_LISTED = 100
_FEW = 4  # places are listed without a click


class FindingBlock(Record):
    """Findings that share a place: one anchor, one cost, one remedy."""

    anchor: str
    group: tuple[Shown, ...]

    @property
    def first(self) -> Shown:
        """The finding that gives level, rule and places of all."""
        return self.group[0]


class Chapter(Record):
    """Blocks of one level, or of one part of a machine."""

    title: str
    blocks: tuple[FindingBlock, ...]


def chapters(shown: Sequence[Shown]) -> list[Chapter]:
    """Return the findings as the page shows them, each block with its own anchor."""
    turns: dict[str, int] = {}
    result: list[Chapter] = []
    for name, ranked in sections(shown):
        if name:
            title = f"{name}: {section_counts(ranked)}"
            result.append(Chapter(title, tuple(_blocks(ranked, turns))))
            continue
        for level in ("error", "warning", "info"):
            of_level = [shown for shown in ranked if shown.finding.level == level]
            if of_level:
                title = counted(len(of_level), level)
                result.append(Chapter(title, tuple(_blocks(of_level, turns))))
    return result


def _blocks(ranked: Sequence[Shown], turns: dict[str, int]) -> Iterator[FindingBlock]:
    for group in by_cause(ranked):
        clause = group[0].finding.clause
        turns[clause] = turns.get(clause, 0) + 1
        yield FindingBlock(f"{clause}-{turns[clause]}", tuple(group))


def findings_parts(
    result: Iterable[Chapter], *, many: bool, full: bool
) -> "list[Parts]":
    """Return all chapters, the rules that say the same thing often folded."""
    parts: list[Parts] = []
    warnings = 0
    for chapter in result:
        parts.append(Heading(3, chapter.title))
        by_rule: dict[tuple[str, str, str], list[FindingBlock]] = {}
        for block in chapter.blocks:
            finding = block.first.finding
            by_rule.setdefault(
                (finding.level, finding.clause, finding.rule), []
            ).append(block)
        for blocks in by_rule.values():
            if len(blocks) > _ALONE:
                parts.append(_many(blocks, many=many, full=full))
                continue
            for block in blocks:
                level = block.first.finding.level
                warnings += level == "warning"
                is_open = level == "error" or (
                    level == "warning" and warnings <= _OPEN_WARNINGS
                )
                parts.append(_block(block, many=many, is_open=is_open))
    return parts


def _many(blocks: Sequence[FindingBlock], *, many: bool, full: bool) -> Fold:
    """Return one rule that fails in many ways: the first of them, and how many."""
    finding = blocks[0].first.finding
    shown = blocks if full else blocks[:_MOST_OF_RULE]
    body: list[Parts] = [_block(block, many=many, is_open=True) for block in shown]
    if len(shown) < len(blocks):
        rest = counted(len(blocks) - len(shown), "more finding")
        body.append(note(f"{rest} of this rule not shown here: --full"))
    times = Paragraph(f"{len(blocks):,} times: {finding.title}", "message")
    head = _head(blocks[0].first, "")
    return Fold((head, times), body, f"finding rule {finding.level}")


def _block(block: FindingBlock, *, many: bool, is_open: bool) -> Fold:
    """Return a block with frames, cost and remedy; its statements are always seen."""
    group = block.group
    return Fold(
        tuple(_statements(group)),
        tuple(_body(group, many=many)),
        f"finding {block.first.finding.level}",
        block.anchor,
        is_open,
    )


def _statements(group: Sequence[Shown]) -> Iterator[Parts]:
    for shown, subjects, message in statements(group):
        if shown is not None:
            yield _head(shown, subjects)
        yield Paragraph(message, "message")


def _head(shown: Shown, subjects: str) -> Heading:
    finding = shown.finding
    words = (
        level_word(finding.level, finding.outcome),
        " ",
        Word(finding.clause, "clause"),
        " ",
        Word(finding.rule or finding.title, "name"),
        *([" ", Word(subjects, "subject")] if subjects else []),
    )
    return Heading(4, words)


def _body(group: Sequence[Shown], *, many: bool) -> Iterator[Parts]:
    first = group[0]
    yield from _places(group)
    if many and not any(at.line for at in first.locations):
        yield Paragraph(("in ", Code(first.plan_name)), "place")
    if first.finding.note:
        yield note(f"({first.finding.note})")
    finding = group[-1].finding
    level = Small(f"({finding.clause_level})")
    requires: Parts = (f"{finding.title} ", level)
    rows = (
        (name, Code(text) if name == "do" else text) for name, text in advice(group)
    )
    yield Terms([("requires", requires), *rows], "advice")


def _places(group: Sequence[Shown]) -> Iterator[Parts]:
    """Yield the lines of files; of a snapshot the names of its leaves."""
    first = group[0]
    locations = [at for shown in group for at in shown.locations]
    if not first.subjects:
        locations = list(first.locations)
        taken = [at for at in locations if at.file in first.snapshots]
    elif section_of(first) == "job":
        taken = [at for at in locations if is_leaf(at.key)]
    else:
        taken = locations
    kept = {id(at) for at in taken}
    yield from _framed([at for at in locations if id(at) not in kept])
    for file in dict.fromkeys(at.file for at in taken):
        names = list(dict.fromkeys(at.key for at in taken if at.file == file))
        more = len(names) - _MOST_LEAVES
        text = ", ".join(names[:_MOST_LEAVES])
        text += f" and {more:,} more" if more > 0 else ""
        yield Paragraph((Code(file), " ", Code(text)), "place")


def _frames(shown: Sequence[Location], count: int) -> Iterator[Frame]:
    digits = max((len(str(at.line)) for at in shown), default=1)
    number = 0
    for file, group in groupby(shown, key=lambda at: at.file):
        lines: list[FrameLine] = []
        column = 0
        for at in group:
            text, start = window(at, _WIDTH)
            length = max(1, min(marked_length(at), len(text) - start))
            label = label_of(number, count)
            lines.append(FrameLine(at.line, text, start, length, label))
            column = column or at.column
            number += 1
        yield Frame(f"{file}:{lines[0].number}:{column}", digits, tuple(lines))


def _framed(locations: Sequence[Location]) -> Iterator[Parts]:
    """Yield the first places in full, file by file, the others as a list that folds."""
    framed = [at for at in locations if at.line]
    yield from _frames(framed[:MOST_FRAMES], len(framed))
    names = list(dict.fromkeys(f"{at.file}:{at.line}" for at in framed[MOST_FRAMES:]))
    if len(names) > _FEW:
        body: list[Parts] = [Items(list(map(Code, names[:_MOST_LISTED])), "places")]
        if len(names) > _MOST_LISTED:
            body.append(Paragraph(f"and {len(names) - _MOST_LISTED:,} more places"))
        yield Fold(f"also at {len(names):,} more places", body, "places")
    elif names:
        yield Paragraph(("also at ", *joined(map(Code, names))), "place")
    # Keys that stand on no line of their own: what a file does not say.
    keys: dict[str, dict[str, None]] = {}
    for at in locations:
        if not at.line and at.file:
            keys.setdefault(at.file, {})[at.key] = None
    for file, key in keys.items():
        text = ", ".join(filter(None, list(key)[:_MOST_LISTED]))
        yield Paragraph((Code(file), " ", Code(text)), "place")

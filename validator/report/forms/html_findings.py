"""The findings of a page: errors open, advice folded, many of a kind together."""

from collections.abc import Iterable, Iterator, Sequence

from speccheck.validator.evidence.record import Record
from speccheck.validator.report.findings_text import (
    by_cause,
    is_leaf,
    section_counts,
    section_of,
    sections,
)
from speccheck.validator.report.forms.html_frame import html_frames
from speccheck.validator.report.forms.html_text import (
    code,
    escaped,
    folded,
    level_word,
)
from speccheck.validator.report.merge_findings import Shown
from speccheck.validator.report.style import counted
from speccheck.validator.report.wording import folded_subjects, with_numbers

_OPEN_WARNINGS = 8
_ALONE = 5  # more blocks of one rule stand together, folded
_MOST_OF_RULE = 25
_MOST_LEAVES = 12


class Block(Record):
    """Findings that share a place: one anchor, one cost, one remedy."""

    anchor: str
    group: tuple[Shown, ...]

    @property
    def first(self) -> Shown:
        """The one that tells level, rule and places of all."""
        return self.group[0]


class Chapter(Record):
    """Blocks of one level, or of one part of a machine."""

    title: str
    blocks: tuple[Block, ...]


def chapters(shown: Sequence[Shown]) -> list[Chapter]:
    """The findings as the page shows them, each block with an anchor of its own."""
    turns: dict[str, int] = {}
    found: list[Chapter] = []
    for name, ranked in sections(shown):
        if name:
            title = f"{name}: {section_counts(ranked)}"
            found.append(Chapter(title, tuple(_blocks(ranked, turns))))
            continue
        for level in ("error", "warning", "info"):
            of_level = [one for one in ranked if one.finding.level == level]
            if of_level:
                title = counted(len(of_level), level)
                found.append(Chapter(title, tuple(_blocks(of_level, turns))))
    return found


def _blocks(ranked: Sequence[Shown], turns: dict[str, int]) -> Iterator[Block]:
    for group in by_cause(ranked):
        clause = group[0].finding.clause
        turns[clause] = turns.get(clause, 0) + 1
        yield Block(f"{escaped(clause)}-{turns[clause]}", tuple(group))


def findings_html(found: Iterable[Chapter], *, many: bool, full: bool) -> Iterator[str]:
    """All chapters, the rules that say the same thing often folded."""
    warnings = 0
    for chapter in found:
        yield f"<h3>{escaped(chapter.title)}</h3>\n"
        by_rule: dict[tuple[str, str, str], list[Block]] = {}
        for block in chapter.blocks:
            one = block.first.finding
            by_rule.setdefault((one.level, one.clause, one.rule), []).append(block)
        for blocks in by_rule.values():
            if len(blocks) > _ALONE:
                yield _many(blocks, many=many, full=full)
                continue
            for block in blocks:
                level = block.first.finding.level
                warnings += level == "warning"
                is_open = level == "error" or (
                    level == "warning" and warnings <= _OPEN_WARNINGS
                )
                yield block_html(block, many=many, is_open=is_open)


def _many(blocks: Sequence[Block], *, many: bool, full: bool) -> str:
    """One rule that fails in many ways: the first of them, and how many there are."""
    finding = blocks[0].first.finding
    shown = blocks if full else blocks[:_MOST_OF_RULE]
    body = "".join(block_html(one, many=many, is_open=True) for one in shown)
    if len(shown) < len(blocks):
        rest = counted(len(blocks) - len(shown), "more finding")
        body += f'<p class="note">{rest} of this rule not shown here: --full</p>\n'
    head = _head(blocks[0].first, "")
    told = f'<p class="message">{len(blocks):,} times: {escaped(finding.title)}</p>'
    return folded(head + told, body, name=f"finding rule {finding.level}")


def block_html(block: Block, *, many: bool, is_open: bool) -> str:
    """One block with its frames, cost and remedy; its statements are always seen."""
    first = block.first
    subjects = [subject for one in block.group for subject in one.subjects]
    head = "".join(_statements(block.group, subjects))
    body = "".join(_body(block.group, subjects, many=many))
    opened = " open" if is_open else ""
    return (
        f'<details class="finding {first.finding.level}" id="{block.anchor}"{opened}>\n'
        f"<summary>{head}</summary>\n{body}</details>\n"
    )


def _statements(group: Sequence[Shown], subjects: Sequence[str]) -> Iterator[str]:
    first = group[0]
    if not first.subjects:
        for one in group:
            message = escaped(one.finding.message)
            yield f'{_head(one, "")}<p class="message">{message}</p>'
        return
    yield _head(first, folded_subjects(subjects))
    for one in group:
        is_of_all = set(one.subjects) == set(subjects)
        of = "" if is_of_all else f"{folded_subjects(one.subjects)}: "
        yield f'<p class="message">{escaped(of + one.finding.message)}</p>'


def _head(one: Shown, subjects: str) -> str:
    finding = one.finding
    of = f' <span class="subject">{escaped(subjects)}</span>' if subjects else ""
    rule = escaped(finding.rule or finding.title)
    return (
        f"<h4>{level_word(finding.level, finding.outcome)} "
        f'<span class="clause">{escaped(finding.clause)}</span> '
        f'<span class="name">{rule}</span>{of}</h4>'
    )


def _body(
    group: Sequence[Shown], subjects: Sequence[str], *, many: bool
) -> Iterator[str]:
    first = group[0]
    yield from _places(group)
    if many and not any(at.line for at in first.locations):
        yield f'<p class="place">in {code(first.plan_name)}</p>\n'
    if first.finding.note:
        yield f'<p class="note">({escaped(first.finding.note)})</p>\n'
    finding = group[-1].finding
    title = "must" if finding.clause_level == "must" else finding.clause_level
    pairs = [
        ("requires", f"{escaped(finding.title)} <small>({title})</small>"),
        ("cost", escaped(finding.cost)),
        ("do", code(finding.action or "")),
        ("fix", escaped(with_numbers(finding.remedy, subjects))),
        *(("try", escaped(text)) for text in _proposals(group)),
        *(("edit", escaped(text)) for text in _edits(group)),
    ]
    if first.repeats:
        of = f"{first.repeats:,} more of {first.plans:,} such plans"
        pairs.append(("also", of))
    told = "".join(f"<dt>{name}</dt><dd>{text}</dd>\n" for name, text in pairs if text)
    yield f'<dl class="advice">\n{told}</dl>\n'


def _proposals(group: Sequence[Shown]) -> Iterator[str]:
    """Settings that were tried; none are sought for most findings."""
    found = [proposal for one in group for proposal in one.proposals or ()]
    if found:
        from speccheck.validator.report.fixes_text import (  # noqa: PLC0415
            proposal_text,
        )

        for proposal in dict.fromkeys(found):
            yield proposal_text(proposal)


def _edits(group: Sequence[Shown]) -> Iterator[str]:
    """What --fix changes."""
    for fix in dict.fromkeys(one.finding.fix for one in group):
        if fix is not None:
            by = "--fix" if fix.is_safe else "--fix --unsafe-fixes"
            yield f"{fix.says} ({by} does it)"


def _places(group: Sequence[Shown]) -> Iterator[str]:
    """Lines of files; of a snapshot, which nobody wrote, the names of its leaves."""
    first = group[0]
    locations = [at for one in group for at in one.locations]
    if not first.subjects:
        locations = list(first.locations)
        taken = [at for at in locations if at.file in first.snapshots]
    elif section_of(first) == "job":
        taken = [at for at in locations if is_leaf(at.key)]
    else:
        taken = locations
    kept = {id(at) for at in taken}
    yield from html_frames([at for at in locations if id(at) not in kept])
    for file in dict.fromkeys(at.file for at in taken):
        names = list(dict.fromkeys(at.key for at in taken if at.file == file))
        more = len(names) - _MOST_LEAVES
        told = ", ".join(names[:_MOST_LEAVES])
        told += f" and {more:,} more" if more > 0 else ""
        yield f'<p class="place">{code(file)} {code(told)}</p>\n'

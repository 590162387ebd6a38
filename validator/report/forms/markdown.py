"""`--output markdown`: for a comment on a change, and for the summary of a job.

What weighs most comes first, so that a platform's limit cuts what weighs least; what
was cut is counted.
"""

import re
from collections.abc import Iterator

from speccheck.validator import VERSION
from speccheck.validator.evidence.record import Record
from speccheck.validator.report.context import ReportContext
from speccheck.validator.report.edition_names import (
    edition_remarks,
    tailored_headline,
)
from speccheck.validator.report.merge_findings import (
    Shown,
    shown_findings,
    sorted_waived,
    waiver_words,
)
from speccheck.validator.report.style import Style, counted, printable
from speccheck.validator.report.summary import (
    LEVEL_WORDS,
    LEVELS,
    OUTCOME_WORDS,
    Summary,
    passed_over_line,
    switched_off_lines,
)
from speccheck.validator.report.text import header
from speccheck.validator.report.unknowns import unknown_lines
from speccheck.validator.report.wording import folded_subjects, with_numbers

# Marks of CommonMark and of platforms, or a colon inside of a word (addresses, emoji).
_SUSPICIOUS = re.compile(
    r"""
    [`*_\\{}\[\]<>\#@~|$^&]     # markup, references, formulas
    | :(?=[^\s])                # https://x, :smile:, file:3
    | [%!](?=\w)                # %milestone, !12
    | ^www\.
    | ^gh-\d
    | \b[0-9a-f]{7,40}\b        # a commit
    """,
    re.VERBOSE | re.IGNORECASE,
)
_AROUND = re.compile(r"^([(\"']*)(.*?)([)\"',.;:?]*)$")


def escaped(text: str) -> str:
    """Return a text on one line, words that could be markup as code."""
    return " ".join(map(_word, printable(text).split()))


def code(text: str) -> str:
    """Return any text as a code span."""
    shown = " ".join(printable(text).split())
    if not shown:
        return ""
    fence = "`"
    while fence in shown:
        fence += "`"
    space = " " if shown.startswith("`") or shown.endswith("`") else ""
    # A table ends its cells at a bar even inside of code, unless that is escaped.
    return f"{fence}{space}{shown}{space}{fence}".replace("|", r"\|")


def _word(word: str) -> str:
    if not _SUSPICIOUS.search(word):
        return word
    match = _AROUND.match(word)
    before, inner, after = match.groups() if match else ("", word, "")
    return f"{before}{code(inner)}{after}" if inner else code(word)


# A comment on GitHub holds 65,536 characters, one on GitLab a million; the summary of a
# step on GitHub a mebibyte.
COMMENT_BYTES = 65_000
SUMMARY_BYTES = 1_000_000
_MOST_PLACES = 3
_MOST_LETTERS = 600  # of a message or a remedy
_WIDE = Style(unicode=True, width=10**6)
_RESERVED_BYTES = 240  # for the heading of a part and the line that counts the rest
_HEADS = {
    "findings": "| finding | where | what to change |\n| --- | --- | --- |\n",
    "waived": "| finding | where | waived because |\n| --- | --- | --- |\n",
    "unknown": "",
}


class _Part(Record):
    """Rows of one weight; is_open: shown without a click."""

    noun: str
    title: str
    rows: tuple[str, ...]
    head: str
    is_open: bool


def report(context: ReportContext, _: Style) -> Iterator[str]:
    """Yield the report within the limit of a comment."""
    yield markdown_text(context, COMMENT_BYTES)


def markdown_text(context: ReportContext, most_bytes: int) -> str:
    """Return the report in Markdown, of at most so many bytes."""
    head, foot = "".join(_head(context)), _foot(context)
    parts = list(_parts(context))
    reserved = _RESERVED_BYTES * len(parts) + _size(foot)
    left = most_bytes - _size(head) - reserved
    texts: list[str] = [head]
    for part in parts:
        text, left = _written(part, left)
        texts.append(text)
    return "".join((*texts, foot))


def _head(context: ReportContext) -> Iterator[str]:
    run, summary, ending = context.run, context.summary, context.ending
    yield f"### speccheck: {escaped(ending.title)}\n\n"
    details = "; ".join(filter(None, (*ending.details, ending.why)))
    yield f"**{escaped(details)}** " if details else ""
    yield f"(exit code {ending.code})\n\n"
    yield f"{escaped(_clipped(header(run, _WIDE)))}\n\n"
    yield from _totals(summary)
    editions = edition_remarks(run)
    passed_over = filter(None, [passed_over_line(run)])
    silenced = [*editions, *switched_off_lines(summary), *run.warnings, *passed_over]
    if silenced:
        yield "".join(f"- {escaped(_clipped(text))}\n" for text in silenced) + "\n"
    unread = [
        f"- {escaped(_clipped(file.message))}\n"
        for file in run.files
        if file.message and (file.state == "unreadable" or file.named)
    ]
    if unread:
        yield "".join(unread[:_MOST_PLACES])
        if len(unread) > _MOST_PLACES:
            yield f"- and {len(unread) - _MOST_PLACES:,} more such files\n"
        yield "\n"


def _totals(summary: Summary) -> Iterator[str]:
    rows = {level: summary.clauses[level] for level in LEVELS}
    used = [
        (name, word)
        for name, word in OUTCOME_WORDS.items()
        if name in {"pass", "fail"} or any(row[name] for row in rows.values())
    ]
    yield f"| checks | {' | '.join(word for _, word in used)} |\n"
    yield f"| --- |{' --: |' * len(used)}\n"
    for level, row in rows.items():
        if any(row.values()):
            cells = " | ".join(f"{row[name]:,}" for name, _ in used)
            yield f"| {LEVEL_WORDS[level]} | {cells} |\n"
    yield "\n"


def _parts(context: ReportContext) -> Iterator[_Part]:
    """Yield what there is to report, what weighs most first."""
    plans = context.run.plans
    shown = shown_findings(plans)
    many = len(plans) > 1
    is_first = True
    for level in ("error", "warning", "info"):
        showns = [item for item in shown if item.finding.level == level]
        if showns:
            rows = tuple(_row(shown, many=many) for shown in showns)
            title = counted(len(showns), level)
            head = _HEADS["findings"]
            yield _Part(level, title, rows, head, is_first or level == "error")
            is_first = False
    waived = sorted_waived(plans)
    if waived:
        rows = tuple(_waived_row(shown, many=many) for shown in waived)
        title = f"{counted(len(waived), 'waived finding')}"
        yield _Part("waived finding", title, rows, _HEADS["waived"], is_open=False)
    lines = list(unknown_lines(context.run, _WIDE, full=True))
    if lines:
        rows = tuple(_line(line) for line in lines)
        title = "What could not run"
        yield _Part("reason", title, rows, _HEADS["unknown"], is_open=False)


def _line(text: str) -> str:
    """Return what could not run: a heading, or a fact in the list below it."""
    is_fact = text.startswith(" ")
    need, gap, lets = text.strip().partition("   ")
    line = escaped(_clipped(f"{need}: {lets.strip()}" if gap else need))
    return f"- {line}\n" if is_fact else f"\n{line}\n\n"


def _row(shown: Shown, *, many: bool) -> str:
    finding = shown.finding
    word = "" if finding.outcome == "fail" else "broken: "
    if finding.edition:
        word = f"{escaped(f'edition {finding.edition}')}: {word}"
    what = f"**{finding.clause}** {code(finding.rule)}<br>"
    what += word + escaped(_clipped(finding.message))
    remedy = with_numbers(finding.remedy, shown.subjects)
    do = f"{code(finding.action)}: " if finding.action else ""
    return (
        f"| {what} | {_places(shown, many=many)} | {do}{escaped(_clipped(remedy))} |\n"
    )


def _waived_row(shown: Shown, *, many: bool) -> str:
    finding = shown.finding
    what = f"{finding.level} **{finding.clause}** {code(finding.rule)}<br>"
    what += escaped(_clipped(finding.message))
    why = escaped(_clipped(waiver_words(finding.waiver))) if finding.waiver else ""
    return f"| {what} | {_places(shown, many=many)} | {why} |\n"


def _places(item: Shown, *, many: bool) -> str:
    """Return the first places, and how many more there are."""
    texts = dict.fromkeys(
        f"{at.file}:{at.line}" for at in item.locations if at.line and at.file
    )
    names = list(texts)
    if item.subjects or not names:
        keys = (f"{at.file} {at.key}".strip() for at in item.locations if not at.line)
        names += list(dict.fromkeys(keys))
    shown = [code(_clipped(name)) for name in names[:_MOST_PLACES]]
    if item.subjects:
        shown.insert(0, escaped(folded_subjects(item.subjects)))
    if many and not names:
        shown.append(code(_clipped(item.plan_name)))
    if len(names) > _MOST_PLACES:
        shown.append(f"and {len(names) - _MOST_PLACES:,} more")
    return "<br>".join(shown)


def _written(part: _Part, most_bytes: int) -> tuple[str, int]:
    """Return a part with as many rows as there is room for, and the room that is left.

    None is left where a row was cut: what weighs less does not take its place.
    """
    taken: list[str] = []
    used = 0
    for row in part.rows:
        if used + _size(row) > most_bytes:
            break
        used += _size(row)
        taken.append(row)
    rest = len(part.rows) - len(taken)
    lines = [part.head, *taken] if taken else []
    if rest:
        lines.append(f"\n{counted(rest, f'more {part.noun}')} not shown here.\n")
    opened = " open" if part.is_open else ""
    text = f"<details{opened}>\n<summary>{part.title}</summary>\n\n"
    left = 0 if rest else most_bytes - used
    return f"{text}{''.join(lines)}\n</details>\n\n", left


def _foot(context: ReportContext) -> str:
    edition = context.run.edition
    stage = escaped(f"edition {edition.id} ({edition.stage})")
    text = tailored_headline(edition)
    own = f", {text}" if text else ""
    use = f"profile {context.run.use}"
    return f"speccheck {VERSION}, {use}, {stage}, sha256 `{edition.sha256[:16]}`{own}\n"


def _clipped(text: str) -> str:
    return text if len(text) <= _MOST_LETTERS else text[: _MOST_LETTERS - 3] + "..."


def _size(text: str) -> int:
    return len(text.encode("utf-8", "replace"))

"""Comments that speak against an edit: what stands there has a reason.

A line of which its writer says that it is needed is never changed without being asked
for, whatever a rule says of it, and the proposal quotes the words.
"""

import re
from collections.abc import Iterator, Mapping

from speccheck.validator.engine.locate import LocatedFinding, locate
from speccheck.validator.evidence.finding import Change, Fix
from speccheck.validator.evidence.lazy_pattern import lazy_pattern
from speccheck.validator.evidence.secrets import hidden
from speccheck.validator.sources.reader import Source

_NEAR = 2  # lines above and below in which a comment is taken to be about a line
_FARTHEST = 20  # lines of a block of comments that are read upwards
_LONGEST = 100  # characters of a comment that are quoted

# Of shells, YAML and TOML; of JSON. Directives and `#!` are no comments.
_COMMENT = lazy_pattern(r"(?:^|\s)(?:#(?!!|SBATCH|PBS|BSUB|\$)|//)+\s*(?P<text>\S.*)")
# Reasons as people write them, in English and in Chinese.
_REASON = lazy_pattern(
    r"\b(?:do not|don'?t|never)\b.{0,20}\b(?:remove|delet|drop|chang|touch|edit|modif"
    r"|(?:un)?set|disabl|enabl|turn|us|increas|decreas|rais|lower|comment|forget)"
    r"|\bwork-?\s?arounds?\b|\bmust\b|\bneed(?:s|ed)?\b|\brequire[sd]?\b"
    r"|\bnecessary\b|\bmandatory\b|\bimportant\b|\bcrucial\b|\bessential\b"
    r"|\botherwise\b|\bor else\b|\bin order to\b|\bto (?:avoid|prevent|work|fix)\b"
    r"|\b(?:avoid|prevent)s\b|\bhang(?:s|ing)?\b|\bhung\b|\bdead-?locks?\b"
    r"|\bcrash(?:es|ed)?\b|\bwithout (?:this|it)\b|\bw/o\b"
    r"|不要|不能|必须|必要|否则|需要|避免|防止",
    re.IGNORECASE,
)


def cautioned(
    located_finding: LocatedFinding, sources: Mapping[str, Source]
) -> LocatedFinding:
    """Return a finding whose fix quotes the comment that speaks against it, if any."""
    finding = located_finding.finding
    fix = finding.fix
    if fix is None:
        return located_finding
    caution = next(_cautions(fix, sources), "")
    if not caution:
        return located_finding
    fix = fix._replace(says=f"{fix.says}; {caution}", caution=caution)
    return located_finding._replace(finding=finding._replace(fix=fix))


def _cautions(fix: Fix, sources: Mapping[str, Source]) -> Iterator[str]:
    for change in fix.changes:
        source = sources.get(change.place.file)
        line = _line(change, sources)
        if source is None or not line:
            continue
        for number in _lines_near(source, line):
            comment = _comment(source, number)
            if _REASON.search(comment):
                yield f'{_where(number, line)} says: "{_quoted(comment)}"'


def _line(change: Change, sources: Mapping[str, Source]) -> int:
    return locate(change.place, dict(sources)).line


def _lines_near(source: Source, line: int) -> Iterator[int]:
    """Yield the line itself, those above it with their block, then those below."""
    yield line
    first = max(line - _NEAR, 1)
    while first > max(line - _FARTHEST, 1) and _is_all_comment(source, first):
        first -= 1
    yield from range(line - 1, first - 1, -1)
    yield from range(line + 1, line + _NEAR + 1)


def _is_all_comment(source: Source, number: int) -> bool:
    return source.line(number).lstrip().startswith(("#", "//"))


def _comment(source: Source, number: int) -> str:
    match = _COMMENT.search(source.line(number))
    return match["text"].strip() if match else ""


def _where(number: int, line: int) -> str:
    names = {0: "its line", -1: "the line above", 1: "the line below"}
    return names.get(number - line, f"line {number}")


def _quoted(comment: str) -> str:
    text = hidden(comment)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3].rstrip()}..."

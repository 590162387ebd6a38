"""Settings that mend a failure, as lines of the text report."""

from collections.abc import Iterable, Iterator

from speccheck.validator.evidence.finding import Proposal, Setting
from speccheck.validator.evidence.secrets import hidden
from speccheck.validator.report.merge_findings import Shown
from speccheck.validator.report.style import Style, printable, wrap


def proposal_lines(group: Iterable[Shown], style: Style) -> Iterator[str]:
    """Settings that were tried and mend it: `try   stage 1 -> 3: verified, ...`."""
    found = (proposal for one in group for proposal in one.proposals or ())
    for proposal in dict.fromkeys(found):
        text = printable(hidden(proposal_text(proposal)))
        wrapped = wrap(text, style.width, " " * 8)
        yield f"  {style.paint('try  ', 'good')} {wrapped.lstrip()}"


def proposal_text(proposal: Proposal) -> str:
    """A proposal as one sentence, in the words of the files where they have them."""
    settings = ", ".join(map(_setting, proposal.settings))
    if proposal.missing:
        return f"{settings}: no failure is left, but {proposal.because}"
    if proposal.errors:
        also = ", ".join(proposal.errors)
        return f"{settings}: mends this ({proposal.because}); then also fails {also}"
    text = f"{settings}: verified"
    if proposal.because:
        text += f", {proposal.because}"
    if proposal.warnings:
        clauses = dict.fromkeys(one.partition(" ")[0] for one in proposal.warnings)
        text += f" (new warnings: {', '.join(clauses)})"
    return text


def _setting(setting: Setting) -> str:
    names = dict.fromkeys(key.key for key in setting.keys)
    name = " and ".join(names) or setting.leaf
    if setting.before is None:
        return f"{name} {_written(setting.after)}"
    if setting.after is None:
        return f"without {name}"
    return f"{name} {_written(setting.before)} -> {_written(setting.after)}"


def _written(value: object) -> str:
    """A value as it goes into a file: no separators of thousands."""
    return str(value).lower() if isinstance(value, bool) else str(value)

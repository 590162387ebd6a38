"""Proposals as part of `speccheck-report/1`."""

from speccheck.validator.evidence.finding import Proposal
from speccheck.validator.evidence.record import Record
from speccheck.validator.evidence.secrets import hidden
from speccheck.validator.report.findings_text import proposal_text
from speccheck.validator.report.serialise import alike, data


class SettingKey(Record):
    """A key of a file that holds a value; no file for one that is not set yet."""

    file: str | None
    key: str


class ProposedSetting(Record):
    """One value to change: a value of the plan, and the keys that state it as it is."""

    name: str
    before: bool | int | float | str | tuple[str | int | float, ...] | None
    after: bool | int | float | str | tuple[str | int | float, ...] | None
    keys: tuple[SettingKey, ...]


class ReportProposal(Record):
    """Settings that were tried on the plan and judged by all rules.

    verified: the failed rule holds then, and no other error appears. Otherwise nothing
    fails, and `missing` names what would let the rule be judged.
    """

    settings: tuple[ProposedSetting, ...]
    what_if: tuple[str, ...]  # the same for speccheck plan --what-if
    verified: bool
    text: str
    because: str | None
    missing: tuple[str, ...]
    new_errors: tuple[str, ...]
    new_warnings: tuple[str, ...]


def report_proposal(proposal: Proposal) -> ReportProposal:
    """Return what to set, whether the rule was judged to hold then, and why."""
    return alike(
        ReportProposal,
        proposal,
        settings=[
            ProposedSetting(
                setting.leaf,
                data(setting.before, hidden),
                data(setting.after, hidden),
                tuple(SettingKey(key.file or None, key.key) for key in setting.keys),
            )
            for setting in proposal.settings
        ],
        text=hidden(proposal_text(proposal)),
        because=hidden(proposal.because) or None,
        new_errors=proposal.errors,
        new_warnings=proposal.warnings,
    )

"""A proposal as plain data for `speccheck-report/1`."""

from speccheck.validator.evidence.finding import Proposal, Setting
from speccheck.validator.evidence.secrets import hidden
from speccheck.validator.report.proposal_text import proposal_text


def proposal_data(proposal: Proposal) -> dict[str, object]:
    """What to set, whether the rule was judged to hold then, and by which numbers."""
    return {
        "settings": [_setting(one) for one in proposal.settings],
        "what_if": list(proposal.what_if),
        "verified": proposal.verified,
        "text": hidden(proposal_text(proposal)),
        "because": hidden(proposal.because) or None,
        "missing": list(proposal.missing),
        "new_errors": list(proposal.errors),
        "new_warnings": list(proposal.warnings),
    }


def _setting(setting: Setting) -> dict[str, object]:
    return {
        "name": setting.leaf,
        "before": _plain(setting.before),
        "after": _plain(setting.after),
        "keys": [{"file": key.file or None, "key": key.key} for key in setting.keys],
    }


def _plain(value: object) -> object:
    if isinstance(value, str):
        return hidden(value)
    return list(value) if isinstance(value, tuple) else value

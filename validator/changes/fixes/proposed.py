"""Settings that were tried and found to mend a failure, as a fix of the files."""

from speccheck.validator.evidence.finding import Change, Fix, Proposal, Setting


def proposed_fix(proposal: Proposal) -> Fix | None:
    """The fix; None where not all keys stand in files and hold the values as they are.

    It is never safe: batches and memory are what a model learns by.
    """
    if not proposal.verified or not proposal.settings:
        return None
    changes: list[Change] = []
    for setting in proposal.settings:
        found = _changes(setting)
        if not found:
            return None
        changes += found
    says = ", ".join(
        f"{one.keys[0].key} {one.before} -> {one.after}" for one in proposal.settings
    )
    return Fix(says, tuple(changes), is_safe=False)


def _changes(setting: Setting) -> list[Change]:
    value = setting.after
    if not isinstance(value, str | int | float) or setting.before is None:
        return []
    if not all(key.file and (key.path or key.span) for key in setting.keys):
        return []
    return [Change("set", key, value) for key in setting.keys]

"""A key that the framework refuses.

Why it hurts: the framework stops at start-up with a list of keys that it does not know,
after the allocation has been granted.

What passes: keys of the framework, in any of its tabulated versions.

What stays unknown: a key like none of them, where the stated release is later than the
tabulated ones, or another key of the file came with the newest of those; and where no
release is stated, each key that resembles no tabulated one: forks have those.

Where it does not apply: frameworks that ignore unknown keys (key_silently_ignored), and
files whose training script may define keys of its own: there only a slip of a known key
is failed.

Source: the key tables of the frameworks, each with the loader that refuses.

Bad::

    gradient_accumalation_steps: 8

Good::

    gradient_accumulation_steps: 8
"""

from speccheck.rules.configuration._unknown import (
    UnknownKey,
    perhaps_new,
    unknown_keys,
)
from speccheck.validator.evidence.stated_keys import StatedKeys
from speccheck.validator.rule import Verdicts, fail, passed, rule


@rule(clause="CONF-001")
def key_refused(stated: StatedKeys) -> Verdicts:
    """Judge each key against the table of its framework."""
    for file in stated.files:
        if file.catalogue is None:
            continue
        is_clean = True
        new: list[UnknownKey] = []
        for unknown in unknown_keys(file, refused=True):
            slip = unknown.suggestion
            if not unknown.certain and (slip is None or slip.kind != "spelling"):
                continue
            is_clean = False
            if unknown.may_be_new:
                new.append(unknown)
                continue
            yield fail(
                f"{unknown.name} is no key of {file.catalogue.reader}{unknown.hint}",
                at=unknown.key.place,
                measured=unknown.name,
                required=slip.path if slip else "not there",
                cost="the framework stops at start-up",
                remedy=unknown.remedy,
                fix=unknown.fix,
            )
        if new:
            yield perhaps_new(new)
        if is_clean:
            yield passed()

"""A key that the framework never reads.

Why it hurts: the setting is believed to be active and is not. Misspelt clipping, bucket
and context-parallel keys have run unnoticed for whole trainings.

What passes: keys of the framework, in any of its tabulated versions.

What stays unknown: a key like none of them, where the stated release is later than the
tabulated ones, or another key of the file came with the newest of those.

Where it does not apply: frameworks that refuse unknown keys (key_refused), and files to
which plugins may add keys.

Source: the key tables of the frameworks, each with the loader that ignores.

Bad::

    "gradient_cliping": 1.0

Good::

    "gradient_clipping": 1.0
"""

from speccheck.rules.configuration._unknown import (
    UnknownKey,
    perhaps_new,
    unknown_keys,
)
from speccheck.validator.evidence.stated_keys import StatedKeys
from speccheck.validator.rule import Verdicts, fail, passed, rule


@rule(clause="CONF-002")
def key_silently_ignored(stated: StatedKeys) -> Verdicts:
    """Judge each key against the table of its framework."""
    for file in stated.files:
        if file.catalogue is None:
            continue
        is_clean = True
        new: list[UnknownKey] = []
        for unknown in unknown_keys(file, refused=False):
            slip = unknown.suggestion
            if not unknown.certain and (slip is None or slip.kind != "spelling"):
                continue
            is_clean = False
            if unknown.may_be_new:
                new.append(unknown)
                continue
            kind = "block" if unknown.key.is_block else "key"
            yield fail(
                f"{unknown.name} is no {kind} that {file.catalogue.reader} reads"
                f"{unknown.hint}",
                at=unknown.key.place,
                measured=unknown.name,
                required=slip.path if slip else "not there",
                cost="the setting has no effect, and nothing says so",
                remedy=unknown.remedy,
                fix=unknown.fix,
            )
        if new:
            yield perhaps_new(new)
        if is_clean:
            yield passed()

"""Settings that the framework warns of when it starts.

Why it hurts: the framework goes on, but not as the file reads: it changes a value,
drops a setting that no longer has a meaning, or runs in a way that its authors advise
against. The warning scrolls by in a log of thousands of lines.

What passes: files of which no relation of the framework's table holds.

What stays open: what newer releases do, where the release is not stated and no key of
the file came with them.

Where it does not apply: frameworks without such a table.

Source: schemas/catalogues/relations, each row with the file and line of the framework's
own warning, an example, and the mended twin.

Bad::

    micro_batch_size: 2
    eval_batch_size: 8

Good::

    micro_batch_size: 2
    eval_batch_size: 2
"""

from speccheck.rules.configuration._relations import fix_of, in_release
from speccheck.validator.evidence.related_keys import RelatedKeys
from speccheck.validator.rule import Verdicts, fail, passed, rule, unknown


@rule(clause="CONF-006", confidence="advisory")
def settings_warned_about(related: RelatedKeys) -> Verdicts:
    """Judge each relation of which the framework warns."""
    is_clean = related.has_relations
    for match in related.matches("warned", "deprecated", "refused", "removed"):
        is_refused = match.relation.kind in {"refused", "removed"}
        if match.missing or (is_refused and not match.only_from):
            continue
        is_clean = False
        if match.only_from:
            yield unknown(
                match.text + in_release(match),
                missing=["run.framework_version"],
                at=match.places,
            )
            continue
        yield fail(
            match.text,
            at=match.places,
            cost="the framework warns, and goes on otherwise than the file reads",
            remedy=match.relation.remedy,
            fix=fix_of(match),
        )
    if is_clean:
        yield passed()

"""Settings that the framework refuses together, or one without another that it needs.

Why it hurts: the framework stops at start-up, or when the model is built, after the
allocation has been granted. Each setting by itself looks harmless.

What passes: each relation of the framework's table whose keys the files state, and that
does not hold. A key that is switched off, zero or left to `auto` counts as not given.

What stays open: relations over a value that a shell, a template or a command line fills
in, and those that begin with a release where that of the job is not known.

Where it does not apply: frameworks without a table of relations; fp16 beside bf16 and
elastic batches, which have rules of their own.

Source: schemas/catalogues/relations, each row with the file and line of the framework's
own validator, an example that it refuses, and the mended twin.

Bad::

    --num-experts 8 --expert-model-parallel-size 8 --tensor-model-parallel-size 2

Good::

    --num-experts 8 --expert-model-parallel-size 8 --tensor-model-parallel-size 2
    --sequence-parallel
"""

from speccheck.rules.configuration._relations import fix_of
from speccheck.validator.evidence.related_keys import RelatedKeys
from speccheck.validator.rule import Verdicts, fail, passed, rule, unknown


@rule(clause="CONF-006")
def settings_refused(related: RelatedKeys) -> Verdicts:
    """Judge each relation that the framework enforces in any release of the job."""
    is_clean = related.has_relations
    for match in related.matches("refused", "removed"):
        is_clean = False
        if match.missing:
            yield unknown(match.text, missing=match.missing, at=match.places)
        elif match.only_from:
            yield unknown(
                match.text, missing=("run.framework_version",), at=match.places
            )
        else:
            yield fail(
                match.text,
                at=match.places,
                cost="the framework stops at start-up, on allocated nodes",
                remedy=match.relation.remedy,
                fix=fix_of(match),
            )
    if undecided := related.undecided("refused", "removed"):
        yield unknown(
            f"{', '.join(undecided)}: the files do not say the value, and whether the "
            "framework refuses what stands beside it depends on that",
            missing=tuple(undecided),
            at=[key.value_place for key in undecided.values()],
        )
    elif is_clean:
        yield passed()

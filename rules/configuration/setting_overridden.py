"""A setting that another setting of the same job overrides.

Why it hurts: the framework goes on with one of the two and says little or nothing. The
other one stands in the file as if it were in force.

What passes: files of which no such relation of the framework's table holds.

Where it does not apply: settings that the framework refuses together
(settings_refused).

Source: schemas/catalogues/relations, each row with the file and line where the
framework sets the other value, an example, and the mended twin.

Bad::

    warmup_steps: 100
    warmup_ratio: 0.03      # steps win

Good::

    warmup_steps: 100
"""

from speccheck.rules.configuration._relations import fix_of, in_release
from speccheck.validator.evidence.related_keys import RelatedKeys
from speccheck.validator.rule import Verdicts, fail, passed, rule


@rule(clause="CONF-006", confidence="advisory")
def setting_overridden(related: RelatedKeys) -> Verdicts:
    """Judge each relation in which one key wins."""
    is_clean = related.has_relations
    for match in related.matches("overridden"):
        if match.missing:
            continue
        is_clean = False
        yield fail(
            match.text + in_release(match),
            at=match.places,
            cost="one of the settings has no effect",
            remedy=match.relation.remedy,
            fix=fix_of(match),
        )
    if is_clean:
        yield passed()

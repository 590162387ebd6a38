"""A file that is named and not there, or values that refer to each other in a circle.

Why it hurts: the framework stops at start-up, when the nodes are yours.

What passes: each file that a configuration names for its engine or inherits from is in
its repository, and no value refers to itself.

Where it does not apply: files that name none; absolute paths, variables and downloads,
which are those of the machine that trains. A file whose folder is not at hand either is
unknown, and so is a value that is left to the command (`???`) and that it does not set:
Hydra stops where the program reads it.

Source: transformers, integrations/deepspeed.py (HfDeepSpeedConfig opens the file);
accelerate, utils/dataclasses.py; Hydra, MissingConfigException; OmegaConf,
InterpolationResolutionError of a recursive reference.

Bad::

    deepspeed: configs/zero4.json      # configs/ holds zero2.json and zero3.json

Good::

    deepspeed: configs/zero3.json
"""

from speccheck.validator.evidence.references import NAMED_INPUT, References
from speccheck.validator.rule import Verdicts, fail, passed, rule, unknown


@rule(clause="CONF-010")
def reference_leads_nowhere(references: References) -> Verdicts:
    """Judge each reference that the framework follows as it starts."""
    for broken in references.broken:
        if broken.is_sure:
            yield fail(
                broken.what,
                at=broken.places,
                measured=broken.target,
                required="a file or value that is there",
                cost="the framework stops at start-up",
                remedy="Name a file or value that is there, or add it.",
            )
        else:
            name = NAMED_INPUT if broken.is_input else "named_file"
            yield unknown(broken.what, missing=(name,), at=broken.places)
    if references.followed and not references.broken:
        yield passed(at=references.followed)

"""One fact stated in two places with two values.

Why it hurts: one of the two silently loses, or the framework stops on the mismatch.
Files that are edited apart drift apart.

What passes: one statement, or several that agree.

Where it does not apply: facts that a framework works out from others: they are judged
by the rules on those facts.

Source: deepspeedai/DeepSpeed and huggingface/transformers (mismatch with the trainer);
launchers and allocations.

Bad::

    #SBATCH --nodes=8          and    num_machines: 16

Good::

    #SBATCH --nodes=8          and    num_machines: 8
"""

from speccheck.validator.evidence.stated_keys import Conflicts
from speccheck.validator.rule import Verdicts, fail, passed, rule


@rule(clause="CONF-009")
def conflicting_statements(conflicts: Conflicts) -> Verdicts:
    """Judge each fact with more than one value."""
    if not conflicts.values:
        yield passed()
    for value in conflicts.values:
        yield fail(
            f"{value.name} is stated as {' and as '.join(value.alternatives)}",
            at=value,
            measured=", ".join(value.alternatives),
            required="one value",
            cost="one of the statements loses, or the framework stops on the mismatch",
        )

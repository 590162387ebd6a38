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

from collections.abc import Iterator, Sequence
from typing import Any

from speccheck.validator.evidence.stated_keys import Conflicts
from speccheck.validator.evidence.value import Value
from speccheck.validator.rule import Verdicts, fail, passed, rule

# Who starts how many ranks where: numbers that follow from each other.
_OF_LAUNCH = frozenset(
    {
        "cluster.gpus_per_node",
        "cluster.nodes",
        "cluster.world_size",
        "recovery.processes_per_node",
        "recovery.tasks_per_node",
    }
)


@rule(clause="CONF-009")
def conflicting_statements(conflicts: Conflicts) -> Verdicts:
    """Judge each fact with more than one value; the numbers of the launch as one."""
    if not conflicts.values:
        yield passed()
    for values in _grouped(conflicts.values):
        alternatives = dict.fromkeys(
            text for value in values for text in value.alternatives
        )
        yield fail(
            "; ".join(
                f"{value.name} is stated as {' and as '.join(value.alternatives)}"
                for value in values
            ),
            at=list(values),
            measured=", ".join(alternatives),
            required="one value",
            cost="one of the statements loses, or the framework stops on the mismatch",
        )


def _grouped(values: Sequence[Value[Any]]) -> Iterator[Sequence[Value[Any]]]:
    """Yield the numbers of the launch together, every other fact by itself."""
    launch = [value for value in values if value.name in _OF_LAUNCH]
    if launch:
        yield launch
    yield from ([value] for value in values if value.name not in _OF_LAUNCH)

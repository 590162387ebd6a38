"""NCCL_ALGO without ring, from NCCL 2.24 on.

Why it hurts: tree and its relatives serve all-reduce only. Since 2.24 nothing falls
back to ring, so that the first broadcast or all-gather finds no algorithm and fails.

What passes: a list with ring, a list that excludes with ^, or entries that name their
collective.

Where it does not apply: releases before 2.24, where ring is always there; the release
must be stated.

Source: NVIDIA/nccl, environment variables (NCCL_ALGO); NCCL issue 1709.

Bad::

    NCCL_ALGO=Tree

Good::

    NCCL_ALGO="ring;allreduce:tree,ring"
"""

from speccheck.rules.communication._algorithms import entries, tokens
from speccheck.validator.evidence.environment import Environment
from speccheck.validator.evidence.nccl_variables import release
from speccheck.validator.evidence.plan import Run
from speccheck.validator.evidence.value import MissingEvidence
from speccheck.validator.rule import Verdicts, fail, passed, rule

_NO_FALLBACK = "2.24"


@rule(clause="COMM-003", about=("NCCL_ALGO",))
def algorithm_without_ring(environment: Environment, run: Run) -> Verdicts:
    """Judge whether the collectives without an entry keep an algorithm."""
    variable = environment.find("NCCL_ALGO")
    if variable is None or not variable.value:
        return
    function, names = entries(variable.value)[0]
    if function or names.startswith("^") or "ring" in tokens(names):
        yield passed(at=variable.place, measured=variable.value)
        return
    stated = run.nccl_version
    if not stated.is_known:
        raise MissingEvidence(stated.name, stated.note)
    if release(stated.need()) < release(_NO_FALLBACK):
        return
    yield fail(
        f"NCCL_ALGO={variable.value} leaves no algorithm for broadcast and all-gather: "
        f"NCCL {stated.need()} does not fall back to ring",
        at=[variable.place, *stated.places],
        measured=variable.value,
        required="ring in the list",
        cost="the job stops at its first collective other than all-reduce",
        remedy=f'Write NCCL_ALGO="ring;allreduce:{names},ring", or delete the line.',
    )

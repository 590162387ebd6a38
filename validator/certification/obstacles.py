"""What stands before a level on every track, whatever rules say."""

from collections.abc import Iterator, Mapping, Sequence

from speccheck.validator.certification.evidence import Evidence
from speccheck.validator.certification.grants import Obstacle
from speccheck.validator.certification.identity import Differing
from speccheck.validator.spec.edition import UseTerms

_FILES, _MACHINES, _MEASURED = "L1", "L2", "L3"


def obstacles(
    evidence: Evidence,
    terms: UseTerms,
    differing: Sequence[Differing],
    kinds: Mapping[str, str],
) -> Iterator[Obstacle]:
    """Too few machines, or of several types; evidence that was left out, or made up.

    Args:
        evidence: that was judged.
        terms: of the use.
        differing: in what the machines are not of one type.
        kinds: of files that were left out, by path.

    """
    made_up = sum(bool(one.synthetic) for one in evidence.files)
    observed = sum(one.kind != "config" for one in evidence.files)
    if made_up and made_up < observed:
        told = f"{made_up} of {observed} observations are synthetic"
        yield Obstacle(_FILES, f"{told}; what is made up proves nothing of the rest")
    machines = len(evidence.subject.machines)
    least = terms.least_specimens or 1
    if machines < least:
        told = f"machines looked at: {machines}; at least {least} must be"
        yield Obstacle(_MACHINES, told)
    expected = evidence.subject.expected
    if expected is not None and machines < expected:
        told = f"{machines} of {expected} machines reported; all must"
        yield Obstacle(_MACHINES, told)
    for field in differing:
        yield Obstacle(_MACHINES, f"the machines are not of one type: {field.words}")
    for one in evidence.left_out:
        level = _MACHINES if kinds.get(one.path) == "snapshot" else _MEASURED
        yield Obstacle(level, f"left out: {one.path}: {one.reason}")

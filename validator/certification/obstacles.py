"""What stands before a level on every track, whatever rules say."""

from collections.abc import Iterator, Sequence

from speccheck.validator.certification.evidence import Evidence
from speccheck.validator.certification.evidence_file import EvidenceFile
from speccheck.validator.certification.grants import Obstacle
from speccheck.validator.certification.identity import Differing
from speccheck.validator.editions.edition import Edition, UseTerms

_FILES, _MACHINES, _MEASURED = "L1", "L2", "L3"


def obstacles(
    evidence: Evidence,
    edition: Edition,
    terms: UseTerms,
    differing: Sequence[Differing],
) -> Iterator[Obstacle]:
    """Too few machines, or of several types; evidence that was left out, or made up.

    Args:
        evidence: that was judged.
        edition: that says which evidence which track wants.
        terms: of the use.
        differing: in what the machines are not of one type.

    """
    if not evidence.subject.job:
        # Rules would find nothing wrong with files that are not there.
        told = "the evidence holds no configuration and no launch script of a job"
        yield Obstacle(_FILES, told)
    observed = [one for one in evidence.files if one.kind != "config"]
    made_up = [one for one in observed if one.synthetic]
    if made_up and len(made_up) < len(observed):
        told = f"{len(made_up)} of {len(observed)} observations are synthetic"
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
    files = {one.path: one for one in evidence.files_left_out}
    for one in evidence.left_out:
        file = files[one.path]
        level = _MACHINES if file.kind == "snapshot" else _MEASURED
        reason = f"left out: {one.path}: {one.reason}"
        yield Obstacle(level, reason, _wanting(edition, file, level))


def _wanting(edition: Edition, file: EvidenceFile, level: str) -> tuple[str, ...]:
    """The tracks of which a clause of that level wants what a file gives."""
    return tuple(
        sorted(
            {
                track
                for one in edition.clauses.values()
                if one.certification_level >= level
                and not set(file.gives).isdisjoint(one.evidence)
                for track in one.tracks
            }
        )
    )

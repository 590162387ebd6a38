"""Fewer nodes reported than the job is to run on.

Why it hurts: a node that hangs, is down or cannot run the pre-flight is the one that
the job would wait for. What the others reported says nothing of it.

What passes: every expected node reported.

Where it does not apply: nodes whose report cannot be read, which is told of them. Where
neither the engine nor the user says which nodes there should be, the verdict is
unknown.

Source: an engineering default: what was not seen is never a pass.

Bad::

    srun -N64 speccheck preflight --out reports/    # 63 files

Good::

    srun -N64 speccheck preflight --out reports/    # 64 files
"""

from speccheck.validator.evidence.fleet import Fleet
from speccheck.validator.models.units import numbered
from speccheck.validator.rule import Verdicts, fail, passed, rule

_COST = "the job waits for a node that may not be there"


@rule(clause="FT-040")
def expected_node_missing(fleet: Fleet) -> Verdicts:
    """Compare who came with who was expected, by name where names are known."""
    who = fleet.attendance
    expected = who.expected.need()
    unread = {unread.node for unread in who.unread}
    came = len({node.name for node in fleet.nodes})
    missing = tuple(name for name in who.missing if name not in unread)
    if missing:
        reported = expected - len(missing)
        yield fail(
            f"{reported:,} of {expected:,} expected nodes reported; all must",
            measured=reported,
            required=expected,
            cost=_COST,
            hosts=missing,
        )
    elif who.missing:
        return  # of all others there is a report that cannot be read
    elif came < expected:
        yield fail(
            f"{numbered(came, 'node')} reported, {expected:,} were expected; "
            f"which {'is' if expected - came == 1 else 'are'} missing is not known",
            measured=came,
            required=expected,
            cost=_COST,
            remedy="Name the nodes (--expect node[001-064]) to see which are missing.",
        )
    else:
        yield passed(f"{came:,} nodes reported", measured=came, required=expected)

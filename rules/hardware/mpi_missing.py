"""A job that MPI starts, on a node where no MPI is found.

Why it hurts: mpirun starts its own daemon on each node, and programs load libmpi: the
launch fails on the first node that has neither, after the allocation is granted.

What passes: the linker finds a libmpi, or mpirun stands in PATH or in a usual home of
MPI (HPC-X, Open MPI of EFA, packages of distributions).

Where it does not apply: a job of another launcher; a snapshot by itself. Where the job
runs in an image or loads modules, the files of the node say nothing of it, and it is
unknown.

Source: facebookresearch/gcm; Open MPI documentation, launching applications.

Bad::

    mpirun -np 16 python train.py      # on a node without Open MPI

Good::

    apt-get install openmpi-bin libopenmpi3
"""

from speccheck.validator.evidence.node.host import Driver
from speccheck.validator.evidence.plan import Recovery
from speccheck.validator.evidence.value import MissingEvidence
from speccheck.validator.rule import Verdicts, fail, passed, rule

_LAUNCHERS = ("mpirun", "mpiexec", "mpiexec.hydra", "orterun", "prterun")
_LIBRARY = "libmpi.so."


@rule(clause="HW-143", confidence="advisory")
def mpi_missing(recovery: Recovery, driver: Driver) -> Verdicts:
    """Look for MPI where it starts the job."""
    launcher, has_own = recovery.launcher, recovery.has_own_libraries
    if not launcher.is_known and not launcher.places:
        return
    if launcher.need() not in _LAUNCHERS:
        return
    libraries, programs = driver.libraries, driver.mpi_programs
    if has_own.need():
        reason = "the job runs in an image or loads modules; these are the node's"
        raise MissingEvidence(libraries.name, reason)
    texts = [
        text for text in libraries.or_else(()) if text and text.startswith(_LIBRARY)
    ]
    texts += [text for text in programs.or_else(()) if text]
    if texts:
        at = [value for value in (libraries, programs) if value.is_known]
        yield passed(at=[*at, launcher], measured=", ".join(texts))
        return
    libraries.need()
    programs.need()
    yield fail(
        f"{launcher.need()} starts the job, and the node has neither {_LIBRARY}* nor "
        "mpirun where they are looked for",
        at=[launcher, libraries, programs],
        measured="none",
        required="libmpi or mpirun",
        cost="the launch fails on this node, and with it the job",
        remedy="Install the MPI of the job (openmpi-bin, HPC-X); if environment "
        "modules bring it, take the snapshot with them loaded.",
        action="FIX_CONFIG",
    )

"""A variable that the script exports and that does not reach the ranks.

Why it hurts: NCCL on the other nodes looks for an interface and adapters by itself, or
runs without the workaround that the line stands for. Nothing reports it.

What passes: a launcher that hands on each of them.

Where it does not apply: mpirun in a job of Slurm, which hands on all; one node; MPICH
and Intel MPI, which hand on all.

Source: Open MPI mpirun(1), -x; srun(1), --export; sudoers(5), env_reset;
NVIDIA/nccl-tests issue 9 and NVIDIA/nccl issue 626.

Bad::

    export NCCL_SOCKET_IFNAME=eth0
    mpirun -np 16 -H n1:8,n2:8 -x PATH python train.py

Good::

    export NCCL_SOCKET_IFNAME=eth0
    mpirun -np 16 -H n1:8,n2:8 -x PATH -x NCCL_SOCKET_IFNAME python train.py
"""

from speccheck.validator.evidence.environment import Environment
from speccheck.validator.evidence.launch import Launches, LostVariable
from speccheck.validator.rule import Verdicts, fail, passed, rule


@rule(clause="CONF-011", confidence="advisory", about=("recovery.launcher",))
def variable_lost_on_the_way(account: Launches, environment: Environment) -> Verdicts:
    """Judge the exported variables of NCCL and the fabric, launch by launch."""
    for launch in account.launches:
        lost: dict[str, LostVariable] = {item.name: item for item in launch.lost}
        if not lost:
            if launch.spreader.is_known and environment.stated("NCCL_SOCKET_IFNAME"):
                yield passed(at=launch.spreader)
            continue
        names = sorted(lost)
        shown = ", ".join(names)
        first = lost[names[0]]
        verb = "does" if len(names) == 1 else "do"
        yield fail(
            f"{shown} {verb} not reach the ranks: {first.why}",
            at=[first.lost_at, *(lost[name].set_at for name in names)],
            measured=len(names),
            required=0,
            cost="the ranks run as if the lines were not there",
            remedy=first.remedy,
        )

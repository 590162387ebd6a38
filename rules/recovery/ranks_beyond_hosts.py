"""A launch that wants more machines, or more ranks, than its list of hosts has.

Why it hurts: mpirun and horovodrun stop with "not enough slots"; deepspeed starts on
the machines that the file has, with fewer ranks than the batch and the sizes are
written for.

What passes: as many machines and slots as the launch takes, or more.

Where it does not apply: no list of hosts, or a hostfile that is not at hand; slots that
are not stated; --oversubscribe; Hydra, which begins again at the first host.

Source: Open MPI mpirun(1), "There are not enough slots available in the system";
horovod/runner/common/util/hosts.py (get_host_assignments); deepspeed launcher/runner.py
(num_nodes).

Bad::

    mpirun -np 32 --hostfile hosts python train.py      # two hosts with slots=8

Good::

    mpirun -np 16 --hostfile hosts python train.py      # two hosts with slots=8
"""

from speccheck.validator.evidence.launch import Launch, Launches, is_certain
from speccheck.validator.evidence.value import Value
from speccheck.validator.rule import Verdicts, fail, passed, rule


@rule(clause="COMM-017", about=("recovery.launcher",))
def ranks_beyond_hosts(account: Launches) -> Verdicts:
    """Judge nodes <= hosts, and ranks <= slots, of each launch."""
    for launch in account.launches:
        for wanted, there, noun in _pairs(launch):
            if not is_certain(wanted) or not is_certain(there):
                continue
            at = [wanted, there]
            if wanted.need() <= there.need():
                yield passed(at=at, measured=wanted.need(), required=there.need())
                continue
            yield fail(
                f"{_starter(launch)} is to start {wanted.need():,} {noun}, and its "
                f"list of hosts has {_room(there, noun)}",
                at=at,
                measured=wanted.need(),
                required=there.need(),
                cost="it stops at start-up, or starts fewer ranks than the job is "
                "written for",
                remedy=f"Add hosts, or start {there.need():,} {noun}.",
            )


def _pairs(launch: Launch) -> tuple[tuple[Value[int], Value[int], str], ...]:
    """Return what is wanted beside what there is."""
    nodes = launch.nodes, launch.hosts, "nodes"
    return nodes, (launch.world, launch.slots, "ranks")


def _starter(launch: Launch) -> str:
    """Return who takes the list: mpirun for a program of Python."""
    name = launch.launcher.need()
    return launch.spreader.or_else(name) if name == "python" else name


def _room(there: Value[int], noun: str) -> str:
    return f"{there.need():,}" if noun == "nodes" else f"{there.need():,} slots"

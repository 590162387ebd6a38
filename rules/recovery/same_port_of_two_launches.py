"""Two launches that run side by side on a node, and meet at one port.

Why it hurts: the second one stops with "address already in use", or its ranks join the
rendezvous of the first.

What passes: a port of its own for each launch, or --standalone.

Where it does not apply: launches one after the other; launches that srun or ssh starts,
which may be on different nodes; ports that only the job knows.

Source: pytorch torch/distributed/run.py (--master-port defaults to 29500);
pytorch/pytorch issue 116974.

Bad::

    CUDA_VISIBLE_DEVICES=0,1 torchrun --nproc_per_node=2 a.py &
    CUDA_VISIBLE_DEVICES=2,3 torchrun --nproc_per_node=2 b.py &

Good::

    CUDA_VISIBLE_DEVICES=0,1 torchrun --nproc_per_node=2 --master_port=29500 a.py &
    CUDA_VISIBLE_DEVICES=2,3 torchrun --nproc_per_node=2 --master_port=29501 b.py &
"""

from collections.abc import Iterator

from speccheck.validator.evidence.launch import Launch, Launches
from speccheck.validator.rule import Verdicts, fail, passed, rule


@rule(clause="COMM-017", about=("recovery.launcher",))
def same_port_of_two_launches(account: Launches) -> Verdicts:
    """Judge the ports of the launches of a node that run at the same time."""
    for first, second in _pairs(account.launches):
        port, other = first.rendezvous.port, second.rendezvous.port
        at = [value for value in (port, other) if value.places]
        at += [launch.launcher for launch in (first, second)]
        if port.need() != other.need():
            yield passed(at=at)
            continue
        yield fail(
            f"two launches run side by side on a node, and both meet at port "
            f"{port.need()}",
            at=at,
            measured=port.need(),
            required="a port for each",
            cost="the second stops: the address is in use",
            remedy="Give the second --master_port another number, or start both with "
            "--standalone.",
        )


def _pairs(launches: tuple[Launch, ...]) -> Iterator[tuple[Launch, Launch]]:
    """Yield each launch with the next of its set whose ports are known."""
    sets: dict[tuple[str, int], Launch] = {}
    for launch in launches:
        port = launch.rendezvous.port
        is_fixed = port.is_known and not port.only_if and port.value != "0"
        if not launch.side_by_side or launch.spreader.is_known or not is_fixed:
            continue
        key = launch.launcher.places[0].file, launch.side_by_side
        if key in sets:
            yield sets[key], launch
        sets[key] = launch

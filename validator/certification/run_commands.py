"""Commands of a certification as engines start them: srun, mpirun, torchrun."""

from collections.abc import Callable
from typing import Literal

from speccheck.validator.evidence.record import Record

Engine = Literal["slurm", "mpi", "torchrun"]
ENGINES: tuple[Engine, ...] = ("slurm", "mpi", "torchrun")


class Layout(Record):
    """On how many nodes commands run, with how many processes on each."""

    engine: Engine
    nodes: int
    gpus: int


def on_all_gpus(layout: Layout, command: str, variables: str = "") -> str:
    """A command in one process a GPU of all nodes.

    variables: of the environment, `NAME=value` and so on.
    """
    return _LAUNCHERS[layout.engine](layout, layout.gpus, command, variables)


def once_a_node(layout: Layout, command: str) -> str:
    """A command in one process a node."""
    return _LAUNCHERS[layout.engine](layout, 1, command, "")


def _srun(layout: Layout, per_node: int, command: str, variables: str) -> str:
    gpus = f" --gpus-per-node={layout.gpus}"
    launch = f"srun --nodes={layout.nodes} --ntasks-per-node={per_node}{gpus}"
    before = f"{variables} " if variables else ""
    return f"{before}{launch} {command}"


def _mpirun(layout: Layout, per_node: int, command: str, variables: str) -> str:
    ranks = layout.nodes * per_node
    names = "".join(f" -x {one}" for one in variables.split())
    hosts = "--hostfile hosts.txt"
    launch = f"mpirun -np {ranks} {hosts} --map-by ppr:{per_node}:node{names}"
    return f"{launch} {command}"


def _torchrun(layout: Layout, per_node: int, command: str, variables: str) -> str:
    before = f"{variables} " if variables else ""
    return (
        f"{before}torchrun --nnodes={layout.nodes} --nproc-per-node={per_node} "
        f"--rdzv-backend=c10d --rdzv-endpoint=$FIRST_NODE:29400 --no-python {command}"
    )


_LAUNCHERS: dict[Engine, Callable[[Layout, int, str, str], str]] = {
    "slurm": _srun,
    "mpi": _mpirun,
    "torchrun": _torchrun,
}
# What is to be known of each before its commands run.
NOTES: dict[Engine, str] = {
    "slurm": "in one allocation of these nodes, with the folder where all see it",
    "mpi": (
        "hosts.txt names the nodes, a line each with slots=GPUS; -x and --map-by are "
        "Open MPI's"
    ),
    "torchrun": (
        "the same command on every node, by whatever starts it there; FIRST_NODE is "
        "the name of one of them, the same everywhere"
    ),
}

"""Which rank of which world this process is, as whatever launched it tells.

Each launcher tells in variables of its own. A world of one is nobody's: who starts one
process starts it alone, and it then starts the others itself.
"""

import os
import zlib
from collections.abc import Mapping

from speccheck.validator.evidence.record import Record

LISTENING = "SPECCHECK_LISTENING"  # the number of a socket, of ranks that we started
HOST_VARIABLE = "SPECCHECK_HOST"  # a name for this host, where its own is of no use
# Of torchrun's agent, which then serves the store itself (torch.distributed.elastic).
_AGENT_STORE = "TORCHELASTIC_USE_AGENT_STORE"
_RESTARTS = "TORCHELASTIC_RESTART_COUNT"
_LOOPBACK = "127.0.0.1"
# Below the ports that Linux takes for itself (ip_local_port_range begins at 32768).
_FIRST_PORT, _PORTS = 20_000, 10_000
_HIGHEST_PORT = 65_535


class WrongWorld(Exception):  # noqa: N818 - a usage error with its own message
    """What the environment tells of the world does not hold together."""


class World(Record):
    """This process among all that measure together.

    has_agent_store: the launcher serves the store; rank 0 does otherwise.
    socket: that listens on the port already, of a world that we started; 0 for none.
    is_tended: the launcher stays for as long as its ranks do.
    """

    launcher: str
    rank: int
    size: int
    local_rank: int
    address: str
    port: int
    has_agent_store: bool = False
    attempt: str = "0"
    socket: int = 0
    is_tended: bool = False

    @property
    def meeting_place(self) -> str:
        """Where rank 0 is met."""
        host = f"[{self.address}]" if ":" in self.address else self.address
        return f"{host}:{self.port}"


class _Launcher(Record):
    """The variables by which a launcher tells; of several names the first that is set.

    jobs: what is the same for all ranks of this world, and of no other.
    """

    name: str
    rank: tuple[str, ...]
    size: tuple[str, ...]
    local_rank: tuple[str, ...]
    local_size: tuple[str, ...] = ()
    jobs: tuple[str, ...] = ()
    mark: str = ""  # set only where the others are to be believed


# In this order: torchrun is started by srun, mpirun within a job of Slurm. A batch
# script has SLURM_PROCID and no step (srun(1), OUTPUT ENVIRONMENT VARIABLES).
_LAUNCHERS = (
    _Launcher("torchrun", ("RANK",), ("WORLD_SIZE",), ("LOCAL_RANK",)),
    _Launcher(
        "mpirun",
        ("OMPI_COMM_WORLD_RANK", "PMI_RANK"),
        ("OMPI_COMM_WORLD_SIZE", "PMI_SIZE"),
        ("OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "PMI_LOCAL_RANK"),
        ("OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS", "PMI_LOCAL_SIZE"),
        ("PMIX_NAMESPACE", "OMPI_MCA_ess_base_jobid", "PMI_JOBID"),
    ),
    _Launcher(
        "srun",
        ("SLURM_PROCID",),
        ("SLURM_STEP_NUM_TASKS", "SLURM_NTASKS"),
        ("SLURM_LOCALID",),
        (),
        ("SLURM_JOB_ID", "SLURM_STEP_ID"),
        mark="SLURM_STEP_NODELIST",
    ),
)


def read_world(environ: Mapping[str, str]) -> World | None:
    """Return the rank and its world; None for a process that was started alone.

    Raises WrongWorld.
    """
    for launcher in _LAUNCHERS:
        rank = _number(environ, launcher.rank)
        if rank is None or (launcher.mark and not environ.get(launcher.mark)):
            continue
        size = _number(environ, launcher.size)
        if size is None:
            names = " or ".join(launcher.size)
            message = f"{launcher.rank[0]} is set and {names} is not: set it too"
            raise WrongWorld(message)
        if not 0 <= rank < size:
            message = f"rank {rank} of {size} ranks: ranks count from 0"
            raise WrongWorld(message)
        if size > 1:
            return _world(environ, launcher, rank, size)
        return None
    if "PMIX_RANK" in environ:
        message = "PMIX_RANK is set, and nothing tells how many ranks there are: "
        raise WrongWorld(message + "set RANK, WORLD_SIZE, LOCAL_RANK and MASTER_ADDR")
    return None


def _world(
    environ: Mapping[str, str], launcher: _Launcher, rank: int, size: int
) -> World:
    local_rank = _number(environ, launcher.local_rank)
    address = environ.get("MASTER_ADDR") or _first_host(environ, launcher, size)
    has_agent_store = environ.get(_AGENT_STORE) == "True"
    return World(
        launcher.name,
        rank,
        size,
        local_rank or 0,
        address,
        _port(environ, launcher),
        has_agent_store and launcher.name == "torchrun",
        environ.get(_RESTARTS, "0"),
        _number(environ, (LISTENING,)) or 0,
        launcher.name != "torchrun" or _RESTARTS in environ,
    )


def _first_host(environ: Mapping[str, str], launcher: _Launcher, size: int) -> str:
    """Return the host of rank 0; raises WrongWorld where nothing tells it."""
    if launcher.mark:
        return first_of_hosts(environ[launcher.mark])
    if launcher.local_size and _number(environ, launcher.local_size) == size:
        return _LOOPBACK
    message = f"{launcher.name} does not tell the host of rank 0: set MASTER_ADDR to it"
    if launcher.name == "mpirun":
        message += ", for all ranks: mpirun -x MASTER_ADDR=HOST"
    raise WrongWorld(message)


def _port(environ: Mapping[str, str], launcher: _Launcher) -> int:
    port = _number(environ, ("MASTER_PORT",))
    if port is None:
        job = "/".join(environ.get(name, "") for name in launcher.jobs)
        return _FIRST_PORT + zlib.crc32(job.encode()) % _PORTS
    if not 0 < port <= _HIGHEST_PORT:
        message = f"MASTER_PORT={port}: must be from 1 to {_HIGHEST_PORT}"
        raise WrongWorld(message)
    return port


def _number(environ: Mapping[str, str], names: tuple[str, ...]) -> int | None:
    name = next((name for name in names if environ.get(name)), None)
    if name is None:
        return None
    try:
        return int(environ[name])
    except ValueError:
        message = f"{name}={environ[name]}: must be a whole number"
        raise WrongWorld(message) from None


def first_of_hosts(text: str) -> str:
    """Return the first host of a folded list: node01 of `node[01-04,7],gpu3`."""
    name, rest = "", text.strip()
    while rest and not rest.startswith(","):
        plain = rest.partition("[")[0].partition(",")[0]
        name, rest = name + plain, rest[len(plain) :]
        if rest.startswith("["):
            inside, _, rest = rest[1:].partition("]")
            name += inside.partition(",")[0].partition("-")[0]
    return name


def host_name(environ: Mapping[str, str]) -> str:
    """Return what this host is called: by the user, by Slurm, by itself."""
    named = environ.get(HOST_VARIABLE) or environ.get("SLURMD_NODENAME")
    return named or os.uname().nodename

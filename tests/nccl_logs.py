"""Logs of NCCL of several releases, line by line as a healthy job prints them."""

from collections.abc import Iterator
from dataclasses import dataclass, field

RELEASES = ("2.4.8", "2.8.4", "2.12.12", "2.18.3", "2.21.5", "2.24.3", "2.27.7")
_CUDA = {"2.4.8": "10.1", "2.8.4": "11.2", "2.12.12": "11.7", "2.18.3": "12.2"}
LINK = "Channel"


@dataclass(frozen=True)
class Job:
    """What ran; by default 2 nodes of 8 H100 over InfiniBand with GPUDirect."""

    release: str = "2.27.7"
    nodes: int = 2
    gpus: int = 8
    network: str = "IB"
    reach: str = "/GDRDMA"
    inside: str = "P2P/CUMEM"
    has_multicast: bool = True
    is_rack: bool = False
    is_tested: bool = True  # runs an all-reduce, so that the tuner speaks
    variables: dict[str, str] = field(default_factory=dict)

    @property
    def number(self) -> tuple[int, ...]:
        """The release as numbers."""
        return tuple(int(part) for part in self.release.split("."))

    @property
    def ranks(self) -> int:
        """One for each GPU."""
        return self.nodes * self.gpus


def log(job: Job | None = None, **changes: object) -> str:
    """Return the text of all ranks, one step after the other, as they share a file."""
    job = job or Job(**changes)  # type: ignore[arg-type]
    steps = [[*_rank(job, rank)] for rank in range(job.ranks)]
    longest = max(len(step) for step in steps)
    lines = [
        _said(job, rank, item[at])
        for at in range(longest)
        for rank, item in enumerate(steps)
        if at < len(item)
    ]
    cuda = _CUDA.get(job.release, "12.8")
    return "\n".join([f"NCCL version {job.release}+cuda{cuda}", *lines]) + "\n"


def _said(job: Job, rank: int, text: str) -> str:
    node, gpu = divmod(rank, job.gpus)
    process = 4000 + 10 * gpu
    head = f"gpu-{node}:{process}:{process + 1} [{gpu}] "
    return f"{head}NCCL INFO {text}"


def _rank(job: Job, rank: int) -> Iterator[str]:
    yield from _start(job)
    yield from _begin(job, rank)
    yield from _links(job, rank)
    yield from _end(job, rank)


def _start(job: Job) -> Iterator[str]:
    """Yield Bootstrap, variables and network."""
    colon = ":" if job.number >= (2, 24) else " :"
    first = "[0]" if job.number < (2, 6) else ""
    yield f"Bootstrap{colon} Using {first}eth0:10.0.0.7<0>"
    for name, value in job.variables.items():
        stop = "." if value.isdecimal() else ""
        yield f"{name} set by environment to {value}{stop}"
    yield from _plugin(job)
    if job.network in {"IB", "mrc_v8"}:
        yield (
            "NET/IB : Using [0]mlx5_0:1/IB [1]mlx5_1:1/IB [RO]; OOB eth0:10.0.0.7<0>"
        )
        yield "NET/IB : GPU Direct RDMA Enabled for HCA 0 'mlx5_0'"
        yield "NET/IB : GPU Direct RDMA Enabled for HCA 1 'mlx5_1'"
    elif job.network == "Socket":
        yield "NET/IB : No device found."
        yield "NET/Socket : Using [0]eth0:10.0.0.7<0>"
    elif "Libfabric" in job.network:
        yield "NET/OFI Selected Provider is efa (found 32 nics)"
        yield "NET/OFI Adding FI_EFA_FORK_SAFE=1 to environment"
    if job.number >= (2, 27):
        yield f"Initialized NET plugin {job.network}"
        yield f"Assigned NET plugin {job.network} to comm"
    if job.number >= (2, 6):
        yield f"Using network {job.network}"


def _plugin(job: Job) -> Iterator[str]:
    if job.network not in {"IB", "Socket"}:
        if job.number >= (2, 27):
            yield "Successfully loaded external network plugin libnccl-net.so"
        yield f"NET/Plugin: Loaded net plugin {job.network} (v8)"
    elif job.number >= (2, 27):
        yield "NET/Plugin: Could not find: libnccl-net.so"
    elif job.number >= (2, 22):
        yield (
            "NET/Plugin: Could not find: libnccl-net.so. Using internal network plugin."
        )
    elif job.number >= (2, 21):
        yield "NET/Plugin: Using internal network plugin."
    else:
        yield (
            "NET/Plugin : No plugin found (libnccl-net.so), using internal "
            "implementation"
        )


def _begin(job: Job, rank: int) -> Iterator[str]:
    node, gpu = divmod(rank, job.gpus)
    if job.number >= (2, 18):
        yield f"{_name(job, rank)} - Init START"
    if job.number >= (2, 14):
        yield f"DMA-BUF is available on GPU device {gpu}"
    if job.number >= (2, 21) and job.is_rack:
        yield (
            f"MNNVL busId 0x{gpu + 1}000 fabric UUID 7a4af5e106e46349.c4fe63d71b7d9aa1 "
            "cliqueId 0x7ffe state 3 healthMask 0x0"
        )
    if job.number >= (2, 17) and job.gpus > 2:
        word = "" if job.has_multicast else "not "
        yield f"NVLS multicast support is {word}available on dev {gpu}"
    if job.number >= (2, 21):
        yield (
            f"comm 0x55{rank:04x}00 rank {rank} nRanks {job.ranks} nNodes {job.nodes} "
            f"localRanks {job.gpus} localRank {gpu} MNNVL {int(job.is_rack)}"
        )
    yield f"Trees [0] {rank + 1}/-1/-1->{rank}->{node}"


def _links(job: Job, rank: int) -> Iterator[str]:
    if job.ranks == 1:
        return
    node, gpu = divmod(rank, job.gpus)
    above = (rank + 1) % job.ranks
    word = "Ring 00" if job.number < (2, 6) else "Channel 00"
    if job.number >= (2, 13):
        word += "/0"
    tail = f" comm 0x55{rank:04x}00 nRanks {job.ranks:02}" * (job.number >= (2, 24))
    before = (rank - 1) % job.ranks
    if before // job.gpus != node:
        pair = f"{before}[{job.gpus - 1}] -> {rank}[{gpu}]"
        yield f"{word} : {pair} [receive] via NET/{job.network}/0{job.reach}{tail}"
    pair = f"{rank}[{gpu}] -> {above}[{above % job.gpus}]"
    if above // job.gpus == node:
        yield f"{word} : {pair} via {job.inside}{tail}"
    else:
        yield f"{word} : {pair} [send] via NET/{job.network}/0{job.reach}{tail}"


def _end(job: Job, rank: int) -> Iterator[str]:
    has_gpudirect = int(bool(job.reach))
    rings = f", use ring PXN 0 GDR {has_gpudirect}" * (job.number >= (2, 24))
    yield f"Connected all rings{rings}"
    yield "Connected all trees"
    nvls = ""
    if job.number >= (2, 17):
        count = 16 * (job.has_multicast and job.gpus > 2)
        nvls = f" {count} nvls channels,"
        if count and job.number >= (2, 18):
            yield "Connected NVLS tree"
    collnet = " 0 collnet channels," * (job.number >= (2, 20))
    yield (
        f"16 coll channels,{collnet}{nvls} 32 p2p channels, 32 p2p channels per peer"
    )
    yield f"{_name(job, rank)} - Init COMPLETE"
    if job.number >= (2, 22):
        call = " - ncclCommInitRank" * (job.number >= (2, 24))
        total = f"{1 + rank / 100:.2f}"
        yield (
            f"Init timings{call}: rank {rank} nranks {job.ranks} total {total} "
            "(kernels 0.27, bootstrap 0.87, topo 0.06)"
        )
    if rank == 0 and job.is_tested:
        yield from _choices(job)


def _choices(job: Job) -> Iterator[str]:
    """Yield what the tuner takes for a small and for a large message."""
    if job.number >= (2, 24):
        yield "AllReduce: 4096 Bytes -> Algo TREE proto LL channel{Lo..Hi}={0..1}"
        yield (
            "AllReduce: 1073741824 Bytes -> Algo NVLS_TREE proto SIMPLE "
            "channel{Lo..Hi}={0..15}"
        )
    elif job.number >= (2, 8):
        yield "4096 Bytes -> Algo 0 proto 0 time 21.500000"
        yield "1073741824 Bytes -> Algo 1 proto 2 time 5370.683594"


def _name(job: Job, rank: int) -> str:
    gpu = rank % job.gpus
    call = "ncclCommInitRank " * (job.number >= (2, 20))
    id_ = " commId 0x49bbd7790311d5eb" * (job.number >= (2, 16))
    return (
        f"{call}comm 0x55{rank:04x}00 rank {rank} nranks {job.ranks} cudaDev {gpu} "
        f"busId {gpu + 1}000{id_}"
    )

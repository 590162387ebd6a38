"""Which ranks, nodes and GPUs took part, by the lines that name each rank.

    #  Rank  3 Group  0 Pid 7061 on node-a device  3 [0000:66:00] NVIDIA H100 80GB HBM3

Until 2.13.4 without a group; the address was that of the bus alone until 2025.
"""

from collections import Counter
from collections.abc import Sequence

from speccheck.validator.evidence.lazy_pattern import lazy_pattern
from speccheck.validator.evidence.record import Record
from speccheck.validator.sources.capture import Where
from speccheck.validator.sources.formats._collective_runs import Leaves, Told
from speccheck.validator.sources.formats._printed_lines import absent

_RANK = lazy_pattern(
    r"#\s*Rank\s+(\d{1,9})\s+(?:Group\s+(\d{1,9})\s+)?Pid\s+(\d{1,19})\s+on\s+(\S+)"
    r"\s+device\s+(\d{1,9})\s+\[([^\]]*)\]\s*(.*)"
)
TOOL = "nccl-tests"


class Rank(Record):
    """A rank as its line names it."""

    rank: int
    group: int
    host: str
    device: int
    gpu: str
    at: Where


def rank_of(text: str, at: Where) -> Rank | None:
    """The rank that a line names."""
    found = _RANK.match(text)
    if found is None:
        return None
    rank, group, _, host, device, _, gpu = found.groups()
    return Rank(int(rank), int(group or 0), host, int(device), gpu.strip(), at)


def rank_leaves(
    named: Sequence[Rank], at: Where, factor_ranks: int | None = None
) -> Leaves:
    """What follows from the ranks that are named; `at` is where they should be.

    Groups run beside each other (NCCL_TESTS_SPLIT), and each is a run of its own of
    which the table shows one; the number of ranks is that of a group. factor_ranks:
    what the bus bandwidth of an all-reduce says, which counts only where it confirms
    the last rank of a list that is not whole.
    """
    if not named:
        reason = absent("no line of the log names a rank", TOOL)
        return {leaf: Told(reason, at) for leaf in ("ranks", "nodes", "hosts", "gpu")}
    at = named[0].at
    by_rank = {one.rank: one for one in named}
    leaves: Leaves = {"gpu": Told(_gpu(named), at)}
    last = max(by_rank)
    if last + 1 != len(by_rank):
        shown = f"the log names {len(by_rank)} of at least {last + 1} ranks"
        reason = absent(shown, TOOL)
        is_confirmed = factor_ranks == last + 1
        leaves["ranks"] = Told(last + 1 if is_confirmed else reason, at)
        leaves["nodes"] = leaves["hosts"] = Told(reason, at)
        return leaves
    sizes = Counter(one.group for one in by_rank.values())
    if len(sizes) > 1:
        reason = absent(f"{len(sizes)} groups ran at the same time", TOOL)
        size, *others = set(sizes.values())
        leaves["ranks"] = Told(reason if others else size, at)
        leaves["nodes"] = leaves["hosts"] = Told(reason, at)
        return leaves
    leaves["ranks"] = Told(len(by_rank), at)
    leaves["nodes"], leaves["hosts"] = _nodes_and_hosts(named, at)
    return leaves


def _gpu(named: Sequence[Rank]) -> str | dict[str, str]:
    names = sorted({one.gpu for one in named if one.gpu})
    if len(names) == 1:
        return names[0]
    shown = ", ".join(names[:4]) or "no line names it"
    return dict(absent(f"the GPUs differ: {shown}" if names else shown, TOOL))


def _nodes_and_hosts(named: Sequence[Rank], at: Where) -> tuple[Told, Told]:
    """Hosts by name; two machines of one name cannot be told apart.

    Processes of a build without MPI do not know of each other: each is rank 0.
    """
    ranks = Counter(one.rank for one in named)
    devices = Counter((one.host, one.device) for one in named)
    rank, times = ranks.most_common(1)[0]
    (host, device), ranks_of_device = devices.most_common(1)[0]
    reason = ""
    if times > 1:
        reason = f"{times} processes are rank {rank}: built without MPI"
    elif ranks_of_device > 1:
        reason = f"{ranks_of_device} ranks name device {device} of {host}"
    if reason:
        unknown = Told(absent(reason, TOOL), at)
        return unknown, unknown
    hosts = list(dict.fromkeys(one.host for one in sorted(named, key=_by_rank)))
    return Told(len(hosts), at), Told([*hosts], at)


def _by_rank(one: Rank) -> int:
    return one.rank

"""What is measured among these ranks: the backend, the sizes, and who with whom."""

from collections import Counter
from collections.abc import Sequence

from speccheck.probes.collectives.measure import shown_bytes
from speccheck.probes.collectives.meeting import Member, Refused, shown_ranks
from speccheck.probes.collectives.settings import Settings

# What stays free beside the buffers of the ranks, of whatever memory they lie in.
_USABLE_SHARE = 0.8
_BUFFERS = 2  # what is sent and what is received
_LARGEST = {"nccl": 2**33, "gloo": 2**26}
_MEMORY_FILE = "/proc/meminfo"
_LEAST_RANKS = 2

Rounds = tuple[tuple[tuple[int, ...], ...], ...]


def settled(wanted: Settings, members: Sequence[Member]) -> Settings:
    """Return the settings with what was left open.

    Raises Refused for what cannot be.
    """
    backend = wanted.backend or _backend(members)
    if backend == "nccl":
        _verify_gpus(members)
    room = _room(backend, members)
    largest = wanted.largest_bytes
    if not largest:
        largest = max(wanted.smallest_bytes, min(_LARGEST[backend], _power(room)))
    if largest > room:
        where = "GPU" if backend == "nccl" else "host"
        message = (
            f"--max-size {shown_bytes(largest)}: the ranks have room for "
            f"{shown_bytes(_power(room))} each in the memory of the {where}: sent and "
            "received data must fit"
        )
        raise Refused(message)
    settings = wanted._replace(backend=backend, largest_bytes=largest)
    sets_of(settings, members)
    return settings


def _backend(members: Sequence[Member]) -> str:
    """Return NCCL where all ranks have GPUs, gloo where none has; raises Refused."""
    without = [rank for rank, member in enumerate(members) if not member.gpus]
    if not without:
        return "nccl"
    if len(without) == len(members):
        return "gloo"
    hosts = {rank: member.host for rank, member in enumerate(members)}
    message = (
        f"{shown_ranks(without, hosts)}: no GPU that torch can use, while others have "
        "them: mend that, or measure CPUs with --backend gloo"
    )
    raise Refused(message)


def _verify_gpus(members: Sequence[Member]) -> None:
    """Verify that each rank has a GPU of its own; raises Refused."""
    for rank, member in enumerate(members):
        if not member.gpus or (member.gpus > 1 and member.local_rank >= member.gpus):
            message = (
                f"rank {rank} ({member.host}) is number {member.local_rank} of its "
                "host, "
                f"where torch sees {member.gpus} GPUs: start one rank for each GPU, or "
                "measure CPUs with --backend gloo"
            )
            raise Refused(message)


def _room(backend: str, members: Sequence[Member]) -> float:
    """Return the largest message in bytes, by the rank with least memory."""
    if backend == "nccl":
        return min(member.free_bytes for member in members) * _USABLE_SHARE / _BUFFERS
    # Ranks with GPUs told of their memory; what the host has is known of the others.
    ranks = Counter(member.host for member in members)
    numbers = [
        member.free_bytes / ranks[member.host] for member in members if not member.gpus
    ]
    return min(numbers, default=float(_LARGEST["nccl"])) * _USABLE_SHARE / _BUFFERS


def _power(size: float) -> int:
    """Return the largest power of two that is not above a size."""
    return 1 << max(0, int(size).bit_length() - 1)


def room_bytes() -> int:
    """Return the memory of the host that can be had; much, where that is not known."""
    try:
        with open(_MEMORY_FILE, encoding="ascii") as file:
            for line in file:
                name, _, rest = line.partition(":")
                if name == "MemAvailable":
                    return int(rest.split()[0]) * 1024
    except (OSError, ValueError, IndexError):
        pass
    return _LARGEST["nccl"] * 64


def sets_of(settings: Settings, members: Sequence[Member]) -> Rounds:
    """Return the ranks that measure together, by round.

    Raises Refused for unknown hosts.
    """
    if not settings.rounds:
        return ((tuple(range(len(members))),),)
    by_host: dict[str, list[int]] = {}
    for rank, member in enumerate(members):
        by_host.setdefault(member.host, []).append(rank)
    unknown = {
        name
        for sets in settings.rounds
        for hosts in sets
        for name in hosts
        if _named(by_host, name) is None
    }
    if unknown:
        message = (
            f"--plan names hosts without ranks: {_listed(unknown)}; there are "
            f"{_listed(by_host)} (SPECCHECK_HOST gives a host another name)"
        )
        raise Refused(message)
    return tuple(
        tuple(_ranks(by_host, hosts) for hosts in sets) for sets in settings.rounds
    )


def _ranks(by_host: dict[str, list[int]], hosts: Sequence[str]) -> tuple[int, ...]:
    numbers = sorted(rank for name in hosts for rank in _named(by_host, name) or ())
    if len(numbers) < _LEAST_RANKS:
        message = (
            f"--plan: {', '.join(hosts)}: one rank alone has nobody to measure with"
        )
        raise Refused(message)
    return tuple(numbers)


def _named(by_host: dict[str, list[int]], name: str) -> list[int] | None:
    """Return the ranks of a host, by its full name or by the first part of it."""
    if name in by_host:
        return by_host[name]
    short = [
        host
        for host in by_host
        if host.partition(".")[0] == name or host == name.partition(".")[0]
    ]
    return by_host[short[0]] if len(short) == 1 else None


def _listed(names: object) -> str:
    result = sorted(map(str, names))  # type: ignore[call-overload]
    more = f" and {len(result) - 16} more" if len(result) > 16 else ""  # noqa: PLR2004
    return ", ".join(result[:16]) + more

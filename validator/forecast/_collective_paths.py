"""Which ways the bytes of a collective may have taken, as far as the files tell."""

from collections.abc import Iterable
from typing import Any

from speccheck.validator.evidence.measurement.bandwidth import GpuReadings
from speccheck.validator.evidence.measurement.collective import (
    CollectiveRun,
    Communicator,
)
from speccheck.validator.evidence.measurement.conditions import Adapters, Conditions
from speccheck.validator.evidence.record import Record
from speccheck.validator.evidence.value import Value
from speccheck.validator.models.collective_setting import Algorithm, Setting

_LOG = "the log of NCCL with NCCL_DEBUG=INFO"
OPEN_DOMAIN = f"whether NVLink joined the nodes ({_LOG}, or NCCL_MNNVL_ENABLE)"
OPEN_SWITCH_SUMS = f"whether NVLS added up in the NVSwitch ({_LOG}, or NCCL_ALGO)"
_ALGORITHMS: dict[str, Algorithm] = {
    "ring": "ring",
    "tree": "tree",
    "nvls": "nvls",
    "nvlstree": "nvls_tree",
    "nvls_tree": "nvls_tree",
    "collnet": "collnet",
    "collnetdirect": "collnet",
    "collnetchain": "collnet",
    "collnet_direct": "collnet",
    "collnet_chain": "collnet",
}
_NETWORKS_WITH_SUMS = ("", "infiniband")
_GPUS_OF_A_NODE = 8  # NVLink of boards with as many ends within the node


class Choice(Record):
    """What may have been; several where nobody tells.

    forced: the algorithm that was forced, as it was written.
    """

    ways: tuple[Any, ...]
    forced: str = ""

    @property
    def is_open(self) -> bool:
        """Whether nobody tells which."""
        return len(set(self.ways)) > 1


def domains_joined(
    ranks: int, nodes: int, gpu: GpuReadings, about: Conditions
) -> Choice:
    """NVLink domains: the nodes, or fewer where NVLink goes from node to node."""
    if nodes == 1 or not _is_of_rack(gpu, about):
        return Choice((nodes,))
    told = about.communicators_of(ranks)
    joined, cliques = _agreed(told, "is_mnnvl"), _agreed(told, "nvlink_cliques")
    setting = about.variable("NCCL_MNNVL_ENABLE")
    if joined is False or (joined is None and setting == "0"):
        return Choice((nodes,))
    if joined and cliques and cliques > 0:
        return Choice((cliques,))
    reach = about.instance.nvlink_domain_size.or_else(gpu.gpus) or 1
    least = -(-ranks // reach)
    if joined or setting == "1":
        return Choice((least,))
    return Choice((least, nodes))


def _is_of_rack(gpu: GpuReadings, about: Conditions) -> bool:
    profile = about.instance
    if profile.id and profile.nvlink_domain_size.is_known and profile.gpus.is_known:
        return profile.nvlink_domain_size.need() > profile.gpus.need()
    return gpu.gpus > _GPUS_OF_A_NODE


def algorithms(
    setting: Setting, run: CollectiveRun, about: Conditions, size_bytes: int
) -> Choice:
    """What was forced, else what the tuner told, else rings, with NVLS or without."""
    forced = run.algorithm.value or ""
    if found := _ALGORITHMS.get(forced.lower()):
        return Choice((found,), forced)
    if setting.collective != "all_reduce":
        return Choice((None,))
    allowed = about.variable("NCCL_ALGO") or ""
    only = _only(allowed)
    if only is not None:
        return Choice((only,), allowed)
    if setting.domains > 1 or setting.gpu.nvls is None:
        return Choice((None,))
    return _with_or_without_nvls(about, setting.ranks, size_bytes)


def _with_or_without_nvls(about: Conditions, ranks: int, size_bytes: int) -> Choice:
    """By the log of NCCL, else by the variable, else either."""
    told = about.communicators_of(ranks)
    if tuned := _tuned(told, size_bytes):
        return Choice((tuned,))
    channels = _agreed(told, "nvls_channels")
    if channels is None:
        switch = about.variable("NCCL_NVLS_ENABLE")
        channels = {"0": 0, "1": 1}.get(switch or "")
    if channels is None:
        return Choice((None, "ring"))
    return Choice((None,) if channels else ("ring",))


def _only(text: str) -> Algorithm | None:
    """The algorithm that a list of NCCL_ALGO leaves inside a node, if it is one.

    Lists that speak of single collectives are left to the log.
    """
    names = {one.strip() for one in text.lower().removeprefix("^").split(",")}
    if not text or ":" in text or ";" in text:
        return None
    if text.startswith("^"):
        return "ring" if "nvls" in names else None
    if len(names) == 1:
        return _ALGORITHMS.get(names.pop())
    return "ring" if "nvls" not in names and "ring" in names else None


def _tuned(told: Iterable[Communicator], size_bytes: int) -> Algorithm | None:
    """What the tuner says it took for an all-reduce of that size."""
    found: set[Algorithm | None] = set()
    for one in told:
        rows = zip(
            one.tuned_collective.or_else(()),
            one.tuned_bytes.or_else(()),
            one.tuned_algorithm.or_else(()),
            strict=False,
        )
        found.update(
            _ALGORITHMS.get((algorithm or "").lower())
            for collective, size, algorithm in rows
            if collective == "AllReduce" and size == size_bytes
        )
    return found.pop() if len(found) == 1 else None


def sums_in_network(
    setting: Setting, about: Conditions, adapters: Adapters | None
) -> Choice:
    """Whether switches of the network add up (SHARP): it raises no floor."""
    if setting.domains == 1 or setting.collective != "all_reduce" or adapters is None:
        return Choice((False,))
    if adapters.kind not in _NETWORKS_WITH_SUMS:
        return Choice((False,))
    told = about.communicators_of(setting.ranks)
    channels = _agreed(told, "collnet_channels")
    if channels is not None:
        return Choice((channels > 0,))
    switch = about.variable("NCCL_COLLNET_ENABLE")
    if switch in {"0", "1"}:
        return Choice((switch == "1",))
    return Choice((False, True))


def _agreed(told: Iterable[Communicator], leaf: str) -> Any:  # noqa: ANN401 - any leaf
    """What all communicators that tell it say; None where they differ."""
    values: set[Any] = set()
    for one in told:
        found: Value[Any] = getattr(one, leaf)
        if found.is_known:
            values.add(found.value)
    return values.pop() if len(values) == 1 else None

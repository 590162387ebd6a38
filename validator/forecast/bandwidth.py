"""What a measured collective should have reached, as far as the files tell.

What nobody tells is tried both ways: with NVLS and without it, in one NVLink domain and
across the network. A measurement then passes by the highest floor, fails by the lowest
and is open in between; what would settle it is named.
"""

from collections.abc import Iterable
from typing import Any, get_args

from speccheck.validator.evidence.measurement.bandwidth import GpuReadings
from speccheck.validator.evidence.measurement.collective import (
    CollectiveRun,
    Communicator,
)
from speccheck.validator.evidence.measurement.conditions import Adapters, Conditions
from speccheck.validator.evidence.record import Record
from speccheck.validator.evidence.value import MissingEvidence, Value
from speccheck.validator.models.bus_bandwidth import Collective
from speccheck.validator.models.expectation import (
    Algorithm,
    CollectiveSetting,
    Expectation,
    Floors,
    expectation,
    implausible,
)

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
    """The ways that a run may have taken; several where the evidence leaves it open.

    forced: the algorithm that a variable forces, as written.
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
    """Return NVLink domains: the nodes, or fewer if NVLink joins nodes."""
    if nodes == 1 or not _is_of_rack(gpu, about):
        return Choice((nodes,))
    communicators = about.communicators_of(ranks)
    joined, cliques = (
        _agreed(communicators, "is_mnnvl"),
        _agreed(communicators, "nvlink_cliques"),
    )
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
    setting: CollectiveSetting, run: CollectiveRun, about: Conditions, size_bytes: int
) -> Choice:
    """Return what was forced, else the tuner's choice, else rings with NVLS or not."""
    forced = run.algorithm.value or ""
    if text := _ALGORITHMS.get(forced.lower()):
        return Choice((text,), forced)
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
    """Return both or either, by the log of NCCL, else by the variable."""
    communicators = about.communicators_of(ranks)
    if tuned := _tuned(communicators, size_bytes):
        return Choice((tuned,))
    channels = _agreed(communicators, "nvls_channels")
    if channels is None:
        switch = about.variable("NCCL_NVLS_ENABLE")
        channels = {"0": 0, "1": 1}.get(switch or "")
    if channels is None:
        return Choice((None, "ring"))
    return Choice((None,) if channels else ("ring",))


def _only(text: str) -> Algorithm | None:
    """Return the algorithm that a list of NCCL_ALGO leaves inside a node, if it is one.

    Lists that speak of single collectives are left to the log.
    """
    names = {part.strip() for part in text.lower().removeprefix("^").split(",")}
    if not text or ":" in text or ";" in text:
        return None
    if text.startswith("^"):
        return "ring" if "nvls" in names else None
    if len(names) == 1:
        return _ALGORITHMS.get(names.pop())
    return "ring" if "nvls" not in names and "ring" in names else None


def _tuned(communicators: Iterable[Communicator], size_bytes: int) -> Algorithm | None:
    """Return what the tuner says it took for an all-reduce of that size."""
    result: set[Algorithm | None] = set()
    for communicator in communicators:
        rows = zip(
            communicator.tuned_collective.or_else(()),
            communicator.tuned_bytes.or_else(()),
            communicator.tuned_algorithm.or_else(()),
            strict=False,
        )
        result.update(
            _ALGORITHMS.get((algorithm or "").lower())
            for collective, size, algorithm in rows
            if collective == "AllReduce" and size == size_bytes
        )
    return result.pop() if len(result) == 1 else None


def sums_in_network(
    setting: CollectiveSetting, about: Conditions, adapters: Adapters | None
) -> Choice:
    """Return whether switches of the network add up (SHARP): it raises no floor."""
    if setting.domains == 1 or setting.collective != "all_reduce" or adapters is None:
        return Choice((False,))
    if adapters.kind not in _NETWORKS_WITH_SUMS:
        return Choice((False,))
    communicators = about.communicators_of(setting.ranks)
    channels = _agreed(communicators, "collnet_channels")
    if channels is not None:
        return Choice((channels > 0,))
    switch = about.variable("NCCL_COLLNET_ENABLE")
    if switch in {"0", "1"}:
        return Choice((switch == "1",))
    return Choice((False, True))


def _agreed(communicators: Iterable[Communicator], leaf: str) -> Any:  # noqa: ANN401 - any leaf
    """Return what all communicators that state it say; None where they differ."""
    values: set[Any] = set()
    for communicator in communicators:
        value: Value[Any] = getattr(communicator, leaf)
        if value.is_known:
            values.add(value.value)
    return values.pop() if len(values) == 1 else None


_COLLECTIVES: tuple[Collective, ...] = get_args(Collective)
_NAMES: dict[str, Collective] = {
    "alltoall": "all_to_all",
    "send_recv": "sendrecv",
}
_NAMES.update((text, text) for text in _COLLECTIVES)
# Backends that move nothing over NVLink, and a network of hosts alone.
_OF_HOSTS = frozenset({"gloo", "mpi"})
_NO_GPU = "the type of the GPUs is not known; name it with --gpu or --instance"


class Prospect(Record):
    """What a run may be expected to reach at one size.

    Attributes:
        possible: one for each way that the bytes may have taken.
        open: what would tell which of them it was, as far as floors depend on it.
        forced: the algorithm that NCCL was told to take, if any.
        settings: who takes part over which wires, one for each way.

    """

    possible: tuple[Expectation, ...]
    open: tuple[str, ...] = ()
    forced: str = ""
    settings: tuple[CollectiveSetting, ...] = ()

    @property
    def reason(self) -> str:
        """Why there is no floor; empty where there is one whatever the way was."""
        return next((item.reason for item in self.possible if item.reason), "")

    @property
    def lowest(self) -> Expectation:
        """With the lowest floor: what is below it is too slow in any case."""
        return min(self.possible, key=lambda item: item.fail_below or 0.0)

    @property
    def highest(self) -> Expectation:
        """With the highest floor: what reaches it is well in any case."""
        return max(self.possible, key=lambda item: item.fail_below or 0.0)

    def refusal(self, threshold: float, size_bytes: int) -> str:
        """Return why nobody can reach a threshold in bytes per second.

        Empty if one can.
        """
        why = [implausible(setting, threshold, size_bytes) for setting in self.settings]
        return why[-1] if why and all(why) else ""

    @property
    def plausible(self) -> float | None:
        """No published figure comes near it, whatever the way was."""
        return _greatest([item.plausible for item in self.possible])

    @property
    def impossible(self) -> float | None:
        """More than the wires carry, whatever the way was."""
        return _greatest([item.impossible for item in self.possible])


def _greatest(bounds: list[float | None]) -> float | None:
    """Return the greatest bound; None where one way has none."""
    known = [bound for bound in bounds if bound is not None]
    return max(known) if len(known) == len(bounds) and known else None


def collective_of(run: CollectiveRun) -> Collective | None:
    """Return the collective as the models call it; None for another."""
    return _NAMES.get(run.collective.need())


def is_of_gpus(run: CollectiveRun) -> bool:
    """Return whether it ran between GPUs, as readings of NVLink and adapters do."""
    return run.backend.value not in _OF_HOSTS


def nodes_of(run: CollectiveRun) -> int:
    """Return the number of nodes that took part; raises MissingEvidence."""
    if run.nodes.is_known:
        return run.nodes.need()
    if run.hosts.is_known:
        return len(set(run.hosts.need()))
    return run.nodes.need()


def prospect(
    run: CollectiveRun, about: Conditions, size_bytes: int, floors: Floors | None
) -> Prospect:
    """Return what a run should reach at a size; raises MissingEvidence.

    Only for collectives and backends that models speak of.
    """
    collective = collective_of(run)
    if collective is None:
        raise MissingEvidence(run.collective.name, "no readings of it")
    ranks, nodes = run.ranks.need(), nodes_of(run)
    gpu = _gpu(run, about)
    domains = domains_joined(ranks, nodes, gpu, about)
    adapters = about.adapters() if max(domains.ways) > 1 else None
    bare = CollectiveSetting(collective, ranks, nodes, gpu)
    forced = ""
    settings: list[CollectiveSetting] = []
    opened = dict.fromkeys([OPEN_DOMAIN] if domains.is_open else [])
    for count in dict.fromkeys(domains.ways):
        setting = _with_adapters(bare._replace(domains=count), adapters)
        chosen = algorithms(setting, run, about, size_bytes)
        sums = sums_in_network(setting, about, adapters)
        if chosen.is_open:
            opened[OPEN_SWITCH_SUMS] = None
        settings += (
            setting._replace(algorithm=algorithm, reduces_in_network=in_network)
            for algorithm in chosen.ways
            for in_network in sums.ways
        )
        forced = forced or chosen.forced
    expectations = tuple(
        _without_floors(expectation(item, size_bytes, floors), why)
        for item in settings
        for why in [_beside_readings(item, about, adapters)]
    )
    return Prospect(expectations, tuple(opened), forced, tuple(settings))


def _gpu(run: CollectiveRun, about: Conditions) -> GpuReadings:
    """Return the GPU by the name in the run, else by what the plan states."""
    if run.gpu.is_known:
        gpu_readings = about.published.of_gpu(run.gpu.need())
        if gpu_readings is not None:
            return gpu_readings
    accelerator = about.cluster.accelerator
    if accelerator.value is None:
        raise MissingEvidence(accelerator.name, accelerator.note or _NO_GPU)
    gpu_readings = about.published.of_gpu(accelerator.value)
    if gpu_readings is None:
        raise MissingEvidence(accelerator.name, _NO_GPU)
    return gpu_readings


def _with_adapters(
    setting: CollectiveSetting, adapters: Adapters | None
) -> CollectiveSetting:
    if adapters is None or setting.domains == 1:
        return setting
    # Of racks, every node has all of its GPUs at work, or nobody knows.
    idle = max(adapters.gpus - setting.gpus_per_domain, 0)
    return setting._replace(
        network_bytes_per_gpu=adapters.bytes_per_gpu,
        idle_network_bytes=idle * adapters.bytes_per_gpu,
    )


def _beside_readings(
    setting: CollectiveSetting, about: Conditions, adapters: Adapters | None
) -> str:
    """Return why no published reading is of such wires; empty where some are."""
    if setting.domains == 1 and about.variable("NCCL_P2P_DISABLE") == "1":
        return "NCCL_P2P_DISABLE=1 keeps the bytes off NVLink, as tests of adapters do"
    if setting.domains > 1 and adapters is not None and not adapters.is_fast:
        return f"no readings of networks of the kind {adapters.kind}"
    return ""


def _without_floors(result: Expectation, why: str) -> Expectation:
    """Return the same, without floors where there is a reason for it."""
    if not why:
        return result
    return result._replace(
        fail_below=None, warn_below=None, reference=None, basis="", reason=why
    )


def ring_bound(run: CollectiveRun, about: Conditions) -> float | None:
    """Return what rings between the nodes of a run cannot exceed; None if not known."""
    try:
        look = prospect(run, about, 0, None)
    except MissingEvidence:
        return None
    bounds = [item.ceilings.ring for item in look.possible]
    known = [bound for bound in bounds if bound is not None]
    return max(known) if known and len(known) == len(bounds) else None

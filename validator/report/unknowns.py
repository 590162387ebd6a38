"""What could not be judged, by what would let it be judged."""

import re
from collections.abc import Iterable, Iterator, Mapping

from speccheck.validator.report.style import Style, counted, wrap
from speccheck.validator.run.judging import JudgedPlan
from speccheck.validator.sources.context import FLAGS

_SCALE = "--nodes and --gpus-per-node"
_GPU = "--gpu or --instance"
_EXACT_GPU = "--gpu by its full name (H100-SXM5-80GB) or --instance"
# Leaves that follow from others: the options that let them follow.
_OPTIONS = {
    **FLAGS,
    "cluster.nodes": _SCALE,
    "cluster.world_size": _SCALE,
    "cluster.size_class": _SCALE,
    "parallelism.data_parallel_size": _SCALE,
    "cluster.accelerator_memory_bytes": _GPU,
    "cluster.compute_capability": _GPU,
    "cluster.has_nvlink": _GPU,
    "cluster.accelerator_family": _GPU,
    # GPUs of one name differ in these.
    "cluster.peak_bf16_flops_per_second": _EXACT_GPU,
    "cluster.power_watts": _EXACT_GPU,
    "cluster.nvlink_bytes_per_second": _EXACT_GPU,
    "cluster.nic_bits_per_second_per_gpu": "--instance",
    "cluster.nvlink_domain_size": "--nvlink-domain or --instance",
}
# What a type of machine has: of one that is known, the catalogue may lack it.
_OF_TYPE = {
    f"profile.{name}"
    for name in ("gpu", "gpus", "network_adapters", "network_kind", "network_names")
}
_FILES = {
    "environment": "the launch script or environment file",
    "parallelism": "the file that states the parallel sizes",
    "model": "the model's config.json or its dimensions",
    "recovery": "the launch script",
    "checkpoint": "the file that states how checkpoints are saved",
}
_MEASURED = {"collective_runs", "copy_tests", "matrix_products", "rdma_transfers"}
_MOST_GROUPS = 5
_NUMBER = re.compile(r"\[\d+\]")  # of a part among several: gpus[3].name


def unknown_lines(
    plans: Iterable[JudgedPlan], style: Style, *, full: bool
) -> Iterator[str]:
    """One line for each missing fact with the clauses that wait for it."""
    ranked, levels = unknown_groups(plans)
    if not ranked:
        return
    yield f"{style.paint('unknown', 'unknown')} {unknown_head(levels)}"
    for need, clauses in ranked if full else ranked[:_MOST_GROUPS]:
        text = f"{need.removesuffix('.')}: {', '.join(sorted(clauses))}"
        yield wrap(text, style.width, "  ")
    if not full and len(ranked) > _MOST_GROUPS:
        yield _others(dict(ranked[_MOST_GROUPS:]))


def unknown_head(levels: Mapping[str, str]) -> str:
    """How many clauses were not judged."""
    musts = sum(level == "must" for level in levels.values())
    of_them = "a must" if musts == 1 else "musts"
    return f"{counted(len(levels), 'clause')} not judged, {musts} of them {of_them}"


def unknown_groups(
    plans: Iterable[JudgedPlan],
) -> tuple[list[tuple[str, set[str]]], dict[str, str]]:
    """What would let clauses be judged, that of most first; the level of each."""
    groups: dict[str, set[str]] = {}
    levels: dict[str, str] = {}
    for plan in plans:
        knows_scale = plan.plan.value("cluster.world_size").value is not None
        knows_type = plan.plan.value("cluster.instance_type").value is not None
        for located in plan.findings:
            finding = located.finding
            if finding.outcome == "unknown":
                levels[finding.clause] = finding.clause_level
                need = ways_to_know(
                    finding.missing,
                    finding.message,
                    knows_scale=knows_scale,
                    knows_type=knows_type,
                )
                groups.setdefault(need, set()).add(finding.clause)
    return sorted(groups.items(), key=lambda item: (-len(item[1]), item[0])), levels


def _others(groups: Mapping[str, set[str]]) -> str:
    clauses = {clause for group in groups.values() for clause in group}
    reasons = counted(len(groups), "other reason")
    return f"  {counted(len(clauses), 'clause')} for {reasons}: --full"


def ways_to_know(
    missing: tuple[str, ...],
    message: str,
    *,
    knows_scale: bool,
    knows_type: bool = True,
) -> str:
    """What would give missing leaves: options, files, or the leaves themselves."""
    wanted: dict[str, None] = {}
    for name in missing:
        option = _OPTIONS.get(name)
        if name in _OF_TYPE and not knows_type:
            option = "--instance"
        if option == _SCALE and knows_scale:
            option = "--nodes" if name == "cluster.nodes" else None
        section = name.partition(".")[0]
        if option:
            wanted[f"add {option}"] = None
        elif section in _FILES:
            wanted[f"pass {_FILES[section]} as well"] = None
        elif len(missing) == 1 and (_is_whole_list(name) or _is_measured(name)):
            return _NUMBER.sub("", message)  # it says why there is none
        else:
            wanted[f"needs {_NUMBER.sub('', name)}"] = None
    return ", ".join(wanted) or message


def _is_measured(name: str) -> bool:
    """Whether it is a leaf of a measurement: why it is missing says how to measure."""
    return name.partition("[")[0] in _MEASURED


def _is_whole_list(name: str) -> bool:
    """Whether it is no leaf of the plan or of a part: `gpus` of a machine."""
    return "." not in name and name.islower()

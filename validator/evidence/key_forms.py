"""Forms that texts of keys must have, by the names that relations call them by."""

import re
from collections.abc import Callable, Mapping

from speccheck.validator.evidence.lazy_pattern import lazy_pattern

_LONGEST_NUMBER = 40
_DNS_LABEL = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"


def _matches(pattern: str, longest: int = 10_000) -> Callable[[str], bool]:
    compiled = lazy_pattern(pattern)

    def is_of_form(text: str) -> bool:
        return len(text) <= longest and compiled.fullmatch(text) is not None

    return is_of_form


_LAYOUT_LONGEST = 10_000
_LAYOUT_REPEATS = (lazy_pattern(r"\(([^)]+)\)\*(\d+)"), lazy_pattern(r"(.)\*(\d+)"))


def _is_pipeline_layout(text: str) -> bool:
    """Return whether a text lays out the stages of a pipeline of Megatron-LM.

    Repetitions are written out first. A text that would grow too long is let through.
    """
    layout = text.replace(",", "")
    for repeat in _LAYOUT_REPEATS:
        parts = [(part[1], part[2]) for part in repeat.finditer(layout)]
        if any(len(times) > len(str(_LAYOUT_LONGEST)) for _, times in parts):
            return True
        grown = len(layout) + sum(len(part) * int(times) for part, times in parts)
        if grown > _LAYOUT_LONGEST:
            return True
        layout = repeat.sub(lambda part: part[1] * int(part[2]), layout)
    return re.fullmatch(r"\|*E[t|]*[m|]*L\|*", layout) is not None


_NODES = lazy_pattern(r"\s*(\d*)([kKmM]{0,2})(-(\d+)([kKmM]{0,2}))?\s*")
_NODE_LIST = lazy_pattern(r"[\d,:-]*[,:][\d,:-]*")


def _is_node_count(text: str) -> bool:
    """Return whether sbatch takes a number of nodes, or a range that is none empty."""
    if _NODE_LIST.fullmatch(text):
        return True
    match = _NODES.fullmatch(text)
    if match is None or not (match[1] or match[3]) or len(text) > _LONGEST_NUMBER:
        return False
    if match[3] is None or match[2] or match[5]:
        return True
    return int(match[4]) == 0 or int(match[1] or 1) <= int(match[4])


def _is_node_range(text: str) -> bool:
    """Return whether torchrun takes a number of nodes, or a range of them."""
    least, colon, most = text.partition(":")
    bounds = [least.strip(), most.strip() if colon else least.strip()]
    if not all(bound.isdecimal() for bound in bounds) or len(text) > _LONGEST_NUMBER:
        return False
    return 0 < int(bounds[0]) <= int(bounds[1])


FORMS: Mapping[str, Callable[[str], bool]] = {
    # Kubernetes: RFC 1123 and 1035 names
    "dns_label": _matches(_DNS_LABEL, 63),
    "dns_subdomain": _matches(rf"{_DNS_LABEL}(\.{_DNS_LABEL})*", 253),
    "label_value": _matches(r"([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?", 63),
    "power_of_two": lambda text: (
        text.isdecimal() and int(text) > 0 and int(text) & (int(text) - 1) == 0
    ),
    # Slurm: minutes, minutes:seconds, hours:minutes:seconds, days-hours[:...]
    "slurm_time": _matches(
        r"(?i)\d+(:\d+){0,2}|\d*-(\d+(:\d+){0,2})?|infinite|unlimited|-1"
    ),
    "slurm_memory": _matches(r"(?i)\+?\d+([kmgt]b?)?"),
    # Slurm: node7, node[1-4,8], a path of a file, {...} that slurmctld fills in
    "slurm_hosts": _matches(r"[^\[\]]*(\[[\w,-]+\][^\[\]]*)*|.*[/{].*"),
    # Slurm: gpu, gpu:8, gpu:a100:8, and others behind commas
    "slurm_gres": _matches(
        r"(?i){0}(,{0})*".format(r"[^:=,]*([:=][^:=,]*)?([:=]\d+[kmgtpe]?(i?b)?)?")
    ),
    # Slurm: 4, 2-8, 1k, a list of sizes
    "slurm_nodes": _is_node_count,
    # torchrun: 4, 2:8
    "torchrun_nodes": _is_node_range,
    "kubernetes_quantity": _matches(
        r"[+-]?(\d+(\.\d*)?|\.\d+)(([KMGTPE]i)|[numkMGTPE]|[eE][+-]?\d+)?"
    ),
    "whole_number": _matches(r"\s*[-+]?\d+\s*"),
    # Megatron-LM: E embedding, t layer, m prediction layer, L loss, | between stages
    "megatron_pipeline_layout": _is_pipeline_layout,
    "host_and_port": _matches(r".*:\d{1,5}"),
}

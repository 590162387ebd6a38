"""What the nodes are that a pod asks for, by their labels and devices."""

from functools import lru_cache
from typing import TYPE_CHECKING

from speccheck.validator.catalogue.names import UnknownName
from speccheck.validator.evidence.value import KeyPath
from speccheck.validator.sources.context import accelerator_facts, instance_facts
from speccheck.validator.sources.embedded_script import value_at
from speccheck.validator.sources.formats._kubernetes_pods import Count, Pod
from speccheck.validator.sources.mapping import items, section
from speccheck.validator.sources.reader import Fact, FactSheet

if TYPE_CHECKING:
    from speccheck.validator.catalogue.hardware import Accelerator

_GPUS = "cluster.gpus_per_node"
# Labels of nodes that name the machine type, or the accelerator.
_INSTANCE_LABELS = (
    "node.kubernetes.io/instance-type",
    "beta.kubernetes.io/instance-type",
    "sagemaker.amazonaws.com/compute-type",
)
_ACCELERATOR_LABELS = (
    "cloud.google.com/gke-accelerator",
    "cloud.google.com/gke-tpu-accelerator",
    "nvidia.com/gpu.product",
    "karpenter.k8s.aws/instance-gpu-name",
    "gpu.nvidia.com/class",
)
# GKE adds how the chips are sold to the name of a TPU: tpu-v6e-slice.
_TPU_SUFFIXES = ("-podslice", "-slice", "-device")
_EFA = "vpc.amazonaws.com/efa"
_REQUIRED = (
    "affinity",
    "nodeAffinity",
    "requiredDuringSchedulingIgnoredDuringExecution",
    "nodeSelectorTerms",
)


def state_hardware(sheet: FactSheet, pod: Pod) -> None:
    """State what the labels of the nodes say; of names that nobody knows, nothing."""
    selected = _selected(pod)
    sheet.facts += _labelled(sheet, selected, pod.accelerators)
    for container in pod.trainers():
        limits = section(container.fields, container.resources, "limits")
        if _EFA in limits:
            at = (*container.path, container.resources, "limits", _EFA)
            sheet.derive("cluster.fabric", "efa", f"{_EFA} is asked for", at)
            break


Labels = dict[str, tuple[str, KeyPath]]
"""The labels that a node must have, by name, with the path of their value."""


def _labelled(
    sheet: FactSheet, selected: Labels, devices: tuple[str, Count] | None
) -> list[Fact]:
    found = FactSheet(sheet.file, sheet.document)
    for name in _INSTANCE_LABELS:
        text, path = selected.get(name, ("", ()))
        if text and _is_instance(text):
            instance_facts(found, text, sheet.place(path))
            return [fact for fact in found.facts if not _is_larger(fact, devices)]
    for name in _ACCELERATOR_LABELS:
        text, path = selected.get(name, ("", ()))
        accelerator = _accelerator(text) if text else None
        if accelerator is not None:
            accelerator_facts(found, accelerator, sheet.place(path))
            break
    return found.facts


def _is_larger(fact: Fact, devices: tuple[str, Count] | None) -> bool:
    """Whether a machine has more accelerators than a pod asks for, or nobody asks."""
    if fact.name != _GPUS:
        return False
    asked = devices[1].value if devices is not None else None
    return asked is None or fact.value >= asked


def _selected(pod: Pod) -> Labels:
    found: Labels = {}
    for name, value in section(pod.spec, "nodeSelector").items():
        if isinstance(value, str):
            found[name] = value, (*pod.path, "nodeSelector", name)
    terms = items(value_at(pod.spec, _REQUIRED))
    if len(terms) != 1:
        return found  # any of several will do
    at = (*pod.path, *_REQUIRED, 0, "matchExpressions")
    for index, item in enumerate(items(section(terms[0]).get("matchExpressions"))):
        one = section(item)
        label, values = one.get("key"), items(one.get("values"))
        if one.get("operator") != "In" or len(values) != 1:
            continue
        if isinstance(label, str) and isinstance(values[0], str):
            found.setdefault(label, (values[0], (*at, index, "values", 0)))
    return found


# The search for names that resemble an unknown one takes a millisecond.
@lru_cache(maxsize=64)
def _is_instance(name: str) -> bool:
    from speccheck.validator.catalogue.hardware import resolve_instance  # noqa: PLC0415

    try:
        resolve_instance(name)
    except UnknownName:
        return False
    return True


@lru_cache(maxsize=64)
def _accelerator(label: str) -> "Accelerator | None":
    from speccheck.validator.catalogue.hardware import resolve_accelerator  # noqa: PLC0415

    for suffix in _TPU_SUFFIXES:
        label = label.removesuffix(suffix)
    try:
        return resolve_accelerator(label)
    except UnknownName:
        return None

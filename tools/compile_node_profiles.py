"""Compiles what GPUs and instances of known types show, as node rules read it.

It comes from the same YAML as the hardware of plans, and goes to a file of its own:
only runs that judge a machine read it.
"""

from collections.abc import Iterator, Mapping
from typing import Any

Row = Mapping[str, Any]
Leaf = list[Any] | dict[str, Any]

# Leaf of GpuProfile: where it stands in a row of accelerators.yaml.
_OF_GPUS = {
    "architecture": "architecture",
    "form_factor": "form_factor",
    "compute_capability": "compute_capability",
    "memory_total_bytes": "memory_driver_total",
    "bar1_total_bytes": "bar1_total",
    "memory_gigabytes_per_second": "memory_bandwidth",
    "has_error_correction": "has_error_correction",
    "can_be_partitioned": "can_be_partitioned",
    "bfloat16_teraflops": "dense_peak.bf16",
    "float16_teraflops": "dense_peak.fp16",
    "float8_teraflops": "dense_peak.fp8",
    "has_nvlink": "nvlink.present",
    "nvlink_is_by_bridge": "nvlink.bridge_only",
    "nvlinks": "nvlink.links",
    "nvlink_generation": "nvlink.generation",
    "nvlink_version": "nvlink.version_code",
    "nvlink_speed_mbyte_per_second": "nvlink.raw_per_link",
    "nvlink_gigabytes_per_second": "nvlink.total_one_way",
    "pcie_generation_maximum": "pcie.generation",
    "pcie_width_maximum": "pcie.width",
    "power_limit_default_watts": "power_default",
    "power_limit_most_watts": "power_most",
    "sm_clock_maximum_mhz": "sm_clock_maximum",
    "memory_clock_maximum_mhz": "memory_clock_maximum",
    "application_sm_clock_default_mhz": "application_sm_clock_default",
}
# Where a row has a value of its own for them; else they equal another leaf.
_OWN_OR_AS = {
    "nvlinks_of_gpu": ("nvlink.physical_links", "nvlinks"),
    "pcie_generation_maximum_of_gpu": (
        "pcie.generation_of_gpu",
        "pcie_generation_maximum",
    ),
}
# Leaf of InstanceProfile: where it stands in a row of instances.yaml.
_OF_INSTANCES = {
    "provider": "provider",
    "gpu": "accelerator",
    "gpus": "gpus_per_node",
    "nvlink_domain_size": "nvlink_domain_size",
    "nvswitches": "nvswitches",
    "pcie_generation_maximum": "pcie_generation",
    "nvme_drives": "nvme_drives",
    "network_kind": "network.kind",
    "network_adapters": "network.count",
    "network_gbit_per_second": "network.gbit_per_s",
    "network_names": "network.names",
    "network_driver": "network.driver",
    "sockets": "processors.sockets",
    "cores": "processors.cores",
    "processors": "processors.logical",
    "processor_model": "processors.model",
    "memory_total_bytes": "host_memory",
}
# Rules of an image or a provider's tools give these names: others may be right too.
_BY_CUSTOM = ("network_names",)
_MBYTE_PER_GBYTE = 1000
_COOLING = ("ac",)  # NVIDIA B300 SXM6 AC


def compile_node_profiles(
    accelerators: Row, instances: Row, aliases: Row, conflicts: Row
) -> dict[str, Any]:
    """Return what node rules need; raises ValueError for a conflict about nothing."""
    open_fields = _open_fields(accelerators, instances, conflicts)
    return {
        "gpus": {
            row["id"]: {
                "names": row["driver_names"],
                "devices": row.get("pci_device_ids", []),
                "form": row["form_factor"],
                "leaves": _gpu(row, open_fields),
            }
            for row in accelerators["accelerators"]
            if "driver_names" in row
        },
        "instances": {
            row["id"]: _instance(row, open_fields) for row in instances["instances"]
        },
        "forms": {
            word: form
            for form, words in aliases["form_factors"].items()
            for word in words
        },
        "cooling": _COOLING,
    }


def _open_fields(
    accelerators: Row, instances: Row, conflicts: Row
) -> dict[tuple[str, str], Row]:
    """Return the fields about which sources disagree, and nobody knows who is right."""
    rows = [*accelerators["accelerators"], *instances["instances"]]
    ids = {row["id"] for row in rows}
    for item in conflicts["conflicts"]:
        if item["about"] not in ids:
            message = f"a conflict about {item['about']}, which is no row"
            raise ValueError(message)
    return {
        (item["about"], item["field"]): item
        for item in conflicts["conflicts"]
        if "used" not in item
    }


def _gpu(row: Row, open_fields: Mapping[tuple[str, str], Row]) -> dict[str, Leaf]:
    leaves = dict(_leaves(row, _OF_GPUS, open_fields))
    for leaf, (field, other) in _OWN_OR_AS.items():
        own = dict(_leaves(row, {leaf: field}, open_fields))
        if own or other in leaves:
            leaves[leaf] = own.get(leaf) or leaves[other]
    speed = leaves.get("nvlink_speed_mbyte_per_second")
    if isinstance(speed, list):  # the library cuts the fraction off
        speed[0] = int(speed[0] * _MBYTE_PER_GBYTE)
    return leaves


def _instance(row: Row, open_fields: Mapping[tuple[str, str], Row]) -> dict[str, Leaf]:
    leaves = dict(_leaves(row, _OF_INSTANCES, open_fields))
    if "platform" in row:
        known = [row["platform"] == "vm", row["confidence"], row["source"]]
        leaves["is_virtual"] = known
    for leaf in _BY_CUSTOM:
        if isinstance(result := leaves.get(leaf), list):
            result[1] = "secondary"
    return leaves


def _leaves(
    row: Row,
    fields: Mapping[str, str],
    open_fields: Mapping[tuple[str, str], Row],
) -> Iterator[tuple[str, Leaf]]:
    """Yield each leaf that the row has: value, confidence, source.

    Or all the readings.
    """
    for leaf, field in fields.items():
        conflict = open_fields.get((row["id"], field))
        if conflict is not None:
            yield (
                leaf,
                {"readings": [_reading_text(item) for item in conflict["readings"]]},
            )
            continue
        result: Any = row
        for part in field.split("."):
            result = result.get(part) if isinstance(result, Mapping) else None
        if isinstance(result, Mapping):
            yield leaf, [result["value"], result["confidence"], result["source"]]
        elif result is not None:
            yield leaf, [result, row["confidence"], row["source"]]


def _reading_text(reading: Row) -> str:
    return f"{reading['value']} {reading['unit']} ({reading['source']})"

"""Compiles the hardware catalogues: YAML with sources to one small JSON for the run."""

from collections.abc import Mapping
from typing import Any

from speccheck.validator.catalogue.names import folded

Row = Mapping[str, Any]

FAMILIES = {
    "NVIDIA": "nvidia",
    "AMD": "amd",
    "Google": "tpu",
    "AWS": "trainium",
    "Intel": "gaudi",
}
BYTES_PER_GIB = 2**30
BF16_CAPABILITY = (8, 0)  # Ampere brought bf16 to NVIDIA's matrix units


def compile_hardware(accelerators: Row, instances: Row, aliases: Row) -> dict[str, Any]:
    """Return what a run needs; raises ValueError for a reference that leads nowhere."""
    rows = accelerators["accelerators"]
    ids = {row["id"] for row in rows}
    models = {row["model"] for row in rows}
    if models != aliases["models"].keys():
        message = f"models without spellings: {models ^ aliases['models'].keys()}"
        raise ValueError(message)
    for row in instances["instances"]:
        if row["accelerator"] not in ids:
            message = f"{row['id']}: no accelerator {row['accelerator']}"
            raise ValueError(message)
    return {
        "accelerators": {row["id"]: _accelerator(row) for row in rows},
        "models": {
            spelling: model
            for model, spellings in aliases["models"].items()
            for spelling in spellings
        },
        "driver_names": {
            folded(name): row["id"]
            for row in rows
            for name in row.get("driver_names", ())
        },
        "form_factors": {
            word: form
            for form, words in aliases["form_factors"].items()
            for word in words
        },
        "ignored": aliases["ignored"],
        "instances": {row["id"]: _instance(row) for row in instances["instances"]},
        "instance_names": _instance_names(instances["instances"], aliases["instances"]),
        "fabrics": {
            name: fabric
            for fabric, names in aliases["fabrics"].items()
            for name in (fabric, *names)
        },
    }


def _value(row: Row, name: str) -> Any:  # noqa: ANN401 - a number of any type
    return row[name]["value"] if name in row else None


def _accelerator(row: Row) -> dict[str, Any]:
    capability = row.get("compute_capability")
    parts = [int(part) for part in capability.split(".")] if capability else None
    nominal = row["memory_nominal"]["value"]
    nvlink = row["nvlink"]
    return {
        "model": row["model"],
        "family": FAMILIES[row["vendor"]],
        "architecture": row["architecture"],
        "form_factor": row["form_factor"],
        "compute_capability": parts,
        "sold_as_gigabytes": row["sold_as_gigabytes"],
        "memory_nominal_gigabytes": nominal,
        # Without a reading the size in GiB: no board was seen to report more.
        "memory_bytes": _value(row, "memory_driver_total") or nominal * BYTES_PER_GIB,
        "memory_gigabytes_per_second": _value(row, "memory_bandwidth"),
        # A board that needs a bridge has NVLink only where somebody fitted one.
        "has_nvlink": None if nvlink.get("bridge_only") else nvlink["present"],
        "nvlink_bridge_only": nvlink.get("bridge_only", False),
        "nvlink_gigabytes_per_second": _value(nvlink, "total_one_way"),
        "power_watts": _value(row, "power_default"),
        "bf16": parts is None or tuple(parts) >= BF16_CAPABILITY,
        "fp8": row["fp8"],
        "fp4": row["fp4"],
        "dense_teraflops": {
            dtype: peak["value"] for dtype, peak in row.get("dense_peak", {}).items()
        },
        "source": row["source"],
    }


def _instance(row: Row) -> dict[str, Any]:
    network = row.get("network")
    return {
        "provider": row["provider"],
        "accelerator": row["accelerator"],
        "gpus_per_node": row["gpus_per_node"],
        "nvlink_domain_size": row["nvlink_domain_size"],
        "fabric": row.get("fabric"),
        "network_gigabytes_per_second": (
            network["count"] * network["gbit_per_s"] / 8 if network else None
        ),
        "host_memory_bytes": _value(row, "host_memory")
        or _value(row, "host_memory_nominal"),
        "source": row["source"],
    }


def _instance_names(
    rows: list[Row], further: Mapping[str, list[str]]
) -> dict[str, str]:
    names: dict[str, str] = {}
    for row in rows:
        own = (*row["type_names"], *row.get("firmware_products", ()))
        for name in (row["id"], *own, *further.get(row["id"], ())):
            plain = folded(name).removeprefix("standard-")
            if names.setdefault(plain, row["id"]) != row["id"]:
                message = f"{name}: names both {names[plain]} and {row['id']}"
                raise ValueError(message)
    lost = further.keys() - {row["id"] for row in rows}
    if lost:
        message = f"names for instances that are not there: {lost}"
        raise ValueError(message)
    return names

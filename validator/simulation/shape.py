"""What of an instance type the parts of a healthy machine of that type depend on."""

from functools import cache
from typing import Any

from speccheck.validator.catalogue.files import read_compiled
from speccheck.validator.evidence.record import Record

DRIVER = "570.133.20"
NCCL = "2.27.3"
GIB = 2**30
NOT_SUPPORTED = {"status": "not_supported", "source": "NVML"}
ABSENT = {"status": "absent", "source": "sysfs"}
Leaves = dict[str, Any]
_NVLINK_2 = 2


@cache
def profiles() -> Any:  # noqa: ANN401 - JSON
    """Return the compiled profiles of GPUs and instances."""
    return read_compiled("node_profiles")


def instances() -> list[str]:
    """Return the instance types whose GPUs are NVIDIA's, ordered."""
    gpus = profiles()["gpus"]
    return sorted(
        name
        for name, row in profiles()["instances"].items()
        if row["gpu"][0] in gpus and "compute_capability" in gpu_row(row["gpu"][0])
    )


def gpu_row(name: str) -> Leaves:
    """Return the leaves of a GPU profile, as bare values."""
    leaves = profiles()["gpus"][name]["leaves"]
    return {leaf: known[0] for leaf, known in leaves.items() if isinstance(known, list)}


def instance_row(name: str) -> Leaves:
    """Return the leaves of an instance profile, as bare values.

    Of a conflict the first.
    """
    return {
        leaf: known[0] if isinstance(known, list) else _first(known["readings"][0])
        for leaf, known in profiles()["instances"][name].items()
    }


def _first(reading: str) -> int:
    return int(reading.split(maxsplit=1)[0])


class Shape(Record):
    """What of an instance type the leaves of its parts depend on.

    instance, gpu: the leaves of the profiles of both, as bare values.
    has_switches: of NVLink, in the node or in the rack; boards of V100 have wires.
    """

    name: str
    instance: Leaves
    gpu: Leaves
    gpus: int
    capability: tuple[int, ...]
    driver_name: str
    has_links: bool
    is_superchip: bool
    has_switches: bool
    is_registered: bool


@cache
def shape_of(name: str) -> Shape:
    """Return what the catalogue knows of an instance type; raises KeyError."""
    instance = instance_row(name)
    gpu = gpu_row(instance["gpu"])
    capability = tuple(int(part) for part in gpu["compute_capability"].split("."))
    has_links = instance["nvlink_domain_size"] > 1
    is_wired = (
        bool(gpu.get("nvlink_is_by_bridge"))
        or gpu.get("nvlink_generation", 0) <= _NVLINK_2
    )
    has_switches = has_links and not is_wired
    return Shape(
        name=name,
        instance=instance,
        gpu=gpu,
        gpus=instance["gpus"],
        capability=capability,
        driver_name=profiles()["gpus"][instance["gpu"]]["names"][0],
        has_links=has_links,
        is_superchip=gpu["form_factor"] == "superchip",
        has_switches=has_switches,
        is_registered=has_switches and capability >= (9, 0),
    )


def gpu_address(number: int) -> str:
    """Return where a GPU sits on the bus."""
    return f"0000:{0x10 + 0x10 * number:02x}:00.0"


def numa_node(shape: Shape, number: int) -> int:
    """Return the half of the machine to which the GPU of that number belongs."""
    return number * 2 // shape.gpus if shape.gpus > 1 else 0

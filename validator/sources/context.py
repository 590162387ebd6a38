"""Facts that the user states on the command line, or in settings."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from speccheck.validator.evidence.framework_keys import parse_version
from speccheck.validator.evidence.record import Record
from speccheck.validator.evidence.value import Place
from speccheck.validator.sources.reader import FactSheet

# The hardware catalogue is imported where a name is looked up: few runs give one.
if TYPE_CHECKING:
    from speccheck.validator.catalogue.hardware import Accelerator

COMMAND_LINE = "command line"
GIGA, TERA = 1e9, 1e12
ROLES = ("pretrain", "continued", "sft", "lora", "rl", "debug", "conversion")
FLAGS = {
    "cluster.nodes": "--nodes",
    "cluster.gpus_per_node": "--gpus-per-node",
    "cluster.accelerator": "--gpu",
    "cluster.accelerator_memory_bytes": "--gpu",
    "cluster.compute_capability": "--gpu",
    "cluster.instance_type": "--instance",
    "cluster.fabric": "--fabric",
    "cluster.nvlink_domain_size": "--nvlink-domain",
    "cluster.job_mtbf_hours": "--mtbf-hours",
    "run.role": "--role",
    "run.hours": "--hours",
    "run.step_seconds": "--step-seconds",
    "run.framework_version": "--framework-version",
    "run.nccl_version": "--nccl-version",
}


class Context(Record):
    """What the command line says of the job; None where it says nothing.

    places: of what settings say instead, by the name of the field.
    """

    nodes: int | None = None
    gpus_per_node: int | None = None
    gpu: str | None = None
    instance: str | None = None
    fabric: str | None = None
    nvlink_domain: int | None = None
    role: str | None = None
    hours: float | None = None
    step_seconds: float | None = None
    mtbf_hours: float | None = None
    framework_version: str | None = None
    nccl_version: str | None = None
    places: tuple[tuple[str, Place], ...] = ()


def context_facts(context: Context) -> FactSheet:
    """Return the facts of the command line; raises UnknownName."""
    sheet = FactSheet(COMMAND_LINE)
    places = dict(context.places)
    plain = {
        "cluster.nodes": context.nodes,
        "cluster.gpus_per_node": context.gpus_per_node,
        "cluster.nvlink_domain_size": context.nvlink_domain,
        "cluster.job_mtbf_hours": context.mtbf_hours,
        "run.role": context.role,
        "run.hours": context.hours,
        "run.step_seconds": context.step_seconds,
        "run.nccl_version": context.nccl_version,
    }
    for name, value in plain.items():
        if value is not None:
            sheet.state(name, value, _place(name, places))
    if context.framework_version is not None:
        place = _place("run.framework_version", places)
        _version_facts(sheet, context.framework_version, place)
    _hardware_facts(sheet, context, places)
    return sheet


def _hardware_facts(
    sheet: FactSheet, context: Context, places: Mapping[str, Place]
) -> None:
    if context.gpu is not None:
        gpu_facts(sheet, context.gpu, _place("cluster.accelerator", places))
    if context.fabric is not None:
        fabric_facts(sheet, context.fabric, _place("cluster.fabric", places))
    if context.instance is not None:
        place = _place("cluster.instance_type", places)
        instance_facts(sheet, context.instance, place)


def _place(name: str, places: Mapping[str, Place]) -> Place:
    """Return where a leaf is stated: in settings, or by its option."""
    flag = FLAGS[name]
    field = flag.removeprefix("--").replace("-", "_")
    return places.get(field) or Place(COMMAND_LINE, flag)


def _version_facts(sheet: FactSheet, text: str, place: Place) -> None:
    version = parse_version(text)
    sheet.state("run.framework_version", text, place)
    if version.framework:
        # TRL runs on transformers, whose format its files have
        framework = {"trl": "transformers"}.get(version.framework, version.framework)
        sheet.derive("run.framework", framework, text, place)


def gpu_facts(sheet: FactSheet, text: str, place: Place) -> None:
    """State what follows from the name of a GPU; raises UnknownName."""
    from speccheck.validator.catalogue.hardware import resolve_accelerator  # noqa: PLC0415

    accelerator_facts(sheet, resolve_accelerator(text), place)


def fabric_facts(sheet: FactSheet, text: str, place: Place) -> None:
    """State the fabric that a name stands for; raises UnknownName."""
    from speccheck.validator.catalogue.hardware import resolve_fabric  # noqa: PLC0415

    sheet.state("cluster.fabric", resolve_fabric(text), place)


def accelerator_facts(sheet: FactSheet, gpu: "Accelerator", place: Place) -> None:
    """State what follows from a GPU; parts that its name leaves open stay so."""
    peak, links = gpu.dense_teraflops.get("bf16"), gpu.nvlink_gigabytes_per_second
    narrow, memory = gpu.dense_teraflops.get("fp8"), gpu.memory_gigabytes_per_second
    known = {
        "cluster.accelerator": gpu.id,
        "cluster.accelerator_family": gpu.family,
        "cluster.accelerator_memory_bytes": gpu.memory_bytes,
        "cluster.compute_capability": gpu.compute_capability,
        "cluster.peak_bf16_flops_per_second": peak and peak * TERA,
        "cluster.peak_fp8_flops_per_second": narrow and narrow * TERA,
        "cluster.memory_bytes_per_second": memory and memory * GIGA,
        "cluster.power_watts": gpu.power_watts,
        "cluster.has_nvlink": gpu.has_nvlink,
        "cluster.nvlink_bytes_per_second": links * GIGA
        if links and gpu.has_nvlink
        else None,
    }
    for name, value in known.items():
        if value is not None:
            sheet.derive(name, value, f"{gpu.name} in the hardware catalogue", place)


def instance_facts(sheet: FactSheet, text: str, place: Place) -> None:
    """State what follows from a provider's instance type; raises UnknownName."""
    from speccheck.validator.catalogue.hardware import resolve_instance  # noqa: PLC0415

    instance = resolve_instance(text)
    sheet.state("cluster.instance_type", instance.id, place)
    note = f"{instance.id} in the hardware catalogue"
    network = instance.network_gigabytes_per_second
    known = {
        "cluster.gpus_per_node": instance.gpus_per_node,
        "cluster.nvlink_domain_size": instance.nvlink_domain_size,
        "cluster.fabric": instance.fabric,
        "cluster.nic_bits_per_second_per_gpu": network
        and network * 8 * GIGA / instance.gpus_per_node,
        "cluster.host_memory_bytes": instance.host_memory_bytes,
    }
    for name, value in known.items():
        if value is not None:
            sheet.derive(name, value, note, place)
    accelerator_facts(sheet, instance.accelerator, place)
